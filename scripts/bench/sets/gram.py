"""damier gram of X, and the general product of X and a copy of it."""
import itertools
import shutil

from measure import mpirun, verified

RUNS, VERB = 5, "gram bench"


def cases(bench, types="f64,f32", sizes="8192", ranks=1, backend="auto"):
    by = mpirun(ranks) if ranks > 1 else []
    bench.about |= {"backend": backend, "machine": bench.about["machine"] | {"ranks": ranks}}
    for dtype, size in itertools.product(types.split(","), sizes.split(",")):
        bench.generate("x.h5", size, size, dtype, "--kind", "normal", "--force")
        shutil.copy("x.h5", "y.h5")  # another dataset: multiply must not recognise the product
        yield {"of": "files", "type": dtype, "size": int(size)}, {
            "gram": verified(f"damier gram x.h5 --backend {backend}", by),
            "multiply": verified(f"damier multiply x.h5 y.h5 --op-a t --backend {backend}", by)}
