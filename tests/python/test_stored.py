"""damier.matmul of operands in files, and of stacks of matrices, compared with NumPy."""
import itertools
import os
import tempfile
import unittest
import unittest.mock

import pathlib

import damier
import h5py
import numpy as np
import zarr_stores


def drawn(shape, dtype="f8", seed=1):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


class InFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "a.h5")


def zarr_array(root, path=""):
    """What zarr opens in a folder, as far as damier looks at it."""
    store = type("LocalStore", (), {"root": pathlib.Path(root)})()
    return type("Array", (), {"__module__": "zarr.core.array", "store": store, "path": path, "shape": (40, 30),
                              "__array__": lambda self, *_, **__: np.full((40, 30), np.nan)})()


class ArraysOfZarr(InFolder):
    """Locations and objects; what stands beside the numbers is applied to both."""

    def setUp(self):
        super().setUp()
        self.x, self.eye, folder = drawn((40, 30)), np.eye(30), pathlib.Path(self.folder.name)
        self.one = zarr_stores.write(folder / "one.zarr", self.x, codecs=("gzip",))
        self.group = zarr_stores.group(folder / "group.zarr")
        zarr_stores.write(self.group / "in" / "i2", self.x.astype("i2"), codecs=(), shards=(32, 32),
                          attributes={"scale_factor": 0.5, "add_offset": 1.0})
        zarr_stores.group(self.group / "in")

    def test_arrays(self):
        for a in (str(self.one), self.one, zarr_array(self.one), damier.Stored(zarr_array(self.one))):
            np.testing.assert_array_equal(damier.matmul(a, self.eye), self.x)
        np.testing.assert_array_equal(damier.matmul(damier.Stored(zarr_array(self.one))[3:9, ::2], np.eye(15)), self.x[3:9, ::2])

    def test_groups(self):
        wanted = self.x * 0.5 + 1
        for a in (f"{self.group}:/in/i2", f"{self.group}/in/i2", zarr_array(self.group, "in/i2"), self.group):
            with self.assertWarns(damier.DamierWarning):
                np.testing.assert_array_equal(damier.matmul(a, self.eye), wanted)

    def test_others(self):
        """Absent chunks are refused, as those of HDF5; stores elsewhere are read by zarr."""
        (self.one / "c" / "0" / "1").unlink()
        with self.assertRaisesRegex(damier.InputError, "has no data in 1 of its 6 chunks"):
            damier.matmul(zarr_array(self.one), self.eye)
        elsewhere = zarr_array(self.one)
        elsewhere.store = object()
        self.assertIsNone(damier._stored.location_of(elsewhere))


