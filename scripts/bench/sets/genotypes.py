"""The relationship matrix of genotypes of PLINK 1, of which a part is MISSING, by plink2, and by bed-reader with NumPy. Where its OpenBLAS does
not know the processor, plink2 needs OPENBLAS_CORETYPE."""
import os
import pathlib

import numpy as np

RUNS, PACKAGES = 5, ("bed-reader", "numpy")


def write(samples, variants, missing):
    rng = np.random.default_rng(0)
    with open("G.bed", "wb") as file:
        file.write(b"\x6c\x1b\x01")
        for first in range(0, variants, 5000):
            count = min(5000, variants - first)
            p = rng.uniform(0.05, 0.95, (count, 1)).astype("f4")
            x = (rng.random((count, samples), "f4") < p).astype("u1") + (rng.random((count, samples), "f4") < p)
            codes = np.array([3, 2, 0], "u1")[x]
            codes[rng.random((count, samples), "f4") < missing] = 1
            codes = np.pad(codes, ((0, 0), (0, -samples % 4)))
            file.write((codes[:, 0::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6).tobytes())
    pathlib.Path("G.bim").write_text("".join(f"1 v{i} 0 {i + 1} A G\n" for i in range(variants)), encoding="ascii")
    pathlib.Path("G.fam").write_text("".join(f"F{j} S{j} 0 0 1 -9\n" for j in range(samples)), encoding="ascii")


def bed_reader():
    from bed_reader import open_bed
    with open_bed("G.bed") as bed:
        samples, variants = bed.shape
        c, n = np.zeros((samples, samples)), np.zeros((samples, samples), "f4")
        for first in range(0, variants, 4000):
            x = bed.read(np.s_[:, first:first + 4000], dtype="f8", order="F")
            mean = np.nanmean(x, 0)
            x -= mean
            x /= np.sqrt(mean * (1 - mean / 2))
            known = ~np.isnan(x)
            x[~known] = 0
            c += x @ x.T
            known = known.astype("f4")
            n += known @ known.T
    np.save("C.npy", c / n)
    np.save("N.npy", n)


def cases(bench, samples=2000, variants=500000, missing=0.02):
    write(samples, variants, missing)
    yield {"samples": samples, "variants": variants, "missing": missing}, {
        "damier": "damier gram G.bed --grm -o C.h5 -q",
        "plink2": f"plink2 --bfile G --make-rel square bin --threads {len(os.sched_getaffinity(0))} --out C", **bench.others("bed-reader")}
