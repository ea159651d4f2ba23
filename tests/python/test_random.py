"""damier.matmul of arrays at random, compared with NumPy: any type, shape, batch, memory, old C, result and options."""
import unittest

import damier
import numpy as np

RESULTS = {"f2": "f4", "i1": "i4"}
NAMES = {"f8": "f64", "f4": "f32", "f2": "f16", "c8": "c64", "c16": "c128", "i4": "i32"}
EXTENTS = (0, 1, 1, 2, 3, 5, 17, 64, 65, 130)


class Exported:
    """An array that only supports DLPack."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self):
        return self.array.__dlpack__()


class Drawn:
    """What is drawn for one product, from SEED."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.words = {}

    def one_of(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def happens(self, probability):
        return self.rng.random() < probability

    def numbers(self, shape, dtype):
        """Small whole numbers, of which products are exact in every type."""
        x = self.rng.integers(-4, 5, shape).astype("f8")
        return (x + 1j * self.rng.integers(-4, 5, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)

    def turned(self, x, name):
        """What is stored for op(X) = X; states the op."""
        op = self.words[f"op_{name}"] = self.one_of("n", "t", "c")
        return x if op == "n" else np.ascontiguousarray(x.T.conj() if op == "c" else x.T)

    def stored(self, x, written=False):
        """X in memory of some kind, and the array that holds it."""
        kind = self.one_of("C", "F", "stride", "padded", "axes", "unaligned", "exported", *(() if written else ("neg", "swapped", "fixed")))
        if kind == "F":
            return 2 * (np.asfortranarray(x),)
        if kind == "stride":
            wide = np.zeros([2 * n + 1 for n in x.shape], x.dtype)
            held = wide[tuple(slice(1, 2 * n + 1, 2) for n in x.shape)]
        elif kind == "padded":
            held = np.zeros((*x.shape[:-1], x.shape[-1] + 3), x.dtype)[..., 1:-2]
        elif kind == "axes":
            order = self.rng.permutation(x.ndim)
            held = np.transpose(np.empty([x.shape[axis] for axis in order], x.dtype), np.argsort(order))
        elif kind == "unaligned":
            held = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
        elif kind == "neg":
            held = np.empty_like(x)[::-1]
        elif kind == "swapped":
            held = np.empty(x.shape, x.dtype.newbyteorder())
        else:
            held = np.empty(x.shape, x.dtype)
        held[...] = x
        held.flags.writeable = kind != "fixed"
        return Exported(held) if kind == "exported" else held, held

    def shapes(self):
        m, n, k = (self.one_of(*EXTENTS) for _ in range(3))
        leads = [self.one_of(1, 2, 3) for _ in range(self.one_of(0, 0, 1, 2))]
        kept = [tuple(1 if self.happens(0.15) else extent for extent in leads[int(self.rng.integers(len(leads) + 1)) if self.happens(0.3) else 0:])
                for _ in range(2)]
        return (*kept[0], m, k), (*kept[1], k, n)


class Products(unittest.TestCase):
    def product(self, seed):
        drawn = Drawn(seed)
        dtype = drawn.one_of("f8", "f4", "f2", "c8", "c16", "i1")
        wide = "c16" if dtype[0] == "c" else "f8"
        a, b = (drawn.numbers(shape, dtype) for shape in drawn.shapes())
        single = a.ndim == b.ndim == 2
        given = [drawn.stored(drawn.turned(x, name) if single else x) for x, name in ((a, "a"), (b, "b"))]
        of_c = RESULTS.get(dtype, dtype)
        if of_c != "i4" and drawn.happens(0.2):
            of_c = drawn.one_of("c8", "c16") if wide == "c16" else drawn.one_of("f8", "f4", "f2")
        alpha = drawn.words["alpha"] = drawn.one_of(1, 1, 2, -1, 0)
        for name, value in (("reproducible", True), ("memory", {"host": "40MiB"}), ("verify", False), ("grid", (1, 1, 1)), ("threads", 1)):
            if drawn.happens(0.15):
                drawn.words[name] = value
        wanted = alpha * np.matmul(a.astype(wide), b.astype(wide))
        way = drawn.one_of("made", "out", "beta", "c")
        old = drawn.numbers(wanted.shape, of_c)
        out = c = None
        if way in ("out", "beta"):
            out, held = drawn.stored(old, written=True)
        if way == "beta":
            drawn.words["beta"] = -2
            wanted = wanted - 2 * old.astype(wide)
        if way in ("made", "c"):
            drawn.words["type_c"] = NAMES[of_c]
        if way == "c":
            c, _ = drawn.stored(drawn.numbers(wanted.shape, drawn.one_of(of_c, "i4" if of_c == "i4" else "f4")))
            wanted = wanted + (c.array if isinstance(c, Exported) else c).astype(wide)
        before = [x.copy() for _, x in given]
        try:
            made = damier.matmul(given[0][0], given[1][0], out, c=c, **drawn.words)
        except damier.UsageError as refusal:  # a package without broadcast_to()
            self.assertRegex(refusal.message, "is not repeated for")
            return False
        self.assertIs(made if out is not None else None, out)
        made = made if out is None else held
        self.assertEqual((made.shape, made.dtype), (wanted.shape, np.dtype(of_c)))
        np.testing.assert_array_equal(made, wanted.astype(of_c))
        for x, (_, held) in zip(before, given):
            np.testing.assert_array_equal(held, x)
        return True

    def test_at_random(self):
        multiplied = 0
        for seed in range(400):
            with self.subTest(seed=seed):
                multiplied += self.product(seed)
        self.assertGreater(multiplied, 360)


if __name__ == "__main__":
    unittest.main()
