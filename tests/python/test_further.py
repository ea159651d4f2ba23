"""Forty further tasks of people who have only the documents: masks, lists and parts of files, weights, labels, jobs, and mistakes."""
import asyncio
import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

import damier
import h5py
import numpy as np
from folder_case import FolderCase


def program(*words):
    """What the program prints, which must succeed."""
    return subprocess.run([sys.executable, "-m", "damier", *words], check=True, capture_output=True, text=True).stdout


class Further(FolderCase):
    """A is 60 x 8, B 8 x 5."""

    # ---- rows and columns of files ----

    def test_01_rows_by_a_mask(self):
        x, mask = damier.open("a.npy"), self.a[:, 0] > 0
        self.same((x[mask] @ self.b).compute(), self.a[mask] @ self.b)
        self.same(damier.cov(x[mask]), np.cov(self.a[mask], rowvar=False))

    def test_02_columns_by_a_mask_and_by_a_list(self):
        x, mask = damier.open("data.h5:/run/a"), self.b[:, 0] > 0
        self.same((x[:, mask] @ self.b[mask]).compute(), self.a[:, mask] @ self.b[mask])
        self.same((x[:, [1, -1]] @ self.b[:2]).compute(), self.a[:, [1, -1]] @ self.b[:2])

    def test_03_shuffled_rows(self):
        order = np.random.default_rng(2).permutation(60).repeat(3)
        self.same((damier.open("a.npy")[order] @ self.b).compute(), self.a[order] @ self.b)

    def test_04_rows_backwards(self):
        x = damier.open("a.npy")
        self.same((x[::-1] @ self.b).compute(), self.a[::-1] @ self.b)
        self.same((x[40:3:-2, ::-1] @ self.b).compute(), self.a[40:3:-2, ::-1] @ self.b)

    def test_05_a_part_of_a_part(self):
        x, mask = damier.open("a.npy"), self.a[:, 0] > 0
        for found, wanted in ((x[:50][:, 3:][::2], self.a[:50:2, 3:]), (x[10:][::-1][:5, 3:], self.a[10:][::-1][:5, 3:]),
                              (x[mask][1:4, 3:], self.a[mask][1:4, 3:]), (x[:, 3:][[5, -1]], self.a[[5, -1], 3:]), (x[9:][3:4, 3:], self.a[12:13, 3:])):
            self.same((found @ self.b[3:]).compute(), wanted @ self.b[3:])
        with h5py.File("cube.h5", "w") as file:
            file["t"] = np.arange(4.0 * 60 * 8).reshape(4, 60, 8)
        self.same((damier.open("cube.h5")[2][5:20] @ self.b).compute(), np.arange(960.0, 1440).reshape(60, 8)[5:20] @ self.b, 1e-9)

    def test_06_some_elements_of_a_product(self):
        x = damier.open("a.npy")
        self.same((x.T @ x)[:2, 3:].compute(), (self.a.T @ self.a)[:2, 3:])
        self.same((2 * (x @ self.b) + np.ones((60, 5)))[[4, 9], 1:].compute(), (2 * self.a @ self.b + 1)[[4, 9], 1:])
        self.same((x @ self.b)[7].compute(), (self.a @ self.b)[7])

    def test_07_a_list_of_files(self):
        np.save("more.npy", 2 * self.a)
        x = damier.open(["a.npy", pathlib.Path("more.npy")])
        self.assertEqual(x.shape, (120, 8))
        self.same((x.T @ x).compute(), 5 * self.a.T @ self.a)
        self.same(damier.matmul(["more.npy", "a.npy"], self.b), np.vstack([2 * self.a, self.a]) @ self.b)

    def test_08_what_is_no_part(self):
        x = damier.open("a.npy")
        for key in (None, 1.5, "a", [], [[1]], self.a > 0):
            self.says("neither a slice, an index", lambda key=key: x[key], TypeError)
        self.says("another length", lambda: (x[[True] * 7] @ self.b).compute())
        self.says("7 elements for 10 lines", lambda: x[:10][[True] * 7])
        self.says("selects nothing", lambda: (x[np.zeros(60, bool)] @ self.b).compute())

    def test_09_a_mask_and_a_file_as_the_result(self):
        mask = self.a[:, 0] > 0
        damier.save(damier.open("a.npy")[mask] @ self.b, "c.h5")
        damier.verify(damier.open("a.npy")[mask], self.b, "c.h5")
        with h5py.File("c.h5") as file:
            self.same(file["c"][:], self.a[mask] @ self.b)

    # ---- what is missing ----

    def test_10_masked_arrays(self):
        masked = np.ma.masked_array(self.a, self.a > 1.5)
        self.says("missing= says", lambda: damier.cov(masked))
        self.same(damier.matmul(masked, self.b, missing="zero"), masked.filled(0) @ self.b)
        self.same(damier.cov(masked, missing="complete"), np.cov(self.a[~masked.mask.any(1)], rowvar=False))
        counts = np.ma.masked_array((9 * self.a).astype(int), masked.mask)
        self.same(damier.gram(counts, missing="mean"), self.filled(counts).T @ self.filled(counts), 1e-8)

    @staticmethod
    def filled(masked):
        return np.where(masked.mask, masked.mean(0), masked.data)

    def test_11_pairs_of_columns_with_masked_elements(self):
        pandas = self.needs("pandas")
        masked = np.ma.masked_array(self.a, self.a > 1.5)
        self.same(damier.cor(masked, missing="pairwise"), pandas.DataFrame(masked.filled(np.nan)).corr())

    def test_12_components_of_what_has_gaps(self):
        masked = np.ma.masked_array(self.a, self.a > 2)
        found = damier.pca(masked, 2, missing="mean")
        self.same(found.singular_values, np.linalg.svd(self.filled(masked) - self.filled(masked).mean(0), compute_uv=False)[:2], 1e-9)

    # ---- statistics ----

    def test_13_weights_of_pandas(self):
        pandas = self.needs("pandas")
        weights = pandas.Series(np.arange(1.0, 61))
        self.same(damier.cov(pandas.DataFrame(self.a), weights=weights), np.cov(self.a.T, aweights=weights))

    def test_14_weights_in_a_list(self):
        self.same(damier.cov("a.npy", weights=[1] * 30 + [3] * 30, weights_are="frequency"), np.cov(self.a.T, fweights=[1] * 30 + [3] * 30))
        self.says("59 x 1 numbers", lambda: damier.cov(self.a, weights=np.ones(59)))

    def test_15_components_with_weights(self):
        weights = np.arange(1.0, 61)
        wanted = np.linalg.eigvalsh(np.cov(self.a.T, aweights=weights))[::-1][:3]
        self.same(damier.pca("a.npy", 3, weights=weights).explained_variance, wanted)

    def test_16_maps_of_xarray(self):
        xarray = self.needs("xarray")
        maps = xarray.DataArray(self.a.reshape(60, 2, 4), dims=("time", "lat", "lon"), coords={"lat": [10, 20]})
        self.says("x.stack(point=('lat', 'lon'))", lambda: damier.cov(maps))
        found = damier.cov(maps.stack(point=("lat", "lon")))
        self.assertEqual(found.dims, ("point", "point_2"))
        self.same(found, np.cov(self.a.T))

    def test_17_names_of_the_strongest_correlations(self):
        pandas = self.needs("pandas")
        table = pandas.DataFrame(self.a, columns=list("abcdefgh"))
        found = damier.cor(table, top=2, by="abs", no_self=True)
        strongest = (table.corr().abs() - 2 * np.eye(8)).idxmax()
        self.assertEqual(table.columns.to_numpy()[found.indices][:, 0].tolist(), strongest.tolist())

    def test_18_correlations_of_ranks(self):
        stats = self.needs("scipy.stats")
        self.says("scipy.stats.rankdata(x, axis=0)", lambda: damier.cor(self.a, method="spearman"))
        self.same(damier.cor(stats.rankdata(self.a, axis=0)), stats.spearmanr(self.a).statistic)

    def test_19_cosines_of_a_file_as_a_sparse_matrix(self):
        sparse = self.needs("scipy.sparse")
        damier.gram("a.npy", "near.npz", of="rows", metric="cosine", top=3, no_self=True)
        self.assertEqual(sparse.load_npz("near.npz").nnz, 180)

    def test_20_several_numbers_of_each_row(self):
        found = damier.matmul("a.npy", self.b, reduce=("max", "sum"))
        self.same(found["max"], (self.a @ self.b).max(1))
        self.same(found["sum"], (self.a @ self.b).sum(1))

    # ---- types ----

    def test_21_half_precision_files(self):
        np.save("half.npy", self.a.astype("f2"))
        damier.multiply("half.npy", "half.npy", "c.npy", op_b="t", type_c="f16")
        self.assertEqual(np.load("c.npy").dtype, np.float16)

    def test_22_small_whole_numbers(self):
        small = np.random.default_rng(3).integers(-100, 100, (20, 30)).astype("i1")
        found = damier.matmul(small, small.T)
        self.assertEqual(found.dtype, np.int32)
        self.same(found, small.astype(int) @ small.T.astype(int), 0)

    def test_23_complex_files(self):
        z = self.a + 1j * self.a[::-1]
        with h5py.File("z.h5", "w") as file:
            file["z"] = z
        x = damier.open("z.h5")
        self.same((x.H @ x).compute(), z.conj().T @ z)
        self.same((x.T @ x).compute(), z.T @ z)
        self.same(damier.cov("z.h5", of="rows"), np.cov(z), 1e-10)

    def test_24_two_precisions(self):
        np.save("single.npy", self.a.astype("f4"))
        self.assertEqual(damier.matmul("single.npy", self.b).dtype, np.float64)

    # ---- files ----

    def test_25_zarr_in_and_out(self):
        zarr = self.needs("zarr")
        zarr.save("a.zarr", self.a)
        x = damier.open("a.zarr")
        damier.save(x.T @ x, "c.zarr")
        damier.compare("c.zarr", self.a.T @ self.a)

    def test_26_genotypes(self):
        samples, variants = 12, 40
        codes = np.random.default_rng(4).integers(0, 4, (variants, samples)).astype("u1")
        packed = codes.reshape(variants, -1, 4) @ np.array([1, 4, 16, 64], "u1")
        pathlib.Path("G.bed").write_bytes(b"\x6c\x1b\x01" + packed.astype("u1").tobytes())
        pathlib.Path("G.fam").write_text("".join(f"f{i} i{i} 0 0 0 -9\n" for i in range(samples)))
        pathlib.Path("G.bim").write_text("".join(f"1 v{i} 0 {i + 1} A C\n" for i in range(variants)))
        with self.assertWarns(damier.DamierWarning):
            found = damier.gram("G.bed", grm=True)
        self.assertEqual(found.shape, (samples, samples))
        self.same(found, found.T, 0)

    def test_27_a_batch_in_a_file(self):
        x = np.random.default_rng(5).standard_normal((4, 30, 8))
        with h5py.File("x.h5", "w") as file:
            file["x"] = x
        self.same((damier.open("x.h5") @ self.b).compute(), x @ self.b)

    def test_28_into_a_mapped_file(self):
        out = np.lib.format.open_memmap("c.npy", mode="w+", dtype="f8", shape=(60, 5))
        damier.matmul("a.npy", "b.npy", out)
        out.flush()
        self.same(np.load("c.npy"), self.a @ self.b)

    def test_29_check_arrays(self):
        c = self.a @ self.b
        self.assertEqual(damier.verify(self.a, self.b, c).verification.verdict, "PASS")
        self.assertEqual(damier.verify(damier.open("a.npy"), "b.npy", c).verification.verdict, "PASS")
        c[3, 2] += 1e-3
        for full in (False, True):
            with self.assertRaises(damier.VerifyError):
                damier.verify("a.npy", self.b, c, full=full)

    def test_30_least_squares_of_files(self):
        np.save("y.npy", self.a @ np.arange(8.0) + 1)
        x, y = damier.open("a.npy"), damier.open("y.npy")
        self.same(np.linalg.solve((x.T @ x).compute(), (x.T @ y).compute()), np.linalg.lstsq(self.a, np.load("y.npy"), rcond=None)[0])

    # ---- jobs ----

    def test_31_components_in_a_list_of_jobs(self):
        pathlib.Path("jobs.txt").write_text("pca a.npy --rank 3 --scores S.h5 -o P.h5\nsvd a.npy --rank 2 -o V.h5\n")
        self.assertIn("done=2 failed=0", program("run", "jobs.txt"))
        again = program("run", "jobs.txt")
        self.assertIn("done=2 failed=0", again)
        self.assertEqual(again.count(" DONE"), 3)  # nothing is computed a second time
        with h5py.File("S.h5") as scores, h5py.File("P.h5") as found:
            self.same(scores["scores"][:], (self.a - self.a.mean(0)) @ found["pca/components"][:].T)

    def test_32_stop_by_ctrl_c_and_go_on(self):
        np.save("big.npy", np.random.default_rng(6).standard_normal((3000, 3000)))
        run = ("import damier, os, signal\n"
               "def stop(done, total):\n"
               "    if 2 * done > total: os.kill(os.getpid(), signal.SIGINT)\n"
               "damier.multiply('big.npy', 'big.npy', 'c.npy', memory='200MiB', {})")
        first = subprocess.run([sys.executable, "-c", run.format("progress=stop")], capture_output=True, text=True, check=False)
        self.assertIn("KeyboardInterrupt", first.stderr)
        self.assertFalse(os.path.exists("c.npy"))
        subprocess.run([sys.executable, "-c", run.format("progress=None")], check=True)
        self.same(np.load("c.npy", mmap_mode="r")[:5], np.load("big.npy", mmap_mode="r")[:5] @ np.load("big.npy"), 1e-9)

    def test_33_progress(self):
        done = subprocess.run([sys.executable, "-c", "import damier; damier.multiply('a.npy', 'b.npy', 'c.npy', progress=True)"],
                              check=True, capture_output=True, text=True)
        if importlib.util.find_spec("tqdm"):  # without it a short call shows nothing
            self.assertIn("damier", done.stderr)

    def test_34_a_server_that_awaits(self):
        async def all_at_once():
            return await asyncio.gather(*(asyncio.to_thread(damier.matmul, self.a, self.b, alpha=i) for i in range(4)))

        for i, found in enumerate(asyncio.run(all_at_once())):
            self.same(found, i * self.a @ self.b)

    def test_35_pipelines_of_frames(self):
        pandas, pipeline = self.needs("pandas"), self.needs("sklearn.pipeline")
        table = pandas.DataFrame(self.a, index=np.arange(100, 160))
        found = pipeline.make_pipeline(damier.PCA(2)).set_output(transform="pandas").fit_transform(table)
        self.assertEqual((found.columns.tolist(), found.index.tolist()), (["pca0", "pca1"], table.index.tolist()))

    def test_36_scores_as_a_frame(self):
        pandas = self.needs("pandas")
        table = pandas.DataFrame(self.a, index=np.arange(100, 160))
        pca = damier.PCA(2).set_output(transform="pandas")
        found = pca.fit(table).transform(table)
        self.assertEqual((found.columns.tolist(), found.index.tolist()), (["pca0", "pca1"], table.index.tolist()))
        self.same(found, pca.set_output(transform="default").transform(table))
        self.says("neither 'default' nor", lambda: pca.set_output(transform="polars"))

    # ---- mistakes ----

    def test_37_options_of_other_functions(self):
        for call, words in ((lambda: damier.pca(self.a, 2, center=False), "damier.svd subtracts nothing"),
                            (lambda: damier.cov(self.a, center=False), "damier.gram centers nothing"),
                            (lambda: damier.svd(self.a, 2, center=True), "damier.pca subtracts means"),
                            (lambda: damier.cov(self.a, scale=True), "damier.cor divides"),
                            (lambda: damier.gram(self.a, tolerance=1e-9), "damier.pca and damier.svd"),
                            (lambda: damier.pca(self.a, 2, top=3), "damier.gram"),
                            (lambda: damier.matmul(self.a, self.b, rank=3), "no option 'rank'"),
                            (lambda: damier.verify("a.npy", "b.npy", "c.npy", force=True), "no option 'force'"),
                            (lambda: damier.info("a.npy", alpha=2), "no option 'alpha'")):
            self.says(words, call, damier.UsageError)

    def test_38_names_of_other_packages(self):
        for name, words in (("aweights", "did you mean weights?"), ("fweights", "weights_are='frequency'")):
            self.says(words, lambda name=name: damier.cov(self.a, **{name: np.ones(60)}))
        self.says("select_dtypes('number')", lambda: damier.cov(self.a, numeric_only=True))
        self.says("method='gram' or 'passes'", lambda: damier.pca(self.a, 2, svd_solver="full"))

    def test_39_whole_numbers_as_the_result(self):
        whole = np.arange(12).reshape(3, 4)
        self.says("type='i64'", lambda: damier.matmul(whole, whole.T, type_c=np.int64))
        self.says('type="i64"', lambda: damier.matmul(whole, whole.T, np.empty((3, 3), np.int64)))
        for kind in (int, np.int64, "int64", "i64"):
            self.assertEqual(damier.matmul(whole, whole.T, type=kind).dtype, np.int64)
        self.assertEqual(damier.matmul(whole, whole.T).astype(np.int64).tolist(), (whole @ whole.T).tolist())

    def test_40_help(self):
        for words in (("--help",), ("pca", "--help"), ("--version",)):
            self.assertIn("damier", program(*words))
        for function in (damier.matmul, damier.cov, damier.pca, damier.open, damier.save, damier.verify):
            self.assertGreater(len(function.__doc__ or ""), 100)


if __name__ == "__main__":
    unittest.main()
