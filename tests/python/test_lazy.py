"""Operands in any place: files, memory, expressions of files; labels, records, progress, and Python's words in errors."""
import contextlib
import io
import itertools
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import damier
import h5py
import numpy as np


class InFolder(unittest.TestCase):
    def setUp(self):
        here, folder = os.getcwd(), tempfile.TemporaryDirectory(prefix="damier-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, here)
        os.chdir(folder.name)
        rng = np.random.default_rng(3)
        self.a, self.b, self.c = rng.standard_normal((7, 5)), rng.standard_normal((5, 6)), rng.standard_normal((7, 6))
        for name in "abc":
            np.save(f"{name}.npy", getattr(self, name))

    def close_to(self, found, expected):
        np.testing.assert_allclose(np.load(found) if isinstance(found, str) else found, expected, rtol=0, atol=1e-12)


class Mixtures(InFolder):
    def test_products(self):
        product = self.a @ self.b
        for a, b in itertools.product((self.a, "a.npy"), (self.b, "b.npy")):
            for number, to_file in enumerate((damier.matmul, damier.multiply)):
                name = f"d{number}.npy"
                record = to_file(a, b, name, alpha=2, force=True)
                self.assertEqual(record.verification.verdict, "PASS")
                self.close_to(name, 2 * product)
            self.close_to(damier.matmul(a, b), product)

    def test_old_c(self):
        for a, c in itertools.product((self.a, "a.npy"), (self.c, "c.npy")):
            damier.multiply(a, "b.npy", "d.npy", c=c, beta=3, force=True)
            self.close_to("d.npy", self.a @ self.b + 3 * self.c)
            damier.multiply(a, self.b, "d.npy", c=c, force=True)
            self.close_to("d.npy", self.a @ self.b + self.c)
        with self.assertRaisesRegex(damier.UsageError, "c is in a file"):
            damier.matmul(self.a, self.b, c="c.npy")

    def test_of_itself(self):
        makes = [(damier.gram, self.a.T @ self.a, {}), (damier.cov, np.cov(self.a, rowvar=False), {}),
                 (damier.cor, np.corrcoef(self.a), {"of": "rows"})]
        for (function, expected, options), x in itertools.product(makes, (self.a, "a.npy", damier.Stored("a.npy"))):
            self.close_to(function(x, **options), expected)
            record = function(x, out="d.npy", force=True, **options)
            self.assertEqual(record["verification"]["verdict"], "PASS")
            self.close_to("d.npy", expected)
            out = np.empty(expected.shape)
            self.assertIs(function(x, out=out, **options), out)
            self.close_to(out, expected)

    def test_of_two(self):
        expected = np.cov(self.a, self.c, rowvar=False)[:5, 5:]
        for x, y in itertools.product((self.a, "a.npy"), (self.c, "c.npy")):
            self.close_to(damier.cov(x, y), expected)
            damier.cov(x, y, "d.npy", force=True)
            self.close_to("d.npy", expected)

    def test_components(self):
        values = np.linalg.svd(self.a - self.a.mean(0), compute_uv=False)[:2]
        for x in (self.a, "a.npy", damier.Stored("a.npy")):
            self.close_to(damier.pca(x, 2).singular_values, values)
            damier.pca(x, 2, "p.h5", force=True)
            with h5py.File("p.h5") as file:
                self.close_to(file["pca/singular_values"][:], values)

    def test_numbers_in_memory(self):
        w, middle = np.arange(1.0, 8), np.arange(5.0)
        np.save("w.npy", w)
        for x in (self.a, "a.npy"):
            for weights in (w, "w.npy", w.tolist()):
                self.close_to(damier.cov(x, weights=weights), np.cov(self.a, rowvar=False, aweights=w))
                self.close_to(damier.gram(x, weights=weights), (self.a.T * w) @ self.a)
                damier.gram(x, "d.npy", weights=weights, force=True)
                self.close_to("d.npy", (self.a.T * w) @ self.a)
            self.close_to(damier.matmul(x, "b.npy", center_a=middle), (self.a - middle) @ self.b)
            damier.multiply(x, self.b, "d.npy", center_a=("rows", w), scale_a=("rows", w), force=True)
            self.close_to("d.npy", (self.a - w[:, None]) / w[:, None] @ self.b)
            self.assertEqual(damier.pca(x, 2, weights=w).components.shape, (2, 5))
        damier.gram("a.npy", "d.npy", weights=w, force=True)
        self.assertEqual(damier.verify("a.npy", "a.npy", "d.npy", op_a="t", weights=w).verification.verdict, "PASS")

    def test_refused(self):
        with self.assertRaisesRegex(damier.UsageError, "not written to a file"):
            damier.matmul(np.ones((2, 3, 3)), np.ones((2, 3, 3)), "d.npy")
        with self.assertRaisesRegex(damier.UsageError, "needs output"):
            damier.multiply(self.a, self.b)
        with self.assertRaisesRegex(damier.Error, "force=True"):
            damier.multiply(self.a, self.b, "c.npy")


class Lazy(InFolder):
    def test_products(self):
        a, b = damier.open("a.npy"), damier.open("b.npy")
        self.close_to((a @ b).compute(), self.a @ self.b)
        self.close_to((a @ b).T.compute(), (self.a @ self.b).T)
        self.close_to((2 * (a @ b) / 4 + self.c).compute(), self.a @ self.b / 2 + self.c)
        self.close_to((a @ b - self.c).compute(), self.a @ self.b - self.c)
        self.close_to((a @ self.b).compute(), self.a @ self.b)
        self.close_to((self.a @ b).compute(), self.a @ self.b)
        self.close_to(np.asarray(-(a[1:4] @ b[:, ::2])), -(self.a[1:4] @ self.b[:, ::2]))
        self.close_to((b.T[:3] @ a.T[:, 2:]).compute(), self.b.T[:3] @ self.a.T[:, 2:])
        self.close_to((a @ b @ b.T @ a.T).compute(), self.a @ self.b @ self.b.T @ self.a.T)
        self.assertEqual((repr(a @ b.T[1:]), a.dtype, (a @ b).shape), ("(a.npy @ b.npy[:, 1:].T)", "f64", (7, 6)))

    def test_save(self):
        a, b, c = (damier.open(f"{name}.npy") for name in "abc")
        self.assertEqual(damier.save(a @ b + c, "d.npy").verification.verdict, "PASS")
        self.close_to("d.npy", self.a @ self.b + self.c)
        self.assertEqual(damier.save(b.T @ a.T, "d.npy", force=True).verb, "multiply")
        self.close_to("d.npy", (self.a @ self.b).T)

    def test_as_operands(self):
        a, b = damier.open("a.npy"), damier.open("b.npy")
        self.close_to(damier.matmul(b.T, a.T, alpha=2), 2 * (self.a @ self.b).T)
        self.close_to(damier.matmul(a @ b, self.c.T, c=np.eye(7), beta=3), self.a @ self.b @ self.c.T + 3 * np.eye(7))
        damier.multiply(b.T, a.T, "d.npy")
        self.close_to("d.npy", (self.a @ self.b).T)
        self.close_to(damier.gram(a), self.a.T @ self.a)
        self.assertEqual(damier.matmul(a, b.T.T, top=2).values.shape, (7, 2))
        self.close_to((2 * a @ (b / 4)).compute(), self.a @ self.b / 2)
        self.close_to((-a.T[:3] @ (3 * a)).T.compute(), -3 * self.a.T @ self.a[:, :3])
        self.close_to(((1j * a) @ b).H.compute(type="c128"), (1j * self.a @ self.b).conj().T)
        self.assertEqual((len(a), a.T.ndim, repr(2 * a.T), (2 * a).shape), (7, 2, "2 * a.npy.T", (7, 5)))
        self.assertEqual(damier.verify(b, damier.Stored("a.npy"), "d.npy", op_a="t", op_b="t").verification.verdict, "PASS")
        self.assertEqual(damier.plan(a, a.T).problem.n, 7)
        for call in (lambda: damier.matmul(b.T, a, op_b="t"), lambda: (2 * (a @ b)).compute(alpha=2), lambda: (a @ b).compute(c=self.c)):
            self.assertRaisesRegex(damier.UsageError, "part of the expression", call)
        for given in (a, a.T):
            self.assertRaisesRegex(damier.UsageError, "is in a file", np.asarray, given)
        with self.assertRaisesRegex(damier.UsageError, "is in a file"):
            damier.gram(a.T)

    def test_half_of_the_work(self):
        a = damier.open("a.npy")
        self.assertEqual(damier.save(3 * (a.T @ a), "d.npy").verb, "gram")
        self.close_to("d.npy", 3 * self.a.T @ self.a)
        self.close_to((a @ a.H).compute(), self.a @ self.a.T)
        z = self.a + 1j * self.a[::-1]
        np.save("z.npy", z)
        z_there = damier.open("z.npy")
        self.close_to((z_there.T @ z_there).compute(), z.T @ z)
        self.close_to((1j * (z_there.H @ z_there)).H.compute(), (1j * (z.conj().T @ z)).conj().T)

    def test_refused(self):
        a = damier.open("a.npy")
        with self.assertRaisesRegex(damier.UsageError, "inner dimensions"):
            a @ a
        with self.assertRaises(damier.FileError):
            damier.open("none.npy")
        with self.assertRaises(damier.UsageError):
            a.T.H
        with self.assertRaises(damier.UsageError):
            damier.save(self.a, "d.npy")
        with h5py.File("two.h5", "w") as file:
            file["x"], file["y"] = self.a, self.b
        with self.assertRaisesRegex(damier.InputError, "2 datasets"):
            damier.open("two.h5")
        with h5py.File("two.h5") as file:
            self.close_to((damier.open(file["x"]) @ damier.open("two.h5:/y")).compute(), self.a @ self.b)


class Labels(InFolder):
    def labelled(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        return pandas

    def test_pandas(self):
        pandas = self.labelled()
        x = pandas.DataFrame(self.a, columns=list("vwxyz"), index=[f"row {i}" for i in range(7)])
        y = pandas.DataFrame(self.c, columns=range(6))
        pandas.testing.assert_frame_equal(damier.cov(x), x.cov())
        pandas.testing.assert_frame_equal(damier.cor(x), x.corr())
        found = damier.cov(x, y)
        self.assertEqual((list(found.index), list(found.columns)), (list("vwxyz"), list(range(6))))
        self.assertEqual(list(damier.cor(x, of="rows").columns), list(x.index))
        self.assertEqual(damier.cov(x, self.c).shape, (5, 6))
        self.assertIsInstance(damier.cov(x, out=np.empty((5, 5))), np.ndarray)

    def test_xarray(self):
        try:
            import xarray
        except ImportError:
            self.skipTest("xarray is not installed")
        x = xarray.DataArray(self.a, dims=("time", "gene"), coords={"gene": list("vwxyz")})
        found = damier.cov(x)
        self.assertEqual(found.dims, ("gene", "gene_2"))
        self.close_to(found.sel(gene="w", gene_2="z"), np.cov(self.a, rowvar=False)[1, 4])
        self.assertEqual(damier.cor(x, of="rows").dims, ("time", "time_2"))


class Records(InFolder):
    def test_forms(self):
        record = damier.multiply("a.npy", "b.npy", "d.npy")
        self.assertIsInstance(record, dict)
        self.assertEqual(record.problem.m, record["problem"]["m"])
        self.assertLess(len(repr(record)), 200)
        for text in (repr(record), record._repr_html_()):
            self.assertIn("7 x 5 times 5 x 6", text)
            self.assertIn("PASS", text)
        plain = record.to_dict()
        self.assertIs(type(plain), dict)
        self.assertIs(type(plain["problem"]), dict)
        self.assertEqual(json.loads(json.dumps(record)), plain)
        self.assertEqual(pickle.loads(pickle.dumps(record)), record)
        self.assertIn("verification", dir(record))
        with self.assertRaisesRegex(AttributeError, "there is no 'verdict'"):
            record.verdict
        for other in (damier.info(), damier.info("a.npy"), damier.plan(size=100), damier.Context().record):
            self.assertLess(len(repr(other)), 200)
            self.assertIn("<table>", other._repr_html_())


class Progress(InFolder):
    def shown(self, modules):
        told = io.StringIO()
        with unittest.mock.patch.dict(sys.modules, modules), contextlib.redirect_stderr(told):
            self.close_to(damier.matmul(self.a, self.b, progress=True), self.a @ self.b)
            for call in (damier.cov, damier.cor, damier.gram):
                call(self.a, progress=True)
            damier.pca(self.a, 2, progress=True)
        return told.getvalue()

    def test_tqdm(self):
        bars = []

        class Bar:
            def __init__(self, total, **_):
                self.n, self.total, self.closed = 0.0, total, False
                bars.append(self)

            def update(self, by):
                self.n += by

            def close(self):
                self.closed = True

        self.shown({"tqdm": types.ModuleType("tqdm"), "tqdm.auto": types.SimpleNamespace(tqdm=Bar)})
        self.assertTrue(bars and all(bar.closed and 0 <= bar.n <= bar.total for bar in bars))

    def test_line(self):
        missing = {"tqdm": None, "tqdm.auto": None, "rich": None, "rich.progress": None}
        self.assertEqual(self.shown(missing), "")  # too short for a line
        with unittest.mock.patch("damier._progress._PAUSE_S", 0.0):
            self.assertRegex(self.shown(missing), r"^(damier:\s+\d+ %\n)+$")

    def test_rich(self):
        started = []

        class Rich:
            def __init__(self, **_):
                self.done = 0.0

            def start(self):
                started.append(self)

            def add_task(self, *_, **__):
                return 0

            def update(self, _, completed):
                self.done = completed

            def stop(self):
                started.remove(self)

        self.shown({"tqdm": None, "tqdm.auto": None, "rich": types.ModuleType("rich"), "rich.progress": types.SimpleNamespace(Progress=Rich)})
        self.assertEqual(started, [])


class Words(InFolder):
    HINTS = {"transpose_a": "op_a='t'", "transb": "op_b='t'", "dtype": "type", "n_jobs": "threads", "overwrite": "force=True",
             "rowvar": "of='rows'", "top_k": "top", "thread": "threads", "alhpa": "alpha", "ddof": "divide"}

    def test_unknown_options(self):
        calls = [lambda **o: damier.matmul(self.a, self.b, **o), lambda **o: damier.multiply("a.npy", "b.npy", "d.npy", **o),
                 lambda **o: damier.cov(self.a, **o), lambda **o: damier.plan(size=10, **o)]
        for (name, hint), call in itertools.product(self.HINTS.items(), calls):
            with self.assertRaisesRegex(damier.UsageError, f"there is no option '{name}'") as caught:
                call(**{name: 1})
            self.assertIn(hint, caught.exception.hint)
            self.assertNotIn("--", str(caught.exception))

    def test_no_command_line(self):
        np.save("whole.npy", np.ones((3, 3), "i8") << 60)
        wrong = [lambda: damier.matmul(self.a, self.b, beta=1), lambda: damier.multiply("a.npy", "b.npy", "c.npy"),
                 lambda: damier.multiply("whole.npy", "whole.npy", "d.npy"), lambda: damier.matmul(self.a, self.b, compute="f61"),
                 lambda: damier.matmul(self.a, self.b, grid=(2, 1, 1)), lambda: damier.plan(m=3),
                 lambda: damier.cov(np.array([[1.0, np.nan], [2, 3]])), lambda: damier.matmul(self.a, self.b, type="i8"),
                 lambda: damier.pca(self.a, 0), lambda: damier.matmul(self.a, self.b, memory={"host": 1})]
        for call in wrong:
            with self.assertRaises(damier.Error) as caught:
                call()
            self.assertNotRegex(str(caught.exception), r"(?<![\w-])--[a-z]|help-all")

    def test_program(self):
        done = subprocess.run([sys.executable, "-m", "damier", "info", "a.npy"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("7 x 5", done.stdout)
        environment = os.environ | {"DAMIER_PROGRAM": "/nowhere"}
        done = subprocess.run([sys.executable, "-m", "damier"], capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 4)
        self.assertIn("was not found", done.stderr)

    def test_table_of_keywords(self):
        folder = pathlib.Path(damier.__file__).parent
        self.assertIn("op_a", damier.options.MultiplyOptions.__annotations__)
        self.assertIn("op_a", (folder / "options.py").read_text())
        self.assertNotIn("damier.options", subprocess.run([sys.executable, "-c", "import sys, damier; print(*sys.modules)"],
                                                             capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    unittest.main()