class StoredOperands(InFolder):
    def setUp(self):
        super().setUp()
        self.x, self.y = drawn((40, 30)), drawn((30, 20), seed=2)
        with h5py.File(self.path, "w") as file:
            file["x"], file["y"], file["cube"] = self.x, self.y, drawn((3, 30, 4))
            file.create_dataset("g/f", data=self.x.astype("f4"), chunks=(7, 9), compression="gzip")

    def test_locations_and_datasets(self):
        x, y = self.x, self.y
        with h5py.File(self.path, "r") as file:
            for a, b in ((f"{self.path}:/x", f"{self.path}:/y"), (file["x"], file["y"]), (file["x"], y),
                         (x, damier.Stored(file["y"]))):
                np.testing.assert_array_equal(damier.matmul(a, b), x @ y)
            got = damier.matmul(file["g/f"], y.astype("f4"))
            self.assertEqual(got.dtype, np.float32)
            np.testing.assert_array_equal(got, x @ y)
            out = np.empty((40, 20))
            self.assertIs(damier.matmul(file["x"], file["y"], out, alpha=2), out)
            np.testing.assert_array_equal(out, 2 * (x @ y))
            np.testing.assert_array_equal(damier.matmul(file["x"], file["x"], op_a="t"), x.T @ x)

    def test_parts(self):
        x, y = self.x, self.y
        with h5py.File(self.path, "r") as file:
            stored = damier.Stored(file["x"])
            for part in (np.s_[5:20], np.s_[::3, :], np.s_[-7:, :], np.s_[..., :]):
                np.testing.assert_array_equal(damier.matmul(stored[part], y), x[part] @ y)
            np.testing.assert_array_equal(damier.matmul(damier.Stored(file["cube"])[1, :, 1:], np.eye(3)),
                                          file["cube"][1, :, 1:])
            np.testing.assert_array_equal(damier.matmul(f"{self.path}:/x[3:9]", y), x[3:9] @ y)

    def test_types_of_values(self):
        """Of packed numbers, and of integers that become floats."""
        x, y = self.x, self.y
        with h5py.File(self.path, "a") as file:
            file["i"] = x.astype("i2")
            file.create_dataset("packed", data=x.astype("i2")).attrs["scale_factor"] = 0.5
        place = f"{self.path}:/"
        np.testing.assert_array_equal(damier.matmul(place + "packed", y), x @ y / 2)
        np.testing.assert_array_equal(damier.matmul(place + "i", y, type="f64"), x @ y)
        np.testing.assert_array_equal(damier.matmul(x.astype("f4"), y, type="f64"), x @ y)
        np.testing.assert_array_equal(damier.matmul(place + "i", y), x @ y)
        with h5py.File(self.path, "r") as file:
            for given in (file["i"], damier.Stored(place + "i")):
                np.testing.assert_allclose(damier.cov(given), np.cov(x.T), atol=1e-12)
        out = np.zeros((30, 30))
        self.assertIs(damier.cov(place + "packed", out=out), out)
        np.testing.assert_allclose(out, np.cov(x.T / 2), atol=1e-12)

    def test_row_axes(self):
        cube = drawn((3, 30, 4))
        place = f"{self.path}:/cube"
        np.testing.assert_array_equal(damier.matmul(place, np.eye(4), row_axes_a=2), cube.reshape(90, 4))
        np.testing.assert_array_equal(damier.matmul(np.eye(3), place, row_axes_b=1), cube.reshape(3, 120))
        np.testing.assert_array_equal(damier.matmul(place, np.ones((1, 1)), row_axes_a=3), cube.reshape(360, 1))
        np.testing.assert_array_equal(damier.gram(place, row_axes_a=1, of="rows"), cube.reshape(3, 120) @ cube.reshape(3, 120).T)
        self.assertEqual(damier.plan(place, np.eye(4), row_axes_a=2)["problem"]["m"], 90)

    def test_parts_of_parts(self):
        stored = damier.Stored(f"{self.path}:/x")
        self.assertEqual(repr(stored[1:4][1:2]), f"{self.path}:/x[2:3, 0:30]")
        for key in (1.5, slice(0.5, 3), [1.5, 2], None):
            with self.assertRaises(TypeError):
                _ = stored[key]

    def test_read_by_the_library(self):
        """A part that h5py would read whole is not read by it."""
        with h5py.File(self.path, "r") as file, unittest.mock.patch.object(
                h5py.Dataset, "__array__", side_effect=AssertionError("h5py reads it")):
            damier.matmul(file["x"], file["y"])

    def test_open_for_writing(self):
        """h5py reads what may not be in the file yet."""
        with h5py.File(self.path, "r+") as file:
            file["x"][0, 0] = 9
            np.testing.assert_array_equal(damier.matmul(file["x"], self.y), file["x"][()] @ self.y)

    def test_open_for_writing_with_attributes(self):
        """h5py reads the stored numbers, whatever attributes and missing sources say."""
        layout = h5py.VirtualLayout((40, 30), "f8")
        layout[:] = h5py.VirtualSource("nothing.h5", "x", (40, 30))
        with h5py.File(self.path, "r+", libver="v110") as file:
            file["x"].attrs["scale_factor"] = 2.0
            file.create_virtual_dataset("v", layout)
            for product in (lambda a: damier.matmul(a, self.y), lambda a: damier.matmul(damier.Rows(a), self.y),
                            lambda a: damier.matmul(self.x.T, a), damier.gram,
                            lambda a: damier.matmul(self.x, self.x.T, c=a)):
                with self.assertRaisesRegex(damier.UsageError, "scale_factor"):
                    product(file["x"])
                with self.assertRaisesRegex(damier.UsageError, "virtual"):
                    product(file["v"])
            np.testing.assert_array_equal(damier.matmul(file["x"][...], self.y), self.x @ self.y)
        with h5py.File(self.path, "r") as file:
            np.testing.assert_array_equal(damier.matmul(file["x"], self.y), 2 * self.x @ self.y)
            np.testing.assert_array_equal(damier.gram(file["x"]), 4 * self.x.T @ self.x)
            with self.assertRaises(damier.FileError):
                damier.gram(file["v"])
        np.testing.assert_array_equal(damier.gram(f"{self.path}:/x[1:9]", of="rows"), 4 * self.x[1:9] @ self.x[1:9].T)

    def test_other_file_of_that_name(self):
        """The name of a file that h5py has open may lead elsewhere by now."""
        other = os.path.join(self.folder.name, "other")
        os.mkdir(other)
        with h5py.File(os.path.join(other, "a.h5"), "w") as file:
            file["x"] = self.x + 1
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)
        with h5py.File("a.h5", "r") as file:
            os.chdir(other)
            np.testing.assert_array_equal(damier.matmul(file["x"], self.y), self.x @ self.y)
            os.chdir(self.folder.name)
            np.testing.assert_array_equal(damier.matmul(file["x"], self.y), self.x @ self.y)
            os.replace("other/a.h5", "a.h5")
            np.testing.assert_array_equal(damier.matmul(file["x"], self.y), self.x @ self.y)

    def test_missing(self):
        with h5py.File(self.path, "r+") as file:
            file["x"].attrs["_FillValue"] = self.x[0, 0]
        holes = np.where(self.x == self.x[0, 0], np.nan, self.x)
        with h5py.File(self.path, "r") as file:
            for a in (file["x"], damier.Stored(file["x"])[:7]):
                with self.assertRaisesRegex(damier.InputError, "missing"):
                    damier.matmul(a, self.y)
                with self.assertRaisesRegex(damier.InputError, "missing"):
                    damier.gram(a)
            np.testing.assert_array_equal(damier.matmul(file["x"], self.y, missing="zero"), np.nan_to_num(holes) @ self.y)

    def test_refused(self):
        with h5py.File(self.path, "r") as file:
            with self.assertRaisesRegex(damier.UsageError, "inner dimensions"):
                damier.matmul(file["cube"], self.x)
            with self.assertRaisesRegex(damier.UsageError, "3 x 30 x 4"):
                damier.gram(file["cube"])
            with self.assertRaisesRegex(damier.UsageError, "inner dimensions"):
                damier.matmul(file["y"], file["y"])
            with self.assertRaises(damier.InputError):
                damier.matmul(damier.Stored(file["x"])[0:99], self.y)
            for wrong in ([], [[1, 2]], None, self.x > 0, ["1"]):
                with self.assertRaisesRegex(TypeError, "neither a slice, an index"):
                    damier.Stored(file["x"])[wrong]
            for wrong in ([True, False], [40], [-41] * 101, np.zeros(40, bool)):
                with self.assertRaises(damier.InputError):
                    damier.matmul(damier.Stored(file["x"])[wrong], self.y)
        with self.assertRaises(damier.FileError):
            damier.matmul("nothing.h5:/x", self.y)
        with self.assertRaisesRegex(damier.InputError, "holds 4 datasets") as refused:
            damier.matmul(self.path, self.y)
        self.assertIn(f"'{self.path}:/x' (40 x 30 f64)", refused.exception.hint)
        with h5py.File(self.path, "a") as file:
            file["i"] = self.x.astype("i2")
        np.testing.assert_array_equal(damier.gram(f"{self.path}:/i"), (self.x.astype("i2").T.astype("f8") @ self.x.astype("i2")))

    def test_coordinates(self):
        """Without a name the one matrix is meant, not the vectors and bounds of its axes: as for the program."""
        path, bounds = f"{self.path}.nc", drawn((40, 2))
        with h5py.File(path, "w") as file:
            file["t"], file["at"], file["time"], file["time_bounds"] = self.x, self.x[0], self.x[:, 0], bounds
            for name in ("time", "time_bounds"):
                file[name].make_scale(name)
        np.testing.assert_array_equal(damier.matmul(path, self.y), self.x @ self.y)
        np.testing.assert_array_equal(damier.matmul(self.y.T, path, op_b="t"), self.y.T @ self.x.T)
        np.testing.assert_allclose(damier.gram(path), self.x.T @ self.x)
        self.assertEqual(damier.Stored(path).shape, (40, 30))
        for options in ({}, {"as_column": True}, {"as_row": True}):
            self.assertEqual(damier.info(path, **options)["dataset"]["name"], f"{path}:/t")
        np.testing.assert_array_equal(damier.matmul(f"{self.path}:/cube", self.y[:4], row_axes_a="2"),
                                      drawn((3, 30, 4)).reshape(90, 4) @ self.y[:4])

    def test_stacked_cubes(self):
        """Frames of a detector in several files: each frame is a row."""
        cubes = [drawn((3, 5, 4), seed=seed) for seed in range(3)]
        for i, cube in enumerate(cubes):
            with h5py.File(f"{self.path}-{i}.h5", "w") as file:
                file["x"] = cube
        stack = f"{self.path}-*.h5:/x"
        rows, lines = np.concatenate(cubes).reshape(9, 20), np.concatenate(cubes).reshape(45, 4)
        np.testing.assert_allclose(damier.matmul(stack, self.x[:20], row_axes_a=1), rows @ self.x[:20])
        np.testing.assert_allclose(damier.matmul(self.x[:9].T, stack, row_axes_b=1), self.x[:9].T @ rows)
        np.testing.assert_allclose(damier.matmul(stack, f"{self.path}-*.h5", op_b="t", row_axes_a=1, row_axes_b=1), rows @ rows.T)
        np.testing.assert_allclose(damier.matmul(stack, f"{self.path}-0.h5", op_b="t", row_axes_a=2, row_axes_b=2), lines @ lines[:15].T)
        np.testing.assert_allclose(damier.cov(stack, stack, of="columns", row_axes_a=2, row_axes_b=2), np.cov(lines.T))
        self.assertEqual(damier.info(stack, row_axes_a=2)["dataset"]["shape"], "45 x 4")

    def test_listed(self):
        for rows in ([1, 5, 7], np.array([7, 5, 5]), [-1, 5], range(3), [i % 40 for i in range(100)]):
            np.testing.assert_allclose(damier.matmul(damier.Stored(f"{self.path}:/x")[rows], self.y), self.x[list(rows)] @ self.y)

    def test_weights(self):
        weights = np.arange(40.0)
        with h5py.File(self.path, "a") as file:
            file["w"] = weights
        for given in (damier.Stored(f"{self.path}:/w"), f"{self.path}:/w"):
            np.testing.assert_allclose(damier.cov(self.x, weights=given), np.cov(self.x.T, aweights=weights), atol=1e-12)


