#!/usr/bin/env python3
"""Draws how much variance principal components explain, of the matrix of docs/howto/pca.md, found by a run of DAMIER:
variance_picture.py DAMIER > docs/pictures/variance.svg."""
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

RANK, WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 20, 720, 320, 56, 34, 44
STYLE = """<style>text { font: 13px sans-serif; fill: #555 } .bar { fill: #1f5fa8 } .sum { fill: none; stroke: #c2571a; stroke-width: 2 }
.point { fill: #c2571a } .grid { stroke: #ddd } .paper { fill: #fff } .title { fill: #111; font-weight: bold }
@media (prefers-color-scheme: dark) { text { fill: #aaa } .title { fill: #eee } .bar { fill: #8fa9cc } .paper { fill: #16181c }
.grid { stroke: #333 } .sum { stroke: #e08a4f } .point { fill: #e08a4f } }</style>"""


def ratios(damier):
    """Explained variance ratios, as damier finds them."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rng = np.random.default_rng(0)
        with h5py.File(folder / "X.h5", "w") as file:
            file["x"] = 20 + rng.standard_normal((20000, 200)) / np.arange(1, 201)
        subprocess.run([damier, "pca", folder / "X.h5", "--rank", str(RANK), "-o", folder / "P.h5", "-q"], check=True, stdout=subprocess.DEVNULL)
        with h5py.File(folder / "P.h5") as file:
            return file["pca/explained_variance_ratio"][:]


def main():
    found = ratios(sys.argv[1])
    step, across = (WIDTH - LEFT - 20) / RANK, HEIGHT - TOP - BOTTOM
    together = np.cumsum(found)

    def x_of(i):
        return LEFT + (i + 0.5) * step

    def y_of(share):
        return TOP + (1 - share) * across

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
             "<title>Variance explained by each principal component, and by all up to it</title>", STYLE,
             f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
             f'<text class="title" x="{LEFT}" y="20">explained variance: bars of each component, line of all up to it</text>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        lines += [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - 20}" y1="{y_of(share):.1f}" y2="{y_of(share):.1f}"/>',
                  f'<text x="{LEFT - 8}" y="{y_of(share) + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>']
    for i, share in enumerate(found):
        lines.append(f'<rect class="bar" x="{x_of(i) - 0.35 * step:.1f}" y="{y_of(share):.1f}" width="{0.7 * step:.1f}" height="{share * across:.1f}"/>')
        if i % 5 == 4 or i == 0:
            lines.append(f'<text x="{x_of(i):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{i + 1}</text>')
    points = " ".join(f"{x_of(i):.1f},{y_of(share):.1f}" for i, share in enumerate(together))
    lines.append(f'<polyline class="sum" points="{points}"/>')
    lines += [f'<circle class="point" cx="{x_of(i):.1f}" cy="{y_of(share):.1f}" r="2.5"/>' for i, share in enumerate(together)]
    lines += [f'<text x="{LEFT + (WIDTH - LEFT - 20) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">component</text>', "</svg>"]
    print("\n".join(lines))


main()
