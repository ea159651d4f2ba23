"""Tables of the kernels, of records of damier bench kernels: scripts/bench/again.py docs/results/kernels.jsonl, ladder.jsonl."""
import pathlib

from tables import Lines, Table, commit_of, grouped, origin, spread, table

RUNGS = pathlib.Path(__file__).resolve().parents[2] / "kernels/ladder"
BAR = 40  # characters of the longest bar
TYPES = ("f32", "f64", "tf32", "f16", "bf16", "i8")
GOALS = {"f32": 0.95, "f64": 0.95, "bf16": 1.00, "f16": 1.00}  # share of cuBLAS at 8192 and 16384
GOALS_ALONG_K = {"tf32": 0.93, "i8": 0.93}
GOALS_SMALL = {"f32": 0.95, "bf16": 0.95}  # at 512 and 1024


def gemms(records):
    return [r for r in records if r["kernel"]["op"] == "gemm" and r.get("timing", {}).get("pairs", 0) > 0]


def teraflops(record):
    return record["rates"]["flops"] / 1e12


def rate(record):
    return f"{teraflops(record):.{2 if teraflops(record) < 100 else 0}f}"


def fastest(records, key):
    """{key: the fastest record}"""
    return {k: max(mine, key=teraflops) for k, mine in grouped(records, key).items()}


def number_of_rung(name):
    """The number of a kernel's file, or nothing; tiled_32 is in the file of tiled."""
    files = sorted(RUNGS.glob(f"??_{name}.cu")) or sorted(RUNGS.glob(f"??_{name.rsplit('_', 1)[0]}.cu"))
    return files[0].name[:2] if files else "  "


def rungs(records):
    """A bar of TFLOP/s for each rung at N = 8192, by type, of one machine."""
    mine = [r for r in gemms(records) if r["problem"]["shape"] == "8192 x 8192 x 8192" and r["problem"]["pad"] == 0
            and not r["problem"]["accumulate"] and r["yardstick"]["name"] == "cublas" and r["kernel"]["name"] != "cublaslt"]
    lines = []
    for kind in ("f32", "f64", "f16", "bf16"):
        best = fastest([r for r in mine if r["kernel"]["type"] == kind], lambda r: r["kernel"]["name"])
        if not best:
            continue
        longest = max(map(teraflops, best.values()))
        lines += [f"{kind}, 8192 x 8192 x 8192, TFLOP/s on one {mine[0]['machine']['device']}:", "", "```"]
        for name in sorted(best, key=lambda n: (number_of_rung(n) == "  ", number_of_rung(n), n)):
            eighths = round(teraflops(best[name]) / longest * BAR * 8)
            bar = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip() or "▏"
            lines.append(f"{number_of_rung(name)} {name:22} {bar} {rate(best[name])}")
        lines += ["```", ""]
    return lines[:-1] + origin(mine)


def compiled(records):
    """What exact sizes gain: jit beside the same kernel from the build, both of one commit; of several, the last in the file."""
    mine = [r for r in gemms(records) if r["kernel"]["name"] in ("tiled_32", "jit")]
    pairs = {}
    for (kind, shape, _), both in grouped(mine, lambda r: (r["kernel"]["type"], r["problem"]["shape"], commit_of(r))).items():
        best = fastest(both, lambda r: r["kernel"]["name"])
        if len(best) == 2:
            pairs[kind, shape] = best["tiled_32"], best["jit"]
    rows = [(*case, rate(built), rate(jit), f"{teraflops(jit) / teraflops(built):.2f}") for case, (built, jit) in pairs.items()]
    used = [record for pair in pairs.values() for record in pair]
    return table(("type", "m × n × k", "`tiled_32`, TFLOP/s", "`jit`, TFLOP/s", "gain"), rows) + (origin(used) if used else [])


def goal_of(record):
    """The share of cuBLAS that our fastest kernel should reach in squares; None: no goal."""
    p, kind = record["problem"], record["kernel"]["type"]
    if p["accumulate"] or p["pad"] or not p["m"] == p["n"] == p["k"] in (512, 1024, 8192, 16384):
        return None
    return (GOALS_SMALL if p["m"] <= 1024 else GOALS if record["yardstick"]["name"] == "cublas" else GOALS_ALONG_K).get(kind)


def share(record):
    """Of the other's speed."""
    y = record["yardstick"]
    return spread([y[f"share_{which}"] for which in ("median", "ci95_low", "ci95_high")], 3)


def reached(record, goal):
    return "" if goal is None else f"{'met' if record['yardstick']['share_ci95_high'] >= goal else 'missed'} (≥ {goal:.2f})"


def case_of(r):
    """What the kernels of a row have in common, in the order of rows."""
    p, kind = r["problem"], r["kernel"]["type"]
    return (TYPES.index(kind) if kind in TYPES else len(TYPES), p["accumulate"], r["yardstick"]["name"], p["m"] * p["n"] * p["k"], p["shape"],
            p["pad"])


def shape_of_kernel(r):
    p = r["problem"]
    return p["shape"] + (f", rows + {p['pad']}" if p["pad"] else "") + (", C += A B" if p["accumulate"] else "")


def library_rate(r):
    rate_of_library = r["problem"]["flops"] / r["times"]["yardstick_median_s"] / 1e12
    return f"{rate_of_library:.1f}" + (" (B along k)" if r["yardstick"]["name"] != "cublas" else "")


def number(part, name, scale):
    return lambda r: "" if r[part][name] is None else f"{r[part][name] * scale:.0f}"


def of_fastest(columns):
    return {head: lambda g, text=text: text(max(g, key=teraflops)) for head, text in columns.items()}


KERNEL = {"kernel": lambda r: f"`{r['kernel']['name']}`"}
TYPE = {"type": lambda r: r["kernel"]["type"]}
BEST = Table("results/kernels.md", "best", "bench kernels", of_fastest(TYPE | {"m × n × k": shape_of_kernel} | KERNEL | {
    "TFLOP/s": rate, "cuBLAS": library_rate, "speed / cuBLAS'": share, "goal": lambda r: reached(r, goal_of(r)),
    "% of roof": number("roof", "share", 100), "MHz": number("sensors", "clock_hz", 1e-6), "W": number("sensors", "power_w", 1)}),
    by=(case_of,), order=lambda g: g.key, among=lambda records: [
        r for r in gemms(records) if not r["kernel"]["name"].startswith("cublas") and r["problem"]["m"] >= 512],
    footer=lambda records: origin(gemms(records)))
HELPERS = Table("results/kernels.md", "helpers", "bench kernels", KERNEL | TYPE | {
    "m × n": "{problem[m]} × {problem[n]}", "TB/s": lambda g: f"{g['rates']['bytes'] / 1e12:.2f}", "against": "{yardstick[name]}",
    "speed / its speed": share, "goal": lambda g: reached(g, 0.90)},
    among=lambda records: [r for r in records if r["kernel"]["op"] != "gemm"], footer=lambda _: [])

TABLES = [BEST, HELPERS,
          Lines("../kernels/README.md", "rungs", "ladder", rungs, repeats=True),
          Lines("../kernels/README.md", "jit", "ladder", compiled, repeats=True)]
