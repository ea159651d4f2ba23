"""The short tables and the pictures of docs/performance.md, from the records of the long tables of docs/results."""
import user_tables
from summary_pictures import bars, lines
from tables import compute_of, grouped, machine_ranks, measured, median, ratios, shape_of, table

OTHERS = {"numpy": "NumPy", "cupy": "CuPy", "torch": "torch"}
GPU_ROWS = (("16384 x 16384 x 16384", "f64"), ("16384 x 16384 x 16384", "f32"), ("16384 x 16384 x 16384", "tf32"),
            ("16384 x 16384 x 16384", "bf16"))
LADDER = "8192 x 8192 x 8192"


def square(record):
    """8192³ for squares, else the shape."""
    m, n, k = (record["problem"][x] for x in "mnk")
    return f"{m}³" if m == n == k else f"{m} × {n} × {k}"


def seconds(value):
    return f"{value:.2f}\u00a0s" if value >= 0.1 else f"{value * 1e3:.0f}\u00a0ms"


# ---- whole commands ----

def of_user(records):
    """(machine, product, type, seconds by row, records) of each set of commands that compares damier with another program: the
    newest of a machine, product and type; sorted by machine, type and size."""
    found = {}
    sets = grouped([r for r in records if r["kind"] == "user"], user_tables.set_of)
    for mine in sorted(sets.values(), key=lambda mine: mine[0]["date"]):
        times = {r["row"]: r["times"]["command_median_s"] for r in mine
                 if r["repetitions"]["command_s"] and not r["error"]}
        ours = {row: t for row, t in times.items() if user_tables.is_ours(row)}
        others = {row: t for row, t in times.items() if row in OTHERS}
        if ours and others:
            machine, problem = mine[0]["machine"], mine[0]["problem"]
            gpus = len(machine.get("gpus", [])) if user_tables.has_gpu_rows(mine) else 0
            where = f"{machine['cores']} cores" + (f", {gpus} GPU{'s' * (gpus > 1)}" if gpus else "")
            size = problem["m"] * problem["n"] * problem["k"]
            found[gpus, machine["cores"], problem["work"] != "f64", mine[0]["cold"], size] = (
                where, square(mine[0]) + ", from disk" * mine[0]["cold"], problem["work"], ours, others, mine)
    return [found[key] for key in sorted(found)]


def user_table(records):
    rows, used = [], []
    for where, product, kind, ours, others, mine in of_user(records):
        used += [r for r in mine if r["damier"]]
        alone = ours.get("damier", ours.get("damier-cpu"))
        launched = [t for row, t in ours.items() if row.startswith("mpirun")]
        best = min(others.values())
        rows.append((where, product, kind, seconds(alone), seconds(min(launched)) if launched else "",
                     *(seconds(others[o]) if o in others else "" for o in OTHERS), f"{best / alone:.1f}\u00a0×"))
    head = ("machine", "m = n = k", "type", "`damier`", "fastest by `mpirun`", *OTHERS.values(), "speed, relative to the fastest other")
    used_columns = [i for i in range(len(head)) if any(row[i] for row in rows)]
    head, rows = [head[i] for i in used_columns], [[row[i] for i in used_columns] for row in rows]
    return table(head, rows) + measured(used, "`scripts/bench/user_runs.py`")


def node_table(records):
    """Whole commands on a computer with several GPUs: without options, and by force."""
    rows = []
    mine = [r for r in records if r["kind"] == "node"]
    for product, runs in grouped(mine, lambda r: r["product"]).items():
        ways = {way: median([r["seconds"] for r in of_way]) for way, of_way in grouped(runs, lambda r: r["way"]).items()}
        chosen = next(r["ranks"] for r in runs if r["way"] == "default")
        kind, _, size = product.partition(":")
        one = ways.pop("--gpus 1")
        rows.append((f"{size}³" if size.isdigit() else f"{size}x{size.split('x')[0]}".replace("x", " × "), kind, seconds(one),
                     f"{seconds(ways['default'])} ({chosen})",
                     *(f"{seconds(t)}, {t / one:.2f}" for way, t in ways.items() if way != "default")))
    return table(("m × k × n", "type", "`--gpus 1`", "no option (GPUs chosen)", "`--gpus 2`, ratio", "`mpirun -n 2`, ratio"), rows) + \
        measured(mine, "`scripts/bench/node.py`")


