#!/usr/bin/env python3
"""Makes the tables of docs/performance.md and docs/kernels.md from the program's own records.

    scripts/report/results.py docs/results/*.jsonl           writes them between their markers
    scripts/report/results.py --check docs/results/*.jsonl   only says whether they are up to date (exit 1: no)

A table NAME stands between the lines "<!-- table NAME -->" and "<!-- end NAME -->". Times are medians;
an interval is the 95 % confidence interval of the median, from order statistics.
"""
import argparse
import math
import pathlib
import sys

import kernel_tables
import scale_tables
from tables import estimate, machine_ranks, median, met, milliseconds, origin, read_records, table

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path.append(str(ROOT / "simulation"))
import simulated_tables  # pylint: disable=wrong-import-position

GOAL_CPU, GOAL_GPU, GOAL_IO, GOAL_UNPACK = 1.05, 0.98, 0.90, 0.80
GOAL_FILES, GOAL_FILES_GPU, GOAL_LIMITED, GOAL_TRAFFIC = 1.10, 1.15, 1.20, 1.25
GOAL_SCALAPACK, GOAL_SLOW, GOAL_CHECKPOINT, GOAL_PREDICTED = 1.00, 1.10, 1.02, 0.15
GOAL_TYPES = ("f64", "f32", "tf32", "bf16")


def cpu_table(records):
    """Runs on several ranks, by each transport, and the library in one process, alternating."""
    rows = []
    for size in sorted({r["problem"]["shape"] for r in records}):
        of_size = [r for r in records if r["problem"]["shape"] == size]
        library = [r["repetitions"]["library_s"][0] for r in of_size
                   if machine_ranks(r) == 1 and "library_s" in r["repetitions"]]
        several = [r for r in of_size if machine_ranks(r) > 1]
        for transport in dict.fromkeys(r["transport"]["name"] for r in several):
            mine = [r for r in several if r["transport"]["name"] == transport]
            ours = [r["repetitions"]["multiply_s"][0] for r in mine]
            ratios = [a / b for a, b in zip(ours, library)]
            verify = [r["repetitions"]["verify_s"][0] for r in mine]
            rows.append((size, of_size[0]["problem"]["work"], transport, len(ratios),
                         estimate(ours, 3), estimate(library, 3), estimate(ratios, 3),
                         met("≤", GOAL_CPU, median(ratios) <= GOAL_CPU), milliseconds(verify)))
    head = ("m × n × k", "type", "transport", "pairs", "2 ranks × 1 thread, s",
            "library, 2 threads, s", "time / library's", "goal", "verifying C, ms")
    return table(head, rows) + origin(records)


def scalapack_table(records):
    """Runs of damier and of pdgemm, alternating."""
    rows = []
    for case in dict.fromkeys((r["problem"]["shape"], machine_ranks(r)) for r in records):
        mine = [r for r in records if (r["problem"]["shape"], machine_ranks(r)) == case]
        ours = [r["repetitions"]["multiply_s"][0] for r in mine if r["verb"] == "bench multiply"]
        theirs = [r for r in mine if r["verb"] == "bench pdgemm"]
        times = [r["repetitions"]["multiply_s"][0] for r in theirs]
        ratios = [a / b for a, b in zip(ours, times)]
        sound = all(r["verification"]["verdict"] == "PASS" for r in mine)
        rows.append((case[0], case[1], f"{theirs[0]['bench']['grid']}, {theirs[0]['bench']['block']}",
                     len(ratios), estimate(ours, 3), estimate(times, 3), estimate(ratios, 3),
                     met("≤", GOAL_SCALAPACK, median(ratios) <= GOAL_SCALAPACK),
                     "all" if sound else "NOT ALL"))
    head = ("m × n × k", "ranks × 1 thread", "pdgemm's grid, block", "pairs", "damier, s", "pdgemm, s",
            "time / pdgemm's", "goal", "verified")
    return table(head, rows) + origin(records)


def grid_ranks(record):
    return math.prod(int(n) for n in record["plan"]["grid"].split("x"))


