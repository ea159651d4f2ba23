"""Whole numbers, booleans and tables: taken as NumPy and pandas take them, where that is exact."""
import itertools
import importlib
import os
import tempfile
import unittest
import warnings

import damier
import numpy as np

WHOLE = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4")


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def drawn(shape, dtype, seed=1):
    return np.random.default_rng(seed).integers(0, 2 if dtype == "?" else 50, shape).astype(dtype)


class Numbers(unittest.TestCase):
    def test_products(self):
        for one in WHOLE:
            for other in (*WHOLE, "f2", "f4", "f8", "c8", "c16"):
                a, b = drawn((6, 5), one), drawn((5, 4), other, 2)
                with self.subTest(a=one, b=other):
                    wanted = a.astype("c16") @ b.astype("c16")
                    for c, want in ((damier.matmul(a, b), wanted), (damier.matmul(b.T, a.T), wanted.T)):
                        np.testing.assert_array_equal(c, want)
                        common = np.result_type(one, other)
                        kind = "i4" if one == other == "i1" else "f8" if common.kind in "biu" else "f4" if common == "f2" else common
                        self.assertEqual(c.dtype, kind)

    def test_promotion(self):
        floats = ("f2", "f4", "f8", "c8", "c16")
        rng = np.random.default_rng(5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for one in floats:
                for other in floats:
                    m, k, n = map(int, rng.integers(1, 9, 3))
                    a, b = rng.integers(-9, 9, (m, k)).astype(one), rng.integers(-9, 9, (k, n)).astype(other)
                    with self.subTest(a=one, b=other):
                        c = damier.matmul(a, b)
                        np.testing.assert_array_equal(c, a.astype("c16") @ b.astype("c16"))
                        common = np.result_type(one, other)
                        self.assertEqual(c.dtype, "f4" if common == "f2" else common)
            a, b = np.ones((3, 2), "f4"), np.ones((2, 3))
            with damier.Context() as context:
                for _ in range(2):  # a second call is like the first
                    np.testing.assert_array_equal(context.matmul(a, b), a @ b)
                self.assertIn({"kind": "applied", "text": "A: f32 is multiplied as f64"}, context.record["warnings"])
            bits = damier.Rows(np.full((2, 2), 0x3f80, "u2"), type="bf16")  # of ones
            for other, kind in (("f2", "f4"), ("f8", "f8"), ("i1", "f4"), ("i4", "f8")):
                c = damier.matmul(bits, np.ones((2, 2), other))
                self.assertEqual((c.dtype, c[0, 0]), (kind, 2))
            np.testing.assert_allclose(damier.cov(a, b.T[:3], missing="zero"), np.zeros((2, 2)))
        for x, y in ((a, b), (drawn((3, 2), "i8"), drawn((2, 3), "i8")), (np.ones((3, 2), "c8"), b)):
            with self.assertRaisesRegex(damier.UsageError, "a is .* and b is .*"):
                damier.matmul(x, y, strict_types=True)
        with self.assertRaisesRegex(damier.UsageError, "x is int64"):
            damier.gram(drawn((3, 2), "i8"), strict_types=True)

    def test_others(self):
        x = drawn((7, 5), "i8")
        wanted = x.T.astype("f8") @ x
        np.testing.assert_array_equal(damier.gram(x), wanted)
        np.testing.assert_array_equal(damier.gram(x.astype("i1")), wanted)
        self.assertEqual(damier.gram(x.astype("i1")).dtype, np.int32)
        np.testing.assert_array_equal(damier.matmul(x.tolist(), x.T.tolist()), x @ x.T)
        np.testing.assert_array_equal(damier.matmul(x, x.T, c=np.eye(7, dtype=int)), x @ x.T + np.eye(7))
        np.testing.assert_array_equal(damier.matmul(x, x.T, damier.matmul(x, x.T), beta=1), 2 * (x @ x.T))
        np.testing.assert_array_equal(damier.matmul(np.stack([x, x]), x.T), np.stack([x @ x.T] * 2))
        np.testing.assert_array_equal(damier.matmul(x[::-1, ::2], x.T[::2]), x[::-1, ::2] @ x.T[::2])
        np.testing.assert_allclose(damier.cov(x.astype("i1")), np.cov(x, rowvar=False))
        with damier.Context() as context:  # a second call looks at the numbers again
            for k in range(3):
                np.testing.assert_array_equal(context.matmul(x + k, x.T), (x + k) @ x.T)
                y = x.copy()
                y[0, 0] = 7 * k
                np.testing.assert_array_equal(context.gram(y), y.T @ y)

    def test_stored(self):
        x = drawn((7, 5), "i2")
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(folder, "x.npy")
            np.save(place, x)
            np.testing.assert_array_equal(damier.matmul(damier.Stored(place), x.T), x @ x.T)
            np.testing.assert_array_equal(damier.matmul(damier.Stored(place), damier.Stored(place), op_b="t"), x @ x.T)
            np.testing.assert_array_equal(damier.matmul(damier.Stored(place), x.T.astype("f4")), x @ x.T)

    def test_exact_integers(self):
        """type='i32' and 'i64' of arrays: exact, or refused; never wrong."""
        kinds = ("i1", "i2", "i4", "i8", ">i4", "u1", "u2", "u4", "u8", "?")
        for (first, second), type_, (m, n, k) in zip(itertools.product(kinds, kinds), itertools.cycle(("i32", "i64")),
                                                     itertools.cycle(((3, 4, 5), (1, 1, 1), (130, 7, 257), (9, 200, 33), (4, 3, 0)))):
            a, b = drawn((m, k), first), drawn((k, n), second)
            want = a.astype("i8") @ b.astype("i8")
            found = damier.matmul(a, b, type=type_)
            self.assertEqual(found.dtype, np.dtype("i4" if type_ == "i32" else "i8"))
            np.testing.assert_array_equal(found, want, f"{first} {second} {type_}")
            np.testing.assert_array_equal(damier.matmul(a[::-1].T, b[::-1], type=type_, op_a="t"), a[::-1].astype("i8") @ b[::-1].astype("i8"))
        x = drawn((3, 5, 70, 6), "u2")
        np.testing.assert_array_equal(damier.matmul(x, x.swapaxes(2, 3), type="i64"), x.astype("i8") @ x.swapaxes(2, 3).astype("i8"))
        np.testing.assert_array_equal(damier.gram(x[0, 0], type=np.int64), x[0, 0].astype("i8").T @ x[0, 0].astype("i8"))
        out = np.zeros((5, 5), "i8")
        self.assertIs(damier.matmul(np.eye(5, dtype="i2") * 3, np.eye(5, dtype="u4"), out, type="i64"), out)
        np.testing.assert_array_equal(out, 3 * np.eye(5, dtype="i8"))
        with tempfile.TemporaryDirectory() as place:
            np.save(f"{place}/a.npy", x[0, 0])
            np.testing.assert_array_equal(damier.matmul(f"{place}/a.npy", x[0, 0].T, type="i64"), x[0, 0].astype("i8") @ x[0, 0].T.astype("i8"))

    def test_integers_that_do_not_fit(self):
        large, eye = np.full((2, 2), 2**26), np.eye(2, dtype=int)
        np.testing.assert_array_equal(damier.matmul(large, large // 2, type="i64"), large @ (large // 2))
        for a, b, type_, message in ((large, large, "i64", "may not be below 2.53"), (large, large, "i32", "may not fit i32"),
                                     (eye * 1.0, eye, "i64", "whole numbers"), (eye + 2**53, eye, "i64", "cannot hold exactly|may not be below")):
            with self.assertRaisesRegex(damier.Error, message):
                damier.matmul(a, b, type=type_)
        for more in ({"alpha": 2}, {"center_a": "rows"}, {"beta": 1, "c": eye}, {"top": 1}):
            with self.assertRaises(damier.UsageError):
                damier.matmul(eye, eye, type="i64", **more)

    def test_refused(self):
        x = np.array([[2**53 + 1, 1]])
        for call in (damier.gram, damier.cov, lambda y: damier.matmul(y, y.T)):
            with self.assertRaisesRegex(damier.UsageError, "9007199254740993, which f64 cannot hold exactly"):
                call(x)
        np.testing.assert_array_equal(damier.gram(x - 1), (x - 1).T.astype("f8") @ (x - 1))
        with self.assertRaisesRegex(damier.UsageError, "a holds 16777217, which f32 cannot hold exactly"):
            damier.matmul(np.full((2, 2), 2**24 + 1), np.eye(2, dtype=int), type="f32")
        self.assertEqual(damier.matmul(np.full((2, 2), 2**24 + 1), np.eye(2, dtype=int), type="f32", allow_rounding=True).dtype, np.float32)
        self.assertEqual(damier.matmul(np.eye(2, dtype=int), np.eye(2, dtype=int), type="i8").dtype, np.int32)
        with self.assertRaisesRegex(damier.UsageError, "which i8 cannot hold"):
            damier.matmul(np.full((2, 2), 128), np.eye(2, dtype=int), type="i8")
        for call, type_ in itertools.product((damier.cov, damier.cor), ("i8", "i32", "i64")):  # as the program
            with self.assertRaisesRegex(damier.UsageError, f"no whole numbers in {type_}"):
                call(np.arange(12).reshape(4, 3), type=type_)
        with self.assertRaisesRegex(damier.UsageError, "elements of int64"):
            damier.matmul(np.eye(2), np.eye(2), np.zeros((2, 2), int))
        with self.assertRaisesRegex(damier.UsageError, "elements of object"):
            damier.gram(np.array([["a", 1]], object))


@unittest.skipIf(package("pandas") is None, "pandas is not installed")
class Frames(unittest.TestCase):
    def setUp(self):
        self.pandas = package("pandas")
        self.x = drawn((40, 4), "i8")

    def frames(self):
        floats = self.pandas.DataFrame(self.x.astype("f8"))
        yield from (self.pandas.DataFrame(drawn((40, 4), kind)) for kind in ("?", "i1", "i4", "i8", "u2", "f4", "f8"))
        yield from (floats.astype(kind) for kind in ("Float64", "Int64", "Float32", "UInt8"))
        yield floats.assign(n=self.x[:, 0])
        yield floats.assign(n=self.x[:, 0] > 20)
        yield floats.astype("f4").assign(n=self.pandas.array(self.x[:, 1], dtype="Int16"))

    def test_frames(self):
        for frame in self.frames():
            with self.subTest(types=set(map(str, frame.dtypes))):
                x = frame.to_numpy("f8")
                np.testing.assert_allclose(damier.cov(frame), np.cov(x, rowvar=False), rtol=1e-5)
                np.testing.assert_allclose(damier.matmul(frame, x.T.astype("i8")), x @ x.T, rtol=1e-5)
                np.testing.assert_allclose(damier.gram(frame), x.T @ x, rtol=1e-5)

    def test_missing(self):
        frame = self.pandas.DataFrame(self.x).astype("Int64")
        frame.iloc[3, 1] = self.pandas.NA
        with self.assertRaisesRegex(damier.UsageError, "1 values of column '1' of x are missing"):
            damier.cov(frame)
        with self.assertRaisesRegex(damier.UsageError, "missing= says"):
            damier.matmul(frame, self.x.T)
        x = frame.to_numpy("f8", na_value=np.nan)
        np.testing.assert_allclose(damier.cov(frame, missing="pairwise"), frame.cov().to_numpy("f8"))
        np.testing.assert_allclose(damier.matmul(frame, self.x.T, missing="zero"), np.nan_to_num(x) @ self.x.T)

    def test_refused(self):
        frame = self.pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        with self.assertRaisesRegex(damier.UsageError, "column 'b' of x has elements of"):
            damier.cov(frame)
        large = self.pandas.DataFrame({"a": [1.5, 2], "b": [2**60 + 1, 1]})
        with self.assertRaisesRegex(damier.UsageError, "column 'b' of x holds"):
            damier.cov(large)


@unittest.skipIf(package("polars") is None or package("pyarrow") is None, "polars or pyarrow is not installed")
class Tables(unittest.TestCase):
    def test_tables(self):
        polars, arrow = package("polars"), package("pyarrow")
        x = drawn((40, 3), "i8")
        columns = {"a": x[:, 0], "b": x[:, 1].astype("f8"), "c": x[:, 2] > 20}
        wanted = np.cov(np.stack([np.asarray(one, "f8") for one in columns.values()]))
        gaps = {"a": [1, None, *range(38)], "b": [2.0] * 39 + [5.0]}
        for make in (polars.DataFrame, arrow.table):
            with self.subTest(make), warnings.catch_warnings():
                np.testing.assert_allclose(damier.cov(make(columns)), wanted)
                with self.assertRaisesRegex(damier.UsageError, "1 values of column 'a' of x are missing"):
                    damier.cov(make(gaps))
                self.assertTrue(np.isnan(damier.cov(make(gaps), missing="nan")[0]).all())


if __name__ == "__main__":
    unittest.main()
