"""The distances of all rows, by damier gram --metric euclidean and by scipy's cdist."""

import h5py
import numpy as np

RUNS, PACKAGES = 5, ("scipy", "numpy")


def scipy():
    from scipy.spatial.distance import cdist
    with h5py.File("X.h5") as file, h5py.File("D.h5", "w") as made:
        x = file["x"][:]
        made["c"] = cdist(x, x)


def cases(bench, rows=20000):
    with h5py.File("X.h5", "w") as file:
        file["x"] = np.random.default_rng(1).standard_normal((rows, 128))
    yield {"rows": rows, "columns": 128, "type": "f64", "metric": "euclidean"}, {
        "damier": "damier gram X.h5 --of rows --metric euclidean -o D.h5 -q", **bench.others("scipy")}
