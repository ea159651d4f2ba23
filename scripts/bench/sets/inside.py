"""Matrices that are not plain datasets, beside the plain one of the same bytes: a member of a table, flat ones, packed triangles, a family of
files, 3-D virtual datasets; SIDE x SIDE f64 times SIDE x COLS."""
import h5py
import numpy as np

RUNS = 9


def write(side, cols):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((side, side))
    x += x.T
    with h5py.File("x.h5", "w") as file:
        file["plain"] = x
        file["flat"] = x.ravel()
        file["lower"], file["upper"] = x[np.tril_indices(side)], x[np.triu_indices(side)]
        table = np.zeros(side, [("index", "i8"), ("v", "f8", (side,)), ("t", "f8")])
        table["v"] = x
        file["table"] = table
        file["b"] = rng.standard_normal((side, cols))
    with h5py.File("f%d.h5", "w", driver="family", memb_size=1 << 26) as file:
        file["plain"] = x
    frames = h5py.VirtualLayout((side // 10, 10, side), "f8")
    for i in range(10):
        part = x[i * side // 10:(i + 1) * side // 10].reshape(-1, 10, side)
        with h5py.File(f"v{i}.h5", "w") as file:
            file["d"] = part
        frames[i * len(part):(i + 1) * len(part)] = h5py.VirtualSource(f"v{i}.h5", "d", part.shape)
    with h5py.File("v.h5", "w", libver="v110") as file:
        file.create_virtual_dataset("d", frames)


def cases(bench, side=5000, cols=16):
    write(side, cols)
    yield {"a": f"{side} x {side} f64", "by": f"{side} x {cols}"}, {
        name: f"damier multiply {a} x.h5:/b -o C.h5 -q" for name, a in (
            ("plain", "x.h5:/plain"), ("member", "x.h5:/table.v"), ("flat", f"x.h5:/flat --shape-a {side}x{side}"),
            ("family", "f%d.h5:/plain"), ("virtual", "v.h5:/d --row-axes-a 2"),
            ("lower", "x.h5:/lower --packed-a lower"), ("upper", "x.h5:/upper --packed-a upper"))}
