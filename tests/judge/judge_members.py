"""members: matrices in files that HDF5 wrote as several, with its drivers family and split, equal NumPy's; damaged ones are refused."""
import h5py
import numpy as np

from running import ended, expect, options, run, run_cases

ROWS, COLS = 83, 47
KINDS = {"contiguous": {}, "chunked": {"chunks": (20, 20), "compression": "gzip", "shuffle": True}, "compact": None}


def matrix(dtype="f8"):
    return np.random.default_rng(5).integers(0, 9, (ROWS, COLS)).astype(dtype)


def fill(file, dtype):
    a = matrix(dtype)
    file.create_dataset("contiguous", data=a)
    file.create_dataset("chunked", data=a, **KINDS["chunked"])
    small = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    small.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple(a.shape)
    h5py.h5d.create(file.id, b"compact", h5py.h5t.py_create(a.dtype), space, small).write(h5py.h5s.ALL, h5py.h5s.ALL, a)
    records = np.zeros((ROWS,), [("name", "S3"), ("x", dtype, (COLS,))])
    records["x"] = a
    file["records"] = records


def write(folder, kind, dtype="f8", libver="earliest"):
    """The names by which what was written is read."""
    if kind == "split":
        with h5py.File(folder / "s", "w", driver="split", libver=libver) as file:
            fill(file, dtype)
        return [folder / "s-m.h5", folder / "s-r.h5", folder / "s"]
    if kind == "named":
        with h5py.File(folder / "s", "w", driver="split", meta_ext=b".meta.h5", raw_ext=b".raw.h5", libver=libver) as file:
            fill(file, dtype)
        return [folder / "s.meta.h5", folder / "s.raw.h5"]
    with h5py.File(folder / kind, "w", driver="family", memb_size=20001, libver=libver) as file:  # ends within numbers
        fill(file, dtype)
    return [folder / kind, folder / (kind % 0), folder / (kind % 3)]


def products(folder, damier, kind, dtype, libver, ranks):
    a = matrix(dtype)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.eye(COLS, dtype=dtype)
    for number, name in enumerate(write(folder, kind, dtype, libver)):
        for path in ("contiguous", "chunked", "compact", "records.x", "contiguous[5:70:3, 1:46:2]")[:2 if number else 5]:
            c = folder / "c.h5"
            words = (damier, ranks, "multiply", f"{name}:/{path}", folder / "b.h5", "-o", c, "--force", "-q")
            part = path.endswith("]")
            if part:
                words = (*words[:4], folder / "b.h5:/b[1:46:2, :]", *words[5:])
            run(*words)
            with h5py.File(c) as file:
                got = file["c"][()]
            wanted = a[5:70:3, 1:46:2] @ np.eye(COLS, dtype=dtype)[1:46:2] if part else a
            expect(np.array_equal(got, wanted), f"{name}:/{path} on {ranks} ranks is not what was written")


def used(folder, damier):
    """Statistics, mapped pages, verification; one of them is never an output, nor taken for a matrix of a stack."""
    a = matrix()
    for kind in ("x%d.h5", "split"):
        names = write(folder, kind)
        run(damier, 1, "cov", f"{names[0]}:/contiguous", "-o", folder / "cov.h5", "--force", "-q")
        with h5py.File(folder / "cov.h5") as file:
            expect(np.allclose(file["c"][()], np.cov(a, rowvar=False)), f"covariances of {kind}")
        told = ended([damier, "multiply", f"{names[0]}:/contiguous", f"{names[1]}:/chunked", "--op-b", "t", "-o", str(names[1]),
                      "--force", "-q"])
        expect(told.returncode == 2, f"an input was replaced: {told.stderr}")
    with h5py.File(folder / "y%d.h5", "w", driver="family", memb_size=20001) as file:
        fill(file, "f8")
    told = ended([damier, "multiply", f"{folder}/y*.h5:/contiguous", f"{folder}/y0.h5:/contiguous", "--op-b", "t", "-o",
                  f"{folder}/c.h5", "-q"])
    expect(told.returncode == 3 and "one of several files" in told.stderr, told.stderr)


