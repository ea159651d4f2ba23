"""damier.matmul compared with NumPy: types, shapes, strides, out and c, and refusals."""
import ctypes
import itertools
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import tempfile
import threading
import unittest

import damier
import numpy as np
import unlike_rows
from memory_use import check_growth

REAL = ("f8", "f4", "f2", "i1")
COMPLEX = ("c8", "c16")


def drawn(shape, dtype, seed=1):
    """Small integers, so that products are exact in every type."""
    r = np.random.default_rng(seed)
    x = r.integers(-3, 4, shape).astype(np.float64)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * r.integers(-3, 4, shape)
    return x.astype(dtype)


def exact(a, b):
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return a.astype(wide) @ b.astype(wide)


def bf16_bits(x):
    """Numbers that bfloat16 can represent."""
    return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


class Exported:
    """Array memory that only supports DLPack, like torch."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self):
        return self.array.__dlpack__()


class Repeated(unittest.TestCase):
    """Calls leave no memory: products in place, those through the pipeline, contexts, and refusals."""

    def test_thousand_calls(self):
        a, b, out = drawn((64, 48), "f8"), drawn((48, 72), "f8"), np.empty((64, 72))
        check_growth(self, lambda: damier.matmul(a, b, out))
        check_growth(self, lambda: damier.matmul(a, b, verify=False))
        check_growth(self, lambda: damier.matmul(a, b, out, beta=1))

    def test_contexts_and_refusals(self):
        a = drawn((32, 32), "f4")

        def refuse():
            with self.assertRaises(damier.UsageError):
                damier.matmul(a, a[1:])

        def open_and_close():
            with damier.Context(alpha=2, grid="1x1") as context:
                context.matmul(a, a)

        check_growth(self, refuse)
        check_growth(self, open_and_close)


class Gram(unittest.TestCase):
    """damier.gram of both orientations: exact, and exactly symmetric or Hermitian."""

    def test_types_and_strides(self):
        for dtype, shape in itertools.product(REAL[:2] + COMPLEX, ((1, 1), (7, 5), (130, 67), (64, 200))):
            x = drawn(shape, dtype)
            for view in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
                with self.subTest(dtype=dtype, shape=shape, strides=view.strides):
                    np.testing.assert_array_equal(damier.gram(view), exact(x.conj().T, x))
                    np.testing.assert_array_equal(damier.gram(view, of="rows"), exact(x, x.conj().T))

    def test_one_complex_observation(self):
        """A line of one element lies both by rows and by columns; results lie in either order."""
        for shape, dtype, order in itertools.product(((1, 3), (3, 1), (1, 1), (2, 5)), ("c16", "c8"), ("C", "F")):
            x = (np.arange(1, 1 + shape[0] * shape[1]) * (2 - 1j)).reshape(shape).astype(dtype)
            for of, wanted in (("columns", x.conj().T @ x), ("rows", x @ x.conj().T)):
                with self.subTest(shape=shape, dtype=dtype, order=order, of=of):
                    out = np.zeros_like(wanted, order=order)
                    np.testing.assert_array_equal(damier.gram(x, out, of=of), wanted)

    def test_random_numbers_are_symmetric(self):
        x = np.random.default_rng(3).standard_normal((90, 70))
        c = damier.gram(x)
        np.testing.assert_array_equal(c, c.T)
        np.testing.assert_allclose(c, x.T @ x, rtol=1e-12, atol=1e-12)

    def test_out_and_refusals(self):
        x, out = drawn((9, 4), "f8"), np.zeros((4, 4))
        self.assertIs(damier.gram(x, out), out)
        np.testing.assert_array_equal(out, x.T @ x)
        for wrong in ({"of": "both"}, {"beta": 1}, {"op_a": "t"}):
            with self.subTest(wrong), self.assertRaises(damier.UsageError):
                damier.gram(x, **wrong)

    def test_short_complex_sums(self):
        """Where k is 1, nothing hides the rounding of the verification's own sums, of the columns of C."""
        r = np.random.default_rng(11)
        for beta in (0, 2):
            for n in (1500, 6000):
                for _ in range(10):
                    a, b, c = (r.standard_normal(s) + 1j * r.standard_normal(s) for s in ((200, 1), (1, n), (200, n)))
                    wanted = a @ b + beta * c
                    np.testing.assert_allclose(damier.matmul(a, b, c, beta=beta), wanted, rtol=0, atol=1e-13)

    def test_old_result(self):
        for dtype in ("f8", "c16"):
            x, old = drawn((9, 40), dtype), drawn((40, 40), dtype)
            out = old = old + old.conj().T
            damier.gram(x, out := out.copy(), alpha=3, beta=-2)
            np.testing.assert_array_equal(out, 3 * exact(x.conj().T, x) - 2 * old)
            out[3, 30] += 1
            kept = out.copy()
            with self.assertRaises(damier.InputError):
                damier.gram(x, out, beta=1)
            np.testing.assert_array_equal(out, kept)
        with self.assertRaises(damier.UsageError):
            damier.gram(x, out, triangle="lower")

    def test_old_result_in_tiles(self):
        x, old = drawn((9, 2000), "f8"), drawn((2000, 2000), "f8")
        old += old.T
        out = old.copy()
        with damier.Context(alpha=3, beta=-2, memory={"host": "20MiB"}) as context:
            context.gram(x, out)
            self.assertGreater(context.record["plan"]["tiles"], 1)
            self.assertEqual(context.record["verification"]["verdict"], "PASS")
        np.testing.assert_array_equal(out, 3 * (x.T @ x) - 2 * old)


