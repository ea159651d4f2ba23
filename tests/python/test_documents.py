"""Examples in the package's docstrings, in pages of docs/ and in the tutorial are true."""
import doctest
import importlib
import os
import pathlib
import pkgutil
import subprocess
import sys
import tempfile
import unittest

import damier
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


class Examples(unittest.TestCase):
    def setUp(self):
        here, folder = os.getcwd(), tempfile.TemporaryDirectory(prefix="damier-test-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, here)
        os.chdir(folder.name)

    def test_docstrings(self):
        names = [module.name for module in pkgutil.iter_modules(damier.__path__)]
        modules = [damier] + [importlib.import_module(f"damier.{name}") for name in names]
        tried = 0
        for module in modules:
            done = doctest.testmod(module, extraglobs={"damier": damier, "np": np}, optionflags=FLAGS)
            self.assertEqual(done.failed, 0, module.__name__)
            tried += done.attempted
        self.assertGreater(tried, 20)

    def test_public_names_are_described(self):
        page = "".join((ROOT / "docs" / name).read_text() for name in ("python.md", "python_calls.md", "python_gpu.md"))
        for name in damier.__all__:
            self.assertTrue(getattr(damier, name).__doc__, name)
            self.assertIn(f"`{name}", page.replace("`damier.", "`"), name)

    def test_pages(self):
        tried = 0
        for page in ("python", "python_calls", "howto/gram", "howto/covariance"):
            done = doctest.testfile(str(ROOT / "docs" / f"{page}.md"), module_relative=False, globs={"damier": damier, "np": np},
                                    optionflags=FLAGS)
            self.assertEqual(done.failed, 0, page)
            tried += done.attempted
        self.assertGreater(tried, 15)

    def test_tutorial(self):
        environment = os.environ | {"MPLBACKEND": "Agg", "TUTORIAL_SIZE": "256"}
        done = subprocess.run([sys.executable, ROOT / "examples" / "tutorial.py"], env=environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("verdict: PASS", done.stdout)
        self.assertTrue(pathlib.Path("scaling.png").exists() or "matplotlib is not installed" in done.stdout)


if __name__ == "__main__":
    unittest.main()
