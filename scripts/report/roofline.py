#!/usr/bin/env python3
"""Draws docs/roofline.svg from records of `damier bench kernels`: what kernels reach, and what they could.

    scripts/report/roofline.py docs/results/kernels.jsonl [--output docs/roofline.svg]

A mark is a kernel in the largest square product (or, for helpers, matrix) that was measured of a type.
The slanted ceiling is the measured speed of copies, the level ones are the peaks of the types at the
highest clock. The same records give the same file. Needs matplotlib.
"""
import argparse
import json
import math
import pathlib

import matplotlib
from matplotlib import pyplot

from kernel_tables import TYPES, is_plain, is_timed, square

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
COLOURS = {"f32": "#0072b2", "f64": "#d55e00", "tf32": "#009e73", "f16": "#cc79a7", "bf16": "#7a4fa3",
           "i8": "#a6761d"}
INK, FAINT = "#333333", "#999999"
SHAPES = {"gemm": "o", "add": "^", "dot": "v"}


def load(files):
    lines = [line for file in files for line in pathlib.Path(file).read_text().splitlines()]
    return [r for r in map(json.loads, lines) if is_timed(r)]


def chosen(records):
    """Of each kernel and type the largest size; marks need arithmetic, which transpositions have not."""
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


def draw_ceilings(axes, records, left, right):
    roof = records[0]["roof"]
    peaks = {r["kernel"]["type"]: r["roof"]["peak_flops"] for r in records
             if r["kernel"]["op"] == "gemm" and r["roof"]["peak_flops"]}
    highest = max(peaks.values(), default=roof["copy_bytes"] * right)
    corner = highest / roof["copy_bytes"]
    axes.plot([left, corner], [left * roof["copy_bytes"], highest], color=INK, linewidth=1)
    axes.annotate(f"copies: {roof['copy_bytes'] / 1e12:.2f} TB/s", (3, 3 * roof["copy_bytes"]), ha="right",
                  xytext=(-8, 4), textcoords="offset points", color=INK, fontsize=8)
    same = {}
    for kind in TYPES:
        if kind in peaks:
            same.setdefault(peaks[kind], []).append(kind)
    for peak, kinds in same.items():
        axes.plot([peak / roof["copy_bytes"], right], [peak, peak], color=COLOURS[kinds[0]], linewidth=1)
        axes.annotate(f"{', '.join(kinds)}: {peak / 1e12:.0f} T/s", (right, peak), xytext=(4, -3),
                      textcoords="offset points", color=COLOURS[kinds[0]], fontsize=8)


def draw_marks(axes, records):
    fastest = {}
    for r in records:
        key = (r["kernel"]["op"], r["kernel"]["type"])
        ours = not r["kernel"]["name"].startswith("cublas")
        if ours and (key not in fastest or r["rates"]["flops"] > fastest[key]["rates"]["flops"]):
            fastest[key] = r
        axes.plot(r["roof"]["intensity"], r["rates"]["flops"], SHAPES[r["kernel"]["op"]], markersize=4,
                  color=COLOURS[r["kernel"]["type"]], alpha=0.7, markeredgewidth=0.8,
                  fillstyle="full" if ours else "none", gid=f"{r['kernel']['name']}-{r['kernel']['type']}")
    name_marks(axes, fastest.values())


def name_marks(axes, records):
    """The fastest of each type, their names far enough apart to be read."""
    pixels = 72 / axes.figure.dpi  # points each
    last = {}
    for r in sorted(records, key=lambda r: -r["rates"]["flops"]):
        x, y = r["roof"]["intensity"], r["rates"]["flops"]
        place = axes.transData.transform((x, y))[1] * pixels
        column = x > 10
        target = min(place, last.get(column, math.inf) - 9)
        last[column] = target
        axes.annotate(f"{r['kernel']['name']}, {r['kernel']['type']}", (x, y), ha="right", fontsize=7,
                      xytext=(-8, target - place - 2), textcoords="offset points",
                      color=COLOURS[r["kernel"]["type"]])


def draw(records, path):
    matplotlib.rcParams.update({"svg.hashsalt": "damier", "svg.fonttype": "none", "font.size": 9,
                                "font.family": "sans-serif", "axes.edgecolor": FAINT})
    figure, axes = pyplot.subplots(figsize=(8, 5))
    left, right = 0.05, 8192.0
    marks = chosen(records)
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(1e11, 5e15), xlabel="operations for each byte that must move",
             ylabel="operations per second")
    figure.subplots_adjust(left=0.09, right=0.84, top=0.92, bottom=0.11)
    draw_ceilings(axes, records, left, right)
    draw_marks(axes, marks)
    axes.set_title(f"{records[0]['machine']['device']}: filled marks are kernels of our own, "
                   "empty ones libraries'", fontsize=9, color=INK)
    axes.grid(True, which="major", color="#e5e5e5", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=DOCS / "roofline.svg")
    parser.add_argument("files", nargs="+", help="records, one line of JSON each")
    options = parser.parse_args()
    records = load(options.files)
    if not records:
        parser.error("no kernel is timed in these records")
    draw(records, options.output)


if __name__ == "__main__":
    main()
