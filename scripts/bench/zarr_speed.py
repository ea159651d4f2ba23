#!/usr/bin/env python3
"""Multiplies an array of Zarr by a thin matrix: by damier, by zarr-python with NumPy, and by the same with the codecs of zarrs, in turns;
whole commands, from their start to the file of C. Appends a record of each way to store the array and of each program.

    scripts/bench/zarr_speed.py -o docs/results/zarr.jsonl --python VENV/bin/python

Needs a Python with zarr 3, zarrs and NumPy, and twice --size in the folder.
"""
import json
import pathlib
import tempfile

from measure import code_of, compare, cores, made_by, options_of, run, start, timed

ROWS, COLS = 2000, 64
WRITE = """import sys, zarr, numpy as np
folder, rows, kind, dtype = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
rng = np.random.default_rng(1)
a = np.round(rng.standard_normal((rows, {rows})), 2).astype(dtype)
zarr.create_array(folder + "/A.zarr", data=a, chunks=(500, 500), shards=(5000, {rows}) if kind == "shards" else None, overwrite=True)
np.save(folder + "/B.npy", rng.standard_normal(({rows}, {cols})).astype(dtype))
""".format(rows=ROWS, cols=COLS)
READ = """import sys, zarr, numpy as np
folder, pipeline = sys.argv[1], sys.argv[2]
if pipeline == "zarrs":
    import zarrs
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
a = zarr.open(folder + "/A.zarr", mode="r")[...]
np.save(folder + "/C.npy", a @ np.load(folder + "/B.npy"))
"""
VERSIONS = "import json, zarr, zarrs, numpy; print(json.dumps({'zarr': zarr.__version__, 'zarrs': zarrs.__version__, 'numpy': numpy.__version__}))"
WAYS = ("damier", "zarr", "zarrs")
KINDS = (("chunks", "f8"), ("shards", "f8"), ("chunks", "f4"), ("shards", "f4"))


def once(way, folder, options):
    words = [options.damier, "multiply", folder / "A.zarr", folder / "B.npy", "-o", folder / "C.npy", "--force", "-q"]
    if way != "damier":
        words = [options.python, "-c", READ, folder, way]
    took, _ = timed(lambda: run(words))
    return took


def main():
    options = options_of(__doc__, "zarr.jsonl", damier="build/release/damier", runs=10, python="python3",
                         size={"type": int, "default": 640, "help": "MB of the array as f8 [640]"},
                         folder={"default": "/dev/shm", "help": "for the files [/dev/shm]"})
    rows = max(1, options.size * 10**6 // (8 * ROWS) // 5000) * 5000
    about = {"verb": "zarr", **made_by(code_of(options.damier), cores=cores()), **json.loads(run([options.python, "-c", VERSIONS]))}
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="damier-zarr-") as name:
        folder = pathlib.Path(name)
        for kind, dtype in KINDS:
            run([options.python, "-c", WRITE, folder, str(rows), kind, dtype])
            stored = sum(path.stat().st_size for path in folder.glob("A.zarr/**/*") if path.is_file())
            case = {"array": f"{rows} x {ROWS} {dtype}", "by": f"{ROWS} x {COLS}", "stored": f"500 x 500, zstd, in {kind}", "stored_bytes": stored}
            compare(options.output, about, case, WAYS, lambda way: once(way, folder, options), options.runs)


if __name__ == "__main__":
    start(main)