def slow_links_table(records):
    """Products over links of a known rate, with and without overlap; alternating with the same of
    panels that lie ready, which is what computing takes."""
    rows = []
    for case in dict.fromkeys((r["problem"]["shape"], r["link_bits"]) for r in records):
        mine = [r for r in records if (r["problem"]["shape"], r["link_bits"]) == case]
        hidden = [r for r in mine if r["plan"]["overlap"]]
        plain = [t for r in mine if not r["plan"]["overlap"] for t in r["repetitions"]["multiply_s"]]
        times = [t for r in hidden for t in r["repetitions"]["multiply_s"]]
        compute = [t for r in hidden for t in r["repetitions"]["local_s"]]
        one, used = hidden[0], grid_ranks(hidden[0])
        runs = one["bench"]["warmup"] + one["bench"]["repetitions"]
        moved = one["moved"].get("most_bytes", one["moved"]["between_ranks_bytes"] / used / runs)
        link = moved * 8 / case[1] if case[1] else 0.0
        ratios = [t / max(c, link) for t, c in zip(times, compute)]
        rows.append((case[0], hidden[0]["problem"]["work"], hidden[0]["plan"]["grid"],
                     f"{case[1] / 1e9:g}" if case[1] else "not limited", len(times),
                     estimate(compute, 3), f"{link:.3f}" if link else "",
                     estimate(times, 3), estimate(ratios, 3),
                     met("≤", GOAL_SLOW, median(ratios) <= GOAL_SLOW) if case[1] else "",
                     estimate(plain, 3)))
    head = ("m × n × k", "type", "grid", "Gbit/s", "runs", "computing, s", "bytes / link, s", "time, s",
            "time / the larger", "goal", "without overlap, s")
    return table(head, rows) + origin(records)


def prediction_table(records):
    """Forecasts of products that the measured rates have not seen, without files, and their times."""
    rows = []
    for r in records:
        f, times = r["forecast"], r["repetitions"]["multiply_s"]
        predicted = f["total_s"] - f["read_s"] - f["write_s"]
        error = predicted / median(times) - 1
        network = f"{r['link_bits'] / 1e9:g} Gbit/s" if "link_bits" in r else "one node"
        goal = met("≤", f"{GOAL_PREDICTED:.0%}", abs(error) <= GOAL_PREDICTED) if "link_bits" in r else ""
        rows.append((r["problem"]["shape"], f"{machine_ranks(r)} × {r['machine']['threads']}", network,
                     r["plan"]["grid"], len(times), f"{predicted:.4f}", estimate(times, 4),
                     f"{100 * error:+.1f} %", goal,
                     f"{r['load_before']:.0f}" + (", real time" if r["realtime"] else "")))
    head = ("m × n × k", "ranks × threads", "between ranks", "grid", "runs", "predicted, s", "measured, s",
            "error", "goal", "load before")
    return table(head, rows) + origin(records)


def is_forced(record):
    return "--grid" in record["command"]


def prediction_gpu_table(records):
    """The same on GPUs, and the planner's own choice beside the fastest of the grids that were forced."""
    key = lambda r: (r["problem"]["shape"], compute_of(r), machine_ranks(r))
    fastest = {}
    for r in filter(is_forced, records):
        fastest[key(r)] = min(fastest.get(key(r), math.inf), median(r["repetitions"]["multiply_s"]))
    rows = []
    for r in records:
        times, best = r["repetitions"]["multiply_s"], fastest.get(key(r))
        error = r["forecast"]["total_s"] / median(times) - 1
        chosen = not is_forced(r)
        rows.append((*key(r), r["plan"]["grid"], "chosen" if chosen else "forced", len(times),
                     f"{r['forecast']['total_s']:.4f}", estimate(times, 4), f"{100 * error:+.1f} %",
                     met("≤", f"{GOAL_PREDICTED_GPU:.0%}", abs(error) <= GOAL_PREDICTED_GPU),
                     f"{median(times) / best:.3f}" if chosen and best else ""))
    head = ("m × n × k", "type", "GPUs", "grid", "by", "runs", "predicted, s", "measured, s", "error", "goal",
            "time / fastest forced grid")
    return table(head, rows) + origin(records)


