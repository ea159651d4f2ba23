"""nodes: one computer pretends to be two or three nodes: pieces of A and B use two transports."""
import judging
from judging import Case
from running import command, ended, options

DTYPES = ("f64", "bf16", "c64", "i8", "f32")
GRIDS = ("2x2x1", "1x4x1", "4x1x1", "2x1x2", "1x2x2", "1x1x4")


def transports(damier):
    """Transports of GPU memory between nodes, if available; else only messages."""
    def works(name):
        return ended(command(4, damier, "bench", "multiply", "--backend", "cuda", "--size", 64, "--pretend-nodes", 2,
                             "--transport", name, "-q")).returncode == 0
    return [name for name in ("ipc+nccl",) if works(name)] + ["host", "auto"]


def cases(damier):
    return [Case(130 + 7 * i, 95 + 3 * i, 400 + i, dtype=DTYPES[(i + 2 * j) % 5], ranks=4,
                 flags=f"--pretend-nodes 2 --transport {name} --grid {grid} --panel 64")
            for j, name in enumerate(transports(damier)) for i, grid in enumerate(GRIDS)]


def more(rng):
    return [Case(*map(int, rng.integers(1, 120, 2)), int(rng.integers(1, 700)), ranks=6,
                 dtype=DTYPES[i % 5], flags=f"--pretend-nodes {2 + i % 2} --panel 64")
            for i in range(10)]


judging.main(lambda: cases(options().damier), more)
