#!/usr/bin/env python3
"""Reports what became significantly slower from one set of records to another.

    scripts/report/compare.py OLD.jsonl NEW.jsonl           exit 1: something is slower; 2: nothing can be compared
    scripts/report/compare.py --least 3 OLD NEW             ignores differences below 3 % (default 2)

Reads records of damier's --json. Groups runs of the same problem in the same way (verb, shape, types, ranks, nodes,
threads, backend, device, transport); each repetition is a sample. Compares groups by the two-sided Mann-Whitney test at 1 %,
divided by the number of comparisons (Bonferroni). A difference counts if it is significant and larger than --least.
"""
import argparse
import collections
import functools
import math
import signal
import sys

from tables import median, read_records, table

LEVEL = 0.01
FEWEST = 5  # samples on each side; with fewer no difference is significant at 1 %
SERIES = {"bench multiply": ("multiply_s",), "bench scale": ("multiply_s",),
          "multiply": ("total_s", "multiply_s", "read_s", "write_s")}


def key_of(record):
    parts = {"problem": ("shape", "types"), "bench": ("bytes",), "machine": ("ranks", "nodes", "threads", "backend", "device"),
             "transport": ("name",), "files": ("file_system",)}
    return record["verb"], *(record.get(part, {}).get(name, "") for part, names in parts.items() for name in names)


def samples_of(records):
    """Seconds by (key, series); whole runs give one sample each, benchmarks one per repetition."""
    samples = {}
    for record in records:
        for name in SERIES.get(record["verb"], ()):
            values = record.get("repetitions", {}).get(name)
            if values is None and record["verb"] == "multiply":
                values = [record["times"][name]] if name in record["times"] else []
            if values:
                samples.setdefault((key_of(record), name), []).extend(values)
    return samples


@functools.lru_cache(maxsize=None)
def orders(u, m, n):
    """The number of orders of M and N samples without ties that have this U."""
    if u < 0 or m == 0 or n == 0:
        return int(u == 0)
    return orders(u, m, n - 1) + orders(u - n, m - 1, n)


def mann_whitney(old, new):
    """Two-sided p: exact for few samples without ties, else the normal approximation."""
    m, n = len(old), len(new)
    ties = sum(count ** 3 - count for count in collections.Counter(old + new).values())
    u = sum((x > y) + 0.5 * (x == y) for x in old for y in new)
    u = min(u, m * n - u)
    if ties == 0 and m * n <= 400:
        return min(1.0, 2 * sum(orders(x, m, n) for x in range(int(u) + 1)) / math.comb(m + n, m))
    whole = m + n
    variance = m * n / 12 * (whole + 1 - ties / (whole * (whole - 1)))
    if variance <= 0:
        return 1.0
    z = (m * n / 2 - u - 0.5) / math.sqrt(variance)
    return math.erfc(max(z, 0.0) / math.sqrt(2))


def compare(old, new, least):
    """Rows of (words, old, new, change, verdict), and how many are slower; None: nothing in common."""
    before, after = samples_of(old), samples_of(new)
    common = [k for k in after if k in before]
    enough = [k for k in common if min(len(before[k]), len(after[k])) >= FEWEST]
    rows, slower = [], 0
    for k in common:
        change = median(after[k]) / median(before[k]) - 1
        if k not in enough:
            verdict = f"too few runs (wanted {FEWEST})"
        else:
            p = mann_whitney(before[k], after[k])
            sure = p < LEVEL / len(enough) and abs(change) > least / 100
            verdict = ("slower" if change > 0 else "faster") if sure else "same"
            slower += verdict == "slower"
        (verb, shape, *rest), series = k
        rows.append((f"{verb} {shape} {' '.join(str(r) for r in rest if r != '')}", series,
                     f"{median(before[k]):.4g}", f"{median(after[k]):.4g}", f"{100 * change:+.1f} %",
                     verdict))
    return (rows, slower) if enough else (rows, None)


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # | head
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=float, default=2.0, help="percent that matter")
    parser.add_argument("old")
    parser.add_argument("new")
    options = parser.parse_args()
    try:
        old, new = read_records(options.old), read_records(options.new)
        rows, slower = compare(old, new, options.least)
    except (OSError, ValueError, KeyError) as reason:
        print(f"compare.py: {reason}", file=sys.stderr)
        sys.exit(2)
    if rows:
        print("\n".join(table(("run", "what", "old, s", "new, s", "change", "verdict"), rows)))
    if slower is None:
        print("compare.py: no run is in both with enough repetitions", file=sys.stderr)
        sys.exit(2)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
