#!/usr/bin/env bash
# plink2's relationship matrix by mean imputation divides by the number of all variants, also of those for which no sample has a call:
# as many variants without any call as with calls halve every relationship, without a message. Its default, which divides each pair by the
# variants that both have, leaves them out and does not change.
# Seen with plink2 2.00a3.5 of Debian 12: the relationship of the first sample with itself is 1.198 by both; beside as many empty variants
# 1.198 by pairs, and 0.599 by meanimpute.
# Why it matters here: `damier gram G.bed --grm --missing mean` gives the same numbers; its page says what the divisor counts.
# Needs Debian 12, whose plink2 it unpacks, with NumPy and the libraries of that package (BLAS, LAPACK, zstd, libdeflate).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
apt-get download --quiet=2 plink2=2.00~a3.5-220809+dfsg-1+b2
dpkg-deb -x plink2_*.deb .
packages numpy==1.26.4
export PATH="$PWD/usr/bin:$PATH"
check <<'PYTHON'
import subprocess

import numpy as np


def write(name, copies):
    """Genotypes, variants x samples: 0, 1 or 2 copies of allele A1, 3 where there is no call."""
    variants, samples = copies.shape
    codes = np.array([3, 2, 0, 1], np.uint8)[copies].reshape(variants, -1, 4)
    packed = (codes << np.array([0, 2, 4, 6], np.uint8)).sum(2).astype(np.uint8)
    with open(name + ".bed", "wb") as file:
        file.write(b"\x6c\x1b\x01" + packed.tobytes())
    with open(name + ".bim", "w") as file:
        file.writelines(f"1\tv{i}\t0\t{i + 1}\tA\tG\n" for i in range(variants))
    with open(name + ".fam", "w") as file:
        file.writelines(f"f{i} i{i} 0 0 1 -9\n" for i in range(samples))


def related(name, *how):
    words = ["plink2", "--bfile", name, "--make-rel", "square", *how, "--out", name]
    said = subprocess.run(words, check=True, capture_output=True, text=True)
    assert "warning" not in (said.stdout + said.stderr).lower(), said.stderr
    return np.loadtxt(name + ".rel")


called = np.random.default_rng(1).integers(0, 3, (100, 60))
write("called", called)
write("more", np.concatenate([called, np.full((100, 60), 3)]))
for how, wanted in (((), 1.0), (("meanimpute",), 0.5)):
    few, many = related("called", *how), related("more", *how)
    ratio = float(np.median(many / few))
    print(f"{how or 'pairs'}: {few[0, 0]:.3f}, beside variants without calls {many[0, 0]:.3f}: {ratio:.3f} of it")
    assert abs(ratio - wanted) < 1e-3, ratio
PYTHON
