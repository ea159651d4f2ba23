#!/usr/bin/env python3
"""Makes one HTML page from records of damier: no network, light and dark, printable.

    scripts/report/report.py runs/*.jsonl [--trace trace.json] [-o report.html]

From records (--json): speed by ranks and series of bench scale with the ideal line and 95 % intervals, a roofline with
the ceilings of compute, memory, network and files, phases with the time not hidden, links between ranks, forecast and
measured times, a table of runs, the machines. From --trace: a timeline of each rank.
"""
import argparse
import html
import json
import pathlib
import sys

import report_charts as charts
from tables import read_records

STYLE = (pathlib.Path(__file__).resolve().parent / "report.css").read_text()


def is_product(record):
    from_file = record.get("bench", {}).get("from") == "file"  # its times have other names
    return record["verb"] in ("multiply", "bench multiply") and "forecast" in record and not from_file


def seconds_of(record):
    """Median and 95 % interval of the multiplication including the sum over layers."""
    t = record["times"]
    if record["verb"] in ("bench multiply", "bench scale"):
        return t["multiply_median_s"], t["multiply_ci95_low_s"], t["multiply_ci95_high_s"]
    seconds = t["multiply_s"] + t.get("reduce_s", 0.0)
    return seconds, seconds, seconds


def flops_of(record):
    p = record["problem"]
    return (8.0 if p["work"].startswith("c") else 2.0) * p["m"] * p["n"] * p["k"]


def name_of(record):
    p = record["problem"]
    return f"{p['shape'].replace(' ', '')} {p['work']}"


def section(title, note, *bodies):
    shown = [b for b in bodies if b]
    if not shown:
        return ""
    text = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<section><h2>{html.escape(title)}</h2>{text}{''.join(shown)}</section>"


def scaling(records):
    """A curve for each problem measured on at least two numbers of ranks."""
    groups = {}
    for r in records:
        groups.setdefault(name_of(r), {}).setdefault(r["machine"]["ranks"], []).append(r)
    curves = []
    for name, by_ranks in groups.items():
        points = []
        for ranks, runs in sorted(by_ranks.items()):
            best = min(runs, key=lambda r: seconds_of(r)[0])
            median, low, high = (flops_of(best) / s / 1e9 for s in seconds_of(best))
            points.append((ranks, median, high, low))
        if len(points) > 1:
            curves.append((name, points))
    return charts.scaling(curves)


SERIES = {"strong": "the same product", "memory": "memory of a rank constant",
          "work": "operations of a rank constant"}


def scale_curves(records):
    """A curve for each base, series and variant; its first point is the base."""
    curves, bases = {}, {}
    for r in records:
        s = r["scale"]
        family = (r["date"][:10], r["command"], s["series"])
        low, high = (flops_of(r) / r["times"][f"multiply_ci95_{end}_s"] / 1e9 for end in ("high", "low"))
        point = (r["machine"]["ranks"], flops_of(r) / seconds_of(r)[0] / 1e9, low, high)
        if s["without"] == "" and r["machine"]["ranks"] == s["base_ranks"]:
            bases[family] = (name_of(r), point)
        curves.setdefault((*family, s["variant"] if s["without"] else ""), []).append(point)
    named = []
    for (*family, variant), points in curves.items():
        name, base = bases[tuple(family)]
        if variant:
            points = [base] + points
        named.append((f"{family[2]}, {name}{', ' + variant if variant else ''}", points, not variant))
    return named


def scale(everything):
    records = [r for r in everything if r["verb"] == "bench scale"]
    if not records:
        return ""
    named = scale_curves(records)
    parts = [charts.scaling([(name, points) for name, points, _ in named if name.startswith(series)],
                            f"{series}: {words}") for series, words in SERIES.items()]
    rows = [(r["scale"]["series"], r["machine"]["ranks"], r["problem"]["shape"], r["plan"]["grid"],
             r["scale"]["variant"], f"{seconds_of(r)[0]:.4g}", f"{r['scale']['speedup']:.2f}",
             f"{r['scale']['efficiency']:.3f} [{r['scale']['efficiency_ci95_low']:.3f}, "
             f"{r['scale']['efficiency_ci95_high']:.3f}]") for r in records]
    return "".join(parts) + charts.table(("series", "ranks", "product", "grid", "variant", "seconds",
                                          "speed-up", "efficiency"), rows)


