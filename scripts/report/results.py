#!/usr/bin/env python3
"""Makes the tables and pictures of docs/performance.md and docs/results/*.md from the program's records.

    scripts/report/results.py docs/results/*.jsonl           updates tables between their markers, and pictures
    scripts/report/results.py --check docs/results/*.jsonl   only checks that they are up to date (exit 1: no)

A table NAME stands between the lines "<!-- table NAME -->" and "<!-- end NAME -->". Times are medians;
intervals are 95 % confidence intervals of the median, from order statistics.
"""
import argparse
import pathlib
import sys

import codec_tables
import job_tables
import kernel_tables
import summary
import user_tables
from tables import (compute_of, estimate, grouped, machine_ranks, median, met, milliseconds, origin, ratios,
                    read_records, shape_of, table)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.append(str(ROOT / "simulation"))
import simulated_tables  # pylint: disable=wrong-import-position

GOAL_CPU, GOAL_GPU = 1.05, 0.98
GOAL_SCALAPACK, GOAL_SLOW, GOAL_CHECKPOINT, GOAL_LIMITED_GPU = 1.00, 1.10, 1.02, 0.95
GOAL_RESIDUES_GPUS, GOAL_RESIDUES_NATIVE = 1.9, 1.55  # on two GPUs
GOAL_FROM_HOST = 0.36  # seconds; f64, N = 32768, on 4 GPUs
GOAL_TYPES = ("f64", "f32", "tf32", "bf16")
SERIES = {"strong": "the same product", "memory": "the same memory of each rank", "work": "the same work of each rank"}


def columns(*head):
    """Decorates a function that yields rows for records: returns a table of them, with their origin."""
    return lambda rows: lambda records: table(head, list(rows(records))) + origin(list(map(of_whole_job, records)))


def groups(records, *of):
    """Groups records that agree in all of OF, functions of a record; groups in order of appearance."""
    return grouped(records, lambda r: tuple(f(r) for f in of)).items()


def series(records, name="multiply_s"):
    """All repetitions of all RECORDS."""
    return [t for r in records for t in r["repetitions"][name]]


def at_most(values, goal):
    return met("≤", goal, median(values) <= goal)


def at_least(values, goal):
    return met("≥", goal, median(values) >= goal)


def grid_of(record):
    return record["plan"]["grid"]


def transport_of(record):
    return record["transport"]["name"]


def types_of(record):
    return compute_of(record) + (" → bf16" if record["problem"]["c"] == "bf16" else "")


def panels_of(record):
    """Widths: those of the ramp-up panels, then that of the other panels."""
    width, ramp = record["plan"]["panel"], str(record["plan"].get("ramp", ""))
    return str(width) if ramp in ("", str(width)) else f"{ramp},{width}".replace(",", ", ")


def speeds(record, seconds):
    """TFLOP/s of its product for each of SECONDS."""
    flops = record["rates"]["multiply_flops"] * record["times"]["multiply_median_s"]
    return [flops / t / 1e12 for t in seconds]


def of_whole_job(record):
    """In bench scale only some ranks multiply: gives the record the ranks of the whole command."""
    ranks = record.get("scale", {}).get("job_ranks", machine_ranks(record))
    return {**record, "machine": {**record.get("machine", {}), "ranks": ranks}}


def on(record):
    return "GPUs" if record["machine"]["backend"] == "cuda" else "CPU"


@columns("m × n × k", "type", "transport", "pairs", "2 ranks × 1 thread, s", "library, 2 threads, s",
         "time / library's", "goal", "verifying C, ms")
def cpu_table(records):
    """Several ranks, by each transport, alternating with the library in one process."""
    for (size,), of_size in sorted(groups(records, shape_of)):
        library = [r["repetitions"]["library_s"][0] for r in of_size
                   if machine_ranks(r) == 1 and "library_s" in r["repetitions"]]
        for (transport,), mine in groups((r for r in of_size if machine_ranks(r) > 1), transport_of):
            ours = [r["repetitions"]["multiply_s"][0] for r in mine]
            slower = ratios(ours, library)
            yield (size, of_size[0]["problem"]["work"], transport, len(slower), estimate(ours, 3), estimate(library, 3),
                   estimate(slower, 3), at_most(slower, GOAL_CPU),
                   milliseconds([r["repetitions"]["verify_s"][0] for r in mine]))


