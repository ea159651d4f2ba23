"""Forty tasks of a new user, as the documents say that they are done: what a page promises works at once."""
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import unittest

import damier
import h5py
import numpy as np
from folder_case import FolderCase


def squared(folder):
    return float(damier.matmul(folder + "/a.npy", folder + "/a.npy", op_b="t").sum())


class Tasks(FolderCase):
    """X has 60 observations of 8 variables; A is 60 x 8, B 8 x 5."""

    # ---- files and arrays ----

    def test_01_two_files_to_a_third(self):
        damier.multiply("a.npy", "b.npy", "c.npy")
        self.same(np.load("c.npy"), self.a @ self.b)

    def test_02_datasets_of_one_file(self):
        damier.multiply("data.h5:/run/a", "data.h5:/run/b", "c.h5:/out/c")
        with h5py.File("c.h5") as file:
            self.same(file["out/c"][:], self.a @ self.b)

    def test_03_add_the_result_to_the_same_file(self):
        damier.multiply("data.h5:/run/a", "data.h5:/run/b", "data.h5:/run/c", append=True)
        with h5py.File("data.h5") as file:
            self.same(file["run/c"][:], self.a @ self.b)

    def test_04_an_array_times_a_file(self):
        self.same(damier.matmul(2 * self.a, "b.npy"), 2 * self.a @ self.b)

    def test_05_a_dataset_of_h5py(self):
        with h5py.File("data.h5", "r") as file:
            self.same(damier.matmul(file["run/a"], file["run/b"]), self.a @ self.b)

    def test_06_paths_of_pathlib(self):
        self.same(damier.matmul(pathlib.Path("a.npy"), pathlib.Path("b.npy")), self.a @ self.b)

    def test_07_some_rows_of_a_file(self):
        self.same(damier.matmul("a.npy[10:20]", "b.npy"), self.a[10:20] @ self.b)

    def test_08_many_files_below_each_other(self):
        pathlib.Path("runs").mkdir()
        for i, part in enumerate(np.split(self.a, 3)):
            np.save(f"runs/{i}.npy", part)
        self.same(damier.matmul("runs/*.npy", self.b), self.a @ self.b)

    def test_09_a_compressed_result(self):
        damier.multiply("a.npy", "b.npy", "c.h5", deflate=6, shuffle=True)
        with h5py.File("c.h5") as file:
            self.assertEqual(file["c"].compression, "gzip")
            self.same(file["c"][:], self.a @ self.b)

    def test_10_an_output_is_not_overwritten(self):
        damier.multiply("a.npy", "b.npy", "c.npy")
        with self.assertRaisesRegex(damier.UsageError, "force=True"):
            damier.multiply("a.npy", "b.npy", "c.npy")
        damier.multiply("a.npy", "b.npy", "c.npy", force=True)

    def test_11_a_mapped_file_of_numpy(self):
        self.same(damier.matmul(np.load("a.npy", mmap_mode="r"), self.b), self.a @ self.b)

    def test_12_less_memory_than_the_matrices_have(self):
        big = np.random.default_rng(2).standard_normal((4000, 4000), np.float32)
        np.save("big.npy", big)
        program = "import damier; print(damier.multiply('big.npy', 'big.npy', 'c.npy', memory={'host': '150MiB'}).plan.recipe)"
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        self.assertIn("tiles=", done.stdout)

    # ---- expressions ----

    def test_13_a_lazy_product(self):
        a, b = damier.open("data.h5:/run/a"), damier.open("data.h5:/run/b")
        self.same((a @ b).compute(), self.a @ self.b)

    def test_14_save_a_lazy_product_of_a_transposed_part(self):
        a = damier.open("a.npy")
        damier.save(a[:30].T @ a[:30] / 30, "c.npy")
        self.same(np.load("c.npy"), self.a[:30].T @ self.a[:30] / 30)

    def test_15_three_factors(self):
        a, b = damier.open("a.npy"), damier.open("b.npy")
        self.same((a @ b @ b.T).compute(), self.a @ self.b @ self.b.T)

    # ---- kinds of products ----

    def test_16_transposed_scaled_and_added(self):
        old = np.ones((8, 8))
        self.same(damier.matmul(self.a, self.a, op_a="t", alpha=0.5, c=old, beta=2), self.a.T @ self.a / 2 + 2)

    def test_17_a_running_sum(self):
        out = np.zeros((8, 8))
        for part in np.split(self.a, 6):
            damier.gram(part, out, beta=1)
        self.same(out, self.a.T @ self.a)

    def test_18_a_batch(self):
        x = np.random.default_rng(3).standard_normal((4, 6, 7))
        self.same(damier.matmul(x, np.swapaxes(x, 1, 2)), x @ np.swapaxes(x, 1, 2))

    def test_19_complex_numbers(self):
        z = self.a + 1j * self.a[::-1]
        self.same(damier.matmul(z, z, op_a="c"), z.conj().T @ z)

    def test_20_single_precision(self):
        found = damier.matmul("a.npy", "b.npy", type=np.float32)
        self.assertEqual(found.dtype, np.float32)
        self.same(found, self.a @ self.b, 1e-4)

    def test_21_whole_numbers(self):
        counts = np.random.default_rng(4).integers(0, 9, (6, 8))
        self.same(damier.matmul(counts, counts.T), counts @ counts.T, 0)

    def test_22_a_matrix_of_yes_and_no(self):
        has = self.a > 0
        self.same(damier.gram(has), has.T.astype(float) @ has, 0)

    def test_23_lists(self):
        self.same(damier.matmul([[1.0, 2], [3, 4]], [[5.0], [6]]), [[17], [39]], 0)

    def test_24_standardised_columns(self):
        z = (self.a - self.a.mean(0)) / self.a.std(0, ddof=1)
        self.same(damier.matmul(self.a, self.b, center_a="columns", scale_a="columns"), z @ self.b)

    # ---- statistics ----

    def test_25_covariances_with_labels(self):
        pandas = self.needs("pandas")
        table = pandas.DataFrame(self.a, columns=list("abcdefgh"))
        pandas.testing.assert_frame_equal(damier.cov(table), table.cov())

    def test_26_correlations_with_missing_values(self):
        pandas = self.needs("pandas")
        table = pandas.DataFrame(self.a, columns=list("abcdefgh"))
        table.iloc[::7, 2] = None
        pandas.testing.assert_frame_equal(damier.cor(table, missing="pairwise"), table.corr())

    def test_27_weighted_covariances_of_a_file(self):
        weights = np.arange(1.0, 61)
        self.same(damier.cov("a.npy", weights=weights), np.cov(self.a, rowvar=False, aweights=weights))

    def test_28_components_of_a_file(self):
        found = damier.pca("a.npy", 3, scores=True)
        wanted = np.linalg.svd(self.a - self.a.mean(0), compute_uv=False)[:3]
        self.same(found.singular_values, wanted, 1e-10)
        self.assertEqual(found.scores.shape, (60, 3))

    def test_29_an_estimator(self):
        pca = damier.PCA(0.9).fit(self.a)
        self.assertGreaterEqual(pca.explained_variance_ratio_.sum(), 0.9)
        self.assertEqual(pca.transform(self.a[:5]).shape, (5, pca.n_components_))

    def test_30_least_squares(self):
        y = self.a @ np.arange(8.0)[:, None]
        found = np.linalg.solve(damier.gram("a.npy"), damier.matmul("a.npy", y, op_a="t"))
        self.same(found.ravel(), np.arange(8.0), 1e-9)

    def test_31_nearest_neighbours(self):
        found = damier.gram(self.a, of="rows", metric="cosine", top=3, no_self=True)
        unit = self.a / np.linalg.norm(self.a, axis=1)[:, None]
        cosines = unit @ unit.T - 2 * np.eye(60)
        np.testing.assert_array_equal(found.indices, np.argsort(-cosines)[:, :3])

    def test_32_close_pairs_as_a_sparse_matrix(self):
        sparse = self.needs("scipy.sparse")
        found = damier.gram(self.a, of="rows", metric="euclidean", below=3, no_self=True)
        distances = np.linalg.norm(self.a[:, None] - self.a[None], axis=2)
        wanted = (distances < 3) & ~np.eye(60, dtype=bool)
        self.assertEqual(sparse.csr_array(tuple(found), shape=(60, 60)).nnz, wanted.sum())

    def test_33_the_best_of_each_row(self):
        np.testing.assert_array_equal(damier.matmul(self.a, self.b, reduce="argmax"), (self.a @ self.b).argmax(1))

    # ---- around the product ----

    def test_34_check_a_product_later(self):
        damier.multiply("a.npy", "b.npy", "c.npy")
        self.assertEqual(damier.verify("a.npy", "b.npy", "c.npy").verification.verdict, "PASS")
        np.save("c.npy", np.load("c.npy") + 1e-3)
        with self.assertRaises(damier.VerifyError):
            damier.verify("a.npy", "b.npy", "c.npy")

    def test_35_keep_the_record(self):
        record = damier.multiply("a.npy", "b.npy", "c.npy")
        pathlib.Path("record.json").write_text(json.dumps(record.to_dict()))
        self.assertEqual(json.loads(pathlib.Path("record.json").read_text())["problem"]["m"], record.problem.m)
        self.assertEqual(pickle.loads(pickle.dumps(record)).verb, "multiply")

    def test_36_plan_for_a_cluster(self):
        record = damier.plan(size=100000, type="f32", machine="nodes=4 gpus=8 gpu=h200", ranks=32)
        self.assertGreater(record.forecast.total_s, 0)

    def test_37_many_products_in_a_loop(self):
        with damier.Context(op_b="t", threads=1) as context:
            for i in range(1, 20):
                self.same(context.matmul(self.a[:i], self.a[:i]), self.a[:i] @ self.a[:i].T)

    def test_38_threads_and_processes(self):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for found in pool.map(lambda i: damier.matmul(self.a, self.b, alpha=i), range(6)):
                self.assertEqual(found.shape, (60, 5))
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            wanted = float((self.a @ self.a.T).sum())
            self.same(pool.map(squared, [os.getcwd()] * 2), [wanted] * 2, 1e-9)

    def test_39_understand_a_mistake(self):
        for call, words in ((lambda: damier.matmul(self.a, self.a), "inner dimensions differ"),
                            (lambda: damier.matmul(self.a, self.b, transpose_a=True), "op_a='t'"),
                            (lambda: damier.matmul("nowhere.npy", self.b), "No such file"),
                            (lambda: damier.matmul("data.h5", self.b), "name one"),
                            (lambda: damier.cov(np.array([[1.0, np.nan], [2, 3]])), "missing=")):
            with self.assertRaises(damier.Error) as caught:
                call()
            self.assertIn(words, str(caught.exception))

    def test_40_from_a_shell(self):
        run = [sys.executable, "-m", "damier"]
        subprocess.run([*run, "multiply", "a.npy", "b.npy", "-o", "c.npy", "-q"], check=True, capture_output=True)
        self.same(np.load("c.npy"), self.a @ self.b)
        self.assertIn("60 x 5", subprocess.run([*run, "info", "c.npy"], check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    unittest.main()
