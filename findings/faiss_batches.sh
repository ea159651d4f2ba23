#!/usr/bin/env bash
# faiss-cpu's exact index IndexFlatL2 gives a query other distances if more queries are asked with it. From a size of the request on,
# it takes another formula, |x|^2 - 2 x y + |y|^2 in float32, which loses close neighbours of points that are far from the origin.
# Ties also have two orders: the lowest index first by L2, the highest first by inner product.
# Seen with faiss-cpu 1.15.1: the distance of one query is 1.28e-04 among 64 queries of 128 dimensions and 0 among 1000;
# the neighbours of equal points are 0 1 2 3 by IndexFlatL2 and 3 2 1 0 by IndexFlatIP.
# Why it matters here: nearest neighbours are compared with those of faiss.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
packages faiss-cpu==1.15.1 numpy==2.4.6
check <<'PYTHON'
import faiss
import numpy as np

points = np.random.default_rng(0).standard_normal((2000, 128)).astype("f4") + 100
index = faiss.IndexFlatL2(128)
index.add(points)
queries = np.tile(points[:50] + np.float32(0.001), (20, 1))
first = {count: float(index.search(queries[:count], 1)[0][0, 0]) for count in (1, 64, 1000)}
exact = float(((queries[0].astype("f8") - points[0].astype("f8")) ** 2).sum())
print(f"squared distance of query 0 among 1, 64, 1000 queries: {first}, in double: {exact:.3g}")
assert abs(first[1] - exact) < 1e-6 and first[64] == first[1] and first[1000] != first[1], first

equal = np.zeros((8, 4), "f4")
equal[:, 0] = 1
orders = {}
for kind in (faiss.IndexFlatL2, faiss.IndexFlatIP):
    index = kind(4)
    index.add(equal)
    orders[kind.__name__] = index.search(equal[:1], 4)[1][0].tolist()
print(f"neighbours of eight equal points: {orders}")
assert orders == {"IndexFlatL2": [0, 1, 2, 3], "IndexFlatIP": [3, 2, 1, 0]}, orders
PYTHON