class Covariance(unittest.TestCase):
    """damier.cov and damier.cor of arrays and files: those of NumPy."""

    def test_arrays(self):
        x = np.random.default_rng(4).standard_normal((60, 7)) + 1e3
        for values, places in ((x, 12), (x.astype("f4"), 3), ((x * 50).astype("i4"), 8), (x.tolist(), 12)):
            wide = np.asarray(values, "f8")
            np.testing.assert_allclose(damier.cov(values), np.cov(wide, rowvar=False), rtol=0, atol=10.0**-places * wide.var())
            np.testing.assert_allclose(damier.cov(values, of="rows", divide="n"), np.cov(wide, bias=True), rtol=0,
                                       atol=10.0**-places * wide.var())
            np.testing.assert_allclose(damier.cor(values), np.corrcoef(wide, rowvar=False), rtol=0, atol=10.0**-places)
        z = x + 1j * x[::-1]
        np.testing.assert_allclose(damier.cov(z), np.cov(z, rowvar=False).conj(), rtol=1e-10)

    def test_correlations_have_no_divisor(self):
        x = np.random.default_rng(4).standard_normal((60, 7))
        for divide in ("1", "n", "n-1"):
            np.testing.assert_allclose(damier.cor(x, divide=divide), np.corrcoef(x, rowvar=False), rtol=1e-10)

    def test_records_name_the_product(self):
        x = np.random.default_rng(4).standard_normal((20, 3))
        for words in ({}, {"panel": 64}):
            with damier.Context(**words) as context:
                for name in ("cov", "gram", "cor"):
                    context.of_itself(name, x, None, "rows")
                    self.assertEqual(context.record["verb"], name)

    def test_inputs_of_other_kinds(self):
        rng = np.random.default_rng(3)
        x = rng.standard_normal((20, 3))
        z = x + 1j * x[::-1]
        np.testing.assert_allclose(damier.cov(z.tolist()), np.cov(z, rowvar=False).conj(), rtol=1e-10)
        with self.assertRaisesRegex(damier.UsageError, "masked"):
            damier.cov(x, weights=np.ma.masked_equal(np.arange(20), 3))
        with self.assertRaisesRegex(damier.UsageError, "grid is an array"):
            damier.gram(x, grid=np.ones(3))

    def test_constant_columns(self):
        x = np.random.default_rng(5).standard_normal((40, 5))
        x[:, 2] = 0.1
        c = damier.cor(x)
        self.assertTrue(np.isnan(c[2]).all() and np.isnan(c[:, 2]).all())
        self.assertEqual(np.isnan(c).sum(), 9)
        with damier.Context() as context:
            context.of_itself("cor", x, None, "columns")
            found = context.record["verification"]
        self.assertEqual((found["verdict"], found["rows_by_pattern"], found["cols_by_pattern"]), ("PASS", 1, 1))
        self.assertTrue(np.isnan(damier.cor(np.ones((4, 3)))).all())

    def test_files(self):
        x = np.random.default_rng(6).standard_normal((300, 20)) * 9
        with tempfile.TemporaryDirectory() as folder:
            np.save(folder + "/x.npy", x)
            record = damier.cov(folder + "/x.npy", out=folder + "/c.npy", divide="n")
            self.assertEqual(record["verification"]["verdict"], "PASS")
            np.testing.assert_allclose(np.load(folder + "/c.npy"), np.cov(x, rowvar=False, bias=True), rtol=0, atol=1e-11)
            damier.cor(folder + "/x.npy", out=folder + "/r.npy", of="rows")
            np.testing.assert_allclose(np.load(folder + "/r.npy"), np.corrcoef(x), rtol=0, atol=1e-12)
            np.testing.assert_allclose(damier.cov(folder + "/x.npy"), np.cov(x, rowvar=False), rtol=0, atol=1e-11)

    def test_refusals(self):
        x = np.ones((4, 3))
        for wrong in ({"of": "both"}, {"divide": "m"}, {"center_a": "rows"}):
            with self.subTest(wrong), self.assertRaises(damier.UsageError):
                damier.cov(x, **wrong)
        with self.assertRaises(damier.InputError):
            damier.cov(x[:1])
        for wrong, value in ((x.astype("f4"), 1e300), (x.astype("i1"), 128), (x.astype("i4"), 0.5), (x * 1j, 7)):
            with self.subTest(value), self.assertRaisesRegex(damier.InputError, "missing_value"):
                damier.gram(wrong, missing="zero", missing_value=value, **({"type": "f64"} if wrong.dtype == "i4" else {}))
        for wrong in (np.ones(3), np.array([1, 1, 1, -1.0]), np.full(4, np.nan), np.zeros(4)):
            with self.subTest(wrong), self.assertRaisesRegex(damier.InputError, "^weights"):
                damier.cov(x, weights=wrong)

    def test_weights(self):
        rng = np.random.default_rng(7)
        x, w, f = rng.standard_normal((200, 9)) + 1e3, rng.uniform(0, 1, 200), rng.integers(0, 3, 200)
        np.testing.assert_allclose(damier.cov(x, weights=w), np.cov(x, rowvar=False, aweights=w), rtol=0, atol=1e-11)
        np.testing.assert_allclose(damier.cov(x, weights=f, weights_are="frequency"), np.cov(x, rowvar=False, fweights=f), rtol=0,
                                   atol=1e-11)
        with tempfile.TemporaryDirectory() as folder:
            np.save(folder + "/w.npy", w)
            np.testing.assert_allclose(damier.matmul(x.T, x, weights=folder + "/w.npy"), (x.T * w) @ x, rtol=1e-12)

    def test_products(self):
        """Arrays that are centered and scaled are copied first, and stay as they are."""
        rng = np.random.default_rng(8)
        x = np.asfortranarray(rng.standard_normal((50, 30)) + 5)
        before = x.copy()
        np.testing.assert_allclose(damier.matmul(x, x.T, center_a="columns"), (x - x.mean(0)) @ x.T, rtol=0, atol=1e-10)
        np.testing.assert_allclose(damier.gram(x[::2, ::3], center=True, scale=True, divide="n-1"), np.corrcoef(x[::2, ::3], rowvar=False),
                                   rtol=0, atol=1e-13)
        np.testing.assert_array_equal(x, before)
        whole = rng.integers(-9, 9, (50, 30)).astype("i1")
        for words in ({"center": True}, {"scale": True}, {"missing": "mean", "missing_value": 5}):
            np.testing.assert_array_equal(damier.gram(whole, **words), damier.gram(whole.astype("f8"), **words))
        np.testing.assert_array_equal(damier.gram(whole, center=False), whole.T.astype("i4") @ whole)

    def test_missing(self):
        rng = np.random.default_rng(9)
        x = rng.standard_normal((200, 9)) + 1e3
        x[rng.random(x.shape) < 0.1] = np.nan
        with self.assertRaisesRegex(damier.InputError, f"{np.isnan(x).sum()} of its values are missing; the first is in row"):
            damier.cov(x)
        mean = np.where(np.isnan(x), np.nanmean(x, 0), x)
        np.testing.assert_allclose(damier.cov(x, missing="mean"), np.cov(mean, rowvar=False), rtol=0, atol=1e-11)
        np.testing.assert_allclose(damier.cov(x, missing="zero"), np.cov(np.nan_to_num(x), rowvar=False), rtol=1e-12)
        np.testing.assert_allclose(damier.gram(x, missing="mean"), mean.T @ mean, rtol=1e-12)
        np.testing.assert_allclose(damier.matmul(x, x.T.copy(), missing="zero"), np.nan_to_num(x) @ np.nan_to_num(x).T, rtol=1e-12)
        self.assertTrue(np.isnan(damier.cov(x, missing="nan")).all())
        z = np.where(np.isnan(x), -999, x * 9).astype("i4")
        y = np.where(z == -999, np.where(z == -999, 0, z).sum(0) / (z != -999).sum(0), z)
        np.testing.assert_allclose(damier.cov(z, missing="mean", missing_value=-999), np.cov(y, rowvar=False), rtol=1e-9)

    def test_pairwise(self):
        rng = np.random.default_rng(10)
        x = rng.standard_normal((80, 6)) + 1e3
        x[rng.random(x.shape) < 0.3] = np.nan
        x[:, 2] = np.where(np.arange(80) < 5, 7, np.nan)
        want = np.full((2, 6, 6), np.nan)
        for i, j in np.ndindex(6, 6):
            both = ~np.isnan(x[:, i]) & ~np.isnan(x[:, j])
            a, b = (x[both, c] - x[both, c].mean() for c in (i, j))
            for k, divisor in enumerate((len(a) - 1, np.sqrt((a * a).sum() * (b * b).sum()))):
                want[k, i, j] = (a * b).sum() / divisor if divisor > 0 else np.nan
        with tempfile.TemporaryDirectory() as folder:
            np.save(folder + "/x.npy", x)
            for name, k in (("cov", 0), ("cor", 1)):
                function = getattr(damier, name)
                np.testing.assert_allclose(function(x, missing="pairwise"), want[k], rtol=0, atol=1e-12)
                np.testing.assert_allclose(function(x.T.copy(), of="rows", missing="pairwise"), want[k], rtol=0, atol=1e-12)
                np.testing.assert_allclose(function(np.asfortranarray(x)[::-1], missing="pairwise"), want[k], rtol=0, atol=1e-12)
                single = function(np.nan_to_num(x, nan=-1).astype("f4"), missing="pairwise", missing_value=-1)
                self.assertEqual(single.dtype, np.float32)
                np.testing.assert_allclose(single, want[k], rtol=0, atol=1e-3)
                function(folder + "/x.npy", out=folder + "/c.h5", missing="pairwise", force=True)
                record = damier.verify(folder + "/x.npy", folder + "/x.npy", folder + "/c.h5")
                self.assertEqual(record["verification"]["verdict"], "PASS")
                function(folder + "/x.npy", out=folder + "/c.npy", missing="pairwise", force=True)
                np.testing.assert_allclose(np.load(folder + "/c.npy"), want[k], rtol=0, atol=1e-12)


