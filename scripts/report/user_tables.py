#!/usr/bin/env python3
"""Table and plot of the records of scripts/bench/user.sh: whole commands between which users can choose.

    scripts/report/user_tables.py docs/results/user.jsonl [--output TABLE.md] [--plot PLOT.svg]

The plot needs matplotlib.
"""
import argparse
import pathlib
import sys

from tables import code_of, estimate, median, read_records, table

DIGITS = 3
GPU_PROGRAMS = ("cupy", "torch")


def is_ours(row):
    return row.startswith(("damier", "mpirun"))


def is_idle(row):
    return row.startswith("hostname")


def grouped(records, key):
    groups = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


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


def ratios(times, base):
    return [a / b for a, b in zip(times, base)]


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


def plot(records, path):
    """Square products: a picture for each machine and type, a line for each row."""
    import matplotlib  # pylint: disable=import-outside-toplevel,import-error
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "damier"  # deterministic output
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel,import-error
    square = [r for r in records if len({r["problem"][x] for x in "mnk"}) == 1 and r["repetitions"]["command_s"]]
    names = names_of(square)
    panels = grouped(square, lambda r: (machine_of(r), r["problem"]["work"], r["cold"]))
    figure, axes = pyplot.subplots(1, len(panels), figsize=(6 * len(panels), 5), squeeze=False, sharey=True)
    for axis, ((where, kind, cold), mine) in zip(axes[0], panels.items()):
        for name, of_row in grouped(mine, lambda r: r["row"]).items():
            colour = pyplot.get_cmap("tab20")(names.index(name) % 20)
            points = sorted((r["problem"]["m"], r["times"]["command_median_s"]) for r in of_row)
            style = ":" if is_idle(name) else "-" if is_ours(name) else "--"
            axis.loglog(*zip(*points), style, color=colour, marker="o", markersize=3, label=name)
        axis.set_title(f"{where}\n{kind}{', cold' if cold else ''}", fontsize=8)
        axis.set_xlabel("m = n = k")
        sizes = sorted({r["problem"]["m"] for r in mine})
        axis.set_xticks(sizes, [str(size) for size in sizes], minor=False)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    axes[0][0].set_ylabel("seconds from fork to exit, median")
    figure.tight_layout()
    figure.savefig(path, format="svg", metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--output", type=pathlib.Path, help="Markdown [standard output]")
    parser.add_argument("--plot", type=pathlib.Path, help="SVG")
    options = parser.parse_args()
    records = [record for file in options.files for record in read_records(file) if record["verb"] == "user"]
    if not records:
        sys.exit("there is no record of scripts/bench/user.sh")
    text = "\n".join(tables(records)) + "\n"
    if options.output:
        options.output.write_text(text)
    else:
        print(text, end="")
    if options.plot:
        try:
            plot(records, options.plot)
        except ImportError as reason:
            print(f"no plot: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