def ceilings(record):
    """Operations per second, and bytes per second of memory, network and files, as recorded."""
    f, p, work = record["forecast"], record["plan"], flops_of(record)
    found = {}
    ranks = record["machine"]["ranks"]
    if f["gemm_s"] > 0:
        found["compute"] = work / f["gemm_s"]
    moved = record["moved"].get("between_ranks_bytes") or 0
    if f["fetch_s"] > 0 and moved > 0:
        found["network"] = moved / f["fetch_s"]
    if f["read_s"] > 0:
        size = {"f64": 8, "f32": 4, "c64": 8, "c128": 16, "i8": 1}.get(record["problem"]["work"], 2)
        q = record["problem"]
        found["files"] = size * (q["m"] * q["k"] + q["k"] * q["n"]) / f["read_s"]
    found["bytes"] = (p["host_bytes"] + p["device_bytes"]) * ranks
    return found


def roofline(records):
    points, lines = [], {}
    for r in records:
        limit, moved = ceilings(r), r["moved"].get("between_ranks_bytes") or 0
        rate = flops_of(r) / seconds_of(r)[0]
        memory = flops_of(r) / max(limit["bytes"], 1)
        points.append((name_of(r) + f", {r['machine']['ranks']} ranks", memory, rate, "memory"))
        if moved > 0:
            points.append((name_of(r) + f", {r['machine']['ranks']} ranks", flops_of(r) / moved, rate,
                           "network"))
        for key in ("compute", "network", "files"):
            if key in limit:
                lines[key] = max(lines.get(key, 0), limit[key])
        device, host = r.get("rates", {}).get("device_memory_Bps"), r.get("rates", {}).get("host_memory_Bps")
        if device or host:
            lines["memory"] = (device or host) * r["machine"]["ranks"]
    return charts.roofline(points, lines)


def memory_rates(everything):
    """The memory ceiling comes from `damier tune rates`."""
    return {r["machine"]["ranks"]: r["rates"] for r in everything if r["verb"] == "tune rates"}


def phases(records):
    rows = []
    for r in records:
        p = {name: part["mean_s"] for name, part in r.get("phases", {}).items()}
        if not p:
            continue
        other = max(0.0, p["exposed"] - p["exposed_fetch"] - p["exposed_upload"])
        rows.append((f"{name_of(r)}, {r['machine']['ranks']} ranks",
                     [("reading", p["read"]), ("products", p["gemm"]),
                      ("gathers, not hidden", p["exposed_fetch"]),
                      ("copies, not hidden", p["exposed_upload"]), ("waiting", other),
                      ("sum over layers", p["reduce"]), ("writing", p["write"]),
                      ("verifying", p["verify"])]))
    return charts.stacked(rows)


def forecasts(records):
    rows = []
    for r in records:
        f = r["forecast"]
        predicted = f["total_s"] - f["read_s"] - f["write_s"]
        measured = seconds_of(r)[0]
        rows.append((name_of(r), r["machine"]["ranks"], r["plan"]["grid"], f"{predicted:.4g}",
                     f"{measured:.4g}", f"{100 * (predicted / measured - 1):+.1f} %",
                     r["bound"]["total"]))
    return charts.table(("product", "ranks", "grid", "predicted, s", "measured, s", "error",
                         "bound by"), rows)


def links(everything):
    """The largest pieces for each machine and number of ranks: a map for each transport and way."""
    groups = {}
    for r in everything:
        if r["verb"] == "bench links" and r.get("links"):
            machine = r["machine"]
            key = f"{machine['host']}, ranks: {machine['where']}"
            groups.setdefault(key, {}).setdefault(r["transport"]["name"], {})[r["bench"]["bytes"]] = r
    parts = []
    for key, by_transport in groups.items():
        maps, rows = [], []
        for name, by_bytes in by_transport.items():
            largest = by_bytes[max(by_bytes)]["links"]
            maps += [(f"{name}, {words}", largest[way]) for way, words in
                     (("one_way_Bps", "one way"), ("together_Bps", "all at once")) if way in largest]
            rows += [link_row(name, by_bytes[size]) for size in sorted(by_bytes)]
        parts.append(f"<h3>{html.escape(key)}</h3>" + charts.heat_map(maps) + charts.table(
            ("transport", "bytes", "one way, GB/s", "both ways", "all at once", "in turn, µs"), rows))
    return "".join(parts)


