"""The short tables of docs/performance.md, and the pictures, from the records of the long tables."""
import math

from bars import bars
from own_tables import has_gpu_rows, is_ours, is_shared, set_of
from tables import Lines, Table, brief, compute_of, gpus_of, grouped, machine_ranks, measured, median, quotient, ratios, shape_of, table

OTHERS = {"numpy": "NumPy", "cupy": "CuPy", "torch": "torch"}
PAGE, IN_MEMORY, SYMMETRIC = "performance.md", "results/memory.md", "results/symmetric.md"


def square(shape):
    """8192³ for squares, else the shape."""
    sizes = shape.replace(" x ", " × ").split(" × ")
    return f"{sizes[0]}³" if len(set(sizes)) == 1 else " × ".join(sizes)


def repeated(records):
    return measured(records, ", ".join(dict.fromkeys(f"`{r['command']}`" for r in records if r["command"])))


# ---- whole commands ----

def of_user(records):
    """(machine, product, type, seconds by way, records) of each set of commands that compares damier with another program: the
    newest of a machine, product and type; sorted by machine, type and size."""
    found = {}
    sets = grouped([r for r in records if r["kind"] == "user"], set_of)
    for mine in sorted(sets.values(), key=lambda mine: mine[0]["date"]):
        times = {r["way"]: r["seconds"][0] for r in mine if "error" not in r}
        ours = {way: t for way, t in times.items() if is_ours(way)}
        others = {way: t for way, t in times.items() if way in OTHERS}
        if ours and others:
            machine, kind = mine[0]["machine"], mine[0]["type"]
            gpus = len(machine.get("gpus", [])) if has_gpu_rows(mine) else 0
            where = f"{machine['cores']} cores" + (f", {gpus} GPU{'s' * (gpus > 1)}" if gpus else "")
            size = math.prod(map(int, mine[0]["shape"].split(" x ")))
            found[gpus, machine["cores"], kind != "f64", size] = where, square(mine[0]["shape"]), kind, ours, others, mine
    return [found[key] for key in sorted(found)]


def alone(ours):
    return ours.get("damier", ours.get("damier-cpu"))


def user(records):
    rows, used = [], []
    for where, product, kind, ours, others, mine in of_user(records):
        used += [r for r in mine if is_ours(r["way"])]
        launched = min((t for way, t in ours.items() if way.startswith("mpirun")), default=None)
        rows.append((where, product, kind, brief(alone(ours)), brief(launched) if launched else "",
                     *(brief(others[o]) if o in others else "" for o in OTHERS), f"{min(others.values()) / alone(ours):.1f}\u00a0×"))
    head = ("machine", "m = n = k", "type", "`damier`", "fastest by `mpirun`", *OTHERS.values(), "speed, relative to the fastest other")
    return table(head, rows) + measured(used, "`scripts/bench/commands.py user`")


def beside(name, of):
    """The time of a way, and its ratio to that of another one."""
    return lambda g: f"{g[name].brief}, {g.time(name) / g.time(of):.2f}" if g.way(name) else ""


def size_of_node(g):
    m, _, k = g["product"].split(":")[1].partition("x")
    return f"{m} × {k} × {m}" if k else f"{m}³"


# Seconds of one GPU and of `mpirun -n 2` with version 0.2.0 (ca94eee1) on two H100, against which the goals of several GPUs were set.
BEFORE = {"f64:16384": (0.935, 1.602), "f64:16384x65536": (1.311, 1.981), "f64:32768": (2.464, 3.227)}


def before(ranks):
    return lambda g: brief(BEFORE[g["product"]][ranks - 1]) if g["product"] in BEFORE else ""


NODE = Table(PAGE, "summary node", "node", {
    "m × k × n": size_of_node, "type": lambda g: g["product"].split(":")[0], "`--gpus 1`": "{--gpus 1.brief}",
    "no option (GPUs chosen)": "{default.brief} ({default.ranks})", "`--gpus 2`, ratio": beside("--gpus 2", "--gpus 1"),
    "`mpirun -n 2`, ratio": beside("mpirun -n 2", "--gpus 1"),
    "one GPU, 0.2.0": before(1), "`mpirun -n 2`, 0.2.0": before(2)},
    by=(lambda r: r["product"],), footer=repeated)


