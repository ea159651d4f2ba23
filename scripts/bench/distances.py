#!/usr/bin/env python3
"""The distances of all rows of a matrix in a file, by damier gram --metric euclidean and by scipy's cdist, in turns; whole commands, from
their start to the file of distances. Appends a record of each program.

    scripts/bench/distances.py -o docs/results/distances.jsonl --python VENV/bin/python

Needs a Python with h5py, NumPy and scipy.
"""
from measure import OF_PROGRAMS, compare_programs, options_of, start

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


def main():
    options = options_of(__doc__, "distances.jsonl", **OF_PROGRAMS, runs=5, rows=20000)
    case = {"rows": options.rows, "columns": COLS, "type": "f64", "metric": "euclidean"}
    compare_programs(options, "distances", ("scipy", "numpy"), WRITE, [(case, [options.rows])], {"damier": None, "scipy": CDIST},
                     "gram FOLDER/X.h5 --of rows --metric euclidean -o FOLDER/D.h5")


if __name__ == "__main__":
    start(main)
