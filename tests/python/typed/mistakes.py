"""What users mistype: mypy reports each line that says so."""
from __future__ import annotations

import damier
import numpy as np

a = np.ones((3, 3))

damier.matmul(a, a, op_a="x")  # mistake
damier.matmul(a, a, opa="t")  # mistake
damier.matmul(a, a, op_b=True)  # mistake
damier.matmul(a, a, transpose_a=True)  # mistake
damier.matmul(a, a, threads="2")  # mistake
damier.matmul(a, a, verify="no")  # mistake
damier.matmul(a, a, type="f46")  # mistake
damier.matmul(a, a, grid=4.0)  # mistake
damier.matmul(a, a, alpha="2")  # mistake
damier.matmul(a, a, progress="yes")  # mistake
damier.multiply("A.h5", "B.h5", "C.h5", forced=True)  # mistake
damier.multiply("A.h5", "B.h5", 3)  # mistake
damier.gram(a, op_a="t")  # mistake
damier.cov(a, missing="skip")  # mistake
damier.cov(a, ddof=0)  # mistake
damier.cor(a, top=2.5)  # mistake
damier.pca(a, 2, op_b="t")  # mistake
damier.pca(a, k="2")  # mistake
damier.verify("A.h5", "B.h5", "C.h5", force=True)  # mistake
damier.plan(size="large")  # mistake
damier.info("A.h5", alpha=2)  # mistake
damier.Context(backend="gpu0")  # mistake
damier.matmul(a)  # mistake
damier.multiply("A.h5", "B.h5", "C.h5", if_needed="yes")  # mistake