class Stacks(InFolder):
    def test_shapes(self):
        for first, second in (((5,), (5,)), ((2, 3), (2, 3)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((4,), ()), ((), (4,)),
                              ((4,), (1,)), ((0,), (0,)), ((2, 0), (1,))):
            for dtype in ("f8", "f4", "c16"):
                a, b = drawn((*first, 6, 7), dtype), drawn((*second, 7, 4), dtype, 2)
                got = damier.matmul(a, b)
                np.testing.assert_array_equal(got, a @ b)
                self.assertEqual((got.dtype, got.shape), ((a @ b).dtype, (a @ b).shape))
        for m, k, n in ((0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1)):
            a, b = drawn((2, m, k)), drawn((2, k, n))
            np.testing.assert_array_equal(damier.matmul(a, b), a @ b)

    def test_strides_out_and_c(self):
        a, b, c = drawn((3, 9, 7))[:, ::2], drawn((3, 4, 7), seed=2).swapaxes(1, 2), drawn((3, 5, 4), seed=3)
        out = np.empty((3, 5, 4))
        self.assertIs(damier.matmul(a, b, out), out)
        np.testing.assert_array_equal(out, a @ b)
        np.testing.assert_array_equal(damier.matmul(a, b, c=c, alpha=2), 2 * (a @ b) + c)
        np.testing.assert_array_equal(damier.matmul(a, b, memory={"host": "64MiB"}), a @ b)
        with damier.Context(beta=1) as context:
            context.matmul(a, b, out)
            np.testing.assert_array_equal(out, 2 * (a @ b))
            context.matmul(a[0], b[0], out[0])
            np.testing.assert_array_equal(out[0], 3 * (a[0] @ b[0]))

    def test_refused(self):
        a, b = drawn((3, 5, 7)), drawn((3, 7, 4))
        for bad in (drawn((2, 7, 4)), drawn((3, 6, 4)), drawn(6)):
            with self.assertRaises(damier.UsageError):
                damier.matmul(a, bad)
        with self.assertRaisesRegex(damier.UsageError, "inner dimensions differ"):
            damier.matmul(a, b, op_a="t")
        with self.assertRaisesRegex(damier.UsageError, "3 x 5 x 4"):
            damier.matmul(a, b, np.empty((15, 4)))

    def test_many_small(self):
        """Multiplied where they are, by threads over the entries."""
        for dtype, count, m, k, n in (("f8", 2000, 8, 9, 7), ("f4", 300, 33, 17, 20), ("c16", 50, 5, 6, 7), ("c8", 300, 33, 17, 20),
                                   ("c16", 20, 1, 1, 1), ("c16", 40, 70, 90, 50), ("f8", 3, 300, 200, 600)):
            a, b = drawn((count, m, k), dtype), drawn((count, k, n), dtype, 2)
            with damier.Context() as context:
                np.testing.assert_array_equal(context.matmul(a, b), a @ b)
                self.assertTrue(context.record["plan"]["recipe"].startswith("in place"))
                self.assertEqual((context.record["problem"]["batch"], context.record["problem"]["m"]), (count, m))
                self.assertEqual(context.record["verification"]["verdict"], "PASS")
            np.testing.assert_array_equal(damier.matmul(a, b, verify=False, alpha=2), 2 * (a @ b))
            if dtype[0] == "c":
                np.testing.assert_array_equal(damier.matmul(a, b, alpha=1 - 2j), (1 - 2j) * (a @ b))

    def test_narrow_types(self):
        """Types of 8 and 16 bits, which no BLAS multiplies: also strided, empty of k, and not finite."""
        for dtype in ("i1", "f2"):
            for leads, m, k, n in (((300,), 9, 8, 7), ((2, 3), 40, 70, 33), ((5,), 1, 1, 1), ((4,), 3, 0, 2)):
                a, b = drawn((*leads, m, k), dtype), drawn((*leads, k, n), dtype, 2)
                wanted = a.astype("f8") @ b.astype("f8")
                with self.subTest(dtype, leads=leads), damier.Context() as context:
                    c = context.matmul(a, b)
                    self.assertEqual(c.dtype, "i4" if dtype == "i1" else "f4")
                    np.testing.assert_array_equal(c, wanted)
                    if k > 0:
                        self.assertEqual(context.record["verification"]["verdict"], "PASS")
                    if leads == (300,) and dtype == "f2":
                        self.assertEqual(context.record["plan"]["tiles"], 1)
                np.testing.assert_array_equal(damier.matmul(a, b, verify=False, alpha=2), 2 * wanted)
                np.testing.assert_array_equal(damier.matmul(a, b, alpha=-1, c=np.ones(wanted.shape, c.dtype)), 1 - wanted)
            a, b = drawn((8, 6, 10), dtype)[::2, :, ::2], drawn((4, 4, 5), dtype, 2).swapaxes(1, 2)
            np.testing.assert_array_equal(damier.matmul(a, b), a.astype("f8") @ b.astype("f8"))
            np.testing.assert_array_equal(damier.matmul(a, b[0]), a.astype("f8") @ b[0].astype("f8"))
        a, b = drawn((30, 6, 7), "f2"), drawn((30, 7, 4), "f2", 2)
        a[3, 2, 1] = np.inf
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(damier.matmul(a, b), a.astype("f4") @ b.astype("f4"))

    def test_again(self):
        """Later calls with arrays of the same kind state nothing anew."""
        with damier.Context() as context:
            for seed in range(4):
                a, b = drawn((30, 5, 7), seed=seed), drawn((30, 7, 4), seed=seed + 9)
                np.testing.assert_array_equal(context.matmul(a, b), a @ b)
                self.assertEqual(context.record["problem"]["batch"], 30)
                np.testing.assert_array_equal(context.matmul(a[0], b[0]), a[0] @ b[0])
                out = np.zeros((30, 5, 4))
                for factor in (1, 2):
                    self.assertIs(context.matmul(factor * a, b, out), out)
                    np.testing.assert_array_equal(out, factor * (a @ b))
                np.testing.assert_array_equal(context.matmul(a, b[:1]), a @ b[:1])
            square = drawn((3, 5, 5))
            wanted = square @ square
            for _ in range(2):  # C lies where A does
                again = square.copy()
                np.testing.assert_array_equal(context.matmul(again, again, again), wanted)

    def test_not_finite(self):
        """Entries with NaN and Inf: the others are verified."""
        a, b = drawn((40, 6, 7)), drawn((40, 7, 4), seed=2)
        a[3, 2, 1], b[7, 5, 3] = np.nan, np.inf
        with damier.Context() as context:
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(context.matmul(a, b), a @ b)
            verification = context.record["verification"]
        self.assertEqual((verification["verdict"], verification["rows_by_pattern"], verification["cols_by_pattern"]), ("PASS", 1, 1))

    def test_other_arrays(self):
        """Any array with the protocols of NumPy's or DLPack's memory."""
        class Foreign:
            def __init__(self, array):
                self.array, self.shape, self.__array_interface__ = array, array.shape, array.__array_interface__
        a, b = drawn((4, 5, 7)), drawn((4, 7, 3), seed=2)
        np.testing.assert_array_equal(damier.matmul(Foreign(a), Foreign(b)), a @ b)
        with self.assertRaisesRegex(damier.UsageError, "2 masked"):
            damier.matmul(np.ma.masked_array(a, np.arange(a.size).reshape(a.shape) < 2), b)

    def test_datasets(self):
        """Read by the library, alone and beside arrays."""
        a, b, w = drawn((2, 3, 5, 7)), drawn((3, 7, 4), seed=2), drawn((7, 4), seed=3)
        with h5py.File(self.path, "w") as file:
            file["a"], file["b"], file["w"], file["t"] = a, b, w, b.swapaxes(1, 2)
            file.create_dataset("z", data=a[0], chunks=(2, 3, 4), compression="gzip")
            file["no"], file["k"] = drawn((3, 5, 0)), drawn((3, 0, 4))
        with h5py.File(self.path, "r") as file, unittest.mock.patch.object(
                h5py.Dataset, "__array__", side_effect=AssertionError("h5py reads it")):
            np.testing.assert_array_equal(damier.matmul(file["a"], file["b"]), a @ b)
            np.testing.assert_array_equal(damier.matmul(file["a"], file["w"]), a @ w)
            np.testing.assert_array_equal(damier.matmul(file["z"], file["t"], op_b="t"), a[0] @ b)
            np.testing.assert_array_equal(damier.matmul(damier.Stored(file["a"])[1], b), a[1] @ b)
            np.testing.assert_array_equal(damier.matmul(a[0], file["b"]), a[0] @ b)
            np.testing.assert_array_equal(damier.matmul(file["a"], w), a @ w)
            np.testing.assert_array_equal(damier.matmul(f"{self.path}:/z[1:]", damier.Stored(file["b"])[1:]), a[0, 1:] @ b[1:])
            np.testing.assert_array_equal(damier.matmul(file["no"], file["k"]), np.zeros((3, 5, 4)))
            with self.assertRaisesRegex(damier.UsageError, "leading dimensions"):
                damier.matmul(file["a"], drawn((2, 7, 4)))
            with self.assertRaisesRegex(damier.UsageError, "is not repeated for a batch of arrays"):
                damier.matmul(file["b"], a, op_a="t", op_b="t")

    def test_beside_arrays(self):
        """Batches of which one is in a file, with every op, complex numbers, and an array that is repeated."""
        turned = {"n": lambda x: x, "t": lambda x: x.swapaxes(-1, -2), "c": lambda x: x.conj().swapaxes(-1, -2)}
        for of_a, of_b in (((5,), (5,)), ((5,), ()), ((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), (2, 3))):
            a, b = drawn((*of_a, 5, 7)) + 1j * drawn((*of_a, 5, 7), seed=4), drawn((*of_b, 7, 4), seed=2) * (1 + 2j)
            with h5py.File(self.path, "w") as file:
                for op, turn in turned.items():
                    file[f"a{op}"], file[f"b{op}"] = turn(a), turn(b)
            for op_a, op_b in itertools.product("ntc", "ntc"):
                with self.subTest(of_a=of_a, of_b=of_b, op_a=op_a, op_b=op_b):
                    x, y, ops = turned[op_a](a), turned[op_b](b), {"op_a": op_a, "op_b": op_b}
                    np.testing.assert_array_equal(damier.matmul(f"{self.path}:/a{op_a}", y, **ops), a @ b)
                    if of_a == of_b or of_b == (1, 3):  # what is in a file is not repeated
                        np.testing.assert_array_equal(damier.matmul(turned[op_a](a[0] if of_b == (1, 3) else a), f"{self.path}:/b{op_b}", **ops),
                                                      (a[0] if of_b == (1, 3) else a) @ b)
                    np.testing.assert_array_equal(damier.matmul(x, y, **ops), a @ b)

    def test_many_in_datasets(self):
        """Small matrices of datasets are read and multiplied in runs."""
        a, b = drawn((20, 15, 9, 7)), drawn((15, 7, 4), seed=2)
        with h5py.File(self.path, "w") as file:
            file["a"], file["t"] = a, b.swapaxes(1, 2)
        with h5py.File(self.path, "r") as file, damier.Context(op_b="t", alpha=2) as context:
            np.testing.assert_array_equal(context.matmul(file["a"], file["t"]), 2 * (a @ b))
            self.assertEqual(context.record["plan"]["tiles"], 1)
            out = np.zeros((20, 15, 9, 8))
            np.testing.assert_array_equal(context.matmul(file["a"], file["t"], out[..., ::2]), 2 * (a @ b))
        with h5py.File(self.path, "a") as file:
            file["a"][3, 4, 5, 6] = np.nan
        with h5py.File(self.path, "r") as file, damier.Context(op_b="t", allow_unchecked=True) as context:
            a[3, 4, 5, 6] = np.nan
            np.testing.assert_array_equal(context.matmul(file["a"], file["t"]), a @ b)

    def test_in_files(self):
        a, b = drawn((2, 3, 5, 7)), drawn((3, 7, 4), seed=2)
        with h5py.File(self.path, "w") as file:
            file["a"], file["b"] = a, b
        out = os.path.join(self.folder.name, "c.h5")
        record = damier.multiply(f"{self.path}:/a", f"{self.path}:/b", out)
        self.assertEqual((record["problem"]["batch"], record["problem"]["m"]), (6, 5))
        damier.verify(f"{self.path}:/a", f"{self.path}:/b", out)
        with h5py.File(out) as file:
            np.testing.assert_array_equal(file["c"][()], a @ b)


if __name__ == "__main__":
    unittest.main()
