"""What users write: mypy --strict reports nothing."""
from __future__ import annotations

import pathlib
from typing import Any

import damier
import numpy as np
import numpy.typing as npt

a: npt.NDArray[np.float64] = np.ones((3, 4))
b = np.ones((4, 5), np.float32)

# products of arrays
c: npt.NDArray[np.float64] = damier.matmul(a, b, type="f64")
damier.matmul(a, a, op_b="t", alpha=2, beta=0.5, c=np.eye(3))
damier.matmul(a, a, op_a="c", alpha=1 - 2j, type=np.float32, type_c="bf16")
damier.matmul(a, a.T, np.empty((3, 3)), threads=2, memory={"host": "4GiB"}, grid=(1, 1, 1))
damier.matmul(a, b, type=np.dtype("f8"), verify=False, reproducible=True, compute="f64:int8:14", gpus=1)
damier.matmul(a, a, op_b="t", top=10, by="abs", each="row")
damier.matmul(a, a, op_b="t", above=0.5, metric="cosine")
damier.matmul(a, b, center_a=np.zeros(4), scale_a=("rows", np.ones(3)), weights=[1.0, 2, 3, 4], missing="mean")
damier.matmul("A.h5:/x[0:100]", pathlib.Path("B.npy"), progress=True, backend="cpu")
damier.matmul(a, b, progress=lambda done, total: done > total / 2)

# files
record = damier.multiply("A.h5", b, "C.h5", force=True, deflate=6, chunk=(256, 256), checkpoint_interval="30s")
seconds: float = record.times.total_s + record["times"]["total_s"]
plain: dict[str, Any] = record.to_dict()
damier.verify("A.h5", "B.h5", "C.h5", full=True, alpha=2.0)
damier.info("A.h5", raw=True)
damier.plan(size=20000, machine="nodes=4 cores=64", ranks=8, type="f32")

# covariances, components
damier.gram(a, of="rows", triangle="lower", divide="n")
damier.cov(a, divide="n", missing="pairwise", weights=np.ones(3), weights_are="frequency")
damier.cor("X.h5", out="R.h5", top=np.int64(5), no_self=True)
found = damier.pca(a, 2, scale=True, tolerance=1e-6, seed=1)
damier.svd(a, 2, method="passes", passes=5)
damier.PCA(2, whiten=True).fit(a).transform(a)

# contexts, expressions
options: dict[str, Any] = {"op_b": "t"}
with damier.Context(op_b="t", verify_seed=7, progress=True) as context:
    context.matmul(a, a)
    print(context.record.plan.grid)
x = damier.open("A.h5:/x")
product: damier.Product = x @ x.T
damier.save(product, "C.h5", force=True)
damier.save(product, "C.h5", if_needed=True)
residual: damier.Product = damier.open("Y.h5") - x @ a
print((2 * (x[:10] @ a)).compute(threads=1), x.shape)
print((x[[3, 1]].T @ x[a[:, 0] > 0])[:2].compute(), damier.open(["A.h5:/x", pathlib.Path("B.npy")])[::-1][:5])
damier.verify(a, "B.h5", np.ones((3, 5)))
damier.PCA(2).set_output(transform="pandas").fit_transform(a)

try:
    damier.multiply("A.h5", "B.h5", "C.h5")
except damier.FitError as error:
    print(error.hint, error.code)
