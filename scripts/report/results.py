#!/usr/bin/env python3
"""Makes the tables and pictures of docs/performance.md and docs/results/*.md from the program's records.

    scripts/report/results.py docs/results/*.jsonl           updates tables between their markers, and pictures
    scripts/report/results.py --check docs/results/*.jsonl   only checks that they are up to date (exit 1: no)

A table NAME stands between the lines "<!-- table NAME -->" and "<!-- end NAME -->". It has the records of one version of damier;
those of earlier versions have tables of their own below it, which say so. Times are medians; intervals are 95 % confidence
intervals of the median, from order statistics.
"""
import argparse
import pathlib
import re
import signal
import sys

import tables_of_arrays
import tables_of_commands
import tables_of_kernels
import tables_of_products
from tables_of_products import simulated_tables
from tables import commit_of, grouped, machine_ranks, read_records, shape_of, table, version_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PRESENT = re.search(r"project\(damier VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
TABLES = [*tables_of_products.TABLES, *tables_of_arrays.TABLES, *tables_of_commands.TABLES, *tables_of_kernels.TABLES]
# Records of these files are of a kind of their own; those of others are of the kind of their verb.
FILES = ("residues_gpus", "limited_gpu", "ladder")


def kind_of(record):
    if record["file"] in FILES:
        return record["file"]
    if record.get("of") in ("cov", "gpu_cov"):
        return "covariance"
    if record.get("of") == "tall":
        return "gram of files"
    if record["verb"] == "simulate":
        return simulated_tables.kind_of(record)
    if record["verb"] != "bench multiply":
        return record["verb"]
    if record["machine"].get("backend") != "cuda":
        return "cpu"
    return "gpu" if machine_ranks(record) == 1 else "gpus"


def with_problem(record):
    """Squares of arrays say their size and type alone."""
    if "problem" in record or not isinstance(record.get("size"), int) or "type" not in record:
        return record
    return {**record, "problem": {"shape": " x ".join([str(record["size"])] * 3), "work": record["type"]}}


def with_releases(records):
    """Each with its version alone. Other programs' records have none: it is that of the records of the same commit."""
    known = {commit_of(r): version_of(r) for r in records if version_of(r)}
    return [{**r, "release": (version_of(r) or known.get(commit_of(r), "")).removeprefix("damier ").split(" ")[0]} for r in records]


def order_of(release):
    return [int(part) for part in release.split(".")] if release else []


def newest(records):
    """Of each kind, those of its newest version."""
    latest = {kind: max((r["release"] for r in mine), key=order_of) for kind, mine in grouped(records, lambda r: r["kind"]).items()}
    return [r for r in records if r["release"] == latest[r["kind"]]]


def lines_of(described, records):
    """A table of each version, the newest first; those of other versions than the present one are marked."""
    mine = [r for r in records if r["kind"] in described.kinds.split(",")]
    lines, releases = [], grouped(mine, lambda r: r["release"])
    for release in sorted(releases, key=order_of, reverse=True):
        made = list(described.make(releases[release]))
        if sum(line.startswith("|") for line in made) == 2:  # a head without rows
            continue
        if made and release != PRESENT:
            made = [f"**With damier {release or '(version unknown)'}, not measured again since:**", "", *made]
        lines += [""] * bool(lines and made) + made
    return lines, mine


def pages(records):
    """{path below docs: its text with new tables}"""
    for page, tables in grouped(TABLES, lambda described: described.page).items():
        text = (DOCS / page).read_text()
        for described in tables:
            begin, end = f"<!-- table {described.name} -->\n", f"<!-- end {described.name} -->"
            body = "\n".join(lines_of(described, records)[0]) or "Not yet measured with this version."
            head, rest = text.split(begin)
            text = head + begin + body + "\n" + end + rest.split(end)[1]
        yield page, text
    if records:
        yield from ((f"pictures/{name}.svg", make(newest(records))) for name, make in tables_of_commands.PICTURES.items())


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
    for described in TABLES:
        try:
            lines, mine = lines_of(described, [] if described.repeats else records)
        except (LookupError, StopIteration, TypeError, ValueError):
            continue  # measured in another way than the project's records: a row of its own below
        if sum(line.startswith("|") for line in lines) > 2:  # more than its head
            print("\n".join([f"{described.name.removeprefix('summary ')}:", "", *lines, ""]))
            shown |= {id(r) for r in mine}
    others = [r for r in records if id(r) not in shown]
    if others:
        head = ("command", "m × n × k", "type", "ranks", "time, s", "GFLOP/s", "verified", "date")
        print("\n".join(["runs:", "", *table(head, map(run_row, others))]))


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # | head
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if out of date")
    parser.add_argument("files", nargs="*", help="records that --json FILE wrote; those outside of docs/results are "
                        "shown as tables on standard output, and no page is changed")
    options = parser.parse_args()
    # An unmatched wildcard is not expanded: there are no such records.
    files = [pathlib.Path(name) for name in sorted(options.files) if "*" not in name]
    try:
        records = [{"file": file.stem, **with_problem(record)} for file in files for record in read_records(file)]
    except (OSError, ValueError, TypeError) as error:
        sys.exit(f"results.py: {error}: damier's records (--json FILE) are needed")
    records = [{**record, "kind": kind_of(record)} for record in with_releases(records)]
    if any((DOCS / "results").resolve() not in file.resolve().parents for file in files):
        print_tables(records)
        return
    unknown = [r["file"] for r in records if not r["release"]]
    if unknown:
        sys.exit(f"a record of {unknown[0]}.jsonl has no version, and no other record has its commit's: add \"version\"")
    for page, new in pages(records):
        path = DOCS / page
        if options.check and (not path.exists() or path.read_text() != new):
            sys.exit(f"docs/{page} is out of date: run scripts/report/results.py docs/results/*.jsonl")
        if not options.check:
            path.write_text(new)


if __name__ == "__main__":
    main()