def arrays(name, columns):
    return Table(IN_MEMORY, f"summary {name}", name, {"m = n = k": "{size}³", "type": "{type}", **columns},
                 by=(lambda r: r["type"], lambda r: r["size"]), footer=repeated)


def small(name):
    return lambda g: f"{1e6 * g.time(name):.3g}\u00a0µs" if g.time(name) < 1e-3 else f"{g[name].ms:.3g}\u00a0ms"


ARRAYS = arrays("arrays", {"torch, one GPU, with copies": "{torch.brief}", "`damier.matmul`, one GPU": "{one GPU.brief}",
                           "two GPUs, ratio": beside("several GPUs", "one GPU")})
ARRAYS_ON_CPUS = arrays("arrays on CPUs", {"`numpy.matmul`": small("NumPy"), "`damier.matmul`": small("CPU"),
                                           "ratio": quotient("CPU", of="NumPy")})


def in_case(part, words):
    return lambda g: words(g["case"].split(":")[part])


OPERANDS = Table(IN_MEMORY, "summary operands", "host operands", {
    "m × n × k, f64": in_case(0, lambda shape: shape.replace("x", " × ")), "A and B in": in_case(1, "{} memory".format),
    "C in": in_case(2, {"host": "the same", "gpu": "GPU memory"}.get), "`matmul`": "{multiply.brief}", "copies": "{copies.brief}",
    "products": "{products.brief}", "`matmul` / the larger": lambda g: f"{g.time('multiply') / max(g.time('copies'), g.time('products')):.2f}"},
    by=(lambda r: r["case"],), footer=repeated)


# ---- XᵀX and covariances ----

def by_processors(record):
    """On CPUs the time of processors, which others disturb less."""
    return record["of"] in ("memory", "cov") or record.get("backend") == "cpu"


def time_of(g, *names):
    return g.time(*names, what="processor_s" if by_processors(g) else "seconds")


def ms(*names):
    return lambda g: f"{1e3 * time_of(g, *names):.4g}\u00a0ms" if time_of(g, *names) else ""


def place(r):
    names, ranks = {"files": "files", "memory": "NumPy arrays", "ranks": "rows of NumPy arrays, one thread each"}, machine_ranks(r)
    where = names.get(r["of"], "GPU memory")
    return where + (f", {ranks} ranks" if ranks > 1 else "") + (", processors' time" if by_processors(r) else "")


GRAM = Table(SYMMETRIC, "summary gram", "gram bench", {
    "X": "{size}²", "type": "{type}", "in": place, "`gram`": ms("gram"), "general product": ms("matmul", "multiply"),
    "ratio": lambda g: f"{time_of(g, 'gram') / time_of(g, 'matmul', 'multiply'):.2f}",
    "unverified syrk of cuBLAS, OpenBLAS or ScaLAPACK": ms("syrk")},
    by=(lambda r: r["of"], lambda r: r["type"], lambda r: r["size"], machine_ranks), footer=repeated)


def cov_time(*names):
    return lambda g: f"{time_of(g, *names):.3g}\u00a0s"


def cov_ratio(*names):
    return lambda g: f"{time_of(g, 'cov') / time_of(g, *names):.2f}"


COVARIANCE = Table(SYMMETRIC, "summary covariance", "covariance", {
    "X": lambda g: f"{(10 if g['of'] == 'cov' else 1000) * g['size']} × {g['size']}", "type": "{type}",
    "in": lambda g: "NumPy arrays, processors' time" if g["of"] == "cov" else "GPU memory", "`damier.cov`": cov_time("cov"),
    "`damier.gram`": cov_time("gram"), "`numpy.cov` or `torch.cov`": cov_time("numpy_cov", "torch_cov"), "cov / gram": cov_ratio("gram"),
    "cov / the other": cov_ratio("numpy_cov", "torch_cov")}, by=(lambda r: r["of"], lambda r: r["type"], lambda r: r["size"]), footer=repeated)


