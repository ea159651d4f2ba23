"""Vectors, by the rules of numpy.matmul."""
import unittest

import damier
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

    def test_refused(self):
        a, v = np.ones((4, 3)), np.ones(3)
        for words, operands, options in (("b is a vector", (a, v), {"op_b": "t"}), ("inner dimensions", (a, v[:2]), {}),
                                         ("other dimensions", (a, v, np.ones((4, 1))), {}), ("other dimensions", (a, v, "C.h5"), {}),
                                         ("has 1 dimension;", (a, v), {"top": 1}), ("masked", (a, np.ma.masked_equal(v, 1)), {})):
            with self.subTest(words), self.assertRaisesRegex(damier.UsageError, words):
                damier.matmul(*operands, **options)


if __name__ == "__main__":
    unittest.main()
