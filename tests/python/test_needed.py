"""``if_needed=True``: a call whose result is complete does nothing, as ``damier multiply --if-needed``."""
import os
import subprocess
import sys
import unittest

import damier
import h5py
import numpy as np
from folder_case import FolderCase


class Needed(FolderCase):
    """A is 60 x 8, B 8 x 5."""

    def made_once(self, path, call):
        """CALL makes PATH, and then finds it complete; returns the record of the second."""
        call()
        first = os.stat(path).st_ino
        record = call()
        self.assertEqual(os.stat(path).st_ino, first, path)
        self.assertIn("made by an earlier run", repr(record))
        return record

    def made_again(self, path, call):
        first = os.stat(path).st_ino
        call()
        self.assertNotEqual(os.stat(path).st_ino, first, path)

    def test_products(self):
        def product(**options):
            return damier.multiply("data.h5:/run/a", "b.npy", "c.h5", if_needed=True, **options)

        self.assertEqual(self.made_once("c.h5", product)["files"]["c"], "c.h5:/c, made by an earlier run")
        self.made_once("d.npy", lambda: damier.multiply("a.npy", "b.npy", "d.npy", if_needed=True))
        self.made_once("e.h5", lambda: damier.multiply("a.npy", "b.npy", "e.h5", c="c.h5", beta=2.0, if_needed=True))
        self.made_once("f.h5", lambda: damier.multiply(damier.open(["a.npy", "a.npy"]), "b.npy", "f.h5", if_needed=True))
        self.made_once("g.h5", lambda: damier.save(damier.open("a.npy").T @ damier.open("a.npy"), "g.h5", if_needed=True))
        self.made_again("c.h5", lambda: product(alpha=2.0))
        with h5py.File("c.h5") as file:
            self.same(file["c"][...], 2 * self.a @ self.b)

    def test_inputs_that_change(self):
        def product():
            return damier.multiply("a.npy", "b.npy", "c.npy", if_needed=True)

        self.made_once("c.npy", product)
        np.save("b.npy", self.b + 1)
        self.made_again("c.npy", product)
        self.same(np.load("c.npy"), self.a @ (self.b + 1))

    def test_symmetric_products_components_and_what_is_kept(self):
        x = "data.h5:/run/a"
        for path, call in (("g.h5", lambda: damier.gram(x, "g.h5", if_needed=True)), ("v.h5", lambda: damier.cov(x, out="v.h5", if_needed=True)),
                           ("r.h5", lambda: damier.cor(x, "a.npy", "r.h5", if_needed=True)), ("p.h5", lambda: damier.pca(x, 2, "p.h5", if_needed=True)),
                           ("q.h5", lambda: damier.pca(x, 2, "q.h5", scores="s.h5", if_needed=True)),
                           ("u.h5", lambda: damier.svd(x, 2, "u.h5", if_needed=True)),
                           ("t.npz", lambda: damier.gram(x, "t.npz", of="rows", top=3, if_needed=True))):
            self.made_once(path, call)

    def test_weights_in_memory(self):
        weights = np.arange(1.0, 61.0)

        def covariances():
            return damier.cov("a.npy", out="v.npy", weights=weights, if_needed=True)

        self.made_once("v.npy", covariances)
        weights[3] = 50
        self.made_again("v.npy", covariances)
        self.same(np.load("v.npy"), np.cov(self.a.T, aweights=weights))

    def test_the_program_and_other_calls_find_it_too(self):
        damier.multiply("a.npy", "b.npy", "c.h5")
        with damier.Context(if_needed=True) as context:
            self.made_once("c.h5", lambda: context.multiply("a.npy", "b.npy", "c.h5"))
        done = subprocess.run([sys.executable, "-m", "damier", "multiply", "a.npy", "b.npy", "-o", "c.h5", "--if-needed"],
                              capture_output=True, text=True, check=True)
        self.assertIn("nothing was multiplied", done.stderr)
        self.made_once("d.h5", lambda: damier.multiply("a.npy", "b.npy", "d.h5", if_needed=True))
        subprocess.run([sys.executable, "-m", "damier", "multiply", "a.npy", "b.npy", "-o", "e.h5", "-q"], capture_output=True, check=True)
        self.made_once("e.h5", lambda: damier.multiply("a.npy", "b.npy", "e.h5", if_needed=True))

    def test_what_nothing_tells(self):
        words = "if_needed needs all matrices in files"
        for call in (lambda: damier.matmul(self.a, self.b, if_needed=True), lambda: damier.multiply(self.a, "b.npy", "c.h5", if_needed=True),
                     lambda: damier.gram(self.a, "c.h5", if_needed=True), lambda: damier.pca("a.npy", 2, if_needed=True),
                     lambda: damier.cov("a.npy", if_needed=True)):
            self.says(words, call)
        self.says("if_needed applies to products", lambda: damier.save(damier.open("a.npy")[:3], "c.h5", if_needed=True))
        self.says("did you mean if_needed=True?", lambda: damier.multiply("a.npy", "b.npy", "c.h5", skip_existing=True))
        damier.multiply("a.npy", "b.npy", "c.h5")
        self.says("cannot tell whether the product was added", lambda: damier.multiply("a.npy", "b.npy", "c.h5", c="c.h5", beta=1.0, if_needed=True))


if __name__ == "__main__":
    unittest.main()
