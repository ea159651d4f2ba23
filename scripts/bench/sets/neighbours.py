"""The nearest rows of each row by cosine, by damier gram --top, faiss's exact index, scikit-learn, sparse_dot_topn, blocks of NumPy."""
import os

import h5py
import numpy as np

PACKAGES = ("faiss-cpu", "numpy", "scikit-learn", "sparse-dot-topn")
TOP = 10


def rows_of_file():
    with h5py.File("X.h5") as file:
        return file["x"][:]


def unit_rows():
    x = rows_of_file()
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x


def save(values, indices):
    np.savez("near.npz", values=values, indices=indices)


def faiss():
    import faiss as library
    x = unit_rows()
    index = library.IndexFlatIP(x.shape[1])
    index.add(x)
    save(*index.search(x, TOP))


def scikit_learn():
    from sklearn.neighbors import NearestNeighbors
    x = rows_of_file()
    save(*NearestNeighbors(n_neighbors=TOP, metric="cosine", algorithm="brute", n_jobs=-1).fit(x).kneighbors(x))


def sparse_dot_topn():
    import scipy.sparse
    import sparse_dot_topn as library
    y = scipy.sparse.csr_matrix(unit_rows())
    found = library.sp_matmul_topn(y, y.T.tocsr(), top_n=TOP, sort=True, n_threads=len(os.sched_getaffinity(0)))
    scipy.sparse.save_npz("near.npz", found, compressed=False)


def numpy():
    x, values, indices = unit_rows(), [], []
    for first in range(0, len(x), 2000):
        c = x[first:first + 2000] @ x.T
        some = np.argpartition(-c, TOP, axis=1)[:, :TOP]
        of_some = np.take_along_axis(c, some, 1)
        order = np.argsort(-of_some, axis=1)
        values.append(np.take_along_axis(of_some, order, 1))
        indices.append(np.take_along_axis(some, order, 1))
    save(np.concatenate(values), np.concatenate(indices))


def cases(bench, rows=50000):
    with h5py.File("X.h5", "w") as file:
        file["x"] = np.random.default_rng(1).standard_normal((rows, 128), dtype="f4")
    yield {"rows": rows, "columns": 128, "top": TOP, "type": "f32", "metric": "cosine"}, {
        "damier": f"damier gram X.h5 --of rows --metric cosine --top {TOP} -o near.h5 -q",
        **bench.others("faiss", "scikit-learn", "sparse_dot_topn", "numpy")}
