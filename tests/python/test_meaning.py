"""Masks and attributes of datasets are applied, told or refused, never dropped; what was applied is a warning."""
import os
import pathlib
import re
import tempfile
import unittest
import warnings

import damier
import h5py
import numpy as np
from damier import _meaning

EYE = np.eye(3)


class Lazy:
    """As an array of dask: it reads what its graph holds, and its __array__ drops masks."""

    def __init__(self, graph, made):
        self.graph, self.made, self.shape, self.ndim = graph, made, made.shape, made.ndim

    def __dask_graph__(self):
        return self.graph

    def compute(self):
        return self.made

    def __array__(self, *_, **__):
        return np.asarray(self.made)


class Task:
    def __init__(self, *args):
        self.args = args


def stored(package, attributes):
    """As an array of PACKAGE, which gives stored numbers."""
    kind = type("Array", (), {"__module__": f"{package}.core", "shape": (2, 3), "attrs": attributes,
                              "__array__": lambda self, *_, **__: np.ones((2, 3))})
    return kind()


class Meaning(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "a.h5")
        self.x = np.arange(6.0).reshape(2, 3)
        with h5py.File(self.path, "w") as file:
            file["plain"] = self.x
            file["packed"] = self.x.astype("i2")
            file["packed"].attrs["scale_factor"] = 0.5
            file["matlab"] = self.x
            file["matlab"].attrs["MATLAB_class"] = np.bytes_("double")
            file["z"] = np.stack((self.x, 1 - self.x), -1)
            file["table"] = np.zeros((2, 3), [("a", "f8"), ("b", "f8")])
            file["table"].attrs["scale_factor"] = 0.5

    def refused(self, what, *arrays, **options):
        with self.assertRaisesRegex(damier.UsageError, what):
            damier.matmul(*arrays, **options)

    def test_views_of_h5py(self):
        for mode in ("r", "r+"):
            with h5py.File(self.path, mode) as file:
                if hasattr(file["packed"].astype("f8"), "__array__"):
                    self.refused("behind the view, .*scale_factor", file["packed"].astype("f8"), EYE)
                    np.testing.assert_array_equal(damier.matmul(file["plain"].astype("f8"), EYE), self.x)
                if hasattr(file["table"].fields("a"), "__array__"):
                    self.refused("behind the view, .*scale_factor", file["table"].fields("a"), EYE)

    def test_beside_what_h5py_reads(self):
        """The library applies what lies beside a dataset; where h5py must read it, it is refused."""
        with h5py.File(self.path, "r+") as file:
            file["m/data"], file["m/mask"] = self.x, self.x == 1
            file["n/e/data"] = self.x
            file["n"].attrs["neurodata_type"] = "ElectricalSeries"
            file["d/data1/data"], file["d/what/x"] = self.x, 1.0
            file["All_Data/v/Radiance"], file["i/image"], file["i/image-max"] = self.x, self.x, 1.0
            file["v/b"], file["v/bFactors"] = self.x, [1.0, 0.0]
            for name, what in (("m/data", "'mask' beside it"), ("n/e/data", "attribute 'neurodata_type'"), ("d/data1/data", "'what' around it"),
                               ("All_Data/v/Radiance", "in a group 'All_Data'"), ("i/image", "'image-max' beside it"),
                               ("v/b", "'bFactors' beside it")):
                self.refused(what, file[name], EYE)
            np.testing.assert_array_equal(damier.matmul(file["plain"], EYE), self.x)
            file.attrs["_NCProperties"] = "version=2"
            self.refused("in a file of netCDF", file["plain"], EYE)
        with h5py.File(self.path, "r") as file:
            np.testing.assert_array_equal(damier.matmul(file["m/data"], EYE, missing="zero"), np.where(self.x == 1, 0, self.x))

    def test_all_names_beside_are_known(self):
        page = (pathlib.Path(__file__).parents[2] / "docs" / "attributes.md").read_text()
        places = re.findall(r"^\| [^|]* \| (?:a dataset beside it|of the group|[^|]*it is in a group called)(?::)? ([^|]*)", page, re.M)
        known = (*_meaning._BESIDE, *_meaning._GROUPS_BESIDE, *_meaning._GROUPS_AROUND, *("NAME" + end for end in _meaning._BESIDE_ENDINGS))
        self.assertGreater(len(places), 15)
        for place in places:
            self.assertTrue(set(re.findall("`([^`]*)`", place)).intersection(known), place)

    def test_graphs(self):
        with h5py.File(self.path, "r") as file:
            packed, plain = file["packed"], file["plain"]
            for graph in ({"x": packed}, {"x": Task(1, packed)}, {"x": (len, packed)}):
                self.refused("read by dask, .*scale_factor", Lazy(graph, self.x), EYE)
            np.testing.assert_array_equal(damier.matmul(Lazy({"x": plain, "y": Task(plain)}, self.x), EYE), self.x)
        self.refused("1 masked elements", Lazy({}, np.ma.masked_equal(self.x, 4)), EYE)

    def test_stored_numbers(self):
        for package in ("zarr", "h5netcdf"):
            for key in ("scale_factor", "valid_range", "_FillValue", "__complex__"):
                self.refused(f"attribute '{key}'", stored(package, {key: 1}), EYE)
            np.testing.assert_array_equal(damier.matmul(stored(package, {"units": "K"}), EYE), np.ones((2, 3)))

    def test_masks(self):
        masked = np.ma.masked_equal(self.x, 4)
        for arrays in ((masked, EYE), (np.eye(2), masked), (masked, np.ones((4, 3, 2))), (np.ones((4, 2, 2)), masked),
                       (damier.Rows(masked), EYE), ([masked[0], masked[1]], EYE)):
            self.refused("masked elements", *arrays)
        self.refused("masked elements", np.eye(2), self.x, c=masked)
        again = np.ma.array(self.x)
        np.testing.assert_array_equal(damier.matmul(again, EYE), self.x)
        again[0, 0] = np.ma.masked
        self.refused("1 masked elements", again, EYE)

    def told(self, work):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            result = work()
        for warning in found:
            self.assertIs(warning.category, damier.DamierWarning)
            self.assertEqual(os.path.basename(warning.filename), os.path.basename(__file__))
        return result, [str(warning.message) for warning in found]

    def test_warnings(self):
        """Each once: of the call, in the record, and in C's attribute."""
        result, told = self.told(lambda: damier.matmul(f"{self.path}:/packed", EYE))
        np.testing.assert_array_equal(result, self.x / 2)
        self.assertEqual(told, [f"{self.path}:/packed: packed: value = 0.5 * stored, in f64"])
        _, told = self.told(lambda: damier.matmul(self.x, EYE))
        self.assertEqual(told, [])
        out = os.path.join(os.path.dirname(self.path), "c.h5")
        record, told = self.told(lambda: damier.cov(f"{self.path}:/matlab", out=out))
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], "its columns are the variables; in MATLAB they are rows; of='rows'")
        text = told[0].replace("of='rows'", "--of rows")
        self.assertEqual(record["warnings"], [{"kind": "applied", "text": text}])
        with h5py.File(out) as file:
            self.assertEqual(file["c"].attrs["warnings"], text)
        _, told = self.told(lambda: damier.gram(f"{self.path}:/matlab", of="rows"))
        self.assertRegex(told[0], "its rows are multiplied with each other; in MATLAB they are columns; of='columns'")

    def test_complex_axis(self):
        z = self.x + 1j * (1 - self.x)
        for options in ({"complex_axis": "last"}, {"complex_axis_a": "last"}, {"complex_axis_a": "last", "complex_axis": "none"}):
            got, told = self.told(lambda options=options: damier.matmul(f"{self.path}:/z", EYE.astype("c16"), **options))
            np.testing.assert_array_equal(got, z)
            self.assertIn("the last axis has real and imaginary parts", told[0])


if __name__ == "__main__":
    unittest.main()