def grids_table(records):
    """More ranks than cores: the planner's choice beside all grids forced, its own grid among them."""
    key = lambda r: (r["problem"]["shape"], machine_ranks(r))
    time_of = lambda r: median(r["repetitions"]["multiply_s"])
    rows = []
    for r in (r for r in records if not is_forced(r)):
        forced = {f["plan"]["grid"]: time_of(f) for f in records if is_forced(f) and key(f) == key(r)}
        grid = r["plan"]["grid"]
        fastest = min(forced, key=forced.get)
        ratio = forced[grid] / forced[fastest]
        rows.append((*key(r), grid, estimate(r["repetitions"]["multiply_s"], 4), f"{forced[grid]:.4f}", fastest,
                     f"{forced[fastest]:.4f}", f"{ratio:.3f}", met("≤", "1.03", ratio <= 1.03)))
    head = ("m × n × k", "ranks", "chosen grid", "measured, s", "the same forced, s", "fastest forced grid",
            "its time, s", "forced / fastest", "goal")
    return table(head, rows) + origin(records)


def limited_table(records):
    """In GPU memory, and from host memory with a part of the GPU's, alternating."""
    groups = {}
    for r in records:
        groups.setdefault(r["bench"]["from"].split(",")[0], []).append(r)
    base = [t for r in groups["device memory"] for t in r["repetitions"]["multiply_s"]]
    rows = []
    for place, mine in groups.items():
        times = [t for r in mine for t in r["repetitions"]["multiply_s"]]
        flops = mine[0]["rates"]["multiply_flops"] * mine[0]["times"]["multiply_median_s"]
        ratios = [a / b for a, b in zip(base, times)]
        rows.append((mine[0]["problem"]["shape"], compute_of(mine[0]), place, mine[0]["plan"]["tiles"],
                     f"{mine[0]['plan']['device_bytes'] / 2**30:.1f}", len(times),
                     estimate([flops / t / 1e12 for t in times], 1),
                     *(("", "") if times is base or times == base else
                       (estimate(ratios, 3), met("≥", GOAL_LIMITED_GPU, median(ratios) >= GOAL_LIMITED_GPU)))))
    head = ("m × n × k", "type", "A, B and C in", "tiles", "GPU memory, GiB", "runs", "TFLOP/s",
            "speed / in GPU memory", "goal")
    return table(head, rows) + origin(records)


def gpu_table(records):
    rows = []
    for r in records:
        problem, times = r["problem"], r["repetitions"]
        flops = r["rates"]["multiply_flops"] * r["times"]["multiply_median_s"]
        rate = [flops / t / 1e12 for t in times["multiply_s"]]
        kind = compute_of(r)
        row = [problem["shape"], kind, len(rate), estimate(rate, 2)]
        if "library_s" in times:
            ratios = [b / a for a, b in zip(times["multiply_s"], times["library_s"])]
            goal = met("≥", GOAL_GPU, median(ratios) >= GOAL_GPU) if kind in GOAL_TYPES else ""
            row += [estimate([flops / t / 1e12 for t in times["library_s"]], 2), estimate(ratios, 3),
                    goal]
        else:
            row += ["", "", ""]
        rows.append(row + [milliseconds(times["verify_s"])])
    head = ("m × n × k", "type", "runs", "TFLOP/s", "library, TFLOP/s", "speed / library's", "goal",
            "verifying C, ms")
    return table(head, rows) + origin(records)


def compute_of(record):
    words = record["command"].split()
    return "tf32" if "tf32" in words else record["problem"]["work"]


def io_table(records):
    rows = []
    for r in records:
        size, times = r["bench"]["bytes"], r["repetitions"]
        row = [machine_ranks(r), f"{size / 2**30:.2f}", len(times["plain_read_s"])]
        for way in ("read", "write"):
            plain, ours = times[f"plain_{way}_s"], times[f"damier_{way}_s"]
            ratios = [a / b for a, b in zip(plain, ours)]
            row += [f"{size / median(plain) / 1e9:.2f}", f"{size / median(ours) / 1e9:.2f}",
                    estimate(ratios, 3), met("≥", GOAL_IO, median(ratios) >= GOAL_IO)]
        rows.append(row)
    head = ("ranks", "GiB", "runs", "pread, GB/s", "reading, GB/s", "reading / pread", "goal",
            "pwrite, GB/s", "writing, GB/s", "writing / pwrite", "goal")
    return table(head, rows) + origin(records)