def arrays_table(records):
    """Products of NumPy arrays; the context is open."""
    rows = []
    mine = [r for r in records if r["kind"] == "arrays"]
    for (kind, size), runs in grouped(mine, lambda r: (r["type"], r["size"])).items():
        ways = {way: median([r["seconds"] for r in of_way]) for way, of_way in grouped(runs, lambda r: r["way"]).items()}
        one, several, other = (ways[way] for way in ("one GPU", "several GPUs", "torch"))
        rows.append((f"{size}³", kind, seconds(other), seconds(one), f"{seconds(several)}, {several / one:.2f}"))
    return table(("m = n = k", "type", "torch, one GPU, with copies", "`damier.matmul`, one GPU", "two GPUs, ratio"), rows) + \
        measured(mine, "`scripts/bench/host_arrays.py`")


def gram_table(records):
    """XᵀX compared with the product of two matrices; on CPUs by the time of processors, which others disturb less."""
    rows = []
    where = {"files": "files", "gpu": "GPU memory", "gpus": "GPU memory", "memory": "NumPy arrays"}
    mine = [r for r in records if r["kind"] == "gram bench" and r["of"] != "cov"]
    for r in mine:
        on_cpu = r["of"] == "memory" or r["backend"] == "cpu"
        t, ranks = r["processor_seconds" if on_cpu else "seconds"], r.get("ranks", 1)
        ours, general = (t[k] for k in (("gram_total", "multiply_total") if r["of"] == "files" and not on_cpu else
                                        ("gram", "multiply" if r["of"] == "files" else "matmul")))
        other = next((t[k] for k in ("syrk", "cublas_syrk") if k in t), None)
        place = where[r["of"]] + (f", {ranks} ranks" if ranks > 1 else "") + (", processors' time" if on_cpu else "")
        rows.append((f"{r['size']}²", r["type"], place, *(f"{1e3 * s:.4g}\u00a0ms" for s in (ours, general)), f"{ours / general:.2f}",
                     f"{1e3 * other:.4g}\u00a0ms" if other else ""))
    return table(("X", "type", "in", "`gram`", "general product", "ratio", "syrk of cuBLAS or OpenBLAS, unverified"), rows) + \
        measured(mine, "`scripts/bench/gram.py`")


def covariance_table(records):
    """damier.cov compared with numpy.cov, by the time of processors."""
    rows = []
    mine = [r for r in records if r["kind"] == "gram bench" and r["of"] == "cov"]
    for r in mine:
        t = r["processor_seconds"]
        rows.append((f"{10 * r['size']} × {r['size']}", r["type"], *(f"{t[k]:.3g}\u00a0s" for k in ("cov", "gram", "numpy_cov")),
                     f"{t['cov'] / t['gram']:.2f}", f"{t['cov'] / t['numpy_cov']:.2f}"))
    return table(("X", "type", "`damier.cov`", "`damier.gram`", "`numpy.cov`", "cov / gram", "cov / numpy.cov"), rows) + \
        measured(mine, "`scripts/bench/gram.py`")


def pairs_of_users(records):
    """Squares in f64: the smallest and the largest on the fewest cores; the largest on one GPU."""
    found = [row for row in of_user(records) if row[2] == "f64" and row[1].endswith("³")]
    few = [row for row in found if "GPU" not in row[0] and row[0] == found[0][0]]
    for where, product, _, ours, others, _ in [few[0], few[-1], *[row for row in found if row[0].endswith(" 1 GPU")][-1:]]:
        name = min(others, key=others.get)
        size = product.removesuffix("³")
        yield f"{size} × {size} on {where}", ours.get("damier", ours.get("damier-cpu")), others[name], OTHERS[name]


def pair_of_jobs(records):
    """The product that needs more memory than there is, and the fastest other way that computes it."""
    mine = [r for r in records if r["kind"] == "job" and r["job"] == "memory" and r["verdict"] == "right"]
    times = {way: median([r["seconds"] for r in runs]) for way, runs in grouped(mine, lambda r: r["way"]).items()}
    name = min((way for way in times if way != "damier"), key=times.get)
    yield f"6000 × 6000 on {mine[0]['machine']['cores']} cores, larger than memory", times["damier"], times[name], name


