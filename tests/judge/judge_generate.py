"""generate: the same bytes on 1, 3 and 8 ranks, and the elements documented in the header."""
import hashlib

import numpy as np

import elements
from running import Failure, expect, options, run, run_cases

KINDS = {"uniform": [], "normal": [], "ozaki": ["--phi", "2"], "identity": [],
         "integer": ["--range", "9"], "constant": ["--value", "0.1"], "hilbert": []}
ROWS, COLS, SEED = 83, 47, 12345


def mix(z):
    """Stafford's mix 13, on arrays of uint64."""
    z = z + np.uint64(0x9e3779b97f4a7c15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94d049bb133111eb)
    return z ^ z >> np.uint64(31)


def draws(draw):
    """Draw number DRAW of every element, in [0, 1)."""
    rows, cols = np.arange(ROWS, dtype=np.uint64)[:, None], np.arange(COLS, dtype=np.uint64)
    line = mix(mix(np.full((ROWS, 1), SEED, np.uint64)) + rows)
    bits = mix(mix(line + cols) + np.uint64(draw))
    return (bits >> np.uint64(11)).astype(float) * 2.0**-53


def normal(first):
    """Marsaglia's polar method, with NumPy's logarithm."""
    out, left = np.zeros((ROWS, COLS)), np.ones((ROWS, COLS), bool)
    draw = first
    while left.any():
        u, v = 2 * draws(draw) - 1, 2 * draws(draw + 1) - 1
        s = u * u + v * v
        good = left & (s < 1) & (s > 0)
        out[good] = (u * np.sqrt(-2 * np.log(np.where(good, s, 0.5)) / np.where(good, s, 1)))[good]
        left &= ~good
        draw += 2
    return out


def wanted(kind, part):
    draw = 1024 * part
    if kind == "uniform":
        return 2 * draws(draw) - 1
    if kind == "normal":
        return normal(draw)
    if kind == "ozaki":
        return (draws(draw) - 0.5) * np.exp(2 * normal(draw + 1))
    if kind == "integer":
        return np.floor(draws(draw) * 19) - 9
    fixed = {"identity": np.eye(ROWS, COLS), "constant": np.full((ROWS, COLS), 0.1),
             "hilbert": 1 / (np.arange(ROWS)[:, None] + np.arange(COLS) + 1.0)}[kind]
    return fixed * (part == 0)


def check_values(kind, dtype, raw):
    want = wanted(kind, 0) + (1j * wanted(kind, 1) if dtype in elements.COMPLEX else 0)
    got = elements.exact(raw, dtype)
    if kind in ("normal", "ozaki"):  # the program uses its own logarithm
        u = max(elements.unit(dtype), 2.0**-51)
        expect((abs(got - want) <= 4 * u * abs(want) + elements.TINY[dtype]).all(),
               f"{kind} {dtype}: elements are {abs(got - want).max():g} off")
    elif not np.array_equal(got, elements.rounded(want, dtype)):
        raise Failure(f"{kind} {dtype}: elements differ from their definition")


def same_everywhere(folder, damier, kind, dtype, counts=(1, 3, 8)):
    hashes = set()
    for ranks in counts:
        out = folder / f"{ranks}.h5"
        run(damier, ranks, "generate", f"{out}:/c", "--rows", ROWS, "--cols", COLS, "--seed", SEED,
            "--type", dtype, "--kind", kind, "-q", *KINDS[kind])
        raw = elements.read_raw(out, dtype)
        hashes.add(hashlib.sha256(raw.tobytes()).hexdigest())
    expect(len(hashes) == 1, f"{kind} {dtype}: other bits on other numbers of ranks")
    check_values(kind, dtype, raw)


def main():
    chosen = options()
    cases = [(kind, ("f64", "f32", "bf16", "c128")[i % 4]) for i, kind in enumerate(KINDS)]
    cases += [("integer", "i8"), ("normal", "f64"), ("ozaki", "c64")]
    if chosen.long:
        cases += [(kind, dtype, (1, 3)) for kind in KINDS for dtype in elements.FACTORS
                  if (dtype != "i8" or kind in ("integer", "identity")) and (kind, dtype) not in cases]
    run_cases(chosen.damier, [(same_everywhere, *case) for case in cases])


main()
