"""Calls of several threads at a time, also in an interpreter without a global lock (python3.13t, 3.14t), which stays without one.

    PYTHONPATH=python:tests/python DAMIER_LIBRARY=build/release python3.14t -m unittest tests/python/test_threads.py
"""
import subprocess
import sys
import sysconfig
import threading
import unittest
import unittest.mock
import warnings

import damier
import numpy as np
from damier import _library, _progress
from folder_case import FolderCase

THREADS = 4


def at_once(work, count=THREADS):
    """Calls WORK with 0, 1, ... in threads that begin together; raises what one of them raised."""
    start, failed = threading.Barrier(count), []

    def run(index):
        try:
            start.wait()
            work(index)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            failed.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


class Threads(FolderCase):
    def setUp(self):
        super().setUp()
        # with a global lock, threads take turns often
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-5)

    def test_the_package_needs_no_global_lock(self):
        program = "import sys, damier; print(sys._is_gil_enabled()) if hasattr(sys, '_is_gil_enabled') else print('no choice')"
        done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
        without = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
        self.assertIn(done.stdout.strip(), ("False",) if without else ("True", "no choice"))

    def test_all_kinds_of_calls(self):
        weights = np.arange(1.0, 61)
        shared, lazy = damier.Context(op_b="t"), damier.open("a.npy") @ damier.open("b.npy")

        def into(x):
            out = np.ones((len(x), 5))
            damier.matmul(x, self.b, out, beta=1)
            self.same(out, x @ self.b + 1)

        def to_file(x, name):
            damier.multiply(x, "b.npy", name, force=True)
            self.same(np.load(name), x @ self.b)

        def refused(x):
            with self.assertRaisesRegex(damier.UsageError, "did you mean op_b"):
                damier.matmul(x, self.b, transpose_b=True)

        def work(index):
            for size in range(1, 25):
                x = np.random.default_rng(100 * index + size).standard_normal((size, 8))
                calls = (lambda x: self.same(damier.matmul(x, self.b), x @ self.b), lambda x: self.same(shared.matmul(x, self.a), x @ self.a.T),
                         lambda x: self.same(damier.gram(x), x.T @ x), lambda x: self.same(lazy.compute(), self.a @ self.b),
                         lambda x: self.same(damier.matmul("a.npy", self.b, alpha=index), index * (self.a @ self.b)),
                         lambda x: self.same(damier.cov(self.a, weights=weights), np.cov(self.a, rowvar=False, aweights=weights)),
                         lambda x: self.same(damier.matmul(x, self.b, reduce="max"), (x @ self.b).max(1)),
                         into, lambda x: to_file(x, f"c{index}.npy"), refused)
                calls[(size + 3 * index) % len(calls)](x)

        at_once(work)
        shared.close()

    def test_threads_that_end_leave_no_contexts(self):
        closed = unittest.mock.Mock(side_effect=_library.library.damier_close)
        with unittest.mock.patch.object(_library.library, "damier_close", closed):
            for size in range(1, 6):
                at_once(lambda _, size=size: damier.matmul(self.a[:size], self.b), 1)
        self.assertGreaterEqual(closed.call_count, 4)

    def test_contexts_that_nobody_closes(self):
        damier.Context().close()  # and with it those of earlier threads
        closed = unittest.mock.Mock(side_effect=_library.library.damier_close)
        with unittest.mock.patch.object(_library.library, "damier_close", closed):
            for done in (None, lambda done, total: None):
                damier.Context(progress=done).matmul(self.a, self.b)
            with damier.Context(threads=1) as context:
                context.matmul(self.a, self.b)
        self.assertEqual(closed.call_count, 3)

    def test_bars_leave_the_filters_of_warnings(self):
        before = list(warnings.filters)
        at_once(lambda _: _progress._new_bar().close())
        self.assertEqual(list(warnings.filters), before)


if __name__ == "__main__":
    unittest.main()
