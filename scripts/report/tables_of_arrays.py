"""Tables of the Python package: scripts/bench/array_calls.py."""
from tables import Table, at_most, beside, machine_ranks, met, quotient, repeated

IN_MEMORY, SYMMETRIC = "results/memory.md", "results/symmetric.md"

# With verification: the largest ratio to torch, on one GPU and on two.
GOAL_IN_PLACE = {(8192, "f64"): 1.03, (16384, "f64"): 1.02, (16384, "f32"): 1.02, (8192, "bf16"): 1.35, (16384, "bf16"): 1.10}
GOAL_IN_PLACE_RANKS = {(8192, "f64"): 1.05, (16384, "f64"): 1.00, (32768, "f64"): 1.00, (16384, "bf16"): 1.10,
                       (32768, "bf16"): 0.95}
MORE_IN_PLACE = {(2048, "f64"): 0.25}  # ms, on one GPU


def value(way, verify, name, scale, form):
    """A median of damier's, or of the other WAY's."""
    return lambda g: format(scale * at(g, way, verify)[name][0], form)


def at(g, is_damier, verify):
    return max((r for r in g if r["verify"] == verify and (r["way"] == "damier") == is_damier), key=lambda r: r["date"])


def goal_in_place(g, goals):
    case = g["size"], g["type"]
    if machine_ranks(g) > 2:
        return ""
    if goals is GOAL_IN_PLACE and case in MORE_IN_PLACE:
        more = 1e3 * (at(g, True, True)["seconds"][0] - at(g, False, True)["seconds"][0])
        return met("≤ +", f"{MORE_IN_PLACE[case]} ms", more <= MORE_IN_PLACE[case])
    return at_most(at(g, True, True)["ratio"][:1], goals[case]) if case in goals else ""


def in_place(kind, other, goals=None):
    """Arrays in the memory of GPUs, alternating; medians."""
    columns = {"m = n = k": "{size}", "type": "{type}"} | ({"GPUs": machine_ranks} if goals is GOAL_IN_PLACE_RANKS else {})
    if goals is None:
        columns["A, B, C"] = lambda g: ", ".join(g["division"].split())
    columns |= {f"{other}, ms": value(False, False, "seconds", 1e3, ".3g"),
                "damier.matmul, ms" if goals else "these, ms": value(True, False, "seconds", 1e3, ".3g"),
                "ratio": value(True, False, "ratio", 1, ".2f"), "verified: ms": value(True, True, "seconds", 1e3, ".3g"),
                "ratio#verified": value(True, True, "ratio", 1, ".3f")}
    if goals:
        columns["goal"] = lambda g: goal_in_place(g, goals)
    return Table("results/memory.md", kind, kind, columns, by=(lambda r: r.get("division"), machine_ranks, lambda r: r["size"], lambda r: r["type"]),
                 order=lambda g: [key[0] for key in g.others].index(g.key[0]))


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


# ---- modes of arrays in GPU memory, Gram matrices of many rows, and sums of 16-bit products, beside torch.matmul ----

def asked(g):
    words = [g.get(key) for key in ("compute", "kernel") if g.get(key)] + ["reproducible"] * g.get("reproducible", False)
    return ", ".join(words + ["elements of unlike size"] * g.get("unlike", False)) or "default"


def of_modes(page, name, kind, *sizes, **columns):
    """A row for each case, whose ways alternated."""
    return Table(page, f"summary {name}", kind, columns, by=(lambda r: tuple(map(r.get, sizes)), lambda r: r["type"], asked), footer=repeated)


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


TABLES = [in_place("in place", "torch.matmul", GOAL_IN_PLACE), in_place("in place ranks", "all-gather and torch.matmul", GOAL_IN_PLACE_RANKS),
          in_place("in place divisions", "rows"), ARRAYS, ARRAYS_ON_CPUS, OPERANDS, GRAM, COVARIANCE, MODES, SHAPES, ON_TWO, DEEP, DEEP_ON_TWO, SUMS]
