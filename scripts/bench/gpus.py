"""The processes of an MPI job, each with a GPU, for benchmarks of the Python package."""
import os
import platform
import time

import torch

TYPES = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "c128": torch.complex128}


class Job:
    """All ranks, or this process alone."""

    def __init__(self):
        self.world, self.rank, self.ranks, here = None, 0, 1, 0
        if int(os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE") or 1) > 1:
            from mpi4py import MPI  # pylint: disable=import-outside-toplevel
            self.world, self.most = MPI.COMM_WORLD, MPI.MAX
            self.rank, self.ranks = self.world.Get_rank(), self.world.Get_size()
            self.hosts = self.world.allgather(platform.node())
            here = self.hosts[:self.rank].count(platform.node())
        self.device = torch.device("cuda", here % torch.cuda.device_count())
        torch.cuda.set_device(self.device)
        self.name = torch.cuda.get_device_name(self.device)

    def random(self, name, rows, cols):
        return torch.randn(rows, cols, device=self.device).to(TYPES[name])

    def meet(self):
        torch.cuda.synchronize()
        if self.world:
            self.world.Barrier()

    def slowest(self, value):
        return self.world.allreduce(value, self.most) if self.world else value

    def seconds(self, call, repeats=1):
        """Of the slowest rank, the mean of REPEATS."""
        self.meet()
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        torch.cuda.synchronize()
        return self.slowest((time.perf_counter() - began) / repeats)
