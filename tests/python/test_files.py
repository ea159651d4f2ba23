"""damier.multiply, verify, info and plan: files, records, and errors with code and hint."""
import os
import pathlib
import tempfile
import unittest
import warnings

import damier
import plink_files
import numpy as np

try:
    import h5py
except ImportError:
    h5py = None


class InFolder(unittest.TestCase):
    def setUp(self):
        here, folder = os.getcwd(), tempfile.TemporaryDirectory(prefix="damier-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, here)
        os.chdir(folder.name)
        r = np.random.default_rng(1)
        self.a, self.b, self.c = r.random((30, 40)), r.random((40, 20)), r.random((30, 20))
        for name in "abc":
            np.save(f"{name}.npy", getattr(self, name))


class Genotypes(InFolder):
    def test_relationship(self):
        g = plink_files.random(np.random.default_rng(2), 300, 24)
        plink_files.write(pathlib.Path("g.bed"), g)
        x = np.where(g < 0, np.nan, g.astype(float))
        p = np.nanmean(x, 1, keepdims=True) / 2
        z = np.nan_to_num((x - 2 * p) / np.sqrt(2 * p * (1 - p)))
        known = (g >= 0).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", damier.DamierWarning)
            c = damier.gram("g.bed", grm=True)
            self.assertEqual(c.dtype, np.float64)
            np.testing.assert_allclose(c, z.T @ z / (known.T @ known), atol=1e-13)
            np.testing.assert_allclose(damier.gram("g.bed", grm=True, missing="mean"), z.T @ z / 300, atol=1e-13)
            numbers = damier.matmul(damier.Stored("g.bed")[:, 3:9], np.eye(6), missing="zero")
            np.testing.assert_array_equal(numbers, np.where(g < 0, 0, g)[:, 3:9])
        with self.assertRaisesRegex(damier.InputError, "holds no genotypes of PLINK"):
            damier.gram(x, grm=True)
        with self.assertRaisesRegex(damier.UsageError, "leave out of='rows'"):
            damier.gram("g.bed", of="rows", grm=True)


class Multiply(InFolder):
    def test_zero_bytes_in_names(self):
        for names in (("a.npy\0x", "b.npy", "c.npy"), ("a.npy", "b.npy", "c.npy\0"), ("a.npy", pathlib.Path("b\0"), "c.npy")):
            with self.assertRaisesRegex(damier.UsageError, "contains a zero byte"):
                damier.multiply(*names)
        with self.assertRaisesRegex(damier.UsageError, "contains a zero byte"):
            damier.info("a\0.npy")
        with self.assertRaisesRegex(damier.UsageError, "contains a zero byte"):
            damier.plan("a\0.npy", "b.npy")
        with self.assertRaisesRegex(damier.UsageError, "contains a zero byte"):
            damier.multiply("a.npy", "b.npy", "out.npy", c="c\0.npy", beta=1)

    def test_npy(self):
        record = damier.multiply("a.npy", pathlib.Path("b.npy"), "out.npy", alpha=2)
        np.testing.assert_allclose(np.load("out.npy"), 2 * self.a @ self.b, rtol=1e-13)
        self.assertEqual((record["schema"], record["verb"]), ("damier/1", "multiply"))
        self.assertEqual((record["problem"]["m"], record["problem"]["n"], record["problem"]["k"]), (30, 20, 40))

    def test_old_c(self):
        damier.multiply("a.npy", "b.npy", "out.npy", c="c.npy", beta=-1)
        np.testing.assert_allclose(np.load("out.npy"), self.a @ self.b - self.c, rtol=1e-12)

    def test_options(self):
        damier.multiply("b.npy", "a.npy", "out.npy", op_a="t", op_b="t", type_c="f32", verify=False)
        out = np.load("out.npy")
        self.assertEqual(out.dtype, np.float32)
        np.testing.assert_allclose(out, self.b.T @ self.a.T, rtol=1e-6)
        with self.assertRaises(damier.Error) as caught:
            damier.multiply("a.npy", "b.npy", "out.npy")
        self.assertEqual(caught.exception.hint, "force=True replaces it")
        damier.multiply("a.npy", "b.npy", "out.npy", force=True)
        self.assertEqual(np.load("out.npy").dtype, np.float64)

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_missing_values(self):
        packed = np.round(self.a * 1000).astype("i2")
        packed[2, 3] = -1
        with h5py.File("packed.h5", "w") as file:
            file["a"] = packed
            file["a"].attrs.update(scale_factor=0.001, _FillValue=np.int16(-1))
        with self.assertRaisesRegex(damier.InputError, "one of its values is missing; the first is in row 2, column 3"):
            damier.multiply("packed.h5", "b.npy", "out.npy")
        record = damier.multiply("packed.h5", "b.npy", "out.npy", missing="zero")
        self.assertIn("read as 0", record["files"]["a_values"])
        packed[2, 3] = 0
        np.testing.assert_allclose(np.load("out.npy"), packed * 0.001 @ self.b, rtol=1e-12)
        damier.multiply("packed.h5", "b.npy", "out.npy", raw=True, type="f64", force=True)

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_parts_and_stacks(self):
        for name, part in (("part1.h5", self.a[:2]), ("part10.h5", self.a[3:]), ("part9.h5", self.a[2:3])):
            with h5py.File(name, "w") as file:
                file["x"] = part
        damier.multiply("part*.h5:/x", "b.npy", "stacked.npy")
        np.testing.assert_allclose(np.load("stacked.npy"), self.a @ self.b, rtol=1e-12)
        damier.multiply("a.npy[::2, 1:]", "b.npy[1:]", "sliced.npy")
        np.testing.assert_allclose(np.load("sliced.npy"), self.a[::2, 1:] @ self.b[1:], rtol=1e-12)

    def test_one_context_for_several(self):
        with damier.Context(force=True) as context:
            context.multiply("a.npy", "b.npy", "sum.npy", c="c.npy")
            np.testing.assert_allclose(np.load("sum.npy"), self.a @ self.b + np.load("c.npy"), rtol=1e-12)
            with self.assertRaises(damier.FileError):
                context.multiply("a.npy", "b.npy", "sum.npy", c="absent.npy")
            with self.assertRaisesRegex(damier.UsageError, "no beta"):
                context.verify("a.npy", "b.npy", "sum.npy", c="c.npy")
            context.multiply("a.npy", "b.npy", "out.npy")
            self.assertEqual(context.record["verb"], "multiply")
            context.verify("a.npy", "b.npy", "out.npy")
            self.assertEqual(context.record["verb"], "verify")
        with damier.Context(force=True, divide="n") as context:
            context.multiply("a.npy", "b.npy", "out.h5")
            context.verify("a.npy", "b.npy", "out.h5")
        with self.assertRaisesRegex(damier.UsageError, "closed"):
            context.info()

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_hdf5(self):
        with h5py.File("A.h5", "w") as f:
            f["left"], f["right"] = self.a, self.b
        record = damier.multiply("A.h5:/left", "A.h5:/right", "C.h5:/product", chunk=(8, 8), deflate=1)
        with h5py.File("C.h5") as f:
            np.testing.assert_allclose(f["product"][...], self.a @ self.b, rtol=1e-13)
            self.assertEqual(f["product"].chunks, (8, 8))
        self.assertEqual(record["verification"]["verdict"], "PASS")
        self.assertEqual(damier.info("C.h5:/product")["dataset"]["rows"], 30)
        self.assertEqual(len(damier.info("A.h5")["file"]["datasets"]), 2)
        self.assertEqual(damier.verify("A.h5:/left", "A.h5:/right", "C.h5:/product")["verification"]["verdict"], "PASS")


@unittest.skipUnless(h5py, "needs h5py")
class Reductions(InFolder):
    """Of a C that is never stored."""

    def test_top(self):
        c = self.a @ self.b
        record = damier.multiply("a.npy", "b.npy", "top.h5", top=3)
        self.assertEqual((record["reduction"]["kept"], record["verification"]["verdict"]), (90, "PASS"))
        with h5py.File("top.h5") as file:
            np.testing.assert_array_equal(file["c/indices"][:], np.argsort(-c, 1)[:, :3])
            np.testing.assert_allclose(file["c/values"][:], -np.sort(-c, 1)[:, :3])

    def test_gram_and_cor(self):
        gram, cor = self.a.T @ self.a, np.corrcoef(self.a, rowvar=False)
        damier.gram("a.npy", out="most.h5", reduce="max", no_self=True)
        damier.cor("a.npy", out="links.h5", above=0.3, by="abs", no_self=True)
        np.fill_diagonal(gram, -np.inf)
        np.fill_diagonal(cor, 0.0)
        with h5py.File("most.h5") as file:
            np.testing.assert_allclose(file["c/max"][:], gram.max(1))
        with h5py.File("links.h5") as file:
            self.assertEqual(len(file["c/data"]), (np.abs(cor) > 0.3).sum())

    def test_gram_to_a_file(self):
        record = damier.gram("a.npy", out="gram.npy", of="rows")
        self.assertEqual(record["verb"], "gram")
        np.testing.assert_allclose(np.load("gram.npy"), self.a @ self.a.T, rtol=1e-13)

    def test_several(self):
        damier.multiply("a.npy", "b.npy", "kept.h5", top=3, above=1.0)
        with h5py.File("kept.h5") as file:
            self.assertEqual((sorted(file["c"]), sorted(file["c/top"])), (["above", "top"], ["indices", "values"]))


class Verify(InFolder):
    def test_right_and_wrong(self):
        np.save("out.npy", self.a @ self.b)
        self.assertFalse(damier.verify("a.npy", "b.npy", "out.npy")["verification"]["full"])
        self.assertTrue(damier.verify("a.npy", "b.npy", "out.npy", full=True)["verification"]["full"])
        wrong = self.a @ self.b
        wrong[3, 5] += 1e-3
        np.save("wrong.npy", wrong)
        with self.assertRaises(damier.VerifyError) as caught:
            damier.verify("a.npy", "b.npy", "wrong.npy")
        self.assertEqual(caught.exception.code, 1)
        self.assertEqual(caught.exception.record["verification"]["verdict"], "FAIL")

    def test_weights(self):
        x = np.random.default_rng(0).standard_normal((30, 20))
        weights = np.arange(1.0, 31.0)
        np.save("x.npy", x)
        damier.cov("x.npy", out="weighted.h5", weights=weights)
        record = damier.verify("x.npy", "x.npy", "weighted.h5", weights=weights)
        self.assertEqual(record["verification"]["verdict"], "PASS")
        with self.assertRaises(damier.VerifyError):
            damier.verify("x.npy", "x.npy", "weighted.h5", weights=weights[::-1])
        with self.assertRaisesRegex(damier.UsageError, "the weights of C were in memory"):
            damier.verify("x.npy", "x.npy", "weighted.h5")
        np.save("w.npy", weights)
        self.assertEqual(damier.verify("x.npy", "x.npy", "weighted.h5", weights="w.npy")["verification"]["verdict"], "PASS")

    def test_equation(self):
        np.save("out.npy", 2 * self.a @ self.b + 3 * self.c)
        damier.verify("a.npy", "b.npy", "out.npy", c="c.npy", alpha=2, beta=3)
        with self.assertRaises(damier.VerifyError):
            damier.verify("a.npy", "b.npy", "out.npy", alpha=2)


class Compare(InFolder):
    def test_as_isclose(self):
        other = self.a.copy()
        other[3, 7] += 1e-3
        other[5, 2] = np.nan
        for rtol, atol in (1e-5, 1e-8), (0, 0.01), (0, 0):
            with self.assertRaises(damier.VerifyError) as caught:
                damier.compare("a.npy", other, rtol=rtol, atol=atol)
            found = caught.exception.record["compare"]
            self.assertEqual(found["different"], (~np.isclose(self.a, other, rtol, atol)).sum())
            self.assertEqual(found["worst_row"], 5)
        self.assertEqual(damier.compare(other, other, equal_nan=True)["compare"]["elements"], 1200)
        self.assertEqual(damier.compare(np.arange(5), np.arange(5.0), rtol=0, atol=0)["compare"]["different"], 0)

    def test_refused(self):
        with self.assertRaisesRegex(damier.VerifyError, "shapes"):
            damier.compare("a.npy", "b.npy")
        with self.assertRaisesRegex(damier.UsageError, "rtol"):
            damier.compare("a.npy", "a.npy", rtol=-1)
        with self.assertRaises(damier.FileError):
            damier.compare("a.npy", "missing.npy")


class Info(InFolder):
    def test_dataset_and_library(self):
        self.assertEqual(damier.info("a.npy")["dataset"]["type"], "f64")
        record = damier.info()
        self.assertIn("cpu", record["backends"])
        self.assertTrue(record["build"]["version"].startswith(damier.version()))

    def test_refused(self):
        pathlib.Path("text.h5").write_text("no matrix")
        for location, kind, code in (("missing.h5", damier.FileError, 4), ("text.h5", damier.InputError, 3)):
            with self.assertRaises(kind) as caught:
                damier.info(location)
            self.assertEqual(caught.exception.code, code)
            self.assertIn(location, caught.exception.message)


class Plan(InFolder):
    def test_arrays(self):
        record = damier.plan(self.a, self.b)
        self.assertEqual((record["verb"], record["plan"]["grid"]), ("plan", "1x1x1"))
        self.assertEqual(damier.plan(self.b, self.a, op_a="t", op_b="t")["problem"]["m"], 20)
        with self.assertRaises(damier.UsageError):
            damier.plan(self.a, self.a)

    def test_files_and_machines(self):
        self.assertEqual(damier.plan("a.npy", "b.npy")["problem"]["k"], 40)
        record = damier.plan(m=10000, n=20000, k=30000, type="f32", machine="nodes=4 cores=64", ranks=8, verify=False)
        self.assertEqual((record["plan"]["ranks"], record["problem"]["n"]), (8, 20000))
        with self.assertRaises(damier.UsageError) as caught:
            damier.plan(m=10)
        self.assertIn("n is missing", caught.exception.message)
        self.assertTrue(caught.exception.hint)
        with self.assertRaises(damier.UsageError):
            damier.plan("a.npy")

    def test_does_not_fit(self):
        with self.assertRaises(damier.FitError) as caught:
            damier.plan(size=10**6, machine="nodes=1 cores=8 memory=1MiB")
        self.assertEqual(caught.exception.code, 5)


if __name__ == "__main__":
    unittest.main()