@columns("m × n × k", "ranks × 1 thread", "pdgemm's grid, block", "pairs", "damier, s", "pdgemm, s",
         "time / pdgemm's", "goal", "verified")
def scalapack_table(records):
    """damier alternating with pdgemm."""
    for case, mine in groups(records, shape_of, machine_ranks):
        ours = [r["repetitions"]["multiply_s"][0] for r in mine if r["verb"] == "bench multiply"]
        theirs = [r for r in mine if r["verb"] == "bench pdgemm"]
        times = [r["repetitions"]["multiply_s"][0] for r in theirs]
        slower = ratios(ours, times)
        sound = all(r["verification"]["verdict"] == "PASS" for r in mine)
        yield (*case, f"{theirs[0]['bench']['grid']}, {theirs[0]['bench']['block']}", len(slower), estimate(ours, 3),
               estimate(times, 3), estimate(slower, 3), at_most(slower, GOAL_SCALAPACK), "all" if sound else "NOT ALL")


def beside_library(records, verb, setting):
    """damier alternating with VERB, a program that calls another library; medians of each."""
    for case, mine in groups(records, shape_of, compute_of, summary.gpus_of):
        theirs = [r for r in mine if r["verb"] == verb]
        times = summary.medians(theirs)
        ours = summary.medians(r for r in mine if r["verb"] == "bench multiply")
        sound = all(r["verification"]["verdict"] == "PASS" for r in mine)
        settings = ", ".join(sorted({str(r["bench"][setting]) for r in theirs}))
        yield (*case, len(ours), estimate(ours, 4), estimate(times, 4), settings, estimate(ratios(ours, times), 3),
               "all" if sound else "NOT ALL")


@columns("m × n × k", "type", "GPUs", "pairs", "damier, s", "cuBLASXt, s", "cuBLASXt's block", "time / cuBLASXt's",
         "verified")
def cublasxt_table(records):
    """From host memory to host memory."""
    yield from beside_library(records, "bench cublasxt", "block")


@columns("m × n × k", "type", "GPUs", "pairs", "damier, s", "cuBLASMp, s", "cuBLASMp's layout", "time / cuBLASMp's",
         "verified")
def cublasmp_table(records):
    """In GPU memory."""
    yield from beside_library(records, "bench cublasmp", "layout")


@columns("m × n × k", "type", "A, B and C in", "tiles", "GPU memory, GiB", "runs", "TFLOP/s",
         "speed / in GPU memory", "goal")
def limited_table(records):
    """Matrices in GPU memory, alternating with host memory and part of the GPU's."""
    places = dict(groups(records, lambda r: r["bench"]["from"].split(",")[0]))
    base = series(places[("device memory",)])
    for (place,), mine in places.items():
        one, times = mine[0], series(mine)
        faster = ratios(base, times)
        beside = (estimate(faster, 3), at_least(faster, GOAL_LIMITED_GPU)) if times != base else ("", "")
        yield (shape_of(one), compute_of(one), place, one["plan"]["tiles"], f"{one['plan']['device_bytes'] / 2**30:.1f}",
               len(times), estimate(speeds(one, times), 1), *beside)


@columns("m × n × k", "type", "runs", "TFLOP/s", "library, TFLOP/s", "speed / library's", "goal", "verifying C, ms")
def gpu_table(records):
    for r in records:
        times, kind, beside = r["repetitions"], compute_of(r), ("", "", "")
        if "library_s" in times:
            faster = ratios(times["library_s"], times["multiply_s"])
            beside = (estimate(speeds(r, times["library_s"]), 2), estimate(faster, 3),
                      at_least(faster, GOAL_GPU) if kind in GOAL_TYPES else "")
        rate = speeds(r, times["multiply_s"])
        yield shape_of(r), kind, len(rate), estimate(rate, 2), *beside, milliseconds(times["verify_s"])


