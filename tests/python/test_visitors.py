"""Forty tasks of people who have only the documents: what they type first works, or says what does."""
import asyncio
import dataclasses
import json
import os
import pathlib
import pickle
import subprocess
import sys
import unittest
import warnings

import damier
import h5py
import numpy as np
from folder_case import FolderCase


class Visitors(FolderCase):
    """A is 60 x 8, B 8 x 5."""

    def stored(self, location="c.h5:/c"):
        name, dataset = location.split(":/")
        with h5py.File(name) as file:
            return file[dataset][...]

    # ---- matrices in files ----

    def test_01_with_as_of_files(self):
        with damier.open("a.npy") as a, damier.open("data.h5:/run/b") as b:
            self.same((a @ b).compute(), self.a @ self.b)

    def test_02_residuals(self):
        y = self.a @ self.b + 1
        np.save("y.npy", y)
        a, stored = damier.open("a.npy"), damier.open("y.npy")
        for expression, wanted in ((stored - a @ self.b, y - self.a @ self.b), (y - a @ self.b, y - self.a @ self.b), (a @ self.b - stored, self.a @ self.b - y),
                                   (stored + a @ self.b, y + self.a @ self.b), (y - 2 * (a @ self.b), y - 2 * (self.a @ self.b))):
            self.same(expression.compute(), wanted)
        damier.save(stored - a @ self.b, "c.h5")
        self.same(self.stored(), y - self.a @ self.b)
        for call in (lambda: stored - stored, lambda: stored + y, lambda: y - stored):
            self.says("only added to a product", call)

    def test_03_one_step_ahead(self):
        a = damier.open("a.npy")
        step = np.linalg.solve(damier.gram(a[:-1]), damier.matmul(a[:-1], a[1:], op_a="t"))
        self.same(step, np.linalg.lstsq(self.a[:-1], self.a[1:], rcond=None)[0], 1e-8)

    def test_04_a_low_rank_to_a_file(self):
        found = damier.svd("a.npy", 3, scores=True)
        damier.multiply(found.scores, found.components, "c.h5")
        u, s, v = np.linalg.svd(self.a, full_matrices=False)
        self.same(self.stored(), (u[:, :3] * s[:3]) @ v[:3], 1e-4)

    def test_05_components_of_many_files(self):
        np.save("first.npy", self.a[:25])
        np.save("second.npy", self.a[25:])
        self.same(damier.pca(["first.npy", "second.npy"], 2).explained_variance, damier.pca(self.a, 2).explained_variance, 1e-8)

    def test_06_components_that_were_kept(self):
        damier.pca("a.npy", 2, "p.h5")
        components, mean = self.stored("p.h5:/pca/components"), self.stored("p.h5:/pca/mean")
        self.same(damier.matmul("a.npy", components, op_b="t", center_a=mean), damier.PCA(2).fit_transform(self.a), 1e-5)

    def test_07_an_array_on_disk_as_the_result(self):
        c = np.lib.format.open_memmap("c.npy", "w+", "f8", (60, 5))
        damier.matmul(self.a, self.b, c)
        c.flush()
        self.same(np.load("c.npy"), self.a @ self.b)

    def test_08_results_of_several_runs_in_one_file(self):
        for i in range(3):
            damier.multiply("a.npy", i * self.b, f"all.h5:/run{i}/c", append=True)
        self.same(self.stored("all.h5:/run2/c"), 2 * self.a @ self.b)

    def test_09_a_view_of_several_datasets(self):
        layout = h5py.VirtualLayout((120, 8), "f8")
        for i in range(2):
            layout[60 * i:60 * i + 60] = h5py.VirtualSource("data.h5", "run/a", (60, 8))
        with h5py.File("view.h5", "w") as file:
            file.create_virtual_dataset("a", layout)
        self.same(damier.gram("view.h5:/a"), 2 * self.a.T @ self.a)

    def test_10_matlab(self):
        with h5py.File("m.mat", "w") as file:  # MATLAB's A is 60 x 8
            file["A"] = self.a.T
            file["A"].attrs["MATLAB_class"] = np.bytes_("double")
        self.same(damier.matmul("m.mat:/A", self.b, op_a="t"), self.a @ self.b)

    def test_11_a_copy_of_other_numbers(self):
        damier.save(damier.open("a.npy"), "single.npy", type="f32")
        self.assertEqual(np.load("single.npy").dtype, np.float32)
        self.same(np.load("single.npy"), self.a, 1e-6)

    def test_12_a_vector_in_a_file(self):
        np.save("v.npy", np.arange(8.0))
        damier.multiply("a.npy", "v.npy", "w.npy")
        self.assertEqual(np.load("w.npy").shape, (60,))
        self.same(np.load("w.npy"), self.a @ np.arange(8.0))

    def test_13_what_was_written_with_the_result(self):
        damier.multiply("a.npy", "b.npy", "c.h5")
        with h5py.File("c.h5") as file:
            self.assertIn(file["c"].attrs["verified"], ("PASS", b"PASS"))
        self.assertEqual(damier.info("c.h5").dataset.shape, "60 x 5")

    def test_14_powers_in_place_of_the_file(self):
        p = np.random.default_rng(3).random((15, 15))
        np.save("p.npy", p / p.sum(1, keepdims=True))
        for _ in range(3):
            damier.multiply("p.npy", "p.npy", "next.npy", force=True)
            os.replace("next.npy", "p.npy")
        self.same(np.load("p.npy"), np.linalg.matrix_power(p / p.sum(1, keepdims=True), 8))

    def test_15_a_text_table(self):
        np.savetxt("a.csv", self.a, delimiter=",")
        self.says("genfromtxt", lambda: damier.cov("a.csv"))

    # ---- arrays ----

    def test_16_counts(self):
        first, second = np.random.default_rng(4).integers(0, 5, (2, 500))
        one, two = np.eye(5, dtype="i1")[first], np.eye(5, dtype="i1")[second]
        np.testing.assert_array_equal(damier.matmul(one, two, op_a="t"), one.astype(int).T @ two)
        near = np.random.default_rng(5).random((40, 40)) < 0.2
        for kind in ("i32", "i64"):
            np.testing.assert_array_equal(damier.gram(near, type=kind), near.astype(int).T @ near)
        self.says("type='i32' or type='i64' multiplies whole numbers exactly", lambda: damier.gram(near, type_c="i32"))

    def test_17_means_of_classes(self):
        of = np.arange(60) % 3
        one = np.eye(3)[of]
        self.same(damier.matmul(one, "a.npy", op_a="t") / one.sum(0)[:, None], np.array([self.a[of == i].mean(0) for i in range(3)]))

    def test_18_norms_and_extremes_of_rows(self):
        c = self.a @ self.b
        self.same(damier.matmul(self.a, self.b, reduce="norm"), np.linalg.norm(c, axis=1))
        found = damier.matmul(self.a, self.b, reduce=["min", "max"])
        self.same(found["min"], c.min(1))
        self.same(found["max"], c.max(1))

    def test_19_drawn_again(self):
        times = np.random.default_rng(6).multinomial(60, [1 / 60] * 60)
        self.same(damier.cov(self.a, weights=times, weights_are="frequency"), np.cov(self.a.T, fweights=times))

    def test_20_between_two_tables(self):
        other = self.a @ np.diag(np.arange(1.0, 9.0)) + 1
        self.same(damier.cov(self.a, other), np.cov(self.a.T, other.T)[:8, 8:])

    def test_21_scaling_by_distances(self):
        distances, middle = damier.gram(self.a, of="rows", metric="sqeuclidean"), np.eye(60) - 1 / 60
        centered = self.a - self.a.mean(0)
        self.same(-0.5 * damier.matmul(damier.matmul(middle, distances), middle), centered @ centered.T, 1e-9)

    def test_22_a_covariance_for_each_of_a_stack(self):
        stack = np.random.default_rng(7).standard_normal((6, 50, 4))
        self.same(damier.matmul(stack.transpose(0, 2, 1), stack), np.einsum("bij,bik->bjk", stack, stack))

    def test_23_halves_of_one_result(self):
        c = np.empty((60, 10))
        damier.matmul(self.a, self.b, c[:, :5])
        damier.matmul(self.a, self.b, c[:, 5:], alpha=2)
        self.same(c, np.hstack([self.a @ self.b, 2 * self.a @ self.b]))

    def test_24_eigenvectors_by_products(self):
        linalg = self.needs("scipy.sparse.linalg")
        a = damier.open("a.npy")
        operator = linalg.LinearOperator((8, 8), matvec=lambda v: damier.matmul(a, damier.matmul(a, v.ravel()), op_a="t"), dtype="f8")
        self.same(linalg.eigsh(operator, 1)[0], np.linalg.eigvalsh(self.a.T @ self.a)[-1:], 1e-9)

    def test_25_a_number_that_is_missing(self):
        self.a[3, 2] = np.nan
        with self.assertWarnsRegex(damier.DamierWarning, "NaN or Inf in 1 row"):
            c = damier.matmul(self.a, self.b)
        self.assertTrue(np.isnan(c[3]).all() and np.isfinite(np.delete(c, 3, 0)).all())

    def test_26_too_large_for_half_precision(self):
        with self.assertWarns(damier.UncheckedWarning):
            c = damier.matmul(np.full((4, 400), 300, "f2"), np.full((400, 4), 300, "f2"), type_c="f16")
        self.assertTrue(np.isinf(c).all())

    def test_27_partial_correlations(self):
        inverse = np.linalg.inv(damier.cov("a.npy"))
        scale = np.sqrt(np.diag(inverse))
        wanted = np.linalg.inv(np.corrcoef(self.a.T))
        self.same(inverse / np.outer(scale, scale), wanted / np.sqrt(np.outer(np.diag(wanted), np.diag(wanted))))

    # ---- other packages ----

    def test_28_a_table_for_each_group(self):
        pandas = self.needs("pandas")
        frame = pandas.DataFrame(self.a[:, :3], columns=list("abc"))
        found = {name: damier.cov(group) for name, group in frame.groupby(np.arange(60) % 2)}
        self.same(found[1].to_numpy(), np.cov(self.a[1::2, :3].T))
        self.assertEqual(list(found[0].columns), list("abc"))

    def test_29_weights_of_a_series(self):
        pandas = self.needs("pandas")
        weights = pandas.Series(np.arange(1.0, 61.0))
        found = damier.cov(pandas.DataFrame(self.a, columns=list("abcdefgh")), weights=weights)
        self.same(found.loc["a", "b"], np.cov(self.a.T, aweights=weights)[0, 1])

    def test_30_a_sparse_array(self):
        sparse = self.needs("scipy.sparse")
        links = damier.cor("a.npy", above=0.05)
        wanted = np.corrcoef(self.a.T)
        self.same(sparse.csr_array(links, shape=links.shape).toarray(), np.where(wanted > 0.05, wanted, 0))
        self.says("scipy.sparse.csr_array", lambda: links.tocsr(), AttributeError)
        self.assertEqual(pickle.loads(pickle.dumps(links)).shape, (8, 8))

    def test_31_the_nearest_in_an_archive(self):
        sparse = self.needs("scipy.sparse")
        damier.gram("a.npy", "near.npz", of="rows", metric="cosine", top=5, no_self=True)
        near = sparse.load_npz("near.npz")
        self.assertEqual((near.shape, near.nnz), ((60, 60), 300))

    def test_32_a_kernel_in_a_file(self):
        distance = self.needs("scipy.spatial.distance")
        damier.gram("a.npy", "k.h5", of="rows", metric="rbf:0.1")
        self.same(self.stored("k.h5:/c"), np.exp(-0.1 * distance.cdist(self.a, self.a)**2), 1e-9)

    # ---- around a product ----

    def test_33_tasks_of_asyncio(self):
        async def together():
            return await asyncio.gather(*(asyncio.to_thread(damier.matmul, self.a, self.b) for _ in range(4)))

        for c in asyncio.run(together()):
            self.same(c, self.a @ self.b)

    def test_34_components_as_plain_arrays(self):
        found = damier.pca(self.a, 2)
        np.savez("p.npz", **{name: value for name, value in dataclasses.asdict(found).items() if isinstance(value, np.ndarray)})
        np.testing.assert_array_equal(np.load("p.npz")["components"], found.components)

    def test_35_a_record_as_text(self):
        record = damier.multiply("a.npy", "b.npy", "c.npy")
        self.assertEqual(json.loads(json.dumps(record.to_dict()))["verification"]["verdict"], "PASS")
        self.assertGreater(record.times.total_s, 0)

    def test_36_where_two_results_differ(self):
        other = self.a.copy()
        other[7, 3] += 1e-3
        with self.assertRaises(damier.VerifyError) as caught:
            damier.compare("a.npy", other)
        self.assertEqual(caught.exception.record["compare"]["different"], 1)

    def test_37_shapes_that_do_not_fit(self):
        for call in (lambda: damier.matmul(self.a, self.a), lambda: damier.open("a.npy") @ damier.open("a.npy")):
            self.says("60 x 8", call)

    def test_38_a_forecast(self):
        self.assertGreater(damier.plan("gram", "a.npy", memory="100MB").forecast.total_s, 0)

    def test_39_from_a_shell(self):
        done = subprocess.run([sys.executable, "-m", "damier", "info", "data.h5"], capture_output=True, text=True, check=True)
        self.assertIn("/run/a", done.stdout)

    def test_40_in_a_new_folder_and_only_once(self):
        folder = pathlib.Path.cwd() / "results"
        folder.mkdir()
        for _ in range(2):
            record = damier.multiply(pathlib.Path("a.npy"), pathlib.Path("b.npy"), folder / "c.npy", if_needed=True)
        self.assertIn("made by an earlier run", repr(record))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.same(damier.matmul(folder / "c.npy", np.eye(5)), self.a @ self.b)


if __name__ == "__main__":
    unittest.main()
