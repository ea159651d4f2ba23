#!/usr/bin/env python3
"""Times another library's product of two random matrices, and checks it by a random vector; products.py alternates it with damier.

    rivals.py cublasxt f64 16384 --gpus 2 [--setting 4096]          pinned host memory, C too; the setting is the width of blocks
    mpirun -n 2 rivals.py cublasmp f64 16384 [--setting all-gather] GPU memory; the setting is a layout; C of bf16 is f32
    mpirun -n 2 rivals.py pdgemm f64 4096 [--setting 2x1:256]       ScaLAPACK; the setting is a grid of ranks and a block

Without --setting it prints the fastest one; with it one line of JSON. Needs mpi4py for several ranks, and torch with a GPU for
cublasxt and cublasmp. --library is the file of cuBLASMp, 0.8 or newer, such as nvidia/cublasmp/cu13/lib/libcublasmp.so.0 of pip's
nvidia-cublasmp-cu13, or of ScaLAPACK, if the loader does not find it. cuBLASMp 0.8 to 0.10 need NCCL 2.29, which LD_PRELOAD puts before
torch's.
"""
# pylint: disable=import-outside-toplevel
import ctypes
import json
import sys
import time

import numpy as np

from measure import options_of

SIZES = {"f64": (ctypes.c_double, 2.0**-53), "f32": (ctypes.c_float, 2.0**-24), "bf16": (ctypes.c_float, 2.0**-24)}  # of C


def declare(library, **functions):
    """Arguments of each function: p a pointer or handle, l 64 bits, i int."""
    kinds = {"p": ctypes.c_void_p, "l": ctypes.c_int64, "i": ctypes.c_int}
    for name, words in functions.items():
        getattr(library, name).argtypes = [kinds[word] for word in words]


def ok(code):
    if code:
        raise RuntimeError(f"the library returned {code}")


def handle_of(create, *arguments):
    handle = ctypes.c_void_p()
    ok(create(*arguments, ctypes.byref(handle)))
    return handle


def version_of(library, get):
    parts = [ctypes.c_int() for _ in range(3)]
    for which, part in enumerate(parts):
        getattr(library, get)(which, ctypes.byref(part))
    return ".".join(str(part.value) for part in parts)


def cublas():
    """The one that torch has loaded."""
    import torch
    torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")  # pylint: disable=expression-not-assigned
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "/libcublas.so" in line))


class CublasXt:
    """n x n matrices, row-major, whole, in the pinned memory of one process."""

    def __init__(self, kind, n, options):
        import torch
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
        import torch
        rows = (part.double() for part in getattr(self, name).split(1024))
        return torch.cat([(part.abs() if absolute else part) @ torch.from_numpy(x) for part in rows]).numpy()


