"""gram, cov, cor and multiply with any of --center, --scale, --weights and --missing, of matrices in any type, shape and
layout, on any ranks and memory, interrupted or not: what NumPy computes, with NaN in the same places."""
import subprocess
import time

import elements
import h5py
import numpy as np
from running import command, environment, expect, how_many, options, process_mib, records_of, run, run_cases

TYPES = ("f64", "f64", "f32", "f16", "bf16", "c64", "c128", "i8", "i16", "i32", "i64", "u8", "u16", "u32")
LAYOUTS = ("contiguous", "chunked", "deflate", "lzf", "big-endian", "npy", "npy-fortran")
SENTINEL = 77  # every type has it


def draw_matrix(rng, folder, name, shape, dtype, gaps, layout):
    """A file and its values in the widest type, NaN where they are missing: some lines constant, some without values."""
    rows, cols = shape
    if dtype in elements.INTEGER:
        x = rng.integers(0 if dtype[0] == "u" else -40, 60, shape)
    else:
        x = rng.normal(size=shape) + (rng.choice([0, 20]) if dtype in ("f16", "bf16") else 10 * rng.normal(size=cols))
        x = x + 1j * rng.normal(size=shape) if dtype in elements.COMPLEX else x
    x = np.where(x == SENTINEL, 5, x)
    x[:, rng.random(cols) < 0.15] = 3
    x[rng.random(rows) < 0.05 if rows > 3 else slice(0, 0)] = 7
    missing = rng.random(shape) < gaps
    if gaps:
        missing[:, rng.random(cols) < 0.1] = True
        missing[:, rng.random(cols) < 0.1] = False
    path = folder / f"{name}.{elements.suffix(layout)}"
    named = gaps > 0 and dtype not in elements.COMPLEX and (dtype in elements.INTEGER or (rng.random() < 0.5 and elements.suffix(layout) == "h5"))
    x = elements.write(path, np.where(missing, SENTINEL if named else np.nan, x) if gaps else x, dtype, layout)
    flags = ("--missing-value", SENTINEL) if named else ()
    if named and elements.suffix(layout) == "h5" and dtype != "bf16" and rng.random() < 0.5:
        with h5py.File(path, "r+") as file:
            file["x"].attrs["_FillValue"] = np.array(SENTINEL, elements.STORED[dtype])
        flags = ()
    x = x.astype(np.clongdouble if dtype in elements.COMPLEX else np.longdouble)
    x[missing] = np.nan
    return path, x, flags


def average(x, w):
    """Of lines, which are columns; NaN if all values are missing."""
    here = ~np.isnan(x)
    with np.errstate(all="ignore"):
        return (np.where(here, x, 0) * w).sum(0) / (here * w).sum(0)


def changed(x, lines, how, given, w, along):
    """X filled, centered, scaled and weighted; W are the weights of the terms, along ALONG."""
    if lines == "rows":
        return changed(x.T, "columns", how, given, w, "columns" if along == "rows" else "rows").T
    weights = w[:, None] if w is not None and along == "rows" else np.ones((len(x), 1))
    gaps = np.isnan(x)
    if how == "zero":
        x, gaps = np.where(gaps, 0, x), np.zeros_like(gaps)
    mean = average(x, weights)
    if how == "mean":
        x = np.where(gaps, mean, x)
    with np.errstate(all="ignore"):
        y = x - mean
        y[:, [len(set(column[~np.isnan(column)])) == 1 and how != "nan" or len(set(column)) == 1 for column in x.T]] = 0
        total = weights.sum() if w is not None and along == "rows" else len(x)
        less = total - (weights**2).sum() / total if w is not None and along == "rows" else len(x) - 1
        if w is not None and along == "rows" and (w == np.floor(w)).all():
            less = total - 1
        deviation = np.sqrt((np.abs(y) ** 2 * weights).sum(0) / less)
        deviation[deviation == 0] = np.nan
        y = y if "center" in given else x
        y = y / deviation if "scale" in given else y
    return y * np.sqrt(w)[:, None] if w is not None and along == "rows" else y * np.sqrt(w) if w is not None else y