def link_row(name, record):
    def shown(part, key, unit):
        value = record[part].get(f"{key}")
        return "" if value is None else f"{value / unit:.3g}"
    return (name, record["bench"]["bytes"], shown("rates", "one_way_median_Bps", 1e9),
            shown("rates", "both_ways_median_Bps", 1e9), shown("rates", "together_median_Bps", 1e9),
            shown("times", "turn_median_s", 1e-6))


def runs(records):
    rows = []
    for r in records:
        median, low, high = seconds_of(r)
        verdict = r.get("verification", {}).get("verdict", "not verified")
        rows.append((r["date"].replace("T", " ").rstrip("Z"), r["verb"], name_of(r),
                     r["machine"]["ranks"], r["plan"]["grid"], r["transport"]["name"],
                     f"{median:.4g} [{low:.4g}, {high:.4g}]", f"{flops_of(r) / median / 1e9:.4g}",
                     verdict))
    return charts.table(("date, UTC", "verb", "product", "ranks", "grid", "transport", "seconds",
                         "GFLOP/s", "verified"), rows)


def machines(everything):
    rows = {}
    for r in everything:
        m = r.get("machine", {})
        key = (m.get("host", ""), m.get("device", ""), m.get("library", ""), m.get("backend", ""),
               f"{r['version']} ({r['git']})")
        rows.setdefault(key, set()).add(str(m.get("ranks", 1)))
    listed = [(*key, ", ".join(sorted(ranks, key=int))) for key, ranks in rows.items()]
    return charts.table(("host", "device", "library", "backend", "damier", "ranks"), listed)


def page(everything, traces, title):
    products = [r for r in everything if is_product(r)]
    measured = memory_rates(everything)
    for r in products:  # memory ceiling only if measured with the same ranks
        r["rates"] = {**measured.get(r["machine"]["ranks"], {}), **r.get("rates", {})}
    parts = [
        section("Speed over ranks", "The fastest run of each product; bands are 95 % intervals of the median; "
                "dashed: the speed of the fewest ranks, multiplied.", scaling(products)),
        section("Scaling in one job", "Bands: 95 % intervals of the median; dashed: the speed of the base, times"
                " the ranks.", scale(everything)),
        section("Roofline", "Operations for each byte of memory (filled) and of what moved between ranks "
                "(open), against the ceilings that the planner calculates with.", roofline(products)),
        section("Phases", "Mean over the ranks. Hatched: not hidden behind products.", phases(products)),
        *[section(f"When each rank did what: {name}", "", charts.timeline(trace))
          for name, trace in traces],
        section("Links", "What arrived of the largest pieces, from row to column, as median; below, the median of"
                " all pairs for each size.", links(everything)),
        section("Forecasts", "The planner's times without the files.", forecasts(products)),
        section("Runs", "", runs(products)),
        section("Machines", "", machines(everything)),
    ]
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<style>\n{STYLE}</style></head>\n<body><h1>{html.escape(title)}</h1>"
            f"<p>{len(everything)} records, {len(products)} of them products.</p>\n"
            + "\n".join(part for part in parts if part) + "\n</body></html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", nargs="+", help="files of --json")
    parser.add_argument("--trace", action="append", default=[], help="a file of --trace; repeatable")
    parser.add_argument("--title", default="damier: what was measured")
    parser.add_argument("-o", "--output", default="report.html")
    options = parser.parse_args()
    try:
        everything = [r for path in options.records for r in read_records(path)]
        traces = [(pathlib.Path(p).name, json.loads(pathlib.Path(p).read_text())) for p in options.trace]
        text = page(everything, traces, options.title)
        pathlib.Path(options.output).write_text(text, encoding="utf-8")
    except (OSError, ValueError, KeyError) as reason:
        sys.exit(f"report.py: {reason!r}")
    print(f"{len(everything)} records in {options.output}")


if __name__ == "__main__":
    main()
