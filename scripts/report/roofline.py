#!/usr/bin/env python3
"""Draws docs/roofline.svg from records of `damier bench kernels`: speeds of kernels, and their limits.

    scripts/report/roofline.py docs/results/kernels.jsonl [--output docs/roofline.svg]

Each mark is a kernel in the largest square product (helpers: matrix) measured for a type. The slanted ceiling is the
measured copy rate, the level ones are the types' peaks at the highest clock. The output is deterministic.
"""
import argparse
import html
import math
import pathlib

import report_charts as charts
from kernel_tables import TYPES, is_plain, is_timed, square
from tables import read_records

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
COLOURS = {"f32": "#0072b2", "f64": "#d55e00", "tf32": "#009e73", "f16": "#cc79a7", "bf16": "#7a4fa3",
           "i8": "#a6761d"}
STYLE = ("svg { background: #ffffff } text { font: 11px sans-serif; fill: #333333 } .faint { fill: #777777 } "
         ".grid { stroke: #e5e5e5 }")
LOW, HIGH = (0.03, 1e11), (16384, 3e15)


def chosen(records):
    """The largest size of each kernel and type; marks need arithmetic, which transpositions lack."""
    best = {}
    for r in records:
        size = square(r)
        if not size or r["kernel"]["op"] == "transpose" or r["kernel"]["type"] not in TYPES:
            continue
        if r["kernel"]["op"] == "gemm" and not is_plain(r):
            continue
        key = (r["kernel"]["type"], r["kernel"]["name"])
        if key not in best or size >= square(best[key]):
            best[key] = r
    return [best[key] for key in sorted(best, key=lambda k: (TYPES.index(k[0]), k[1]))]


def label(point, words, colour):
    x, y = point
    return (f'<text x="{x - 8:.1f}" y="{y - 4:.1f}" text-anchor="end" style="fill: {colour}">'
            f"{html.escape(words)}</text>")


def ceilings(plane, records):
    """Copies, and the peak of each type; types with the same peak share a line."""
    copies = records[0]["roof"]["copy_bytes"]
    peaks = {}
    for r in records:
        if r["kernel"]["op"] == "gemm" and r["roof"]["peak_flops"]:
            peaks.setdefault(r["roof"]["peak_flops"], set()).add(r["kernel"]["type"])
    corner, right = max(peaks, default=copies * HIGH[0]) / copies, 10.0 ** plane.x[1]
    left = 10.0 ** plane.x[0]
    out = [charts.polyline([plane.at(left, left * copies), plane.at(corner, corner * copies)], "#333333"),
           label(plane.at(3, 3 * copies), f"copies: {copies / 1e12:.2f} TB/s", "#333333")]
    for peak, kinds in peaks.items():
        names = [kind for kind in TYPES if kind in kinds]
        out += [charts.polyline([plane.at(peak / copies, peak), plane.at(right, peak)], COLOURS[names[0]]),
                label(plane.at(right, peak), f"{', '.join(names)}: {peak / 1e12:.0f} T/s", COLOURS[names[0]])]
    return out


def mark(plane, record):
    """Filled: our own kernels; squares: helpers."""
    colour, k = COLOURS[record["kernel"]["type"]], record["kernel"]
    fill = "none" if k["name"].startswith("cublas") else colour
    x, y = plane.at(record["roof"]["intensity"], record["rates"]["flops"])
    shape = (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"' if k["op"] == "gemm" else
             f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"')
    return f'{shape} fill="{fill}" stroke="{colour}" opacity="0.8"><title>{k["name"]}, {k["type"]}</title>' \
        + ("</circle>" if k["op"] == "gemm" else "</rect>")


def names(plane, records):
    """Labels of our fastest kernel for each type, spaced to be legible."""
    fastest, out, last = {}, [], {}
    for r in records:
        key = (r["kernel"]["op"], r["kernel"]["type"])
        if not r["kernel"]["name"].startswith("cublas") and (
                key not in fastest or r["rates"]["flops"] > fastest[key]["rates"]["flops"]):
            fastest[key] = r
    for r in sorted(fastest.values(), key=lambda r: -r["rates"]["flops"]):
        x, y = plane.at(r["roof"]["intensity"], r["rates"]["flops"])
        column = r["roof"]["intensity"] > 10
        last[column] = max(y + 8, last.get(column, -math.inf) + 12)
        out.append(label((x, last[column]), f"{r['kernel']['name']}, {r['kernel']['type']}",
                         COLOURS[r["kernel"]["type"]]))
    return out


def draw(records, path):
    marks = chosen(records)
    plane = charts.LogPlane((LOW[0], HIGH[0]), (LOW[1], HIGH[1]))
    body = [f"<style>{STYLE}</style>", *plane.axes("operations for each byte that must move", "operations per second"),
            charts.text(charts.LEFT + 8, charts.TOP + 14, f"{records[0]['machine']['device']}: filled marks are "
                        "kernels of our own, empty ones libraries'; squares: add, dot"),
            *ceilings(plane, records), *(mark(plane, r) for r in marks), *names(plane, marks)]
    text = charts.svg(charts.HEIGHT, [part + "\n" for part in body], "roofline of the kernels")
    path.write_text(text.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=DOCS / "roofline.svg")
    parser.add_argument("files", nargs="+", help="records, one line of JSON each")
    options = parser.parse_args()
    records = [r for file in options.files for r in read_records(file) if is_timed(r)]
    if not records:
        parser.error("no kernel is timed in these records")
    draw(records, options.output)


if __name__ == "__main__":
    main()
