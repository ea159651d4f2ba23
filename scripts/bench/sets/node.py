"""A node with several GPUs: one GPU, those that the plan chooses, all in one process, ranks of MPI; after a pause in which GPUs become idle,
as one that was used within the last second starts 0.1 s sooner."""
import time

from measure import gpu_names, processor, verified

RUNS = 3
PRODUCTS = "f64:4096x4096x4096,f64:16384x16384x16384,f64:16384x65536x16384,f64:32768x32768x32768,bf16:16384x262144x16384"


def way(words, by=()):
    call = verified(f"damier multiply A.h5 B.h5 {words}", by, lambda record: {
        "ranks": record["machine"]["ranks"], "forecast": record.get("forecast")})

    def rested():
        time.sleep(1.5)
        return call()
    return rested


def cases(bench, products=PRODUCTS, gpus=2, mpi=1):
    bench.about |= {"machine": {"device": next(iter(gpu_names()), None) or processor()}, "gpus": gpus}
    for dtype, shape in (product.split(":") for product in products.split(",")):
        m, k, n = shape.split("x")
        bench.generate("A.h5", m, k, dtype, "--seed", 1, "--force")
        bench.generate("B.h5", k, n, dtype, "--seed", 2, "--force")
        ways = {"--gpus 1": way("--gpus 1"), "default": way(""), f"--gpus {gpus}": way(f"--gpus {gpus}")}
        launched = ["mpirun", "-n", str(gpus)]
        yield {"product": f"{dtype}:{m}" + (f"x{k}" if k != m else "")}, ways | ({" ".join(launched): way("", launched)} if mpi else {})
