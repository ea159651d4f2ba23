"""Genotypes of PLINK 1 (.bed, .bim, .fam) as a matrix of variants x samples: the numbers that NumPy packed are read, whole
and in parts, transposed and stacked, on all ranks; files that do not fit together are refused."""
import plink_files
import h5py
import numpy as np
from running import command, ended, expect, options, records_of, run, run_cases

# variants, samples, by samples, ranks
SHAPES = [(303, 101, False, 1), (64, 5, False, 2), (1, 9, False, 1), (50, 1, False, 1), (1000, 64, False, 3), (77, 203, True, 2),
          (9, 4, True, 1), (5, 40000, False, 1)]


def read(path):
    with h5py.File(path) as file:
        return file["c"][()]


def parts(variants, samples):
    """Rows and columns, from anywhere in a byte on."""
    yield ""
    yield f"[{variants // 5}:{variants - variants // 9}:7, {samples // 3}:{samples}:2]"
    yield f"[:, {samples // 2}:{samples // 2 + 1}]"
    yield f"[{variants // 2}:{variants}, :]"
    yield "[::2, ::5]"


def part_of(x, part):
    return eval(f"x{part}") if part else x  # pylint: disable=eval-used


def products(folder, damier, shape, seed):
    variants, samples, by_samples, ranks = shape
    g = plink_files.random(np.random.default_rng(seed), variants, samples)
    plink_files.write(folder / "g.bed", g, by_samples=by_samples, padding=seed % 4)
    zeros = np.where(g < 0, 0, g).astype(int)
    c = folder / "c.h5"
    for part in parts(variants, samples):
        x = part_of(zeros, part)
        of = "rows" if samples > 1000 else "columns" if samples > variants or seed % 2 else "rows"  # a C of 40000 columns takes minutes
        name = f"{folder}/g.bed{part}"
        run(damier, ranks, "gram", name, "--of", of, "--missing", "zero", "-o", c, "-q", "--force")
        expect(read(c).dtype == np.int32, "sums are not i32")
        expect(np.array_equal(read(c), x.T @ x if of == "columns" else x @ x.T), f"other numbers of {part}")
        run(damier, 1, "verify", name, name, c, "-q")


def types(folder, damier):
    """Missing values are refused with their place, or become NaN; other types have the same numbers."""
    g = plink_files.random(np.random.default_rng(5), 120, 33)
    plink_files.write(folder / "g.bed", g)
    words = (folder / "g.bed", "-o", folder / "c.h5", "-q", "--force")
    row, col = np.argwhere(g < 0)[0]
    done = ended(command(1, damier, "cov", *words))
    expect(done.returncode == 3 and f"the first is in row {row}, column {col} " in done.stderr, done.stderr)
    expect("--raw" not in done.stderr, done.stderr)
    run(damier, 1, "gram", *words, "--missing", "zero", "--raw", expect=2)
    x = np.where(g < 0, np.nan, g.astype(float))
    for dtype in ("f64", "f32", "bf16", "f16"):
        run(damier, 1, "gram", *words, "--missing", "nan", "--type", dtype)
        want = x.T @ x
        expect(np.array_equal(read(folder / "c.h5"), want, equal_nan=True), f"other numbers in {dtype}")
    mean = np.nanmean(x, 0)
    run(damier, 2, "cov", *words, "--missing", "mean")
    want = np.cov(np.where(np.isnan(x), mean, x), rowvar=False)
    expect(np.allclose(read(folder / "c.h5"), want, rtol=1e-12, atol=1e-14), "other covariances")


def other_matrices(folder, damier):
    """A product with a matrix in HDF5, and chromosomes one above the other."""
    rng = np.random.default_rng(6)
    g = plink_files.random(rng, 90, 30, missing=0)
    effects = rng.normal(size=(30, 4))
    for number, rows in ((2, g[:40]), (10, g[40:])):
        plink_files.write(folder / f"chr{number}.bed", rows)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = effects
    for ranks in (1, 3):
        run(damier, ranks, "multiply", f"{folder}/chr*.bed", folder / "b.h5", "--type", "f64", "-o", folder / "c.h5", "-q", "--force")
        expect(np.allclose(read(folder / "c.h5"), g @ effects, rtol=1e-13, atol=1e-13), "other numbers")
    told = run(damier, 1, "info", folder / "chr2.bed", "--json", folder / "record.json")
    expect("2 bits each, in a file of PLINK" in told and "copies of allele A1" in told, told)
    expect(records_of(folder / "record.json")[-1]["dataset"]["rows"] == 40, "rows")


def refused(folder, damier):
    g = plink_files.random(np.random.default_rng(7), 40, 21)
    path = folder / "g.bed"
    fam, bim = path.with_suffix(".fam"), path.with_suffix(".bim")

    def case(code, fragment, change):
        plink_files.write(path, g)
        change()
        done = ended(command(1, damier, "gram", path, "--missing", "zero", "-o", folder / "c.h5", "-q"))
        expect(done.returncode == code and fragment in done.stderr, f"{fragment}: {done.returncode} {done.stderr}")
        expect(not (folder / "c.h5").exists(), "something was written")

    whole = plink_files.MAGIC + b"\1" + plink_files.packed(g)
    case(3, "has 239 bytes of genotypes; 40 variants (.bim) of 21 samples (.fam) take 240", lambda: path.write_bytes(whole[:-1]))
    case(3, "has 241 bytes of genotypes", lambda: path.write_bytes(whole + b"\0"))
    case(3, "is cut off in its header", lambda: path.write_bytes(whole[:2]))
    case(3, "its third byte is 2", lambda: path.write_bytes(whole[:2] + b"\2" + whole[3:]))
    case(3, "take 280", lambda: fam.write_text(fam.read_text() + "".join(f"F S{i} 0 0 1 -9\n" for i in range(4))))
    case(3, "take 234", lambda: bim.write_text("".join(bim.read_text().splitlines(True)[1:])))
    case(3, "has no samples", lambda: fam.write_text("\n"))
    case(4, "g.bim: cannot be opened", bim.unlink)
    case(3, "begins with '#'", lambda: fam.write_text("#FID IID PAT MAT SEX PHENO\n" + fam.read_text()))
    case(3, "is not text", lambda: fam.write_bytes(b"F\0" * 500))
    plink_files.write(path, g)
    bim.write_text(bim.read_text() + "\n \n")  # blank lines count as none, as in PLINK
    run(damier, 1, "gram", path, "--missing", "zero", "-o", folder / "c.h5", "-q")


run_cases(options().damier, [(products, shape, seed) for seed, shape in enumerate(SHAPES)] + [(types,), (other_matrices,), (refused,)])
