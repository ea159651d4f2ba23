"""What a later call may use of an earlier one; calls in processes that were forked; calls that fork none."""
import os
import subprocess
import sys
import textwrap
import unittest
import warnings

import damier
import numpy as np

RNG = np.random.default_rng(1)


def drawn(*shape):
    return RNG.integers(-4, 5, shape).astype("f8")


class Peak(unittest.TestCase):
    def test_tall_product(self):
        """The verification holds sums for some millions of rows at a time, not for all of them."""
        done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
            import resource
            import damier, numpy as np
            peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            a, b, out = np.ones((14_000_000, 2), "f4"), np.ones((2, 2), "f4"), np.ones((14_000_000, 2), "f4")
            damier.matmul(a[:1000], b)
            before = peak()
            damier.matmul(a, b, out)
            assert (out == 2).all()
            print(peak() - before)
        """)], capture_output=True, text=True, check=True)
        self.assertLess(int(done.stdout), 450, "MiB; 56 bytes for each row would be 748")


class Again(unittest.TestCase):
    """The second call of a kind, and the third."""

    def right(self, make_a, make_b, **words):
        for call in range(3):
            a, b = make_a(), make_b()
            with self.subTest(call=call):
                np.testing.assert_array_equal(damier.matmul(a, b, **words), a @ b)

    def test_matrices_that_do_not_follow_each_other(self):
        plain = lambda *shape: (lambda: drawn(*shape))
        self.right(plain(6, 4, 5), lambda: np.asfortranarray(drawn(6, 5, 3)))
        self.right(lambda: drawn(6, 5, 4).swapaxes(-1, -2), plain(6, 5, 3))
        self.right(lambda: drawn(6, 9, 5)[:, 2:6], plain(6, 5, 3))
        self.right(lambda: drawn(6, 4, 5)[::-1], plain(6, 5, 3))
        self.right(lambda: drawn(12, 4, 5)[::2], lambda: drawn(6, 5, 7)[..., 1:6:2])
        self.right(lambda: np.broadcast_to(drawn(4, 5), (6, 4, 5)), plain(6, 5, 3))
        self.right(lambda: np.lib.stride_tricks.sliding_window_view(drawn(9, 5), 4, 0).swapaxes(1, 2), plain(6, 5, 3))
        self.right(lambda: drawn(4, 2, 3, 5).transpose(1, 2, 0, 3), plain(2, 3, 5, 4))

    def test_one_context(self):
        with damier.Context() as context:
            for _ in range(3):
                a, b = drawn(6, 9, 5)[:, 2:6], drawn(6, 5, 3)
                np.testing.assert_array_equal(context.matmul(a, b), a @ b)

    def test_results_that_do_not_follow_each_other(self):
        makes = (lambda: np.zeros((6, 9, 3))[:, 2:6], lambda: np.zeros((3, 4, 6)).T, lambda: np.zeros((6, 4, 3))[::-1],
                 lambda: np.zeros((4, 6, 3)).swapaxes(0, 1))
        for make in makes:
            out = make()
            for beta in (0, 0, 2):
                a, b, before = drawn(6, 4, 5), drawn(6, 5, 3), out.copy()
                self.assertIs(damier.matmul(a, b, out, beta=beta), out)
                np.testing.assert_array_equal(out, a @ b + beta * before)
        with self.assertRaisesRegex(damier.UsageError, "have the same place"):
            damier.matmul(drawn(6, 4, 5), drawn(6, 5, 3), np.lib.stride_tricks.as_strided(np.zeros((4, 3)), (6, 4, 3), (0, 24, 8)))

    def test_what_changes_between_calls(self):
        """Read-only, byte order, alignment, weights."""
        a, b = drawn(7, 7), drawn(7, 7)
        for _ in range(2):
            out = np.zeros((7, 7))
            damier.matmul(a, b, out)
            out.flags.writeable = False
            with self.assertRaisesRegex(damier.UsageError, "read-only"):
                damier.matmul(a, b, out)
            np.testing.assert_array_equal(damier.matmul(a.astype(">f8"), b), a @ b)
            np.testing.assert_array_equal(damier.matmul(np.zeros(49 * 8 + 1, "u1")[1:].view("f8").reshape(7, 7) + a, b), a @ b)
        for i in range(3):
            x, w = drawn(30, 4), RNG.integers(1, 9, 30).astype("f8")
            np.testing.assert_allclose(damier.cov(x, weights=w), np.cov(x, rowvar=False, aweights=w), atol=1e-12)
            np.testing.assert_allclose(damier.cov(x), np.cov(x, rowvar=False), atol=1e-12)

    def test_equal_options(self):
        """Options are compared as values: calls use one context."""
        from damier import _kept
        a = drawn(5, 5)
        damier.matmul(a, a, alpha=3)
        count = len(_kept._contexts())
        for three in (3.0, np.float64(3), np.int64(3), np.float32(3), np.array(3.0), 3 + 0j, "3"):
            np.testing.assert_array_equal(damier.matmul(a, a, alpha=three), 3 * (a @ a))
        self.assertEqual(len(_kept._contexts()), count)

    def test_options_that_are_equal_in_python(self):
        """1, 1.0 and True are equal, and so are the dictionaries that have them."""
        a = drawn(5, 5)
        for _ in range(2):
            for one in (1, 1.0, "1", None):
                np.testing.assert_array_equal(damier.matmul(a, a, alpha=one), a @ a)
            with self.assertRaises(damier.UsageError):
                damier.matmul(a, a, alpha=True)
            with self.assertRaises(damier.UsageError):
                damier.matmul(a, a, alpha=np.ones(5))
            with self.assertRaises(damier.UsageError):
                damier.gram(a, of=["columns"])
            with self.assertRaisesRegex(damier.UsageError, "there is no option"):
                damier.matmul(a, a, alhpa=1)

    def test_results_in_operands(self):
        for _ in range(3):
            a, b = drawn(6, 6), drawn(6, 6)
            expected = a @ b
            np.testing.assert_array_equal(damier.matmul(a, b, np.zeros((6, 6))), expected)
            np.testing.assert_array_equal(damier.matmul(a, b, a), expected)
            a = drawn(6, 6)
            expected = a @ b
            np.testing.assert_array_equal(damier.matmul(a, b, b.T), expected)

    def test_a_call_within_a_call(self):
        """A function that shows a warning multiplies, too: what the outer call used is not free."""
        a, inner = drawn(6, 6), []
        a[2, 3] = np.nan

        def show(*_):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                x = drawn(6, 6)
                inner.append((x @ x, damier.matmul(x, x)))

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            for _ in range(4):
                b = drawn(6, 6)
                np.testing.assert_array_equal(damier.matmul(a, b), a @ b)
        self.assertEqual(len(inner), 4)
        for expected, found in inner:
            np.testing.assert_array_equal(found, expected)

    def test_progress_after_calls_without(self):
        a, seen = drawn(6, 6), []
        with damier.Context(progress=lambda done, total: seen.append(done)) as context:
            for _ in range(3):
                seen.clear()
                context.matmul(a, a)
                self.assertTrue(seen)
        large, small = drawn(1200, 1200), drawn(6, 6)
        for _ in range(2):  # a brief call, which asks for nothing, between others
            np.testing.assert_array_equal(damier.matmul(small, small), small @ small)
            np.testing.assert_array_equal(damier.matmul(large, large), large @ large)
            damier.matmul(a, a, progress=lambda done, total: seen.append(total))
        self.assertGreater(len(seen), 1)

    def test_products_of_a_matrix_with_itself(self):
        for _ in range(3):
            x = drawn(40, 5)
            np.testing.assert_array_equal(damier.gram(x), x.T @ x)
            np.testing.assert_array_equal(damier.gram(x, of="rows"), x @ x.T)
            np.testing.assert_allclose(damier.cov(x), np.cov(x, rowvar=False), atol=1e-12)
            np.testing.assert_allclose(damier.cov(x, divide="n"), np.cov(x, rowvar=False, ddof=0), atol=1e-12)
            np.testing.assert_allclose(damier.cor(x), np.corrcoef(x, rowvar=False), atol=1e-12)


class Vectors(unittest.TestCase):
    """Numbers in memory in place of files."""

    def test_centers(self):
        a, b = drawn(20, 6), drawn(6, 5)
        of_columns, of_rows, scale = drawn(6), drawn(20), RNG.integers(1, 5, 6)
        for given in (of_columns, list(of_columns), of_columns.astype("f4"), of_columns[:, None], ("columns", of_columns)):
            np.testing.assert_allclose(damier.matmul(a, b, center_a=given, scale_a=scale), (a - of_columns) / scale @ b, atol=1e-12)
        np.testing.assert_allclose(damier.matmul(a, b, center_a=("rows", of_rows)), (a - of_rows[:, None]) @ b, atol=1e-12)
        np.testing.assert_array_equal(damier.matmul(a, b), a @ b)
        with damier.Context(center_a=of_columns) as context:
            for _ in range(2):
                np.testing.assert_allclose(context.matmul(a, b), (a - of_columns) @ b, atol=1e-12)
        with self.assertRaisesRegex(damier.InputError, "^center_a has 5 x 1 numbers"):
            damier.matmul(a, b, center_a=of_columns[1:])
        for wrong in (np.ones((2, 3)), np.array(["1"] * 6), of_columns * 1j, np.float64(3)):
            with self.assertRaisesRegex(damier.UsageError, "center_a"):
                damier.matmul(a, b, center_a=wrong)
        np.testing.assert_array_equal(damier.matmul(a, b), a @ b)


BEGIN = """
import ctypes, os, signal, tempfile, threading, time
import numpy as np
import damier
x = np.random.default_rng(1).standard_normal((60, 5))
"""

# Counts the forks of the C library, whoever calls it.
COUNTED = BEGIN + """
libc, forks = ctypes.CDLL(None), []
counted = ctypes.CFUNCTYPE(None)(lambda: forks.append(1))
assert libc.__register_atfork(counted, None, None, None) == 0
"""

CHILD = BEGIN + """
def in_child(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        try:
            os._exit(0 if work() else 1)
        except damier.UsageError as error:
            os._exit(3 if "was forked" in str(error) else 4)
        except BaseException:
            os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
def again(work):
    def loop():
        while not done:
            work()
    done, thread = [], threading.Thread(target=loop, daemon=True)
    thread.start()
    time.sleep(0.3)
    return lambda: (done.append(1), thread.join())
"""


class Forks(unittest.TestCase):
    def run_python(self, begin, text):
        done = subprocess.run([sys.executable, "-c", begin + textwrap.dedent(text)], capture_output=True, text=True, timeout=60,
                              env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore:This process:DeprecationWarning"},
                              check=False)  # from 3.12 on Python warns of forks beside threads
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_calls_on_arrays_do_not_fork(self):
        """A fork ends the threads of a BLAS library in which another thread multiplies."""
        self.assertEqual(self.run_python(COUNTED, """
            w = np.arange(1.0, 61)
            for _ in range(2):
                damier.cov(x, weights=w), damier.cor(x, weights=list(w)), damier.cov(x.T, of="rows", weights=w, missing="mean")
                damier.gram(x, weights=w), damier.matmul(x.T, x, weights=w), damier.matmul(x, x.T, center_a=x[0], scale_a=w[:5])
                damier.matmul(x, x.T), damier.matmul(x[None], x.T[None]), damier.cov(x, missing="pairwise"), damier.plan(x, x.T)
                damier.matmul(x, x.T, c=np.eye(60)), damier.info()
            print(len(forks))
            """), "0\n")

    def test_forks_are_counted(self):
        self.assertGreater(int(self.run_python(COUNTED, """
            with tempfile.TemporaryDirectory() as folder:
                np.save(folder + "/x.npy", x)
                damier.info(folder + "/x.npy")
            print(len(forks))
            """)), 0)

    def test_while_another_thread_multiplies(self):
        """The child has none of the parent's locks; a context that was in use is refused there."""
        lines = self.run_python(CHILD, """
        a = np.random.default_rng(1).standard_normal((900, 900))
        context, idle = damier.Context(), damier.Context()
        again(lambda: context.matmul(a, a))
        for _ in range(3):
            in_child(lambda: np.allclose(damier.matmul(x.T, x), x.T @ x))
            in_child(lambda: np.allclose(damier.cov(x, weights=np.ones(60)), np.cov(x.T)))
            in_child(lambda: np.allclose(idle.matmul(x.T, x), x.T @ x))
            in_child(lambda: np.allclose(context.matmul(x.T, x), x.T @ x))
        print(flush=True)
        os._exit(0)
        """).split()
        of_context = lines[3::4]
        self.assertEqual(lines[0::4] + lines[1::4] + lines[2::4], ["0"] * 9)
        self.assertIn("3", of_context)
        self.assertLessEqual(set(of_context), {"0", "3"})  # 0: forked between two calls

    def test_while_another_thread_is_in_hdf5(self):
        """The child's first call with a file does not wait for a thread that it does not have."""
        self.assertEqual(self.run_python(CHILD, """
        with tempfile.TemporaryDirectory() as folder:
            name = folder + "/x.h5"
            np.save(folder + "/x.npy", x)
            damier.multiply(folder + "/x.npy", folder + "/x.npy", name, op_a="t", chunk=(1, 1))
            end = again(lambda: damier.matmul(name, np.eye(5)))
            for _ in range(20):
                in_child(lambda: np.allclose(damier.matmul(name, np.eye(5)), x.T @ x))
            print(flush=True)
            end()
        os._exit(0)
        """), "0\n" * 20 + "\n")


if __name__ == "__main__":
    unittest.main()