TALL = Table(SYMMETRIC, "summary many rows of files", "gram of files", {
    "X": lambda g: f"{300 * g['size']} × {g['size']}", "type": "{type}",
    "`damier gram`": "{gram.s:.3g}\u00a0s", "h5py with NumPy": "{h5py.s:.3g}\u00a0s", "ratio": "{gram.ratios}",
    "of processors' time": "{gram.processor_ratios}", "load": "{gram.load[0]:.1f}"}, by=(lambda r: r["type"], lambda r: r["size"]), footer=repeated)


# ---- modes of arrays in GPU memory, Gram matrices of many rows, and sums of 16-bit products, beside torch.matmul ----

def asked(g):
    words = [g.get(key) for key in ("compute", "kernel") if g.get(key)] + ["reproducible"] * g.get("reproducible", False)
    return ", ".join(words + ["elements of unlike size"] * g.get("unlike", False)) or "default"


def of_modes(page, name, kind, *sizes, **columns):
    """A row for each case, whose ways alternated."""
    return Table(page, f"summary {name}", kind, columns, by=(lambda r: tuple(r.get(size) for size in sizes), lambda r: r["type"], asked), footer=repeated)


MODES = of_modes(IN_MEMORY, "modes", "gpu modes", "m", **{
    "m = n = k": "{m}", "type": "{type}", "asked for": asked, "torch.matmul, ms": "{torch.ms:.2f}", "damier, ms": "{unverified.ms:.2f}",
    "verified, ms": "{damier.ms:.2f}", "verified, ratio": "{damier.ratios}"})

SHAPES = of_modes(IN_MEMORY, "shapes", "gpu shapes", "batch", "m", "n", "k", **{
    "m × n × k": lambda g: f"{g['batch']} of " * (g["batch"] > 0) + f"{g['m']} × {g['n']} × {g['k']}", "type": "{type}",
    "torch.matmul, ms": "{torch.ms:.3f}", "damier, ms": "{unverified.ms:.3f}", "ratio": "{unverified.ratio[0]:.2f}",
    "verified, ms": "{damier.ms:.3f}", "verified, ratio": "{damier.ratios}"})

ON_TWO = of_modes(IN_MEMORY, "modes on two GPUs", "gpus modes", "m", **{
    "m = n = k": "{m}", "type": "{type}", "asked for": asked, "one GPU, ms": "{one.ms:.1f}", "B gathered, torch.matmul, ms": "{torch.ms:.1f}",
    "two GPUs, ms": "{damier.ms:.1f}", "of one GPU": quotient("damier", of="one"), "of gathering": "{damier.ratios}"})

DEEP = of_modes(SYMMETRIC, "many rows", "gpu grams", "rows", "columns", **{
    "X": "{rows} × {columns}", "type": "{type}", "asked for": asked, "torch.matmul, ms": "{torch.ms:.2f}", "`gram`, ms": "{damier.ms:.2f}",
    "ratio": "{damier.ratios}", "mean error of the diagonal": "{diagonal_error:.1e}"})

DEEP_ON_TWO = of_modes(SYMMETRIC, "Gram matrices on two GPUs", "gpus grams", "rows", "columns", **{
    "X": "{rows} × {columns}", "type": "{type}", "torch.matmul on one GPU, ms": "{torch.ms:.2f}", "`gram` on one GPU, ms": "{one.ms:.2f}",
    "on two, ms": "{damier.ms:.2f}", "of one GPU": quotient("damier", of="one")})

SUMS = Table("precision.md", "summary sums", "gpu sums", {"m = n": "{m}", "k": "{k}", "type": "{type}", "mean relative error": "{error:.1e}"},
             footer=repeated)


# ---- in memory ----