class ExportedBfloat(Exported):
    """torch.bfloat16: NumPy exports 16-bit integers; then corrects the type in the structure."""

    def __dlpack__(self):
        capsule = self.array.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = get(capsule, b"dltensor")
        # data, device, dimensions, then the code of the type
        ctypes.c_uint8.from_address(tensor + ctypes.sizeof(ctypes.c_void_p) + 12).value = 4
        return capsule


class Types(unittest.TestCase):
    def test_products_of_every_type(self):
        for dtype in REAL + COMPLEX:
            a, b = drawn((33, 70), dtype), drawn((70, 19), dtype, 2)
            c = damier.matmul(a, b)
            wanted = {"f2": "f4", "i1": "i4"}.get(dtype, dtype)
            self.assertEqual(c.dtype, np.dtype(wanted))
            np.testing.assert_array_equal(c, exact(a, b), err_msg=dtype)

    def test_bfloat16_of_bits_and_of_dlpack(self):
        a, b = drawn((9, 12), "f4"), drawn((12, 5), "f4", 2)
        bits = bf16_bits(a), bf16_bits(b)
        for ab in ([damier.Rows(x, type="bf16") for x in bits], [ExportedBfloat(x) for x in bits]):
            c = damier.matmul(*ab)
            self.assertEqual(c.dtype, np.float32)
            np.testing.assert_array_equal(c, exact(a, b))
        out = np.zeros((9, 5), np.uint16)
        damier.matmul(*(damier.Rows(x, type="bf16") for x in bits), damier.Rows(out, type="bf16"))
        np.testing.assert_array_equal(out, bf16_bits(exact(a, b)))

    def test_type_of_the_result(self):
        a = drawn((4, 6), "f4")
        for stated in ("f64", np.float64, "float64"):
            self.assertEqual(damier.matmul(a, a.T, type_c=stated).dtype, np.float64)
        self.assertEqual(damier.matmul(a.astype("f2"), a.T.astype("f2"), type_c="f16").dtype, np.float16)

    def test_rounded_to_another_type(self):
        a, b = drawn((4, 6), "i4"), drawn((6, 5), "i4", 2)
        c = damier.matmul(a, b, type=np.float64)
        self.assertEqual(c.dtype, np.float64)
        np.testing.assert_array_equal(c, a @ b)
        np.testing.assert_array_equal(damier.matmul(a, b), a @ b)
        with self.assertRaisesRegex(damier.UsageError, "cannot hold exactly"):
            damier.matmul(a, b, type="f32")
        self.assertEqual(damier.matmul(*np.ones((2, 3, 3)), type="f32").dtype, np.float32)

    def test_other_byte_order_and_places(self):
        a, b = drawn((5, 7), "f8"), drawn((7, 3), "f8", 2)
        np.testing.assert_array_equal(damier.matmul(a.astype(">f8"), b), a @ b)
        raw = np.zeros(5 * 7 * 8 + 1, np.uint8)[1:].view("f8").reshape(5, 7)
        raw[...] = a
        self.assertFalse(raw.flags.aligned)
        np.testing.assert_array_equal(damier.matmul(raw, b), a @ b)

    def test_equations(self):
        a, b = drawn((6, 4), "c16"), drawn((9, 6), "c16", 2)
        c = damier.matmul(a, b, op_a="c", op_b="t", alpha=2 - 1j)
        np.testing.assert_array_equal(c, (2 - 1j) * (a.conj().T @ b.T))
        np.testing.assert_array_equal(damier.matmul(a, a, op_b="t", alpha=0), np.zeros((6, 6)))


