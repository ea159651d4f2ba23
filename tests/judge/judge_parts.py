"""parts: factors that are slices, stacks of files, batches, packed and with missing values, all at random and together, on
1 to 8 ranks, with grids and little memory, some killed and started again; every product is compared with NumPy's."""
import contextlib
import os
import signal
import subprocess
import time

import h5py
import numpy as np

from running import await_killed, command, environment, expect, how_many, options, ranks_of, run, run_cases

FILL, SCALE, OFFSET = -99, 0.5, 3.0
STORED = {"f8": "f8", "f4": "f4", "packed": "i2", "granules": "i2", "channels": "i2", "slices": "i2", "masked": "f8"}
CALLED = {"channels": "g/data", "slices": "g/image", "masked": "g/data"}


def factors(x, kind, rng):
    """The factors and shifts of X's elements, and what says so: datasets beside it, by name."""
    axis = 0
    if kind == "granules":  # of VIIRS: one pair for some rows
        count = int(rng.choice([n for n in range(1, x.shape[0] + 1) if x.shape[0] % n == 0]))
        shape = (count,)
    elif kind == "channels":  # of NWB: along any axis
        axis = int(rng.integers(x.ndim))
        shape = (x.shape[axis],)
    else:  # of MINC: along the first axes
        shape = x.shape[:int(rng.integers(1, x.ndim))]
    scale = rng.choice([0.25, 0.5, 1.0], shape)
    shift = np.full(shape, OFFSET) if kind == "channels" else rng.integers(-3, 4, shape).astype("f8")
    spread = [v.repeat(x.shape[0] // shape[0], 0) if kind == "granules" else v for v in (scale, shift)]
    spread = [v.reshape([1] * axis + list(v.shape) + [1] * (x.ndim - axis - v.ndim)) for v in spread]
    if kind == "granules":
        return *spread, {"xFactors": np.stack([scale, shift], -1).ravel()}
    if kind == "channels":
        return *spread, {"g/channel_conversion": scale / SCALE, "axis": axis}
    low = scale * np.iinfo("i2").min + shift
    return *spread, {"g/image-min": low, "g/image-max": low + 65535 * scale}


def write(path, x, kind, gaps, layout, rng):
    """A file with X: numbers as they are, or packed; a gap has the value that an attribute names, or a
    mask. Returns the dataset."""
    scale, shift, beside = factors(x, kind, rng) if STORED[kind] == "i2" and kind != "packed" else (SCALE, OFFSET, {})
    stored = (x - shift) / scale if STORED[kind] == "i2" else x
    chunks = tuple(int(rng.integers(1, n + 1)) for n in x.shape)
    more = {"chunked": {"chunks": chunks}, "deflated": {"chunks": chunks, "compression": "gzip", "shuffle": True}}
    called = CALLED.get(kind, "x")
    with h5py.File(path, "w") as file:
        made = file.create_dataset(called, data=np.where(gaps, FILL, stored).astype(STORED[kind]), **more.get(layout, {}))
        if kind == "packed":
            made.attrs["scale_factor"], made.attrs["add_offset"] = SCALE, OFFSET
        if kind == "masked":
            file.create_dataset("g/mask", data=gaps, **more.get(rng.choice(["", "chunked"]), {}))
        else:
            made.attrs["_FillValue"] = np.array(FILL, STORED[kind])[()]
        axis = beside.pop("axis", None)
        for name, numbers in beside.items():
            file[name] = numbers
        if axis is not None:
            made.attrs["conversion"], made.attrs["offset"] = SCALE, OFFSET
            file["g"].attrs["neurodata_type"] = "ElectricalSeries"
            file["g/channel_conversion"].attrs["axis"] = axis
    return called


def widened(x, gaps, rng):
    """A larger array that X is a part of, its gaps, and the part; or X itself."""
    parts, shape, taken = [], [], []
    for n in x.shape:
        before, step, after = (int(v) for v in rng.integers([0, 1, 0], [3, 4, 3]))
        size = before + (n - 1) * step + 1 + after
        shape.append(size)
        taken.append(slice(before, before + (n - 1) * step + 1, step))
        parts.append(f"{before - size}:{before + (n - 1) * step + 1}:{step}")
    whole, more = rng.integers(-9, 9, shape).astype(x.dtype), rng.random(shape) < 0.1  # gaps that nobody asks for
    whole[tuple(taken)], more[tuple(taken)] = x, gaps
    return whole, more, f"[{', '.join(parts)}]"


def one_file(folder, name, x, gaps, kind, rng):
    part = ""
    if rng.random() < 0.6:
        x, gaps, part = widened(x, gaps, rng)
    called = write(folder / f"{name}.h5", x, kind, gaps, rng.choice(["contiguous", "chunked", "deflated"]), rng)
    return f"{folder}/{name}.h5:/{called}{part}"


def many_files(folder, name, x, gaps, kind, rng):
    """A list of files with some rows each."""
    ends = sorted(set(rng.integers(1, x.shape[0] + 1, int(rng.integers(1, 12))).tolist()) | {0, x.shape[0]})
    lines = [one_file(folder, f"{name}{i}", x[a:b], gaps[a:b], kind, rng) for i, (a, b) in enumerate(zip(ends, ends[1:]))]
    (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return f"@{folder}/{name}.txt"


def factor(folder, name, shape, op, kind, rng):
    """A factor of SHAPE, a gap being 0, and the location of what is stored for it."""
    stored = shape if op == "n" else (*shape[:-2], shape[-1], shape[-2])
    x = rng.integers(-9, 9, stored).astype("f8")
    gaps = rng.random(stored) < rng.choice([0.0, 0.05])
    way = many_files if len(shape) == 2 and rng.random() < 0.5 else one_file
    at = way(folder, name, x, gaps, kind, rng)
    x = np.where(gaps, 0.0, x)
    return at, x if op == "n" else np.swapaxes(x, -1, -2)


def grid(ranks, rng):
    """A grid of RANKS, or of some of them."""
    pm = int(rng.integers(1, ranks + 1))
    pn = int(rng.integers(1, ranks // pm + 1))
    return f"{pm}x{pn}x{int(rng.integers(1, ranks // (pm * pn) + 1))}"


def kill_some(words, ranks, damier, rng):
    """Starts the command a few times and kills all of its ranks at some moment."""
    for _ in range(int(rng.integers(1, 3))):
        with subprocess.Popen(command(ranks, damier, *words), env=environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as job:
            time.sleep(float(rng.uniform(0.05, 0.6)))
            for process in ranks_of(job.pid) if ranks > 1 else [job.pid]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            await_killed(job)


def at_random(folder, damier, seed):
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(STORED)))
    m, k, n = (int(v) for v in rng.integers(1, 120, 3))
    leads = tuple(int(v) for v in rng.integers(1, 5, int(rng.integers(1, 3)))) if rng.random() < 0.5 else ()
    ops = [str(rng.choice(["n", "t"])) for _ in range(2)]
    a_leads, b_leads = ((), leads) if rng.random() < 0.2 else (leads, leads if rng.random() < 0.6 else ())
    at, a = factor(folder, "a", (*a_leads, m, k), ops[0], kind, rng)
    bt, b = factor(folder, "b", (*b_leads, k, n), ops[1], kind, rng)
    ranks = int(rng.integers(1, 9))
    words = ["multiply", at, bt, "-o", folder / "c.h5:/c", "-q", "--op-a", ops[0], "--op-b", ops[1], "--missing", "zero",
             "--type", "f64", *(["--force"] if seed % 2 else [])]
    if rng.random() < 0.4:
        words += ["--grid", grid(ranks, rng)]
    elif rng.random() < 0.5:
        words += ["--memory", "host=64MiB"]
    if rng.random() < 0.3:
        words += ["--chunk", f"{rng.integers(1, 50)}x{rng.integers(1, 50)}", "--deflate", "1"]
    kills = rng.random() < 0.25
    if kills:
        words += ["--checkpoint-interval", "0"]
        kill_some(words, ranks, damier, rng)
    if kills and (folder / "c.h5").exists():  # it was faster
        (folder / "c.h5").unlink()
    run(damier, ranks, *words)
    with h5py.File(folder / "c.h5") as file:
        got = file["c"][()]
    wanted = np.matmul(a, b)
    expect(got.shape == wanted.shape and np.array_equal(got, wanted), f"wrong: {a.shape} {b.shape} {words}")
    run(damier, int(rng.integers(1, 5)), "verify", at, bt, folder / "c.h5", "-q", "--missing", "zero", "--type", "f64",
        *(["--full"] if rng.random() < 0.3 else []))


def main():
    chosen = options()
    run_cases(chosen.damier, [(at_random, seed) for seed in range(how_many(chosen, 14, 28, 200))])


main()
