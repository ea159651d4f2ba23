"""The tables of docs/kernels.md, from records of `damier bench kernels`."""
import math
import pathlib

from tables import origin, table

RUNGS = pathlib.Path(__file__).resolve().parents[2] / "kernels/ladder"
BAR = 40  # characters of the longest bar

TYPES = ("f32", "f64", "tf32", "f16", "bf16", "i8")
LADDER = (8192, 16384)
SMALL = (512, 1024)


def is_timed(record):
    return record["verb"] == "bench kernels" and record.get("timing", {}).get("pairs", 0) > 0


def square(record):
    """The size of a product of square matrices, else None."""
    p = record["problem"]
    return p["m"] if p["m"] == p["n"] == p["k"] and p["pad"] == 0 else None


def is_plain(record):
    """C = A B against cuBLAS on the same matrices."""
    return not record["problem"]["accumulate"] and record["yardstick"]["name"] == "cublas"


def gemms(records):
    return [r for r in records if r["kernel"]["op"] == "gemm"]


def listed(head, rows, behind=()):
    """A table and its footer; empty without rows."""
    return [*table(head, rows), *behind] if rows else []


def padded(problem):
    """The shape, and the distance between rows."""
    return problem["shape"] + (f", rows + {problem['pad']}" if problem["pad"] else "")


def reached(value, goal):
    return f"{'met' if value >= goal else 'missed'} (≥ {goal:.2f})"


def teraflops(record):
    return record["rates"]["flops"] / 1e12


def rate(record):
    value = teraflops(record)
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def share(record):
    s = record["yardstick"]
    return f"{s['share_median']:.3f} [{s['share_ci95_low']:.3f}, {s['share_ci95_high']:.3f}]"


def number(value, scale=1.0, digits=0):
    return "" if value is None else f"{value * scale:.{digits}f}"


def rung_of(name):
    """The number of a kernel's file, or nothing; tiled_32 is in the file of tiled."""
    files = sorted(RUNGS.glob(f"??_{name}.cu")) or sorted(RUNGS.glob(f"??_{name.rsplit('_', 1)[0]}.cu"))
    return files[0].name[:2] if files else "  "


def bars_of_rungs(records):
    """A bar of TFLOP/s for each rung at N = 8192, by type."""
    mine = [r for r in gemms(records) if square(r) == LADDER[0] and is_plain(r) and r["kernel"]["name"] != "cublaslt"]
    lines = []
    for kind in ("f32", "f64", "bf16"):
        best = {}
        for r in mine:
            if r["kernel"]["type"] == kind:
                best[r["kernel"]["name"]] = max(best.get(r["kernel"]["name"], 0.0), teraflops(r))
        if not best:
            continue
        longest = max(best.values())
        lines += [f"{kind}, 8192 x 8192 x 8192, TFLOP/s on one {mine[0]['machine']['device']}:", "", "```"]
        for name in sorted(best, key=lambda n: (rung_of(n) == "  ", rung_of(n), n)):
            eighths = round(best[name] / longest * BAR * 8)
            bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip() or "▏"
            lines.append(f"{rung_of(name)} {name:22} {bar} {best[name]:.{2 if best[name] < 100 else 0}f}")
        lines += ["```", ""]
    return lines[:-1] + origin(mine)


def goal_of(record):
    """The share of cuBLAS that our best kernel should reach; None: no goal."""
    kind, size = record["kernel"]["type"], square(record)
    along_k = record["yardstick"]["name"] != "cublas"
    if record["problem"]["accumulate"]:
        return 1.10 if kind in ("bf16", "f16") and 2048 <= record["problem"]["k"] <= 4096 else None
    if size in SMALL:
        return 0.95 if kind in ("bf16", "f32") else None
    if size not in LADDER:
        return None
    if along_k or kind in ("tf32", "i8"):
        return 0.93 if along_k and kind in ("tf32", "i8") else None
    return {"f32": 0.95, "f64": 0.95, "bf16": 1.00, "f16": 1.00}.get(kind)


def best_table(records):
    """Our fastest kernel for each type and size."""
    best = {}
    for r in gemms(records):
        if r["kernel"]["name"].startswith("cublas") or r["problem"]["m"] < min(SMALL):
            continue
        p = r["problem"]
        key = (TYPES.index(r["kernel"]["type"]) if r["kernel"]["type"] in TYPES else len(TYPES),
               p["accumulate"], r["yardstick"]["name"], p["m"] * p["n"] * p["k"], p["shape"], p["pad"])
        if key not in best or teraflops(r) > teraflops(best[key]):
            best[key] = r
    rows = []
    for _, r in sorted(best.items()):
        p, s, goal = r["problem"], r["sensors"], goal_of(r)
        flops = p["flops"] / r["times"]["yardstick_median_s"] / 1e12
        rows.append((r["kernel"]["type"], padded(p) + (", C += A B" if p["accumulate"] else ""),
                     f"`{r['kernel']['name']}`", rate(r),
                     f"{flops:.1f}" + ("" if r["yardstick"]["name"] == "cublas" else " (B along k)"), share(r),
                     reached(r["yardstick"]["share_ci95_high"], goal) if goal else "", number(r["roof"]["share"], 100),
                     number(s["clock_hz"], 1e-6), number(s["power_w"])))
    return listed(("type", "m × n × k", "kernel", "TFLOP/s", "cuBLAS", "speed / cuBLAS'", "goal", "% of roof", "MHz", "W"),
                  rows, origin(gemms(records)))


def helpers_table(records):
    rows = [(f"`{r['kernel']['name']}`", r["kernel"]["type"], f"{r['problem']['m']} × {r['problem']['n']}",
             f"{r['rates']['bytes'] / 1e12:.2f}", r["yardstick"]["name"], share(r),
             reached(r["yardstick"]["share_ci95_high"], 0.90)) for r in records if r["kernel"]["op"] != "gemm"]
    return listed(("kernel", "type", "m × n", "TB/s", "against", "speed / its speed", "goal"), rows)


TABLES = {"best": best_table, "helpers": helpers_table}
LADDER_PAGE = {"rungs": bars_of_rungs}
