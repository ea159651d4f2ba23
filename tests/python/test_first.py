"""One product of arrays and one of files, compared with NumPy: begin here."""
import pathlib
import tempfile
import unittest

import damier
import h5py
import numpy as np


class First(unittest.TestCase):
    def setUp(self):
        self.a = np.arange(12.0).reshape(3, 4)  # whole numbers: C must be exact
        self.b = np.arange(20.0).reshape(4, 5)

    def test_arrays(self):
        np.testing.assert_array_equal(damier.matmul(self.a, self.b), self.a @ self.b)

    def test_files(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, values in (("A.h5", self.a), ("B.h5", self.b)):
                with h5py.File(folder / file, "w") as made:
                    made["x"] = values
            damier.multiply(folder / "A.h5", folder / "B.h5", folder / "C.h5")
            with h5py.File(folder / "C.h5") as made:
                np.testing.assert_array_equal(made["c"][:], self.a @ self.b)


if __name__ == "__main__":
    unittest.main()
