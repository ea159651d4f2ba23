"""damier gram of a file of 300 times as many rows as columns, and h5py with NumPy, which calls syrk."""
import itertools

from measure import verified
from sets.jobs import h5py_program

RUNS, VERB = 5, "gram bench"


def cases(bench, types="f64,f32", sizes="1000"):
    bench.about["backend"] = "cpu"
    numpy = [bench.python, "-c", h5py_program('(lambda x: x.T @ x)(fa["a"][:])', b=False)]
    for dtype, size in itertools.product(types.split(","), map(int, sizes.split(","))):
        bench.generate("A.h5:/a", 300 * size, size, dtype, "--kind", "normal", "--force")
        yield {"of": "tall", "type": dtype, "size": size}, {"h5py": numpy, "gram": verified("damier gram A.h5:/a --backend cpu")}
