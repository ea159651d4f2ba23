"""Principal components and truncated SVDs, as arrays, and with the interface of scikit-learn."""
from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._errors import InputError, UsageError


@dataclass
class Components:
    """What :func:`damier.pca` and :func:`damier.svd` find; arrays of float64, a component in each row of ``components``.

    ``residuals_u`` and ``residuals_v`` are |x v - s u| and |x^T u - s v| of each component, as parts of the largest singular
    value; ``converged``: they are within the tolerance.  What was not asked for, or does not apply, is None.
    """

    components: Any
    singular_values: Any
    residuals_u: Any
    residuals_v: Any
    explained_variance: Any = None
    explained_variance_ratio: Any = None
    squares_ratio: Any = None
    mean: Any = None
    scale: Any = None
    scores: Any = None
    converged: bool = True


class PCA:
    """Principal components with the interface of :class:`sklearn.decomposition.PCA`, which is not needed for it.

    ``n_components`` is a number, a fraction of the variance below 1, or None: all.  ``options`` are those of :func:`damier.pca`:
    ``tolerance``, ``method``, ``missing``, ``memory``, ...  ``fit`` and ``transform`` also take locations of datasets.

    >>> x = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 7.0], [8.0, 8.0]])
    >>> pca = damier.PCA(1).fit(x)
    >>> pca.explained_variance_ratio_.round(3), pca.transform(x).round(3).ravel()
    (array([0.974]), array([-4.421, -2.294,  1.938,  4.777]))
    """

    def __init__(self, n_components: Any = None, *, whiten: bool = False, **options: Any) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self._options = options
        self._frames = False

    # ---- parameters, as estimators have them ----

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {"n_components": self.n_components, "whiten": self.whiten, **self._options}

    def set_params(self, **params: Any) -> PCA:
        """Changes arguments of the constructor."""
        for name, value in params.items():
            if name in ("n_components", "whiten"):
                setattr(self, name, value)
            else:
                self._options[name] = value
        return self

    def __repr__(self) -> str:
        shown = {"n_components": self.n_components, **({"whiten": True} if self.whiten else {}), **self._options}
        return f"PCA({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __sklearn_tags__(self) -> Any:
        base: Any = importlib.import_module("sklearn.base")
        return type("Tagged", (base.TransformerMixin, base.BaseEstimator), {})().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def set_output(self, *, transform: str | None = None) -> PCA:
        """The kind of the scores, as of scikit-learn: "default", those of :func:`damier.matmul`, or "pandas", a DataFrame."""
        if transform not in (None, "default", "pandas"):
            raise UsageError(f"transform={transform!r} is neither 'default' nor 'pandas'")
        self._frames = self._frames if transform is None else transform == "pandas"
        return self

    def _as_asked(self, scores: Any, x: Any) -> Any:
        if not self._frames:
            return scores
        frame: Any = importlib.import_module("pandas").DataFrame
        return frame(_on_host(scores), index=x.index if isinstance(x, frame) else None, columns=self.get_feature_names_out())

    # ---- work ----

    def fit(self, x: Any, y: Any = None) -> PCA:
        """Finds the components of ``x``; ``y`` is ignored."""
        self._fit(x)
        return self

    def _fit(self, x: Any) -> None:
        from . import pca

        rows, cols = _shape_of(x)
        most = min(rows - 1, cols)
        asked = self.n_components
        fraction = asked if isinstance(asked, (float, np.floating)) and 0 < asked < 1 else None
        every = asked is None or fraction is not None
        count = most if every else asked
        found: Any = None
        while found is None:
            try:
                found = pca(x, count, **self._options)
            except InputError as error:  # of columns that depend on others there are fewer
                fewer = re.match(r"\S+ has (\d+) components; the others", error.message)
                if not every or not fewer:
                    raise
                count = int(fewer[1])
        ratio = _on_host(found.explained_variance_ratio)
        count = len(ratio) if fraction is None else min(len(ratio), int(np.searchsorted(ratio.cumsum(), fraction, side="right")) + 1)
        self.components_ = found.components[:count]
        self.singular_values_ = found.singular_values[:count]
        self.explained_variance_ = found.explained_variance[:count]
        self.explained_variance_ratio_ = found.explained_variance_ratio[:count]
        self.mean_, self.scale_ = found.mean, found.scale
        self.residuals_ = np.maximum(_on_host(found.residuals_u), _on_host(found.residuals_v))[:count]
        self.converged_ = found.converged
        self.n_components_, self.n_features_in_, self.n_samples_ = count, cols, rows
        variance = _on_host(self.explained_variance_)
        left = min(rows, cols) - count
        self.noise_variance_ = float(max(0.0, variance[0] / ratio[0] - variance.sum()) / left) if left > 0 else 0.0

    def transform(self, x: Any) -> Any:
        """The scores of ``x``: a row for each observation."""
        return self._scores(x)

    def fit_transform(self, x: Any, y: Any = None) -> Any:
        """:meth:`fit`, and the scores of ``x``."""
        self._fit(x)
        return self._scores(x)

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise UsageError("this PCA is not fitted", hint="call fit() first")

    def _check_columns(self, x: Any) -> None:
        cols = _shape_of(x)[1]
        if cols != self.n_features_in_:
            raise UsageError(f"X has {cols} features, but PCA is expecting {self.n_features_in_} features as input")

    def _projected(self, x: Any, vectors: Any) -> Any:
        options = {k: v for k, v in self._options.items() if k in ("missing", "memory", "threads", "backend", "type")}
        return scores_of(x, vectors, self.mean_, self.scale_, options)

    def _scores(self, x: Any) -> Any:
        self._check_fitted()
        self._check_columns(x)
        scores = self._projected(x, self.components_)
        return self._as_asked(scores / self._roots(scores) if self.whiten else scores, x)

    def inverse_transform(self, scores: Any) -> Any:
        """The observations that have these scores, in the space of the components."""
        if self.whiten:
            scores = scores * self._roots(scores)
        from . import matmul

        x = matmul(scores, like(self.components_, scores))
        if self.scale_ is not None:
            x = x * like(self.scale_, x)
        return x + like(self.mean_, x)

    # ---- the model: a normal distribution (Tipping, Bishop 1999); with ``scale`` of the scaled variables ----

    def get_covariance(self) -> Any:
        """The covariances of the variables by the model, on the host: those of the components, and noise."""
        vectors, variance = self._model()
        covariance = (vectors.T * (variance - self.noise_variance_)) @ vectors
        covariance[np.diag_indices_from(covariance)] += self.noise_variance_
        return covariance

    def get_precision(self) -> Any:
        """The inverse of :meth:`get_covariance`."""
        root = self._root_of_precision()
        return root.T @ root

    def score_samples(self, x: Any) -> Any:
        """The logarithm of the model's density at each observation of ``x``, a location or an array, where the result is then."""
        root = self._root_of_precision()
        self._check_columns(x)
        normal = self._projected(x, root)
        _, variance = self._model()
        left = self.n_features_in_ - len(variance)
        volume = np.log(variance).sum() + (left * np.log(self.noise_variance_) if left else 0.0)
        return (normal * normal).sum(1) * -0.5 - 0.5 * (self.n_features_in_ * np.log(2 * np.pi) + volume)

    def score(self, x: Any, y: Any = None) -> float:
        """The mean of :meth:`score_samples`."""
        return float(self.score_samples(x).mean())

    def _model(self) -> tuple[Any, Any]:
        """The components, and the variances in their directions, at least that of the noise."""
        self._check_fitted()
        variance = _on_host(self.explained_variance_).astype(float)
        return _on_host(self.components_).astype(float), np.maximum(variance, self.noise_variance_)

    def _root_of_precision(self) -> Any:
        """R, for which R^T R is the precision."""
        vectors, variance = self._model()
        if len(variance) == self.n_features_in_:
            return vectors / np.sqrt(variance)[:, None]
        if self.noise_variance_ == 0.0:
            raise UsageError("the components leave no variance to others, so the covariance has no inverse", hint="n_components: fewer")
        noise = 1.0 / np.sqrt(self.noise_variance_)
        return (vectors.T * (1.0 / np.sqrt(variance) - noise)) @ vectors + noise * np.eye(self.n_features_in_)

    def _roots(self, scores: Any) -> Any:
        return like(self.explained_variance_, scores) ** 0.5

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of the scores."""
        return np.asarray([f"pca{i}" for i in range(self.n_components_)], dtype=object)


def scores_of(x: Any, components: Any, mean: Any, scale: Any, options: dict[str, Any]) -> Any:
    """X, less MEAN and divided by SCALE (None: neither), times the transposed COMPONENTS."""
    from . import matmul

    changed = {"center_a": mean, "scale_a": scale}
    if isinstance(x, (str, bytes)) or hasattr(x, "__fspath__") or not hasattr(x, "dtype") or "float" not in str(x.dtype):
        options = {"type": "f64"} | options
        return matmul(x, _on_host(components), op_b="t", **changed, **options)
    return matmul(x, like(_beside(components, x), x), op_b="t", **changed, **options)


def _beside(array: Any, other: Any) -> Any:
    """ARRAY, of NumPy perhaps, in OTHER's package and memory."""
    if not isinstance(array, np.ndarray) or isinstance(other, np.ndarray):
        return array
    if hasattr(other, "new_tensor"):
        return other.new_tensor(array)
    package: Any = importlib.import_module(type(other).__module__.split(".", maxsplit=1)[0])
    return package.asarray(array)


def like(array: Any, other: Any) -> Any:
    """ARRAY in the type of OTHER, an array of the same package."""
    if array.dtype == other.dtype:
        return array
    return array.to(other.dtype) if hasattr(array, "new_tensor") else array.astype(other.dtype)


def _on_host(array: Any) -> Any:
    if hasattr(array, "new_tensor"):
        return array.cpu().numpy()
    return array.get() if hasattr(array, "get") else np.asarray(array)


def _shape_of(x: Any) -> tuple[int, int]:
    from . import info

    if isinstance(x, (str, bytes)) or hasattr(x, "__fspath__"):
        rows, cols = info(x)["dataset"]["shape"].split(" x ")
        return int(rows), int(cols)
    shape = tuple(getattr(x, "shape", ()) or np.shape(x))
    if len(shape) != 2:
        raise UsageError(f"x has {len(shape)} dimensions; a matrix has 2")
    return int(shape[0]), int(shape[1])