def goal_between_gpus(record):
    """Lowest speed relative to no transfers: squares by type and size, and other shapes."""
    p = record["problem"]
    if not p["m"] == p["n"] == p["k"] or machine_ranks(record) < 4:
        return 0.95
    if compute_of(record) != "f64":
        return 0.97
    return 0.99 if p["m"] >= 32768 else 0.98


def links_goals(record, local, library):
    """The goals and whether they were met: relative to no transfers, to one call, or in seconds."""
    p, took, said = record["problem"], record["times"]["multiply_median_s"], []
    if local and not record["machine"].get("pretended_nodes"):
        said.append(at_least(local, goal_between_gpus(record)))
    if library and p["m"] == p["n"] == p["k"] and machine_ranks(record) == 4:
        said.append(f"one call: {at_least(library, 0.97 if compute_of(record) == 'f64' else 0.93)}")
    if record["bench"]["from"].startswith("pinned") and p["m"] == 32768:
        said.append(met("≤", f"{GOAL_FROM_HOST} s", took <= GOAL_FROM_HOST))
    if transport_of(record) == "host":  # all wait for messages there
        ratio = took * record["transport"]["proved_rate"] / record["moved"]["most_bytes"]
        said.append(f"{ratio:.2f} × bytes / self-test: {met('≤', f'{GOAL_SLOW:.2f}', ratio <= GOAL_SLOW)}")
    return ", ".join(said)


def beside_others(record):
    """Speedup over no transfers, and over one library call; empty: not measured."""
    times = record["repetitions"]
    return [ratios(times.get(base, []), times["multiply_s"]) for base in ("local_s", "library_s")]


@columns("m × n × k", "type", "GPUs", "grid", "panel", "transport", "from", "runs", "s", "TFLOP/s",
         "speed / with nothing moved", "speed / one call", "goal")
def links_table(records):
    """Products whose panels travel (A), of panels already in place (B), and one library call for each rank's
    whole block (C), alternating."""
    for r in records:
        times, nodes, others = series([r]), r["machine"]["nodes"], beside_others(r)
        yield (shape_of(r), types_of(r), machine_ranks(r), grid_of(r), panels_of(r),
               transport_of(r) + (f", as {nodes} nodes" if nodes > 1 else ""), r["bench"]["from"].split(",")[0],
               len(times), f"{r['times']['multiply_median_s']:.4f}", estimate(speeds(r, times), 1),
               *(estimate(other, 3) if other else "" for other in others), links_goals(r, *others))


def products_of(record):
    """Compute mode, such as "f64" or "f64:int8:15"."""
    return next(word[5:] for word in record["plan"]["recipe"].split() if word.startswith("work="))


@columns("m × n × k", "GPUs", "products", "grid", "runs", "s", "TFLOP/s", "speed / one GPU", "goal",
         "speed / native on as many", "goal", "verified")
def residues_gpus_table(records):
    """By residues on one GPU and on all of them, and native products on all, alternating."""
    found = dict(groups(records, shape_of, machine_ranks, products_of))
    for (shape, number, products), mine in found.items():
        times, row = series(mine), []
        for key, goal in (((shape, 1, products), GOAL_RESIDUES_GPUS), ((shape, number, "f64"), GOAL_RESIDUES_NATIVE)):
            base = found.get(key, mine)
            faster = ratios(series(base), times)
            row += ["", ""] if base is mine else [estimate(faster, 3), at_least(faster, goal) if number == 2 else ""]
        sound = all(r["verification"]["verdict"] == "PASS" for r in mine)
        yield (shape, number, products, grid_of(mine[0]), len(times), estimate(times, 4),
               estimate(speeds(mine[0], times), 1), *row, "all" if sound else "NOT ALL")


