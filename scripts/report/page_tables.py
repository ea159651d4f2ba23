"""The tables of docs/results and of other pages, each described by its columns; results.py writes them."""
import pathlib
import sys

import own_tables
from tables import Lines, Table, compute_of, estimate, gpus_of, machine_ranks, median, met, products_of, ratios, shape_of, spread

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "simulation"))
import simulated_tables  # pylint: disable=wrong-import-position

GOAL_TYPES = ("f64", "f32", "tf32", "bf16")
SERIES = {"strong": "the same product", "memory": "the same memory of each rank", "work": "the same work of each rank"}


def at_most(values, goal):
    return met("≤", goal, median(values) <= goal) if values else ""


def at_least(values, goal):
    return met("≥", goal, median(values) >= goal) if values else ""


def series(records, name="multiply_s"):
    """All repetitions of all RECORDS."""
    return [t for r in records for t in r["repetitions"].get(name, [])]


def speeds(records, name="multiply_s"):
    """TFLOP/s of each repetition."""
    flops = records[0]["rates"]["multiply_flops"] * records[0]["times"]["multiply_median_s"]
    return [flops / t / 1e12 for t in series(records, name)]


def on(record):
    return "GPUs" if record["machine"]["backend"] == "cuda" else "CPU"


def verified(g):
    return "all" if all((r.get("verdict") or r["verification"]["verdict"]) == "PASS" for r in g) else "NOT ALL"


def verify_ms(records):
    return f"{1e3 * median(series(records, 'verify_s')):.2f}"


SHAPE = {"m × n × k": "{problem[shape]}"}
TYPE = {"type": compute_of}
RUNS = {"runs": lambda g: len(series(g))}
GRID = {"grid": "{plan[grid]}"}
SECONDS, TERAFLOPS = {"s": lambda g: estimate(series(g), 4)}, {"TFLOP/s": lambda g: estimate(speeds(g), 1)}


# ---- damier alternating with another program ----

def rival(g):
    return next(r for r in g if r["way"] != "damier")


def settings(*names):
    return lambda g: ", ".join(str(rival(g)[name]) for name in names)


PAIRS = {"pairs": lambda g: len(g["turns"])}


def against(name, digits, *more):
    return {"damier, s": lambda g: spread(g.way("damier")["seconds"], digits), f"{name}, s": lambda g: spread(rival(g)["seconds"], digits),
            **dict(more), f"time / {name}'s": lambda g: spread(g.way("damier")["ratio"], 3)}


def nvidias(kind, name, setting):
    return Table("results/gpu.md", kind, kind, SHAPE | TYPE | {"GPUs": gpus_of} | PAIRS
                 | against(name, 4, (f"{name}'s {setting}", settings(setting))) | {"verified": verified}, by=(shape_of, compute_of, gpus_of))


SCALAPACK = Table("results/cpu.md", "scalapack", "scalapack", SHAPE | {
    "ranks × 1 thread": machine_ranks, "pdgemm's grid, block": settings("grid", "block")} | PAIRS | against("pdgemm", 3)
    | {"goal": lambda g: at_most(g.way("damier")["ratio"][:1], 1.0), "verified": verified}, by=(shape_of, machine_ranks))


def library(g):
    """The library in one process; the ranks of G alternated with it."""
    return [t for key, other in g.others.items() if key[0] == g.key[0] and key[1] == 1 for t in series(other, "library_s")]


CPU = Table("results/cpu.md", "cpu", "cpu", SHAPE | {
    "type": "{problem[work]}", "transport": "{transport[name]}", "pairs": lambda g: len(ratios(series(g), library(g))),
    "2 ranks × 1 thread, s": lambda g: estimate(series(g), 3), "library, 2 threads, s": lambda g: estimate(library(g), 3),
    "time / library's": lambda g: estimate(ratios(series(g), library(g)), 3),
    "goal": lambda g: at_most(ratios(series(g), library(g)), 1.05), "verifying C, ms": verify_ms},
    by=(shape_of, machine_ranks, lambda r: r["transport"]["name"]), keep=lambda g: g.key[1] > 1 and library(g))


def faster(g):
    return ratios(series(g, "library_s"), series(g))


GPU = Table("results/gpu.md", "gpu", "gpu", SHAPE | TYPE | RUNS | {
    "TFLOP/s": lambda g: estimate(speeds(g), 2), "library, TFLOP/s": lambda g: estimate(speeds(g, "library_s"), 2),
    "speed / library's": lambda g: estimate(faster(g), 3),
    "goal": lambda g: at_least(faster(g), 0.98) if compute_of(g) in GOAL_TYPES else "", "verifying C, ms": verify_ms})


# ---- one way of damier compared with another ----

def panels_of(record):
    """Widths: those of the ramp-up panels, then that of the other panels."""
    width, ramp = str(record["plan"]["panel"]), str(record["plan"].get("ramp", ""))
    return width if ramp in ("", width) else f"{ramp},{width}".replace(",", ", ")


def where_from(record):
    return record["bench"]["from"].split(",")[0]


def transport_and_nodes(record):
    nodes = record["machine"]["nodes"]
    return record["transport"]["name"] + (f", as {nodes} nodes" if nodes > 1 else "")


LINKED = Table("results/gpu.md", "links", "gpus", SHAPE | {
    "type": lambda g: compute_of(g) + " → bf16" * (g["problem"]["c"] == "bf16"), "GPUs": machine_ranks} | GRID | {
    "panel": panels_of, "transport": transport_and_nodes, "from": where_from} | RUNS | {"s": "{times[multiply_median_s]:.4f}"}
    | TERAFLOPS | {"speed / one call": lambda g: estimate(faster(g), 3)})