def pair_of_arrays(records):
    """The largest NumPy arrays on one GPU."""
    mine = [r for r in records if r["kind"] == "arrays" and r["type"] == "f64"]
    size = max(r["size"] for r in mine)
    ours, other = (median([r["seconds"] for r in mine if r["size"] == size and r["way"] == way]) for way in ("one GPU", "torch"))
    yield f"{size} × {size}, NumPy arrays, on one GPU", ours, other, "torch"


def user_picture(records):
    """Four pairs."""
    pairs = [*pairs_of_users(records), *pair_of_jobs(records), *pair_of_arrays(records)][:4]
    groups = [(f"{what}: {other / ours:.1f} times as fast",
               [("damier", ours, f"{seconds(ours)} damier"), ("other", other, f"{seconds(other)} {name}")])
              for what, ours, other, name in sorted(pairs, key=lambda pair: "GPU" in pair[0])]
    return bars("Time of a whole product (shorter is better)", groups, ("damier",), alike=False)


# ---- in memory ----

def of_memory(records):
    """(product, type, ranks, other, TFLOP/s of damier, of the other) of products in memory."""
    for r in records:
        if r["kind"] == "gpu" and (shape_of(r), compute_of(r)) in GPU_ROWS and "library_s" in r["repetitions"]:
            yield r, "1 GPU", "cuBLAS", r["repetitions"]["library_s"]
    best = {}
    for r in records:
        if r["kind"] == "links" and len({r["problem"][x] for x in "mnk"}) == 1 and r["bench"]["from"] == "device memory" and "library_s" in r["repetitions"] and \
                machine_ranks(r) > 1 and r["problem"]["c"] != "bf16" and r["transport"]["name"] == "ipc":
            key = shape_of(r), compute_of(r), machine_ranks(r)
            if key not in best or r["date"] > best[key]["date"]:
                best[key] = r
    for r in best.values():
        yield r, f"{machine_ranks(r)} GPUs", "cuBLAS, one call on each GPU", r["repetitions"]["library_s"]


def pdgemm_rows(records):
    cases = grouped([r for r in records if r["kind"] == "scalapack"], lambda r: (shape_of(r), machine_ranks(r)))
    for (_, ranks), mine in cases.items():
        ours = [r for r in mine if r["verb"] == "bench multiply"]
        theirs = [r for r in mine if r["verb"] == "bench pdgemm"]
        yield (ours[0], f"{ranks} cores" if ranks == 2 else f"{ranks} ranks on 2 cores", "ScaLAPACK pdgemm",
               [t for r in ours for t in r["repetitions"]["multiply_s"]],
               [t for r in theirs for t in r["repetitions"]["multiply_s"]])


def medians(records):
    return [median(r["repetitions"]["multiply_s"]) for r in records]


def gpus_of(record):
    """One process may use several GPUs."""
    return record["machine"].get("gpus", machine_ranks(record))


def library_rows(records, kind, name, where):
    """Runs of damier and of the library NAME, with matrices WHERE."""
    cases = grouped([r for r in records if r["kind"] == kind], lambda r: (shape_of(r), compute_of(r), gpus_of(r)))
    for (*_, gpus), mine in cases.items():
        ours = [r for r in mine if r["verb"] == "bench multiply"]
        theirs = [r for r in mine if r["verb"] == f"bench {kind}"]
        yield ours[0], f"{gpus} GPU{'s' * (gpus > 1)}{where}", name, medians(ours), medians(theirs)


def all_in_memory(records):
    for r, where, other, theirs in of_memory(records):
        yield r, where, other, r["repetitions"]["multiply_s"], theirs
    yield from library_rows(records, "cublasmp", "cuBLASMp", "")
    yield from library_rows(records, "cublasxt", "cuBLASXt", ", from and to host memory")
    yield from pdgemm_rows(records)


def memory_rows(records):
    for r, where, other, ours, theirs in all_in_memory(records):
        flops = 2 * r["problem"]["m"] * r["problem"]["n"] * r["problem"]["k"]
        ratio = median(ratios(theirs, ours))
        yield r, square(r), compute_of(r), where, other, flops / median(ours) / 1e12, flops / median(theirs) / 1e12, ratio


def python_rows(records, least=8192):
    """Arrays in GPU memory, multiplied where they are by the Python package and by torch, C not verified."""
    for kind, where, other in (("in_place", "1 GPU", "torch"), ("in_place_ranks", "2 GPUs", "NCCL's all-gather and torch")):
        for r in records:
            if r["kind"] == kind and not r["verify"] and r["size"] >= least:
                flops = 2 * r["size"]**3 / 1e12
                yield (r, f"{r['size']}³", r["type"], f"{where}, arrays of Python", other, flops / r["damier_s"][0],
                       flops / r["torch_s"][0], 1 / r["ratio"][0])


