"""compare: the counts, the worst place and the exit code are NumPy's, for types, NaN, infinities, formats and ranks."""
import json

import h5py
import numpy as np

import zarr_stores
from running import command, ended, expect, options, run_cases

TOLERANCES = [(1e-5, 1e-8), (0, 0), (1e-2, 0), (0, 0.5), (1e-3, 1e-3)]


def matrices(kind, rng):
    """Two matrices that differ in some places, some a little."""
    shape = (67, 41)
    if kind.startswith("i"):
        a = rng.integers(-50, 50, shape).astype(kind)
        b = a + (rng.random(shape) < 0.1).astype(kind)
        return a, b
    a = rng.standard_normal(shape)
    if kind.startswith("c"):
        a = a + 1j * rng.standard_normal(shape)
    b = a * (1 + 10.0 ** rng.uniform(-9, 0, shape) * (rng.random(shape) < 0.5))
    for value in (np.nan, np.inf, -np.inf):
        a[rng.random(shape) < 0.02] = value
        b[rng.random(shape) < 0.02] = value
    both = rng.random(shape) < 0.03
    a[both] = b[both] = np.nan
    a[rng.random(shape) < 0.02] = 0
    return a.astype(kind), b.astype(kind)


def wide(x):
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def isclose(a, b, rtol, atol, equal_nan):
    """numpy.isclose, which for complex infinities depends on NumPy's version (1.24 takes inf+0j and itself for different)."""
    with np.errstate(all="ignore"):
        if not np.iscomplexobj(a) and not np.iscomplexobj(b):
            return np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
        close = np.isfinite(a) & np.isfinite(b) & (abs(a - b) <= atol + rtol * abs(b))
    return close | (a == b) | (np.isnan(a) & np.isnan(b) & equal_nan)


def check(folder, damier, seed, kind, form, ranks, tolerance, equal_nan):
    rng = np.random.default_rng(seed)
    rtol, atol = tolerance
    a, b = matrices(kind, rng)
    names = stored(folder, form, a, b)
    record = folder / "record.json"
    flags = ["--equal-nan"] if equal_nan else []
    done = ended(command(ranks, damier, "compare", *names, f"--rtol={rtol}", f"--atol={atol}", *flags, "--json", record, "-q"))
    a, b = wide(a), wide(b)
    close = isclose(a, b, rtol, atol, equal_nan)
    different = int((~close).sum())
    expect(done.returncode == (1 if different else 0), f"exit {done.returncode}, {different} differ: {done.stderr}")
    found = json.loads(record.read_text())["compare"]
    expect(found["different"] == different, f"{found['different']} of {different}")
    expect(found["elements"] == a.size, "elements")
    expect(found.get("nan_both", 0) == int((np.isnan(a) & np.isnan(b)).sum()), "NaN in both")
    check_worst(found, a, b, rtol, atol, equal_nan)


def check_worst(found, a, b, rtol, atol, equal_nan):
    with np.errstate(all="ignore"):
        apart = abs(a - b)
        apart[~(np.isfinite(a) & np.isfinite(b))] = np.inf
        excess = apart / (atol + rtol * abs(b))
        excess[np.isinf(apart)] = np.inf
    same = (a == b) | (np.isnan(a) & np.isnan(b) & equal_nan)
    excess[same] = -1
    if same.all():
        expect("worst_row" not in found, "a worst place of equal matrices")
        return
    at = found["worst_row"], found["worst_col"]
    expect(excess[at] == excess.max() or abs(excess[at] / excess.max() - 1) < 1e-12, f"worst at {at}: {excess[at]}, not {excess.max()}")


def stored(folder, form, a, b):
    """Names of A and B in files."""
    if form == "npy":
        np.save(folder / "a.npy", a)
        np.save(folder / "b.npy", np.asfortranarray(b))
        return folder / "a.npy", folder / "b.npy"
    if form == "zarr":
        zarr_stores.write(folder / "a.zarr", a)
        return folder / "a.zarr", stored(folder, "npy", a, b)[1]
    with h5py.File(folder / "a.h5", "w") as file:
        if form == "parts":
            file["a"] = np.vstack([np.zeros((3, a.shape[1]), a.dtype), a])
        else:
            file.create_dataset("a", data=a, chunks=(16, 9), compression="gzip")
        file["b"] = b
    part = f"[3:{3 + len(a)}]" if form == "parts" else ""
    return f"{folder}/a.h5:/a{part}", f"{folder}/a.h5:/b"


def cases():
    kinds, forms = ("f8", "f4", "c16", "c8", "i4", "f2"), ("chunks", "npy", "parts", "zarr")
    for i, tolerance in enumerate(TOLERANCES):
        for j, kind in enumerate(kinds):
            form = forms[(i + j) % 4]
            yield check, 10 * i + j, kind, "npy" if form == "zarr" and kind == "f2" else form, (1, 1, 3)[(i + 2 * j) % 3], tolerance, (i + j) % 2 == 0


if __name__ == "__main__":
    run_cases(options().damier, list(cases()))