@columns("m × n × k", "ranks", "interval", "pairs", "time, s", "without, s", "time / without", "goal")
def checkpoint_table(records):
    """The same product with and without checkpoints, alternating."""
    off = [r["times"]["total_s"] for r in records if "--no-checkpoint" in r["command"]]
    for name, words in (("60 s, the default", {"--checkpoint"}), ("1 s", {"--checkpoint-interval", "1s"})):
        mine = [r for r in records if words <= set(r["command"].split())]
        pairs = list(zip([r["times"]["total_s"] for r in mine], off))
        if pairs:
            slower = ratios(*zip(*pairs))
            yield (shape_of(mine[0]), machine_ranks(mine[0]), name, len(pairs), *(estimate(s, 2) for s in zip(*pairs)),
                   estimate(slower, 3), at_most(slower, GOAL_CHECKPOINT))


@columns("series", "on", "ranks", "m × n × k", "type", "grid", "runs", "time, s", "speed-up", "efficiency")
def scaling_table(records):
    """Speedup by ranks, relative to the fewest."""
    for r in records:
        s, times = r["scale"], series([r])
        yield (SERIES[s["series"]], on(r), machine_ranks(r), shape_of(r), r["problem"]["work"], grid_of(r),
               len(times), estimate(times, 4), f"{s['speedup']:.2f}",
               f"{s['efficiency']:.3f} [{s['efficiency_ci95_low']:.3f}, {s['efficiency_ci95_high']:.3f}]")


def size_words(count):
    return f"{count >> 20} MiB" if count >= 2**20 else f"{count >> 10} KiB" if count >= 1024 else f"{count} B"


@columns("transport", "on", "ranks", "pieces", "runs", "one way, alone, GB/s", "both ways, GB/s",
         "both ways, all ranks in pairs, GB/s")
def pairs_table(records):
    """Rates of all pairs of ranks, by transport and size."""
    for r in records:
        yield (transport_of(r), on(r), machine_ranks(r), size_words(r["bench"]["bytes"]), r["bench"]["repetitions"],
               *("{:.2f} [{:.2f}, {:.2f}]".format(*(r["rates"][f"{way}_{which}_Bps"] / 1e9
                                                    for which in ("median", "least", "most")))
                 for way in ("one_way", "both_ways", "together")))


# With verification, of one GPU and of two: the largest ratio to torch.
GOAL_IN_PLACE = {(8192, "f64"): 1.03, (16384, "f64"): 1.02, (16384, "f32"): 1.02, (8192, "bf16"): 1.35, (16384, "bf16"): 1.10}
GOAL_IN_PLACE_RANKS = {(8192, "f64"): 1.05, (16384, "f64"): 1.00, (32768, "f64"): 1.00, (16384, "bf16"): 1.10,
                       (32768, "bf16"): 0.95}
GOAL_IN_PLACE_MORE = {(2048, "f64"): 0.25}  # ms, on one GPU


def goal_in_place(case, checked, goals):
    if goals is GOAL_IN_PLACE and case in GOAL_IN_PLACE_MORE:
        more = 1e3 * (checked["damier_s"][0] - checked["torch_s"][0])
        return met("≤ +", f"{GOAL_IN_PLACE_MORE[case]} ms", more <= GOAL_IN_PLACE_MORE[case])
    return at_most(checked["ratio"][:1], goals[case]) if case in goals else ""


def in_place_rows(records, goals):
    for case, mine in groups(records, lambda r: r["size"], lambda r: r["type"]):
        plain, checked = (next(r for r in mine if r["verify"] == verify) for verify in (False, True))
        row = (*case, *(f"{1e3 * plain[name][0]:.3g}" for name in ("torch_s", "damier_s")), f"{plain['ratio'][0]:.2f}",
               f"{1e3 * checked['damier_s'][0]:.3g}", f"{checked['ratio'][0]:.3f}")
        yield (*row, goal_in_place(case, checked, goals)) if goals else row