def goal_between_gpus(record):
    """Least speed, of that with nothing moved: of squares, by type and size, and of other shapes."""
    p = record["problem"]
    if not p["m"] == p["n"] == p["k"] or machine_ranks(record) < 4:
        return 0.95
    if compute_of(record) != "f64":
        return 0.97
    return 0.99 if p["m"] >= 32768 else 0.98


GOAL_PREDICTED_GPU, GOAL_LIMITED_GPU = 0.10, 0.95
GOAL_FROM_HOST = 0.36  # seconds; f64, N = 32768, on 4 GPUs


def links_goals(record, local, library):
    """What was asked for and whether it came: beside nothing moved, beside one call, or in seconds."""
    p, said = record["problem"], []
    square = p["m"] == p["n"] == p["k"]
    if local and not record["machine"].get("pretended_nodes"):
        goal = goal_between_gpus(record)
        said.append(met("≥", goal, median(local) >= goal))
    if library and square and machine_ranks(record) == 4:
        goal = 0.97 if compute_of(record) == "f64" else 0.93
        said.append(f"one call: {met('≥', goal, median(library) >= goal)}")
    if record["bench"]["from"].startswith("pinned") and p["m"] == 32768:
        said.append(met("≤", f"{GOAL_FROM_HOST} s", record["times"]["multiply_median_s"] <= GOAL_FROM_HOST))
    if record["transport"]["name"] == "host": # all wait for messages there
        ratio = (record["times"]["multiply_median_s"] * record["transport"]["proved_rate"]
                 / record["moved"]["most_bytes"])
        said.append(f"{ratio:.2f} × bytes / self-test: {met('≤', f'{GOAL_SLOW:.2f}', ratio <= GOAL_SLOW)}")
    return ", ".join(said)


def types_of(record):
    return compute_of(record) + (" → bf16" if record["problem"]["c"] == "bf16" else "")


def panels_of(record):
    """Widths: those of the ramp-up panels, then that of the others."""
    width, ramp = record["plan"]["panel"], str(record["plan"].get("ramp", ""))
    return str(width) if ramp in ("", str(width)) else f"{ramp},{width}".replace(",", ", ")


def ramps_table(records):
    """The same products in panels of several widths, and again with those that the planner took then."""
    rows = []
    for r in records:
        times = r["repetitions"]
        local, library = ([b / a for a, b in zip(times["multiply_s"], times[base])]
                          for base in ("local_s", "library_s"))
        rows.append((r["problem"]["shape"], types_of(r), panels_of(r), len(local), estimate(times["multiply_s"], 4),
                     milliseconds(times["exposed_s"]), estimate(local, 3), estimate(library, 3), r["git"]))
    head = ("m × n × k", "type", "panels", "runs", "s", "no product under way, ms", "speed / with nothing moved",
            "speed / one call", "commit")
    return table(head, rows) + origin(records)


def tiles_table(records):
    """Matrices in host memory that the GPUs can hold, and that they cannot."""
    rows = []
    for r in records:
        flops = r["rates"]["multiply_flops"] * r["times"]["multiply_median_s"]
        times = r["repetitions"]["multiply_s"]
        rows.append((r["problem"]["shape"], types_of(r), machine_ranks(r), r["plan"]["grid"], r["transport"]["name"],
                     r["plan"]["tiles"], f"{r['plan']['device_bytes'] / 2**30:.1f}", len(times), estimate(times, 4),
                     estimate([flops / t / 1e12 for t in times], 1)))
    head = ("m × n × k", "type", "GPUs", "grid", "transport", "tiles", "GPU memory, GiB", "runs", "s", "TFLOP/s")
    return table(head, rows) + origin(records)


def links_table(records):
    """Products whose panels travel (A), the same of panels that lie ready (B), and one library call
    of each rank's whole block (C), alternating."""
    rows = []
    for r in records:
        problem, times = r["problem"], r["repetitions"]
        flops = r["rates"]["multiply_flops"] * r["times"]["multiply_median_s"]
        local, library = ([b / a for a, b in zip(times["multiply_s"], times.get(base, []))]
                          for base in ("local_s", "library_s"))
        nodes = r["machine"]["nodes"]
        rows.append((problem["shape"], types_of(r), machine_ranks(r), r["plan"]["grid"], panels_of(r),
                     r["transport"]["name"] + (f", as {nodes} nodes" if nodes > 1 else ""),
                     r["bench"]["from"].split(",")[0], len(times["multiply_s"]),
                     f"{r['times']['multiply_median_s']:.4f}",
                     estimate([flops / t / 1e12 for t in times["multiply_s"]], 1),
                     estimate(local, 3) if local else "", estimate(library, 3) if library else "",
                     links_goals(r, local, library)))
    head = ("m × n × k", "type", "GPUs", "grid", "panel", "transport", "from", "runs", "s", "TFLOP/s",
            "speed / with nothing moved", "speed / one call", "goal")
    return table(head, rows) + origin(records)


