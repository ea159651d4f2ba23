"""vectors: datasets and .npy files of one dimension are B's column or A's row, and the product has NumPy's shape and values."""
import h5py
import numpy as np

from running import ended, expect, options, run, run_cases

M, K, N = 23, 17, 11


def arrays():
    rng = np.random.default_rng(3)
    return {"A": rng.integers(-4, 5, (M, K)), "B": rng.integers(-4, 5, (K, N)), "v": rng.integers(-4, 5, K), "w": rng.integers(-4, 5, M)}


def write(folder, dtype):
    found = {key: x.astype(dtype) for key, x in arrays().items()}
    with h5py.File(folder / "x.h5", "w") as file:
        for key, x in found.items():
            file[key] = x
        file.create_dataset("z", data=found["v"], chunks=(5,), compression="gzip")
        file["T"] = np.stack([found["A"], found["A"]])
    np.save(folder / "v.npy", found["v"])
    with h5py.File(folder / "only.h5", "w") as file:
        file["v"] = found["v"]
    return found


def result(path):
    if path.suffix == ".npy":
        return np.load(path)
    with h5py.File(path) as file:
        return file["c"][()]


def check(folder, damier, ranks, a, b, wanted, *more, out="c.h5", verifies=True):
    words = [f"{folder}/{a}", f"{folder}/{b}", folder / out, *(more if verifies else ())]
    run(damier, ranks, "multiply", *words[:2], "-o", words[2], "--force", "-q", *more)
    got = result(words[2])
    expect(got.shape == wanted.shape and np.array_equal(got, wanted), f"{a} by {b} {more} to {out}: {got.shape}")
    run(damier, 1, "verify", *words, "-q")
    if out.endswith("h5") and got.size > 1:
        run(damier, 1, "verify", words[2], "-q")


def products(folder, damier, dtype, ranks):
    x = write(folder, dtype)
    a, b, v, w = x["A"], x["B"], x["v"], x["w"]
    for out in ("c.h5", "c.npy"):
        for right in ("x.h5:/v", "x.h5:/z", "v.npy", "only.h5"):
            check(folder, damier, ranks, "x.h5:/A", right, a @ v, out=out)
        check(folder, damier, ranks, "v.npy", "x.h5:/B", v @ b, out=out)
        check(folder, damier, ranks, "x.h5:/v", "v.npy", np.array([v @ v]), out=out)
        check(folder, damier, ranks, "x.h5:/A[3]", "x.h5:/B[:, 2]", np.array([a[3] @ b[:, 2]]), out=out)
        check(folder, damier, ranks, "x.h5:/A[3]", "x.h5:/B", a[3] @ b, out=out)
    check(folder, damier, ranks, "x.h5:/A", "x.h5:/w", a.T @ w, "--op-a", "t")
    check(folder, damier, ranks, "x.h5:/A", "x.h5:/v", a @ v, "--op-b", "t")  # as v.T is v
    check(folder, damier, ranks, "x.h5:/v", "x.h5:/B", v @ b, "--op-a", "t")
    check(folder, damier, ranks, "x.h5:/A", "x.h5:/v", (a @ v)[:, None], "--as-column")
    check(folder, damier, ranks, "x.h5:/A", "x.h5:/v", a @ v, "--chunk", "4x1", "--deflate", "2", verifies=False)
    check(folder, damier, ranks, "x.h5:/v", "x.h5:/B", v @ b, "--chunk", "1x4", "--deflate", "2", verifies=False)
    old = folder / "old.h5"
    run(damier, 1, "multiply", folder / "x.h5:/A", folder / "x.h5:/v", "-o", old, "-q")
    check(folder, damier, ranks, "x.h5:/A", "x.h5:/v", 3 * (a @ v), "--c", old, "--beta", "2")


def refused(folder, damier):
    write(folder, "f8")
    x = folder / "x.h5"
    for words, told in ((("gram", f"{x}:/v"), "has 1 dimension"), (("multiply", f"{x}:/T", f"{x}:/v"), "beside a batch"),
                        (("multiply", f"{x}:/A", f"{x}:/w"), "do not fit|cannot be multiplied|inner"), (("cov", f"{x}:/v"), "has 1 dimension")):
        found = ended([damier, *words, "-o", f"{folder}/c.h5", "-q"])
        expect(found.returncode in (2, 3) and any(word in found.stderr for word in told.split("|")), f"{words}: {found.returncode} {found.stderr}")


def main():
    args = options()
    cases = [(products, "f8", 1), (products, "f4", 3), (products, "c16", 2)]
    return run_cases(args.damier, [*cases, (refused,)])


if __name__ == "__main__":
    raise SystemExit(main())