def digits(rate):
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 10 else f"{rate:.3f}"


def memory_table(records):
    found = [*memory_rows(records), *python_rows(records)]
    rows = [(*words, digits(a), digits(b), f"{ratio:.2f}\u00a0×") for _, *words, a, b, ratio in found]
    return table(("m = n = k", "type", "on", "compared with", "damier, TFLOP/s", "the other, TFLOP/s", "relative speed"), rows) + \
        measured([r for r, *_ in found], "[CPU](results/cpu.md), [GPUs](results/gpu.md)")


def memory_picture(records):
    groups = [(f"{product} {kind}, {where}", [("damier", ratio, f"{ratio:.2f} × {other.split(',')[0]}")])
              for _, product, kind, where, other, _, _, ratio in (*memory_rows(records), *python_rows(records, 16384))]
    return bars("Products in memory: speed relative to the other (1 = equal)", groups, ("damier",), mark=1.0)


# ---- scaling ----

def scaling_table(records):
    rows = []
    ours = [r for r in records if r["kind"] == "bench scale" and r["scale"]["series"] == "strong" and machine_ranks(r) > 1]
    for r in ours:
        gpu = r["machine"]["backend"] == "cuda"
        rows.append((square(r), r["problem"]["work"], f"{machine_ranks(r)} {'GPUs' if gpu else 'cores'}", "measured",
                     f"{median(r['repetitions']['multiply_s']):.3f}", f"{100 * r['scale']['efficiency']:.0f} %"))
    for (_, kind), points in curves(records, "strong").items():
        rows += [("100000³", kind, f"{gpus} GPUs", "simulated", f"{time:.3f}", f"{100 * part:.0f} %")
                 for gpus, part, time in points if gpus in (8, 64, 256, 1024, 4096)]
    return table(("m = n = k", "type", "on", "", "time, s", "efficiency"), rows) + \
        measured(ours + [r for r in records if r["kind"] == "simulated"], "`damier bench scale`, `simulation/simulate.sh`")


def curves(records, *scalings):
    """Efficiency of squares by number of GPUs, for each type and kind of scaling."""
    found = {}
    for r in records:
        s = r.get("simulated")
        if r["kind"] == "simulated" and s["shape"] == "square" and s["plan"] == "choice" and s["case"] == "plain" \
                and s["scaling"] in scalings:
            found.setdefault((s["scaling"], r["problem"]["work"]), []).append(
                (r["machine"]["ranks"], r["rates"]["of_library"], r["times"]["multiply_s"]))
    return {key: sorted(points) for key, points in sorted(found.items())}


def scaling_picture(records):
    data = {f"{scaling}, {kind}": [(gpus, part) for gpus, part, _ in points]
            for (scaling, kind), points in curves(records, "strong", "weak").items()}
    return lines("Simulated squares: efficiency on many H200s", data)


# ---- kernels ----

def ladder_of(records):
    """The fastest measurement of each kernel in f32 at 8192, slowest first."""
    best = {}
    for r in records:
        if r["kind"] == "ladder" and r["kernel"]["type"] == "f32" and shape_of(r) == LADDER and r["kernel"]["op"] == "gemm" \
                and not r["problem"].get("accumulate") and r["kernel"]["name"] != "cublaslt":
            name = r["kernel"]["name"]
            best[name] = max(best.get(name, 0.0), r["rates"]["flops"] / 1e12)
    return sorted(best.items(), key=lambda item: item[1])


def ladder_picture(records):
    groups = [(name, [("own" if name != "cublas" else "cuBLAS", rate, f"{rate:.1f}")]) for name, rate in ladder_of(records)]
    return bars("f32, 8192³ on one H100: TFLOP/s of each kernel", groups, ("own", "cuBLAS"))


TABLES = {"user": user_table, "node": node_table, "arrays": arrays_table, "gram": gram_table, "covariance": covariance_table, "memory": memory_table, "scaling": scaling_table}
PICTURES = {"user": user_picture, "memory": memory_picture, "scaling": scaling_picture,
            "ladder": ladder_picture}
