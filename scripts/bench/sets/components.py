"""damier pca, also within MEMORY, three ways of scikit-learn, and dask; if SMALL 20000 x 300 of f64, and NumPy's SVD."""

import h5py
import numpy as np

RUNS, WARM_UP, FOLDER, PACKAGES = 5, 0, "/tmp", ("scikit-learn", "dask", "numpy")


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


def dask(rank):
    import dask
    import dask.array as da
    with h5py.File("X.h5") as file:
        x = da.from_array(file["x"], chunks=(20000, -1))
        s, v = dask.compute(*da.linalg.svd_compressed(x - x.mean(0), int(rank), seed=0)[1:])
    np.savez("P.npz", s=s, v=v)


def cases(bench, rows=1000000, small=0, memory="1GiB"):
    rows, cols, rank, dtype = (20000, 300, 10, "f64") if small else (rows, 1000, 50, "f32")
    write(rows, cols, {"f64": "f8", "f32": "f4"}[dtype])
    yield {"rows": rows, "columns": cols, "rank": rank, "type": dtype}, {
        "damier": f"damier pca X.h5 --rank {rank} -o P.h5 -q",
        **({"numpy": bench.other("numpy", rank)} if small else {
            "memory": ({"limit": memory}, f"damier pca X.h5 --rank {rank} -o P.h5 -q --memory host={memory}"),
            **{name: bench.other(name, rank) for name in ("covariance_eigh", "randomized", "incremental", "dask")},
            "dask_threads=1": ["env", "OPENBLAS_NUM_THREADS=1", *bench.other("dask", rank)]})}