def in_place(folder, damier):
    """Rows that are multiplied where they lie in the page cache: members a record apart, of one file and of a family of whole pages."""
    rng = np.random.default_rng(7)
    b = rng.standard_normal((COLS, 5))
    kind = np.dtype([("i", "<i8"), *((name, of, (COLS,)) for name, of in (("v", "<f8"), ("u", ">f8"), ("h", "<f4"))), ("odd", "<i2", (2,)),
                     ("z", "<c16", (COLS,))])
    for rows in (1, 2, ROWS):
        table = np.zeros(rows, kind)
        for name in "vuhz":
            table[name] = rng.standard_normal((rows, COLS)) + (1j * rng.standard_normal((rows, COLS)) if name == "z" else 0)
        for name, more in (("one.h5", {}), (f"r{rows}_%d.h5", {"driver": "family", "memb_size": 8192})):
            with h5py.File(folder / name, "w", **more) as file:
                file["t"], file["a"] = table, table["v"]
                file["b"] = b
                file["zb"], file["hb"] = b.astype("c16"), b.astype("f4")
            for member, factor in (("t.v", "b"), ("a", "b"), ("t.u", "b"), ("t.z", "zb"), ("t.h", "hb"), ("t.v[:, 1:40]", "b[1:40, :]")):
                run(damier, 1, "multiply", f"{folder / name}:/{member}", f"{folder / name}:/{factor}", "-o", folder / "c.h5", "--force",
                    "-q")
                x = table[member[2]] if member != "a" else table["v"]
                wanted = x[:, 1:40] @ b[1:40] if "[" in member else x.astype("f8" if member == "t.h" else x.dtype.newbyteorder("=")) @ b
                with h5py.File(folder / "c.h5") as file:
                    got = file["c"][()]
                expect(np.allclose(got, wanted, rtol=1e-4 if member == "t.h" else 1e-12, atol=1e-5 if member == "t.h" else 1e-12),
                       f"{name}:/{member} of {rows} rows")


def damaged(folder, damier):
    write(folder, "x%d.h5")
    files = sorted(folder.glob("x?.h5"))
    last = files[-1].read_bytes()
    for data, wanted in ((last[:-1], "truncated file"), (last + bytes(20001), "too long"), (None, "truncated file")):
        if data is None:
            files[-1].unlink()
        else:
            files[-1].write_bytes(data)
        told = ended([damier, "info", f"{folder}/x%d.h5"])
        expect(told.returncode == 3 and wanted in told.stderr, told.stderr)
    files[1].write_bytes(b"")
    told = ended([damier, "info", f"{folder}/x%d.h5"])
    expect(told.returncode == 3 and "was it cut off?" in told.stderr, told.stderr)
    meta, raw, _ = write(folder, "split")
    whole = meta.read_bytes()
    for at in range(whole.index(b"NCSAmult"), whole.index(b"NCSAmult") + 72):
        changed = bytearray(whole)
        changed[at] ^= 0xff
        meta.write_bytes(bytes(changed))
        told = ended([damier, "info", f"{meta}:/contiguous"])
        expect(told.returncode in (0, 3, 4), f"byte {at}: exit {told.returncode}: {told.stderr}")
    meta.write_bytes(whole)
    raw.write_bytes(raw.read_bytes()[:9000])
    told = ended([damier, "info", f"{meta}:/contiguous"])
    expect(told.returncode == 3, told.stderr)
    raw.unlink()
    told = ended([damier, "info", str(meta)])
    expect(told.returncode == 3 and "No such file" in told.stderr, told.stderr)


def main():
    args = options()
    kinds = ("x%d.h5", "x_%03d.h5", "split", "named")
    cases = [(products, kind, "f8", version, ranks) for kind in kinds for version, ranks in (("earliest", 1), ("latest", 3))]
    cases += [(products, "x%d.h5", dtype, "earliest", 1) for dtype in ("f4", "c16", ">f8")]
    return run_cases(args.damier, [*cases, (used,), (in_place,), (damaged,)])


if __name__ == "__main__":
    raise SystemExit(main())
