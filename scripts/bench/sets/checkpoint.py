"""Two ranks with one thread: without checkpoints, with them, and with one each second."""
from measure import mpirun, verified

RUNS, WARM_UP = 11, 0


def cases(bench, size=4096):
    for seed, name in enumerate("AB", 1):
        bench.generate(f"{name}.h5", size, size, "f64", "--seed", seed)
    yield {"size": size}, {way: verified(f"damier multiply A.h5 B.h5 --threads 1 {way}", mpirun(2), lambda record: {
        "command": record["command"], "machine": record["machine"]})
        for way in ("--no-checkpoint", "--checkpoint", "--checkpoint-interval 1s")}
