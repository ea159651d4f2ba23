#!/usr/bin/env python3
"""After a kill, covariances, products whose matrices are centered, scaled, weighted or filled, and batches of many small
matrices are resumed: C has the bits of an undisturbed run, and is what NumPy computes. Other weights, vectors and ways with
missing values are refused."""
import copy
import pathlib
import re

import h5py
import numpy as np

import faulty_runs
import plink_files
import running
from running import expect

MEMORY = 3  # MiB in addition to the process's own memory: several tiles
ROWS, COLS = 210, 900


def filled(x):
    return np.where(np.isnan(x), np.nanmean(x, 0), x)


def matrices(folder):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(ROWS, COLS)) + rng.normal(size=COLS) * 30
    gaps = np.where(rng.random(x.shape) < 0.1, np.nan, x)
    vectors = {"w": rng.uniform(0.1, 2, ROWS), "other": rng.uniform(0.1, 2, ROWS), "m": rng.normal(size=COLS),
               "s": rng.uniform(1, 2, COLS), "t": rng.uniform(1, 2, COLS)}
    for name, array in {"x": x, "gaps": gaps, "y": rng.normal(size=(ROWS, COLS)), **vectors}.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["x"] = array
    return x, gaps, vectors


class Statistic(faulty_runs.Output):
    """The output of any verb."""

    def __init__(self, bed, name, ranks, verb, *words):
        super().__init__(bed, name, ranks)
        self.verb, self.words = verb, words

    def command(self, ranks=None, extra=()):
        words = [self.bed.folder / word if str(word).endswith(".h5") else word for word in (*self.words, *extra)]
        return running.command(ranks or self.ranks, self.bed.damier, self.verb, *words, "-o", f"{self.path()}:/c", *self.bed.words)

    def read(self):
        with h5py.File(self.path()) as file:
            return file["c"][:]

    def kill(self, tiles, journal):
        """Kills the run when JOURNAL has that many records."""
        code, err, _ = self.run(faulty_runs.once_recorded(tiles, journal))
        expect(code in faulty_runs.KILLED, f"{self.name}: not killed: {code}\n{err}")

    def expect_near(self, want):
        c = self.read()
        expect(np.array_equal(np.isnan(c), np.isnan(want)), f"{self.name}: NaN elsewhere")
        expect(np.nanmax(np.abs(c - want)) <= 1e-10 * np.nanmax(np.abs(want)), f"{self.name}: off by {np.nanmax(np.abs(c - want)):.3g}")


def resumed(case, bed):
    """Killed with two tiles recorded."""
    name, ranks, want, words, other = case
    whole = Statistic(bed, f"whole-{name}", ranks, *words)
    code, err, _ = whole.run()
    expect(code == 0, f"{name}: exit {code}\n{err}")
    whole.expect_near(want)
    output = Statistic(bed, name, ranks, *words)
    output.kill(2, f"{name}.h5.journal")
    expect(output.path(".part").exists() and not output.path().exists(), f"{name}: no part is left")
    if other:
        journal = output.path(".journal").read_bytes()
        for changed, field in other:
            again = Statistic(bed, name, ranks, *changed)
            code, err, _ = again.run()
            expect(code == 4 and f"cannot be resumed: {field} differs" in err, f"{name} with {changed}: exit {code}\n{err}")
        expect(output.path(".journal").read_bytes() == journal, f"{name}: the journal was touched")
    code, err, _ = output.run()
    expect(code == 0 and "resuming: " in err, f"{name}: exit {code}\n{err}")
    expect(output.bits() == whole.bits(), f"{name}: other bits")
    expect(not output.left(), f"{name}: left {output.left()}")


def resumed_pairs(case, bed):
    """Killed in the third product, and then in the last: those made before are not multiplied again."""
    name, ranks, want, words = case
    whole = Statistic(bed, f"whole-{name}", ranks, *words)
    code, err, _ = whole.run()
    expect(code == 0 and "already" not in err, f"{name}: exit {code}\n{err}")
    whole.expect_near(want)
    output = Statistic(bed, name, ranks, *words)
    for product, made in (("s", 2), ("q", 3)):
        output.kill(2, f"{name}.h5.damier-pair-{product}.journal")
        code, err, _ = output.run(faulty_runs.once_recorded(3, f"{name}.h5.damier-pair-{product}.journal", 5))
        expect(code == 4 and err.count("already the result") == made, f"{name}: exit {code}\n{err}")
    code, err, _ = output.run(faulty_runs.once_recorded(3, f"{name}.h5.damier-pair-{product}.journal", "term"))
    expect(code == 75 and re.search(rf"hint: [{made}{made + 1}] of {made + 1} products of pairs are kept", err), f"{name}: exit {code}\n{err}")
    code, err, _ = output.run()
    expect(code == 0 and err.count("already the result") >= made, f"{name}: exit {code}\n{err}")
    expect(output.bits() == whole.bits(), f"{name}: other bits")
    left = [path.name for path in bed.folder.glob(f"{name}.h5*") if path != output.path()]
    expect(not left, f"{name}: left {left}")


