"""The tables of docs/kernels.md, from records of `damier bench kernels`."""
import math

from tables import origin, table

TYPES = ("f32", "f64", "tf32", "f16", "bf16", "i8")
LADDER = (8192, 16384)
CLASSICAL = (128, 256, 512, 1024, 2048, 4096)
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


def is_choice(record):
    """A product that is small in some dimension and not of the classical table: --kernel auto's."""
    p = record["problem"]
    small = min(p["m"], p["n"], p["k"]) < 8000
    return record["kernel"]["op"] == "gemm" and is_plain(record) and small and not (
        square(record) in CLASSICAL and record["kernel"]["type"] != "i8")


def choice_table(records):
    """Our own tensor-core kernels beside cuBLAS where shapes are small, thin or not aligned."""
    rows = {}
    for r in records:
        p = r["problem"]
        key = (TYPES.index(r["kernel"]["type"]), p["pad"], p["m"] * p["n"], p["k"], p["shape"])
        rows.setdefault(key, {})[r["kernel"]["name"]] = r
    lines = []
    for key in sorted(rows):
        mine = rows[key]
        lines.append((TYPES[key[0]], key[4] + (f", rows + {key[1]}" if key[1] else ""),
                      *(share(mine[k]) if k in mine else "" for k in ("mma", "wgmma"))))
    head = ("type", "m × n × k", "`mma` / cuBLAS", "`wgmma` / cuBLAS")
    return table(head, lines) + origin(records) if lines else []


def gemms(records):
    return [r for r in records if r["kernel"]["op"] == "gemm"]


def types_of(records):
    measured = {r["kernel"]["type"] for r in records}
    return [t for t in TYPES if t in measured] + sorted(measured - set(TYPES))


def names_of(records):
    """In the order measured, which is that of the registry, whatever the type."""
    order = {}
    for r in records:
        order.setdefault(r["kernel"]["name"], len(order))
    return sorted(order, key=lambda name: (name.startswith("cublas"), order[name]))


def teraflops(record):
    return record["rates"]["flops"] / 1e12


def rate(record):
    value = teraflops(record)
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def share(record):
    s = record["yardstick"]
    return f"{s['share_median']:.3f} [{s['share_ci95_low']:.3f}, {s['share_ci95_high']:.3f}]"


def latest(records, key):
    """One record for each key: the last one measured."""
    return {key(r): r for r in records}


def number(value, scale=1.0, digits=0):
    return "" if value is None else f"{value * scale:.{digits}f}"


def three_digits(value):
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def ladder_table(records):
    lines = []
    for size in LADDER:
        mine = [r for r in gemms(records) if square(r) == size and is_plain(r)]
        if not mine:
            continue
        types = types_of(mine)
        cells = latest(mine, lambda r: (r["kernel"]["name"], r["kernel"]["type"]))
        rows = []
        for name in names_of(mine):
            row = [f"`{name}`"]
            for kind in types:
                r = cells.get((name, kind))
                row.append(f"{rate(r)} ({r['yardstick']['share_median']:.3f})" if r else "")
            rows.append(row)
        lines += [f"N = {size}, TFLOP/s and, in parentheses, the speed over that of cuBLAS:", ""]
        lines += table(["kernel", *types], rows) + [""]
    return lines[:-1]


def classical_table(records):
    lines = []
    for kind in types_of(records):
        mine = [r for r in gemms(records)
                if r["kernel"]["type"] == kind and square(r) in CLASSICAL and is_plain(r)]
        sizes = [n for n in CLASSICAL if any(square(r) == n for r in mine)]
        if len(sizes) < 3:
            continue
        cells = latest(mine, lambda r: (r["kernel"]["name"], square(r)))
        rows = []
        for name in names_of(mine):
            times = [cells.get((name, n)) for n in sizes]
            rows.append([f"`{name}`"] + [three_digits(1e3 * r["times"]["kernel_median_s"]) if r else ""
                                         for r in times])
        lines += [f"{kind}, ms:", ""] + table(["kernel", *map(str, sizes)], rows) + [""]
    return lines[:-1]


def goal_of(record):
    """What the best kernel of our own is meant to reach of cuBLAS; None: no goal is set."""
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


def goal_text(record):
    goal = goal_of(record)
    if goal is None:
        return ""
    reached = record["yardstick"]["share_ci95_high"] >= goal
    return f"{'met' if reached else 'missed'} (≥ {goal:.2f})"


def best_table(records):
    """The fastest kernel of our own of each type and size."""
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
    for key in sorted(best):
        r = best[key]
        p, s = r["problem"], r["sensors"]
        flops = p["flops"] / r["times"]["yardstick_median_s"] / 1e12
        what = p["shape"] + (f", rows + {p['pad']}" if p["pad"] else "")
        what += ", C += A B" if p["accumulate"] else ""
        rows.append((r["kernel"]["type"], what, f"`{r['kernel']['name']}`", rate(r),
                     f"{flops:.1f}" + ("" if r["yardstick"]["name"] == "cublas" else " (B along k)"),
                     share(r), goal_text(r), number(r["roof"]["share"], 100),
                     number(s["clock_hz"], 1e-6), number(s["power_w"])))
    head = ("type", "m × n × k", "kernel", "TFLOP/s", "cuBLAS", "speed / cuBLAS'", "goal",
            "% of roof", "MHz", "W")
    return (table(head, rows) if rows else []) + (origin(gemms(records)) if rows else [])


def cliff_table(records):
    """Odd shapes and strides, against the aligned product of 8192 by the same kernel."""
    plain = [r for r in gemms(records) if is_plain(r)]
    aligned = {(r["kernel"]["name"], r["kernel"]["type"]): r for r in plain if square(r) == 8192}
    rows = []
    for r in plain:
        base = aligned.get((r["kernel"]["name"], r["kernel"]["type"]))
        if not base or square(r) in LADDER or min(r["problem"][x] for x in "mnk") < 8000:
            continue
        ratio = teraflops(r) / teraflops(base)
        pad = r["problem"]["pad"]
        rows.append((f"`{r['kernel']['name']}`", r["kernel"]["type"],
                     r["problem"]["shape"] + (f", rows + {pad}" if pad else ""), rate(r),
                     f"{ratio:.3f}", f"{'met' if ratio >= 0.85 else 'missed'} (≥ 0.85)",
                     share(r)))
    head = ("kernel", "type", "m × n × k", "TFLOP/s", "of the aligned speed", "goal",
            "speed / cuBLAS'")
    return table(head, rows) if rows else []


def helpers_table(records):
    rows = []
    for r in records:
        if r["kernel"]["op"] == "gemm":
            continue
        s = r["yardstick"]
        goal = f"{'met' if s['share_ci95_high'] >= 0.90 else 'missed'} (≥ 0.90)"
        rows.append((f"`{r['kernel']['name']}`", r["kernel"]["type"],
                     f"{r['problem']['m']} × {r['problem']['n']}",
                     f"{r['rates']['bytes'] / 1e12:.2f}", s["name"], share(r), goal))
    head = ("kernel", "type", "m × n", "TB/s", "against", "speed / its speed", "goal")
    return table(head, rows) if rows else []


def roofline(_records):
    """The picture that scripts/report/roofline.py draws from the same records."""
    return ["![Speed of the kernels over operations for each byte, under the ceilings of the device]"
            "(roofline.svg)"]


TABLES = {"best": best_table, "roofline": roofline, "ladder": ladder_table, "cliffs": cliff_table,
          "classical": classical_table, "helpers": helpers_table}
CHOICE = {"choice": choice_table}
