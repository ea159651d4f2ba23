"""Products on several GPUs of this process: arrays in host memory, and files. With a library whose GPUs are emulated."""
import os
import pathlib
import tempfile
import unittest

os.environ["EMULATED_GPUS"] = "3"

import numpy as np  # noqa: E402

import damier  # noqa: E402


def matrix(rows, cols, seed=1, dtype="f8"):
    return np.random.default_rng(seed).standard_normal((rows, cols)).astype(dtype)


class SeveralGpus(unittest.TestCase):
    def test_arrays(self):
        with damier.Context(gpus=3) as context:
            for m, k, n in ((300, 200, 100), (7, 5, 3), (1, 400, 1), (257, 129, 511)):
                a, b = matrix(m, k), matrix(k, n, 2)
                np.testing.assert_allclose(context.matmul(a, b), a @ b, rtol=0, atol=1e-11)
                self.assertEqual(context.record["machine"]["ranks"], 3)

    def test_all_else(self):
        a, b, c = matrix(90, 70), matrix(90, 70, 2), matrix(70, 70, 3)
        with damier.Context(gpus=2, op_a="t", alpha=2, beta=0.5) as context:
            out = c.copy()
            self.assertIs(context.matmul(a, b, out), out)
            np.testing.assert_allclose(out, 2 * a.T @ b + 0.5 * c, rtol=0, atol=1e-12)
            np.testing.assert_allclose(context.matmul(a, b, c=c), 2 * a.T @ b + 0.5 * c, rtol=0, atol=1e-12)
        np.testing.assert_allclose(damier.matmul(a, b, op_a="t", gpus=2), a.T @ b, rtol=0, atol=1e-12)
        np.testing.assert_allclose(damier.gram(a, gpus=3), a.T @ a, rtol=0, atol=1e-12)
        whole = np.asfortranarray(matrix(60, 60))
        np.testing.assert_allclose(damier.matmul(whole, whole[::-1], gpus=2), whole @ whole[::-1], rtol=0, atol=1e-12)

    def test_same_bits(self):
        a, b = matrix(300, 280), matrix(280, 270, 2)
        bits = {damier.matmul(a, b, gpus=n, reproducible=True, backend="cuda").tobytes() for n in (1, 2, 3)}
        self.assertEqual(len(bits), 1)

    def test_files(self):
        a, b = matrix(120, 80), matrix(80, 60, 2)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            np.save(folder / "a.npy", a)
            np.save(folder / "b.npy", b)
            with damier.Context(gpus=2) as context:
                record = context.multiply(folder / "a.npy", folder / "b.npy", folder / "c.h5")
                self.assertEqual(record["machine"]["ranks"], 2)
                self.assertTrue(context.verify(folder / "a.npy", folder / "b.npy", folder / "c.h5"))
                context.info(folder / "c.h5")

    def test_errors(self):
        with self.assertRaisesRegex(damier.DeviceError, "4 GPUs are more than the 3"):
            damier.Context(gpus=4)
        for gpus in (0, -1, 65, "2", True):
            with self.assertRaisesRegex(damier.UsageError, "not a number of GPUs"):
                damier.Context(gpus=gpus)
        with damier.Context(gpus=2) as context:
            with self.assertRaises(damier.UsageError):
                context.matmul(matrix(3, 4), matrix(3, 4))
            with self.assertRaises(damier.FileError):
                context.info("absent.h5")
            a = matrix(20, 30)
            np.testing.assert_allclose(context.matmul(a, a.T), a @ a.T, rtol=0, atol=1e-12)  # still works

    def test_progress(self):
        with self.assertRaises(damier.StoppedError):
            damier.matmul(matrix(400, 900), matrix(900, 400), gpus=2, panel=64, progress=lambda done, total: True)


if __name__ == "__main__":
    unittest.main()
