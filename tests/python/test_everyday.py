"""Forty tasks of one day: statistics, iterations and chunks over files, what other packages take and make, and mistakes."""
import concurrent.futures
import copy
import io
import json
import multiprocessing
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


def sum_of_product(scale):
    return damier.matmul("a.npy", "b.npy", alpha=scale).sum()


class Everyday(FolderCase):
    """A is 60 x 8, B 8 x 5."""

    # ---- algorithms over files ----

    def test_01_centres_of_clusters(self):
        centres, wanted = self.a[:3].copy(), self.a[:3].copy()
        for _ in range(3):
            nearest = damier.matmul("a.npy", centres, op_b="t", metric="sqeuclidean", top=1).indices[:, 0]
            members = np.eye(3)[nearest]
            centres = damier.matmul(members, "a.npy", op_a="t") / members.sum(0)[:, None]
            own = ((self.a[:, None] - wanted) ** 2).sum(2).argmin(1)
            wanted = np.array([self.a[own == i].mean(0) for i in range(3)])
        self.same(centres, wanted)

    def test_02_the_nearest_alone(self):
        found = damier.matmul("a.npy", self.a[:3], op_b="t", metric="euclidean", reduce="argmin")
        self.same(found, ((self.a[:, None] - self.a[:3]) ** 2).sum(2).argmin(1))

    def test_03_power_iteration(self):
        square, v = self.a.T @ self.a, np.ones(8)
        np.save("s.npy", square)
        for _ in range(300):
            v = damier.matmul("s.npy", v)
            v /= np.linalg.norm(v)
        self.same(v @ square @ v, np.linalg.eigvalsh(square)[-1], 1e-6)

    def test_04_orthogonal_columns(self):
        r = np.linalg.cholesky(damier.gram("a.npy")).T
        q = damier.matmul("a.npy", np.linalg.inv(r))
        self.same(q.T @ q, np.eye(8))

    def test_05_residuals_of_a_regression(self):
        z = np.column_stack([np.ones(60), np.arange(60.0)])
        coefficients = np.linalg.solve(damier.gram(z), damier.matmul(z, "a.npy", op_a="t"))
        damier.multiply(z, coefficients, "r.h5", c="a.npy", alpha=-1)
        with h5py.File("r.h5") as file:
            self.same(file["c"][:], self.a - z @ coefficients, 1e-9)

    def test_06_quadratic_forms(self):
        self.same(damier.matmul(damier.matmul(self.a[0], "b.npy"), np.ones(5)), self.a[0] @ self.b @ np.ones(5))

    def test_07_means_of_columns(self):
        self.same(damier.matmul(np.full(60, 1 / 60), "a.npy"), self.a.mean(0))

    def test_08_covariances_of_neighbours_in_time(self):
        x = damier.open("a.npy")
        self.same(damier.cov(x[:-1], x[1:]), np.cov(np.hstack([self.a[:-1], self.a[1:]]).T)[:8, 8:])

    def test_09_the_powers_of_a_matrix(self):
        np.save("s.npy", self.b @ self.b.T)
        s = damier.open("s.npy")
        self.same((s @ s @ s).compute(), np.linalg.matrix_power(self.b @ self.b.T, 3), 1e-8)

    def test_10_a_low_rank(self):
        found = damier.svd("a.npy", 8, scores=True)
        self.same(found.scores @ found.components, self.a, 1e-8)

    def test_11_weights_of_a_model(self):
        weights = np.arange(1.0, 61)
        wanted = self.a.T @ np.diag(weights) @ self.a
        self.same(damier.gram("a.npy", weights=weights), wanted, 1e-9)
        self.same(damier.matmul("a.npy", self.a, op_a="t", weights=weights), wanted, 1e-9)

    def test_12_attention(self):
        q, k = self.a.reshape(2, 3, 10, 8), self.a[::-1].reshape(2, 3, 10, 8)
        with h5py.File("q.h5", "w") as file:
            file["q"], file["k"] = q, k.swapaxes(2, 3)
        wanted = q @ k.swapaxes(2, 3) / 2
        for x, y, op in ((q, k, "t"), ("q.h5:/q", k, "t"), (q, "q.h5:/k", "n"), ("q.h5:/q", "q.h5:/k", "n"), ("q.h5:/q", k[0, 0], "t")):
            self.same(damier.matmul(x, y, op_b=op, alpha=0.5), wanted if y is not k[0, 0] and np.shape(y) != (10, 8) else q @ k[0, 0].T / 2)

    # ---- expressions ----

    def test_13_sums_of_products(self):
        np.save("more.npy", self.a[::-1].copy())
        x, y = damier.open("a.npy"), damier.open("more.npy")
        a, b = self.a, self.a[::-1]
        self.same((x.T @ x + y.T @ y).compute(), a.T @ a + b.T @ b)
        three, wanted = 2 * (x.T @ x) - 0.5 * (y.T @ y) + np.eye(8) + x.T @ y, 2 * a.T @ a - 0.5 * b.T @ b + np.eye(8) + a.T @ b
        self.same(three.compute(), wanted)
        self.same((-three)[1:, [0, 2]].compute(), -wanted[1:, [0, 2]])
        damier.save(three, "sum.npy")
        self.same(np.load("sum.npy"), wanted)
        self.says("is not added", lambda: x.T @ x + x.T)

    def test_14_one_row_after_the_other(self):
        for row, wanted in zip(damier.open("a.npy"), self.a):
            self.same((row @ self.b).compute(), wanted @ self.b)

    def test_15_an_ellipsis(self):
        with h5py.File("cube.h5", "w") as file:
            file["t"] = self.a[:24].reshape(3, 8, 8)
        self.same((damier.open("cube.h5:/t")[0, ...] @ self.b).compute(), self.a[:8] @ self.b)
        self.same((damier.open("a.npy")[..., :3] @ self.b[:3]).compute(), self.a[:, :3] @ self.b[:3])

    def test_16_numbers_of_numpy(self):
        x = damier.open("a.npy")
        self.same((x[np.int64(3):np.int32(10)] @ self.b).compute(), self.a[3:10] @ self.b)
        self.same((x[np.int64(3)] @ self.b).compute(), self.a[3] @ self.b)

    def test_17_what_a_matrix_in_a_file_lacks(self):
        x = damier.open("a.npy")
        for name, words in (("mean", "means of columns"), ("sum", "numpy.ones"), ("std", "damier.cov"), ("values", "compute() reads it"), ("rows", "no attribute 'rows'")):
            self.says(words, lambda name=name: getattr(x, name), AttributeError)
        self.assertFalse(hasattr(x, "__dask_graph__"))

    def test_18_a_batch_is_not_transposed_by_a_letter(self):
        with h5py.File("cube.h5", "w") as file:
            file["t"] = self.a[:24].reshape(3, 8, 8)
        self.says("op_a='t'", lambda: damier.open("cube.h5:/t").T)

    # ---- arrays ----

    def test_19_windows(self):
        windows = np.lib.stride_tricks.sliding_window_view(self.a.ravel(), 8)
        self.same(damier.matmul(windows, self.b), windows @ self.b)
        self.same(damier.cov(windows), np.cov(windows.T))

    def test_20_read_only_repeated_and_foreign(self):
        kept = self.a.copy()
        kept.flags.writeable = False
        for array in (kept, np.broadcast_to(self.a[0], (4, 8)), self.a.astype(">f8"), np.asfortranarray(self.a)):
            self.same(damier.matmul(array, self.b), array @ self.b)

    def test_21_into_columns_of_another_array(self):
        whole, order = np.zeros((60, 10)), np.empty((60, 5), order="F")
        damier.matmul(self.a, self.b, whole[:, ::2])
        self.same(whole[:, ::2], self.a @ self.b)
        self.assertEqual(whole[:, 1::2].sum(), 0)
        self.assertIs(damier.matmul(self.a, self.b, order), order)
        self.same(order, self.a @ self.b)

    def test_22_counts_of_pairs(self):
        yes = self.a > 0
        found = damier.gram(yes, type="i32")
        self.assertEqual((found.dtype, found.tolist()), (np.int32, (yes.astype(int).T @ yes).tolist()))
        bytes_ = yes.astype("u1")
        self.assertEqual(damier.matmul(bytes_, bytes_, op_a="t", type="i64").tolist(), (yes.astype(int).T @ yes).tolist())

    def test_23_complex_covariances(self):
        x = self.a[:, :4] + 1j * self.a[:, 4:]
        self.same(damier.gram(x), x.conj().T @ x)
        self.same(damier.cov(x).conj(), np.cov(x, rowvar=False))
        self.same(damier.cov(x, of="rows"), np.cov(x))

    def test_24_images(self):
        images = (np.abs(self.a) * 50).astype("u1").reshape(60, 4, 2)
        self.assertEqual(damier.pca(images.reshape(60, -1), 3).components.shape, (3, 8))
        self.says("x.reshape(len(x), -1)", lambda: damier.pca(images, 3))

    def test_25_elements_that_are_no_numbers(self):
        for array, words in ((self.a.astype(np.longdouble), "float128"), (self.a.astype(object), "object"), (self.a.astype("U9"), "<U9")):
            self.says(words, lambda array=array: damier.gram(array))

    # ---- other packages ----

    def test_26_a_frame_times_a_series(self):
        pandas = self.needs("pandas")
        names = list("abcdefgh")
        frame, series = pandas.DataFrame(self.a, columns=names), pandas.Series(self.b[:, 0], names)
        self.same(damier.matmul(frame, series), frame @ series)

    def test_27_dates_in_a_frame(self):
        pandas = self.needs("pandas")
        frame = pandas.DataFrame({"day": pandas.date_range("2020", periods=8), "value": np.ones(8)})
        self.says("column 'day'", lambda: damier.cov(frame))

    def test_28_names_of_the_nearest(self):
        pandas = self.needs("pandas")
        frame = pandas.DataFrame(self.a, index=[f"g{i}" for i in range(60)])
        near = damier.gram(frame, of="rows", metric="euclidean", top=3, no_self=True)
        self.assertEqual(frame.index.to_numpy()[near.indices].shape, (60, 3))

    def test_29_points_of_a_map(self):
        xarray = self.needs("xarray")
        field = xarray.DataArray(self.a.reshape(60, 2, 4), dims=("time", "lat", "lon"))
        found = damier.cov(field.stack(space=("lat", "lon")))
        self.assertEqual(found.dims, ("space", "space_2"))
        self.same(found, np.cov(self.a.T))

    def test_30_packed_numbers_of_netcdf(self):
        packed = (self.a * 100).round().astype("i2")
        with h5py.File("t.nc", "w") as file:
            file["t"] = packed
            file["t"].attrs["scale_factor"], file["t"].attrs["add_offset"] = 0.01, 5.0
        with self.assertWarns(damier.DamierWarning):
            self.same(damier.cov("t.nc:/t"), np.cov(packed.T * 0.01), 1e-9)

    def test_31_a_search_for_the_number_of_components(self):
        search, linear, pipeline = (self.needs(f"sklearn.{name}") for name in ("model_selection", "linear_model", "pipeline"))
        steps = pipeline.Pipeline([("pca", damier.PCA(2)), ("fit", linear.LinearRegression())])
        found = search.GridSearchCV(steps, {"pca__n_components": [1, 3]}).fit(self.a, self.a[:, 0])
        self.assertIn(found.best_params_["pca__n_components"], (1, 3))

    def test_32_a_graph_of_what_is_alike(self):
        sparse = self.needs("scipy.sparse")
        found = damier.gram("a.npy", of="rows", metric="cosine", above=0.9, no_self=True)
        rows = self.a / np.linalg.norm(self.a, axis=1)[:, None]
        self.assertEqual(sparse.csr_matrix(found, shape=(60, 60)).nnz, np.count_nonzero(rows @ rows.T > 0.9) - 60)

    def test_33_what_pickle_copies(self):
        x = damier.open("a.npy")
        self.same(pickle.loads(pickle.dumps(x[2:5] @ self.b)).compute(), self.a[2:5] @ self.b)
        record = damier.multiply("a.npy", "b.npy", "c.npy")
        for made in (pickle.loads(pickle.dumps(record)), copy.deepcopy(record), json.loads(json.dumps(record))):
            self.assertEqual(made["verification"]["verdict"], "PASS")
        self.same(pickle.loads(pickle.dumps(damier.gram(self.a, top=2))).values, damier.gram(self.a, top=2).values)

    def test_34_a_pool_of_processes(self):
        damier.matmul(self.a, self.b)  # the parent has used the library
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            self.same(list(pool.map(sum_of_product, range(3))), [i * (self.a @ self.b).sum() for i in range(3)], 1e-9)

    # ---- files ----

    def test_35_a_dataset_in_a_new_group(self):
        damier.multiply("data.h5:/run/a", "data.h5:/run/b", "data.h5:/out/ab", append=True)
        with h5py.File("data.h5") as file:
            self.same(file["out/ab"][:], self.a @ self.b)

    def test_36_from_a_shell(self):
        words = ("multiply", "a.npy", "b.npy", "-o", "c.npy", "--json", "-", "-q")
        done = subprocess.run([sys.executable, "-m", "damier", *words], check=True, capture_output=True, text=True)
        self.assertEqual(json.loads(done.stdout)["verification"]["verdict"], "PASS")

    def test_37_a_half(self):
        damier.gram("a.npy", "half.h5", triangle="lower")
        with h5py.File("half.h5") as file:
            self.same(np.tril(file["c"][:]), np.tril(self.a.T @ self.a))

    # ---- mistakes ----

    def test_38_warnings_as_errors(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for call in (lambda: damier.matmul(self.a, self.b), lambda: damier.multiply("a.npy", "b.npy", "w.h5"), lambda: damier.cov(self.a),
                         lambda: damier.cor("a.npy"), lambda: damier.pca(self.a, 2), lambda: damier.gram(self.a.astype("f4"))):
                call()

    def test_39_what_names_no_matrix(self):
        for given, words in (("data.h5/run/a", "FILE.h5:/path/to/dataset"), ("data.h5:run/a", "did you mean 'data.h5:/run/a'?"),
                             (pathlib.Path("data.h5"), "name one: 'data.h5:/run/a'"), ("data.h5:/run/A", "did you mean '/run/a'?"),
                             ("~/a.npy", "expanduser"), ("http://here/x.h5", "is a URL"), (io.BytesIO(b""), "BytesIO, neither an array nor the location"),
                             ({"x": self.a}, "dict, neither"), (b"a.npy", "bytes, neither"), (None, "is None")):
            self.says(words, lambda given=given: damier.matmul(given, self.b))
        self.says("an array has shape and dtype", lambda: damier.info(self.a))

    def test_40_errors_name_what_was_passed(self):
        missing = self.a.copy()
        missing[2, 1] = np.nan
        for call in (lambda: damier.cov(missing), lambda: damier.pca(missing, 2)):
            self.says("x: one of its values is missing", call)
            self.says("missing='nan', 'zero', 'mean' or 'complete' (cov and cor: or 'pairwise') says", call)
        self.says("y: one of its values", lambda: damier.cov(self.a, missing))
        self.says("a: one of its values", lambda: damier.matmul(missing, self.b, center_a="columns"))
        self.says("b: one of its values", lambda: damier.matmul(self.a, missing, op_a="t", center_b="columns"))
        self.says("weights: number 1", lambda: damier.cov(self.a, weights=np.where(np.arange(60) == 1, -1.0, 1.0)))
        self.says("k: 'mle' is not", lambda: damier.PCA("mle").fit(self.a))
        self.says("option of damier.matmul and damier.multiply", lambda: damier.gram(self.a, center_b="columns"))
        with self.assertWarnsRegex(damier.DamierWarning, "^x: 3 of 3 columns are 0"):
            damier.gram(np.zeros((3, 3)), metric="cosine")


if __name__ == "__main__":
    unittest.main()
