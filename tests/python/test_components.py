"""damier.pca, damier.svd and damier.PCA, compared with NumPy's SVD; where scikit-learn is installed, its pipelines take PCA."""
import os
import tempfile
import unittest
import warnings

import damier
import numpy as np


def drawn(rows=120, cols=15, dtype="f8"):
    rng = np.random.default_rng(3)
    return (rng.standard_normal((rows, cols)) * 1.3**-np.arange(cols) + 5).astype(dtype)


def wanted(x, k, centered=True):
    x = x.astype(float)
    y = x - x.mean(0) if centered else x
    s, v = np.linalg.svd(y, full_matrices=False)[1:]
    v = v[:k] * np.sign(v[np.arange(k), np.abs(v[:k]).argmax(1)])[:, None]
    return s, v, y


class Found(unittest.TestCase):
    def check(self, found, x, k, centered=True, tolerance=1e-10):
        s, v, _ = wanted(x, k, centered)
        np.testing.assert_allclose(found.singular_values, s[:k], rtol=tolerance)
        np.testing.assert_allclose(found.components, v, atol=tolerance * 100)
        self.assertTrue(found.converged)

    def test_arrays(self):
        for x, tolerance in ((drawn(), 1e-10), (drawn(dtype="f4"), 1e-5), (drawn(12, 40), 1e-10), ((drawn() * 100).astype("i4"), 1e-10),
                             (drawn()[::2, ::-1], 1e-10), (np.asfortranarray(drawn()), 1e-10)):
            self.check(damier.pca(x, 3), x, 3, tolerance=tolerance)
            self.check(damier.svd(x, 3), x, 3, False, tolerance=tolerance)
        x = drawn()
        self.check(damier.pca(x.T, 3, of="rows"), x, 3)
        self.check(damier.pca(x, 3, method="passes", tolerance=1e-10), x, 3)
        found = damier.pca(x, 3, scores=True)
        s, v, y = wanted(x, 3)
        np.testing.assert_allclose(found.scores, y @ v.T, atol=1e-10)
        np.testing.assert_allclose(found.explained_variance, s[:3]**2 / 119, rtol=1e-10)
        np.testing.assert_allclose(found.explained_variance_ratio, s[:3]**2 / (s**2).sum(), rtol=1e-10)
        np.testing.assert_allclose(found.mean, x.mean(0))
        self.assertIsNone(found.scale)
        weights = np.random.default_rng(1).uniform(0.5, 2, 120)
        mean = np.average(x, 0, weights)
        heavy = np.linalg.svd(np.sqrt(weights)[:, None] * (x - mean), compute_uv=False)
        np.testing.assert_allclose(damier.pca(x, 3, weights=weights).singular_values, heavy[:3], rtol=1e-10)

    def test_files(self):
        x = drawn()
        with tempfile.TemporaryDirectory() as folder:
            at, out, scores = (os.path.join(folder, name) for name in ("x.npy", "p.h5", "s.npy"))
            np.save(at, x)
            self.check(damier.pca(at, 3), x, 3)
            record = damier.pca(at, 3, out, scores=scores)
            self.assertEqual(record["components"]["count"], 3)
            _, v, y = wanted(x, 3)
            np.testing.assert_allclose(np.load(scores), y @ v.T, atol=1e-10)
            np.testing.assert_allclose(damier.PCA(2).fit(at).transform(at), (y @ v.T)[:, :2], atol=1e-10)

    def test_refusals(self):
        x = drawn()
        for k, kind in ((0, damier.UsageError), (16, damier.InputError), (2.5, damier.UsageError)):
            self.assertRaises(kind, damier.pca, x, k)
        self.assertRaises(damier.UsageError, damier.pca, x, 2, of="diagonals")
        self.assertRaises(damier.UsageError, damier.PCA(2).transform, x)
        self.assertRaises(damier.InputError, damier.pca, np.where(x > 6, np.nan, x), 2)
        self.assertRaises(damier.UsageError, damier.pca, x * 1j, 2)
        flat = np.random.default_rng(0).standard_normal((200, 150))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = damier.pca(flat, 3, method="passes", passes=1)
        self.assertFalse(found.converged)
        self.assertTrue(any(isinstance(one.message, damier.UncheckedWarning) for one in said))
        self.assertRaises(damier.UncheckedError, damier.pca, flat, 3, method="passes", passes=1, allow_unchecked=False)

    def test_estimator(self):
        for x in (drawn(), drawn(dtype="f4"), drawn(10, 30)):
            tolerance = 1e-9 if x.dtype == "f8" else 1e-4
            s, v, y = wanted(x, 4)
            pca = damier.PCA(4).fit(x)
            scores = pca.transform(x)
            self.assertEqual(scores.dtype, x.dtype)
            np.testing.assert_allclose(scores, y @ v.T, atol=tolerance)
            np.testing.assert_allclose(pca.inverse_transform(scores), y @ v.T @ v + x.mean(0), atol=tolerance)
            np.testing.assert_allclose(pca.noise_variance_, (s[4:]**2).sum() / (len(x) - 1) / (min(x.shape) - 4), rtol=100 * tolerance)
            np.testing.assert_allclose(damier.PCA(4).fit_transform(x), scores, atol=tolerance)
            white = damier.PCA(4, whiten=True).fit_transform(x)
            np.testing.assert_allclose(white.std(0, ddof=1), 1, rtol=1e-4)
        ratio = s**2 / (s**2).sum()
        self.assertEqual(damier.PCA(0.9).fit(x).n_components_, np.searchsorted(ratio.cumsum(), 0.9) + 1)
        self.assertEqual(damier.PCA().fit(drawn()).n_components_, 15)
        for dtype in ("f4", "f8"):  # columns that depend on others
            x = np.hstack([drawn(dtype=dtype), drawn(dtype=dtype)[:, :4], np.ones((120, 1), dtype)])
            self.assertEqual(damier.PCA().fit(x).n_components_, 15)
            self.assertAlmostEqual(damier.PCA().fit(x).explained_variance_ratio_.sum(), 1, 5)
            self.assertLess(damier.PCA(0.9).fit(x).n_components_, 15)
        with self.assertRaisesRegex(ValueError, "X has 3 features, but PCA is expecting 20 features"):
            damier.PCA(2).fit(x).transform(x[:, :3])
        self.assertEqual(damier.PCA(3, tolerance=1e-4).get_params()["tolerance"], 1e-4)
        self.assertEqual(repr(damier.PCA(2).set_params(n_components=3, seed=4)), "PCA(n_components=3, seed=4)")

    def test_without_convergence(self):
        flat, words = np.random.default_rng(9).standard_normal((300, 200)), {"method": "passes", "passes": 2}
        with self.assertWarnsRegex(damier.UncheckedWarning, "did not converge"):
            self.assertFalse(damier.pca(flat, 3, **words).converged)
        with self.assertRaises(damier.UncheckedError):
            damier.pca(flat, 3, allow_unchecked=False, **words)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertFalse(damier.pca(flat, 3, allow_unchecked=True, **words).converged)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertWarnsRegex(damier.UncheckedWarning, "did not converge"):
                damier.pca(flat, 3, f"{folder}/p.h5", **words)
            record = damier.pca(flat, 3, f"{folder}/p.h5", force=True, allow_unchecked=True, **words)
            self.assertFalse(record.components.converged)

    def test_model(self):
        x = drawn()
        n, cols = x.shape
        for count in (3, None):
            pca = damier.PCA(count).fit(x)
            values, vectors = np.linalg.eigh(np.cov(x.T))
            values, vectors = values[::-1], vectors[:, ::-1]
            noise = values[pca.n_components_:].mean() if pca.n_components_ < cols else 0.0
            want = (vectors[:, :pca.n_components_] * (values[:pca.n_components_] - noise)) @ vectors[:, :pca.n_components_].T + noise * np.eye(cols)
            np.testing.assert_allclose(pca.get_covariance(), want, atol=1e-9)
            np.testing.assert_allclose(pca.get_precision() @ want, np.eye(cols), atol=1e-8)
            y = x - x.mean(0)
            density = -0.5 * ((y @ np.linalg.inv(want)) * y).sum(1) - 0.5 * (cols * np.log(2 * np.pi) + np.linalg.slogdet(want)[1])
            np.testing.assert_allclose(pca.score_samples(x), density, rtol=1e-8)
            np.testing.assert_allclose(pca.score(x), density.mean(), rtol=1e-8)
            with tempfile.TemporaryDirectory() as folder:
                np.save(f"{folder}/x.npy", x)
                np.testing.assert_allclose(pca.score_samples(f"{folder}/x.npy"), density, rtol=1e-8)
        flat = np.outer(np.arange(50.0), np.ones(6)) + np.outer(np.random.default_rng(0).standard_normal(50), np.arange(6.0))
        with self.assertRaisesRegex(damier.UsageError, "no inverse"):
            damier.PCA().fit(flat).score(flat)
        with self.assertRaisesRegex(damier.UsageError, "not fitted"):
            damier.PCA(2).get_covariance()
        with self.assertRaisesRegex(damier.UsageError, "features"):
            damier.PCA(2).fit(x).score(x[:, 1:])

    def test_model_of_scikit_learn(self):
        try:
            from sklearn.decomposition import PCA
        except ImportError:
            self.skipTest("scikit-learn is not installed")
        x = drawn()
        mine, theirs = damier.PCA(3).fit(x), PCA(3, svd_solver="full").fit(x)
        for name in ("get_covariance", "get_precision"):
            np.testing.assert_allclose(getattr(mine, name)(), getattr(theirs, name)(), atol=1e-8)
        np.testing.assert_allclose(mine.score_samples(x), theirs.score_samples(x), rtol=1e-8)
        for name in ("noise_variance_", "n_features_in_", "n_samples_", "n_components_"):
            np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-9)
        self.assertEqual(list(mine.get_feature_names_out()), list(theirs.get_feature_names_out()))

    def test_pipeline(self):
        try:
            from sklearn.base import clone
            from sklearn.pipeline import make_pipeline
            from sklearn.preprocessing import StandardScaler
        except ImportError:
            self.skipTest("scikit-learn is not installed")
        x = drawn()
        scores = clone(make_pipeline(StandardScaler(), damier.PCA(3))).fit_transform(x)
        _, v, y = wanted((x - x.mean(0)) / x.std(0), 3)
        np.testing.assert_allclose(scores, y @ v.T, atol=1e-9)


if __name__ == "__main__":
    unittest.main()
