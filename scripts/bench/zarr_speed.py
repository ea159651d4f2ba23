#!/usr/bin/env python3
"""Multiplies an array of Zarr by a thin matrix: by damier, by zarr-python with NumPy, and by the same with the codecs of zarrs, in turns;
whole commands, from their start to the file of C. Appends a record of each way to store the array and of each program.

    scripts/bench/zarr_speed.py -o docs/results/zarr.jsonl --python VENV/bin/python

Needs a Python with zarr 3, zarrs and NumPy, and twice --size in the folder.
"""
from measure import OF_PROGRAMS, compare_programs, options_of, start

ROWS, COLS = 2000, 64
WRITE = """import sys, zarr, numpy as np
folder, rows, kind, dtype = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
rng = np.random.default_rng(1)
a = np.round(rng.standard_normal((rows, {rows})), 2).astype(dtype)
zarr.create_array(folder + "/A.zarr", data=a, chunks=(500, 500), shards=(5000, {rows}) if kind == "shards" else None, overwrite=True)
np.save(folder + "/B.npy", rng.standard_normal(({rows}, {cols})).astype(dtype))
""".format(rows=ROWS, cols=COLS)
READ = """import sys, zarr, numpy as np
folder = sys.argv[1]
a = zarr.open(folder + "/A.zarr", mode="r")[...]
np.save(folder + "/C.npy", a @ np.load(folder + "/B.npy"))
"""
ZARRS = 'import zarr, zarrs\nzarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})\n'
WAYS = {"damier": None, "zarr": READ, "zarrs": ZARRS + READ}
KINDS = (("chunks", "f8"), ("shards", "f8"), ("chunks", "f4"), ("shards", "f4"))


def main():
    options = options_of(__doc__, "zarr.jsonl", **OF_PROGRAMS, runs=10, size={"type": int, "default": 640, "help": "MB of the array as f8 [640]"})
    rows = max(1, options.size * 10**6 // (8 * ROWS) // 5000) * 5000

    def case(kind, dtype):
        return lambda folder: {"array": f"{rows} x {ROWS} {dtype}", "by": f"{ROWS} x {COLS}", "stored": f"500 x 500, zstd, in {kind}",
                               "stored_bytes": sum(path.stat().st_size for path in folder.glob("A.zarr/**/*") if path.is_file())}

    compare_programs(options, "zarr", ("zarr", "zarrs", "numpy"), WRITE, [(case(*kind), [rows, *kind]) for kind in KINDS], WAYS,
                     "multiply FOLDER/A.zarr FOLDER/B.npy -o FOLDER/C.npy")


if __name__ == "__main__":
    start(main)
