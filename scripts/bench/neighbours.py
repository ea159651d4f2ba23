#!/usr/bin/env python3
"""The nearest rows of each row by cosine: by damier gram --metric cosine --top, by faiss's exact index, scikit-learn, sparse_dot_topn
and blocks of NumPy, in turns; whole commands, from their start to the file of neighbours. Appends a record of each program.

    scripts/bench/neighbours.py -o docs/results/neighbours.jsonl --python VENV/bin/python [--ways damier,faiss]

Needs a Python with faiss-cpu, h5py, NumPy, scikit-learn, scipy and sparse-dot-topn.
"""
from measure import OF_PROGRAMS, compare_programs, options_of, start

COLS, TOP = 128, 10
WRITE = f"""import sys, h5py, numpy as np
x = np.random.default_rng(1).standard_normal((int(sys.argv[2]), {COLS}), dtype="f4")
with h5py.File(sys.argv[1] + "/X.h5", "w") as file:
    file["x"] = x
"""
READ = "import sys, h5py, numpy as np\nwith h5py.File(sys.argv[1] + '/X.h5') as file:\n    x = file['x'][:]\n"
UNIT = READ + "x /= np.linalg.norm(x, axis=1, keepdims=True)\n"
WAYS = {"damier": None,
        "faiss": UNIT + f"""import faiss
index = faiss.IndexFlatIP({COLS})
index.add(x)
values, indices = index.search(x, {TOP})
np.savez(sys.argv[1] + "/near.npz", values=values, indices=indices)
""",
        "scikit-learn": READ + f"""from sklearn.neighbors import NearestNeighbors
some = NearestNeighbors(n_neighbors={TOP}, metric="cosine", algorithm="brute", n_jobs=-1).fit(x)
values, indices = some.kneighbors(x)
np.savez(sys.argv[1] + "/near.npz", values=values, indices=indices)
""",
        "sparse_dot_topn": UNIT + f"""import os, scipy.sparse, sparse_dot_topn
y = scipy.sparse.csr_matrix(x)
found = sparse_dot_topn.sp_matmul_topn(y, y.T.tocsr(), top_n={TOP}, sort=True, n_threads=len(os.sched_getaffinity(0)))
scipy.sparse.save_npz(sys.argv[1] + "/near.npz", found, compressed=False)
""",
        "numpy": UNIT + f"""values, indices = [], []
for first in range(0, len(x), 2000):
    c = x[first:first + 2000] @ x.T
    some = np.argpartition(-c, {TOP}, axis=1)[:, :{TOP}]
    of_some = np.take_along_axis(c, some, 1)
    order = np.argsort(-of_some, axis=1)
    values.append(np.take_along_axis(of_some, order, 1))
    indices.append(np.take_along_axis(some, order, 1))
np.savez(sys.argv[1] + "/near.npz", values=np.concatenate(values), indices=np.concatenate(indices))
"""}


def main():
    options = options_of(__doc__, "neighbours.jsonl", **OF_PROGRAMS, runs=10, rows=50000,
                         ways={"default": ",".join(WAYS), "help": "programs, the first is the reference"})
    case = {"rows": options.rows, "columns": COLS, "top": TOP, "type": "f32", "metric": "cosine"}
    compare_programs(options, "neighbours", ("faiss-cpu", "numpy", "scikit-learn", "sparse-dot-topn"), WRITE, [(case, [options.rows])],
                     {way: WAYS[way] for way in options.ways.split(",")},
                     f"gram FOLDER/X.h5 --of rows --metric cosine --top {TOP} -o FOLDER/near.h5")


if __name__ == "__main__":
    start(main)
