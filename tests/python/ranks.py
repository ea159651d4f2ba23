"""Under mpirun, with mpi4py: matrices divided over the ranks, compared with NumPy; errors of single ranks."""
import os
import pathlib
import shutil
import signal
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

    def test_kept(self):
        """Of a product that is not stored rank 0 gets what is kept."""
        found = damier.matmul(rows_of(self.a), rows_of(self.b), comm=WORLD, reduce="argmax")
        if RANK == 0:
            np.testing.assert_array_equal(found, self.wanted.argmax(1))
        else:
            self.assertIsNone(found)

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
        self.refused("dimension", np.ones(3) if odd else x, b)
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
        self.refused("dimension", a, b, c=np.ones(3) if odd else np.ones((2, 3)))
        self.refused("read-only", a, b, out=np.broadcast_to(1.0, (2, 3)) if odd else np.ones((2, 3)))

    def test_option(self):
        self.refused("no option", np.ones((1, RANKS)), np.ones((1, 1)), gird="1")


class Bad:
    @property
    def shape(self):
        return 1 / 0


@unittest.skipIf(RANKS == 1, "of several ranks")
class Unlike(unittest.TestCase):
    """After right calls, the last rank makes another one: all ranks raise, none waits, and right calls go on."""

    odd = RANK == RANKS - 1

    def setUp(self):
        self.x, self.b = (rows_of(drawn(shape, 1)) for shape in ((10, 7), (7, 3)))
        folder = tempfile.mkdtemp(prefix="damier-test-") if RANK == 0 else None
        self.folder = WORLD.bcast(folder)
        self.name = self.folder + "/x.npy"
        if RANK == 0:
            np.save(self.name, drawn((10, 7), 1))
        WORLD.Barrier()
        self.context = damier.Context(WORLD)
        signal.alarm(60)

    def tearDown(self):
        signal.alarm(0)
        self.context.close()
        WORLD.Barrier()
        if RANK == 0:
            shutil.rmtree(self.folder)

    def right(self):
        np.testing.assert_array_equal(damier.matmul(self.x, self.b, comm=WORLD), rows_of(drawn((10, 7), 1) @ drawn((7, 3), 1)))
        damier.gram(self.x, comm=WORLD)
        self.context.gram(self.x)

    def all_refuse(self, words, call, other):
        self.right()
        with self.subTest(words), self.assertRaisesRegex(damier.UsageError, words) as caught:
            (other if self.odd else call)()
        self.assertTrue(caught.exception.agreed)
        self.assertEqual(WORLD.allreduce(1), RANKS)

    def test_options(self):
        def gram(**options):
            return lambda: damier.gram(self.x, None, WORLD, **options)

        for one, other in (({}, {"alpha": 3}), ({"alpha": 2}, {"alpha": 3}), ({}, {"gird": 1}), ({}, {"alpha": "z"}), ({}, {"type_c": "f33"}),
                           ({"machine": "@" + self.name}, {"machine": "@/nowhere"}), ({}, {"weights": "missing.npy"})):
            self.all_refuse("some ranks|different options", gram(**one), gram(**other))
        self.all_refuse("of other lines", lambda: damier.matmul(self.x, self.b, comm=WORLD, center_a=np.ones(7)),
                        lambda: damier.matmul(self.x, self.b, comm=WORLD, center_a=("rows", np.ones(10))))
        self.all_refuse("no option 'center_a'", gram(), gram(center_a=np.ones(7)))
        self.all_refuse("zero byte", gram(), gram(kernel="a\0b"))
        self.all_refuse("grid is an array", gram(), gram(grid=np.ones(3)))
        self.all_refuse("no option 'gird'", gram(gird=1), gram(gird=1))
        self.all_refuse("differ in weights", gram(weights=np.ones(10)), gram(weights=np.full(10, 2.0)))
        self.all_refuse("different options", lambda: damier.Context(WORLD), lambda: damier.Context(WORLD, alpha=2))
        self.right()

    def test_equal_values(self):
        for one, other in ((2, 2.0), (2.0, np.float64(2)), (1, np.int64(1)), (2, "2"), (2, 2 + 0j), (0.5, np.float32(0.5))):
            for _ in range(2):
                damier.gram(self.x, None, WORLD, alpha=one)
                c = damier.gram(self.x, None, WORLD, alpha=other if self.odd else one)
                np.testing.assert_array_equal(c, rows_of(float(one) * drawn((10, 7), 1).T @ drawn((10, 7), 1)))

    def test_calls(self):
        x, b, name = self.x, self.b, self.name
        out = self.folder + "/c.npy"
        calls = {"matmul": lambda: damier.matmul(x, b, None, WORLD), "gram": lambda: damier.gram(x, None, WORLD),
                 "cov": lambda: damier.cov(x, None, None, WORLD), "cor": lambda: damier.cor(x, None, None, WORLD),
                 "plan": lambda: damier.plan(x, b, None, WORLD), "open": lambda: damier.Context(WORLD),
                 "multiply": lambda: damier.multiply(name, name, out, WORLD, op_b="t")}
        for one, other in (("gram", "cov"), ("matmul", "gram"), ("multiply", "matmul"), ("plan", "matmul"), ("cor", "cov"), ("gram", "open")):
            self.all_refuse("do not make the same call", calls[one], calls[other])
        self.all_refuse("do not make the same call", lambda: self.context.gram(x), lambda: self.context.info(name))
        self.all_refuse("do not make the same call", lambda: damier.gram(x, None, WORLD), lambda: damier.gram(x, None, WORLD, of="rows"))
        self.all_refuse("of is 'columns'", lambda: damier.gram(x, None, WORLD), lambda: damier.gram(x, None, WORLD, of="x"))
        self.all_refuse("on some ranks", lambda: damier.cov(name, None, out, WORLD), lambda: damier.cov(name, None, None, WORLD))
        self.all_refuse("location in a file", calls["multiply"], lambda: damier.multiply(name, name, 7, WORLD, op_b="t"))
        self.all_refuse("standard input", *(lambda c=c: damier.multiply(name, name, out, WORLD, op_b="t", beta=1, c=c) for c in (name, "-")))
        self.right()

    def test_operands(self):
        x, b = self.x, self.b
        for other in ("missing.npy", self.name):
            self.all_refuse("do not make the same call", lambda: damier.gram(x, None, WORLD), lambda: damier.gram(other, None, WORLD))
        self.all_refuse("differ in the location", lambda: damier.gram(self.name, None, WORLD), lambda: damier.gram("missing.npy", None, WORLD))
        for other in (Bad(), [[1, 2], [3]], None, "", np.ma.masked_equal(x, x[0, 0])):
            self.all_refuse("rank|not an array|do not make|masked|location", lambda: damier.gram(x, None, WORLD), lambda: damier.gram(other, None, WORLD))
            self.all_refuse("rank|not an array|do not make|masked|location", lambda: damier.matmul(x, b, None, WORLD),
                            lambda: damier.matmul(x, other, None, WORLD))
        self.all_refuse("batch", lambda: damier.matmul(x, b, None, WORLD), lambda: damier.matmul(x[None], b, None, WORLD))
        self.all_refuse("same call", lambda: damier.matmul(x, b, None, WORLD), lambda: damier.matmul(x, b, None, WORLD, c=np.ones((len(x), 3))))
        self.all_refuse("beta is not 0", lambda: damier.matmul(x, b, np.ones((len(x), 3)), WORLD, beta=1),
                        lambda: damier.matmul(x, b, None, WORLD, beta=1))
        self.right()

    def test_progress_of_one(self):
        told = []
        for _ in range(2):
            self.right()
            damier.gram(self.x, None, WORLD, progress=(lambda done, total: told.append(done)) if self.odd else None)
        self.assertEqual(bool(told), self.odd)


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

    def test_mixtures(self):
        """Rows in memory and files, in any combination; the old C, too."""
        a, b, c, d = (self.folder / f"{x}.npy" for x in "abcd")
        wanted = self.a @ self.b
        self.assertEqual(damier.multiply(rows_of(self.a), b, c, WORLD).verification.verdict, "PASS")
        np.testing.assert_array_equal(np.load(c), wanted)
        WORLD.Barrier()
        damier.matmul(a, rows_of(self.b), d, WORLD, c=rows_of(wanted), beta=2)
        np.testing.assert_array_equal(np.load(d), 3 * wanted)
        np.testing.assert_array_equal(damier.matmul(a, b, None, WORLD), rows_of(wanted))
        np.testing.assert_allclose(damier.cov(a, None, None, WORLD), rows_of(np.cov(self.a, rowvar=False)), atol=1e-10)


if __name__ == "__main__":
    if RANK > 0:
        sys.stderr = open(os.devnull, "w")
    done = unittest.main(exit=False, failfast=True)
    good = done.result.wasSuccessful()
    if not good:
        print(f"rank {RANK}: {done.result.failures + done.result.errors}", flush=True)
        WORLD.Abort(1)
