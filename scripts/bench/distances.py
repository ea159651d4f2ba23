#!/usr/bin/env python3
"""The distances of all rows of a matrix in a file, by damier gram --metric euclidean and by scipy's cdist, in turns; whole commands, from
their start to the file of distances. Appends a record of each program.

    scripts/bench/distances.py -o docs/results/distances.jsonl --python VENV/bin/python

Needs a Python with h5py, NumPy and scipy.
"""
import json
import pathlib
import tempfile

from measure import code_of, compare, cores, made_by, options_of, run, start, timed

COLS = 128
WRITE = f"""import sys, h5py, numpy as np
x = np.random.default_rng(1).standard_normal((int(sys.argv[2]), {COLS}))
with h5py.File(sys.argv[1] + "/X.h5", "w") as file:
    file["x"] = x
"""
CDIST = """import sys, h5py
from scipy.spatial.distance import cdist
with h5py.File(sys.argv[1] + "/X.h5") as file:
    x = file["x"][:]
with h5py.File(sys.argv[1] + "/D.h5", "w") as file:
    file["c"] = cdist(x, x)
"""
WAYS = ("damier", "scipy")
VERSIONS = "import json, scipy, numpy; print(json.dumps({'scipy': scipy.__version__, 'numpy': numpy.__version__}))"


def once(way, folder, options):
    words = [options.damier, "gram", folder / "X.h5", "--of", "rows", "--metric", "euclidean", "-o", folder / "D.h5", "--force", "-q"]
    if way == "scipy":
        words = [options.python, "-c", CDIST, folder]
    took, _ = timed(lambda: run(words))
    (folder / "D.h5").unlink()
    return took


def main():
    options = options_of(__doc__, "distances.jsonl", damier="build/release/damier", runs=5, python="python3",
                         rows={"type": int, "default": 20000, "help": "rows [20000]"},
                         folder={"default": "/dev/shm", "help": "for the files [/dev/shm]"})
    about = {"verb": "distances", **made_by(code_of(options.damier), cores=cores()), **json.loads(run([options.python, "-c", VERSIONS]))}
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-distances-") as name:
        folder = pathlib.Path(name)
        run([options.python, "-c", WRITE, folder, str(options.rows)])
        case = {"rows": options.rows, "columns": COLS, "type": "f64", "metric": "euclidean"}
        compare(options.output, about, case, WAYS, lambda way: once(way, folder, options), options.runs)


if __name__ == "__main__":
    start(main)
