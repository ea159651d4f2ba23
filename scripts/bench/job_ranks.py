"""The ranks of a benchmark of the Python package, each with a GPU if torch has one, and calls that they time together."""
import os
import platform

import numpy as np

from measure import NUMPY_TYPES, compare, timed

try:
    import torch
    TYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "c128": torch.complex128}
    HAS_GPU = torch.cuda.is_available()
except ImportError:
    torch, TYPES, HAS_GPU = None, {}, False
SHORTEST = 0.02  # seconds: calls that take less are repeated for that long
MOST_REPEATS = 100  # of calls on a GPU, which queues them


class Job:
    """All ranks, or this process alone; with GPUs, or with arrays of NumPy."""

    def __init__(self, gpus=HAS_GPU):
        self.world, self.rank, self.ranks, here = None, 0, 1, 0
        if int(os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE") or 1) > 1:
            from mpi4py import MPI  # pylint: disable=import-outside-toplevel
            self.world, self.most = MPI.COMM_WORLD, MPI.MAX
            self.rank, self.ranks = self.world.Get_rank(), self.world.Get_size()
            self.hosts = self.world.allgather(platform.node())
            here = self.hosts[:self.rank].count(platform.node())
        self.device, self.name, self.devices = None, None, []  # all that are waited for
        if gpus:
            self.device = torch.device("cuda", here % torch.cuda.device_count())
            self.devices = [self.device]
            torch.cuda.set_device(self.device)
            self.name = torch.cuda.get_device_name(self.device)

    def random(self, name, rows, cols):
        if not self.device:
            return np.random.default_rng(self.rank).normal(size=(rows, cols)).astype(NUMPY_TYPES[name])
        return torch.randn(rows, cols, device=self.device).to(TYPES[name])

    def settle(self):
        for device in self.devices:
            torch.cuda.synchronize(device)

    def meet(self):
        self.settle()
        if self.world:
            self.world.Barrier()

    def slowest(self, value):
        return self.world.allreduce(value, self.most) if self.world else value

    def turn(self, call, repeats=1):
        """What a call takes, the mean of REPEATS, on the slowest rank."""
        self.meet()
        took, _ = timed(call, self.settle, repeats)
        return {name: self.slowest(value) for name, value in took.items()}

    def compare(self, options, about, case, calls):
        """CALLS, {way: function}, in turns."""
        repeats = {}
        for way, call in calls.items():
            self.turn(call)  # warms up
            enough = max(1, round(SHORTEST / self.turn(call)["seconds"]))
            repeats[way] = min(enough, MOST_REPEATS) if self.device else enough
        compare(options.output if self.rank == 0 else None, about, case, calls, lambda way: self.turn(calls[way], repeats[way]),
                options.pairs)