def of_memory(records):
    """(record, machine, other, seconds of damier, of the other) of products in memory."""
    for r in records:
        if r["kind"] == "gpu" and shape_of(r) == "16384 x 16384 x 16384" and "library_s" in r["repetitions"]:
            yield r, "1 GPU", "cuBLAS", r["repetitions"]["multiply_s"], r["repetitions"]["library_s"]
    squares = [r for r in records if r["kind"] == "gpus" and "library_s" in r["repetitions"] and len({r["problem"][x] for x in "mnk"}) == 1
               and r["problem"]["c"] != "bf16" and (r["transport"]["name"], r["bench"]["from"]) == ("ipc", "device memory")]
    for mine in grouped(squares, lambda r: (shape_of(r), compute_of(r), machine_ranks(r))).values():
        r = max(mine, key=lambda r: r["date"])
        yield r, f"{machine_ranks(r)} GPUs", "cuBLAS, one call on each GPU", r["repetitions"]["multiply_s"], r["repetitions"]["library_s"]
    for kind, other, where in (("cublasmp", "cuBLASMp", ""), ("cublasxt", "cuBLASXt", ", from and to host memory"),
                               ("scalapack", "ScaLAPACK pdgemm", None)):
        for (*_, count), mine in grouped([r for r in records if r["kind"] == kind],
                                         lambda r: (shape_of(r), compute_of(r), gpus_of(r))).items():
            ours, theirs = sorted(mine, key=lambda r: r["way"] != "damier")
            cores = f"{count} cores" if count == 2 else f"{count} ranks on 2 cores"
            yield ours, cores if where is None else f"{count} GPU{'s' * (count > 1)}{where}", other, ours["turns"], theirs["turns"]


def rows_of_memory(records):
    for r, where, other, ours, theirs in of_memory(records):
        flops = 2e-12 * r["problem"]["m"] * r["problem"]["n"] * r["problem"]["k"]
        yield r, square(shape_of(r)), compute_of(r), where, other, flops / median(ours), flops / median(theirs), median(ratios(theirs, ours))
    for kind, other in (("in place", "torch"), ("in place ranks", "NCCL's all-gather and torch")):
        mine = [r for r in records if r["kind"] == kind and not r["verify"] and r["size"] >= 8192]  # by the Python package, not verified
        for (name, size, ranks), ways in grouped(mine, lambda r: (r["type"], r["size"], machine_ranks(r))).items():
            theirs, ours = sorted(ways, key=lambda r: r["way"] == "damier")
            where = f"{ranks} GPU{'s' * (ranks > 1)}"
            flops = 2e-12 * size**3
            yield (ours, f"{size}³", name, f"{where}, arrays of Python", other, flops / ours["seconds"][0], flops / theirs["seconds"][0],
                   1 / ours["ratio"][0])


def digits(rate):
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 10 else f"{rate:.3f}"


def memory(records):
    found = list(rows_of_memory(records))
    rows = [(*words, digits(a), digits(b), f"{ratio:.2f}\u00a0×") for _, *words, a, b, ratio in found]
    return table(("m = n = k", "type", "on", "compared with", "damier, TFLOP/s", "the other, TFLOP/s", "relative speed"), rows) + \
        measured([r for r, *_ in found], "[CPU](cpu.md), [GPUs](gpu.md)")


# ---- scaling ----

