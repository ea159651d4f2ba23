"""Vectors, by the rules of numpy.matmul."""
import os
import tempfile
import unittest

import damier
import h5py
import numpy as np

KINDS = ("f8", "f4", "c16", "i1", "i8")


def drawn(rng, shape, kind):
    return rng.integers(-5, 5, shape).astype(kind)


class Lines(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(7)

    def same(self, c, want):
        self.assertEqual(np.shape(c), np.shape(want))
        np.testing.assert_array_equal(c, want)

    def test_products(self):
        for one in KINDS:
            for other in KINDS:
                m, k, n = map(int, self.rng.integers(1, 9, 3))
                a, b = drawn(self.rng, (m, k), one), drawn(self.rng, (k, n), one)
                v, w = drawn(self.rng, k, other), drawn(self.rng, k, one)
                with self.subTest(matrix=one, vector=other, shape=(m, k, n)):
                    for x, y in ((a, v), (v, b), (v, w), (np.stack([a, -a]), v), (v, np.stack([b, -b, b])), (a[:, ::-1], v[::-1])):
                        self.same(damier.matmul(x, y), np.matmul(x.astype("c16"), y.astype("c16")))
        self.assertEqual(type(damier.matmul(np.ones(3), np.ones(3))), np.float64)
        self.same(damier.matmul([[1.0, 2.0]], [3.0, 4.0]), np.array([11.0]))
        self.same(damier.matmul(np.ones((0, 3)), np.ones(3)), np.ones(0))
        self.same(damier.matmul(np.ones((2, 0)), np.ones(0)), np.zeros(2))

    def test_equation(self):
        a, v, u = drawn(self.rng, (4, 3), "f8"), drawn(self.rng, 3, "f8"), drawn(self.rng, 4, "f8")
        self.same(damier.matmul(a, v, c=u, alpha=2), 2 * a @ v + u)
        self.same(damier.matmul(a, u, op_a="t"), a.T @ u)
        out = np.ones(8)[::2]
        self.assertIs(damier.matmul(a, v, out, beta=3), out)
        self.same(out, a @ v + 3)
        out = np.zeros(())
        damier.matmul(v, v, out)
        self.same(out, np.asarray(v @ v))
        out = np.zeros((2, 3))
        damier.matmul(u, np.stack([a, a]), out)
        self.same(out, np.stack([u @ a] * 2))
        with damier.Context() as context:
            for k in range(3):
                self.same(context.matmul(a + k, v), (a + k) @ v)
                self.same(context.matmul(u + k, a), (u + k) @ a)

    def test_in_files(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        a, v, u = drawn(self.rng, (5, 4), "f8"), drawn(self.rng, 4, "f8"), drawn(self.rng, 5, "f8")
        for name, x in (("A", a), ("v", v), ("u", u)):
            np.save(f"{name}.npy", x)
        with h5py.File("x.h5", "w") as file:
            file["A"], file["v"], file["u"] = a, v, u
        for x, y, want in (("A.npy", "v.npy", a @ v), ("u.npy", "A.npy", u @ a), ("v.npy", "v.npy", v @ v), ("A.npy", v, a @ v), (a, "v.npy", a @ v),
                           ("u.npy", a, u @ a), (v, "v.npy", v @ v), ("x.h5:/A", "x.h5:/v", a @ v), ("x.h5:/A[2]", "x.h5:/v", a[2] @ v),
                           (np.stack([a, -a]), "x.h5:/v", np.stack([a @ v, -a @ v]))):
            with self.subTest(a=str(x), b=str(y)):
                self.same(damier.matmul(x, y), want)
        self.same(damier.matmul("A.npy", "x.h5:/u", op_a="t"), a.T @ u)
        self.same(damier.matmul("A.npy", "v.npy", op_b="t"), a @ v)
        self.same(damier.matmul("A.npy", "v.npy", as_column=True), (a @ v)[:, None])
        self.same(damier.matmul("A.npy", "v.npy", c=u, alpha=2), 2 * a @ v + u)
        out = np.ones(5)
        self.assertIs(damier.matmul("A.npy", "v.npy", out), out)
        self.same(out, a @ v)
        for x in ("A.npy", a):
            damier.matmul(x, "v.npy", "y.npy", force=True)
            self.same(np.load("y.npy"), a @ v)
        product = damier.open("A.npy") @ damier.open("x.h5:/v")
        self.assertEqual((damier.open("v.npy").shape, product.shape), ((4,), (5,)))
        self.same(product.compute(), a @ v)
        with h5py.File("x.h5") as file, damier.Context() as context:
            self.same(context.matmul(file["A"], file["v"]), a @ v)
            self.same(context.matmul(file["u"], file["A"]), u @ a)
        for words, operands in (("inner dimensions", ("A.npy", "u.npy")), ("has 1 dimension, beside a batch", ("T.npy", "v.npy"))):
            np.save("T.npy", np.stack([a, a]))
            with self.subTest(words), self.assertRaisesRegex(damier.Error, words):
                damier.matmul(*operands)

    def test_refused(self):
        a, v = np.ones((4, 3)), np.ones(3)
        for words, operands, options in (("b is a vector", (a, v), {"op_b": "t"}), ("inner dimensions", (a, v[:2]), {}),
                                         ("other dimensions", (a, v, np.ones((4, 1))), {}), ("other dimensions", (a, v, "C.h5"), {}),
                                         ("has 1 dimension;", (a, v), {"top": 1}), ("masked", (a, np.ma.masked_equal(v, 1)), {})):
            with self.subTest(words), self.assertRaisesRegex(damier.UsageError, words):
                damier.matmul(*operands, **options)


if __name__ == "__main__":
    unittest.main()
