"""damier gram G.bed --grm: the genomic relationship of samples as PLINK 2 and GCTA define it, and the counts of variants that
each pair has, on all ranks; founders, chromosomes, variants of one allele, slices and stacks; what is refused."""
import warnings

import plink_files
import h5py
import numpy as np
from running import command, ended, expect, options, records_of, run, run_cases

warnings.filterwarnings("ignore", "Mean of empty slice|invalid value|divide by zero")
KINDS = ["1"] * 5 + ["chr22", "X", "25", "chrM", "0", "Y", "PAR1"]
SEX = ("X", "chrM", "Y")
# samples, variants, ranks, part missing, whether half of the samples have parents
CASES = [(41, 600, 1, 0.03, False), (60, 900, 2, 0.2, True), (7, 300, 3, 0.0, False), (130, 400, 1, 0.5, True), (90, 50, 5, 0.1, False),
         (50, 1500, 2, 0.01, True), (37, 2500, 1, 0.002, False), (4, 900, 3, 0.01, False)]


def relationship(g, chromosomes, founders, mean=False):
    """By the formula: C, and how many variants each pair has."""
    x = np.where(g < 0, np.nan, g.astype(float))[[c not in SEX for c in chromosomes]]
    p = np.nanmean(x[:, founders], 1, keepdims=True) / 2
    z = np.where((p > 0) & (p < 1), (x - 2 * p) / np.sqrt(2 * p * (1 - p)), 0 * x)
    known = ~np.isnan(x)
    z[~known] = 0
    n = known.T.astype(float) @ known
    return z.T @ z / (len(x) if mean else n), n


def read(path):
    with h5py.File(path) as file:
        return file["c"][()]


def near(c, want):
    expect(np.array_equal(np.isnan(c), np.isnan(want)), "NaN elsewhere")
    off = np.nanmax(np.abs(c - want), initial=0)
    expect(off < 1e-12 * np.nanmax(np.abs(want)), f"off by {off}")


def inputs(folder, case, seed):
    samples, variants, _, missing, parents = case
    rng = np.random.default_rng(seed)
    g = plink_files.random(rng, variants, samples, missing)
    g[3], g[4], g[5] = 0, 2, 1  # of one allele, and all heterozygous
    g[6] = plink_files.MISSING  # no call
    chromosomes = [KINDS[i % len(KINDS)] for i in range(variants)]
    founders = np.arange(samples) % 2 == 0 if parents else np.ones(samples, bool)
    g[9:20] = np.where(founders, g[9:20], 1)
    g[9:20, founders] = rng.integers(0, 3, (11, founders.sum()))
    first, second = np.flatnonzero(founders)[:2]
    g[9:, first], g[9:, second] = 1, np.minimum(g[9:, second], 1)  # founders have both alleles
    plink_files.write(folder / "g.bed", g, chromosomes, ["0 0" if f else "P 0" for f in founders])
    return g, chromosomes, founders


def relationships(folder, damier, case, seed):
    g, chromosomes, founders = inputs(folder, case, seed)
    ranks, path, c, counts = case[2], folder / "g.bed", folder / "c.h5", folder / "c_counts.h5"
    words = ("gram", path, "--grm", "-o", c, "-q", "--force")
    want, n = relationship(g, chromosomes, founders)
    run(damier, ranks, *words, "--json", folder / "record.json")
    near(read(c), want)
    expect(np.array_equal(read(counts), n), "other counts")
    expect(np.array_equal(read(c), read(c).T, equal_nan=True), "not symmetric")
    expect(f"p from {founders.sum()} samples" in records_of(folder / "record.json")[-1]["files"]["a_centering"], "founders")
    left = sorted(file.name for file in folder.iterdir())
    expect(left == ["c.h5", "c_counts.h5", "g.bed", "g.bim", "g.fam", "record.json"], f"files are left: {left}")
    for some in (1, 3):
        run(damier, some, "verify", path, path, c, "-q")
    run(damier, 1, "verify", counts, "-q")
    with h5py.File(c, "r+") as file:
        file["c"][1, 2] += 1e-6
    run(damier, 1, "verify", path, path, c, "-q", expect=1)
    run(damier, 1, *words, "--nonfounders")
    near(read(c), relationship(g, chromosomes, slice(None))[0])
    run(damier, 1, "verify", path, path, c, "-q")
    run(damier, ranks, *words, "--missing", "mean")
    near(read(c), relationship(g, chromosomes, founders, mean=True)[0])
    run(damier, 2, "verify", path, path, c, "-q")