def unpack_table(records):
    """Reading packed chunks by threads (A) and what one of them unpacks in memory (B), alternating."""
    rows = []
    for r in records:
        size, times = r["bench"]["bytes"], r["repetitions"]
        threads = machine_ranks(r) * max(1, r["machine"]["io_threads"])
        ratios = [b / a / threads for a, b in zip(times["unpack_s"], times["unpack_one_thread_s"])]
        rows.append((machine_ranks(r), r["machine"]["io_threads"], r["bench"]["form"],
                     f"{size / 2**30:.2f}", f"{r['bench']['stored_bytes'] / 2**30:.2f}", len(ratios),
                     f"{size / median(times['unpack_one_thread_s']) / 1e9:.3f}",
                     f"{size / median(times['unpack_s']) / 1e9:.3f}", estimate(ratios, 3),
                     met("≥", GOAL_UNPACK, median(ratios) >= GOAL_UNPACK)))
    head = ("ranks", "threads", "matrix", "GiB", "stored, GiB", "runs", "one thread, GB/s",
            "reading, GB/s", "reading / (one thread × threads)", "goal")
    return table(head, rows) + origin(records)


def checkpoint_table(records):
    """The same product with and without checkpoints, alternating."""
    off = [r["times"]["total_s"] for r in records if "--no-checkpoint" in r["command"]]
    rows = []
    for name, words in (("60 s, the default", ["--checkpoint"]), ("1 s", ["--checkpoint-interval", "1s"])):
        on = [r for r in records if set(words) <= set(r["command"].split())]
        pairs = list(zip([r["times"]["total_s"] for r in on], off))
        if not pairs:
            continue
        ratios = [a / b for a, b in pairs]
        rows.append((on[0]["problem"]["shape"], machine_ranks(on[0]), name, len(pairs),
                     estimate([a for a, _ in pairs], 2), estimate([b for _, b in pairs], 2),
                     estimate(ratios, 3),
                     met("≤", GOAL_CHECKPOINT, median(ratios) <= GOAL_CHECKPOINT)))
    head = ("m × n × k", "ranks", "interval", "pairs", "time, s", "without, s", "time / without", "goal")
    return table(head, rows) + origin(records)


def files_goals(record, ratio):
    """Beside the bound of the same run; with little memory also what is read and written."""
    on_gpu = record["machine"]["backend"] == "cuda"
    if "--memory" not in record["command"]:
        goal = GOAL_FILES_GPU if on_gpu else GOAL_FILES
        return met("≤", goal, ratio <= goal)
    if on_gpu:
        return ""  # the goal for little GPU memory is in memory
    traffic = record["moved"]["files_of_bound"]
    return (f"{met('≤', GOAL_LIMITED, ratio <= GOAL_LIMITED)}, "
            f"traffic: {met('≤', GOAL_TRAFFIC, traffic <= GOAL_TRAFFIC)}")


def files_table(records):
    """From files to a file with and without overlap, the products alone and the files alone, alternating."""
    rows = []
    for r in records:
        times, series = r["times"], r["repetitions"]
        ratios = [t / times["bound_s"] for t in series["file_s"]]
        hidden = [f"{times[f'exposed_{phase}_median_s']:.3f}" for phase in ("read", "move", "write", "verify")]
        rows.append((r["problem"]["shape"], r["problem"]["work"], machine_ranks(r),
                     f"{r['files']['file_system']}, {r['files']['a'].split(', ', 1)[1]}",
                     r["files"].get("write_way", "pwrite"), f"{r['plan']['tiles']}", len(ratios),
                     estimate(series["file_s"], 3),
                     f"{times['compute_median_s']:.3f}", f"{times['files_s']:.3f}", estimate(ratios, 3),
                     files_goals(r, median(ratios)), estimate(series["no_overlap_s"], 3), *hidden,
                     f"{r['moved']['files_of_bound']:.2f}"))
    head = ("m × n × k", "type", "ranks", "files", "C by", "tiles", "runs", "time, s", "products, s",
            "files, s", "time / the larger", "goal", "without overlap, s", "reading, s", "moving, s", "writing, s",
            "verifying, s", "traffic / lower bound")
    return table(head, rows) + origin(records)