class Shapes(unittest.TestCase):
    def test_ones(self):
        for m, n, k in np.ndindex(2, 2, 2):
            m, n, k = 1 + 6 * m, 1 + 4 * n, 1 + 8 * k
            a, b = drawn((m, k), "f8"), drawn((k, n), "f8", 2)
            np.testing.assert_array_equal(damier.matmul(a, b), a @ b, err_msg=f"{m} {n} {k}")

    def test_zeros(self):
        for m, n, k in ((0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)):
            a, b = np.ones((m, k)), np.ones((k, n))
            np.testing.assert_array_equal(damier.matmul(a, b), a @ b)
            np.testing.assert_array_equal(damier.matmul(a.T, b, op_a="t"), a @ b)
        out = np.full((2, 2), 5.0)
        damier.matmul(np.ones((2, 0)), np.ones((0, 2)), out, beta=2)
        np.testing.assert_array_equal(out, np.full((2, 2), 10.0))
        damier.matmul(np.ones((2, 0)), np.ones((0, 2)), out)
        np.testing.assert_array_equal(out, np.zeros((2, 2)))


class Blocks(unittest.TestCase):
    def test_local_shapes(self):
        """All ranks' parts, counted row by row and column by column."""
        for order, grid, first in (("R", (3, 4), (2, 1)), ("C", (3, 4), (0, 3)), ("R", (1, 1), (0, 0))):
            for shape in ((37, 23), (1, 2), (12, 8)):
                matrix = damier.BlockCyclic(None, shape, (3, 2), grid, order, first)
                for rank in range(grid[0] * grid[1]):
                    place = divmod(rank, grid[1]) if order == "R" else divmod(rank, grid[0])[::-1]
                    owned = tuple(sum((i // block + start) % parts == at for i in range(size))
                                  for size, block, parts, start, at in zip(shape, (3, 2), grid, first, place))
                    self.assertEqual(matrix.local_shape(rank), owned)
                self.assertEqual(matrix.local_shape(grid[0] * grid[1]), (0, 0))

    def test_refused(self):
        x = np.ones((4, 4))
        for words in ({"blocks": (0, 2)}, {"grid": (2, 1)}, {"first": (1, 0)}, {"shape": (4, 5)}):
            stated = {"shape": (4, 4), "blocks": (2, 2), "grid": (1, 1)} | words
            with self.assertRaises(damier.UsageError):
                damier.matmul(damier.BlockCyclic(x, **stated), x)
        with self.assertRaises(damier.UsageError):
            damier.BlockCyclic(x, (4, 4), (2, 2), (1, 1), order="row")


class Strides(unittest.TestCase):
    def views(self, x):
        rows, cols = x.shape
        wide = np.zeros((2 * rows, 3 * cols), x.dtype)
        wide[::2, ::3] = x
        flipped = np.ascontiguousarray(x[::-1, ::-1])
        return {"C": x, "Fortran": np.asfortranarray(x), "slice": wide[::2, ::3], "upwards": flipped[::-1, ::-1],
                "one way": np.ascontiguousarray(x[:, ::-1])[:, ::-1], "transposed": np.ascontiguousarray(x.T).T}

    def test_operands(self):
        a, b = drawn((21, 34), "f8"), drawn((34, 13), "f8", 2)
        for name, view in self.views(a).items():
            before = view.copy()
            np.testing.assert_array_equal(damier.matmul(view, b), a @ b, err_msg=name)
            np.testing.assert_array_equal(view, before, err_msg=name)
        for name, view in self.views(b).items():
            np.testing.assert_array_equal(damier.matmul(a, view), a @ b, err_msg=name)

    def test_repeated_rows(self):
        row = drawn((1, 34), "f8")
        a, b = np.broadcast_to(row, (21, 34)), drawn((34, 13), "f8", 2)
        np.testing.assert_array_equal(damier.matmul(a, b), a @ b)

    def test_results(self):
        a, b = drawn((21, 34), "f8"), drawn((34, 13), "f8", 2)
        for name, out in self.views(np.full((21, 13), 7.0)).items():
            self.assertIs(damier.matmul(a, b, out), out)
            np.testing.assert_array_equal(out, a @ b, err_msg=name)
            damier.matmul(a, b, out, alpha=2, beta=-1)
            np.testing.assert_array_equal(out, a @ b, err_msg=name)

    def test_what_lies_between_is_left_alone(self):
        base = np.full((8, 12), 7.0)
        out = base[1:5:2, 2:11:4]
        damier.matmul(np.ones((2, 3)), np.ones((3, 3)), out)
        self.assertEqual(base.sum(), 7.0 * (8 * 12 - 6) + 3.0 * 6)

    def test_memory_is_used_where_it_lies(self):
        from damier._arrays import plain
        x = drawn((6, 8), "f8")
        for view in (x, x.T, x[1::2, ::3], np.asfortranarray(x)):
            self.assertIs(plain(view)[0], view)
        self.assertIsNot(plain(x[::-1])[0], x)

    def test_result_that_is_an_operand(self):
        a = drawn((12, 12), "f8")
        wanted = a @ a
        damier.matmul(a, a, a)
        np.testing.assert_array_equal(a, wanted)

    def test_result_that_overlaps_an_operand(self):
        """The library never gets memory of C that also belongs to A or B."""
        seen, multiply = [], damier._library.library.damier_multiply

        def watch(handle, a, b, c, error):
            seen.append([m._obj.data for m in (a, b, c)])
            return multiply(handle, a, b, c, error)

        base, b = drawn((24, 12), "f8"), drawn((12, 12), "f8", 2)
        wanted = base[:12] @ b - base[6:18]
        damier._library.library.damier_multiply = watch
        self.addCleanup(setattr, damier._library.library, "damier_multiply", multiply)
        damier.matmul(base[:12], b, base[6:18], beta=-1)
        np.testing.assert_array_equal(base[6:18], wanted)
        (at_a, _, at_c), = seen
        self.assertEqual(at_a, base.ctypes.data)
        self.assertFalse(base.ctypes.data <= at_c < base.ctypes.data + base.nbytes)


class Sums(unittest.TestCase):
    def setUp(self):
        self.a, self.b = drawn((5, 8), "f8"), drawn((8, 6), "f8", 2)
        self.c = drawn((5, 6), "f8", 3)

    def test_old_c_stays(self):
        before = self.c.copy()
        np.testing.assert_array_equal(damier.matmul(self.a, self.b, c=self.c), before + self.a @ self.b)
        np.testing.assert_array_equal(damier.matmul(self.a, self.b, c=self.c, beta=-2),
                                      self.a @ self.b - 2 * before)
        np.testing.assert_array_equal(self.c, before)

    def test_old_c_of_another_type(self):
        """The type of the result does not depend on it."""
        for ab, of_c, words, of_result in (("f8", "f4", {}, "f8"), ("f4", "f8", {}, "f4"), ("f8", "f8", {"type_c": "f32"}, "f4"),
                                           ("f2", "f2", {}, "f4"), ("c8", "f4", {}, "c8"), ("i1", "i1", {}, "i4")):
            a, b, c = self.a.astype(ab), self.b.astype(ab), self.c.astype(of_c)
            for shape in ((5, 6), (1, 5, 6)):
                with self.subTest(ab=ab, of_c=of_c, shape=shape):
                    made = damier.matmul(a.reshape(*shape[:-2], 5, 8), b, c=c.reshape(shape), beta=2, **words)
                    self.assertEqual((made.dtype, made.shape), (np.dtype(of_result), shape))
                    np.testing.assert_array_equal(made, (exact(a, b) + 2 * self.c).reshape(shape))

    def test_old_c_and_out(self):
        before, out = self.c.copy(), np.asfortranarray(np.zeros((5, 6)))
        damier.matmul(self.a, self.b, out, c=self.c)
        np.testing.assert_array_equal(out, before + self.a @ self.b)
        damier.matmul(self.a, self.b, self.c, c=self.c)
        np.testing.assert_array_equal(self.c, out)

    def test_one_context_for_several(self):
        with damier.Context() as context:
            first = context.matmul(self.a, self.b, c=self.c)
            second = context.matmul(self.a, self.b)
            out = np.full((5, 6), np.nan)
            context.matmul(self.a, self.b, out)
        np.testing.assert_array_equal(first - second, self.c)
        np.testing.assert_array_equal(second, self.a @ self.b)
        np.testing.assert_array_equal(out, second)


class Again(unittest.TestCase):
    """Calls like an earlier one."""

    def test_options_in_a_dictionary(self):
        """In a program that has kept no context yet, and in threads, which each keep their own."""
        code = "import numpy as np, damier; print(damier.matmul(np.eye(2), np.eye(2), memory={'host': '1GiB'}).sum())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "2.0\n", done.stderr)

    def test_threads_share_a_context(self):
        wrong = []

        def multiply(number, context):
            for turn in range(40):
                a = np.full((5, 5), float(number + turn))
                made = context.matmul(a, a) - context.matmul(a, a, c=np.eye(5))
                if not np.array_equal(made, -np.eye(5)):
                    wrong.append((number, turn))

        with damier.Context() as context:
            threads = [threading.Thread(target=multiply, args=(number, context)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def setUp(self):
        self.a, self.b = drawn((6, 4), "f8"), drawn((4, 5), "f8", 2)

    def test_other_elements(self):
        with damier.Context() as context:
            for shift in range(3):
                self.assertTrue(np.array_equal(context.matmul(self.a + shift, self.b), (self.a + shift) @ self.b))
                self.assertEqual(context.record["problem"]["m"], 6)

    def test_other_kinds(self):
        with damier.Context() as context:
            for a in (self.a, self.a.astype("f4"), np.asfortranarray(self.a), self.a[:3], self.a[::-1]):
                b = self.b.astype(a.dtype)
                for _ in range(2):
                    c = context.matmul(a, b)
                    self.assertEqual((c.dtype, c.shape), (a.dtype, (len(a), 5)))
                    self.assertTrue(np.allclose(c, a @ b, rtol=1e-5, atol=1e-5))

    def test_out_that_is_refused_or_overlaps(self):
        square = drawn((4, 4), "f8")
        with damier.Context() as context:
            out = np.empty((4, 4))
            context.matmul(square, square, out)
            expected = square @ square
            fixed = np.zeros((4, 4))
            fixed.flags.writeable = False
            with self.assertRaises(damier.UsageError):
                context.matmul(square, square, fixed)
            context.matmul(square, square, square)
            self.assertTrue(np.allclose(square, expected))

    def test_beta_reads_out(self):
        out = np.zeros((6, 5))
        with damier.Context(beta=1.0) as context:
            for times in (1, 2, 3):
                context.matmul(self.a, self.b, out)
                self.assertTrue(np.allclose(out, times * (self.a @ self.b)))

    def test_record_outlives_the_context(self):
        with damier.Context() as context:
            context.matmul(self.a, self.b)
        self.assertEqual(context.record["verification"]["verdict"], "PASS")


class OtherLibraries(unittest.TestCase):
    def test_dlpack_without_a_copy(self):
        a, b, out = drawn((5, 8), "f4"), drawn((8, 6), "f4", 2), np.zeros((5, 6), "f4")
        given = Exported(out)
        self.assertIs(damier.matmul(Exported(a), Exported(b), given), given)
        np.testing.assert_array_equal(out, a @ b)

    def test_empty_batches_by_dlpack(self):
        a, b = np.zeros((2, 3, 0)), np.zeros((0, 4))
        exported = [Exported(x) for x in (a, b)]
        for x, y in zip(exported, (a, b)):
            x.shape = y.shape
        np.testing.assert_array_equal(damier.matmul(*exported), np.zeros((2, 3, 4)))

    def test_lists(self):
        x = drawn((2, 3, 3), "f8")
        np.testing.assert_array_equal(damier.matmul(x.tolist(), x[0].tolist()), x @ x[0])
        np.testing.assert_array_equal(damier.matmul([[1.0, 2.0]], [[3.0], [4.0]]), [[11.0]])
        with self.assertRaisesRegex(damier.UsageError, "no writable memory"):
            damier.matmul(np.ones((1, 1)), np.ones((1, 1)), [[0.0]])

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        a, out = torch.ones(3, 4), torch.zeros(3, 3)
        self.assertIs(damier.matmul(a, a.T, out), out)
        self.assertEqual(out.tolist(), [[4.0] * 3] * 3)
        half = torch.ones(3, 4, dtype=torch.bfloat16)
        np.testing.assert_array_equal(damier.matmul(half, half.T), np.full((3, 3), 4.0))
        with self.assertRaisesRegex(damier.UsageError, "negates its elements"):
            damier.matmul(torch.ones(3, 4, dtype=torch.complex64).conj().imag, a.T)
        with self.assertRaisesRegex(damier.UsageError, "has no gradient"):
            damier.gram(a.requires_grad_())


class Negated:
    """Array memory whose elements are those of the memory times -1, as of torch's x.conj().imag."""

    def __init__(self, array):
        self.array = array

    def is_neg(self):
        return True

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self):
        return self.array.__dlpack__()


class Refused(unittest.TestCase):
    def refused(self, words, *operands, **options):
        with self.assertRaisesRegex(damier.UsageError, words) as caught:
            damier.matmul(*operands, **options)
        self.assertEqual(caught.exception.code, 2)
        self.assertTrue(caught.exception.agreed)
        return caught.exception

    def test_batches(self):
        x = np.ones((2, 3, 3))
        for words in ({"center_a": "columns"}, {"scale_a": "rows"}, {"missing": "mean"}):
            self.refused("not centered", x, x[0], **words)
        self.refused("a distribution", damier.Rows(x), x)

    def test_negated(self):
        x = np.ones((3, 3))
        self.refused("resolve_neg", Negated(x), x)
        self.refused("resolve_neg", x, x, Negated(x.copy()))

    def test_shapes(self):
        x = np.ones((3, 4))
        self.refused("the inner dimensions differ", x, x)
        self.refused("the inner dimensions differ", x, x.T, op_a="t")
        self.refused("out is 4 x 3, the product 3 x 3", x, x.T, np.ones((4, 3)))
        self.refused("c is 1 x 3", x, x.T, c=np.ones((1, 3)))
        self.assertTrue(self.refused("dimensions", 1.0, x).hint)

    def test_types(self):
        x = np.ones((3, 3))
        for dtype in ("O", "f16", "U1"):
            self.refused("elements of", np.ones((3, 3)).astype(dtype), x)
        self.refused("a is f64 and b is f32", x, x.astype("f4"), strict_types=True)
        self.refused("cannot be read as", damier.Rows(x, type="bf16"), x)
        self.refused("differ in type", x, x, x.copy(), c=x.astype("f4"))
        self.refused("none of", x, x, type_c="f128")
        frozen = x.copy()
        frozen.flags.writeable = False
        self.refused("read-only", x, x, frozen)

    def test_masks(self):
        x = np.arange(9.0).reshape(3, 3)
        masked = np.ma.masked_equal(x, 4)
        for operands in ((masked, x), (x, damier.Rows(masked)), (x, x, masked)):
            self.assertIn("filled", self.refused("1 masked elements", *operands).hint)
        self.refused("c has 1 masked", x, x, c=masked)
        for whole in (np.ma.masked_equal(x, 99), np.ma.array(x, mask=np.zeros((3, 3), bool)), np.matrix(x)):
            c = damier.matmul(whole, x)
            self.assertIs(type(c), np.ndarray)
            np.testing.assert_array_equal(c, x @ x)
        np.testing.assert_array_equal(damier.matmul(masked.filled(0), x), masked.filled(0) @ x)
        out = np.ma.zeros((3, 3))
        self.assertIs(damier.matmul(x, x, out), out)
        np.testing.assert_array_equal(out.data, x @ x)

    def test_masks_elsewhere(self):
        """Functions that copy an array must not drop its mask."""
        x = np.arange(18.0).reshape(2, 3, 3)
        masked = np.ma.masked_equal(x, 4)
        for call in (lambda: damier.matmul(masked, x), lambda: damier.matmul(x, masked), lambda: damier.matmul(x[0], masked),
                     lambda: damier.matmul(x, x, c=masked), lambda: damier.cov(masked[0]), lambda: damier.cor(masked[0]),
                     lambda: damier.gram(masked[0]), lambda: damier.matmul(list(masked[0]), x[0])):
            with self.assertRaisesRegex(damier.UsageError, "1 masked"):
                call()
        whole = np.ma.masked_equal(x, 99)
        np.testing.assert_array_equal(damier.matmul(whole, x), x @ x)
        np.testing.assert_allclose(damier.cov(whole[0]), np.cov(x[0].T))

    def test_arrays_of_variables(self):
        """What becomes a masked array, as variables of netCDF4, whose mask is an option."""
        class Variable:  # pylint: disable=too-few-public-methods
            mask, shape = True, (2, 2)

            def __init__(self, array, **attributes):
                self.array, self.attrs = array, attributes

            def __array__(self, dtype=None, copy=None):
                return self.array

        x = np.arange(4.0).reshape(2, 2)
        self.refused("a has 1 masked", Variable(np.ma.masked_equal(x, 3)), x)
        self.refused("'scale_factor'", Variable(x, scale_factor=0.1), x)
        self.refused("'_FillValue'", x, Variable(x, units="K", _FillValue=-1))
        np.testing.assert_array_equal(damier.matmul(Variable(np.ma.masked_equal(x, 9), units="K"), x), x @ x)

    def test_masks_of_others(self):
        class Other:
            """An array beside its mask, as of other libraries."""
            mask = np.array([[True, False]])

            def __array__(self, dtype=None, copy=None):
                return np.ones((1, 2))

        self.refused("a has 1 masked", Other(), np.ones((2, 1)))

    def test_units(self):
        class Quantity(np.ndarray):
            """As in astropy."""
            unit = "m"

        x = np.ones((3, 3))
        lengths = x.view(Quantity)
        self.assertIn(".value", self.refused("b is in m", x, lengths).hint)
        lengths.unit = ""
        np.testing.assert_array_equal(damier.matmul(x, lengths), x @ x)

    def test_tables_and_sparse_matrices(self):
        class Sparse:
            nnz = 3
            def toarray(self):
                return np.eye(3)
        x = np.ones((3, 3))
        self.assertIn("toarray()", self.refused("b is a sparse matrix", x, Sparse()).hint)
        self.assertIn("select_dtypes", self.refused("elements of object", x, np.full((3, 3), "word", object)).hint)

    def test_arrays_in_place_of_files(self):
        with self.assertRaisesRegex(damier.UsageError, "a location in a file is needed") as caught:
            damier.multiply(np.ones((3, 3)), np.ones((3, 3)), np.ones((3, 3)))
        self.assertIn("damier.matmul", caught.exception.hint)

    def test_options(self):
        x = np.ones((3, 3))
        self.assertIn("grid", self.refused("no option 'gird'", x, x, gird="1x1x1").hint)
        self.assertIn("damier.options", self.refused("no option 'quxx'", x, x, quxx=1).hint)
        self.refused("op_a", x, x, op_a="q")
        self.refused("neither out nor c", x, x, beta=1)
        self.refused("must be real", x, x, alpha=1j)
        self.refused("zero byte", x, x, kernel="a\0b")
        self.refused("mpi4py", x, x, comm=3)

    def test_unlike_rows(self):
        a, cases = unlike_rows.factors()
        with damier.Context(allow_unchecked=True) as context:
            for what, b, spoiled, wanted in cases:
                with self.subTest(what):
                    np.testing.assert_array_equal(context.matmul(a, b), wanted)
                    unlike_rows.check(self, context.record["verification"], spoiled)

    def test_not_finite(self):
        """NaN and Inf of A and B pass as NumPy has them, and are counted, wherever the matrices are."""
        x, b = drawn((30, 20), "f8", 1), drawn((20, 25), "f8", 2)
        for value in (np.nan, np.inf):
            a = x.copy()
            a[3, 4] = value
            for dtype in ("f8", "f4", "f2") + (("c16",) if np.isnan(value) else ()):
                of_a, of_b = a.astype(dtype), b.astype(dtype)
                with damier.Context() as context, self.subTest(value=value, dtype=dtype):
                    with np.errstate(invalid="ignore"):
                        wanted = of_a.astype(np.result_type(dtype, "f4")) @ of_b.astype(np.result_type(dtype, "f4"))
                    np.testing.assert_allclose(context.matmul(of_a, of_b), wanted, rtol=1e-3, atol=1e-3)
                    self.assertEqual(self.counted(context), ("PASS", 1, 0))
                    np.testing.assert_allclose(context.matmul(of_a, of_b, c=np.ones_like(wanted)), wanted + 1, rtol=1e-3, atol=1e-3)
            with damier.Context() as context:
                np.testing.assert_allclose(context.gram(a), a.T @ a)
                self.assertEqual(self.counted(context), ("PASS", 1, 1))
            out = np.ones((30, 25))
            with tempfile.TemporaryDirectory() as folder, damier.Context() as context:
                np.save(f"{folder}/spoiled.npy", a)
                np.testing.assert_allclose(context.matmul(damier.Stored(f"{folder}/spoiled.npy"), b), a @ b)
                self.assertEqual(self.counted(context), ("PASS", 1, 0))
            with damier.Context(beta=2) as context:
                np.testing.assert_allclose(context.matmul(a, b, out), a @ b + 2)
                self.assertEqual(self.counted(context), ("PASS", 1, 0))

    @staticmethod
    def counted(context):
        found = context.record["verification"]
        return found["verdict"], found["rows_by_pattern"], found["cols_by_pattern"]

    def test_extreme(self):
        """Exponents that squares do not hold are verified in memory as in files."""
        a, b = 1e-170 * drawn((30, 20), "f8", 1), 1e-150 * drawn((20, 25), "f8", 2)
        with damier.Context() as context:
            np.testing.assert_allclose(context.matmul(a, b), a @ b, atol=1e-320)
            self.assertEqual(self.counted(context), ("PASS", 0, 0))

    def test_overflow(self):
        """What C's type does not hold is said, whether the sums, alpha or the rounding overflow."""
        x = 1e3 * np.ones((20, 20))
        half, single = x.astype("f2"), x.astype("f4")
        for a, options in ((half, {"type_c": "f16"}), (single, {"type_c": "f16"}), (x, {"alpha": 1e303}), (1e200 * x, {})):
            with damier.Context(allow_unchecked=True, **options) as context, self.subTest(**options):
                self.assertTrue(np.isinf(context.matmul(a, a)).all())
                self.assertEqual(context.record["verification"]["rows_left_out"], 20)
        with damier.Context(type_c="f16") as context:
            self.assertTrue(np.isfinite(context.matmul(half / 1e3, half)).all())
            self.assertEqual(context.record["verification"]["verdict"], "PASS")

    def test_other_codes(self):
        x = np.ones((64, 64))
        x[0] = 1e308
        with self.assertRaises(damier.UncheckedError) as caught:
            damier.matmul(x, x, allow_unchecked=False)
        for _ in range(2):  # the second call is like the first
            with self.assertWarnsRegex(damier.UncheckedWarning, r"of C could be verified \(NaN or Inf in 1 row\)") as warned:
                self.assertTrue(np.isinf(damier.matmul(x, x)[0]).all())
            self.assertEqual(warned.filename, __file__)
        self.assertEqual(caught.exception.code, 10)
        self.assertIn(caught.exception.record["verification"]["verdict"], ("PARTIAL", "UNCHECKED"))
        self.assertTrue(np.isinf(damier.matmul(x, x, allow_unchecked=True)[0]).all())
        with self.assertRaises(damier.DeviceError):
            damier.matmul(x, x, backend="cuda", threads=1)

    def test_result_that_does_not_fit(self):
        wide = np.broadcast_to(1.0, (1, 1 << 40))
        with self.assertRaisesRegex(damier.FitError, "no memory for a result"):
            damier.plan(wide, wide, op_a="t")

    def test_errors_can_be_sent(self):
        error = damier.FitError("too large", hint="less", rank=3, agreed=False, record={"verb": "multiply"})
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), again.message, again.hint, again.code, again.rank, again.agreed, again.record),
                         (damier.FitError, "too large", "less", 5, 3, False, {"verb": "multiply"}))


