"""batches: products of datasets of three to five dimensions by the rules of NumPy's matmul."""
import contextlib
import os
import signal
import subprocess
import time

import h5py
import numpy as np

from running import await_killed, command, ended, environment, expect, how_many, options, ranks_of, records_of, run, run_cases


def random_leads(rng):
    """Leading dimensions of A and of B that fit together."""
    whole = [int(n) for n in rng.integers(1, 5, int(rng.integers(1, 4)))]

    def some():
        kept = whole[int(rng.integers(len(whole) + 1)):] if rng.random() < 0.4 else whole
        return [1 if rng.random() < 0.2 else n for n in kept]
    return some(), some()


def store(folder, name, x, rng):
    """Writes X in a layout at random, or a larger dataset that X is a part of; its location."""
    kind = rng.choice(["contiguous", "chunked", "deflated", "part", "npy"])
    if kind == "npy":
        np.save(folder / f"{name}.npy", x)
        return f"{folder}/{name}.npy"
    part = ""
    if kind == "part":
        y = np.repeat(x, 2, axis=0)
        y[1::2] += 1
        x, part = y, "[::2, ...]"
    chunks = tuple(int(rng.integers(1, n + 1)) for n in x.shape)
    more = {"chunked": {"chunks": chunks}, "deflated": {"chunks": chunks, "compression": "gzip"}}.get(kind, {})
    with h5py.File(folder / f"{name}.h5", "w") as file:
        file.create_dataset("x", data=x, **more)
    return f"{folder}/{name}.h5:/x{part}"


def numbers(shape, kind, rng):
    x = rng.integers(-9, 9, shape).astype(kind)
    return x + 1j * rng.integers(-9, 9, shape) if kind == "c16" else x


def turned(x, op):
    """What is stored for op(X) = X."""
    y = np.swapaxes(x, -1, -2) if op != "n" else x
    return np.ascontiguousarray(y.conj() if op == "c" else y)


def read(path):
    if path.suffix == ".npy":
        return np.load(path)
    with h5py.File(path) as file:
        return file["c"][()]


def at_random(folder, damier, seed):
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["f8", "f4", "i2", "c16"]))
    first, second = random_leads(rng)
    m, n, k = (int(x) for x in rng.integers(1, 90, 3))
    a, b = numbers((*first, m, k), kind, rng), numbers((*second, k, n), kind, rng)
    ops = [str(rng.choice(["n", "t", "c"])) for _ in range(2)]
    words = ["--op-a", ops[0], "--op-b", ops[1], *(["--type", "f64"] if kind == "i2" else [])]
    places = store(folder, "a", turned(a, ops[0]), rng), store(folder, "b", turned(b, ops[1]), rng)
    wanted = np.matmul(a.astype("f8") if kind == "i2" else a, b.astype("f8") if kind == "i2" else b)
    out, form = folder / "c.h5", rng.choice(["", "chunk", "npy"])
    if form == "npy":
        out = folder / "c.npy"
    elif form == "chunk":
        words += ["--chunk", f"{rng.integers(1, 50)}x{rng.integers(1, 50)}", "--deflate", "3"]
    if rng.random() < 0.3:
        old = rng.integers(-9, 9, wanted.shape).astype(wanted.dtype)
        with h5py.File(folder / "old.h5", "w") as file:
            file["c"] = old
        words += ["--beta", "2", "--alpha", "-1", "--c", folder / "old.h5"]
        wanted = 2 * old - wanted
    ranks = int(rng.integers(1, 9))
    if rng.random() < 0.3:
        words += ["--memory", "host=48MiB"]
    if rng.random() < 0.2:
        words += ["--reproducible"]
    run(damier, ranks, "multiply", *places, "-o", f"{out}:/c" if out.suffix == ".h5" else out, "-q", *words)
    got = read(out)
    expect(got.shape == wanted.shape and np.array_equal(got, wanted), f"wrong: {a.shape} {b.shape} {words}")
    if out.suffix == ".h5":
        run(damier, int(rng.integers(1, 4)), "verify", *places, out, "-q", *(["--full"] if rng.random() < 0.5 else []))


