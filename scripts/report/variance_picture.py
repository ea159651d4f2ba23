#!/usr/bin/env python3
"""Draws how much variance principal components explain, of the matrix of docs/howto/pca.md, found by a run of DAMIER:
variance_picture.py DAMIER > docs/pictures/variance.svg."""
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from bars import bars

RANK = 10


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rng = np.random.default_rng(0)
        with h5py.File(folder / "X.h5", "w") as file:
            file["x"] = 20 + rng.standard_normal((20000, 200)) / np.arange(1, 201)
        subprocess.run([sys.argv[1], "pca", folder / "X.h5", "--rank", str(RANK), "-o", folder / "P.h5", "-q"], check=True, stdout=subprocess.DEVNULL)
        with h5py.File(folder / "P.h5") as file:
            ratios = file["pca/explained_variance_ratio"][:]
    print(bars("Explained variance of each component, and of all up to it", [
        (str(i + 1), [(True, ratio, f"{ratio:.1%}"), (False, total, f"{total:.1%}")])
        for i, (ratio, total) in enumerate(zip(ratios, np.cumsum(ratios)))], mark=0), end="")


main()