def deal(n, block, place, count):
    """The indices of n that block-cyclic distribution gives to PLACE of COUNT."""
    return np.arange(n)[np.arange(n) // block % count == place]


class CublasMp:
    """Matrices in GPU memory, distributed block-cyclically, column-major on each rank."""
    KINDS = {"f64": (1, 1, 70), "f32": (0, 0, 68), "bf16": (14, 0, 68)}  # cudaDataType_t of A and B, of C; cublasComputeType_t

    def __init__(self, kind, n, options):
        import torch
        from job_ranks import TYPES, Job
        self.torch, self.types, self.job, self.kind, self.n = torch, TYPES, Job(), kind, n
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
        self.nccl, self.stream = nccl_job, self.torch.cuda.Stream()
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
        torch, dtype = self.torch, self.types[name]
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
        torch, y = self.torch, np.zeros(self.n)
        for some in np.array_split(np.arange(len(columns)), 16):  # of columns, which are contiguous
            part = matrix.view(len(columns), len(rows))[some[0]:some[-1] + 1].double() if len(some) else None
            if part is not None:
                of_x = torch.from_numpy(x[columns[some]]).to(self.job.device)
                y[rows] += ((part.abs() if absolute else part).t() @ of_x).cpu().numpy()
        return self.job.world.allreduce(y)


class Pdgemm:
    """ScaLAPACK's block-cyclic matrices, column-major on each rank."""
    device = None

    def __init__(self, kind, n, options):
        from mpi4py import MPI
        self.world, self.most, self.n, self.gpus = MPI.COMM_WORLD, MPI.MAX, n, None
        self.rank, self.ranks = self.world.Get_rank(), self.world.Get_size()
        if kind != "f64":
            sys.exit("pdgemm multiplies f64")
        self.library = ctypes.CDLL(options.library or "libscalapack-openmpi.so", mode=ctypes.RTLD_GLOBAL)
        blas = ctypes.CDLL("libopenblas.so.0")
        blas.openblas_set_num_threads(1)
        blas.openblas_get_config.restype = ctypes.c_char_p
        self.name = "ScaLAPACK, " + blas.openblas_get_config().decode()

    def settings(self):
        grids = [(rows, self.ranks // rows) for rows in range(1, self.ranks + 1) if self.ranks % rows == 0]
        return [f"{rows}x{columns}:{block}" for rows, columns in grids for block in (64, 128, 256)]

    def open(self, setting):
        grid, block = setting.split(":")
        rows, columns, block = *map(int, grid.split("x")), int(block)
        context, place = ctypes.c_int(), [ctypes.c_int() for _ in range(4)]
        self.library.Cblacs_get(-1, 0, ctypes.byref(context))
        self.library.Cblacs_gridinit(ctypes.byref(context), b"Row", rows, columns)
        self.library.Cblacs_gridinfo(context, *map(ctypes.byref, place))
        self.rows, self.columns = deal(self.n, block, place[2].value, rows), deal(self.n, block, place[3].value, columns)
        random = np.random.default_rng(self.rank)
        self.a, self.b, self.c = (np.asfortranarray(random.uniform(-1, 1, (len(self.rows), len(self.columns)))) for _ in range(3))
        self.form = (ctypes.c_int * 9)(1, context.value, self.n, self.n, block, block, 0, 0, max(1, len(self.rows)))
        return {"block": block, "grid": grid}

    def call(self, function, *words, factors, sizes):
        one, zero, first, n = ctypes.c_double(1), ctypes.c_double(0), ctypes.c_int(1), ctypes.c_int(self.n)
        words = [*words, *[ctypes.byref(n)] * sizes, ctypes.byref(one)]
        for matrix in (*factors, self.c):
            words += [ctypes.byref(zero)] * (matrix is self.c) + [ctypes.c_void_p(matrix.ctypes.data), ctypes.byref(first),
                                                                  ctypes.byref(first), self.form]
        self.world.Barrier()
        began = time.perf_counter()
        getattr(self.library, function)(*words)
        return self.world.allreduce(time.perf_counter() - began, self.most)

    def multiply(self):
        return self.call("pdgemm_", b"N", b"N", factors=(self.a, self.b), sizes=3)

    def quickest(self, call):
        """The setting of the shortest second CALL."""
        def seconds(setting):
            self.open(setting)
            call()  # warms up
            return call()
        return min(self.settings(), key=seconds)

    def syrk(self):
        """The lower triangle of C, A transposed times A."""
        return self.call("pdsyrk_", b"L", b"T", factors=(self.a,), sizes=2)

    def apply(self, name, x, absolute=False):
        matrix, y = getattr(self, name), np.zeros(self.n)
        y[self.rows] = (abs(matrix) if absolute else matrix) @ x[self.columns]
        return self.world.allreduce(y)


def residual(rival, kind):
    """The largest |C w - A (B w)| for random signs w (Freivalds 1979), in units of 8 u |A| (|B| 1). Rounding of random elements
    stays far below 1, and a C without one panel of k is far above."""
    w = np.random.default_rng(3).choice([-1.0, 1.0], rival.n)
    difference = abs(rival.apply("c", w) - rival.apply("a", rival.apply("b", w)))
    return float(np.max(difference / (8 * SIZES[kind][1] * rival.apply("a", rival.apply("b", np.ones(rival.n), True), True))))


def fastest(rival, kind):
    """The setting of the shortest second product that is right."""
    times = {}
    for setting in rival.settings():
        rival.open(setting)
        rival.multiply()  # warms up
        took = rival.multiply()
        wrong = residual(rival, kind) if np.isfinite(took) else np.inf
        if rival.rank == 0:
            print(f"{setting}: {took:.4f} s, residual {wrong:.3g}", file=sys.stderr)
        if wrong < 1:
            times[setting] = took
    return min(times, key=times.get, default=None)


def main():
    programs = {"cublasxt": CublasXt, "cublasmp": CublasMp, "pdgemm": Pdgemm}
    options = options_of(__doc__, None, ("program", {"choices": programs}), ("type", {"choices": SIZES}), ("n", {"type": int}),
                         setting="", gpus=1, repetitions=1, library="")
    n, rival = options.n, programs[options.program](options.type, options.n, options)
    setting = options.setting or fastest(rival, options.type)
    if not options.setting or not setting:
        if rival.rank == 0 and setting:
            print(setting)
        sys.exit(0 if setting else 1)
    about = rival.open(setting)
    rival.multiply()  # warms up
    seconds = [rival.multiply() for _ in range(options.repetitions)]
    wrong = residual(rival, options.type)
    machine = {"backend": "cuda", "device": rival.device, "gpus": rival.gpus} if rival.device else {"threads": 1}
    command = ["rivals.py", options.program, options.type, n, *(["--gpus", rival.gpus] if options.program == "cublasxt" else []),
               "--setting", setting, "--repetitions", options.repetitions]
    if rival.rank == 0:
        print(json.dumps({"command": " ".join(map(str, command)), "machine": {"library": rival.name, "ranks": rival.ranks, **machine},
                          "bench": about, "repetitions": {"multiply_s": seconds}, "residual": wrong,
                          "verification": {"verdict": "PASS" if wrong < 1 else "FAIL"}}))
    sys.exit(0 if wrong < 1 else 1)


if __name__ == "__main__":
    main()