class Overlap(unittest.TestCase):
    """All operands in one another's memory, in all orientations."""

    VIEWS = {"x": lambda x: x, "x.T": lambda x: x.T, "x[::-1]": lambda x: x[::-1], "x.T[:, ::-1]": lambda x: x.T[:, ::-1]}

    def test_out_and_old_c(self):
        for (name, seen), (old_name, old_seen) in itertools.product(self.VIEWS.items(), repeat=2):
            for out_of, old_of in itertools.product("abo", repeat=2):
                memory = {x: drawn((9, 9), "f8") for x in "abo"}
                out, c = seen(memory[out_of]), old_seen(memory[old_of])
                expected = memory["a"] @ memory["b"] + c
                damier.matmul(memory["a"], memory["b"], out=out, c=c)
                np.testing.assert_array_equal(out, expected, f"out is {name} of {out_of}, c {old_name} of {old_of}")

    def test_parts_that_interleave(self):
        for left, right in ((np.s_[:, ::2], np.s_[:, 1::2]), (np.s_[:, :9], np.s_[:, 9:])):
            x, b = drawn((9, 18), "f8"), drawn((9, 9), "f8")
            a = x[left].copy()
            damier.matmul(x[left], b, out=x[right])
            np.testing.assert_array_equal(x[right], a @ b)
            np.testing.assert_array_equal(x[left], a)

    def test_windows(self):
        windows = np.lib.stride_tricks.sliding_window_view(drawn((1, 17), "f8")[0], 9)
        np.testing.assert_array_equal(damier.matmul(windows, windows), windows @ windows)

    def test_out_without_places(self):
        a = drawn((4, 4), "f8")
        for strides in ((0, 8), (8, 0), (8, 8), (-8, 8)):
            out = np.lib.stride_tricks.as_strided(np.zeros(9)[4:], (4, 4), strides)
            with self.assertRaisesRegex(damier.UsageError, "have the same place"):
                damier.matmul(a, a, out=out)