def parts(folder, damier):
    """Some variants of some samples, whose founders alone count; chromosomes one above the other, of the same samples."""
    g, chromosomes, founders = inputs(folder, CASES[1], 9)
    g[20:] = np.where(g[20:] < 0, 1, g[20:])
    g[23::7, 5::13] = plink_files.MISSING  # few, which are counted without a product
    names = ["0 0" if f else "P M" for f in founders]
    plink_files.write(folder / "g.bed", g, chromosomes, names)
    words = ("--grm", "-o", folder / "c.h5", "-q", "--force")

    def right(rows, cols):
        want, n = relationship(g[rows, cols], chromosomes[rows], founders[cols])
        near(read(folder / "c.h5"), want)
        expect(np.array_equal(read(folder / "c_counts.h5"), n), "other counts")

    run(damier, 2, "gram", f"{folder}/g.bed[20:800:3, 10:]", *words)
    right(slice(20, 800, 3), slice(10, None))
    plink_files.write(folder / "s.bed", g, chromosomes, names, by_samples=True, padding=1)
    for ranks, rows, cols in ((1, slice(None), slice(None)), (3, slice(21, 700, 2), slice(3, 55, 1)), (1, slice(1, 899, 7), slice(1, 60, 3))):
        part = f"[{rows.start}:{rows.stop}:{rows.step}, {cols.start}:{cols.stop}:{cols.step}]" if rows.step else ""
        for name in "gs":
            run(damier, ranks, "gram", f"{folder}/{name}.bed{part}", *words)
            right(rows, cols)
    for number, rows in ((2, slice(0, 300)), (10, slice(300, 900))):
        plink_files.write(folder / f"chr{number}.bed", g[rows], chromosomes[rows], names)
    run(damier, 2, "gram", f"{folder}/chr*.bed", *words)
    right(slice(None), slice(None))
    run(damier, 1, "verify", f"{folder}/chr*.bed", f"{folder}/chr*.bed", folder / "c.h5", "-q")
    fam = folder / "chr10.fam"
    lines = fam.read_text().splitlines(True)
    fam.write_text("".join(lines[1:] + lines[:1]))
    told(damier, folder, 3, "chr10.fam: line 1 is another sample than in the files before it", f"{folder}/chr*.bed")


def told(damier, folder, code, fragment, name, *words):
    done = ended(command(1, damier, "gram", name, "--grm", "-o", folder / "d.h5", "-q", *words))
    expect(done.returncode == code and fragment in done.stderr, f"{fragment}: {done.returncode} {done.stderr}")
    expect(not list(folder.glob("d[._]*")), "something was written")


def refused(folder, damier):
    rng = np.random.default_rng(3)
    g = plink_files.random(rng, 60, 20)
    path = folder / "g.bed"
    plink_files.write(path, g, ["1"] * 59 + ["chrUn"])
    told(damier, folder, 3, "the chromosome of variant 60 is 'chrUn'", path)
    run(damier, 1, "gram", f"{path}[:59, :]", "--grm", "-o", folder / "c.h5", "-q", expect=3)
    plink_files.write(path, g, ["X"] * 60)
    told(damier, folder, 3, "all variants are on X, Y or MT", path)
    plink_files.write(path, g, parents=["P M"] * 20)
    told(damier, folder, 3, "there are no founders", path)
    g[7] = np.arange(20) % 2
    plink_files.write(path, g, parents=["P 0" if i % 2 else "0 0" for i in range(20)])
    told(damier, folder, 3, "the variant of row 7 varies only among samples that are not founders", path)
    told(damier, folder, 3, "varies only among samples that are not founders", path, "--missing", "mean")
    g[7] = np.where(np.arange(20) % 2, 1, plink_files.MISSING)
    plink_files.write(path, g, parents=["P 0" if i % 2 else "0 0" for i in range(20)])
    told(damier, folder, 3, "varies only among samples that are not founders", path)
    run(damier, 1, "gram", path, "--grm", "--nonfounders", "-o", folder / "e.h5", "-q")
    told(damier, folder, 3, "of its values are missing", path, "--missing", "refuse", "--nonfounders")
    for words in (("--of", "rows"), ("--center",), ("--scale",), ("--divide", "n"), ("--missing", "zero"), ("--missing", "complete")):
        told(damier, folder, 2, "--grm", path, *words)
    with h5py.File(folder / "x.h5", "w") as file:
        file["x"] = np.ones((9, 5))
    told(damier, folder, 3, "holds no genotypes of PLINK", folder / "x.h5")
    plink_files.write(path, g[:5])
    (folder / "f_counts.h5").write_text("mine")
    done = ended(command(1, damier, "gram", path, "--grm", "-o", folder / "f.h5", "-q"))
    expect(done.returncode == 2 and "f_counts.h5 is in the way of the file of counts" in done.stderr, done.stderr)
    expect((folder / "f_counts.h5").read_text() == "mine" and not (folder / "f.h5").exists(), "something was written")


run_cases(options().damier, [(relationships, case, seed) for seed, case in enumerate(CASES)] + [(parts,), (refused,)])