def drawn(folder, damier, seed):
    rng = np.random.default_rng(seed)
    verb = str(rng.choice(["gram", "cov", "cor", "multiply"]))
    dtype, layout = str(rng.choice(TYPES)), str(rng.choice(LAYOUTS))
    if layout.startswith("npy") and dtype == "bf16":
        layout = "contiguous"
    k, m, n = (int(rng.choice([1, 2, 3, int(10 ** rng.uniform(0.5, 2.6)), int(10 ** rng.uniform(0.5, 2))])) for _ in range(3))
    if verb in ("cov", "cor"):
        k = max(k, 2)
    gaps = float(rng.choice([0, 0, 0.02, 0.3]))
    how = str(rng.choice(["zero", "mean", "nan"])) if gaps else "refuse"
    if dtype in elements.INTEGER and how == "nan":
        how = "mean"
    words, w = [], None
    if rng.random() < 0.35 and k > 2:
        frequency = rng.random() < 0.4
        w = rng.integers(0, 4, k).astype(float) if frequency else rng.uniform(0.1, 2, k)
        w[:3] = 2
        w[-1] += 0 if frequency else 0.01
        np.save(folder / "w.npy", w)
        words += ["--weights", folder / "w.npy", "--weights-are", "frequency" if frequency else "reliability"]
    divide = {"cov": "n-1", "cor": "n-1"}.get(verb) or str(rng.choice(["none", "none", "n", "n-1"]))
    if verb != "cor" and divide != "none":
        divide = str(rng.choice(["n", "n-1"])) if k > 1 else "n"
    total = k if w is None else w.sum()
    less = k - 1 if w is None else total - (1 if "frequency" in words else (w**2).sum() / total)
    divisor = {"none": 1, "n": total, "n-1": less}[divide]
    if verb != "cor" and (divide != "none" or verb == "cov"):
        words += ["--divide", divide]
    ranks = int(rng.integers(1, 5))
    if gaps:
        words += ["--missing", how]
    changes = w is not None or how == "mean"
    if verb == "multiply":
        ops = [str(rng.choice(["n", "t"])) for _ in range(2)]
        left, right, whole = (m, k), (k, n), []
        for x, (shape, op) in enumerate(((left, ops[0]), (right, ops[1]))):
            shape = shape if op == "n" else shape[::-1]
            path, values, flags = draw_matrix(rng, folder, "ab"[x], shape, dtype, gaps, layout)
            lines, given = str(rng.choice(["rows", "columns"])), [g for g in ("center", "scale") if rng.random() < 0.4]
            if shape[0 if lines == "columns" else 1] == 1:
                given = []
            for g in given:
                words += [f"--{g}-{'ab'[x]}", lines]
            words += [*flags, f"--op-{'ab'[x]}", op]
            along = "rows" if (op == "t") == (x == 0) else "columns"
            y = changed(values, lines if given else "columns", how, given, w, along)
            changes |= bool(given)
            whole.append((path, y if op == "n" else y.T))
        if len([word for word in words if word == "--missing-value"]) == 1:
            return  # it would be said of both
        (first, a), (second, b) = whole
        sources, want = (first, second), (a, b)
    else:
        of = str(rng.choice(["columns", "rows"]))
        path, values, flags = draw_matrix(rng, folder, "x", (k, m) if of == "columns" else (m, k), dtype, gaps, layout)
        given = {"cov": ["center"], "cor": ["center", "scale"]}.get(verb) or [g for g in ("center", "scale") if rng.random() < 0.5]
        if k == 1:
            given = []
        words += ["--of", of, *flags, *(f"--{g}" for g in given if verb == "gram")]
        y = changed(values, of if given else "columns", how, given, w, "rows" if of == "columns" else "columns")
        changes |= bool(given)
        sources, want = (path,), (y.conj().T, y) if of == "columns" else (y, y.conj().T)
    used = dtype
    if dtype in elements.INTEGER and (changes or dtype != "i8" or divide != "none"):
        used = "f64"
        if not (changes and verb in ("cov", "cor")):
            words += ["--type", "f64", *(["--allow-rounding"] if dtype == "i64" else [])]
    elif dtype in ("f16", "bf16", "f32") and rng.random() < 0.3:
        used = "f64"
        words += ["--type", "f64"]
    if rng.random() < 0.3:
        words += ["--memory", f"host={process_mib(damier, ranks) + 40}MiB"]
    if rng.random() < 0.2:
        words += ["--reproducible"]
    sizes = np.outer(*(np.sqrt((np.abs(part) ** 2).sum(axis)) for part, axis in zip(want, (1, 0)))) / divisor
    with np.errstate(all="ignore"):
        want = want[0] @ want[1] / divisor
    words = [verb, *sources, "-o", f"{folder}/c.h5:/c", "-q", "--threads", 1, "--checkpoint-interval", 0, *words]
    what = f"{dtype} {layout} k={k} m={m} n={n} gaps={gaps} {ranks} ranks: {' '.join(map(str, words))}"
    if rng.random() < 0.2:  # at a random moment, most often before anything is there
        with subprocess.Popen(command(1, damier, *words), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            time.sleep(rng.uniform(0, 0.06))
            job.kill()
        words += ["--force"]
    run(damier, ranks, *words, "--json", folder / "record.json")
    record = records_of(folder / "record.json")[-1]
    with h5py.File(folder / "c.h5") as file:
        c = file["c"][()]
        c = c.view("c8" if used == "c64" else c.dtype) if c.dtype.fields is None else c
    expect(np.array_equal(np.isnan(c), np.isnan(want)), f"{what}: NaN elsewhere")
    unit = max(elements.unit(used), 2.0**-53)
    off = np.abs(c - want) - 60 * unit * sizes - 1e-300
    expect(not (off > 0).any(), f"{what}: off by {np.nanmax(off / np.where(sizes > 0, sizes, 1), initial=0) / unit:.3g} units")
    expect(used != "i8" or np.array_equal(c, want), f"{what}: not exact")
    expect("verification" not in record or record["verification"]["verdict"] == "PASS", f"{what}: not verified: {record['verification']}")
    run(damier, 1 + seed % 2, "verify", *(sources * 2)[:2], folder / "c.h5", "-q")


chosen = options()
first = int(time.time()) if chosen.endurance else 0
run_cases(chosen.damier, [(drawn, first + seed) for seed in range(how_many(chosen, 16, 60, 400))])
