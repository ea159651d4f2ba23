"""The library's calls at random, several in a context: matrices in memory and files, any layout, options set and reset, calls that
fail in between.  C is NumPy's, and nothing else changes: inputs, gaps between C's elements, C and files after an error."""
import ctypes
import json
import os
import pathlib
import tempfile
import unittest

import elements
import numpy as np
from damier import _library

LIBRARY = _library.library
MEMORY = ("memory", f"host={16 if 'EMULATED' in os.environ else 1}GiB")  # qemu's own memory is in the process, too
OPTIONS = (("reproducible", "yes"), ("verify", "no"), ("overlap", "no"), ("threads", "1"), ("protect", "no"), ("io-threads", "0"),
           ("verify-files", "yes"), ("verify-written", "always"), ("on-corruption", "stop"), ("checkpoint", "no"),
           ("checkpoint-interval", "0"), MEMORY, ("grid", "1x1x1"), ("compute", "f64"), ("verify-seed", "7"))
DEFAULTS = {"reproducible": "no", "verify-files": "no", "verify": "yes", "overlap": "yes", "protect": "yes", "checkpoint": "yes"}
REFUSED = (("alpha", "x"), ("op-a", "q"), ("grid", "2x"), ("panel", "63"), ("memory", "host"), ("type", "f63"), ("type-c", "f63"),
           ("batch", "0"), ("machine", "gflops=x"), ("machine", "@/nowhere"), ("chunk", "0x4"), ("divide", "m"), ("center-a", "sideways"),
           ("output", "c.h5"), ("Alpha", "1"))


class InMemory:
    """X with strides, gaps and an offset, in memory that is otherwise filled with 0x7f."""

    def __init__(self, rng, dtype, x):
        raw = np.asarray(x).astype("i4") if dtype == "i32" else elements.stored(x, dtype)
        rows, cols = raw.shape
        size, step, pad = raw.itemsize, int(rng.choice([1, 1, 2])), int(rng.integers(3))
        down, right = (max(1, cols) * step + pad, step) if rng.random() < 0.5 else (step, max(1, rows) * step + pad)
        self.dtype, self.memory = dtype, np.full((rows * down + cols * right + 8) * size, 0x7F, np.uint8)
        self.start = int(rng.integers(3)) * size + int(rng.random() < 0.1)
        places = self.start + size * (down * np.arange(rows)[:, None] + right * np.arange(cols)[None, :])
        self.places = places[..., None] + np.arange(size)
        self.memory[self.places] = raw[..., None].view(np.uint8) if raw.size else 0
        self.before, self.stored = self.memory.copy(), raw.dtype
        self.c = _library.CMatrix(division=int(rng.choice([_library.BY_ROWS, _library.ON_ONE, _library.BLOCK_CYCLIC])),
                                  type=_library.TYPES.index(dtype), rows=rows, cols=cols, row_stride=down, col_stride=right,
                                  own_rows=rows, grid_rows=1, grid_cols=1, row_block=int(rng.integers(1, 9)),
                                  col_block=int(rng.integers(1, 9)), data=self.memory.ctypes.data + self.start if raw.size else None)

    def values(self):
        return elements.exact(np.ascontiguousarray(self.memory[self.places]).view(self.stored)[..., 0], self.dtype)

    def is_unchanged(self, but_elements=False):
        changed = self.memory != self.before
        if but_elements:
            changed[self.places] = False
        return not changed.any()


class InFile:
    def __init__(self, path):
        self.path, self.name = path, str(path).encode()
        self.c = _library.CMatrix(division=_library.IN_FILE, file=self.name)

    def is_unchanged(self):
        return True


def applied(x, op):
    return {"n": x, "t": x.T, "c": x.conj().T}[op]


