"""integers: with --type i32 and i64 products of integers and booleans are NumPy's, or are refused where a sum might not be exact."""
import h5py
import numpy as np

from running import command, ended, expect, options, process_mib, records_of, run, run_cases

TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?")


def drawn(rng, shape, dtype, most):
    low = 0 if dtype in ("?", "u1", "u2", "u4", "u8") else -most
    return rng.integers(low, most + 1, shape).astype(dtype)


def result(path):
    if path.suffix == ".npy":
        return np.load(path)
    with h5py.File(path) as file:
        return file["c"][()]


def write(folder, a, b):
    np.save(folder / "a.npy", a)
    with h5py.File(folder / "b.h5", "w") as file:
        file.create_dataset("b", data=b, chunks=tuple(max(1, n // 2) for n in b.shape), compression="gzip")
    return folder / "a.npy", folder / "b.h5"


def products(folder, damier, ranks):
    rng = np.random.default_rng(ranks)
    for dtype in TYPES:
        m, k, n = map(int, rng.integers(1, 60, 3))
        other = str(rng.choice(TYPES))
        a, b = (drawn(rng, shape, t, 1 if t == "?" else 100) for shape, t in (((m, k), dtype), ((k, n), other)))
        wanted = a.astype("i8") @ b.astype("i8")
        files = write(folder, a, b)
        for kind, out in (("i32", "c.h5"), ("i64", "c.npy")):
            run(damier, ranks, "multiply", *files, "-o", folder / out, "--type", kind, "--force", "-q")
            got = result(folder / out)
            expect(got.dtype == np.dtype(kind.replace("32", "4").replace("64", "8")) and np.array_equal(got, wanted), f"{dtype} {other} {kind}")
            run(damier, 1, "verify", *files, folder / out, "-q")


def large(folder, damier, ranks):
    """Sums near 2^53, of which f64 holds every one, in tiles, transposed, negated, with itself."""
    rng = np.random.default_rng(10 + ranks)
    a, b = drawn(rng, (83, 64), "i8", 2**23), drawn(rng, (64, 71), "i8", 2**23 - 1)
    files = write(folder, a, b)
    for more, wanted in (((), a @ b), (("--alpha", "-1"), -(a @ b)), (("--grid", f"1x1x{ranks}"), a @ b)):
        run(damier, ranks, "multiply", *files, "-o", folder / "c.h5", "--type", "i64", "--force", "-q", *more)
        expect(np.array_equal(result(folder / "c.h5"), wanted), f"{more}")
    run(damier, ranks, "multiply", folder / "b.h5", folder / "a.npy", "-o", folder / "t.zarr", "--op-a", "t", "--op-b", "t", "--type", "i64", "--force", "-q")
    run(damier, 1, "verify", folder / "t.zarr", "-q")
    run(damier, ranks, "gram", folder / "a.npy", "-o", folder / "g.h5", "--type", "i64", "-q")
    expect(np.array_equal(result(folder / "g.h5"), a.T @ a), "gram")
    run(damier, ranks, "gram", folder / "a.npy", "-o", folder / "h.h5", "--of", "rows", "--type", "i32", "-q", expect=3)


def tiles(folder, damier, ranks):
    """C in tiles: what is read is only known at the end."""
    rng = np.random.default_rng(ranks)
    a, b = drawn(rng, (1500, 1100), "i4", 2**20), drawn(rng, (1100, 1300), "i4", 2**20)
    memory = ("--memory", f"host={process_mib(damier, ranks) + 8}M")
    files = write(folder, a, b)
    record = folder / "record.json"
    run(damier, ranks, "multiply", *files, "-o", folder / "c.h5", "--type", "i64", "-q", *memory, "--json", record)
    expect(records_of(record)[-1]["plan"]["tiles"] != "1x1", "one tile")
    expect(np.array_equal(result(folder / "c.h5"), a.astype("i8") @ b.astype("i8")), "C in tiles")
    a[-1, -1] = 2**27
    files = write(folder, a, b)
    for more in ((), ("--no-verify",)):
        run(damier, ranks, "multiply", *files, "-o", folder / "r.h5", "--type", "i64", "-q", *memory, *more, expect=3)
        expect(not (folder / "r.h5").exists(), "an output of sums that may not be exact")


def wrong(folder, damier, ranks):
    """One element that is off by one is found, also among large ones."""
    rng = np.random.default_rng(5)
    a, b = drawn(rng, (83, 64), "i8", 2**23), drawn(rng, (64, 71), "i8", 2**23 - 1)
    files = write(folder, a, b)
    run(damier, ranks, "multiply", *files, "-o", folder / "c.h5", "--type", "i64", "--force", "-q")
    for more in ((), ("--full",)):
        run(damier, ranks, "verify", *files, folder / "c.h5", "-q", *more)
    with h5py.File(folder / "c.h5", "a") as file:
        file["c"][40, 3] += 1
    for more in ((), ("--full",)):
        run(damier, ranks, "verify", *files, folder / "c.h5", "-q", *more, expect=1)
    with h5py.File(folder / "c.h5") as file, h5py.File(folder / "d.h5", "w") as other:
        other["d"] = file["c"][()]
    said = ended(command(1, damier, "verify", *files, folder / "d.h5", "-q"), 60).stderr
    expect("d.h5:/d failed" in said and "row 40 is not that of the product" in said, said)


def refused(folder, damier, ranks):
    cases = ((2**20, 2**20, "i4", 2**13 + 1, "i64", 3, "2^53"), (2**53 + 1, 1, "i8", 1, "i64", 3, "2^53"), (2**16, 2**16, "i4", 1, "i32", 3, "--type i64"),
             (1, 1, "f8", 3, "i64", 2, "no whole numbers"), (1, 1, "c16", 3, "i32", 2, "complex"))
    for first, second, dtype, k, kind, code, told in cases:
        files = write(folder, np.full((3, k), first, dtype), np.full((k, 2), second, dtype))
        for more in ((), ("--no-verify",)):
            found = ended([*command(ranks, damier, "multiply", *files, "-o", folder / "r.h5"), "--type", kind, "-q", *more])
            expect(found.returncode == code and told in found.stderr and not (folder / "r.h5").exists(), f"{dtype} {kind} {more}: {found.returncode} {found.stderr}")
    files = write(folder, np.ones((3, 4), "i4"), np.ones((4, 2), "i4"))
    for more in (("--alpha", "2"), ("--beta", "1", "--c", f"{folder}/a.npy"), ("--top", "1"), ("--compute", "f64:int8")):
        found = ended([damier, "multiply", *map(str, files), "-o", f"{folder}/r.h5", "--type", "i64", "-q", *more])
        expect(found.returncode == 2, f"{more}: {found.returncode} {found.stderr}")
    for words in (("pca", files[0], "--rank", "1"), ("cov", files[0])):
        found = ended([damier, *map(str, words), "-o", f"{folder}/r.h5", "--type", "i64", "-q"])
        expect(found.returncode == 2, f"{words}: {found.returncode} {found.stderr}")


def main():
    args = options()
    return run_cases(args.damier, [(tiles, 1), (tiles, 2), *((products, ranks) for ranks in (1, 2, 3)), *((large, ranks) for ranks in (1, 3)), (wrong, 1), (wrong, 2), (refused, 1), (refused, 2)])


if __name__ == "__main__":
    raise SystemExit(main())
