"""promotion: A and B of every pair of element types, in files: the type of C, its elements and what the report says follow NumPy's rules."""
import elements
import h5py
import numpy as np
from running import command, ended, expect, options, run, run_cases

EVERY = elements.FACTORS + elements.INTEGER[1:]
WIDE = ("i64", "u64")  # no type of products holds all of them
NARROW = ("bool", "i8", "u8")  # bf16, which NumPy does not have, holds all of them


def small(rng, shape, dtype):
    """Whole numbers that every type holds, and whose products every type of sums holds."""
    low, high = (0, 2) if dtype == "bool" else (0, 9) if dtype[0] == "u" else (-9, 9)
    values = rng.integers(low, high, shape)
    return values + 1j * rng.integers(low, high, shape) if dtype in elements.COMPLEX else values


def expected(one, other):
    """The types that are multiplied, and that of C."""
    bf16 = {one, other} - {*NARROW} == {"bf16"}
    work = "bf16" if bf16 else elements.promoted(one, other)
    return work, elements.ACCUMULATOR.get(work, work)


def product(folder, damier, one, other, rng):
    m, k, n = map(int, rng.integers(1, 9, 3))
    a, b = small(rng, (m, k), one), small(rng, (k, n), other)
    for name, values, dtype in (("a", a, one), ("b", b, other)):
        elements.write(folder / f"{name}.h5", values, dtype)
    words = ("multiply", folder / "a.h5", folder / "b.h5", "-o", folder / "c.h5", "--force")
    done = ended(command(1, damier, *words))
    if one in WIDE or other in WIDE:
        expect(done.returncode != 0 and not (folder / "c.h5").exists(), f"{one} {other}: {done.returncode} {done.stdout}")
        return
    expect(done.returncode == 0, f"{one} {other}: {done.returncode} {done.stderr}")
    work, dtype = expected(one, other)
    with h5py.File(folder / "c.h5") as file:
        c = file["c"][()]
    expect(c.dtype == elements.STORED[dtype], f"{one} {other}: C is {c.dtype}, not {dtype}")
    expect(np.array_equal(c, a @ b), f"{one} {other}: other elements")
    for name, dtype in (("a", one), ("b", other)):
        told = f"{name}.h5:/x: {dtype} is multiplied as {work}" in done.stderr
        expect(told == (dtype != work), f"{one} {other}: {name}: {done.stderr}")
    if one != other:
        run(damier, 1, *words, "--strict-types", "-q", expect=2)
    (folder / "c.h5").unlink(missing_ok=True)


def pairs_of(folder, damier, one, seed):
    for other in EVERY:
        product(folder, damier, one, other, np.random.default_rng([seed, EVERY.index(other)]))


run_cases(options().damier, [(pairs_of, one, seed) for seed, one in enumerate(EVERY)])