class NoK(unittest.TestCase):
    def test_zeros(self):
        for kind in ("f8", "f4", "f2", "c8", "c16", "i1"):
            a, b = np.zeros((3, 0), kind), np.zeros((0, 2), kind)
            c = damier.matmul(a, b)
            self.assertEqual((c.shape, np.count_nonzero(c)), ((3, 2), 0))
            np.testing.assert_array_equal(damier.matmul(b, a, op_a="t", op_b="t").T, c)

    def test_old_c(self):
        a, b, c = np.zeros((3, 0)), np.zeros((0, 2)), drawn((3, 2), "f8")
        out = c.copy()
        damier.matmul(a, b, out, beta=3)
        np.testing.assert_array_equal(out, 3 * c)
        np.testing.assert_array_equal(damier.matmul(a, b, c=c), c)

    def test_empty_results(self):
        self.assertEqual(damier.matmul(np.zeros((0, 3)), np.zeros((3, 2))).shape, (0, 2))


class Locale(unittest.TestCase):
    def test_decimal_comma(self):
        code = """import locale, numpy as np, damier
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.str(0.5) == "0,5"
seen = []
a = np.ones((2, 200))
c = damier.matmul(a, a, op_b="t", alpha=0.5, memory="host=1.5GiB", panel=64, progress=lambda *_: seen.append(locale.str(0.5)))
assert c[0, 0] == 100 and set(seen) == {"0,5"}, (c, seen)
np.save("a.npy", a)
record = damier.multiply("a.npy", "a.npy", "c.h5", op_b="t", alpha=0.25)
assert record["verification"]["norm"] == 100, record
assert damier.verify("a.npy", "a.npy", "c.h5")["verification"]["verdict"] == "PASS"
assert locale.str(0.5) == "0,5"
"""
        with tempfile.TemporaryDirectory() as folder:
            if shutil.which("localedef"):
                subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"], capture_output=True, check=False)
            if not os.path.isfile(f"{folder}/de_DE.UTF-8/LC_NUMERIC"):
                self.skipTest("localedef cannot make a locale here")
            done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False,
                                  env=dict(os.environ, LOCPATH=folder))
            self.assertEqual(done.returncode, 0, done.stderr)


