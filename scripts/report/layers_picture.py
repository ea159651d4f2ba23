#!/usr/bin/env python3
"""Draws the folders of the sources and their includes: layers_picture.py > docs/layers.svg.

The levels are those of tests/layers.py. Implied arrows are omitted: a folder that includes `engine` may include
whatever `engine` does. Graphviz places boxes and arrows.
"""
import collections
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import layers  # noqa: E402

ABOUT = {"cli": "the command line, one file per verb",
         "api": "the public library, damier.h", "bench": "damier-bench: benchmarks, rates",
         "options": "values of options, their parsers; requests",
         "programs": "components, distances, reductions: programs on the pipeline",
         "product": "the pipeline: plan, tiles, judge, repair, commit; checkpoints",
         "transform": "what is done to elements: centering, scaling, weights",
         "layout": "matrices divided over ranks, and moved",
         "engine": "the product: sources, sinks, steps of the cursor, sums",
         "check": "verification by random vectors",
         "reduce": "what is kept of a C that is not stored",
         "run": "ranks of a job: watchdog, stop, progress, records",
         "plan": "grid, panels and tiles", "dataset": "what is in files: formats, types, codecs",
         "io": "bytes: readers, queues, writers, journals", "inspect": "examines untrusted files",
         "transport": "panels between ranks", "backend": "products on CPU or GPU",
         "comm": "the only wrapper of MPI", "kernels": "CUDA: the ladder, helpers",
         "core": "status, types, views, units; libc only"}
STYLE = """<style>text { font: 13px sans-serif; fill: #555 } .name { font-weight: bold; font-size: 15px; fill: #111 }
.node polygon, .node path { fill: #f4f1e8; stroke: #8a7f66 } .edge path { stroke: #5b6f8a; stroke-width: 1.6 }
.edge polygon { fill: #5b6f8a; stroke: #5b6f8a } .graph > polygon { fill: #fff }
@media (prefers-color-scheme: dark) { text { fill: #aaa } .name { fill: #eee } .graph > polygon { fill: #16181c }
.node polygon, .node path { fill: #25282e; stroke: #6a6f7a } .edge path { stroke: #8fa9cc }
.edge polygon { fill: #8fa9cc; stroke: #8fa9cc } }</style>"""


def survey():
    """The folders that each folder includes."""
    includes = collections.defaultdict(set)
    for file in [f for part in layers.PLACES for f in (ROOT / part).glob("**/*.[ch]*")]:
        folder = layers.layer_of(file.relative_to(ROOT))
        includes[folder] |= {quoted.split("/")[0] for quoted, _ in layers.INCLUDE.findall(file.read_text()) if quoted} - {folder}
    return includes


def reached(includes, folder):
    """The folders that FOLDER's includes include, directly or indirectly."""
    found = set()
    for other in includes[folder]:
        found |= includes[other] | reached(includes, other)
    return found


def wrapped(words):
    return "\\n".join(textwrap.wrap(words, 20))


def main():
    includes = survey()
    dot = ['digraph { node [shape=box style=rounded fontname="Helvetica" fontsize=13 margin="0.06,0.05"]',
           "nodesep=0.12 ranksep=0.35"]  # narrow, so that letters are legible on a phone
    for height in sorted(set(layers.LEVEL.values())):
        row = [f for f, level in layers.LEVEL.items() if level == height]
        dot.append(f"{{ rank=same {' '.join(row)} }}")
        dot += [f'{f} [label="{f}\\n{wrapped(ABOUT[f])}"]' for f in row]
    dot += [f"{f} -> {other}" for f in layers.LEVEL for other in sorted(includes[f] - reached(includes, f))]
    svg = subprocess.run(["dot", "-Tsvg"], input="\n".join(dot + ["}"]), capture_output=True, text=True,
                         check=True).stdout
    svg = svg[svg.index("<svg"):].replace("<g ", STYLE + "\n<g ", 1)
    for folder in layers.LEVEL:
        svg = svg.replace(f">{folder}</text>", f' class="name">{folder}</text>')
    print(svg.rstrip())


main()
