"""Forty tasks of another day, the first half as people ask for a package, the second as they come with data of a field."""
import concurrent.futures
import csv
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time
import unittest
import warnings

import damier
import h5py
import numpy as np
from folder_case import FolderCase


def damier_says(*words, code=0):
    """What the program says, which ends with CODE."""
    done = subprocess.run([sys.executable, "-m", "damier", *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, (words, done)
    return done.stdout + done.stderr


class AnotherDay(FolderCase):
    """A is 60 x 8, B 8 x 5."""

    def stored(self, location):
        name, dataset = location.split(":/")
        with h5py.File(name) as file:
            return file[dataset][...]

    # ---- arrays, files and expressions ----

    def test_01_an_array_times_a_file_to_a_file(self):
        record = damier.multiply(self.a, "b.npy", "c.h5")
        self.same(self.stored("c.h5:/c"), self.a @ self.b)
        self.assertEqual(record.verification.verdict, "PASS")

    def test_02_files_that_paths_name(self):
        damier.multiply(pathlib.Path("a.npy"), self.b, pathlib.Path("c.npy"))
        self.same(np.load("c.npy"), self.a @ self.b)
        self.same(damier.cov(pathlib.Path("a.npy")), np.cov(self.a.T))

    def test_03_rows_of_a_product_to_a_file(self):
        a, b = damier.open("data.h5:/run/a"), damier.open("b.npy")
        damier.save(a[10:20] @ b, "c.h5")
        self.same(self.stored("c.h5:/c"), self.a[10:20] @ self.b)

    def test_04_the_numbers_of_a_part(self):
        a = damier.open("data.h5:/run/a")
        for part, wanted in ((a[2:5, ::2], self.a[2:5, ::2]), (a[3], self.a[3]), (a[:, 1], self.a[:, 1]), (a.T, self.a.T), (2 * a, 2 * self.a),
                             (a[[7, 1, 1]], self.a[[7, 1, 1]]), (-a[:3].T, -self.a[:3].T), (a[self.a[:, 0] > 0], self.a[self.a[:, 0] > 0])):
            np.testing.assert_array_equal(part.compute(), wanted)
        self.assertEqual(damier.save(a[2:5], "part.npy").verification.verdict, "PASS")
        np.testing.assert_array_equal(np.load("part.npy"), self.a[2:5])
        self.says("compute() makes an array", lambda: np.asarray(a))
        self.says("without .T", lambda: damier.save(a.T, "t.npy"))

    def test_05_numbers_of_other_kinds(self):
        for kind in ("f4", "f2", "c8", "c16", "i1", "i2", "u1", "i4", "?", ">f8"):
            stored = (self.a * 3 + 1j).astype(kind) if kind[0] == "c" else (self.a * 3).astype(kind)
            np.save("n.npy", stored)
            np.testing.assert_array_equal(damier.open("n.npy").compute(), stored)
        odd = self.a.copy()
        odd[1, 2], odd[3, 4] = np.nan, np.inf
        np.save("odd.npy", odd)
        np.testing.assert_array_equal(damier.open("odd.npy").compute(), odd)
        np.save("three.npy", self.a.reshape(3, 20, 8))
        np.testing.assert_array_equal(damier.open("three.npy").compute(), self.a.reshape(3, 20, 8))
        self.says("[3] takes one", lambda: damier.save(damier.open("three.npy"), "t.npy"))

    def test_06_parts_of_several_files(self):
        np.save("more.npy", self.a[:13] + 1)
        both = np.vstack([self.a, self.a[:13] + 1])
        stack = damier.open(["a.npy", "more.npy"])
        self.same(stack.compute(), both)
        mask = both[:, 0] > 0
        for key in (np.s_[2:4], np.s_[58:65], np.s_[::3], np.s_[::-1], np.s_[[70, 2, 2, 65]], mask, np.s_[65], np.s_[-1], np.s_[5:70, 1:4], np.s_[mask, ::2]):
            self.same(stack[key].compute(), both[key])
        self.same((stack[mask] @ self.b).compute(), both[mask] @ self.b)
        self.same(stack[10:70][::2][5:9].compute(), both[10:70][::2][5:9])
        self.says("keeps its dimension", lambda: stack[:, 3])
        self.says("no row", lambda: stack[5:5])

    def test_07_a_sum_to_a_file(self):
        damier.save(0.5 * (damier.open("a.npy") @ damier.open("b.npy")) + np.ones((60, 5)), "c.npy")
        self.same(np.load("c.npy"), 0.5 * self.a @ self.b + 1)

    def test_08_three_factors(self):
        a, b = damier.open("a.npy"), damier.open("b.npy")
        damier.save((a @ b @ np.ones((5, 2))).T, "c.npy")
        self.same(np.load("c.npy"), (self.a @ self.b @ np.ones((5, 2))).T)

    def test_09_a_pipeline(self):
        preprocessing, linear, pipeline = (self.needs(f"sklearn.{name}") for name in ("preprocessing", "linear_model", "pipeline"))
        steps = pipeline.make_pipeline(preprocessing.StandardScaler(), damier.PCA(4), linear.LinearRegression()).fit(self.a, self.a[:, 0])
        self.assertGreater(pickle.loads(pickle.dumps(steps)).score(self.a, self.a[:, 0]), 0.1)

    def test_10_a_part_of_the_variance(self):
        found = damier.PCA(0.8).fit(self.a)
        shares = np.sort(np.linalg.eigvalsh(np.cov(self.a.T)))[::-1]
        self.assertEqual(found.n_components_, 1 + np.searchsorted(np.cumsum(shares) / shares.sum(), 0.8))

    def test_11_correlations_of_a_table_with_gaps(self):
        pandas = self.needs("pandas")
        frame = pandas.DataFrame(self.a, columns=list("abcdefgh"))
        frame = frame[frame < 1.2]
        pandas.testing.assert_frame_equal(damier.cor(frame, missing="pairwise"), frame.corr(), rtol=1e-9)

    def test_12_names_of_sites(self):
        xarray = self.needs("xarray")
        field = xarray.DataArray(self.a[:, :3], dims=("time", "site"), coords={"site": ["p", "q", "r"]})
        self.assertEqual(list(damier.cov(field).coords["site"].values), ["p", "q", "r"])

    def test_13_weights_and_means_in_memory(self):
        weights, means, scales = np.arange(1.0, 61), self.a.mean(0), self.a.std(0, ddof=1)
        self.same(damier.cov("a.npy", weights=weights), np.cov(self.a.T, aweights=weights))
        self.same(damier.matmul("a.npy", self.b, center_a=means, scale_a=scales), (self.a - means) / scales @ self.b)

    def test_14_a_function_that_stops(self):
        for a in (self.a, np.ones((600, 600))):
            self.says("the program asked", lambda a=a: damier.matmul(a, a, op_b="t", progress=lambda done, total: True), damier.StoppedError)

    def test_15_a_record_in_a_notebook(self):
        record = damier.multiply("a.npy", "b.npy", "c.npy", verify=False)
        self.assertIn("UNVERIFIED", repr(record))
        self.assertIn("<table", record._repr_html_())
        self.assertEqual(record.verification.verdict, "UNVERIFIED")
        with damier.Context(verify=False) as context:
            context.matmul(self.a, self.b)
            self.assertEqual(context.record.verification.verdict, "UNVERIFIED")

    def test_16_values_that_do_not_fit_an_option(self):
        self.says("top: -1 is less than 1", lambda: damier.gram(self.a, top=-1))
        self.says("threads: -2 is less than 1", lambda: damier.matmul(self.a, self.b, threads=-2))
        self.says("neither True nor False", lambda: damier.matmul(self.a, self.b, as_row="a"))
        self.says("out='c.npy'", lambda: damier.cov("a.npy", "c.npy"), damier.FileError)

    def test_17_memory_that_the_process_has_already(self):
        np.save("s.npy", np.ones((1200, 1200)))
        self.says("already, which count", lambda: damier.multiply("s.npy", "s.npy", "c.h5", memory="24MiB"), damier.FitError)

    def test_18_a_table_of_runs(self):
        np.save("f.npy", self.a.astype("f4"))
        for name in ("a.npy", "f.npy", "a.npy"):  # whose records have other columns
            damier_says("gram", name, "-o", "g.h5", "--force", "-q", "--csv", "runs.csv", "--json", "runs.jsonl")
        with open("runs.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
        self.assertEqual([(row["problem.work"], None in row, None in row.values()) for row in rows], [(kind, False, False) for kind in ("f64", "f32", "f64")])
        with open("runs.jsonl", encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["problem"]["work"] for line in file], ["f64", "f32", "f64"])

    def test_19_a_short_report(self):
        short, long = (damier_says("multiply", "a.npy", "b.npy", "-o", f"{name}.h5", *more) for name, more in (("c", ()), ("d", ("-v",))))
        self.assertLessEqual(len(short.splitlines()), 12)
        self.assertIn("needs per rank", long)

    def test_20_a_task_of_an_array_of_jobs(self):
        with open("jobs.txt", "w", encoding="utf-8") as file:
            file.writelines(f"multiply a.npy b.npy -o c{i}.h5\n" for i in range(5))
        damier_says("run", "jobs.txt", "--jobs-of", "1/2", "-q")
        self.assertEqual([os.path.exists(f"c{i}.h5") for i in range(5)], [False, True, False, True, False])

    # ---- fields ----

    def test_21_relationship_of_samples(self):
        rng, variants, samples = np.random.default_rng(4), 300, 60
        x = rng.binomial(2, rng.uniform(0.1, 0.9, (variants, 1)), (variants, samples))
        known = rng.random(x.shape) > 0.05
        codes = np.where(known, np.array([3, 2, 0])[x], 1).astype("u1")
        packed = codes[:, 0::4] | codes[:, 1::4] << 2 | codes[:, 2::4] << 4 | codes[:, 3::4] << 6
        pathlib.Path("g.bed").write_bytes(b"\x6c\x1b\x01" + packed.tobytes())
        pathlib.Path("g.bim").write_text("".join(f"1 v{i} 0 {i + 1} A G\n" for i in range(variants)), encoding="ascii")
        pathlib.Path("g.fam").write_text("".join(f"F{j} S{j} 0 0 1 -9\n" for j in range(samples)), encoding="ascii")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", damier.DamierWarning)
            found, numbers = damier.gram("g.bed", grm=True), damier.open("g.bed")[:5].compute(missing="nan")
        np.testing.assert_array_equal(numbers, np.where(known, x, np.nan)[:5])
        p = np.nanmean(np.where(known, x, np.nan), 1, keepdims=True) / 2
        z = np.where(known, (x - 2 * p) / np.sqrt(2 * p * (1 - p)), 0)
        self.same(found, z.T @ z / (known.T.astype(float) @ known))

    def test_22_a_network_of_correlations(self):
        sparse = self.needs("scipy.sparse")
        for each, form in (("row", sparse.csr_array), ("column", sparse.csc_array)):
            found = damier.cor(self.a[:9], self.a[:9, :3] + self.b[:1, :3], above=0.3, by="abs", each=each)
            wanted = np.corrcoef(self.a[:9].T, self.a[:9, :3].T)[:8, 8:]
            self.assertEqual(found.shape, (8, 3))
            self.same(form(found, shape=found.shape).toarray(), np.where(abs(wanted) > 0.3, wanted, 0))
            self.assertEqual(pickle.loads(pickle.dumps(found)).shape, (8, 3))

    def test_23_nearest_rows_of_another_file(self):
        np.save("y.npy", self.a[::2] + 0.1)
        found = damier.matmul("a.npy", "y.npy", op_b="t", metric="euclidean", top=3)
        wanted = np.sqrt(((self.a[:, None] - self.a[None, ::2] - 0.1) ** 2).sum(2))
        self.same(found.values, np.sort(wanted, 1)[:, :3])
        self.assertEqual(found.indices.tolist(), np.argsort(wanted, 1)[:, :3].tolist())

    def test_24_a_kernel_of_landmarks(self):
        rows = [3, 50, 59, 7]
        damier.multiply("a.npy", damier.open("a.npy")[rows], "k.h5", op_b="t", metric="rbf:0.1")
        self.same(self.stored("k.h5:/c"), np.exp(-0.1 * ((self.a[:, None] - self.a[rows]) ** 2).sum(2)))

    def test_25_distances_of_mahalanobis(self):
        factor = np.linalg.cholesky(np.linalg.inv(damier.cov("a.npy")))
        found = damier.gram(damier.matmul("a.npy", factor), of="rows", metric="sqeuclidean")
        apart = self.a[:, None] - self.a
        self.same(found, np.einsum("ijk,kl,ijl->ij", apart, np.linalg.inv(np.cov(self.a.T)), apart), 1e-9)

    def test_26_attention_scores(self):
        q, k = (self.a.reshape(2, 3, 10, 8).astype("f4") * scale for scale in (1, 2))
        self.same(damier.matmul(q, k, op_b="t", alpha=8**-0.5), q @ k.swapaxes(-1, -2) / np.sqrt(8), 1e-4)

    def test_27_a_class_for_each_row(self):
        found = damier.matmul("a.npy", self.b, reduce="max,argmax")
        self.same(found["max"], (self.a @ self.b).max(1))
        self.assertEqual(found["argmax"].tolist(), (self.a @ self.b).argmax(1).tolist())

    def test_28_leverages(self):
        found = damier.matmul(self.a @ np.linalg.inv(damier.gram("a.npy")), "a.npy", op_b="t", reduce="diagonal")
        self.same(found, np.diag(self.a @ np.linalg.inv(self.a.T @ self.a) @ self.a.T))

    def test_29_ridge_regression(self):
        y = self.a @ np.arange(8.0)
        found = np.linalg.solve(damier.gram("a.npy", c=None) + 3 * np.eye(8), damier.matmul("a.npy", y, op_a="t"))
        self.same(found, np.linalg.solve(self.a.T @ self.a + 3 * np.eye(8), self.a.T @ y))

    def test_30_rows_drawn_again(self):
        drawn = np.random.default_rng(2).integers(0, 60, 200)
        self.same(damier.cov(damier.open("a.npy")[drawn]), np.cov(self.a[drawn].T))

    def test_31_features_side_by_side(self):
        np.save("more.npy", self.a[:, :3] ** 2)
        self.same(damier.cov(["a.npy", "more.npy"], stack="columns"), np.cov(np.hstack([self.a, self.a[:, :3] ** 2]).T))

    def test_32_scores_by_components_in_a_file(self):
        damier.pca("a.npy", 3, out="p.h5")
        found = damier.matmul(self.a + 1, "p.h5:/pca/components", op_b="t", center_a="p.h5:/pca/mean")
        with h5py.File("p.h5") as file:
            self.same(found, (self.a + 1 - self.a.mean(0)) @ file["pca/components"][...].T)

    def test_33_sums_over_days(self):
        for i, day in enumerate((self.a[:20], self.a[20:40], self.a[40:])):
            np.save("day.npy", day)
            damier.gram("day.npy", "g.h5", **({} if i == 0 else {"beta": 1, "c": "g.h5", "force": True}))
        self.same(self.stored("g.h5:/c"), self.a.T @ self.a)

    def test_34_means_over_a_map(self):
        area = np.arange(8.0).reshape(2, 4)
        with h5py.File("map.h5", "w") as file:
            file["t"], file["area"] = self.a.reshape(60, 2, 4), area
        found = damier.matmul("map.h5:/t", "map.h5:/area", row_axes_a=1, row_axes_b=2)
        self.same(np.ravel(found), np.tensordot(self.a.reshape(60, 2, 4), area, 2))

    def test_35_counts_exactly(self):
        counts = (abs(self.a) * 20000).astype("u2")
        found = damier.matmul(counts, counts, op_a="t", type="i64")
        self.assertEqual((found.dtype, found.tolist()), (np.int64, (counts.astype("i8").T @ counts.astype("i8")).tolist()))

    def test_36_narrow_numbers(self):
        a, b = self.a.astype("f2"), self.b.astype("f2")
        self.assertEqual((damier.matmul(a, b).dtype, damier.matmul(a, b, type_c=np.float16).dtype), (np.float32, np.float16))
        self.same(damier.matmul(a, b), a.astype("f8") @ b.astype("f8"), 1e-5)

    # ---- days later ----

    def test_37_a_number_that_was_changed(self):
        damier.multiply("a.npy", "b.npy", "c.h5")
        with h5py.File("c.h5", "r+") as file:
            file["c"][7, 3] += 1e-3
        damier_says("verify", "c.h5", code=1)
        self.says("", lambda: damier.verify("a.npy", "b.npy", "c.h5"), damier.VerifyError)

    def test_38_a_stored_reference(self):
        np.save("reference.npy", self.a @ self.b)
        self.assertEqual(damier.compare(damier.matmul("a.npy", "b.npy"), "reference.npy", rtol=1e-9).compare.elements, 300)
        with self.assertRaises(damier.VerifyError):
            damier.compare(self.a @ self.b + 1e-3, "reference.npy")

    def test_39_stopped_and_begun_again(self):
        damier_says("generate", "s.h5", "--size", "2500", "-q")
        words = ["multiply", "s.h5", "s.h5", "-o", "c.h5", "--memory", "host=90MiB", "--checkpoint-interval", "0", "-q"]
        with subprocess.Popen([sys.executable, "-m", "damier", *words], stderr=subprocess.PIPE) as run:
            while run.poll() is None and not (os.path.exists("c.h5.journal") and os.path.getsize("c.h5.journal")):
                time.sleep(0.01)
            run.send_signal(signal.SIGUSR1)
            run.communicate()
        if run.returncode:  # it was not complete by then
            self.assertEqual((run.returncode, os.path.exists("c.h5")), (75, False))
            self.assertIn("resuming", damier_says(*words[:-1]))
        damier_says("verify", "s.h5", "s.h5", "c.h5", "-q")

    def test_40_threads_of_a_server(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for i, found in enumerate(pool.map(lambda i: damier.gram(self.a * i), range(8))):
                self.same(found, self.a.T @ self.a * i * i, 1e-9)


if __name__ == "__main__":
    unittest.main()
