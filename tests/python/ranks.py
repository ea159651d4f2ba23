"""Under mpirun, with mpi4py: matrices divided over the ranks, compared with NumPy; errors of single ranks."""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import numpy as np

try:
    from mpi4py import MPI
except ImportError:
    print("mpi4py is not installed")
    sys.exit(77)
import damier

WORLD = MPI.COMM_WORLD
try:
    damier.Context(WORLD).close()
except damier.MPIError as error:  # not mpi4py's MPI
    print(error)
    sys.exit(77)
RANK, RANKS = WORLD.Get_rank(), WORLD.Get_size()
M, N, K = 37, 23, 41


def drawn(shape, seed, dtype="f8"):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def rows_of(x, cuts=None):
    """This rank's rows of X, which all ranks know."""
    cuts = [len(x) * r // RANKS for r in range(RANKS + 1)] if cuts is None else cuts
    return x[cuts[RANK]:cuts[RANK + 1]]


def blocks_of(x, blocks, grid, order, first):
    """Element by element, independently of the package."""
    place = divmod(RANK, grid[1]) if order == "R" else divmod(RANK, grid[0])[::-1]
    owned = [[i for i in range(size) if (i // block + start) % parts == at]
             for size, block, parts, start, at in zip(x.shape, blocks, grid, first, place)]
    return np.ascontiguousarray(x[np.ix_(*owned)])


class Divided(unittest.TestCase):
    def setUp(self):
        self.a, self.b = drawn((M, K), 1), drawn((K, N), 2)
        self.wanted = self.a @ self.b

    def test_rows(self):
        c = damier.matmul(rows_of(self.a), rows_of(self.b), comm=WORLD)
        np.testing.assert_array_equal(c, rows_of(self.wanted))

    def test_repeated(self):
        """The communicator keeps the context, until it is freed."""
        comm = WORLD.Dup()
        for i in range(5):
            out = np.empty_like(rows_of(self.wanted))
            damier.matmul(rows_of(self.a), rows_of(self.b), out, comm=comm, alpha=i % 2 + 1)
            np.testing.assert_array_equal(out, (i % 2 + 1) * rows_of(self.wanted))
            with self.assertRaises(damier.UsageError):
                damier.matmul(rows_of(self.a), rows_of(self.a), comm=comm)
        comm.Free()

    def test_uneven_rows(self):
        cuts = [0, M] + [M] * (RANKS - 1)
        c = damier.matmul(rows_of(self.a, cuts), rows_of(self.b), comm=WORLD)
        np.testing.assert_array_equal(c, rows_of(self.wanted, cuts))

    def test_transposed(self):
        c = damier.matmul(rows_of(self.a.T.copy()), rows_of(self.b), op_a="t", comm=WORLD)
        np.testing.assert_array_equal(c, rows_of(self.wanted))

    def test_on_one(self):
        last = RANKS - 1
        on = [damier.OnOne(x if RANK == last else None, last) for x in (self.a, self.b)]
        c = damier.matmul(*on, comm=WORLD)
        if RANK == last:
            np.testing.assert_array_equal(c, self.wanted)
        else:
            self.assertIsNone(c)
        c = damier.matmul(rows_of(self.a), on[1], comm=WORLD)
        np.testing.assert_array_equal(c, rows_of(self.wanted))

    def test_replicated(self):
        c = damier.matmul(rows_of(self.a), damier.Replicated(self.b), comm=WORLD)
        np.testing.assert_array_equal(c, rows_of(self.wanted))
        c = damier.matmul(damier.Replicated(self.a), damier.Replicated(self.b), comm=WORLD)
        np.testing.assert_array_equal(c, rows_of(self.wanted))
        with self.assertRaisesRegex(damier.UsageError, "C cannot be replicated"):
            damier.matmul(rows_of(self.a), rows_of(self.b), damier.Replicated(self.wanted.copy()), comm=WORLD)

    def test_block_cyclic(self):
        square = min(2, RANKS)
        for order, grid in (("R", (square, RANKS // square)), ("C", (square, RANKS // square)), ("R", (1, RANKS)),
                            ("C", (RANKS, 1))):
            words = {"blocks": (4, 3), "grid": grid, "order": order, "first": (grid[0] - 1, 0)}
            local = [blocks_of(x, *words.values()) for x in (self.a, self.b, np.zeros((M, N)))]
            shapes = ((M, K), (K, N), (M, N))
            c = damier.matmul(*(damier.BlockCyclic(x, s, **words) for x, s in zip(local, shapes)), comm=WORLD)
            self.assertIs(c, local[2])
            np.testing.assert_array_equal(c, blocks_of(self.wanted, *words.values()))

    def test_sums(self):
        old = drawn((M, N), 3)
        c = damier.matmul(rows_of(self.a), rows_of(self.b), c=rows_of(old), beta=-1, comm=WORLD)
        np.testing.assert_array_equal(c, rows_of(self.wanted - old))

    def test_weights(self):
        """An array that every rank passes alike; rank 0 writes it to a file."""
        x, w = self.a + 0.5, np.random.default_rng(3).uniform(0.1, 2, M)
        wanted = np.cov(x, rowvar=False, aweights=w)
        np.testing.assert_allclose(damier.cov(rows_of(x), comm=WORLD, weights=w), rows_of(wanted), rtol=0, atol=1e-12)
        counts = np.arange(M) % 3
        c = damier.cov(damier.OnOne(x if RANK == 0 else None, 0), comm=WORLD, weights=counts, weights_are="frequency")
        if RANK == 0:
            np.testing.assert_allclose(c, np.cov(x, rowvar=False, fweights=counts), rtol=0, atol=1e-12)
        with self.assertRaises(damier.InputError):
            damier.cov(rows_of(x), comm=WORLD, weights=w[1:])
        with self.assertRaisesRegex(damier.UsageError, "weights"):  # cannot be saved
            damier.cov(rows_of(x), comm=WORLD, weights=np.array([None] * M))
        with self.assertRaisesRegex(damier.UsageError, "masked"):
            damier.cov(rows_of(x), comm=WORLD, weights=np.ma.masked_equal(counts, 1) if RANK == 0 else counts)
        if RANKS > 1:
            with self.assertRaisesRegex(damier.UsageError, "some ranks only"):
                damier.cov(rows_of(x), comm=WORLD, weights=w if RANK == 0 else None)
        self.assertEqual(WORLD.allreduce(1), RANKS)

    def test_batch(self):
        """A batch is not divided: each rank multiplies its entries by itself."""
        mine = drawn((5, 4, 3), RANK)
        with self.assertRaisesRegex(damier.UsageError, "comm") as raised:
            damier.matmul(mine, mine.swapaxes(1, 2), comm=WORLD)
        self.assertIn("leave out comm", str(raised.exception))
        np.testing.assert_array_equal(damier.matmul(mine, mine.swapaxes(1, 2)), mine @ mine.swapaxes(1, 2))

    def test_zeros(self):
        c = damier.matmul(np.ones((2, 0)), np.ones((0, 3)), comm=WORLD)
        np.testing.assert_array_equal(c, np.zeros((2, 3)))
        self.assertEqual(damier.matmul(rows_of(np.ones((0, 4))), rows_of(np.ones((4, 3))), comm=WORLD).shape, (0, 3))

    def test_part_of_the_ranks(self):
        part = WORLD.Split(RANK, 0)
        np.testing.assert_array_equal(damier.matmul(self.a, self.b, comm=part), self.wanted)
        part.Free()
        np.testing.assert_array_equal(damier.matmul(self.a, self.b), self.wanted)

    def test_plan(self):
        record = damier.plan(rows_of(self.a), rows_of(self.b), comm=WORLD)
        self.assertEqual(record["machine"]["ranks"], RANKS)


class Refused(unittest.TestCase):
    """All ranks raise the same exception, and the communicator remains usable."""

    def refused(self, words, a, b, **options):
        with self.assertRaisesRegex(damier.UsageError, words):
            damier.matmul(a, b, comm=WORLD, **options)
        self.assertEqual(WORLD.allreduce(1), RANKS)

    def test_by_one_rank(self):
        x = np.ones((3, 3 * RANKS))
        odd = RANK == RANKS - 1
        b = np.ones((3, 2))
        self.refused("dimensions", np.ones(3) if odd else x, b)
        self.refused("elements of", x.astype("i8") if odd else x, b)
        if RANKS > 1:
            self.refused("on different ranks", x.astype("f4") if odd else x, b)
            self.refused("columns on different ranks", x[:, 1:] if odd else x, b)
            self.refused("describe it differently", damier.OnOne(x, 0) if odd else x, b)
        self.refused("None on every rank|part is None", damier.OnOne(None, 0), b)
        self.refused("there is no rank", damier.OnOne(x, RANKS), b)
        if RANKS > 1:
            self.refused("rows on different ranks", damier.Replicated(x[1:] if odd else x), b)

    def test_result_of_one_rank(self):
        a, b = np.ones((2, RANKS)), np.ones((1, 3))
        odd = RANK == RANKS - 1
        self.refused("dimensions", a, b, c=np.ones(3) if odd else np.ones((2, 3)))
        self.refused("read-only", a, b, out=np.broadcast_to(1.0, (2, 3)) if odd else np.ones((2, 3)))

    def test_option(self):
        self.refused("no option", np.ones((1, RANKS)), np.ones((1, 1)), gird="1")


class Stopped(unittest.TestCase):
    def test_by_one_rank(self):
        a = np.ones((4, 64 * 30))
        with self.assertRaises(damier.StoppedError):
            damier.matmul(a, a, op_b="t", panel=64, comm=WORLD,
                          progress=lambda done, total: RANK == RANKS - 1)
        self.assertEqual(WORLD.allreduce(1), RANKS)


    def test_too_late(self):
        """If the last call raises on one rank, the product may be complete; no rank keeps waiting."""
        a = np.ones((4, 64 * 3))

        def at_the_end(done, total):
            if RANK == RANKS - 1 and done == total:
                raise ZeroDivisionError

        try:
            damier.matmul(a, a, op_b="t", panel=64, comm=WORLD, progress=at_the_end)
            self.assertLess(RANK, RANKS - 1)
        except ZeroDivisionError:
            self.assertEqual(RANK, RANKS - 1)
        except damier.StoppedError:
            self.assertLess(RANK, RANKS - 1)
        self.assertEqual(WORLD.allreduce(1), RANKS)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(WORLD.bcast(tempfile.mkdtemp(prefix="damier-test-") if RANK == 0 else None))
        self.a, self.b = drawn((M, K), 1), drawn((K, N), 2)
        if RANK == 0:
            np.save(self.folder / "a.npy", self.a)
            np.save(self.folder / "b.npy", self.b)
        WORLD.Barrier()

    def tearDown(self):
        WORLD.Barrier()
        if RANK == 0:
            shutil.rmtree(self.folder)

    def test_all(self):
        a, b, c = (self.folder / f"{x}.npy" for x in "abc")
        record = damier.multiply(a, b, c, comm=WORLD)
        self.assertEqual((record["verb"], record["machine"]["ranks"]), ("multiply", RANKS))
        np.testing.assert_array_equal(np.load(c), self.a @ self.b)
        self.assertEqual(damier.verify(a, b, c, comm=WORLD)["verification"]["verdict"], "PASS")
        WORLD.Barrier()
        if RANK == 0:
            np.save(c, self.a @ self.b + 1)
        WORLD.Barrier()
        with self.assertRaises(damier.VerifyError) as caught:
            damier.verify(a, b, c, comm=WORLD)
        self.assertEqual(caught.exception.record["verification"]["verdict"], "FAIL")
        with self.assertRaises(damier.FileError):
            damier.multiply(self.folder / "missing.npy", b, c, comm=WORLD)
        with damier.Context(WORLD) as context:
            self.assertEqual(context.info(a)["dataset"]["rows"], M)


if __name__ == "__main__":
    if RANK > 0:
        sys.stderr = open(os.devnull, "w")
    done = unittest.main(exit=False, failfast=True)
    good = done.result.wasSuccessful()
    if not good:
        print(f"rank {RANK}: {done.result.failures + done.result.errors}", flush=True)
        WORLD.Abort(1)