def resumed_relationship(name, bed):
    """Killed in the counts of variants, which stay, and then in the other product; a file that is not theirs is not replaced."""
    plink_files.write(bed.folder / "g.bed", plink_files.random(np.random.default_rng(8), ROWS, COLS, 0.1))
    words = ("gram", str(bed.folder / "g.bed"), "--grm")
    whole = Statistic(bed, f"whole-{name}", 1, *words)
    code, err, _ = whole.run()
    expect(code == 0 and "already" not in err, f"{name}: exit {code}\n{err}")
    output = Statistic(bed, name, 1, *words)
    output.kill(2, f"{name}_counts.h5.journal")
    output.kill(2, f"{name}.h5.damier-pair-p.journal")
    code, err, _ = output.run()
    expect(code == 0 and err.count("already the result") == 1, f"{name}: exit {code}\n{err}")
    expect(output.bits() == whole.bits(), f"{name}: other bits")
    left = {path.name for path in bed.folder.glob(f"{name}[._]*")}
    expect(left == {f"{name}.h5", f"{name}_counts.h5"}, f"{name}: left {left}")
    output.path().unlink()
    code, err, _ = output.run()
    expect(code == 2 and "_counts.h5 is in the way of the file of counts" in err, f"{name}: exit {code}\n{err}")


def counted_relationship(name, bed):
    """Few genotypes are missing, so that counts need no product: killed before and after each file gets its name."""
    plink_files.write(bed.folder / "f.bed", plink_files.random(np.random.default_rng(9), ROWS, COLS, 0.01))
    words = ("gram", str(bed.folder / "f.bed"), "--grm")
    whole = Statistic(bed, f"whole-{name}", 1, *words)
    code, err, _ = whole.run()
    expect(code == 0, f"{name}: exit {code}\n{err}")
    for number, of in ((1, "pair-n"), (2, "pair-n"), (1, "new")):
        fault = {"FAULT": f"rename:{number}:kill", "FAULT_PATH": f"{name}.h5.damier-{of}"}
        output = Statistic(bed, name, 1, *words)
        output.kill(2, f"{name}.h5.damier-pair-p.journal")
        code, err, _ = output.run(fault)
        expect(code in faulty_runs.KILLED and not output.path().exists(), f"{name}, {fault}: not killed: {code}\n{err}")
        code, err, _ = output.run()
        expect(code == 0, f"{name}, {fault}: exit {code}\n{err}")
        expect(output.bits() == whole.bits(), f"{name}, {fault}: other bits")
        left = {path.name for path in bed.folder.glob(f"{name}[._]*")}
        expect(left == {f"{name}.h5", f"{name}_counts.h5"}, f"{name}, {fault}: left {left}")
        output.remove()
        (bed.folder / f"{name}_counts.h5").unlink()


def named_pairs(case, bed):
    """Killed while the products are removed, before C gets its name, and after that: then nothing but C is left."""
    name, ranks, want, words = case
    name += "-named"
    whole = Statistic(bed, f"whole-{name}", ranks, *words)
    counts = bed.folder / f"counts-{name}"
    code, err, _ = whole.run({"FAULT_COUNT": str(counts), "FAULT_PATH": "/"})
    expect(code == 0, f"{name}: exit {code}\n{err}")
    whole.expect_near(want)
    last = faulty_runs.counted(counts)[0, "fsync"]  # of C's folder
    products = 4
    for fault in ({"FAULT": f"fsync:{last}:kill", "FAULT_PATH": "/"},
                  {"FAULT": "rename:1:kill", "FAULT_PATH": f"{name}.h5.damier-new"},
                  *({"FAULT": f"unlink:{n}:kill", "FAULT_PATH": "h5.damier-pair-"} for n in range(1, 2 * products + 1))):
        output = Statistic(bed, name, ranks, *words)
        code, err, _ = output.run(fault)
        expect(code in faulty_runs.KILLED, f"{name}, {fault}: not killed: {code}\n{err}")
        expect(output.path().exists() == ("fsync" in fault["FAULT"]), f"{name}, {fault}: C was named too early, or not")
        if not output.path().exists():
            code, err, _ = output.run()
            expect(code == 0, f"{name}, {fault}: exit {code}\n{err}")
        expect(output.bits() == whole.bits(), f"{name}, {fault}: other bits")
        left = [path.name for path in bed.folder.glob(f"{name}.h5*") if path != output.path()]
        expect(not left, f"{name}, {fault}: left {left}")
        output.remove()


