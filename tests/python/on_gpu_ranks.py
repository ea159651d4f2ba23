"""Under mpirun, with mpi4py: matrices with rows in GPU memory on some ranks; usage: as for on_gpu.py."""
import sys
import unittest

import numpy as np

try:
    from mpi4py import MPI
except ImportError:
    print("mpi4py is not installed")
    sys.exit(77)
import damier
import on_gpu
import unlike_rows
from gpu_arrays import ByDlpack, ByInterface

WORLD = MPI.COMM_WORLD
try:
    damier.Context(WORLD).close()
except damier.MPIError as error:  # not mpi4py's MPI
    print(error)
    sys.exit(77)
RANK, RANKS = WORLD.Get_rank(), WORLD.Get_size()
LAST = RANKS - 1
TOGETHER = {"comm": WORLD, "transport": "host"}  # self-tests of links between emulated devices are slow


def rows_of(x):
    return x[len(x) * RANK // RANKS:len(x) * (RANK + 1) // RANKS]


class OnSome(on_gpu.OnGpu):
    def setUp(self):
        super().setUp()
        self.wanted = rows_of(self.wanted)
        self.whole_b = self.b
        self.a, self.b, self.c = map(rows_of, (self.a, self.b, self.c))

    def on(self, rank, array, **words):
        """A copy in that rank's GPU memory."""
        return self.put(ByDlpack if rank else ByInterface, array, **words) if rank == RANK else array.copy()

    def there(self, given):
        return given if isinstance(given, np.ndarray) else self.get(given)

    def test_operands(self):
        a = self.on(0, self.a)
        np.testing.assert_array_equal(damier.matmul(a, self.on(LAST, self.b), **TOGETHER), self.wanted)
        b = damier.OnOne(self.put(ByDlpack, self.whole_b) if RANK == LAST else None, LAST)
        np.testing.assert_array_equal(damier.matmul(a, b, **TOGETHER), self.wanted)

    def test_nothing_travels(self):
        """The first product of a context whose op(B) every rank has."""
        for verify in (True, False):
            out = self.put(ByDlpack, 0 * self.c)
            with damier.Context(WORLD, verify=verify) as context:
                context.matmul(self.put(ByDlpack, self.a), damier.Replicated(self.put(ByDlpack, self.whole_b)), out)
                self.assertEqual(context.record["transport"], "ipc")
            np.testing.assert_array_equal(self.get(out), self.wanted)

    def test_unlike_rows(self):
        a, cases = unlike_rows.factors()
        with damier.Context(WORLD, allow_unchecked=True) as context:
            for what, b, spoiled, wanted in cases:
                with self.subTest(what):
                    out = self.put(ByDlpack, rows_of(0 * wanted))
                    context.matmul(self.put(ByDlpack, rows_of(a)), self.put(ByDlpack, rows_of(b)), out)
                    np.testing.assert_array_equal(self.get(out), rows_of(wanted))
                    unlike_rows.check(self, context.record["verification"], spoiled)

    def test_out(self):
        out = self.on(LAST, self.c)
        damier.matmul(self.a, self.b, out, beta=1, **TOGETHER)
        np.testing.assert_array_equal(self.there(out), self.wanted + self.c)

    def test_old_c(self):
        c, out = self.on(0, self.c), self.on(LAST, 0 * self.c)
        np.testing.assert_array_equal(damier.matmul(self.a, self.b, c=c, **TOGETHER), self.wanted + self.c)
        for given in (out, c):
            damier.matmul(self.a, self.b, given, c=c, **TOGETHER)
            np.testing.assert_array_equal(self.there(given), self.wanted + self.c)

    def test_refusals(self):
        """An error of one rank is raised on all."""
        words = {"data": (4096, True)} if RANK == 0 else {}
        with self.assertRaisesRegex(damier.UsageError, "read-only"):
            damier.matmul(self.a, self.b, self.on(0, self.c, **words), **TOGETHER)

    def test_no_k(self):
        out = self.on(0, self.c)
        damier.matmul(self.a[:, :0], self.b[:0], out, beta=2, **TOGETHER)
        np.testing.assert_array_equal(self.there(out), 2 * self.c)


if __name__ == "__main__":
    OnSome.gpu = {"emulated": on_gpu.Emulated, "cuda": on_gpu.Cuda}[sys.argv.pop(1)]()
    names = ("test_operands", "test_out", "test_old_c", "test_refusals", "test_no_k")
    done = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite(map(OnSome, names)))
    sys.exit(not done.wasSuccessful())
