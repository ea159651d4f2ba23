"""gram: products of a matrix with itself are those of NumPy and exactly symmetric, on any grid and from any file; what
was stored verifies by itself; interrupted and refused calls leave nothing."""
import subprocess
import time

import elements
import numpy as np
from running import ended, environment, expect, needs_own_memory, options, process_mib, records_of, run, run_cases

COMPLEX = ("c64", "c128")
# rows and columns of X, type, ranks, flags
CASES = [(300, 700, "f64", 1, ""), (700, 1100, "f64", 3, ""), (1, 1, "f64", 2, ""), (5, 600, "f32", 8, ""),
         (2000, 130, "f32", 4, ""), (90, 800, "c128", 5, ""), (700, 300, "c64", 2, "--alpha -1.5"),
         (200, 520, "i8", 3, ""), (200, 900, "bf16", 2, ""), (300, 600, "f16", 1, "--alpha 2"),
         (600, 640, "f64", 4, "--grid 2x2x1"), (600, 640, "f64", 8, "--grid 2x2x2"),
         (600, 640, "f64", 4, "--grid 1x1x4 --panel 64"), (600, 640, "c128", 8, "--grid 2x2x2"),
         (700, 641, "c64", 4, "--grid 2x2x1"),
         (600, 640, "f64", 3, "--reproducible"), (400, 700, "f64", 2, "--compute f64:int8"),
         (400, 700, "f32", 3, "--compute f32:int8"), (700, 600, "f64", 2, "--no-overlap --chunk 100x70"),
         (300, 500, "f32", 2, "--type-c bf16"), (1300, 1200, "f64", 2, "--memory host=120MiB")]


def values(rows, cols, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, cols))
    if dtype in COMPLEX:
        x = x + 1j * rng.normal(size=(rows, cols))
    return np.round(x * 30) if dtype == "i8" else x


def read(path, dtype):
    return elements.exact(elements.read_raw(path, dtype), dtype)


def result_type(dtype, flags):
    return "bf16" if "--type-c" in flags else {"i8": "i32", "bf16": "f32", "f16": "f32"}.get(dtype, dtype)