def other_options(bed, x):
    """Killed in its products of pairs; then a command with other options completes C, and nothing else is left."""
    output = Statistic(bed, "pairs-other", 1, "cor", "gaps.h5", "--missing", "pairwise")
    output.kill(2, "pairs-other.h5.damier-pair-q.journal")
    left = [path.name for path in bed.folder.glob("pairs-other.h5*")]
    expect(any("pair-q" in name for name in left), f"nothing is left: {left}")
    other = Statistic(bed, "pairs-other", 1, "cov", "x.h5")
    code, err, _ = other.run()
    expect(code == 0, f"exit {code}\n{err}")
    other.expect_near(np.cov(x, rowvar=False))
    left = [path.name for path in bed.folder.glob("pairs-other.h5*") if path != output.path()]
    expect(not left, f"left {left}")


def of_pairs(x, scale):
    here = ~np.isnan(x)
    z, m = np.where(here, x - np.nanmean(x, 0), 0), here.astype(float)
    n, s, q = m.T @ m, z.T @ m, (z * z).T @ m
    c = z.T @ z - s * s.T / n
    v = q - s * s / n
    return c / np.sqrt(v * v.T) if scale else c / (n - 1)


def main():
    options = faulty_runs.options()
    with faulty_runs.scratch() as folder:
        limit = running.process_mib(options.damier) + MEMORY
        bed = faulty_runs.Bed(folder, options, shape=(3, 3, 3), words=("--memory", f"host={limit}MiB", "--checkpoint-interval", "0"))
        bed.words = bed.words[1:]
        x, gaps, v = matrices(pathlib.Path(folder))
        with h5py.File(bed.folder / "y.h5") as file:
            y = file["x"][:]
        w = v["w"]
        entries = np.random.default_rng(6).normal(size=(2, 2000, 30, 30))
        for name, array in zip("ef", entries):
            with h5py.File(bed.folder / f"{name}.h5", "w") as file:
                file["x"] = array
        base = ("cov", "x.h5")
        cases = [
            ("cov", 1, np.cov(x, rowvar=False), base, [(("gram", "x.h5", "--center", "--divide", "n"), "alpha"),
                                                       (("cor", "x.h5"), "centering_a")]),
            ("cor", 2, np.corrcoef(x, rowvar=False), ("cor", "x.h5"), [(base, "centering_a")]),
            ("weights", 1, np.cov(x, rowvar=False, aweights=w), (*base, "--weights", "w.h5"),
             [((*base, "--weights", "other.h5"), "centering_a"), (base, "centering_a")]),
            ("mean", 2, np.cov(filled(gaps), rowvar=False), ("cov", "gaps.h5", "--missing", "mean"),
             [(("cov", "gaps.h5", "--missing", "zero"), "centering_a")]),
            ("vectors", 1, ((x - v["m"]) / v["s"]).T @ y,
             ("multiply", "x.h5", "y.h5", "--op-a", "t", "--center-a", "m.h5", "--scale-a", "s.h5"),
             [(("multiply", "x.h5", "y.h5", "--op-a", "t", "--center-a", "m.h5", "--scale-a", "t.h5"), "centering_a")])]
        many = ("entries", 1, entries[0] @ entries[1], ("multiply", "e.h5", "f.h5"), [(("multiply", "e.h5", "f.h5", "--op-b", "t"), "op_b")])
        roomy = copy.copy(bed)
        roomy.words = [word.replace(f"={limit}", f"={limit + 40}") for word in bed.words]
        pairs = [("pairs", 1, of_pairs(gaps, False), ("cov", "gaps.h5", "--missing", "pairwise")),
                 ("pairs-cor", 1, of_pairs(gaps, True), ("cor", "gaps.h5", "--missing", "pairwise"))]
        failures = running.each(lambda case: resumed(case, bed), cases, lambda case: case[0])
        failures += running.each(lambda case: resumed(case, roomy), [many], lambda case: case[0])
        failures += running.each(lambda case: other_options(bed, x), ["other options"], str)
        failures += running.each(lambda case: resumed_relationship(case, bed), ["grm"], str)
        failures += running.each(lambda case: counted_relationship(case, bed), ["grm-counted"], str)
        for check in resumed_pairs, named_pairs:
            failures += running.each(lambda case, check=check: check(case, bed), pairs, lambda case: case[0])
    running.finish(failures, len(cases) + 4 + 2 * len(pairs))


main()
