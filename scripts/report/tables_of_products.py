"""Tables of products beside other libraries, of ranks and links, and of simulated machines: scripts/bench/again.py, damier bench."""
import math
import pathlib
import sys

from tables import (Lines, Table, at_least, at_most, compute_of, estimate, gpus_of, grouped, machine_ranks, measured, median, products_of, ratios,
                    shape_of, spread, square, table)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "simulation"))
import simulated_tables  # pylint: disable=wrong-import-position

GOAL_TYPES = ("f64", "f32", "tf32", "bf16")
SERIES = {"strong": "the same product", "memory": "the same memory of each rank", "work": "the same work of each rank"}



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


# ---- in memory ----

SIDE_BY_SIDE = (("cublasmp", "cuBLASMp", ""), ("cublasxt", "cuBLASXt", ", from and to host memory"), ("scalapack", "ScaLAPACK pdgemm", None),
                ("in place", "torch", ", arrays of Python"), ("in place ranks", "NCCL's all-gather and torch", ", arrays of Python"))


def sizes_of(record):
    return [int(size) for size in shape_of(record).split(" x ")]


def beside_calls(records):
    """(record, machine, other, seconds of damier, of the other, relative speed) of products beside calls of cuBLAS in the same process."""
    mine = [r for r in records if "library_s" in r.get("repetitions", {}) and len(set(sizes_of(r))) == 1]
    one = [(r, "1 GPU", "cuBLAS") for r in mine if r["kind"] == "gpu" and sizes_of(r)[0] == 16384]
    several = [r for r in mine if r["kind"] == "gpus" and r["problem"]["c"] != "bf16"
               and (r["transport"]["name"], r["bench"]["from"]) == ("ipc", "device memory")]
    newest = [max(same, key=lambda r: r["date"]) for same in grouped(several, lambda r: (shape_of(r), compute_of(r), machine_ranks(r))).values()]
    for r, where, other in one + [(r, f"{machine_ranks(r)} GPUs", "cuBLAS, one call on each GPU") for r in newest]:
        yield r, where, other, median(series([r])), median(series([r], "library_s")), median(faster([r]))


def beside_programs(records):
    """The same beside other programs, not verified where arrays of Python are."""
    for kind, other, where in SIDE_BY_SIDE:
        mine = [r for r in records if r["kind"] == kind and not r.get("verify") and sizes_of(r)[0] >= 4096]
        for (*_, count), pair in grouped(mine, lambda r: (shape_of(r), compute_of(r), gpus_of(r))).items():
            ours, theirs = sorted(pair, key=lambda r: r["way"] != "damier")
            cores = f"{count} cores" if count == 2 else f"{count} ranks on 2 cores"
            yield (ours, cores if where is None else f"{count} GPU{'s' * (count > 1)}{where}", other,
                   ours["seconds"][0], theirs["seconds"][0], 1 / ours["ratio"][0])


def digits(rate):
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 10 else f"{rate:.3f}"


def memory(records):
    found = [*beside_calls(records), *beside_programs(records)]
    rows = [(square(shape_of(r)), compute_of(r), where, other, *(digits(2e-12 * math.prod(sizes_of(r)) / s) for s in (ours, theirs)),
             f"{ratio:.2f}\u00a0×") for r, where, other, ours, theirs, ratio in found]
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


TABLES = [
    CPU, SCALAPACK, SCALING, LINKS, GPU, LIMITED, LINKED, RESIDUES, nvidias("cublasxt", "cuBLASXt", "block"),
    nvidias("cublasmp", "cuBLASMp", "layout"),
    *(Lines("results/simulated.md", name, kind, make) for name, kind, make in (
        ("simulated", "simulated", simulated_tables.curves), ("simulated grids", "simulated", simulated_tables.grids),
        ("simulated cases", "simulated", simulated_tables.cases), ("simulated limits", "simulated", simulated_tables.limits),
        ("validation", "validation", simulated_tables.validation))),
    Lines("results/memory.md", "summary memory", "gpu,gpus,cublasmp,cublasxt,scalapack,in place,in place ranks", memory, repeats=True),
    Lines("performance.md", "summary scaling", "bench scale,simulated", scaling, repeats=True)]
