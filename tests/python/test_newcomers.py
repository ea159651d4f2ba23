"""Forty more tasks, of people who come from NumPy, h5py, pandas, xarray, zarr, scikit-learn, torch and Slurm: what they would write
works, or the error names what does."""
import concurrent.futures
import os
import pickle
import unittest

import damier
import h5py
import numpy as np
from folder_case import FolderCase


class Newcomers(FolderCase):
    """A is 60 x 8, B 8 x 5."""

    # ---- NumPy ----

    def test_01_a_file_times_a_vector(self):
        v = np.arange(8.0)
        self.same(damier.matmul("a.npy", v), self.a @ v)

    def test_02_into_a_part_of_an_array(self):
        big = np.zeros((100, 5))
        damier.matmul(self.a, self.b, out=big[20:80])
        self.same(big[20:80], self.a @ self.b)

    def test_03_a_square_in_its_own_place(self):
        s = self.a[:8].copy()
        wanted = s @ s
        self.same(damier.matmul(s, s, out=s), wanted)

    def test_04_a_half_precision_result(self):
        found = damier.matmul(self.a.astype("f2"), self.b.astype("f2"), type_c=np.float16)
        self.assertEqual(found.dtype, np.float16)

    def test_05_sums_of_columns(self):
        self.same(damier.matmul(np.ones(60), "a.npy"), self.a.sum(0))

    def test_06_no_rows_and_no_inner_dimension(self):
        self.assertEqual(damier.matmul(np.zeros((0, 8)), self.b).shape, (0, 5))
        self.same(damier.matmul(np.zeros((3, 0)), np.zeros((0, 2))), np.zeros((3, 2)))

    def test_07_an_archive_of_arrays(self):
        np.savez("ab.npz", a=self.a)
        self.says("numpy.load(FILE)['NAME']", lambda: damier.matmul("ab.npz", self.b))
        with np.load("ab.npz") as archive:
            self.same(damier.matmul(archive["a"], self.b), self.a @ self.b)

    def test_08_text_tables(self):
        np.savetxt("a.csv", self.a, delimiter=",")
        self.says("numpy.genfromtxt(FILE, delimiter=',')", lambda: damier.gram("a.csv"))
        self.says("name such a file", lambda: damier.multiply("a.npy", "b.npy", "c.csv"))

    def test_09_rows_by_a_list_and_by_a_mask(self):
        x, mask = damier.open("a.npy"), self.a[:, 0] > 0
        self.same((x[[3, 5]] @ self.b).compute(), self.a[[3, 5]] @ self.b)
        self.same((x[mask] @ self.b).compute(), self.a[mask] @ self.b)
        np.save("rows.npy", [3, 5])
        np.save("mask.npy", mask)
        self.same(damier.matmul("a.npy[@rows.npy, :]", self.b), self.a[[3, 5]] @ self.b)
        self.same(damier.matmul("a.npy[@mask.npy, :]", self.b), self.a[mask] @ self.b)

    def test_10_what_numpy_calls_it(self):
        for name, here in (("dot", "damier.matmul"), ("corrcoef", "damier.cor"), ("load", "damier.open")):
            self.says(here, lambda name=name: getattr(damier, name), AttributeError)
        self.assertFalse(hasattr(damier, "nothing"))
        self.says("did you mean type?", lambda: damier.matmul(self.a, self.b, dtype=np.float32))
        self.says("did you mean divide=", lambda: damier.cov(self.a, ddof=0))

    # ---- h5py ----

    def test_11_a_dataset_of_a_file_open_for_writing(self):
        with h5py.File("data.h5", "r+") as file:
            self.same(damier.matmul(file["run/a"], file["run/b"]), self.a @ self.b)

    def test_12_a_dataset_as_the_result(self):
        with h5py.File("c.h5", "w") as file:
            out = file.create_dataset("c", (60, 5))
            self.says("damier.multiply(a, b, 'FILE.h5:/c', append=True)", lambda: damier.matmul(self.a, self.b, out=out))
        damier.multiply(self.a, self.b, "c.h5:/d", append=True)
        with h5py.File("c.h5") as file:
            self.same(file["d"][:], self.a @ self.b)

    def test_13_what_is_in_a_file(self):
        self.assertIn("/run/a 60 x 8 f64", repr(damier.info("data.h5")))
        self.assertIn("/run/b", damier.info("data.h5")._repr_html_())
        self.assertEqual([one["name"] for one in damier.info("data.h5").file.datasets], ["/run/a", "/run/b"])

    def test_14_what_h5py_calls_it(self):
        multiply = lambda **words: damier.multiply("a.npy", "b.npy", "c.h5", **words)
        for words, hint in (({"compression": "gzip"}, "deflate=6"), ({"chunks": (8, 5)}, "chunk"), ({"overwrite": True}, "force=True")):
            self.says(hint, lambda words=words: multiply(**words))

    def test_15_how_it_was_computed(self):
        damier.multiply("a.npy", "b.npy", "c.h5")
        with h5py.File("c.h5") as file:
            self.assertEqual((file["c"].attrs["a"], file["c"].attrs["damier_state"]), ("a.npy", "complete"))

    def test_16_a_matrix_in_a_file_is_no_array(self):
        x = damier.open("data.h5:/run/a")
        self.assertEqual((x.shape, x.ndim, x.size, len(x), x.dtype), ((60, 8), 2, 480, 60, "f64"))
        self.same(x[:3].compute(), self.a[:3])
        self.says("compute() makes an array of it", lambda: np.asarray(x[:3]))

    def test_17_a_folder_that_is_not_there(self):
        self.says("mkdir -p 'nowhere'", lambda: damier.multiply("a.npy", "b.npy", "nowhere/c.h5"))
        self.says("os.path.expanduser", lambda: damier.multiply("~/a.npy", "b.npy", "c.h5"))

    def test_18_the_output_is_an_input(self):
        self.says("the output is also an input", lambda: damier.multiply("a.npy", "b.npy", "a.npy", force=True))
        self.same(np.load("a.npy"), self.a)

    # ---- pandas, xarray, dask, zarr, scipy ----

    def test_19_frames(self):
        pandas = self.needs("pandas")
        self.same(damier.matmul(pandas.DataFrame(self.a), pandas.DataFrame(self.b)), self.a @ self.b)

    def test_20_columns_of_one_frame_with_those_of_another(self):
        pandas = self.needs("pandas")
        table = pandas.DataFrame(self.a, columns=list("abcdefgh"))
        pandas.testing.assert_frame_equal(damier.cor(table[["a", "b"]], table[["c"]]), table.corr().loc[["a", "b"], ["c"]])

    def test_21_a_column_of_words(self):
        table = self.needs("pandas").DataFrame(self.a).assign(name="x")
        self.says("select_dtypes('number')", lambda: damier.cov(table))

    def test_22_an_array_of_xarray(self):
        x = self.needs("xarray").DataArray(self.a, dims=("time", "place"))
        self.assertEqual(damier.cov(x).dims, ("place", "place_2"))

    def test_23_an_array_of_dask(self):
        self.same(damier.matmul(self.needs("dask.array").from_array(self.a, chunks=20), self.b), self.a @ self.b)

    def test_24_an_array_of_zarr(self):
        zarr = self.needs("zarr")
        zarr.save("a.zarr", self.a)
        self.same(damier.matmul("a.zarr", self.b), self.a @ self.b)

    def test_25_a_sparse_matrix(self):
        sparse = self.needs("scipy.sparse").csr_array(self.a)
        self.says("a.toarray()", lambda: damier.matmul(sparse, self.b))

    # ---- scikit-learn ----

    def test_26_a_kernel(self):
        found = damier.gram("a.npy", of="rows", metric="rbf:0.5")
        self.same(found, np.exp(-0.5 * ((self.a[:, None] - self.a[None]) ** 2).sum(2)))

    def test_27_a_graph_of_neighbours(self):
        found = damier.gram("a.npy", of="rows", metric="euclidean", top=5, no_self=True)
        distances = np.linalg.norm(self.a[:, None] - self.a[None], axis=2) + 100 * np.eye(60)
        np.testing.assert_array_equal(found.indices, np.argsort(distances)[:, :5])
        self.says("by='smallest'", lambda: damier.gram("a.npy", top=5, smallest=True))

    def test_28_ridge_regression(self):
        y = self.a @ np.arange(8.0)
        self.same(np.linalg.solve(damier.gram("a.npy") + 1e-9 * np.eye(8), damier.matmul("a.npy", y, op_a="t")), np.arange(8.0), 1e-6)

    def test_29_weighted_least_squares(self):
        w, y = np.arange(1.0, 61), self.a @ np.arange(8.0)
        left, right = damier.gram("a.npy", weights=w), damier.matmul("a.npy", y, op_a="t", weights=w)
        self.same(np.linalg.solve(left, right), np.arange(8.0), 1e-9)

    def test_30_variables_that_go_with_a_trait(self):
        traits = np.random.default_rng(5).standard_normal((60, 2))
        found = damier.cor(traits, "a.npy", top=3, by="abs")
        wanted = np.corrcoef(traits, self.a, rowvar=False)[:2, 2:]
        np.testing.assert_array_equal(found.indices, np.argsort(-abs(wanted))[:, :3])

    def test_31_an_estimator_is_kept(self):
        pca = pickle.loads(pickle.dumps(damier.PCA(2, tolerance=1e-6).fit("a.npy")))
        self.assertEqual(pca.transform("a.npy").shape, (60, 2))
        self.says("did you mean threads?", lambda: damier.matmul(self.a, self.b, n_jobs=2))

    def test_32_images(self):
        images = np.random.default_rng(6).integers(0, 65536, (10, 4, 6)).astype("u2")
        self.says("x.reshape(len(x), -1)", lambda: damier.gram(images))
        flat = images.reshape(10, -1)
        self.same(damier.gram(flat, of="rows"), flat.astype("f8") @ flat.T.astype("f8"), 0)

    # ---- torch ----

    def test_33_tensors(self):
        torch = self.needs("torch")
        a, b = torch.from_numpy(self.a), torch.from_numpy(self.b)
        for found, wanted in ((damier.matmul(a, b), a @ b), (damier.matmul(a, b[:, 0]), a @ b[:, 0]), (damier.gram(a), a.mT @ a),
                              (damier.cov(a), torch.cov(a.mT)), (damier.matmul(a[None], b), (a @ b)[None])):
            torch.testing.assert_close(found, wanted)
        self.assertIsInstance(damier.matmul(a, self.b), np.ndarray)

    def test_34_a_layer(self):
        torch = self.needs("torch")
        weights = torch.ones(8, 5, dtype=torch.float64, requires_grad=True)
        damier.matmul(torch.from_numpy(self.a), weights).sum().backward()
        self.same(weights.grad, np.repeat(self.a.sum(0)[:, None], 5, 1))

    def test_35_a_batch_of_transposed_matrices(self):
        rng = np.random.default_rng(7)
        q, k, s = rng.standard_normal((3, 4, 5)) + 1j, rng.standard_normal((3, 6, 5)) - 2j, rng.standard_normal((4, 6, 6))
        turn = lambda x: x.swapaxes(-1, -2)
        with damier.Context(op_b="t") as context:
            for _ in range(2):
                self.same(damier.matmul(q, k, op_b="c"), q @ turn(k).conj())
                self.same(damier.matmul(turn(q), k[0], op_a="t", op_b="t"), q @ k[0].T)
                for first, second in ((s, s), (s, turn(s)), (s[0], s[1])):
                    self.same(context.matmul(first, second), first @ turn(second))

    # ---- jobs ----

    def test_36_each_task_of_an_array_multiplies_its_rows(self):
        for task in range(3):
            damier.multiply(f"a.npy[{20 * task}:{20 * (task + 1)}, :]", "b.npy", f"part{task}.npy")
        self.same(damier.matmul("part*.npy", np.eye(5)), self.a @ self.b)

    def test_37_how_long_and_how_much_memory(self):
        record = damier.plan("a.npy", "b.npy", memory="1g")
        self.assertGreater(record.forecast.total_s, 0)
        x = damier.open("a.npy")
        for record in (damier.plan("pca", "a.npy", rank=3), damier.plan(x.T @ x), damier.plan(x.transpose().dot(x))):
            self.assertEqual(record.verb, "plan")
        self.says("damier.plan('gram', 'X.h5')", lambda: damier.plan("a.npy"))
        self.says("8GiB of the host", lambda: damier.matmul(self.a, self.b, memory="1q"))
        self.says("progress", lambda: damier.multiply("a.npy", "b.npy", "c.h5", time_limit="1h"))

    def test_38_stop_after_a_while_and_go_on(self):
        with self.assertRaises(damier.StoppedError):
            damier.multiply("a.npy", "b.npy", "c.h5", progress=lambda done, total: True)
        damier.multiply("a.npy", "b.npy", "c.h5")
        with h5py.File("c.h5") as file:
            self.same(file["c"][:], self.a @ self.b)

    def test_39_one_context_for_all_kinds_of_calls(self):
        pandas = self.needs("pandas")
        table = pandas.DataFrame(self.a, columns=list("abcdefgh"))
        with damier.Context(threads=1, divide="n") as context:
            pandas.testing.assert_frame_equal(context.cov(table), table.cov(ddof=0))
            self.same(context.cov("a.npy"), np.cov(self.a, rowvar=False, ddof=0))
            context.cov("a.npy", out="cov.npy")
            self.same(np.load("cov.npy"), np.cov(self.a, rowvar=False, ddof=0))
        with damier.Context(threads=1) as context:
            self.same(context.cor(self.a, of="rows"), np.corrcoef(self.a))
            self.assertEqual(context.pca(self.a, 2).components.shape, (2, 8))
            self.same(context.svd("a.npy", 3).singular_values, np.linalg.svd(self.a, compute_uv=False)[:3])

    def test_40_a_server_with_threads_that_come_and_go(self):
        for _ in range(3):
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                for found in pool.map(lambda i: damier.matmul("a.npy", self.b, alpha=i), range(8)):
                    self.assertEqual(found.shape, (60, 5))

    def test_41_what_is_not_a_matrix(self):
        for given, words in ((None, "a is None"), (3.0, "alpha=3"), (["a.npy", 3.0], "'runs/*.h5:/x'")):
            self.says(words, lambda given=given: damier.matmul(given, self.b))
        self.says("k=8 asks for all", lambda: damier.pca("a.npy", 20))

    def test_42_what_the_library_has(self):
        self.assertRegex(repr(damier.info()), r"damier \d+\.\d+\.\d+, \d+ cores, cpu: ")


if __name__ == "__main__":
    unittest.main()