def not_finite(folder, damier):
    """NaN, Inf and far exponents in some entries leave the others, and all are verified."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((3, 4, 20, 30)), rng.standard_normal((3, 4, 30, 10))
    a[1, 2, 3, 4], b[2, 1, :, 5] = np.nan, np.inf
    a[0, 3], b[0, 3] = a[0, 3] * 1e200, b[0, 3] * 1e-200
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"], file["b"] = a, b
    places = f"{folder}/a.h5:/a", f"{folder}/a.h5:/b"
    for ranks in (1, 3):
        out = run(damier, ranks, "multiply", *places, "-o", folder / "c.h5", "-q", "--force")
        expect("PASS" in out, out)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(read(folder / "c.h5"), a @ b, rtol=1e-10)
    with h5py.File(folder / "c.h5", "a") as file:
        file["c"][0, 3, 7, 2] *= 1.5
    for words in ([], ["--full"]):
        for ranks in (1, 2, 5):
            run(damier, ranks, "verify", *places, folder / "c.h5", "-q", *words, expect=1)


def without_k(folder, damier):
    """Sums without terms are 0, as NumPy's, and as those of single matrices."""
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"], file["b"], file["one"], file["t"] = (np.zeros(shape) for shape in ((2, 3, 4, 0), (3, 0, 5), (0, 5), (2, 3, 0, 4)))
        file["old"] = np.arange(120.0).reshape(2, 3, 4, 5)
    old = ("--beta", "2", "--c", f"{folder}/a.h5:/old")
    for a, b, words in (("a", "b", ()), ("a", "one", ()), ("t", "b", ("--op-a", "t")), ("a", "b", old)):
        for ranks in (1, 2):
            places = f"{folder}/a.h5:/{a}", f"{folder}/a.h5:/{b}"
            run(damier, ranks, "multiply", *places, "-o", folder / "c.h5:/c", "-q", "--force", *words)
            wanted = 2 * np.arange(120.0).reshape(2, 3, 4, 5) if words == old else np.zeros((2, 3, 4, 5))
            expect(np.array_equal(read(folder / "c.h5"), wanted), f"{a} {b} {words}: not 0")
            run(damier, ranks, "verify", *places, folder / "c.h5", "-q")


def planned(folder, damier):
    """The forecast of a batch from its files is that without them, and a product uses that plan."""
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"], file["b"] = np.ones((12, 70, 50)), np.ones((3, 4, 50, 60))
        file["flat"] = np.ones((4, 3, 50, 60))
    for a, b, entries in (("a", "b", None), ("a[:6]", "a[6:]", 6), ("b", "b", 12)):
        places = f"{folder}/a.h5:/{a}", f"{folder}/a.h5:/{b}"
        ops = ("--op-b", "t") if a != "a" else ()
        done = ended([damier, "plan", *places, "--json", f"{folder}/plan.json", *ops])
        if entries is None:
            expect(done.returncode == 3 and "leading dimensions" in done.stderr, done.stderr)
            continue
        expect(done.returncode == 0, done.stderr)
        record = records_of(folder / "plan.json")[-1]
        m, n, k = (record["problem"][x] for x in "mnk")
        expect(record["problem"]["batch"] == entries and (m, n) == ((70, 70) if a != "b" else (50, 50)), record["problem"])
        stated = ended([damier, "plan", "--m", str(m), "--n", str(n), "--k", str(k), "--batch", str(entries), "--json",
                        f"{folder}/stated.json"])
        expect(stated.returncode == 0, stated.stderr)
        other = records_of(folder / "stated.json")[-1]
        expect(other["problem"]["batch"] == entries and other["plan"]["recipe"] == record["plan"]["recipe"], other["plan"])
        run(damier, 1, "multiply", *places, "-o", folder / "c.h5", "--force", "-q", "--json", folder / "done.json", *ops)
        done = records_of(folder / "done.json")[-1]
        expect(done["plan"]["recipe"].startswith(record["plan"]["recipe"]), (done["plan"], record["plan"]))


