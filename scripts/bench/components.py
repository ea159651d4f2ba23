#!/usr/bin/env python3
"""Principal components of a file: by damier pca, by three ways of scikit-learn, by dask; or, with --small, by NumPy's SVD; in turns, whole
commands, from their start to the file of components. Appends a record of each program.

    scripts/bench/components.py -o docs/results/components.jsonl --python VENV/bin/python [--small]

Needs a Python with scikit-learn, dask, h5py and NumPy.
"""
from measure import OF_PROGRAMS, compare_programs, options_of, start

WRITE = """import sys, h5py, numpy as np
rows, cols, dtype = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
rng = np.random.default_rng(1)
with h5py.File(sys.argv[1] + "/X.h5", "w") as file:
    x = file.create_dataset("x", (rows, cols), dtype)
    for first in range(0, rows, 10000):
        size = min(10000, rows - first)
        x[first:first + size] = 2 + rng.standard_normal((size, cols), dtype="f4") * np.arange(1, cols + 1, dtype="f4")**-0.5
"""
READ = "import sys, h5py, numpy as np\nk = int(sys.argv[5])\nfile = h5py.File(sys.argv[1] + '/X.h5')\nx = file['x']\n"
SAVE = "\nnp.savez(sys.argv[1] + '/P.npz', c=found.components_, v=found.explained_variance_)\n"
SKLEARN = READ + "from sklearn.decomposition import PCA, IncrementalPCA\n"
WAYS = {"damier": None,
        "covariance_eigh": SKLEARN + "found = PCA(k, svd_solver='covariance_eigh', copy=False).fit(x[:])" + SAVE,
        "randomized": SKLEARN + "found = PCA(k, svd_solver='randomized', copy=False, random_state=0).fit(x[:])" + SAVE,
        "incremental": SKLEARN + "found = IncrementalPCA(k, batch_size=5000)\n"
                                 "for i in range(0, len(x), 5000):\n    found.partial_fit(x[i:i + 5000])" + SAVE,
        "dask": READ + """import dask.array as da
x = da.from_array(x, chunks=(20000, x.shape[1]))
u, s, v = da.linalg.svd_compressed(x - x.mean(0), k, n_power_iter=4, compute=False, seed=0)
s, v = da.compute(s, v)
np.savez(sys.argv[1] + '/P.npz', s=s, v=v)
"""}
SMALL = {"damier": None,
         "numpy": READ + "x = x[:]\ns, v = np.linalg.svd(x - x.mean(0), full_matrices=False)[1:]\nnp.savez(sys.argv[1] + '/P.npz', s=s[:k], v=v[:k])\n"}


def main():
    options = options_of(__doc__, "components.jsonl", **OF_PROGRAMS, runs=5, rows=300000,
                         small={"action": "store_true", "help": "20000 x 300 of f64, against NumPy's SVD"},
                         ways={"default": "", "help": "some of the programs, separated by commas [all]"})
    rows, cols, rank, dtype = (20000, 300, 10, "f8") if options.small else (options.rows, 1000, 50, "f4")
    ways = SMALL if options.small else WAYS
    ways = {way: ways[way] for way in ("damier", *options.ways.split(","))} if options.ways else ways
    case = {"rows": rows, "columns": cols, "rank": rank, "type": "f64" if options.small else "f32"}
    compare_programs(options, "components", ("scikit-learn", "dask", "numpy"), WRITE, [(case, [rows, cols, dtype, rank])], ways,
                     f"pca FOLDER/X.h5 --rank {rank} -o FOLDER/P.h5")


if __name__ == "__main__":
    start(main)
