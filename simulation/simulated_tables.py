"""Tables of simulated machines, of the records of simulation/simulate.sh --record."""
from tables import code_of, median, met, table

# Efficiency against one GPU's rate for the local shape, of square products; 5 % slower ranks apart.
GOAL_WEAK = {"f64": 0.95, "bf16": 0.85}


def bound_goal(gpus):
    """What part of its bound a strong-scaled product of 100000 in f64 must reach."""
    return 1 / 1.10 if gpus <= 256 else 1 / 1.25 if gpus <= 1024 else None


def kind_of(record):
    return "validation" if "measured_s" in record["simulated"] else "simulated"


def rows_of(records, *wanted):
    return [r for r in records if (r["simulated"]["plan"], r["simulated"]["case"]) in wanted]


def percent(value):
    return f"{100 * value:.1f} %"


def goal_of(record):
    s, kind, gpus = record["simulated"], record["problem"]["work"], record["machine"]["ranks"]
    if s["shape"] != "square" or s["plan"] != "choice" or s["case"] not in ("plain", "slow-down"):
        return ""
    if s["scaling"] == "weak" and gpus <= 1024 and s["case"] == "plain":
        return met("≥", GOAL_WEAK[kind], record["rates"]["of_library"] >= GOAL_WEAK[kind])
    part = bound_goal(gpus)
    if s["scaling"] == "strong" and kind == "f64" and part and s["case"] == "plain":
        return met("bound / time ≥", f"{part:.3f}", record["rates"]["of_bound"] >= part)
    return ""


def line(record):
    s, moved = record["simulated"], record["moved"]
    return (s["scaling"], s["shape"], record["problem"]["work"], record["machine"]["ranks"],
            f"{s['plan']}: {record['plan']['grid']}", record["plan"]["panels_per_layer"], s["case"],
            f"{record['times']['multiply_s']:.4g}", f"{record['rates']['of_library']:.3f}",
            f"{record['rates']['of_bound']:.3f}", percent(s["of_compute"]), percent(s["of_network"]),
            record["bound"]["total"], "yes" if moved["as_planned"] else "NO", goal_of(record))


HEAD = ("scaling", "shape", "type", "GPUs", "plan", "panels", "case", "s", "efficiency", "bound / time",
        "GPUs busy", "adapters busy", "limited by", "bytes as planned", "goal")


def ordered(records):
    places = {"strong": 0, "weak": 1}
    return sorted(records, key=lambda r: (places[r["simulated"]["scaling"]], r["simulated"]["shape"],
                                          r["problem"]["work"], r["machine"]["ranks"],
                                          r["simulated"]["plan"], r["simulated"]["case"]))


def where(records):
    """When, and how long it took."""
    codes = "; ".join(dict.fromkeys(map(code_of, records)))
    longest = max(r["simulated"]["real_s"] for r in records)
    planning = max(r["simulated"]["planning_s"] for r in records)
    memory = max(r["simulated"]["process_bytes"] for r in records)
    return ["", f"Simulated with {codes}; the longest run took {longest:.0f} s and "
                f"{memory / 2**30:.2f} GiB, the planner at most {planning * 1e3:.0f} ms."]


def curves(records):
    chosen = rows_of(records, ("choice", "plain"))
    return table(HEAD, [line(r) for r in ordered(chosen)]) + where(chosen)


def grids(records):
    """Squares alone: with one layer, with several, and as the planner chooses."""
    mine = [r for r in rows_of(records, ("choice", "plain"), ("2d", "plain"), ("3d", "plain"))
            if r["simulated"]["shape"] == "square"]
    return table(HEAD, [line(r) for r in ordered(mine)]) + where(mine)


def cases(records):
    """Beside the plain run of the same product: how much slower."""
    plain = {key(r): r["times"]["multiply_s"] for r in rows_of(records, ("choice", "plain"))}
    rows = []
    for r in ordered(r for r in records if r["simulated"]["case"] != "plain"):
        base = plain.get(key(r))
        ratio = f"{r['times']['multiply_s'] / base:.3f}" if base else ""
        rows.append(line(r)[:10] + (ratio, r["bound"]["total"]))
    return table(HEAD[:10] + ("time / plain", "limited by"), rows) + \
        where([r for r in records if r["simulated"]["case"] != "plain"])


def course(records):
    """Of one curve: "compute to 256, network from 1024 GPUs"."""
    runs = []
    for r in sorted(records, key=lambda r: r["machine"]["ranks"]):
        if not runs or runs[-1][0] != r["bound"]["total"]:
            runs.append((r["bound"]["total"], []))
        runs[-1][1].append(r["machine"]["ranks"])
    if len(runs) == 1:
        return f"{runs[0][0]} everywhere ({runs[0][1][0]} to {runs[0][1][-1]})"
    words = [f"{name} to {counts[-1]}" for name, counts in runs[:-1]]
    return ", ".join(words + [f"{runs[-1][0]} from {runs[-1][1][0]}"])


def curves_of(records):
    """[(what the curve is of, its records)] in the order of the tables."""
    found = {}
    for r in ordered(records):
        s = r["simulated"]
        name = s["scaling"], s["shape"], r["problem"]["work"], s["plan"], s["case"]
        found.setdefault(name, []).append(r)
    return list(found.items())


def limits(records):
    """At which size which resource becomes the limit, of each curve."""
    rows = []
    for name, mine in curves_of(records):
        last = max(mine, key=lambda r: r["machine"]["ranks"])
        rows.append((*name, course(mine), f"{last['rates']['of_library']:.3f} at {last['machine']['ranks']}"))
    return table(("scaling", "shape", "type", "plan", "case", "limited by, at so many GPUs",
                  "efficiency of the largest"), rows)


def key(record):
    p = record["problem"]
    return p["shape"], p["work"], record["machine"]["ranks"]


def validation(records):
    """Simulated beside measured, with the rate of one GPU."""
    rows, errors = [], []
    for r in records:
        s, took = r["simulated"], r["times"]["multiply_s"]
        error = took / s["measured_s"] - 1
        errors.append(abs(error))
        rows.append((r["problem"]["shape"], s["measured_type"], r["machine"]["ranks"], r["plan"]["grid"], r["plan"]["panel"],
                     f"{s['measured_s']:.4f}", f"{took:.4f}", f"{100 * error:+.1f} %"))
    head = ("m × n × k", "type", "GPUs", "grid", "panel", "measured, s", "simulated, s", "error")
    return table(head, rows) + ["", f"Median error {percent(median(errors))}, largest {percent(max(errors))}."]