def small(folder, damier, seed):
    """Hundreds of small entries are multiplied in runs: as NumPy, verified, with checksums of C."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["f8", "f4", "i2", "c16", "f2"]))
    leads = (int(rng.integers(260, 500)),) if rng.random() < 0.5 else (20, int(rng.integers(13, 30)))
    m, n, k = (int(x) for x in rng.integers(1, 40, 3))
    a, b = numbers((*leads, m, k), kind, rng), numbers((*leads[1:], k, n) if rng.random() < 0.3 else (*leads, k, n), kind, rng)
    ops = [str(rng.choice(["n", "t", "c"])) for _ in range(2)]
    words = ["--op-a", ops[0], "--op-b", ops[1], *(["--type", "f64"] if kind == "i2" else []), "--alpha", "-2"]
    places = store(folder, "a", turned(a, ops[0]), rng), store(folder, "b", turned(b, ops[1]), rng)
    wide = {"i2": "f8", "f2": "f4"}.get(kind, kind)
    wanted = -2 * np.matmul(a.astype(wide), b.astype(wide))
    out, form = folder / "c.h5", rng.choice(["", "", "chunk", "npy"])
    if form == "npy":
        out = folder / "c.npy"
    elif form == "chunk":
        words += ["--chunk", f"{rng.integers(1, 50)}x{rng.integers(1, 50)}", "--deflate", "3"]
    json = folder / "record.json"
    run(damier, 1, "multiply", *places, "-o", f"{out}:/c" if form != "npy" else out, "-q", "--json", json, *words)
    got, record = read(out), records_of(json)[-1]
    expect(got.shape == wanted.shape and np.array_equal(got, wanted), f"wrong: {a.shape} {b.shape} {words}")
    single = b.ndim == 2 or all(x == 1 for x in b.shape[:-2])
    expect(single or record["plan"]["tiles"] < a.size // (m * k), record["plan"])
    expect(record["verification"]["verdict"] == "PASS" and record["problem"]["m"] in (m, a.size // k), record)
    if form == "npy":
        return
    run(damier, 2, "verify", *places, out, "-q", *(["--full"] if rng.random() < 0.5 else []))
    run(damier, 1, "verify", out, "-q")
    with h5py.File(out, "a") as file:
        file["c"][(-1,) * got.ndim] += 1
    run(damier, 1, "verify", *places, out, "-q", expect=1)
    run(damier, 1, "verify", out, "-q", expect=1)


def small_runs(folder, damier):
    """Several runs of entries; entries that are not finite; a file that exists; a kill; a part of an earlier run."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((700, 100, 90)), rng.standard_normal((700, 90, 80))
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"], file["b"] = a, b
        a[600, 3, 5] = np.nan
        file["nan"] = a
    places, out = (f"{folder}/a.h5:/a", f"{folder}/a.h5:/b"), folder / "c.h5"
    run(damier, 1, "multiply", *places, "-o", out, "-q")
    wanted = read(out)
    np.testing.assert_allclose(wanted[:600], a[:600] @ b[:600], rtol=1e-9, atol=1e-9)
    with h5py.File(out) as file:
        expect(len(file["c"].attrs["damier_tiles"]) > 2, "one run")
    run(damier, 1, "verify", *places, out, "-q")
    run(damier, 1, "multiply", *places, "-o", out, "-q", expect=2)
    text = run(damier, 1, "multiply", f"{folder}/a.h5:/nan", places[1], "-o", out, "-q", "--force")
    expect("PASS" in text, text)
    np.testing.assert_array_equal(np.isnan(read(out)), np.isnan(a @ b))
    out.unlink()
    for delay in (0.05, 0.1, 0.15, 0.2):
        with subprocess.Popen(command(1, damier, "multiply", *places, "-o", out, "-q"), env=environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as job:
            time.sleep(delay)
            job.kill()
            await_killed(job)
        run(damier, 1, "multiply", *places, "-o", out, "-q", "--force")
        expect(np.array_equal(read(out), wanted), f"wrong after a kill at {delay} s")
        left = sorted(x.name for x in folder.iterdir())
        expect(left == ["a.h5", "c.h5"], left)
        out.unlink()
    # What the pipeline began is resumed, not made anew.
    words = ["multiply", *places, "-o", out, "-q"]
    with subprocess.Popen(command(1, damier, *words, "--checkpoint-interval", "0"), env=environment(), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as job:
        time.sleep(0.25)
        job.kill()
        await_killed(job)
    run(damier, 1, *words, *(["--force"] if out.exists() else []))
    np.testing.assert_allclose(read(out), wanted, rtol=1e-12, atol=1e-12)
    left = sorted(x.name for x in folder.iterdir())
    expect(left == ["a.h5", "c.h5"], left)


def compact(folder, damier):
    """Thousands of parts that HDF5 reads, one after the other: nobody waits for threads between them."""
    x = np.random.default_rng(2).integers(-9, 9, (3000, 2, 3)).astype("i1")
    with h5py.File(folder / "a.h5", "w") as file:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(file.id, b"x", h5py.h5t.py_create(x.dtype), h5py.h5s.create_simple(x.shape), made)
        file["x"][...] = x
    words = f"{folder}/a.h5:/x", f"{folder}/a.h5:/x", "--op-a", "t", "--type", "f64", "-q"
    run(damier, 1, "multiply", *words, "-o", folder / "c.h5:/c")
    expect(np.array_equal(read(folder / "c.h5"), np.swapaxes(x, 1, 2).astype("f8") @ x), "wrong")
    run(damier, 1, "verify", *words[:2], folder / "c.h5", *words[4:])


def killed(folder, damier):
    """Killed at any moment and started again: C is right, and only one file is left."""
    rng = np.random.default_rng(8)
    a, b = rng.integers(-9, 9, (60, 90, 400)).astype("f8"), rng.integers(-9, 9, (60, 400, 70)).astype("f8")
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"], file["b"] = a, b
    words = ["multiply", f"{folder}/a.h5:/a", f"{folder}/a.h5:/b", "-o", folder / "c.h5", "-q",
             "--checkpoint-interval", "0"]
    for delay in (0.15, 0.3, 0.45, 0.6):
        for ranks in (1, 3):
            with subprocess.Popen(command(ranks, damier, *words), env=environment(), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as job:
                time.sleep(delay)
                for rank in ranks_of(job.pid) if ranks > 1 else [job.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(rank, signal.SIGKILL)
                await_killed(job)
            if sorted(x.name for x in folder.iterdir()) == ["a.h5", "c.h5"]:  # it was faster
                (folder / "c.h5").unlink()
            run(damier, ranks, *words)
            expect(np.array_equal(read(folder / "c.h5"), a @ b), f"wrong after a kill at {delay} s")
            left = sorted(x.name for x in folder.iterdir())
            expect(left == ["a.h5", "c.h5"], left)
            (folder / "c.h5").unlink()


def refused(folder, damier):
    with h5py.File(folder / "a.h5", "w") as file:
        for name, shape in (("a", (2, 3, 4, 5)), ("b", (3, 2, 5, 6)), ("s", (2, 3, 6, 5)), ("m", (5, 6)),
                            ("c", (2, 3, 4, 6)), ("flat", (24, 6)), ("none", (2, 0, 5, 6))):
            file[name] = np.ones(shape)

    def told(a, b, text, code, *words):
        done = ended([damier, "multiply", f"{folder}/a.h5:/{a}", f"{folder}/a.h5:/{b}", "-o", f"{folder}/out.h5", *words])
        expect(done.returncode == code and text in done.stderr, done.stderr)
        expect(sorted(x.name for x in folder.iterdir()) == ["a.h5"], "something was written")
    told("a", "b", "leading dimensions", 3)  # 2 x 3 and 3 x 2
    told("a", "s", "inner dimensions", 3)
    told("a", "none", "no elements", 3)
    told("a", "m", "leading", 3, "--beta", "1", "--c", f"{folder}/a.h5:/flat")
    told("a", "s", "residues", 2, "--op-b", "t", "--compute", "f64:int8")
    for words in (("--scale-a", "columns"), ("--center-a", "rows"), ("--missing", "mean"), ("--center-b", "columns")):
        told("flat", "s", "not centered", 2, "--op-a", "t", *words)  # A is repeated
    run(damier, 1, "gram", f"{folder}/a.h5:/a", "-o", folder / "out.h5", expect=3)
    run(damier, 1, "multiply", f"{folder}/a.h5:/a", f"{folder}/a.h5:/m", "-o", folder / "out.h5:/c", "-q")
    run(damier, 1, "verify", f"{folder}/a.h5:/a", f"{folder}/a.h5:/m", f"{folder}/a.h5:/flat", expect=3)


def main():
    chosen = options()
    work = [(case,) for case in (refused, not_finite, without_k, planned, compact, killed, small_runs)]
    work += [(small, seed) for seed in range(how_many(chosen, 8, 8, 24))]
    work += [(at_random, seed) for seed in range(how_many(chosen, 12, 20, 60))]
    run_cases(chosen.damier, work)


main()
