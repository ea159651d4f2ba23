"""A test in a folder of its own, with small matrices in files."""
import os
import tempfile
import unittest

import damier
import numpy as np

try:
    import h5py
except ImportError:  # Python without a global lock has none
    h5py = None


class FolderCase(unittest.TestCase):
    """A is 60 x 8, B 8 x 5: in a.npy and b.npy, and in data.h5:/run/a and /run/b."""

    def setUp(self):
        here, folder = os.getcwd(), tempfile.TemporaryDirectory(prefix="damier-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, here)
        os.chdir(folder.name)
        rng = np.random.default_rng(1)
        self.a, self.b = rng.standard_normal((60, 8)), rng.standard_normal((8, 5))
        np.save("a.npy", self.a)
        np.save("b.npy", self.b)
        if h5py is not None:
            with h5py.File("data.h5", "w") as file:
                file["run/a"], file["run/b"] = self.a, self.b

    def same(self, found, wanted, tolerance=1e-11):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)

    def says(self, words, call, kind=damier.Error):
        """CALL raises KIND, whose message has WORDS."""
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(words, str(caught.exception))

    def needs(self, name):
        """The package NAME; without it the test is skipped."""
        try:
            return __import__(name, fromlist=["_"])
        except ImportError:
            self.skipTest(f"{name} is not installed")
