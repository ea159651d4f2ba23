"""damier.matmul of arrays in GPU memory, compared with NumPy. Usage: on_gpu.py emulated|cuda, or native, which prints how
exact a product is. Uses the memory of the emulated device in DAMIER_LIBRARY, or the CUDA runtime library; neither CuPy nor
torch is needed."""
import contextlib
import ctypes
import itertools
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import damier
import h5py
import numpy as np
import unlike_rows
from gpu_arrays import BOTH, ByDlpack, ByInterface
from memory_use import check_growth, host

SKIPPED = 77


def of_pairs(x):
    """pandas' DataFrame.cov() and corr(min_periods=1)."""
    want = np.full((2, x.shape[1], x.shape[1]), np.nan)
    for i, j in np.ndindex(want.shape[1:]):
        both = ~np.isnan(x[:, i]) & ~np.isnan(x[:, j])
        a, b = (x[both, c] - x[both, c].mean() if both.any() else x[both, c] for c in (i, j))
        for k, divisor in enumerate((len(a) - 1, np.sqrt((a * a).sum() * (b * b).sum()))):
            want[k, i, j] = (a * b).sum() / divisor if divisor > 0 else np.nan
    return want


Work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Emulated:
    """Memory of tests/emulated/emulated_memory.h."""

    class Stream(ctypes.Structure):
        _fields_ = [("work", Work), ("context", ctypes.c_void_p)]

    def __init__(self):
        self.library = ctypes.CDLL(os.environ["DAMIER_LIBRARY"])
        self.library.emulated_reach.restype = ctypes.c_void_p
        self.library.emulated_reach.argtypes = [ctypes.c_void_p, ctypes.c_int64]
        self.library.emulated_alloc.restype = ctypes.c_void_p
        self.library.emulated_alloc.argtypes = [ctypes.c_int64, ctypes.c_void_p]
        self.library.emulated_move.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.library.emulated_release.argtypes = [ctypes.c_void_p]
        self.library.emulated_room.restype = ctypes.c_int64
        self.library.emulated_room.argtypes = [ctypes.c_bool]

    def allocate(self, size):
        memory = ctypes.c_void_p()
        assert self.library.emulated_alloc(size, ctypes.byref(memory)) is None
        return memory.value

    def write(self, pointer, data):
        ctypes.memmove(self.library.emulated_reach(pointer, data.nbytes), data.ctypes.data, data.nbytes)

    def read(self, data, pointer):
        ctypes.memmove(data.ctypes.data, self.library.emulated_reach(pointer, data.nbytes), data.nbytes)

    def release(self, given):
        self.library.emulated_release(given.pointer)

    def leave(self, size):
        """From now on so many bytes may be allocated in addition; None: any number."""
        os.environ["EMULATED_MEMORY"] = str(1 << 40)
        used = (1 << 40) - self.library.emulated_room(True)
        os.environ["EMULATED_MEMORY"] = str(used + (size or 0))
        if size is None:
            del os.environ["EMULATED_MEMORY"]

    def used(self):
        return host()

    def write_later(self, pointer, data):
        """A stream whose copy is still pending."""
        self.work = Work(lambda _: self.write(pointer, data))
        self.stream = self.Stream(self.work, None)
        return ctypes.addressof(self.stream)


class Cuda:
    """Memory of libcudart, on GPU 0."""

    DELAY = 1 << 30  # bytes, copied repeatedly: half a second

    def __init__(self):
        names = ("libcudart.so", "libcudart.so.13", "libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so")
        self.library = next(filter(None, map(self.loaded, names)), None)
        count = ctypes.c_int()
        if self.library is None or self.library.cudaGetDeviceCount(ctypes.byref(count)) != 0 or count.value == 0:
            print("no GPU, or no libcudart")
            sys.exit(SKIPPED)
        self.call("cudaSetDevice", 0)

    @staticmethod
    def loaded(name):
        try:
            return ctypes.CDLL(name)
        except OSError:
            return None

    def call(self, name, *words):
        code = getattr(self.library, name)(*words)
        assert code == 0, f"{name}: {code}"

    def allocate(self, size):
        memory = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(memory), ctypes.c_size_t(size))
        return memory.value

    def copy(self, to, of, size):
        self.call("cudaMemcpy", ctypes.c_void_p(to), ctypes.c_void_p(of), ctypes.c_size_t(size), 4)  # direction from the addresses

    def write(self, pointer, data):
        self.copy(pointer, data.ctypes.data, data.nbytes)

    def read(self, data, pointer):
        self.copy(data.ctypes.data, pointer, data.nbytes)

    def release(self, given):
        self.call("cudaFree", ctypes.c_void_p(given.pointer))

    def used(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return host() + (total.value - free.value,)

    def write_later(self, pointer, data):
        stream, source, room = ctypes.c_void_p(), self.allocate(data.nbytes), self.allocate(2 * self.DELAY)
        self.call("cudaStreamCreateWithFlags", ctypes.byref(stream), 1)  # does not wait for default streams
        self.write(source, data)
        later = [(room, room + self.DELAY, self.DELAY)] * 1000 + [(pointer, source, data.nbytes)]
        for to, of, size in later:
            self.call("cudaMemcpyAsync", ctypes.c_void_p(to), ctypes.c_void_p(of), ctypes.c_size_t(size), 3, stream)
        return stream.value


def drawn(shape, dtype, seed):
    x = np.random.default_rng(seed).integers(-3, 4, shape)
    return (x + 1j * x[::-1] if np.dtype(dtype).kind == "c" else x).astype(dtype)


def rounded_right(gpu):
    """Which part of a product's elements is the exact sum, rounded once; elements have 26 bits, so products are exact."""
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-2**25, 2**25, shape).astype("f8") for shape in ((1024, 4096), (4096, 1024)))
    given = [ByDlpack(gpu.allocate(x.nbytes), x.shape, x.dtype) for x in (a, b, np.empty((1024, 1024)))]
    for x, there in zip((a, b), given):
        gpu.write(there.pointer, x)
    damier.matmul(*given)
    c = np.empty((1024, 1024))
    gpu.read(c, given[2].pointer)
    places = rng.integers(0, 1024, (2000, 2))
    return np.mean([c[i, j] == math.fsum(a[i] * b[:, j]) for i, j in places])


