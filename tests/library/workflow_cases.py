"""The rules of Snakemake in the how-to pages: they make what they should, once, and a rule that failed goes on."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np

from running import ROOT, environment, expect

SKIPPED = 77


def rules(page):
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/howto" / page).read_text(), re.M | re.S)
    return next(block for block in blocks if block.startswith("rule "))


class Folder:
    """A folder with matrices A1 to A4 and B, and a Snakefile."""

    def __init__(self, name, damier, text):
        self.path = pathlib.Path(name)
        self.variables = {**environment(), "PATH": f"{damier.parent}:{os.environ['PATH']}", "HOME": name}
        self.variables.pop("LD_PRELOAD", None)
        (self.path / "Snakefile").write_text(text)
        for seed, matrix in enumerate(("A1", "A2", "A3", "A4", "B")):
            self.values(matrix, seed)

    def values(self, matrix, seed):
        with h5py.File(self.path / f"{matrix}.h5", "w") as file:
            file["x"] = np.random.default_rng(seed).standard_normal((30, 30))

    def make(self, *targets, code=0):
        done = subprocess.run(["snakemake", "--cores", "2", "--nocolor", *targets], cwd=self.path, env=self.variables, capture_output=True,
                              text=True, timeout=250, check=False)
        expect(done.returncode == code, f"exit {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def check(self, *numbers):
        def of(name):
            with h5py.File(self.path / f"{name}.h5") as file:
                return next(iter(file.values()))[:]
        for i in numbers:
            np.testing.assert_allclose(of(f"C{i}"), of(f"A{i}") @ of("B"), atol=1e-12)


def product_for_each(damier):
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(name, damier, rules("makefiles.md"))
        said = folder.make("C1.h5", "C3.h5")
        expect(said.count("damier: multiply") == 2, said)
        folder.check(1, 3)
        expect("Nothing to be done" in folder.make("C1.h5", "C3.h5"), "made again")


def list_of_products(damier):
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(name, damier, rules("job_lists.md"))
        (folder.path / "A3.h5").write_text("no matrix")
        said = folder.make(code=1)
        expect("jobs.txt:3: exit" in said and "done=3 failed=1" in said, said)
        folder.values("A3", 7)
        expect("done=4 failed=0" in folder.make(), "the second run")
        folder.check(1, 2, 3, 4)
        expect("Nothing to be done" in folder.make(), "made again")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--damier", type=pathlib.Path, required=True)
    damier = parser.parse_args().damier
    if not shutil.which("snakemake"):
        return SKIPPED
    product_for_each(damier)
    list_of_products(damier)
    return 0


sys.exit(main())