def relative(g, key):
    """Speed of G relative to the group KEY, which alternated with it."""
    base = g.others.get(key, g)
    return [] if base is g else ratios(series(base), series(g))


LIMITED = Table("results/gpu.md", "limited", "limited_gpu", SHAPE | TYPE | {
    "A, B and C in": where_from, "tiles": "{plan[tiles]}", "GPU memory, GiB": lambda g: f"{g['plan']['device_bytes'] / 2**30:.1f}"} | RUNS
    | TERAFLOPS | {"speed / in GPU memory": lambda g: estimate(relative(g, ("device memory",)), 3),
                   "goal": lambda g: at_least(relative(g, ("device memory",)), 0.95)}, by=(where_from,))


def residues(head, goal, key_of):
    """Two columns: the speed relative to another group, and whether two GPUs reached the goal."""
    return {head: lambda g: estimate(relative(g, key_of(*g.key)), 3),
            f"goal#{head}": lambda g: at_least(relative(g, key_of(*g.key)), goal) if g.key[1] == 2 else ""}


RESIDUES = Table("results/gpu.md", "residues gpus", "residues_gpus", SHAPE | {"GPUs": machine_ranks, "products": products_of} | GRID | RUNS
                 | SECONDS | TERAFLOPS | residues("speed / one GPU", 1.9, lambda shape, _, products: (shape, 1, products))
                 | residues("speed / native on as many", 1.55, lambda shape, number, _: (shape, number, "f64")) | {"verified": verified},
                 by=(shape_of, machine_ranks, products_of))


INTERVALS = {"--checkpoint-interval 1s": "1 s", "--checkpoint": "60 s, the default"}
CHECKPOINT = Table("results/reliability.md", "checkpoint", "checkpoint", {
    "m × n × k": "{size} x {size} x {size}", "ranks": machine_ranks, "interval": lambda g: INTERVALS[g["way"]],
    "pairs": lambda g: len(g["turns"]), "time, s": lambda g: spread(g["seconds"], 2),
    "without, s": lambda g: spread(g.others[("--no-checkpoint",)]["seconds"], 2), "time / without": lambda g: spread(g["ratio"], 3),
    "goal": lambda g: at_most(g["ratio"][:1], 1.02)},
    by=(lambda r: r["way"],), keep=lambda g: g["way"] in INTERVALS, order=lambda g: "interval" in g["way"])


# ---- ranks and links ----

SCALING = Table("results/scaling.md", "scaling", "bench scale", {
    "series": lambda g: SERIES[g["scale"]["series"]], "on": on, "ranks": machine_ranks} | SHAPE | {"type": "{problem[work]}"}
    | GRID | RUNS | {"time, s": lambda g: estimate(series(g), 4), "speed-up": "{scale[speedup]:.2f}",
    "efficiency": "{scale[efficiency]:.3f} [{scale[efficiency_ci95_low]:.3f}, {scale[efficiency_ci95_high]:.3f}]"})


def size_words(g):
    count = g["bench"]["bytes"]
    return f"{count >> 20} MiB" if count >= 2**20 else f"{count >> 10} KiB" if count >= 1024 else f"{count} B"


def rates(way):
    return lambda g: "{:.2f} [{:.2f}, {:.2f}]".format(*(g["rates"][f"{way}_{which}_Bps"] / 1e9 for which in ("median", "least", "most")))


LINKS = Table("results/scaling.md", "pairs", "bench links", {
    "transport": "{transport[name]}", "on": on, "ranks": machine_ranks, "pieces": size_words, "runs": "{bench[repetitions]}",
    "one way, alone, GB/s": rates("one_way"), "both ways, GB/s": rates("both_ways"),
    "both ways, all ranks in pairs, GB/s": rates("together")})


# ---- arrays of Python ----

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


# ---- files ----

SOURCES = Table("results/files.md", "sources", "sources", {
    "files": "{files}", "stored": "{layout}", "as": "{way}", "of processors, s": "{processor_s[0]:.2f}",
    "relative to one file": "{processor_ratio[0]:.2f}", "time relative to one file": "{ratio[0]:.2f}"})

RELATIVE = {"of processors, s": "{processor_s[0]:.2f}", "relative to damier": "{processor_ratio[0]:.2f} [{processor_ratio[1]:.2f}, {processor_ratio[2]:.2f}]"}
GENOTYPES = Table("howto/genotypes.md", "genotypes", "genotypes", {
    "samples": "{samples}", "variants": "{variants}", "missing": "{missing}", "by": "{way}", **RELATIVE})

TABLES = [
    CPU, SCALAPACK, SCALING, LINKS, GPU, LIMITED, LINKED, RESIDUES, nvidias("cublasxt", "cuBLASXt", "block"),
    nvidias("cublasmp", "cuBLASMp", "layout"), CHECKPOINT, SOURCES, GENOTYPES, in_place("in place", "torch.matmul", GOAL_IN_PLACE),
    in_place("in place ranks", "all-gather and torch.matmul", GOAL_IN_PLACE_RANKS), in_place("in place divisions", "rows"),
    *(Lines("results/simulated.md", name, kind, make) for name, kind, make in (
        ("simulated", "simulated", simulated_tables.curves), ("simulated grids", "simulated", simulated_tables.grids),
        ("simulated cases", "simulated", simulated_tables.cases), ("simulated limits", "simulated", simulated_tables.limits),
        ("validation", "validation", simulated_tables.validation))),
    *own_tables.TABLES]
