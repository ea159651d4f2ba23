#!/usr/bin/env python3
"""Makes the tables and pictures of docs/performance.md and docs/results/*.md from the program's records.

    scripts/report/results.py docs/results/*.jsonl           updates tables between their markers, and pictures
    scripts/report/results.py --check docs/results/*.jsonl   only checks that they are up to date (exit 1: no)

A table NAME stands between the lines "<!-- table NAME -->" and "<!-- end NAME -->". Times are medians;
intervals are 95 % confidence intervals of the median, from order statistics.
"""
import argparse
import pathlib
import signal
import sys

import page_tables
import summary
from page_tables import simulated_tables
from tables import grouped, machine_ranks, read_records, shape_of, table

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
TABLES = page_tables.TABLES + summary.TABLES
# Records of these files are of a kind of their own; those of others are of the kind of their verb.
FILES = ("residues_gpus", "limited_gpu", "in_place", "in_place_ranks", "in_place_divisions", "scalapack", "cublasxt", "cublasmp",
         "checkpoint")


def kind_of(record):
    if record["file"] in FILES:
        return record["file"]
    if record["verb"] == "simulate":
        return simulated_tables.kind_of(record)
    if record["verb"] != "bench multiply":
        return record["verb"]
    if record["machine"].get("backend") != "cuda":
        return "cpu"
    return "gpu" if machine_ranks(record) == 1 else "gpus"


def lines_of(described, records):
    mine = [r for r in records if r["kind"] in described.kinds.split(",")]
    return list(described.make(mine)) if mine else [], mine


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
        yield from ((f"pictures/{name}.svg", make(records)) for name, make in summary.PICTURES.items())


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
    for page, new in pages(records):
        path = DOCS / page
        if options.check and (not path.exists() or path.read_text() != new):
            sys.exit(f"docs/{page} is out of date: run scripts/report/results.py docs/results/*.jsonl")
        if not options.check:
            path.write_text(new)


if __name__ == "__main__":
    main()
