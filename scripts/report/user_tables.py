"""Tables of the records of scripts/bench/user_runs.py: whole commands between which users can choose."""
from tables import code_of, estimate, grouped, median, ratios, table

DIGITS = 3
GPU_PROGRAMS = ("cupy", "torch")


def is_ours(row):
    return row.startswith(("damier", "mpirun"))


def is_idle(row):
    return row.startswith("hostname")


def machine_of(record):
    machine = record["machine"]
    cores = f"{machine['cores_allowed']} cores"
    if machine["cpu_limit"]:
        cores += f" of which {machine['cpu_limit']:g} may be used"
    gpus = [f"{len(machine['gpus'])} GPUs"] if machine["gpus"] else []
    return ", ".join([machine["device"], cores, *gpus, machine["launcher"] or "no launcher"])


def set_of(record):
    """Identifies sets; the rows of a set alternated."""
    return record["problem"]["shape"], record["problem"]["work"], record["cold"], record["date"]


def has_gpu_rows(records):
    """Whether a row of the set used a GPU: damier, which does if it is faster, or another program."""
    backends = {r["damier"]["machine"]["backend"] for r in records if r["damier"]}
    return "cuda" in backends or any(r["row"] in GPU_PROGRAMS for r in records)


def table_of(records):
    """The table of a set: a machine, and its CPU or GPU."""
    return machine_of(records[0]), has_gpu_rows(records)


def names_of(records):
    """In the order of their runs, the launcher alone at the end."""
    names = dict.fromkeys(r["row"] for r in records)
    return sorted(names, key=is_idle)


def cell(times, reference):
    """Seconds, and the ratio to NumPy's."""
    if not times:
        return ""
    ratio = f"; {median(ratios(times, reference)):.2f}" if reference else ""
    return estimate(times, DIGITS) + ratio


def best(times, wanted):
    return min((name for name in times if wanted(name)), key=lambda name: median(times[name]), default=None)


def beside_the_best(times):
    ours = best(times, is_ours)
    other = best(times, lambda name: not is_ours(name) and not is_idle(name))
    if not ours or not other:
        return ""
    return f"{ours} / {other}: {estimate(ratios(times[ours], times[other]), 2)}"


def row_of(records, names):
    times = {r["row"]: r["repetitions"]["command_s"] for r in records if r["repetitions"]["command_s"]}
    failed = {r["row"] for r in records if r["error"]}
    one = records[0]
    reference = times.get("numpy")
    cells = ["failed" if name in failed else
             cell(times.get(name), None if is_idle(name) else reference) for name in names]
    files = one["file_system"] + (", cold" if one["cold"] else "")
    return (one["problem"]["shape"], one["problem"]["work"], files, max(map(len, times.values()), default=0), *cells,
            beside_the_best({name: of for name, of in times.items() if name not in failed}))


def measured_on(records):
    """The machine, and a description of each row."""
    one = records[0]
    commits = dict.fromkeys(map(code_of, records))
    commands = dict.fromkeys(r["command"] for r in records)
    libraries = dict.fromkeys(r["machine"]["library"] for r in records if r["machine"]["library"])
    return ["", f"Measured on: {'; '.join([machine_of(one), *libraries, *commits])}.", "",
            *("    " + line for command in commands for line in command.rstrip().splitlines())]


def tables(records):
    """One table for each machine, or two: with products on its GPU, and on its CPU."""
    lines = []
    for sets in grouped(grouped(records, lambda r: (machine_of(r), set_of(r))).values(), table_of).values():
        mine = [record for group in sets for record in group]
        names = names_of(mine)
        rows = [row_of(group, names) for group in sets]
        head = ("m × n × k", "type", "files", "runs", *(f"`{name}`, s" for name in names),
                "the best of damier / the best other")
        lines += [""] * bool(lines) + table(head, rows) + measured_on(mine)
    return lines
