"""Products on several GPUs of this process: arrays in host memory, and files. With a library whose GPUs are emulated."""
import itertools
import os
import pathlib
import tempfile
import unittest

os.environ["EMULATED_GPUS"] = "3"

import numpy as np  # noqa: E402

import damier  # noqa: E402
import on_gpu  # noqa: E402
from gpu_arrays import ByInterface  # noqa: E402

GPU = on_gpu.Emulated()


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
        wide, old = matrix(40, 900), matrix(900, 900, 4)
        for part in (wide, wide + 1j * wide[::-1]):
            out = start = (old + old.T).astype(part.dtype)
            damier.gram(part, out := out.copy(), gpus=3, beta=-2)
            np.testing.assert_allclose(out, part.conj().T @ part - 2 * start, rtol=0, atol=1e-11)
        whole = np.asfortranarray(matrix(60, 60))
        np.testing.assert_allclose(damier.matmul(whole, whole[::-1], gpus=2), whole @ whole[::-1], rtol=0, atol=1e-12)

    def test_larger_than_gpu_memory(self):
        """A and B stay in the caller's memory and are read as the GPUs need them; C leaves in tiles."""
        a, b, old = matrix(1501, 1203), matrix(1203, 1299, 2), matrix(1501, 1299, 3)
        for gpus, memory in ((1, "70MiB"), (3, "68MiB")):
            with self.subTest(gpus=gpus), damier.Context(gpus=gpus, backend="cuda", memory={"device": memory}, op_a="t", beta=0.5) as context:
                c = context.matmul(np.ascontiguousarray(a.T), np.asfortranarray(b), c=old)
                np.testing.assert_allclose(c, a @ b + 0.5 * old, rtol=0, atol=1e-11)
                plan = context.record["plan"]
                self.assertGreater(plan["tiles"], 1)
                self.assertIn("file", (plan["a_in"], plan["b_in"]))

    def test_links(self):
        """They are tested once in a context."""
        a = matrix(200, 200)
        with damier.Context(gpus=2) as context:
            rates = set()
            for _ in range(3):
                context.matmul(a, a)
                rates.add(context.record["transport"]["proved_rate"])
        self.assertEqual(len(rates), 1)

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

    def test_batches(self):
        """Small entries on one GPU's computer are multiplied by its cores; several GPUs divide them like other rows."""
        for gpus in (1, 2, 3):
            with damier.Context(gpus=gpus) as context:
                for entries, m, k, n, dtype in ((50, 8, 6, 4, "f8"), (1000, 3, 3, 3, "f4"), (7, 5, 9, 1, "c16"), (2, 400, 90, 90, "f8")):
                    rng = np.random.default_rng(entries)
                    a, b = (rng.standard_normal((entries, *shape)).astype(dtype) for shape in ((m, k), (k, n)))
                    c = context.matmul(a, b)
                    np.testing.assert_allclose(c, a @ b, rtol=0, atol=1e-4 if dtype == "f4" else 1e-12)
                    record = context.record
                    self.assertEqual(record["machine"]["ranks"], gpus)
                    self.assertEqual(record["machine"]["backend"], "cpu" if gpus == 1 and m < 400 else "cuda")

    def test_gpu_that_does_not_start(self):
        a = matrix(40, 30)
        os.environ["EMULATED_GPU_FAILS"] = "1"
        try:
            with damier.Context(gpus=3) as context, self.assertRaisesRegex(damier.DeviceError, "GPU 1 does not start"):
                context.matmul(a, a.T)
            with damier.Context(gpus=1) as context:
                np.testing.assert_allclose(context.matmul(a, a.T), a @ a.T, rtol=0, atol=1e-12)
        finally:
            del os.environ["EMULATED_GPU_FAILS"]

    def put(self, array, gpu=0):
        """A copy in the memory of GPU number GPU."""
        pointer = GPU.allocate(array.nbytes)
        GPU.library.emulated_move(pointer, gpu)
        GPU.write(pointer, np.ascontiguousarray(array))
        return ByInterface(pointer, array.shape, array.dtype)

    def get(self, given):
        there = np.empty(given.shape, given.dtype)
        GPU.read(there, given.pointer)
        return there

    def test_parts(self):
        """Rows on each GPU, in its memory or in that of the host, in any combination with whole arrays."""
        a, b, old = matrix(90, 70), matrix(70, 50, 2), matrix(90, 50, 3)
        cut = [0, 20, 50, 90]
        rows_of = {name: [x[i:j] for i, j in zip(of, of[1:])]
                   for name, x, of in (("a", a, cut), ("b", b, [0, 40, 41, 70]), ("old", old, [0, 30, 60, 90]))}
        with damier.Context(gpus=3) as context, damier.Context(gpus=3, beta=2) as adds:
            for on_gpu_too in (False, True):
                there = {name: damier.Rows([self.put(x, i) if on_gpu_too or i == 1 else x.copy() for i, x in enumerate(parts)])
                         for name, parts in rows_of.items()}
                for of_a, of_b in ((there["a"], there["b"]), (a, there["b"]), (there["a"], b)):
                    out = damier.Rows([self.put(x, i) if on_gpu_too else x.copy() for i, x in enumerate(rows_of["old"])])
                    self.assertIs(context.matmul(of_a, of_b, out), out.array)
                    found = np.vstack([self.get(x) if on_gpu_too else x for x in out.array])
                    np.testing.assert_allclose(found, a @ b, rtol=0, atol=1e-12)
                adds.matmul(there["a"], there["b"], there["old"])
                found = np.vstack([x if isinstance(x, np.ndarray) else self.get(x) for x in there["old"].array])
                np.testing.assert_allclose(found, a @ b + 2 * old, rtol=0, atol=1e-12)
            parts = context.matmul(damier.Rows(rows_of["a"]), b)  # new ones, divided as A
            self.assertEqual([len(x) for x in parts], [20, 30, 40])
            np.testing.assert_allclose(np.vstack(parts), a @ b, rtol=0, atol=1e-12)
            np.testing.assert_allclose(context.gram(damier.Rows(rows_of["a"]), np.empty((70, 70))), a.T @ a, rtol=0, atol=1e-12)

    def test_parts_in_modes(self):
        """Each GPU multiplies its rows as they are, with the exponents of all ranks' parts."""
        cut_a, cut_b = [0, 20, 50, 90], [0, 40, 41, 70]
        for words, dtype in (({"compute": "f64:int8"}, "f8"), ({"compute": "f64:int8"}, "c16"), ({"compute": "f32:f16"}, "f4"),
                             ({"compute": "tf32"}, "f4"), ({"kernel": "mma"}, "f8"), ({"reproducible": True}, "f8")):
            a, b = ((np.random.default_rng(i).integers(-9, 9, s) * (1 - 2j if dtype == "c16" else 1)).astype(dtype)
                    for i, s in enumerate(((90, 70), (70, 50))))
            a[60:] *= 1024  # exponents of their own
            for verify, beta in ((True, 0), (False, 2)):
                with self.subTest(words=words, dtype=dtype, beta=beta), damier.Context(gpus=3, verify=verify, beta=beta, **words) as context:
                    there = [damier.Rows([self.put(x[i:j], g) for g, (i, j) in enumerate(zip(of, of[1:]))])
                             for x, of in ((a, cut_a), (b, cut_b), (np.ones((90, 50), dtype), cut_a))]
                    context.matmul(*there)
                    np.testing.assert_array_equal(np.vstack([self.get(x) for x in there[2].array]), a @ b + beta)
                    self.assertTrue(context.record["plan"]["recipe"].startswith("in place"), context.record["plan"]["recipe"])
                    for rows in there:
                        for part in rows.array:
                            GPU.library.emulated_release(part.pointer)

    def test_gram_in_modes(self):
        """Half of C on each GPU and images of the other half, conjugated if they are of complex numbers."""
        cut_x, cut_c = [0, 20, 21, 60], [0, 30, 30, 70]
        for words, dtype in (({}, "c16"), ({"compute": "f64:int8"}, "f8"), ({"compute": "f64:int8"}, "c16"), ({"compute": "f32:f16"}, "f4"),
                             ({"kernel": "mma"}, "f8"), ({"reproducible": True}, "f8"), ({"reproducible": True}, "c16")):
            for of, cut in (("columns", cut_x), ("rows", cut_c)):
                x = (np.random.default_rng(5).integers(-9, 9, (60, 70) if of == "columns" else (70, 60)) * (1 - 2j if dtype == "c16" else 1)).astype(dtype)
                lines = x.T if of == "columns" else x
                lines[40:] *= 1024  # exponents of their own
                with self.subTest(words=words, dtype=dtype, of=of), damier.Context(gpus=3, **words) as context:
                    there, out = (damier.Rows([self.put(y[i:j], g) for g, (i, j) in enumerate(zip(at, at[1:]))])
                                  for y, at in ((x, cut), (np.ones((70, 70), dtype), cut_c)))
                    context.gram(there, out, of=of)
                    np.testing.assert_array_equal(np.vstack([self.get(y) for y in out.array]), x.conj().T @ x if of == "columns" else x @ x.conj().T)
                    self.assertEqual(context.record["verification"]["verdict"], "PASS")
                    self.assertTrue(context.record["plan"]["recipe"].startswith("in place"), context.record["plan"]["recipe"])
                    for part in (*there.array, *out.array):
                        GPU.library.emulated_release(part.pointer)

    def test_parts_of_k(self):
        """Where C is small beside parts of k, sums travel instead of operands."""
        cut_k, cut_c = [0, 700, 700, 2000], [0, 5, 11, 20]
        for number, (words, dtype) in enumerate((({}, "f8"), ({}, "c16"), ({"compute": "f64:int8"}, "f8"), ({"compute": "f64:int8"}, "c16"),
                                                 ({"accumulate": "f32"}, "f2"), ({"reproducible": True}, "f8"))):
            x, y = ((np.random.default_rng(number + i).integers(-9, 9, (2000, 20)) * (1 - 2j if dtype == "c16" else 1)).astype(dtype) for i in (0, 1))
            x[:, 7:] *= 64  # exponents of their own
            wide = x.astype("f8") if dtype == "f2" else x
            for gram, verify, beta in ((True, True, 0), (False, True, 0), (False, False, 2)):
                ways = {"gpus": 3, "verify": verify, "beta": beta, **words, **({} if gram else {"op_a": "t"})}
                with self.subTest(words=words, dtype=dtype, gram=gram, beta=beta), damier.Context(**ways) as context:
                    kept = "f4" if dtype == "f2" else dtype
                    there = [damier.Rows([self.put(z[i:j], g) for g, (i, j) in enumerate(zip(of, of[1:]))])
                             for z, of in ((x, cut_k), (y, cut_k), (np.ones((20, 20), kept), cut_c))]
                    if gram:
                        context.gram(there[0], there[2])
                    else:
                        context.matmul(*there)
                    np.testing.assert_array_equal(np.vstack([self.get(z) for z in there[2].array]), (wide.conj().T @ wide if gram else wide.T @ y) + beta)
                    recipe = context.record["plan"]["recipe"]
                    self.assertEqual("sums of parts of k" in recipe, "reproducible" not in words, recipe)
                    for part in itertools.chain(*(z.array for z in there)):
                        GPU.library.emulated_release(part.pointer)
        x, y = (np.random.default_rng(i).standard_normal((2000, 20)) for i in (0, 1))
        for small in (1e-170, 1e150, np.nan):  # on one GPU: all judge alike
            x[700:] *= small
            there = [damier.Rows([self.put(z[i:j], g) for g, (i, j) in enumerate(zip(of, of[1:]))])
                     for z, of in ((x, cut_k), (y, cut_k), (np.ones((20, 20)), cut_c))]
            with self.subTest(small=small), damier.Context(gpus=3, op_a="t") as context:
                context.matmul(*there)
                np.testing.assert_allclose(np.vstack([self.get(z) for z in there[2].array]), x.T @ y, rtol=1e-9)
                self.assertIn("sums of parts of k", context.record["plan"]["recipe"])

    def test_moved_parts_in_modes(self):
        """The exponents of residues are those of the matrices that were moved, not of what was there before."""
        with damier.Context(gpus=3, compute="f64:int8") as context:
            for turn in range(3):
                a, b = (np.random.default_rng(turn + i).integers(-9, 9, s).astype("f8") for i, s in enumerate(((90, 70), (70, 50))))
                a[::2] *= 2.0 ** (300 * turn)
                there = [damier.Rows([self.put(x[i:j], g) for g, (i, j) in enumerate(zip(of, of[1:]))])
                         for x, of in ((a, [0, 20, 50, 90]), (b, [0, 40, 41, 70]), (np.ones((90, 50)), [0, 90, 90, 90]))]
                context.matmul(*there)
                np.testing.assert_array_equal(self.get(there[2].array[0]), a @ b)
                self.assertIn("moved", context.record["plan"]["recipe"])
                self.assertIn("by f64:int8", context.record["plan"]["recipe"])

    def test_wrong_parts(self):
        a = matrix(20, 20)
        with damier.Context(gpus=3) as context:
            for parts, message in (([a, a], "2 parts for 3 GPUs"), ([a, a, a[:, 1:]], "20 and 19|19 and 20"),
                                   ([a, a, a[0]], "1 dimension;"), ([a, a, a.astype("f4")], "f32 and f64|f64 and f32")):
                with self.assertRaisesRegex(damier.UsageError, message):
                    context.matmul(damier.Rows(parts), a)
            with self.assertRaisesRegex(damier.UsageError, "whole matrix in the memory of one GPU"):
                context.matmul(self.put(a), a)
            with self.assertRaisesRegex(damier.UsageError, "overlaps"):
                context.matmul(damier.Rows([a, a[:0], a[:0]]), a.copy(), damier.Rows([a, a[:0], a[:0]]))
            with self.assertRaisesRegex(damier.UsageError, "cannot write"):
                context.matmul(damier.Rows([a, a[:0], a[:0]]), a, damier.Rows([np.empty((20, 20))[::-1], a[:0], a[:0]]))
            with self.assertRaisesRegex(damier.DeviceError, "on GPU 2|GPU 2"):
                context.matmul(damier.Rows([a, a, a]), a, damier.Rows([self.put(a, i) for i in (0, 2, 1)]))
            np.testing.assert_allclose(context.matmul(a, a), a @ a, rtol=0, atol=1e-12)  # still works
        with damier.Context() as one, self.assertRaisesRegex(damier.UsageError, "3 dimensions"):
            one.matmul(damier.Rows([a, a]), a)

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