class Calls(unittest.TestCase):
    def begin(self, folder, seed):
        self.rng, self.folder, self.files = np.random.default_rng(seed), folder, 0
        self.context, self.error = ctypes.c_void_p(), _library.CError()
        self.assertEqual(LIBRARY.damier_open_f(_library.ALONE, ctypes.byref(self.context), None), 0)

    def one_of(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def numbers(self, shape, dtype):
        x = self.rng.integers(-3, 4, shape).astype(float)
        return x + 1j * self.rng.integers(-3, 4, shape) if dtype in elements.COMPLEX else x

    def path(self, suffix="h5"):
        self.files += 1
        return self.folder / f"{self.files}.{suffix}"

    def place(self, x, dtype, in_file):
        if not in_file or x.size == 0:
            return InMemory(self.rng, dtype, x)
        layout = self.one_of("contiguous", "chunked", "big-endian", "contiguous" if dtype == "bf16" else "npy-fortran")
        file = InFile(self.path(elements.suffix(layout)))
        elements.write(file.path, x, dtype, layout)
        return file

    def set(self, name, value):
        text = None if value is None else str(value).encode()
        return LIBRARY.damier_set(self.context, name.encode(), text, ctypes.byref(self.error))

    def call(self, function, *matrices):
        code = function(self.context, *(ctypes.byref(m.c) for m in matrices), ctypes.byref(self.error))
        self.assertEqual((code, bool(code)), (self.error.code, bool(self.error.message)))
        self.assertTrue(self.error.agreed)
        return code

    def refusal(self):
        a, b, c = (self.place(self.numbers(s, "f64"), "f64", False) for s in ((6, 5), (5, 4), (6, 4)))
        way = self.one_of("option", "shape", "absent", "exists", "old")
        if way == "option":
            name, value = self.one_of(*REFUSED)
            self.assertGreater(self.set(name, value), 0, f"{name} {value}")
            return
        if way == "shape":
            code = self.call(LIBRARY.damier_multiply, a, a, c)
        elif way == "absent":
            code = self.call(LIBRARY.damier_multiply, a, InFile(self.path()), c)
        elif way == "exists":
            there = InFile(self.path())
            there.path.write_text("of the user")
            code = self.call(LIBRARY.damier_multiply, a, b, there)
            self.assertEqual(there.path.read_text(), "of the user")
        else:
            LIBRARY.damier_old_c(self.context, ctypes.byref(InFile(self.path()).c), None)
            self.set("beta", 2)
            code = self.call(LIBRARY.damier_multiply, a, b, c)
            self.set("beta", None)
            LIBRARY.damier_old_c(self.context, None, None)
        self.assertGreater(code, 1, way)
        self.assertTrue(a.is_unchanged() and b.is_unchanged() and c.is_unchanged(), way)

    def product(self):
        dtype = self.one_of("f64", "f32", "f16", "bf16", "c64", "c128", "i8")
        m, n, k = (self.one_of(1, 2, 3, 17, 64, 65) for _ in range(3))
        k = self.one_of(k, k, k, k, k, 0)
        words = {"op-a": self.one_of("n", "t", "c"), "op-b": self.one_of("n", "t", "c"), "alpha": self.one_of(1, 1, 2, -1, 0)}
        words |= dict(self.one_of(*OPTIONS) for _ in range(self.one_of(0, 0, 1, 3)))
        if dtype == "i8":
            words.pop("compute", None)
        type_c = elements.ACCUMULATOR.get(dtype, dtype)
        if dtype != "i8":
            type_c = self.one_of(type_c, "c128" if dtype in elements.COMPLEX else "bf16")
        a, b = self.numbers((m, k), dtype), self.numbers((k, n), dtype)
        beta, old_in = self.one_of((0, ""), (0, ""), (-2, "c"), (-2, "file"), (-2, "memory"))
        old_values = self.numbers((m, n), type_c)
        wanted = words["alpha"] * (a @ b) + beta * old_values
        operands = [self.place(applied(x, words[op]), dtype, self.one_of(False, True)) for x, op in ((a, "op-a"), (b, "op-b"))]
        old = self.place(old_values, type_c, old_in == "file") if old_in in ("file", "memory") else None
        c = self.place(old_values, type_c, False) if old_in == "c" or self.one_of(False, True) else InFile(self.path())
        words |= {"beta": beta} | ({"type-c": type_c} if isinstance(c, InFile) else {})
        for name, value in words.items():
            self.assertEqual(self.set(name, value), 0, f"{name} {value}: {self.error.message}")
        LIBRARY.damier_old_c(self.context, ctypes.byref(old.c) if old else None, None)
        told = f"{dtype} {m} x {n} x {k} to {type_c} {words} {old_in}"
        self.assertEqual(self.call(LIBRARY.damier_multiply, *operands, c), 0, f"{self.error.message}: {told}")
        json.loads(LIBRARY.damier_record(self.context))
        got = elements.exact(elements.read_raw(c.path, type_c), type_c) if isinstance(c, InFile) else c.values()
        np.testing.assert_array_equal(got, elements.rounded(wanted, type_c), told)
        self.assertTrue(all(x.is_unchanged() for x in (*operands, *([old] if old else []))), told)
        self.assertTrue(isinstance(c, InFile) or c.is_unchanged(but_elements=True), told)
        if all(isinstance(x, InFile) for x in (*operands, c)):
            LIBRARY.damier_old_c(self.context, None, None)
            code = self.call(LIBRARY.damier_verify, *operands, c)
            self.assertEqual(code, 2 if isinstance(old, InMemory) else 0, f"{self.error.message}: {told}")
            self.assertTrue(code == 0 or b"the old C is not known" in self.error.message, self.error.message)
        LIBRARY.damier_old_c(self.context, None, None)
        for name in words:
            self.assertEqual(self.set(name, DEFAULTS.get(name)), 0, name)

    def test_at_random(self):
        for seed in range(60):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                self.begin(pathlib.Path(folder), seed)
                for _ in range(self.one_of(2, 4, 8)):
                    self.one_of(self.refusal, self.product, self.product)()
                LIBRARY.damier_close(self.context)


if __name__ == "__main__":
    unittest.main()
