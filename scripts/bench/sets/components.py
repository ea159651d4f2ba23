"""damier pca, and three ways of scikit-learn; if SMALL 20000 x 300 of f64, and NumPy's SVD."""

import h5py
import numpy as np

RUNS, PACKAGES = 5, ("scikit-learn", "numpy")


def write(rows, cols, dtype):
    rng = np.random.default_rng(1)
    with h5py.File("X.h5", "w") as file:
        x = file.create_dataset("x", (rows, cols), dtype)
        for first in range(0, rows, 10000):
            size = min(10000, rows - first)
            x[first:first + size] = 2 + rng.standard_normal((size, cols), dtype="f4") * np.arange(1, cols + 1, dtype="f4")**-0.5


def numpy(rank):
    with h5py.File("X.h5") as file:
        x = file["x"][:]
    s, v = np.linalg.svd(x - x.mean(0), full_matrices=False)[1:]
    np.savez("P.npz", s=s[:int(rank)], v=v[:int(rank)])


def by_solver(rank, **words):
    from sklearn.decomposition import PCA
    with h5py.File("X.h5") as file:
        found = PCA(int(rank), copy=False, **words).fit(file["x"][:])
    np.savez("P.npz", c=found.components_, v=found.explained_variance_)


def covariance_eigh(rank):
    by_solver(rank, svd_solver="covariance_eigh")


def randomized(rank):
    by_solver(rank, svd_solver="randomized", random_state=0)


def incremental(rank):
    from sklearn.decomposition import IncrementalPCA
    with h5py.File("X.h5") as file:
        x, found = file["x"], IncrementalPCA(int(rank), batch_size=5000)
        for first in range(0, len(x), 5000):
            found.partial_fit(x[first:first + 5000])
    np.savez("P.npz", c=found.components_, v=found.explained_variance_)


def cases(bench, rows=300000, small=0):
    rows, cols, rank, dtype = (20000, 300, 10, "f64") if small else (rows, 1000, 50, "f32")
    write(rows, cols, {"f64": "f8", "f32": "f4"}[dtype])
    yield {"rows": rows, "columns": cols, "rank": rank, "type": dtype}, {
        "damier": f"damier pca X.h5 --rank {rank} -o P.h5 -q",
        **{name: bench.other(name, rank) for name in (["numpy"] if small else ["covariance_eigh", "randomized", "incremental"])}}