IN_PLACE = ("damier.matmul, ms", "ratio", "verified: ms", "ratio", "goal")


@columns("m = n = k", "type", "torch.matmul, ms", *IN_PLACE)
def in_place_table(records):
    """Arrays in the memory of one GPU, alternating; medians."""
    return in_place_rows(records, GOAL_IN_PLACE)


@columns("m = n = k", "type", "all-gather and torch.matmul, ms", *IN_PLACE)
def in_place_ranks_table(records):
    """Rows of A, B and C in the memory of each rank's GPU."""
    return in_place_rows(records, GOAL_IN_PLACE_RANKS)


@columns("m = n = k", "type", "A, B, C", "rows, ms", "these, ms", "ratio", "verified: ms", "ratio")
def in_place_divisions_table(records):
    """Beside the same product of rows, alternating."""
    for division, mine in groups(records, lambda r: r["division"]):
        for size, kind, *figures in in_place_rows(mine, None):
            yield (size, kind, ", ".join(division[0].split()), *figures)


@columns("files", "stored", "as", "of processors, s", "relative to one file", "time relative to one file")
def sources_table(records):
    """A matrix in many files compared with the same matrix in one, alternating; medians."""
    for r in records:
        yield (r["files"], r["layout"], r["way"], f"{r['processor_s'][0]:.2f}", f"{r['processor_ratio'][0]:.2f}",
               f"{r['ratio'][0]:.2f}")


def kind_of(record):
    if record["file"] in ("limited_gpu", "residues_gpus", "in_place", "in_place_ranks", "in_place_divisions"):
        return record["file"]
    if record["verb"] in ("user", "job", "node", "codec", "sources", "arrays", "gram bench"):
        return record["verb"]
    if record["verb"] in ("bench scale", "bench links"):
        return record["verb"]
    if record["verb"] == "simulate":
        return simulated_tables.kind_of(record)
    if record["file"] in ("scalapack", "cublasxt", "cublasmp"):
        return record["file"]
    if record["verb"] == "multiply":
        return "checkpoint" if record["file"] == "checkpoint" else None
    if record["verb"] == "bench kernels":
        if not kernel_tables.is_timed(record):
            return None
        if record["file"] == "ladder":
            return "ladder"
        return "kernels"
    if record["verb"] != "bench multiply":
        return None
    if record["machine"].get("backend") == "cuda" and machine_ranks(record) > 1:
        return "links"
    return "gpu" if record["machine"].get("backend") == "cuda" else "cpu"


# The tables of each page by name: the kind of record, and the function.
PAGES = {"results/whole_commands.md": {"user": ("user", user_tables.tables)},
         "results/cpu.md": {"cpu": ("cpu", cpu_table), "scalapack": ("scalapack", scalapack_table)},
         "results/scaling.md": {"scaling": ("bench scale", scaling_table), "pairs": ("bench links", pairs_table)},
         "results/gpu.md": {"gpu": ("gpu", gpu_table), "limited": ("limited_gpu", limited_table),
                            "cublasxt": ("cublasxt", cublasxt_table), "cublasmp": ("cublasmp", cublasmp_table),
                            "links": ("links", links_table), "residues gpus": ("residues_gpus", residues_gpus_table)},
         "results/simulated.md": {"simulated": ("simulated", simulated_tables.curves),
                                  "simulated grids": ("simulated", simulated_tables.grids),
                                  "simulated cases": ("simulated", simulated_tables.cases),
                                  "simulated limits": ("simulated", simulated_tables.limits),
                                  "validation": ("validation", simulated_tables.validation)},
         "results/jobs.md": {"jobs": ("job", job_tables.jobs_table)},
         "hdf5.md": {"codecs": ("codec", codec_tables.codecs_table), "sources": ("sources", sources_table)},
         "results/kernels.md": {name: (("kernels", "ladder"), make) for name, make in kernel_tables.TABLES.items()},
         "../kernels/README.md": {name: ("ladder", make) for name, make in kernel_tables.LADDER_PAGE.items()},
         "library.md": {"in place": ("in_place", in_place_table),
                        "in place ranks": ("in_place_ranks", in_place_ranks_table),
                        "in place divisions": ("in_place_divisions", in_place_divisions_table)},
         "checkpoint.md": {"checkpoint": ("checkpoint", checkpoint_table)},
         "performance.md": {f"summary {name}": (None, make) for name, make in summary.TABLES.items()}}