def scaling(records):
    ours = [r for r in records if r["kind"] == "bench scale" and r["scale"]["series"] == "strong" and machine_ranks(r) > 1]
    rows = [(square(shape_of(r)), r["problem"]["work"], f"{machine_ranks(r)} {'GPUs' if r['machine']['backend'] == 'cuda' else 'cores'}",
             "measured", f"{median(r['repetitions']['multiply_s']):.3f}", f"{100 * r['scale']['efficiency']:.0f} %") for r in ours]
    simulated = [r for r in records if r["kind"] == "simulated"]
    squares = [r for r in simulated if [r["simulated"][x] for x in ("scaling", "shape", "plan", "case")] ==
               ["strong", "square", "choice", "plain"] and machine_ranks(r) in (8, 64, 256, 1024, 4096)]
    rows += [("100000³", r["problem"]["work"], f"{machine_ranks(r)} GPUs", "simulated", f"{r['times']['multiply_s']:.3f}",
              f"{100 * r['rates']['of_library']:.0f} %") for r in sorted(squares, key=lambda r: (r["problem"]["work"], machine_ranks(r)))]
    return table(("m = n = k", "type", "on", "", "time, s", "efficiency"), rows) + \
        measured(ours + simulated, "`damier bench scale`, `simulation/simulate.sh`")


TABLES = [Lines(PAGE, "summary user", "user", user, repeats=True), NODE, ARRAYS, ARRAYS_ON_CPUS, OPERANDS, GRAM, TALL, COVARIANCE, MODES, SHAPES, ON_TWO,
          DEEP, DEEP_ON_TWO, SUMS,
          Lines(IN_MEMORY, "summary memory", "gpu,gpus,cublasmp,cublasxt,scalapack,in place,in place ranks", memory, repeats=True),
          Lines(PAGE, "summary scaling", "bench scale,simulated", scaling, repeats=True)]


# ---- pictures ----

def pairs_of_users(records):
    """(what, seconds of damier, of the other, its name): squares in f64, the smallest and the largest on the fewest cores, and
    the largest on one GPU; the product that needs more memory than there is; the largest NumPy arrays on one GPU."""
    found = [row for row in of_user(records) if row[2] == "f64" and row[1].endswith("³")]
    few = [row for row in found if "GPU" not in row[0] and row[0] == found[0][0]]
    for where, product, _, ours, others, _ in [few[0], few[-1], *[row for row in found if row[0].endswith(" 1 GPU")][-1:]]:
        name, size = min(others, key=others.get), product.removesuffix("³")
        yield f"{size} × {size} on {where}", alone(ours), others[name], OTHERS[name]
    mine = [r for r in records if r["kind"] == "job" and r["job"] == "memory" and r["verdict"] == "right"]
    times = {r["way"]: r["seconds"][0] for r in mine}
    ours, (name, other) = times.pop("damier"), min(times.items(), key=lambda item: item[1])
    yield f"6000 × 6000 on {mine[0]['machine']['cores']} cores, larger than memory", ours, other, name
    arrays = [r for r in records if r["kind"] == "arrays" and r["type"] == "f64"]
    size = max(r["size"] for r in arrays)
    times = {r["way"]: r["seconds"][0] for r in arrays if r["size"] == size}
    yield f"{size} × {size}, NumPy arrays, on one GPU", times["one GPU"], times["torch"], "torch"


def user_picture(records):
    """Four pairs."""
    pairs = sorted(list(pairs_of_users(records))[:4], key=lambda pair: "GPU" in pair[0])
    return bars("Time of a whole product (shorter is better)",
                [(f"{what}: {other / ours:.1f} times as fast",
                  [(True, ours, f"{brief(ours)} damier"), (False, other, f"{brief(other)} {name}")])
                 for what, ours, other, name in pairs])


def jobs_picture(records):
    """The time of the fastest other way that is right, in times of damier; below 1 damier loses."""
    mine = [r for r in records if r["kind"] == "job"]
    what, kind = ("processor_s", "processor time") if is_shared(mine) else ("seconds", "time")
    groups = []
    for job, runs in grouped(mine, lambda r: r["job"]).items():
        times = {r["way"]: r[what][0] for r in runs if r["verdict"] == "right"}
        ours = times.pop("damier", None)
        if ours and times:
            best = min(times, key=times.get)
            groups.append((job, [(True, times[best] / ours, f"{times[best] / ours:.1f} × {best}")]))
    return bars(f"fastest alternative's {kind} ÷ damier's (1 = equal)", groups, mark=1.0)


PICTURES = {"user": user_picture, "jobs": jobs_picture}
