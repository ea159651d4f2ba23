"""What is kept of products of arrays that are not stored, compared with NumPy."""
import os
import tempfile
import unittest

import damier
import h5py
import numpy as np


def drawn(shape, dtype="f8", seed=1):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def best(c, count, self_too=True):
    c = c.astype(float)
    if not self_too:
        np.fill_diagonal(c, -np.inf)
    order = np.argsort(-c, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(c, order, 1), order


class Reduced(unittest.TestCase):
    def check_top(self, found, c, count, self_too=True):
        values, indices = best(c, count, self_too)
        np.testing.assert_array_equal(found.values, values)
        np.testing.assert_array_equal(found.indices, indices)

    def tight(self):
        """Memory for a process and little more."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.npy")
            np.save(path, np.eye(64))
            record = damier.multiply(path, path, os.path.join(folder, "c.npy"))
        return f"host={(record['memory']['host_process_bytes'] >> 20) + 12}MiB"

    def test_layouts(self):
        """Arrays of any type and order, and parts of larger ones."""
        for dtype in ("f8", "f4", "i1", "i8", "?"):
            a, b = drawn((40, 22), dtype), drawn((44, 90), dtype, 2)[::2, ::3]
            c = a.astype(float) @ b.astype(float)
            for one in (a, np.asfortranarray(a), a[:, ::-1][:, ::-1]):
                self.check_top(damier.matmul(one, b, top=4), c, 4)
        self.check_top(damier.multiply(a, b.T, op_b="t", top=100), c, 100)
        self.check_top(damier.multiply(a, b, top=5, each="column"), c.T, 5)

    def test_tiles(self):
        """In tiles, the elements are those of the product; ties everywhere."""
        x = drawn((3000, 30), "f4")
        c = x.astype("f8") @ x.T
        with damier.Context(memory=self.tight(), top=6, no_self=True) as context:
            found = context.gram(x, of="rows")
            self.assertGreater(context.record["reduction"]["tiles"], 3)
        self.check_top(found, c, 6, self_too=False)
        with damier.Context(memory=self.tight(), top=3) as context:
            self.check_top(context.matmul(x, np.asfortranarray(x[:2500].T)), c[:, :2500], 3)
            self.assertGreater(context.record["reduction"]["tiles"], 3)

    def test_sparse(self):
        x = drawn((30, 50), "f4")
        c = damier.gram(x)
        for each in ("row", "column"):
            found = damier.gram(x, above=9, each=each)
            at = np.repeat(np.arange(50), np.diff(found.indptr))
            np.testing.assert_array_equal(np.argwhere(c > 9), np.stack([at, found.indices], 1))
            np.testing.assert_array_equal(found.data, c[c > 9])
        try:
            import scipy.sparse
        except ImportError:
            return
        np.testing.assert_array_equal(scipy.sparse.csr_array(found, shape=c.shape).toarray(), np.where(c > 9, c, 0))

    def test_numbers(self):
        a, b = drawn((9, 5)), drawn((5, 7))
        c = a @ b
        for name in ("max", "min", "argmax", "argmin", "sum", "mean"):
            np.testing.assert_allclose(damier.matmul(a, b, reduce=name), getattr(np, name)(c, axis=1), err_msg=name)
        np.testing.assert_array_equal(damier.matmul(a, b, reduce="diagonal"), np.diag(c))

    def test_several(self):
        a, b = drawn((9, 5)), drawn((5, 7))
        found = damier.matmul(a, b, top=2, below=0, reduce="max,argmax")
        self.assertEqual(sorted(found), ["argmax", "below", "max", "top"])
        self.check_top(found["top"], a @ b, 2)
        np.testing.assert_array_equal(found["max"], (a @ b).max(1))
        np.testing.assert_array_equal(found["argmax"], (a @ b).argmax(1))
        np.testing.assert_array_equal(found["below"].data, (a @ b)[a @ b < 0])

    def test_distances(self):
        x, y = drawn((30, 5)), drawn((20, 5), seed=2)
        d = np.sqrt(((x[:, None] - y[None]).astype("f8") ** 2).sum(2))
        got = damier.matmul(x, y, op_b="t", metric="euclidean")
        np.testing.assert_allclose(got, d, rtol=1e-12)
        self.assertEqual(got[d == 0].max(initial=0), 0)
        near = damier.matmul(x, y, op_b="t", metric="rbf:0.5", top=3)
        np.testing.assert_allclose(near.values, best(np.exp(-0.5 * d * d), 3)[0], rtol=1e-12)
        for dtype in ("f4", "i2"):
            z = drawn((40, 7), dtype)
            c = ((z[:, None].astype("f8") - z[None]) ** 2).sum(2)
            with damier.Context(memory=self.tight(), metric="sqeuclidean") as context:
                np.testing.assert_allclose(context.of_itself("gram", z, None, "rows"), c, atol=1e-12)
            out = np.empty((40, 40))
            damier.gram(z, out, of="rows", metric="sqeuclidean")
            np.testing.assert_allclose(out, c, atol=1e-12)

    def test_plan(self):
        record = damier.plan(np.ones((300, 5)), np.ones((5, 400)), top=7, reduce="max")["reduction"]
        self.assertEqual((record["tiles"], record["result_bytes"], record["flop"]), (1, 300 * (7 * 16 + 8), 2 * 300 * 400 * 5))

    def test_statistics(self):
        """Means and deviations are those of all rows, whatever the tiles; some values are missing."""
        x = np.random.default_rng(3).normal(size=(60, 1600)) + 5
        for options in ({}, {"weights": np.arange(1.0, 61.0)}, {"missing": "mean"}):
            if "missing" in options:
                x[3, ::7] = np.nan
            c = damier.cov(x, **options)
            with damier.Context(memory=self.tight(), top=3, **options) as context:
                found = context.of_itself("cov", x, None, "columns")
                self.assertGreater(context.record["reduction"]["tiles"], 3)
            np.testing.assert_allclose(found.values, best(c, 3)[0], rtol=1e-12)
            np.testing.assert_allclose(np.take_along_axis(c, found.indices, 1), found.values, rtol=1e-12)
        y = x[:, 100:120]
        found, c = damier.cor(x, y, top=2, missing="mean"), damier.cor(x, y, missing="mean")
        np.testing.assert_allclose(found.values, best(c, 2)[0], rtol=1e-12)

    def test_files(self):
        """Files to arrays, and arrays to a file."""
        x = drawn((40, 20))
        with tempfile.TemporaryDirectory() as folder:
            path, out = os.path.join(folder, "x.h5"), os.path.join(folder, "r.h5")
            with h5py.File(path, "w") as file:
                file["x"] = x
            for product in (damier.gram, damier.cov, damier.cor):
                np.testing.assert_allclose(product(path, top=3).values, product(x, top=3).values)
            self.check_top(damier.multiply(path, x.T, top=3), x @ x.T, 3)
            record = damier.multiply(x, x, out, op_b="t", top=2)
            self.assertEqual(record["verification"]["verdict"], "PASS")
            with h5py.File(out) as file:
                np.testing.assert_array_equal(file["c/indices"], best(x @ x.T, 2)[1])

    def test_nan(self):
        """What cannot be verified is a warning; NaN is left out."""
        x = drawn((6, 5))
        x[2, 2] = np.nan
        found = damier.matmul(x, np.eye(5), top=5)
        self.assertEqual(found.indices[2].tolist(), [-1] * 5)
        self.assertTrue(np.isnan(found.values[2]).all())
        with self.assertWarns(damier.UncheckedWarning):
            found = damier.gram(np.full((3, 3), 1e200), top=2)
        self.assertEqual(found.indices.tolist(), [[0, 1]] * 3)

    def test_refusals(self):
        x = drawn((6, 6))
        for call in (lambda: damier.multiply(x, x), lambda: damier.matmul(x, x, out=x.copy(), top=2), lambda: damier.matmul(x, x, c=x, top=2),
                     lambda: damier.matmul(x, x, beta=1, top=2), lambda: damier.matmul(np.stack([x, x]), x, top=2),
                     lambda: damier.matmul(x + 1j, x + 1j, top=2), lambda: damier.matmul(x, x, top=0),
                     lambda: damier.matmul(x, x, by="abs"), lambda: damier.gram(x, top=1, reduce="median")):
            with self.assertRaises(damier.UsageError):
                call()
        with self.assertRaises(damier.FitError):
            damier.gram(x, above=-1e9, max_elements=3)


if __name__ == "__main__":
    unittest.main()