def of_kind(records, kind):
    """Those of the table; None stands for all, a tuple for several."""
    return records if kind is None else [r for r in records if r["kind"] in (kind if isinstance(kind, tuple) else (kind,))]


def page_with_tables(text, makers, records):
    for name, (kind, make) in makers.items():
        mine = of_kind(records, kind)
        begin, end = f"<!-- table {name} -->\n", f"<!-- end {name} -->"
        body = "\n".join(make(mine) if mine else []) or "Not yet measured with this version."
        head, rest = text.split(begin)
        text = head + begin + body + "\n" + end + rest.split(end)[1]
    return text


def run_row(record):
    """Of a run in none of the tables."""
    problem, times = record.get("problem", {}), record.get("times", {})
    seconds = times.get("total_s", times.get("multiply_median_s"))
    rate = record.get("rates", {}).get("multiply_flops")
    return (record["verb"], shape_of(record) if "shape" in problem else "", problem.get("work", ""), machine_ranks(record),
            "" if seconds is None else f"{seconds:.3g}", "" if rate is None else f"{rate / 1e9:.4g}",
            record.get("verification", {}).get("verdict", ""), record.get("date", "")[:10])


def print_tables(records):
    """The tables of records that are not the project's, on standard output."""
    shown = set()
    for name, (kind, make) in [item for page in PAGES.values() for item in page.items()]:
        mine = of_kind(records, kind) if kind else []
        try:
            lines = list(make(mine)) if mine else []
        except KeyError:  # measured in another way than the project's records: a row of its own below
            continue
        if sum(line.startswith("|") for line in lines) > 2:  # more than its head
            print("\n".join([f"{name}:", "", *lines, ""]))
            shown |= {id(r) for r in mine}
    others = [r for r in records if id(r) not in shown]
    if others:
        head = ("command", "m × n × k", "type", "ranks", "time, s", "GFLOP/s", "verified", "date")
        print("\n".join(["runs:", "", *table(head, map(run_row, others))]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if out of date")
    parser.add_argument("files", nargs="*", help="records, one line of JSON each; those outside of docs/results are "
                        "shown as tables on standard output, and no page is changed")
    options = parser.parse_args()
    # An unmatched wildcard is not expanded: there are no such records.
    files = [pathlib.Path(name) for name in sorted(options.files) if "*" not in name]
    try:
        records = [{"file": file.stem, **record} for file in files for record in read_records(file)]
    except (OSError, ValueError, TypeError) as error:
        sys.exit(f"results.py: {error}: damier's records, one line of JSON each (--json FILE.jsonl), are needed")
    records = [{**record, "kind": kind_of(record)} for record in records]
    if any((DOCS / "results").resolve() not in file.resolve().parents for file in files):
        print_tables(records)
        return
    made = {page: page_with_tables((DOCS / page).read_text(), makers, records) for page, makers in PAGES.items()}
    if records:
        made |= {f"pictures/{name}.svg": make(records) for name, make in summary.PICTURES.items()}
        made["pictures/jobs.svg"] = job_tables.jobs_picture([r for r in records if r["kind"] == "job"])
    for page, new in made.items():
        path = DOCS / page
        if options.check and (not path.exists() or path.read_text() != new):
            sys.exit(f"docs/{page} is out of date: run scripts/report/results.py docs/results/*.jsonl")
        if not options.check:
            path.write_text(new)


if __name__ == "__main__":
    main()
