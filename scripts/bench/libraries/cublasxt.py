"""NVIDIA's cuBLASXt: n x n matrices, row-major, whole, in the pinned memory of one process."""
import ctypes
import time

import torch

from foreign import SIZES, cublas, declare, handle_of, ok, version_of


class Rival:
    def __init__(self, kind, n, options):
        self.n, self.real, self.rank, self.ranks, self.gpus = n, SIZES[kind][0], 0, 1, options.gpus
        self.device = torch.cuda.get_device_name(0)
        self.a, self.b, self.c = (torch.empty(n, n, dtype={"f64": torch.float64, "f32": torch.float32}[kind], pin_memory=True)
                                  .uniform_(-1, 1) for _ in range(3))
        self.library = cublas()
        gemm = "cublasXtDgemm" if kind == "f64" else "cublasXtSgemm"
        declare(self.library, cublasXtCreate="p", cublasXtDeviceSelect="pip", cublasXtSetBlockDim="pi", **{gemm: "piilllpplplppl"})
        self.handle, self.gemm = handle_of(self.library.cublasXtCreate), getattr(self.library, gemm)
        ok(self.library.cublasXtDeviceSelect(self.handle, self.gpus, (ctypes.c_int * self.gpus)(*range(self.gpus))))
        self.name = "cuBLASXt " + version_of(self.library, "cublasGetProperty")

    def settings(self):
        return [str(block) for block in (1024, 2048, 4096, 8192) if block <= self.n]

    def open(self, setting):
        ok(self.library.cublasXtSetBlockDim(self.handle, int(setting)))
        return {"block": int(setting)}

    def multiply(self):
        """Seconds. cuBLAS' columns are these rows. The call returns when C is complete."""
        one, zero, n, began = self.real(1), self.real(0), self.n, time.perf_counter()
        ok(self.gemm(self.handle, 0, 0, n, n, n, ctypes.byref(one), self.b.data_ptr(), n, self.a.data_ptr(), n,
                     ctypes.byref(zero), self.c.data_ptr(), n))
        return time.perf_counter() - began

    def apply(self, name, x, absolute=False):
        rows = (part.double() for part in getattr(self, name).split(1024))
        return torch.cat([(part.abs() if absolute else part) @ torch.from_numpy(x) for part in rows]).numpy()