class Progress(unittest.TestCase):
    def setUp(self):
        self.a = drawn((8, 64 * 30), "f8")
        self.large = drawn((256, 64 * 100), "f8")

    def product(self, progress, out=None, a=None):
        a = self.a if a is None else a
        return damier.matmul(a, a, out, op_b="t", panel=64, progress=progress)

    def test_told(self):
        told = []
        c = self.product(lambda done, total: told.append((done, total)))
        np.testing.assert_array_equal(c, self.a @ self.a.T)
        self.assertGreater(len(told), 2)
        self.assertEqual({total for _, total in told}, {30})
        self.assertEqual(told, sorted(told))

    def test_stopped(self):
        out = np.full((256, 256), 7.0)
        with self.assertRaises(damier.StoppedError) as caught:
            self.product(lambda done, total: time.sleep(0.01) is None, out, self.large)
        self.assertEqual(caught.exception.code, 75)
        self.assertEqual(out.min(), 7.0)

    def test_interrupted(self):
        calls = []

        def press(done, total):
            calls.append(done)
            time.sleep(0.01)
            if len(calls) == 2:
                os.kill(os.getpid(), signal.SIGINT)

        out = np.full((256, 256), 7.0)
        with self.assertRaises(KeyboardInterrupt):
            self.product(press, out, self.large)
        self.assertEqual(out.min(), 7.0)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        np.testing.assert_array_equal(self.product(None), self.a @ self.a.T)

    def test_exceptions_pass(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            self.product(lambda done, total: 1 // 0)


if __name__ == "__main__":
    unittest.main()
