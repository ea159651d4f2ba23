"""ScaLAPACK's pdgemm and pdsyrk: block-cyclic matrices, column-major on each rank."""
import ctypes
import sys
import time

import numpy as np
from mpi4py import MPI

from foreign import deal


class Rival:
    device = None

    def __init__(self, kind, n, options):
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