def compare(folder, damier, case, of, seed):
    rows, cols, dtype, ranks, flags = case
    x = elements.write(folder / "x.h5", values(rows, cols, dtype, seed), dtype, ("contiguous", "chunked")[seed % 2])
    words = ("gram", folder / "x.h5", "-o", folder / "c.h5", "--of", of, "--threads", 1, "-q", *flags.split())
    run(damier, ranks, *words, "--json", folder / "record.json")
    c = read(folder / "c.h5", result_type(dtype, flags))
    alpha = -1.5 if "-1.5" in flags else 2 if "--alpha 2" in flags else 1
    wide = x.astype(np.complex128 if dtype in COMPLEX else np.float64)
    want = alpha * (wide.conj().T @ wide if of == "columns" else wide @ wide.conj().T)
    rough = max(elements.unit(result_type(dtype, flags)), elements.unit("f32") if dtype in ("bf16", "f16") else 0)
    expect(np.abs(c - want).max() <= 40 * rough * np.abs(want).max(), "other numbers than NumPy")
    expect(np.array_equal(c, c.conj().T), "not symmetric")
    expect(dtype not in COMPLEX or not np.diag(c).imag.any(), "the diagonal is not real")
    expect(records_of(folder / "record.json")[-1]["verification"]["verdict"] == "PASS", "not verified")
    if "--type-c" not in flags:
        run(damier, 1 + seed % 2, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    run(damier, 1, "verify", folder / "c.h5", "-q")


def tiles(folder, damier, ranks, dtype, grid, mib):
    """C that does not fit: in tiles, of which those above the diagonal are images."""
    x = elements.write(folder / "x.h5", values(500, 2600, dtype, ranks), dtype)
    memory = f"host={process_mib(damier, ranks) + mib}MiB"
    run(damier, ranks, "gram", folder / "x.h5", "-o", folder / "c.h5", "--memory", memory, "--threads", 1, "-q", *grid.split(),
        "--json", folder / "record.json")
    c, record = read(folder / "c.h5", dtype), records_of(folder / "record.json")[-1]
    want = x.conj().T @ x
    expect(record["plan"]["tiles"] >= 4, "not in tiles")
    expect(np.abs(c - want).max() <= 40 * elements.unit(dtype) * np.abs(want).max(), "other numbers than NumPy")
    expect(np.array_equal(c, c.conj().T), "not symmetric")
    expect(record["verification"]["verdict"] == "PASS", "not verified")
    run(damier, 2, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    run(damier, 1, "verify", folder / "c.h5", "-q")


def thin(folder, damier, case, number):
    """From a row of a million elements to a column of as many: Gram matrices and covariances of the short side, multiplied in the
    page cache or copied, with no warning of sums that are cut off."""
    rows, cols, dtype = case
    x = elements.write(folder / "x.h5", values(rows, cols, dtype, number) + 0.5, dtype)
    wide, of = x.astype(np.complex128 if dtype in COMPLEX else np.float64), "columns" if rows > cols else "rows"
    wide = wide if of == "columns" else wide.T
    for verb in ("gram", "cov") if dtype in ("f64", "f32") else ("gram",):
        centered = wide - wide.mean(0) if verb == "cov" else wide
        want = (centered.conj().T if of == "columns" else centered.T) @ (centered if of == "columns" else centered.conj())
        want = want / (len(wide) - 1) if verb == "cov" else want
        for ranks, flags in ((1, ""), (1, "--read-by pread"), (2, ""))[:3 if number % 2 else 2]:
            run(damier, ranks, verb, folder / "x.h5", "-o", folder / "c.h5", "--of", of, "--force", "--threads", 2, "-q", *flags.split(),
                "--json", folder / "record.json")
            c, record = read(folder / "c.h5", result_type(dtype, "")), records_of(folder / "record.json")[-1]
            rough = max(elements.unit(result_type(dtype, "")), elements.unit("f32") if dtype == "bf16" else 0)
            expect(np.abs(c - want).max() <= 40 * rough * np.abs(want).max(), f"{verb} {ranks} {flags}: other numbers than NumPy")
            expect(record["verification"]["verdict"] == "PASS", f"{verb} {ranks} {flags}: not verified")
            expect(not any("cut off" in line for line in record.get("warnings", [])), f"{verb} {ranks} {flags}: {record.get('warnings')}")


def resumed(folder, damier):
    """Killed when the first tiles are recorded; a recorded image that changed meanwhile is computed again."""
    x = elements.write(folder / "x.h5", values(9000, 1500, "f64", 3), "f64")
    words = [damier, "gram", folder / "x.h5", "-o", folder / "c.h5", "--threads", "1", "--checkpoint-interval", "0",
             "--memory", f"host={process_mib(damier) + 12}MiB"]
    part, journal = folder / "c.h5.part", folder / "c.h5.journal"
    with subprocess.Popen(list(map(str, words)), env=environment(), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (journal.exists() and journal.stat().st_size > 1 << 16):
            time.sleep(0.01)
        process.kill()
    if journal.exists():  # else the machine was faster
        place = part.stat().st_size - 8 * 1500 * 1500 + 8 * (1500 - 1)  # the last column of the first row
        with open(part, "r+b") as file:
            file.seek(place)
            old = np.frombuffer(file.read(8))
            file.seek(place)
            file.write((old + 1).tobytes())
        done = ended(list(map(str, words)))
        expect(done.returncode == 0 and "resuming" in done.stderr, "not resumed: " + done.stderr[-500:])
    c = read(folder / "c.h5", "f64")
    expect(np.array_equal(c, c.T) and np.allclose(c, x.T @ x, rtol=0, atol=1e-9), "other numbers than NumPy")
    run(damier, 1, "verify", folder / "c.h5", "-q")


def recognised(folder, damier):
    """multiply of a dataset with itself: half of C, exactly symmetric; other products are not taken for it."""
    x = elements.write(folder / "x.h5", values(300, 400, "c128", 4), "c128")
    elements.write(folder / "y.h5", values(300, 400, "c128", 4), "c128")
    for b, flags, symmetry, want in (("x", "--op-a c", "Hermitian", x.conj().T @ x), ("x", "--op-a t", "symmetric", x.T @ x),
                                     ("x", "--op-b c --alpha 2", "Hermitian", 2 * x @ x.conj().T),
                                     ("x", "--op-a c --alpha 0,1", None, 1j * x.conj().T @ x),
                                     ("x", "--op-a c --center-a columns", None, (x - x.mean(0)).conj().T @ x),
                                     ("x", "--op-a t --op-b c", None, None), ("y", "--op-a c", None, x.conj().T @ x)):
        if want is None:
            run(damier, 1, "multiply", folder / "x.h5", folder / "x.h5", "-o", folder / "c.h5", *flags.split(), "-q", expect=3)
            continue
        run(damier, 1, "multiply", folder / "x.h5", folder / f"{b}.h5", "-o", folder / "c.h5", "--force", "--threads", 1, "-q",
            "--backend", "cpu", "--json", folder / "record.json", *flags.split())
        c, record = read(folder / "c.h5", "c128"), records_of(folder / "record.json")[-1]
        expect(np.abs(c - want).max() <= 1e-11, f"{flags}: other numbers than NumPy")
        told = record["problem"].get("symmetry", "")
        expect(told.startswith(symmetry) if symmetry else not told, f"{flags}: {told}")
        if symmetry:
            expect(np.array_equal(c, c.conj().T if symmetry == "Hermitian" else c.T), f"{flags}: not {symmetry}")
    old = values(400, 400, "c128", 6)
    elements.write(folder / "o.h5", old, "c128")
    run(damier, 1, "multiply", folder / "x.h5", folder / "x.h5", "-o", folder / "c.h5", "--op-a", "c", "--beta", 1, "--c",
        folder / "o.h5", "--force", "-q")
    expect(np.abs(read(folder / "c.h5", "c128") - x.conj().T @ x - old).max() <= 1e-11, "the old C was not added")


def same_bits(folder, damier):
    elements.write(folder / "x.h5", values(900, 800, "f64", 7), "f64")
    results = []
    for ranks, grid in ((1, "1x1x1"), (4, "2x2x1"), (8, "1x1x1")):
        run(damier, ranks, "gram", folder / "x.h5", "-o", folder / "c.h5", "--reproducible", "--grid", grid, "--force",
            "--threads", 1, "-q")
        results.append(read(folder / "c.h5", "f64"))
    expect(all(np.array_equal(r, results[0]) for r in results), "other bits on another grid")


def halves(folder, damier, ranks, dtype, flags):
    """--triangle: the other half is 0; C verifies, and a wrong element in either half does not."""
    x = elements.write(folder / "x.h5", values(700, 640, dtype, ranks), dtype)
    want = x.conj().T @ x
    for half, part in (("lower", np.tril), ("upper", np.triu)):
        run(damier, ranks, "gram", folder / "x.h5", "-o", folder / "c.h5", "--force", "--triangle", half, "--threads", 1, "-q",
            *flags.split())
        c = read(folder / "c.h5", dtype)
        expect(np.abs(c - part(want)).max() <= 40 * elements.unit(dtype) * np.abs(want).max(), f"{half}: other numbers than NumPy")
        expect(not (c - part(c)).any(), f"{half}: the other half is not 0")
        run(damier, 2, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
        run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q", "--triangle", "both", expect=1)
        for place in ((5, 600), (600, 5)):
            wrong = c.copy()
            wrong[place] += 1
            elements.write(folder / "w.h5", wrong, dtype)
            run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "w.h5", "-q", "--op-a", "c", "--triangle", half,
                expect=1)
    run(damier, 1, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q", "--full", expect=2)


def old_added(folder, damier, ranks, dtype, flags):
    """beta: the old C is added if it is symmetric, or Hermitian; else nothing is written."""
    x = elements.write(folder / "x.h5", values(300, 900, dtype, ranks), dtype)
    old = values(900, 900, dtype, ranks + 1)
    old = elements.write(folder / "o.h5", old + old.conj().T, dtype)
    words = ("gram", folder / "x.h5", "-o", folder / "c.h5", "--alpha", 3, "--threads", 1, "-q", *flags.split())
    run(damier, ranks, *words, "--beta", -2, "--c", folder / "o.h5")
    c, want = read(folder / "c.h5", dtype), 3 * x.conj().T @ x - 2 * old
    expect(np.abs(c - want).max() <= 40 * elements.unit(dtype) * np.abs(want).max(), "other numbers than NumPy")
    expect(np.array_equal(c, c.conj().T), "not symmetric")
    run(damier, 2, "verify", folder / "x.h5", folder / "x.h5", folder / "c.h5", "-q")
    run(damier, ranks, *words, "--beta", 0.5, "--c", folder / "c.h5", "--force")
    again = read(folder / "c.h5", dtype)
    expect(np.abs(again - (3 * x.conj().T @ x + c / 2)).max() <= 40 * elements.unit(dtype) * np.abs(want).max(), "not replaced")
    wrong = old.copy()
    wrong[70, 800] += 1
    elements.write(folder / "o.h5", wrong, dtype)
    run(damier, ranks, *words, "--force", "--beta", 1, "--c", folder / "o.h5", expect=3)
    expect(np.array_equal(read(folder / "c.h5", dtype), again), "C was touched")


def held_once(folder, damier, ranks, of, flags):
    """X is held once: in memory that does not suffice for two copies, and measured."""
    needs_own_memory()
    rows, cols = (12000, 1300) if of == "columns" else (1300, 12000)
    x = elements.write(folder / "x.h5", values(rows, cols, "f64", ranks), "f64")
    own, mib = process_mib(damier, ranks), x.nbytes / ranks / 2**20
    words = ("gram", folder / "x.h5", "--of", of, *flags.split())
    limit = f"host={own + int(mib) + 64 + 72}MiB"  # a reader's memory; C, its strips, vectors
    run(damier, ranks, *words, "-o", folder / "c.h5", "--memory", limit, "--threads", 1, "-q", "--json", folder / "record.json")
    record = records_of(folder / "record.json")[-1]
    plan, peak = record["plan"], record["memory"]["host_peak_bytes"] / 2**20
    expect(plan["tiles"] == 1 and plan["a_in"] == plan["b_in"] != "file", f"not in memory: {plan}")
    expect(plan.get("device_bytes") or peak < own + 1.5 * mib + 40, f"a rank took {peak:.0f} MiB; X has {mib:.0f}")
    expect(plan["a_in"] == "host" or plan["device_bytes"] < (1.3 * mib + 120) * 2**20, f"on the GPU: {plan}")
    expect(record["moved"]["from_files_bytes"] <= x.nbytes * 1.01, "X was read twice")
    c, want = read(folder / "c.h5", "f64"), x.T @ x if of == "columns" else x @ x.T
    expect(np.abs(c - want).max() <= 1e-9 and np.array_equal(c, c.T), "other numbers than NumPy")
    told = run(damier, 1, "plan", *words, "--ranks", ranks)
    expect("X is held once" in told and "share of B" not in told if of == "rows" else "X is held once" in told, told)


def refused(folder, damier):
    x, c = folder / "x.h5", folder / "c.h5"
    elements.write(x, values(400, 3000, "f64", 8), "f64")
    elements.write(folder / "z.h5", values(5, 6, "c128", 9), "c128")
    run(damier, 1, "gram", x, "-o", c, "--beta", 1, expect=2)
    run(damier, 1, "gram", folder / "z.h5", "-o", c, "--beta", "1,2", "--c", x, expect=2)
    run(damier, 1, "multiply", x, folder / "z.h5", "-o", c, "--triangle", "lower", expect=2)
    run(damier, 1, "cov", x, "-o", c, "--triangle", "lower", "--missing", "pairwise", expect=2)
    run(damier, 1, "gram", x, "-o", c, "--op-a", "t", expect=2)
    run(damier, 1, "gram", folder / "z.h5", "-o", c, "--alpha", "1,2", expect=2)
    run(damier, 1, "gram", x, x, "-o", c, expect=2)
    run(damier, 2, "gram", x, "-o", c, "--grid", "2x1x1", expect=2)
    run(damier, 1, "gram", x, "-o", x, "--force", expect=2)
    run(damier, 2, "gram", x, "-o", c, "--memory", "host=20MiB", expect=5)
    expect(not c.exists() and not c.with_name("c.h5.part").exists(), "something was written")
    expect("3000 x 3000" in run(damier, 1, "gram", x, "-o", c, "--dry-run"), "no plan")


chosen = options()
SIDES = ("columns", "rows")
THIN = [(1, 1_000_000, "f32"), (1_000_000, 1, "f64"), (3, 300_001, "f64"), (300_001, 5, "f32"), (70_001, 65, "f32"), (80, 30_000, "c64"),
        (20_000, 130, "bf16"), (6_000, 700, "f64"), (700, 5_000, "f32")]
run_cases(chosen.damier, [(compare, case, of, seed) for seed, case in enumerate(CASES)
                          for of in (SIDES if chosen.endurance else SIDES[seed // 2 % 2:][:1])]
          + [(tiles, 1, "f64", "", 24), (tiles, 3, "f32", "", 12), (tiles, 2, "c128", "", 40),
             (tiles, 4, "f64", "--grid 2x2x1", 16), (tiles, 3, "f64", "--grid 1x1x3", 24)][::2 if "emulated" in chosen.damier else 1]
          + [(halves, 1, "f64", ""), (halves, 4, "c128", "--grid 2x2x1"), (halves, 3, "f32", "--grid 1x1x3")][:3 if chosen.endurance else 2]
          + [(old_added, 1, "f64", ""), (old_added, 4, "c128", "--grid 2x2x1"), (old_added, 2, "c64", "--grid 1x1x2"),
             (old_added, 1, "f64", "--memory host=76MiB")]
          + [(held_once, 1, "columns", ""), (held_once, 1, "rows", ""), (held_once, 2, "columns", "--grid 1x1x2")]
          + [(thin, case, number) for number, case in enumerate(THIN) if "emulated" not in chosen.damier]
          + [(resumed,), (recognised,), (same_bits,), (refused,)])
