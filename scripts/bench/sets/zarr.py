"""An array of Zarr of SIZE MB as f8, times a thin matrix, by zarr-python with NumPy, and by the same with the codecs of zarrs."""
import itertools
import pathlib

import numpy as np

PACKAGES = ("zarr", "zarrs", "numpy")


def write(rows, kind, dtype):
    import zarr as library
    rng = np.random.default_rng(1)
    a = np.round(rng.standard_normal((int(rows), 2000)), 2).astype(dtype)
    library.create_array("A.zarr", data=a, chunks=(500, 500), shards=(5000, 2000) if kind == "shards" else None, overwrite=True)
    np.save("B.npy", rng.standard_normal((2000, 64)).astype(dtype))


def zarr():
    import zarr as library
    np.save("C.npy", library.open("A.zarr", mode="r")[...] @ np.load("B.npy"))


def zarrs():
    import zarr as library
    import zarrs as _
    library.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    zarr()


def cases(bench, size=640):
    from measure import run
    rows = max(1, size * 10**6 // (8 * 2000) // 5000) * 5000
    for dtype, kind in itertools.product(("f8", "f4"), ("chunks", "shards")):
        run(bench.other("write", rows, kind, dtype))
        yield {"array": f"{rows} x 2000 {dtype}", "by": "2000 x 64", "stored": f"500 x 500, zstd, in {kind}",
               "stored_bytes": sum(path.stat().st_size for path in pathlib.Path().glob("A.zarr/**/*") if path.is_file())}, {
            "damier": "damier multiply A.zarr B.npy -o C.npy -q", **bench.others("zarr", "zarrs")}
