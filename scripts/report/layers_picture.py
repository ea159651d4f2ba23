#!/usr/bin/env python3
"""Draws the folders of the sources and which includes which: layers_picture.py > docs/layers.svg.

The levels are those of tests/layers.py.  An arrow that follows from others is left out: what includes
`engine` may include whatever `engine` does.
"""
import collections
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import layers  # noqa: E402

ABOUT = {"cli": "the command line, one file per verb",
         "measure": "benchmarks, tuning, rates, info",
         "job": "multiply, generate, verify on files; checkpoints",
         "engine": "the product: sources, sinks, steps of the cursor, sums",
         "check": "verification by random vectors",
         "run": "ranks of a job: watchdog, stop, progress, records",
         "plan": "problem, machine → plan", "io": "matrices in HDF5 files",
         "transport": "panels between ranks", "backend": "products on CPU or GPU",
         "comm": "the only wrapper of MPI", "kernels": "CUDA: helpers, product, ladder",
         "core": "status, types, views, units; libc only"}
WIDTH, HEIGHT, GAP, NARROW, WIDE = 960, 60, 32, 216, 430
STYLE = """text { font: 13px sans-serif; fill: #555; text-anchor: middle } .name { font-weight: bold;
font-size: 15px; fill: #111 } rect { fill: #f4f1e8; stroke: #8a7f66 } path { fill: none; stroke: #5b6f8a;
stroke-width: 1.6 } marker path { fill: #5b6f8a; stroke: none } .paper { fill: #fff; stroke: none }
@media (prefers-color-scheme: dark) { text { fill: #aaa } .name { fill: #eee } .paper { fill: #16181c }
rect { fill: #25282e; stroke: #6a6f7a } path { stroke: #8fa9cc } marker path { fill: #8fa9cc } }"""


def survey():
    """Files and lines of each folder, and the folders that it includes."""
    files, lines, includes = collections.Counter(), collections.Counter(), collections.defaultdict(set)
    for file in [f for part in ("src", "kernels") for f in (ROOT / part).glob("**/*.[ch]*")]:
        folder, text = layers.layer_of(file.relative_to(ROOT)), file.read_text()
        files[folder] += 1
        lines[folder] += text.count("\n")
        includes[folder] |= {quoted.split("/")[0] for quoted, _ in layers.INCLUDE.findall(text) if quoted}
    for folder, others in includes.items():
        others.discard(folder)
    return files, lines, includes


def reached(includes, folder):
    """What FOLDER's includes include, directly or not."""
    found = set()
    for other in includes[folder]:
        found |= includes[other] | reached(includes, other)
    return found


def place(includes):
    """Rows from the top; in a row, folders stand near what they include.  Middles and widths of boxes."""
    rows = [[f for f, level in layers.LEVEL.items() if level == height]
            for height in sorted(set(layers.LEVEL.values()))]
    middle, width = {}, {}
    for row in rows:
        row.sort(key=lambda f: sum(middle[o] for o in includes[f]) / max(1, len(includes[f])))
        for i, folder in enumerate(row):
            middle[folder] = WIDTH * (2 * i + 1) / (2 * len(row))
            width[folder] = NARROW if len(row) > 2 else WIDE
    return rows[::-1], middle, width


def free_at(row, wanted, middle, width):
    """The place nearest to WANTED at which an arrow passes ROW."""
    edges = sorted((middle[f] - width[f] / 2, middle[f] + width[f] / 2) for f in row)
    ends = [-2 * GAP] + [x for edge in edges for x in edge] + [WIDTH + 2 * GAP]
    gaps = [(a + 12, b - 12) for a, b in zip(ends[::2], ends[1::2]) if b - a >= 16]
    gaps = [(min(a, (a + b) / 2), max(b, (a + b) / 2)) for a, b in gaps]
    return min((max(a, min(b, wanted)) for a, b in gaps), key=lambda x: abs(x - wanted))


def arrow(rows, top, source, target, middle, width):
    first = next(i for i, row in enumerate(rows) if source in row)
    last = next(i for i, row in enumerate(rows) if target in row)
    here = max(middle[source] - width[source] / 3, min(middle[source] + width[source] / 3, middle[target]))
    there = max(middle[target] - width[target] / 3, min(middle[target] + width[target] / 3, here))
    points = [(here, top[first] + HEIGHT)]
    for i in range(first + 1, last):
        x = free_at(rows[i], here + (there - here) * (i - first) / (last - first), middle, width)
        points += [(x, top[i]), (x, top[i] + HEIGHT)]
    points.append((there, top[last] - 3))
    words = [f"M{points[0][0]:.0f} {points[0][1]}"]
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        words.append(f"C{x0:.0f} {(y0 + y1) / 2:.0f} {x1:.0f} {(y0 + y1) / 2:.0f} {x1:.0f} {y1}")
    return f'<path d="{" ".join(words)}" marker-end="url(#head)"/>'


def main():
    files, lines, includes = survey()
    rows, middle, width = place(includes)
    top = [GAP + i * (HEIGHT + GAP) for i in range(len(rows))]
    tall = top[-1] + HEIGHT + GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-3 * GAP} 0 {WIDTH + 6 * GAP} {tall}">',
           f"<title>Folders of the sources; arrows: includes</title><style>{STYLE}</style>",
           '<defs><marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7"'
           ' orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
           f'<rect class="paper" x="{-3 * GAP}" width="{WIDTH + 6 * GAP}" height="{tall}"/>']
    for source in layers.LEVEL:
        out += [arrow(rows, top, source, target, middle, width)
                for target in sorted(includes[source] - reached(includes, source))]
    for y, row in zip(top, rows):
        for f in row:
            x = middle[f]
            counts = f"{files[f]} files, {round(lines[f], -2)} lines"
            out.append(f'<rect x="{x - width[f] / 2:.0f}" y="{y}" width="{width[f]}" height="{HEIGHT}" rx="6"/>')
            out += [f'<text class="{kind}" x="{x:.0f}" y="{y + down}">{text}</text>'
                    for kind, down, text in (("name", 20, f), ("", 37, ABOUT[f]), ("", 53, counts))]
    print("\n".join(out + ["</svg>"]))


main()
