"""How the package finds the library, and whether its declarations match the header."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import damier
from damier import _errors, _library

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STRUCTURES = {"damier_error": _library.CError, "damier_matrix": _library.CMatrix,
              "damier_array": _library.CArray}


def imported(**environment):
    """The outcome of an import with this in its environment."""
    return subprocess.run([sys.executable, "-c", "import damier; print(damier._library.library._name)"],
                          env=os.environ | environment, capture_output=True, text=True, check=False)


class Found(unittest.TestCase):
    def test_stated(self):
        folder = os.environ["DAMIER_LIBRARY"]
        for path in (folder, os.path.join(folder, _library.SONAME)):
            done = imported(DAMIER_LIBRARY=path)
            self.assertEqual(done.stdout.strip(), os.path.join(folder, _library.SONAME), done.stderr)

    def test_by_the_loader(self):
        done = imported(DAMIER_LIBRARY="", LD_LIBRARY_PATH=os.environ["DAMIER_LIBRARY"])
        self.assertEqual(done.stdout.strip(), _library.SONAME, done.stderr)

    def test_beside_the_program(self):
        with tempfile.TemporaryDirectory() as prefix:
            for folder, name, is_from in (("bin", "damier", os.environ["DAMIER_PROGRAM"]),
                                          ("lib", _library.SONAME, _library.library._name)):
                os.mkdir(os.path.join(prefix, folder))
                shutil.copy(is_from, os.path.join(prefix, folder, name))
            done = imported(DAMIER_LIBRARY="", PATH=os.path.join(prefix, "bin"))
            self.assertEqual(done.stdout.strip(), os.path.join(prefix, "lib", _library.SONAME), done.stderr)

    def refused(self, words, **environment):
        done = imported(**environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ImportError: damier: ", done.stderr)
        self.assertIn(words, done.stderr)

    def test_not_there(self):
        self.refused("set DAMIER_LIBRARY to the library", DAMIER_LIBRARY="/nowhere")

    def test_another_library(self):
        self.refused("is not libdamier", DAMIER_LIBRARY="libm.so.6")

    def test_another_version(self):
        self.refused("is libdamier 7.1.0; this package needs 0.3", DAMIER_LIBRARY=os.environ["OTHER_VERSION"])


class Import(unittest.TestCase):
    def test_loads_little(self):
        """More than half of the time of 'import damier' is NumPy's; what only some calls need is loaded by them."""
        program = "import sys, numpy, dataclasses; before = set(sys.modules); import damier; print(*sorted(set(sys.modules) - before))"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        loaded = {name for name in done.stdout.split() if name.partition(".")[0] not in ("damier", "numpy", "typing")}
        few = {"__future__", "atexit", "copy", "resource", "signal", "threading", "typing_extensions"}
        self.assertLessEqual({name for name in loaded if not name.startswith("_")} - few, set())
        self.assertLess(len(done.stdout.split()), 60)


class Declared(unittest.TestCase):
    def setUp(self):
        done = subprocess.run([os.environ["LAYOUT"]], capture_output=True, text=True, check=True)
        self.layout = {name: tuple(map(int, rest)) for name, *rest in map(str.split, done.stdout.splitlines())}

    def test_structures(self):
        for name, structure in STRUCTURES.items():
            self.assertEqual(self.layout[name], (ctypes.sizeof(structure),), name)
            fields = [f for f in self.layout if f.startswith(f"{name}.")]
            self.assertEqual(fields, [f"{name}.{field}" for field, _ in structure._fields_])
            for field, _ in structure._fields_:
                place = getattr(structure, field)
                self.assertEqual(self.layout[f"{name}.{field}"], (place.offset, place.size), field)

    def test_constants(self):
        for number, type_ in enumerate(_library.TYPES):
            self.assertEqual(self.layout[f"DAMIER_{type_.upper()}"], (number,))
        for name in ("IN_FILE", "BY_ROWS", "ON_ONE", "BLOCK_CYCLIC", "REPLICATED", "KEPT"):
            self.assertEqual(self.layout[f"DAMIER_{name}"], (getattr(_library, name),))

    def test_exceptions(self):
        codes = {code for name, (code, *_) in self.layout.items() if name.startswith("DAMIER_E_")}
        self.assertEqual(codes | {8}, set(_errors._by_code))  # 8: the program's watchdog

    def test_version(self):
        self.assertEqual(damier.version(), damier.__version__)
        stated = (ROOT / "python" / "pyproject.toml").read_text()
        self.assertIn(f'version = "{damier.__version__}"', stated)


if __name__ == "__main__":
    unittest.main()
