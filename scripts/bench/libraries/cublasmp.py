"""NVIDIA's cuBLASMp: matrices in GPU memory, distributed block-cyclically, column-major on each rank."""
import ctypes
import time

import numpy as np
import torch

from foreign import SIZES, cublas, deal, declare, handle_of, ok, version_of
from job_ranks import TYPES, Job


class Rival:
    KINDS = {"f64": (1, 1, 70), "f32": (0, 0, 68), "bf16": (14, 0, 68)}  # cudaDataType_t of A and B, of C; cublasComputeType_t

    def __init__(self, kind, n, options):
        self.job, self.kind, self.n = Job(), kind, n
        self.rank, self.ranks, self.gpus = self.job.rank, self.job.ranks, self.job.ranks
        self.device = self.job.name
        self.name = "cuBLAS " + version_of(cublas(), "cublasGetProperty")
        nccl, self.library = ctypes.CDLL("libnccl.so.2"), ctypes.CDLL(options.library or "libcublasmp.so.0")
        identity = (ctypes.c_char * 128)()
        if self.rank == 0:
            ok(nccl.ncclGetUniqueId(identity))
        identity = type("Identity", (ctypes.Structure,), {"_fields_": [("bytes", ctypes.c_char * 128)]}).from_buffer_copy(
            self.job.world.bcast(bytes(identity)))
        nccl_job, self.grids, self.memory, version = ctypes.c_void_p(), {}, [], ctypes.c_int()
        ok(nccl.ncclCommInitRank(ctypes.byref(nccl_job), self.ranks, identity, self.rank))
        self.nccl, self.stream = nccl_job, torch.cuda.Stream()
        declare(self.library, cublasMpCreate="pp", cublasMpGridCreate="llipp", cublasMpMatrixDescriptorCreate="lllllllipp",
                cublasMpMalloc="ppl", cublasMpFree="pp", cublasMpGemm_bufferSize="piilllppllppllpppllpipp",
                cublasMpGemm="piilllppllppllpppllpiplpl")
        self.handle = ctypes.c_void_p()
        ok(self.library.cublasMpCreate(ctypes.byref(self.handle), self.stream.cuda_stream))
        ok(self.library.cublasMpGetVersion(ctypes.byref(version)))
        v = version.value
        self.name = f"cuBLASMp {v // 10000}.{v // 100 % 100}.{v % 100}, {self.name}"

    def layouts(self):
        """{name: of A, B and C each: rows and columns of the grid, rows and columns of a block}"""
        found, part = {}, self.n // self.ranks
        for rows in (r for r in range(1, self.ranks + 1) if self.ranks % r == 0):
            whole = self.n // max(rows, self.ranks // rows)
            for block in [whole, *(b for b in (1024, 4096) if b < whole)]:
                found[f"{rows}x{self.ranks // rows}:{block}"] = [(rows, self.ranks // rows, block, block)] * 3
        if self.ranks > 1 and self.n % self.ranks == 0:  # the two for which it overlaps transfers with products
            down, right = (self.ranks, 1), (1, self.ranks)
            found["all-gather"] = [(*down, part, self.n), (*right, self.n, part), (*down, part, part)]
            found["reduce-scatter"] = [(*right, self.n, part), (*down, part, part), (*right, self.n, part)]
        return found

    def settings(self):
        return list(self.layouts())

    def grid(self, rows, columns):
        if (rows, columns) not in self.grids:
            self.grids[rows, columns] = handle_of(self.library.cublasMpGridCreate, rows, columns, int(rows == 1), self.nccl)
        return self.grids[rows, columns]

    def allocate(self, grid, count, name):
        """Memory that the other GPUs address, if the library can do that: as a torch tensor."""
        dtype = TYPES[name]
        size = max(256, self.job.slowest(count * torch.empty(0, dtype=dtype).element_size()))
        pointer = ctypes.c_void_p()
        self.addressable = not self.library.cublasMpMalloc(grid, ctypes.byref(pointer), size)
        if not self.addressable:
            return torch.empty(size, dtype=torch.uint8, device=self.job.device).view(dtype)[:count]
        self.memory.append((grid, pointer))
        place = type("Place", (), {"__cuda_array_interface__": {
            "shape": (size,), "typestr": "|u1", "data": (pointer.value, False), "version": 3}})
        return torch.as_tensor(place(), device=self.job.device).view(dtype)[:count]

    def open(self, setting):
        self.close()
        self.parts = {}
        for name, (rows, columns, high, wide) in zip("abc", self.layouts()[setting]):
            grid, kind = self.grid(rows, columns), self.kind if name != "c" or self.kind == "f64" else "f32"
            mine = deal(self.n, high, self.rank % rows, rows), deal(self.n, wide, self.rank // rows, columns)
            matrix = self.allocate(grid, len(mine[0]) * len(mine[1]), kind)
            matrix.uniform_(-1, 1)
            form = handle_of(self.library.cublasMpMatrixDescriptorCreate, self.n, self.n, high, wide, 0, 0, max(1, len(mine[0])),
                             self.KINDS[self.kind][name == "c"], grid)
            self.parts[name] = matrix, form, *mine
        one, zero, n = SIZES[self.kind][0](1), SIZES[self.kind][0](0), self.n
        words = [self.handle, 0, 0, n, n, n, ctypes.byref(one)]
        for name in "abc":
            words += [ctypes.byref(zero)] * (name == "c") + [self.parts[name][0].data_ptr(), 1, 1, self.parts[name][1]]
        words.append(self.KINDS[self.kind][2])
        sizes = ctypes.c_size_t(), ctypes.c_size_t()
        refused = self.library.cublasMpGemm_bufferSize(*words, *map(ctypes.byref, sizes))
        grid = self.grid(*self.layouts()[setting][2][:2])
        work = self.allocate(grid, max(8, sizes[0].value // 8 + 1), "f64"), ctypes.create_string_buffer(sizes[1].value + 1)
        self.call = None if refused else (words, work[0].data_ptr(), sizes[0].value, work[1], sizes[1].value, (one, zero, work))
        return {"layout": setting, "addressable": self.addressable}

    def close(self):
        self.parts, self.call = {}, None
        while self.memory:
            self.library.cublasMpFree(*self.memory.pop())

    def multiply(self):
        """Seconds until all ranks are done; infinite if the library does not support it."""
        self.job.meet()
        began, taken = time.perf_counter(), np.inf
        if self.call and not self.library.cublasMpGemm(*self.call[0], *self.call[1:5]):
            self.stream.synchronize()
            taken = time.perf_counter() - began
        return self.job.slowest(taken)

    def apply(self, name, x, absolute=False):
        matrix, _, rows, columns = self.parts[name]
        y = np.zeros(self.n)
        for some in np.array_split(np.arange(len(columns)), 16):  # of columns, which are contiguous
            part = matrix.view(len(columns), len(rows))[some[0]:some[-1] + 1].double() if len(some) else None
            if part is not None:
                of_x = torch.from_numpy(x[columns[some]]).to(self.job.device)
                y[rows] += ((part.abs() if absolute else part).t() @ of_x).cpu().numpy()
        return self.job.world.allreduce(y)