def kind_of(record):
    if record["file"] in ("plan", "plan_gpu", "plan_ranks", "limited_gpu", "links_leads", "links_tiles"):
        return record["file"]
    if record.get("bench", {}).get("from") == "file":
        return "files"
    if record["verb"] in ("bench scale", "bench links"):
        return record["verb"]
    if "link_bits" in record:
        return "slow links"
    if record["verb"] == "simulate":
        return simulated_tables.kind_of(record)
    if record["file"] == "scalapack":
        return "scalapack"
    if record["verb"] == "multiply":
        return "checkpoint"
    if record["verb"] == "bench io":
        return "unpack" if "unpack_s" in record["repetitions"] else "io"
    if record["verb"] == "bench kernels":
        if not kernel_tables.is_timed(record):
            return None
        return "choice" if kernel_tables.is_choice(record) else "kernels"
    if record["machine"]["backend"] == "cuda" and machine_ranks(record) > 1:
        return "links"
    return "gpu" if record["machine"]["backend"] == "cuda" else "cpu"


# Of each page the tables by name: the kind of record that each is made of, and how.
PAGES = {"performance.md": {"cpu": ("cpu", cpu_table), "gpu": ("gpu", gpu_table),
                            "scalapack": ("scalapack", scalapack_table),
                            "slow links": ("slow links", slow_links_table),
                            "links": ("links", links_table), "ramps": ("links_leads", ramps_table),
                            "tiles": ("links_tiles", tiles_table), "prediction": ("plan", prediction_table),
                            "prediction gpu": ("plan_gpu", prediction_gpu_table),
                            "grids": ("plan_ranks", grids_table),
                            "limited": ("limited_gpu", limited_table),
                            "simulated": ("simulated", simulated_tables.curves),
                            "simulated grids": ("simulated", simulated_tables.grids),
                            "simulated cases": ("simulated", simulated_tables.cases),
                            "simulated limits": ("simulated", simulated_tables.limits),
                            "validation": ("validation", simulated_tables.validation),
                            "scaling": ("bench scale", scale_tables.scaling),
                            "pairs": ("bench links", scale_tables.pairs),
                            "files": ("files", files_table), "io": ("io", io_table),
                            "unpack": ("unpack", unpack_table)},
         "checkpoint.md": {"checkpoint": ("checkpoint", checkpoint_table)},
         "kernels.md": {name: ("kernels", make) for name, make in kernel_tables.TABLES.items()}
         | {name: ("choice", make) for name, make in kernel_tables.CHOICE.items()}}


def page_with_tables(text, makers, records):
    for name, (kind, make) in makers.items():
        mine = [r for r in records if kind_of(r) == kind]
        begin, end = f"<!-- table {name} -->\n", f"<!-- end {name} -->"
        body = "\n".join(make(mine) if mine else []) or "No measurement is recorded yet."
        head, rest = text.split(begin)
        text = head + begin + body + "\n" + end + rest.split(end)[1]
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if out of date")
    parser.add_argument("files", nargs="*", help="records, one line of JSON each")
    options = parser.parse_args()
    # A wildcard that matched nothing stays as it is: there are no records then.
    files = [pathlib.Path(name) for name in sorted(options.files) if "*" not in name]
    records = [{"file": file.stem, **record} for file in files for record in read_records(file)]
    for page, makers in PAGES.items():
        old = (DOCS / page).read_text()
        new = page_with_tables(old, makers, records)
        if options.check and new != old:
            sys.exit(f"docs/{page} is out of date: run scripts/report/results.py docs/results/*.jsonl")
        if not options.check:
            (DOCS / page).write_text(new)


if __name__ == "__main__":
    main()