class OnGpu(unittest.TestCase):
    gpu = None  # Emulated or Cuda

    def put(self, kind, array, by_columns=False, pad=0, **words):
        """ARRAY's elements with PAD other ones, of value 9, after each line."""
        lines = np.pad(array.T if by_columns else array, ((0, 0), (0, pad)), constant_values=9)
        lines = np.ascontiguousarray(lines)
        strides = (1, lines.shape[1]) if by_columns else (lines.shape[1], 1)
        given = kind(self.gpu.allocate(lines.nbytes), array.shape, array.dtype, strides, **words)
        given.lines = lines
        self.gpu.write(given.pointer, lines)
        return given

    def get(self, given):
        """The current elements; checks that the surroundings are unchanged."""
        lines = np.empty_like(given.lines)
        self.gpu.read(lines, given.pointer)
        by_columns = given.strides[0] == 1 and given.strides[1] != 1
        length = given.shape[0 if by_columns else 1]
        self.assertTrue((lines[:, length:] == given.lines[:, length:]).all())
        return lines[:, :length].T if by_columns else lines[:, :length]

    def setUp(self):
        self.a, self.b, self.c = drawn((37, 23), "f8", 1), drawn((23, 41), "f8", 2), drawn((37, 41), "f8", 3)
        self.wanted = self.a @ self.b

    def test_gram(self):
        """Where the arrays are, in either order; nothing around C is written."""
        for dtype, verify, by_columns, of in itertools.product(("f8", "c8"), (True, False), (False, True), ("columns", "rows")):
            x = drawn((43, 29), dtype, 4)
            wanted = x.conj().T @ x if of == "columns" else x @ x.conj().T
            out = self.put(BOTH[0], np.zeros_like(wanted), by_columns, 2)
            damier.gram(self.put(BOTH[1], x, not by_columns, 3), out, of=of, verify=verify)
            with self.subTest(dtype=dtype, verify=verify, by_columns=by_columns, of=of):
                np.testing.assert_array_equal(self.get(out), wanted)

    def test_reductions(self):
        """What is kept of products of such arrays, in host memory for packages that make no arrays; distances, too."""
        x = drawn((50, 9), "f4", 6)
        c = (x @ x.T).astype("f8")
        order = np.argsort(-c, axis=1, kind="stable")[:, :3]
        for kind, by_columns in itertools.product(BOTH, (False, True)):
            there = self.put(kind, x, by_columns, 2)
            found = damier.gram(there, of="rows", top=3)
            np.testing.assert_array_equal(found.indices, order)
            np.testing.assert_array_equal(found.values, np.take_along_axis(c, order, 1))
            self.get(there)
            self.gpu.release(there)
        one, other = self.put(BOTH[0], self.a), self.put(BOTH[1], self.b, True)
        np.testing.assert_array_equal(damier.matmul(one, other, reduce="max", each="column"), self.wanted.max(0))
        near = damier.gram(one, of="rows", metric="sqeuclidean", below=60)
        d = ((self.a[:, None] - self.a[None]) ** 2).sum(2)
        np.testing.assert_array_equal(np.diff(near.indptr), (d < 60).sum(1))
        found = damier.cor(one, top=2, no_self=True)
        r = np.corrcoef(self.a.T) - 2 * np.eye(self.a.shape[1])
        np.testing.assert_allclose(found.values[:, 0], r.max(1), rtol=1e-12)
        self.gpu.release(one)
        self.gpu.release(other)

    def test_gram_in_blocks(self):
        """Sizes with several blocks below the diagonal, some of them lower than the others."""
        outs = {"f2": "f4", "i1": "i4"}
        large = (8452,) if isinstance(self.gpu, Cuda) else ()
        for n, by_columns, dtype in [*itertools.product((1300, 2560, 3000, *large), (False, True), ("f4",)),
                                     *itertools.product((255, 513, 1028), (False, True), ("f8", "f2", "c8", "c16", "i1"))]:
            x = drawn((20, n), dtype, n)
            wide = x.astype("f8") if dtype in outs else x
            wanted = (wide.conj().T @ wide).astype(outs.get(dtype, dtype))
            there, out = self.put(BOTH[1], x, not by_columns, 4), self.put(BOTH[0], np.zeros_like(wanted), by_columns, 4)
            damier.gram(there, out)
            with self.subTest(n=n, by_columns=by_columns, dtype=dtype):
                np.testing.assert_array_equal(self.get(out), wanted)
            self.gpu.release(there)
            self.gpu.release(out)

    def test_gram_of_many_rows(self):
        """k is divided: exact whole numbers; and sums of 16-bit products of one sign, which units cut off, are right to 1e-5."""
        outs = {"f2": "f4"}
        for (k, n), of, dtype in [*itertools.product(((4001, 300), (9000, 513)), ("columns", "rows"), ("f8", "f4", "c16", "c8", "f2")),
                                  *itertools.product(((3600, 1), (30011, 60), (9007, 1100)), ("columns",), ("f8", "f2"))]:
            x = drawn((k, n) if of == "columns" else (n, k), dtype, n)
            wide = x.astype("f8") if dtype in outs else x
            wanted = (wide.conj().T @ wide if of == "columns" else wide @ wide.conj().T).astype(outs.get(dtype, dtype))
            there, out = self.put(BOTH[1], x, n % 2 == 1, 8), self.put(BOTH[0], np.zeros_like(wanted), False, 4)
            damier.gram(there, out, of=of, alpha=-2)
            with self.subTest(k=k, n=n, of=of, dtype=dtype):
                np.testing.assert_array_equal(self.get(out), -2 * wanted)
            self.gpu.release(there)
            self.gpu.release(out)
        x = np.random.default_rng(1).uniform(0.5, 1.5, (60000, 70)).astype("f2")
        there, out = self.put(BOTH[1], x), self.put(BOTH[0], np.zeros((70, 70), "f4"))
        damier.gram(there, out)
        wanted = x.astype("f8").T @ x.astype("f8")
        self.assertLess(abs(np.mean(self.get(out) / wanted - 1)), 1.1e-5)

    def test_covariances(self):
        """Centered, scaled, weighted and filled copies of arrays that stay as they are."""
        rng = np.random.default_rng(6)
        x = rng.standard_normal((300, 17)) * 3 + 20
        x[:, 5] = 2.5
        gaps, w = np.where(rng.random(x.shape) < 0.1, np.nan, x), rng.uniform(0.1, 2, len(x))
        filled = np.where(np.isnan(gaps), np.nanmean(gaps, 0), gaps)
        with np.errstate(all="ignore"):
            correlations = np.corrcoef(x, rowvar=False)
        wants = [("cov", x, {}, np.cov(x, rowvar=False)), ("cor", x, {}, correlations),
                 ("cov", x, {"of": "rows", "divide": "n"}, np.cov(x, bias=True)),
                 ("cov", x, {"weights": w}, np.cov(x, rowvar=False, aweights=w)),
                 ("cov", gaps, {"missing": "mean"}, np.cov(filled, rowvar=False)),
                 ("cov", filled, {"missing": "pairwise"}, np.cov(filled, rowvar=False)),
                 ("gram", x, {"center": True}, np.cov(x, rowvar=False) * (len(x) - 1))]
        for (name, values, words, want), dtype, by_columns in itertools.product(wants, ("f8", "f4"), (False, True)):
            values = values.astype(dtype)
            there, out = self.put(BOTH[by_columns], values, by_columns, 3), self.put(BOTH[0], want.astype(dtype), not by_columns, 2)
            with self.subTest(name=name, words=words, dtype=dtype, by_columns=by_columns):
                bound = (1e-11 if dtype == "f8" else 1e-4) * np.nanmax(np.abs(want))
                getattr(damier, name)(there, out=out, **words)
                np.testing.assert_allclose(self.get(out), want, rtol=0, atol=bound)
                np.testing.assert_allclose(getattr(damier, name)(there, **words), want, rtol=0, atol=bound)
                np.testing.assert_array_equal(self.get(there), values)
        b = self.put(BOTH[1], rng.standard_normal((17, 9)))
        scores = damier.matmul(self.put(BOTH[0], x), b, center_a="columns")
        np.testing.assert_allclose(scores, (x - x.mean(0)) @ self.get(b), rtol=0, atol=1e-11)
        with self.assertRaisesRegex(damier.InputError, "of its values are missing"):
            damier.cov(self.put(BOTH[0], gaps))

    def test_covariance_of_one_variable(self):
        """A copy that is conjugated is a single line."""
        for dtype, of, by_columns in itertools.product(("c16", "c8", "f8"), ("rows", "columns"), (False, True)):
            x = drawn((1, 12) if of == "rows" else (12, 1), dtype, 5)
            there, out = self.put(BOTH[1], x, by_columns), self.put(BOTH[0], np.zeros((1, 1), dtype))
            with self.subTest(dtype=dtype, of=of, by_columns=by_columns):
                damier.cov(there, out=out, of=of)
                np.testing.assert_allclose(self.get(out)[0, 0], np.var(x, ddof=1), rtol=1e-5)
            self.gpu.release(there)
            self.gpu.release(out)

    def test_covariances_in_place(self):
        """Every type and order, with weights and a number that is missing; the copies are multiplied where the arrays are."""
        rng = np.random.default_rng(7)
        values = rng.integers(-9, 10, (70, 13)) + 40.0
        values[:, 4] = 41
        w, found = rng.uniform(0.1, 2, len(values)), np.where(values == 44, np.nan, values)
        filled = np.where(np.isnan(found), np.nanmean(found, 0), found)
        bounds = {"f8": 1e-12, "f4": 1e-5, "f2": 1e-2, "u2": 5e-2, "i1": 1e-12, "c8": 1e-5, "c16": 1e-12}
        cases = [({}, values, {}), ({"weights": w}, values, {"aweights": w}), ({"missing": "mean", "missing_value": 44}, filled, {})]
        for (words, want_of, numpys), dtype, by_columns in itertools.product(cases, bounds, (False, True)):
            if dtype in ("c8", "c16") and "missing" in words:
                continue
            kind = ByDlpack if dtype == "u2" else BOTH[by_columns]
            x, code = values, {"code": 4} if dtype == "u2" else {}
            if dtype in ("c8", "c16"):
                x = want_of = values + 1j * values[::-1]
            there = (np.asarray(x, "f4").view("u4") >> 16).astype("u2") if dtype == "u2" else x.astype(dtype)
            want = np.cov(want_of, rowvar=False, **numpys).conj()
            scale = np.sqrt(np.diag(want).real)
            with np.errstate(all="ignore"):
                wants = {"cov": want, "cor": want / np.outer(scale, scale)}
            for name, of in itertools.product(wants, ("columns", "rows")):
                given = self.put(kind, there.T if of == "rows" else there, by_columns, 3, **code)
                with self.subTest(name=name, of=of, dtype=dtype, by_columns=by_columns, words=words), \
                     damier.Context(**({"divide": "n-1"} if name == "cov" else {}), **words) as context:
                    want = wants[name] if of == "columns" else wants[name].conj()
                    out = self.put(BOTH[0], np.zeros(want.shape, {"f2": "f4", "u2": "f4", "i1": "f8"}.get(dtype, dtype)), by_columns, 1)
                    context.of_itself(name, given, out, of)
                    record = context.record
                    np.testing.assert_allclose(self.get(out), want, rtol=0, atol=bounds[dtype] * np.nanmax(np.abs(want)))
                    self.assertEqual(record["verification"]["verdict"], "PASS")
                    if dtype not in ("f2", "u2") or isinstance(self.gpu, Cuda):  # CBLAS does not multiply them
                        self.assertIn("in place", record["plan"]["recipe"])
                    self.assertIn("1 are constant" if name == "cor" else "centered", record["files"]["a_centering"])

    def test_pairs(self):
        """Pairwise covariances, as pandas': large means, a fifth missing, one column constant, one with a value, and one
        without; results in GPU and host memory."""
        rng = np.random.default_rng(12)
        whole = rng.integers(-9, 10, (130, 11)) + 40.0
        whole[:, 4] = 41
        whole[rng.random(whole.shape) < 0.2] = np.nan
        whole[1:, 6] = whole[:, 8] = np.nan
        x = np.where(np.isnan(whole), np.nan, 1e6 + rng.random(whole.shape))
        x[:, 4] = np.where(np.isnan(x[:, 4]), np.nan, 1e6 + 0.5)
        for dtype, by_columns, of in itertools.product(("f8", "f4", "f2", "u2"), (False, True), ("columns", "rows")):
            values, code = x if dtype == "f8" else whole, {"code": 4} if dtype == "u2" else {}
            there = (np.asarray(values, "f4").view("u4") >> 16).astype("u2") if dtype == "u2" else values.astype(dtype)
            kind = ByDlpack if dtype == "u2" else BOTH[by_columns]
            given = self.put(kind, there.T if of == "rows" else there, by_columns, 3, **code)
            for name, want in zip(("cov", "cor"), of_pairs(values)):
                with self.subTest(name=name, of=of, dtype=dtype, by_columns=by_columns):
                    bound = (1e-12 if dtype == "f8" else 1e-6) * np.nanmax(np.abs(want))
                    out = self.put(BOTH[0], np.zeros(want.shape, "f8" if dtype == "f8" else "f4"), by_columns, 1)
                    getattr(damier, name)(given, out=out, of=of, missing="pairwise")
                    got = self.get(out)
                    np.testing.assert_allclose(got, want, rtol=0, atol=bound)
                    np.testing.assert_array_equal(got, got.T)
                    host_memory = np.zeros(want.shape)
                    getattr(damier, name)(given, out=host_memory, of=of, missing="pairwise")
                    np.testing.assert_allclose(host_memory, want, rtol=0, atol=bound)

    def test_pairs_in_little_room(self):
        """The GPU has room for two copies of X in f64, and little else."""
        if not isinstance(self.gpu, Emulated):
            self.skipTest("takes a GPU of little memory")
        rng = np.random.default_rng(9)
        x = np.where(rng.random((60000, 40)) < 0.2, np.nan, rng.standard_normal((60000, 40)) + 3)
        try:
            there = self.put(BOTH[0], x)
            self.gpu.leave(46 << 20)
            np.testing.assert_allclose(damier.cov(there, missing="pairwise"), of_pairs(x)[0], rtol=0, atol=1e-12)
        finally:
            self.gpu.leave(None)

    def test_copies_without_room(self):
        """The GPU has no room for a centered copy beside X: host memory has it."""
        if not isinstance(self.gpu, Emulated):
            self.skipTest("takes a GPU of little memory")
        rng = np.random.default_rng(8)
        x = rng.standard_normal((160000, 100)) + 3
        w, gaps = rng.uniform(0.1, 2, len(x)), np.where(rng.random(x.shape) < 0.01, np.nan, x)
        filled = np.where(np.isnan(gaps), np.nanmean(gaps, 0), gaps)
        cases = [(x, {}, np.cov(x, rowvar=False), False), (x, {"weights": w}, np.cov(x, rowvar=False, aweights=w), True),
                 (gaps, {"missing": "mean"}, np.cov(filled, rowvar=False), False)]
        try:
            self.gpu.leave(x.nbytes + (120 << 20))
            for values, words, want, by_columns in cases:
                with self.subTest(words=words, by_columns=by_columns):
                    there = self.put(BOTH[by_columns], values, by_columns)
                    np.testing.assert_allclose(damier.cov(there, **words), want, rtol=0, atol=1e-11)
                    self.gpu.release(there)
        finally:
            self.gpu.leave(None)

    def test_alike(self):
        """Rounding errors of equal products do not cancel; a right C of them is not called wrong."""
        for dtype, value in itertools.product(("f8", "f4"), (0.1, 0.7)):
            a, b = np.full((1024, 16384), value, dtype), np.full((16384, 1024), value, dtype)
            with self.subTest(dtype=dtype, value=value), damier.Context() as context:
                c = context.matmul(self.put(BOTH[0], a), self.put(BOTH[0], b), self.put(BOTH[0], np.zeros((1024, 1024), dtype)))
                self.assertEqual(context.record["verification"]["verdict"], "PASS")
                self.assertIn("in place", context.record["plan"]["recipe"])
                del c

    def test_operands(self):
        for of_a, of_b, by_columns in itertools.product(BOTH, BOTH, (False, True)):
            c = damier.matmul(self.put(of_a, self.a, by_columns, 3), self.put(of_b, self.b, not by_columns))
            self.assertIsInstance(c, np.ndarray)
            np.testing.assert_array_equal(c, self.wanted)
        np.testing.assert_array_equal(damier.matmul(self.put(ByInterface, self.a), self.b), self.wanted)
        np.testing.assert_array_equal(damier.matmul(self.a.T, self.put(ByDlpack, self.b), op_a="t"), self.wanted)

    def test_out(self):
        for kind, by_columns in itertools.product(BOTH, (False, True)):
            out = self.put(kind, self.c, by_columns, 5)
            self.assertIs(damier.matmul(self.put(kind, self.a), self.b, out, beta=-1), out)
            np.testing.assert_array_equal(self.get(out), self.wanted - self.c)
            damier.matmul(self.a, self.b, out)
            np.testing.assert_array_equal(self.get(out), self.wanted)

    def test_old_c(self):
        for kind in BOTH:
            c, out = self.put(kind, self.c), self.put(kind, np.zeros_like(self.c), True)
            np.testing.assert_array_equal(damier.matmul(self.a, self.b, c=c), self.wanted + self.c)
            np.testing.assert_array_equal(damier.matmul(self.a, self.b, np.zeros_like(self.c), c=c),
                                          self.wanted + self.c)
            damier.matmul(self.put(kind, self.a), self.b, out, c=c)
            np.testing.assert_array_equal(self.get(out), self.wanted + self.c)
            damier.matmul(self.a, self.b, out, c=self.c, beta=2)
            np.testing.assert_array_equal(self.get(out), self.wanted + 2 * self.c)
            np.testing.assert_array_equal(self.get(c), self.c)
            damier.matmul(self.a, self.b, c, c=c)
            np.testing.assert_array_equal(self.get(c), self.wanted + self.c)

    def test_one_context_for_several(self):
        with damier.Context() as context:
            c = self.put(ByInterface, self.c)
            np.testing.assert_array_equal(context.matmul(self.a, self.b, c=c), self.wanted + self.c)
            np.testing.assert_array_equal(context.matmul(self.a, self.b), self.wanted)

    def test_types(self):
        for dtype in ("f4", "f2", "c8", "c16", "i1"):
            a, b = self.a.astype(dtype), self.b.astype(dtype)
            c = damier.matmul(self.put(ByDlpack, a), self.put(ByInterface, b))
            np.testing.assert_array_equal(c, self.wanted)
            self.assertEqual(c.dtype, damier.matmul(a, b).dtype)
        bits = (np.asarray(self.a, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        c = damier.matmul(self.put(ByDlpack, bits, code=4), self.put(ByDlpack, bits, code=4), op_b="t")
        np.testing.assert_array_equal(c, self.a @ self.a.T)

    def test_native_is_native(self):
        """cuBLAS's emulation rounds nearly every element right, a native product far fewer."""
        if isinstance(self.gpu, Emulated):
            self.skipTest("of cuBLAS")
        environment = os.environ | {"CUBLAS_EMULATE_DOUBLE_PRECISION": "1", "CUBLAS_EMULATION_STRATEGY": "eager"}
        words = subprocess.run([sys.executable, __file__, "native"], env=environment, capture_output=True, text=True, check=True).stdout
        self.assertLess(float(words), 0.9, "f64 was emulated")
        self.assertGreater(float(words), 0.001, "another product")

    def test_unaligned_numbers_of_16_bits(self):
        """Where cuBLAS is slow, by other ways."""
        if isinstance(self.gpu, Emulated):
            self.skipTest("of cuBLAS")
        for shape, pad, columns in (((1301, 1303, 1307), 1, ""), ((1304, 1301, 1304), 0, "ab"), ((1301, 1304, 1307), 3, "c"), ((1304, 1304, 1304), 1, "")):
            m, n, k = shape
            a, b, c = drawn((m, k), "f2", 4), drawn((k, n), "f2", 5), drawn((m, n), "f4", 6)
            there = [self.put(ByDlpack, x, name in columns, pad) for name, x in (("a", a), ("b", b), ("c", c))]
            with damier.Context(alpha=2, beta=3) as context:
                context.matmul(*there)
                self.assertTrue(context.record["plan"]["recipe"].startswith("in place"))
            np.testing.assert_array_equal(self.get(there[2]), 2 * (a.astype("f4") @ b.astype("f4")) + 3 * c)
            for given in there:
                self.gpu.release(given)
        for rows, cols, pad, sums in ((70001, 301, 0, "f32"), (70001, 301, 2, "fast"), (40000, 1001, 0, "f32"), (9001, 1500, 1, "f32"), (3000, 1301, 0, "fast")):
            x = drawn((rows, cols), "f2", 7)
            there = [self.put(ByDlpack, x, pad=pad), self.put(ByDlpack, np.zeros((cols, cols), "f4"))]
            damier.gram(*there, accumulate=sums)
            np.testing.assert_array_equal(self.get(there[1]), x.T.astype("f4") @ x.astype("f4"), f"{rows} {cols} {pad} {sums}")
            for given in there:
                self.gpu.release(given)

    def test_sums_that_are_cut_off_fail(self):
        """The units cut sums of 16-bit numbers of one sign off, by more than the bound of a C that says that it was summed in f32."""
        if isinstance(self.gpu, Emulated):
            self.skipTest("of tensor cores")
        rng = np.random.default_rng(8)
        n, k = 2048, 1 << 18  # C is so large that cuBLAS does not divide k, which would make sums more accurate
        a, b = (rng.random(shape, "f4").__iadd__(np.float32(0.5)).astype("f2") for shape in ((n, k), (k, n)))
        wanted = a[:4].astype("f4").astype("f8") @ b.astype("f4")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "all.h5"
            with h5py.File(path, "w") as file:
                file["a"], file["b"] = a, b
            for sums, said, passes in (("fast", "fast", True), ("f32", "f32", True), ("fast", "f32", False)):
                there = [self.put(ByDlpack, x) for x in (a, b, np.zeros((n, n), "f4"))]
                damier.matmul(*there, accumulate=sums)
                c = self.get(there[2])
                off = abs(np.mean((c[:4] - wanted) / wanted))
                self.assertTrue(off <= 1e-5 if sums == "f32" else off > 5e-4, f"{sums}: off by {off}")
                with h5py.File(path, "a") as file:
                    file.pop("c", None)
                    file["c"] = c
                    if said == "f32":
                        file["c"].attrs["accumulate"] = said
                for given in there:
                    self.gpu.release(given)
                with self.subTest(sums=sums, said=said), contextlib.nullcontext() if passes else self.assertRaises(damier.VerifyError):
                    damier.verify(f"{path}:/a", f"{path}:/b", f"{path}:/c")

    def in_place(self, dtype, op_a, op_b, columns, shape=(36, 40, 24), result=None, **words):
        """A product of arrays in GPU memory, those of COLUMNS stored by columns; the record must say that nothing moved."""
        m, n, k = shape
        a, b = drawn((k, m) if op_a != "n" else (m, k), dtype, 4), drawn((n, k) if op_b != "n" else (k, n), dtype, 5)
        out = drawn((m, n), result or ("i4" if dtype == "i1" else dtype), 6)
        there = [self.put(ByDlpack, x, name in columns) for name, x in (("a", a), ("b", b), ("c", out))]
        with damier.Context(op_a=op_a, op_b=op_b, **words) as context:
            context.matmul(*there)
            record = context.record
        turned = [x if op == "n" else x.T if op == "t" else x.conj().T for x, op in ((a, op_a), (b, op_b))]
        wide = "c16" if dtype in ("c8", "c16") else "f8"
        wanted = turned[0].astype(wide) @ turned[1].astype(wide) + words.get("beta", 0) * out.astype(wide)
        np.testing.assert_array_equal(self.get(there[2]), wanted)
        self.assertEqual(record["verification"]["verdict"], "PASS")
        for given in there:
            self.gpu.release(given)
        return record["plan"]["recipe"].startswith("in place")

    def test_in_place(self):
        for dtype, columns in itertools.product(("f8", "f4"), ("", "a", "b", "c", "abc")):
            for op_a, op_b in itertools.product("nt", "nt"):
                self.assertTrue(self.in_place(dtype, op_a, op_b, columns))
        for columns in ("", "a", "bc"):
            self.in_place("f8", "t", "n", columns, beta=3)
            self.in_place("i1", "n", "t", columns, beta=2)
        self.assertTrue(self.in_place("c16", "c", "n", ""))  # BLAS conjugates only what it transposes
        self.assertTrue(self.in_place("c8", "n", "c", ""))
        self.assertTrue(self.in_place("c16", "c", "c", "", beta=2))
        self.assertTrue(self.in_place("c16", "c", "n", "a"))
        self.assertTrue(self.in_place("c16", "c", "t", "ab", beta=2))

    def test_pipeline(self):
        """Products that are not multiplied where they are: pieces are copied on the GPU, and C is finished there."""
        ways = ({"reproducible": True, "panel": 512}, {"panel": 64}, {"memory": "device=67250000"}, {"compute": "f64:int8"}, {"panel": 64, "verify": False})
        for number, (way, dtype, ops) in enumerate(itertools.product(ways, ("f8", "f4", "c16", "f2"), ("nn", "tc", "ct"))):
            if "compute" in way and dtype not in ("f8", "c16"):
                continue
            m, n, k = ((131, 77, 200), (1, 77, 200), (131, 1, 20), (5, 7, 1))[(number + number // 12) % 4]
            outs = {"f2": ("f4", "f2")}.get(dtype, (dtype,))
            a, b = (drawn((s, r) if op != "n" else (r, s), dtype, number + r) for op, r, s in ((ops[0], m, k), (ops[1], k, n)))
            turned = [x.astype("f8" if dtype == "f2" else dtype) for x in (a, b)]
            turned = [x if op == "n" else x.T if op == "t" else x.conj().T for x, op in zip(turned, ops)]
            old = drawn((m, n), outs[number % len(outs)], 6)
            for alpha, beta, other, layout in ((1, 0, False, number), (-2, 3, False, number + 1), (1, -1, True, number + 2)):
                there = [self.put(BOTH[i % 2], x, layout >> i & 1, i) for i, x in enumerate((a, b, 0 * old if other else old))]
                apart = self.put(BOTH[0], old, layout & 1, 2) if other else None
                with self.subTest(way=way, dtype=dtype, ops=ops, beta=beta, layout=layout % 8), damier.Context(
                        op_a=ops[0], op_b=ops[1], alpha=alpha, beta=beta, **way) as context:
                    context.matmul(*there, **({"c": apart} if other else {}))
                    if "compute" not in way:
                        self.assertNotIn("in place", context.record["plan"]["recipe"])
                    self.assertEqual(context.record.verification.verdict, "PASS" if way.get("verify", True) else "UNVERIFIED")
                    wanted = alpha * (turned[0] @ turned[1]) + beta * old.astype(turned[0].dtype)
                    np.testing.assert_array_equal(self.get(there[2]), wanted.astype(old.dtype))
                for given in (*there, *([apart] if other else [])):
                    self.gpu.release(given)

    def test_symmetric_pipeline(self):
        for way, dtype, of, by_columns in itertools.product(({"panel": 64}, {"memory": "device=67400000"}, {"compute": "f64:int8"}), ("f8", "c16"),
                                                            ("columns", "rows"), (False, True)):
            x = drawn((310, 290), dtype, 4)
            wanted = x.conj().T @ x if of == "columns" else x @ x.conj().T
            there, out = self.put(BOTH[1], x, not by_columns, 3), self.put(BOTH[0], np.zeros_like(wanted), by_columns, 2)
            with self.subTest(way=way, dtype=dtype, of=of, by_columns=by_columns), damier.Context(alpha=3, **way) as context:
                context.gram(there, out, of=of)
                np.testing.assert_array_equal(self.get(out), 3 * wanted)
                self.assertEqual(context.record["verification"]["verdict"], "PASS")
            self.gpu.release(there)
            self.gpu.release(out)

    def test_unlike_rows(self):
        a, cases = unlike_rows.factors()
        with damier.Context(allow_unchecked=True) as context:
            for what, b, spoiled, wanted in cases:
                with self.subTest(what):
                    there = [self.put(ByDlpack, x) for x in (a, b, 0 * wanted)]
                    context.matmul(*there)
                    np.testing.assert_array_equal(self.get(there[2]), wanted)
                    unlike_rows.check(self, context.record["verification"], spoiled)

    def test_emulated_modes(self):
        for mode, dtype in (("f64:int8", "f8"), ("f32:int8", "f4"), ("f32:f16", "f4")):
            for columns, beta in itertools.product(("", "abc"), (0, 2)):
                self.assertTrue(self.in_place(dtype, "n", "n", columns, compute=mode, beta=beta))
            self.assertTrue(self.in_place(dtype, "t", "n", "a", compute=mode))
            self.assertTrue(self.in_place(dtype, "n", "n", "a", compute=mode))
            self.assertTrue(self.in_place(dtype, "t", "t", "b", compute=mode))

    def test_modes_and_results_of_other_types(self):
        for dtype, wide in (("f4", "f8"), ("c8", "c16")):
            for columns, (op_a, op_b) in itertools.product(("", "abc"), ("nn", "ct")):
                self.assertTrue(self.in_place(dtype, op_a, op_b, columns, compute="f64:int8", beta=2))
                self.assertTrue(self.in_place(dtype, op_a, op_b, columns, compute="f64:int8", reproducible=True))
                self.assertTrue(self.in_place(dtype, op_a, op_b, columns, result=wide, beta=2))
                self.assertTrue(self.in_place(wide, op_a, op_b, columns, result=dtype))
                self.assertTrue(self.in_place(dtype, op_a, op_b, columns, type="f64" if dtype == "f4" else "c128"))

    def test_whole_numbers_of_odd_shapes(self):
        for shape, ops, columns in itertools.product(((35, 41, 23), (2, 3, 5), (36, 41, 24)), ("nn", "tn", "nt"), ("", "abc")):
            for words in ({}, {"reproducible": True}):
                self.assertTrue(self.in_place("i1", *ops, columns, shape, **words))

    def test_complex_modes_in_all_orders(self):
        for (op_a, op_b), columns in itertools.product(("nn", "cn", "nt", "ct", "tc"), ("", "a", "b", "c", "ab", "abc")):
            self.assertTrue(self.in_place("c16", op_a, op_b, columns, compute="f64:int8"))
            if columns in ("a", "bc"):
                self.assertTrue(self.in_place("c8", op_a, op_b, columns, compute="f32:f16"))
                self.assertTrue(self.in_place("c16", op_a, op_b, columns, reproducible=True, beta=2))

    def test_modes_one_after_another(self):
        """Exponents of complex numbers are more than those of real ones of the same shape."""
        with damier.Context(compute="f64:int8") as context:
            for dtype in ("f8", "c16", "f8"):
                a, b = drawn((200, 30), dtype, 7), drawn((30, 200), dtype, 8)
                there = [self.put(ByDlpack, x) for x in (a, b, np.zeros((200, 200), dtype))]
                context.matmul(*there)
                np.testing.assert_array_equal(self.get(there[2]), a @ b)
                for given in there:
                    self.gpu.release(given)

    def test_gram_in_modes(self):
        """Strips of half of C, and their image."""
        ways = (({"compute": "f64:int8"}, "f8"), ({"compute": "f64:int8"}, "c16"), ({"compute": "f32:f16"}, "f4"), ({"compute": "tf32"}, "f4"),
                ({"kernel": "mma"}, "f8"), ({"reproducible": True}, "f8"), ({"reproducible": True}, "c16"), ({"accumulate": "f32"}, "f2"))
        for number, (way, dtype) in enumerate(ways):
            for of, by_columns, beta in (("columns", False, 0), ("rows", True, 0), ("columns", True, 2)):
                x = drawn((5, 1100) if of == "columns" else (1100, 5), dtype, number)
                x[..., -1] *= 8
                wide = x.astype("f8") if dtype == "f2" else x
                wanted = wide.conj().T @ wide if of == "columns" else wide @ wide.conj().T
                there, out = self.put(BOTH[1], x, not by_columns, 3), self.put(BOTH[0], np.ones_like(wanted, x.dtype), by_columns, 2)
                with self.subTest(way=way, dtype=dtype, of=of, by_columns=by_columns), damier.Context(beta=beta, **way) as context:
                    context.gram(there, out, of=of)
                    np.testing.assert_array_equal(self.get(out), wanted + beta)
                    self.assertEqual(context.record["verification"]["verdict"], "PASS")
                    self.assertTrue(context.record["plan"]["recipe"].startswith("in place"), context.record["plan"]["recipe"])
                self.gpu.release(there)
                self.gpu.release(out)

    def test_emulated_modes_in_tiles(self):
        for mode, dtype in (("f64:int8", "f8"), ("f32:f16", "f4")):
            for m, n in ((8200, 24), (24, 8200)) + (((8200, 8300),) if isinstance(self.gpu, Cuda) else ()):
                a, b = drawn((m, 16), dtype, 7), drawn((16, n), dtype, 8)
                a[-1] *= 1024  # an exponent of its own
                out = self.put(ByDlpack, np.zeros((m, n), dtype))
                with damier.Context(compute=mode) as context:
                    context.matmul(self.put(ByDlpack, a), self.put(ByDlpack, b), out)
                    self.assertTrue(context.record["plan"]["recipe"].startswith("in place"))
                np.testing.assert_array_equal(self.get(out), a @ b)

    def test_kernels_by_name(self):
        for kernel, dtype in (("mma", "f8"), ("warp_tile", "f4"), ("naive", "f4"), ("wgmma", "f2"), ("cublas", "c16")):
            for columns, beta in itertools.product(("", "abc"), (0, 2)):
                self.assertTrue(self.in_place(dtype, "n", "n", columns, kernel=kernel, beta=beta))
            self.assertTrue(self.in_place(dtype, "n", "n", "a", kernel=kernel))
            self.assertTrue(self.in_place(dtype, "t", "n", "bc", kernel=kernel))

    def test_reproducible_where_they_are(self):
        """The same bits as by the pipeline, with k cut at the same places."""
        rng = np.random.default_rng(12)
        for dtype, out in (("f8", "f8"), ("f4", "f4"), ("c16", "c16"), ("f2", "f4"), ("f2", "f2")):
            a, b = ((rng.standard_normal(s) * (1 + 1j if dtype == "c16" else 1)).astype(dtype) for s in ((300, 1100), (1100, 270)))
            found = []
            for words in ({}, {"panel": 512}):
                there = [self.put(ByDlpack, x) for x in (a, b, np.zeros((300, 270), out))]
                with self.subTest(dtype=dtype, out=out), damier.Context(reproducible=True, **words) as context:
                    context.matmul(*there)
                    self.assertEqual("in place" in context.record["plan"]["recipe"], not words)
                    found.append(self.get(there[2]))
                for given in there:
                    self.gpu.release(given)
            np.testing.assert_array_equal(*found)

    def test_modes_that_do_not_suit(self):
        """With more moduli, or natively, where the arrays are; the record says why."""
        for high, mode, key in ((1e30, "f64:int8", "instead"), (2.0**20, "f64:int8", "more_moduli"), (1e30, "fastest", "instead")):
            a, b = self.a.copy(), self.b.copy()
            a[:, ::2] *= high
            b[::2] /= 2.0**20 if high == 2.0**20 else 1
            there = [self.put(ByDlpack, x) for x in (a, b, 0 * self.c)]
            with self.subTest(high=high, mode=mode), damier.Context(compute=mode) as context:
                for _ in range(2):
                    context.matmul(*there)
                    np.testing.assert_allclose(self.get(there[2]), a @ b, rtol=1e-13)
                    self.assertTrue(context.record["plan"]["recipe"].startswith("in place"))
                    if mode != "fastest":
                        self.assertIn("too much", context.record["problem"][key])
            for given in there:
                self.gpu.release(given)

    def test_fastest(self):
        """A mode that is not faster costs nothing: the product is that of the default."""
        a, b, out = (self.put(ByDlpack, x) for x in (self.a, self.b, self.c))
        with damier.Context(compute="fastest") as context:
            for _ in range(2):
                context.matmul(a, b, out)
                np.testing.assert_array_equal(self.get(out), self.wanted)
                self.assertTrue(context.record["plan"]["recipe"].startswith("in place"))
        if isinstance(self.gpu, Emulated):  # no plan fits, but the product where the arrays are
            self.gpu.leave(1 << 20)
            try:
                damier.matmul(a, b, out, compute="fastest")
            finally:
                self.gpu.leave(None)
            np.testing.assert_array_equal(self.get(out), self.wanted)
        for given in (a, b, out):
            self.gpu.release(given)

    def test_contexts_that_change_modes(self):
        a, b, out = (self.put(ByDlpack, x) for x in (self.a, self.b, self.c))
        with damier.Context() as context:
            for mode in ("f64:int8", "auto", "f64:int8:16", "f64:int8", "auto"):
                context._set("compute", mode)
                context.matmul(a, b, out)
                np.testing.assert_array_equal(self.get(out), self.wanted)
                name = context.record["plan"]["recipe"]
                self.assertTrue(name.startswith("in place") and (mode == "auto") == ("int8" not in name), name)

    def test_thousand_calls(self):
        a, b, out = (self.put(ByDlpack, x) for x in (self.a, self.b, self.c))
        for words in ({}, {"verify": False}):
            check_growth(self, lambda: damier.matmul(a, b, out, **words), used=self.gpu.used)

    def put_entries(self, kind, array, pad=0, by_columns=False):
        """The matrices of ARRAY one after the other, each with PAD elements after every line."""
        lines = np.ascontiguousarray(np.swapaxes(array, -1, -2) if by_columns else array)
        lines = np.pad(lines, [(0, 0)] * (array.ndim - 1) + [(0, pad)], constant_values=9)
        strides = [s // array.itemsize for s in lines.strides]
        if by_columns:
            strides[-2:] = strides[:-3:-1]
        given = kind(self.gpu.allocate(lines.nbytes), array.shape, array.dtype, tuple(strides))
        given.lines = lines
        self.gpu.write(given.pointer, lines)
        return given

    def test_entries(self):
        """A batch in GPU memory is multiplied where it is, and verified."""
        shapes = (((5,), (5,), 3, 7, 4), ((2, 3), (2, 3), 33, 20, 34), ((3,), (3,), 1, 5, 1), ((700,), (700,), 8, 9, 8),
                  ((2,), (2,), 260, 515, 130), ((4, 5), (), 6, 8, 2))
        for (first, second, m, k, n), dtype in itertools.product(shapes, ("f8", "f4", "c16")):
            a, b = drawn((*first, m, k), dtype, 1), drawn((*second, k, n), dtype, 2)
            old = drawn((*first, m, n), dtype, 3)
            for kind, pad, beta in ((BOTH[0], 0, 0), (BOTH[1], 3, 0), (BOTH[0], 1, 2)):
                out = self.put_entries(kind, old)
                with self.subTest(shapes=(first, second, m, k, n), dtype=dtype, pad=pad, beta=beta), damier.Context(beta=beta) as context:
                    context.matmul(self.put_entries(kind, a, pad), self.put_entries(kind, b, pad), out)
                    self.assertTrue(context.record["plan"]["recipe"].startswith("in place"))
                    self.assertEqual(context.record["verification"]["verdict"], "PASS")
                    got = np.empty_like(old)
                    self.gpu.read(got, out.pointer)
                    np.testing.assert_array_equal(got, a @ b + beta * old)
                    context.matmul(self.put_entries(kind, a), b, self.put_entries(kind, old), c=old)
        a, b = drawn((6, 20, 12), "f8", 1), drawn((6, 12, 8), "f8", 2)
        with self.assertRaisesRegex(damier.UsageError, "a has strides that"):  # a package that makes no copies
            damier.matmul(self.put_entries(BOTH[0], a, 0, True), self.put_entries(BOTH[0], b))
        with self.assertRaisesRegex(damier.UsageError, "not repeated"):
            damier.matmul(self.put_entries(BOTH[0], a[:1]), self.put_entries(BOTH[0], b))
        np.testing.assert_array_equal(damier.matmul(a, self.put_entries(BOTH[1], b)), a @ b)
        np.testing.assert_array_equal(damier.matmul(a, b), a @ b)

    def test_plan(self):
        record = damier.plan(self.put(ByInterface, self.a), self.put(ByDlpack, self.b))
        self.assertEqual(record["problem"]["k"], 23)

    def test_stream(self):
        a = self.put(ByInterface, np.zeros_like(self.a))
        a.words["stream"] = self.gpu.write_later(a.pointer, self.a)
        np.testing.assert_array_equal(damier.matmul(a, self.b), self.wanted)

    def test_host_memory_is_refused(self):
        for kind in BOTH:
            given = kind(self.a.ctypes.data, self.a.shape, self.a.dtype)
            with self.assertRaisesRegex(damier.UsageError, "stated as GPU memory, but is host memory"):
                damier.matmul(given, self.b)

    def test_another_gpu(self):
        if isinstance(self.gpu, Cuda):
            self.skipTest("of one GPU")
        a = self.put(ByInterface, self.a)
        self.gpu.library.emulated_move(a.pointer, 1)
        with self.assertRaisesRegex(damier.DeviceError, "in memory of GPU 1, but this rank uses GPU 0"):
            damier.matmul(a, self.b)


if __name__ == "__main__":
    if sys.argv[1] == "native":
        print(rounded_right(Cuda()))
        sys.exit()
    OnGpu.gpu = {"emulated": Emulated, "cuda": Cuda}[sys.argv.pop(1)]()
    unittest.main()
