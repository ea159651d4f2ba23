"""conventions: what programs write beside a dataset: attributes of its groups, datasets and groups next to it. Each file is laid
out as its writer does, by h5py; its values are computed here. Each mark is also tried where it says nothing."""
import re
from dataclasses import dataclass, field

import h5py
import numpy as np

from running import ended, expect, options, run_cases

NETCDF = {"_NCProperties": np.bytes_("version=2,netcdf=4.9.0,hdf5=1.10.8")}
nan = np.nan
REFUSED, WARNED = "refused", "warned"


@dataclass
class Case:
    """The dataset at PATH, its attributes ON, other datasets BESIDE it (paths), attributes AROUND (path: attributes). WANT: its
    values, NaN where they are missing; or REFUSED or WARNED, with words that the message has."""
    name: str
    path: str
    stored: object = field(repr=False)
    want: object
    on: dict = field(default_factory=dict)
    beside: dict = field(default_factory=dict)
    around: dict = field(default_factory=dict)
    words: str = ""
    create: dict = field(default_factory=dict)
    more: object = None  # a function of the open file


def i1(*numbers):
    return np.array([numbers], "i1")


def i2(*numbers):
    return np.array([numbers], "i2")


def u1(*numbers):
    return np.array([numbers], "u1")


def u2(*numbers):
    return np.array([numbers], "u2")


def f8(*numbers):
    return np.array([numbers], "f8")


def of_r():
    logical = {"storage.mode": np.array([b"logical"])}
    na_ok = {"rhdf5-NA.OK": np.array([1], "i4")}
    yield Case("logical of rhdf5", "/l", i1(1, -128, 0), f8(1, nan, 0), logical | na_ok)
    yield Case("logical in 32 bits", "/l", np.array([[1, -2**31, 0]], "i4"), f8(1, nan, 0), logical)
    yield Case("integers of 16 bits", "/l", i2(1, -2**15, 0), f8(1, nan, 0), na_ok)
    yield Case("integers of 64 bits", "/l", np.array([[1, -2**31, -2**63]]), f8(1, nan, nan), na_ok)
    yield Case("bytes without R's mark", "/l", i1(1, -128, 0), f8(1, -128, 0))
    yield Case("R's mark is 0", "/l", np.array([[1, -2**31]], "i4"), f8(1, -2**31), {"rhdf5-NA.OK": np.array([0], "i4")})
    for na in 2, -1, -128:
        kind = h5py.enum_dtype({"FALSE": 0, "TRUE": 1, "NA": na}, "i1")
        yield Case(f"logical of hdf5r, NA = {na}", "/l", i1(1, na, 0).astype(kind), f8(1, nan, 0))
    yield Case("logical of hdf5r in 32 bits", "/l",
               np.array([[1, 2, 0]], h5py.enum_dtype({"FALSE": 0, "TRUE": 1, "NA": 2}, "i4")), f8(1, nan, 0))
    yield Case("logical of hdf5r without NA", "/l", np.array([[1, 0]], h5py.enum_dtype({"FALSE": 0, "TRUE": 1}, "i4")), f8(1, 0))
    yield Case("another enumeration", "/l", np.array([[1, 2]], h5py.enum_dtype({"RED": 1, "NA": 2}, "i1")), REFUSED,
               words="enumerated")
    yield Case("logical of SeuratDisk", "/l", np.array([[1, 2, 0]], "i4"), f8(1, nan, 0), {"s3class": np.bytes_("logical")})


def of_netcdf():
    fill, default = {"fillvalue": np.int16(-32767)}, np.int16(-32767)

    def nc(name, stored, want, create=None, **on):
        return Case(name, "/v", stored, want, on, around={"/": NETCDF}, create=create or {})

    yield nc("default of one byte", i1(-127, 0, 1), f8(nan, 0, 1), {"fillvalue": np.int8(-127)})
    yield nc("default of unsigned bytes", u1(255, 0, 1), f8(nan, 0, 1), {"fillvalue": np.uint8(255)})
    for kind, number in (("i2", -32767), ("u2", 65535), ("i4", -2**31 + 1), ("u4", 2**32 - 1), ("i8", -2**63 + 2), ("u8", 2**64 - 2),
                         ("f4", 9.969209968386869e36), ("f8", 9.969209968386869e36)):
        yield nc(f"default of {kind}", np.array([[number, 1]], kind), f8(nan, 1))
    yield nc("default beside another fill value", i2(default, -5, 1), f8(nan, -5, 1), {"fillvalue": np.int16(-5)})
    yield nc("default beside missing_value", i2(default, 1, 9), f8(nan, 1, nan), fill, missing_value=np.int16(9))
    yield nc("no default beside _FillValue", i2(default, 1, 9), f8(default, 1, nan), fill, _FillValue=np.int16(9))
    yield nc("default beside a _FillValue that cannot occur", i2(default, 1), f8(nan, 1), fill, _FillValue=1e20)
    yield nc("no default of unsigned numbers", i2(default, -1, 1), f8(32769, 65535, 1), fill, _Unsigned="true")
    yield nc("default of signed numbers", i2(default, -1, 1), f8(nan, -1, 1), fill, _Unsigned="false")
    yield nc("_Unsigned = false beside unsigned ones", u1(200, 255), f8(200, nan), {"fillvalue": np.uint8(255)}, _Unsigned="false")
    yield nc("bytes that netCDF was told not to fill", u1(200, 255), f8(200, 255))
    yield nc("words that netCDF was told not to fill", u2(200, 65535), f8(200, nan))
    yield nc("_Unsigned = TRUE", i2(-1, 1), REFUSED, _Unsigned="TRUE")
    yield nc("_Unsigned = 1", i2(-1, 1), REFUSED, _Unsigned=np.int32(1))
    yield Case("scales without netCDF, not filled", "/v", i1(-127, 1), f8(-127, 1), beside={"/x": np.arange(2.0)},
               more=lambda f: (f["x"].make_scale(), f["v"].dims[1].attach_scale(f["x"])))
    yield Case("scales without netCDF, filled", "/v", i1(-127, 1), f8(nan, 1), beside={"/x": np.arange(2.0)},
               create={"fillvalue": np.int8(-127)}, more=lambda f: (f["x"].make_scale(), f["v"].dims[1].attach_scale(f["x"])))
    half = {"scale_factor": 0.5}
    yield nc("range of floats beside packed integers", i2(-4, 0, 100, 150), f8(nan, 0, 50, nan), **half,
             valid_range=np.array([0.0, 100.0]))
    yield nc("range that is no integer", i2(-4, 0, 150), f8(-2, 0, 75), **half, valid_range=np.array([0.0, 100.5]))
    yield nc("range that the type cannot hold", i2(-4, 150), f8(-2, 75), **half, valid_range=np.array([0, 10**6]))
    yield nc("range that the stored type cannot hold", i1(-1, 5), f8(255, 5), _Unsigned="true", valid_range=np.array([0, 250], "i2"))
    yield nc("valid_min in place of an unusable range", i2(-4, 60), f8(nan, 60), valid_range=np.array([0, 0.5]), valid_min=np.int16(50))
    yield nc("no valid_min beside a range", i2(-4, 0, 60), f8(nan, 0, 60), valid_range=np.array([0, 99], "i2"), valid_min=np.int16(50))
    more = {"scale_factor_err": 0.0, "add_offset_err": 0.0, "calibrated_nt": np.int32(22)}
    packing = {"scale_factor": 0.01, "add_offset": -15000.0}
    yield Case("HDF4's rule", "/t", i2(1, 300), 0.01 * (f8(1, 300) + 15000), packing | more)
    yield Case("netCDF's rule", "/t", i2(1, 300), 0.01 * f8(1, 300) - 15000, packing)
    yield Case("HDF4's rule says nothing", "/t", i2(1, 300), f8(1, 300), {"scale_factor": 1.0, "add_offset": 0.0} | more)


def of_satellites():
    at = "/All_Data/VIIRS-M1-SDR_All/Radiance"

    def viirs(name, stored, want, factors, path=at, **more):
        return Case(name, path, stored, want, beside={path + "Factors": np.array(factors, "f4")}, **more)

    half = np.float32(0.5)
    yield viirs("VIIRS, one granule", u2(4, 65528, 65535, 65527), f8(3, nan, nan, 32764.5), [half, 1])
    yield viirs("VIIRS, granules alike", u2(4, 65535), f8(3, nan), [half, 1] * 4)
    yield viirs("VIIRS, granules that differ", np.array([[4, 9], [4, 6], [5, 6], [7, 0]], "u2"),
                np.array([[3, 5.5], [3, 4], [3.25, 3.5], [3.75, 2]]), [half, 1, np.float32(0.25), 2])
    yield viirs("VIIRS, granules that do not fit", u2(4, 65535), REFUSED, [half, 1, half, 2], words="has 2 numbers")
    yield viirs("VIIRS, a granule without factors", np.array([[4], [4]], "u2"), REFUSED, [half, 1, nan, 2], words="not finite")
    yield viirs("VIIRS, no factors", u2(4, 65535), f8(4, nan), [1, 0])
    yield viirs("VIIRS, odd factors", u2(4, 5), REFUSED, [1, 0, 1], words="not understood")
    yield viirs("VIIRS, beside floats", f8(4, 5).astype("f4"), f8(4, 5), [half, 1], path="/other/Radiance")
    yield Case("JPSS, floats", "/All_Data/X_All/Latitude", np.array([[-999.9, -999.2, 5]], "f4"), f8(nan, nan, 5))
    yield Case("words elsewhere", "/a/Radiance", u2(65535), f8(65535))
    yield Case("HDF-EOS", "/HDFEOS/SWATHS/S/Data Fields/a", i2(4, -9), f8(3, nan),
               {"ScaleFactor": 0.5, "Offset": 1.0, "MissingValue": np.int16(-9)})
    yield Case("HDF-EOS, nothing said", "/a", i2(4), f8(4), {"ScaleFactor": 1.0, "Offset": 0.0})
    yield Case("HDF-EOS and CF alike", "/a", i2(4), f8(2), {"ScaleFactor": 0.5, "scale_factor": 0.5})
    yield Case("HDF-EOS and CF differ", "/a", i2(4), REFUSED, {"ScaleFactor": 0.25, "scale_factor": 0.5}, words="two conventions")
    yield Case("Offset alone", "/a", i2(4), REFUSED, {"Offset": 1.0})
    yield Case("MODIS bands", "/a", i2(4), REFUSED, {"reflectance_scales": np.array([0.1, 0.2], "f4")}, words="each band")


def of_radar():
    what = {"gain": 0.5, "offset": -32.0, "nodata": 255.0, "undetect": 0.0}
    want, stored, at = f8(-31, nan, nan), u1(2, 255, 0), "/dataset1/data1/data"
    for group in ("/dataset1/data1/what", "/dataset1/what", "/what"):
        yield Case(f"ODIM, {group}", at, stored, want, around={group: what})
    yield Case("ODIM, in parts", at, stored, f8(-31, nan, 0.5 * 0 - 32),
               around={"/dataset1/data1/what": {"offset": -32.0, "nodata": 255.0}, "/dataset1/what": {"gain": 0.5, "offset": 7.0}})
    yield Case("ODIM, nothing said", at, stored, f8(2, 255, 0), around={"/dataset1/data1/what": {"gain": 1.0, "offset": 0.0}})
    yield Case("ODIM, no gain", at, stored, f8(2, 255, 0), around={"/what": {"object": np.bytes_("PVOL")}})
    yield Case("ODIM, not on the way", at, stored, f8(2, 255, 0), around={"/dataset2/what": what, "/dataset1/data2/what": what})
    knmi = "/image1/calibration"
    yield Case("KNMI", "/image1/image_data", stored, REFUSED, words="formula",
               around={knmi: {"calibration_formulas": np.bytes_("GEO=0.500000*PV+-32.000000")}})
    yield Case("KNMI, nothing said", "/image1/image_data", stored, f8(2, 255, 0),
               around={knmi: {"calibration_formulas": np.bytes_("GEO=1.000000*PV+0.000000")}})


def of_measurements():
    at = "/minc-2.0/image/0/image"

    def minc(name, want, low, high, stored=u1(0, 255, 51), **more):
        return Case(name, at, stored, want, beside={"/minc-2.0/image/0/image-min": low, "/minc-2.0/image/0/image-max": high}, **more)

    yield minc("MINC, one slice", f8(-1, 4, 0), -1.0, 4.0)
    yield minc("MINC, slices alike", f8(-1, 4, 0), np.array([-1.0, -1.0]), np.array([4.0, 4.0]))
    yield minc("MINC, slices that differ", np.array([[-1.0, 4, 0], [0, 2, 0.4]]), np.array([-1.0, 0.0]), np.array([4.0, 2.0]),
               stored=np.array([[0, 255, 51]] * 2, "u1"))
    yield minc("MINC, one side differs", np.array([[-1.0, 4], [-1, 9]]), -1.0, np.array([4.0, 9.0]),
               stored=np.array([[0, 255]] * 2, "u1"))
    yield minc("MINC, slices that do not fit", REFUSED, np.array([-1.0, 0.0]), np.array([4.0, 4.0]), words="has 2 numbers")
    yield minc("MINC, a range", f8(nan, nan, 1), 0.0, 2.0, on={"valid_range": np.array([1.0, 101.0])})
    yield minc("MINC, floats", f8(0, 255), -1.0, 4.0, stored=f8(0, 255))
    yield Case("NWB", "/acquisition/e/data", i2(4, 6), f8(3, 4), {"conversion": 0.5, "offset": 1.0},
               around={"/acquisition/e": {"neurodata_type": "ElectricalSeries"}})
    for name, of_channels, want in (("alike", [2.0, 2.0], f8(5, 7)), ("nothing said", [1.0, 1.0], f8(3, 4)), ("differ", [1.0, 3.0], f8(3, 10)), ("do not fit", [1.0, 3.0, 2.0], REFUSED)):
        yield Case(f"NWB, channels {name}", "/acquisition/e/data", i2(4, 6), want, {"conversion": 0.5, "offset": 1.0},
                   beside={"/acquisition/e/channel_conversion": np.array(of_channels)},
                   around={"/acquisition/e": {"neurodata_type": "ElectricalSeries"}})
    yield Case("not NWB", "/e/data", i2(4, 6), WARNED, {"conversion": 0.5}, words="conversion = 0.5 is not applied")
    nexus = {"/entry/data": {"NX_class": "NXdata"}}
    yield Case("NeXus, a factor", "/entry/data/d", i2(4), f8(2), {"scaling_factor": 0.5}, around=nexus)
    yield Case("NeXus, a factor and a shift", "/entry/data/d", i2(4), REFUSED, {"scaling_factor": 0.5, "offset": 1.0}, around=nexus)
    yield Case("NeXus, a time", "/entry/data/d", i2(4), f8(4), {"offset": "2020-01-01T00:00:00"}, around=nexus)
    yield Case("NeXus, a factor beside", "/entry/data/d", i2(4), f8(2), beside={"/entry/data/d_scaling_factor": 0.5}, around=nexus)
    yield Case("NeXus, a shift beside", "/entry/data/d", i2(4), f8(5), beside={"/entry/data/d_offset": 1.0}, around=nexus)
    yield Case("NeXus, of another", "/entry/data/d", i2(4), f8(4), beside={"/entry/data/e_scaling_factor": 0.5}, around=nexus)
    yield Case("NeXus, factors of elements", "/entry/data/d", i2(4, 5), REFUSED, around=nexus,
               beside={"/entry/data/d_scaling_factor": np.array([[0.5, 1.0]])})
    yield Case("not NeXus", "/d", i2(4), WARNED, {"scaling_factor": 0.5}, words="scaling_factor")
    yield Case("NIX", "/data/b/data_arrays/x/data", i2(4), REFUSED, words="polynomial",
               beside={"/data/b/data_arrays/x/polynom_coefficients": np.array([0.0, 2.0])})
    yield Case("NIX, nothing said", "/data/b/data_arrays/x/data", i2(4), f8(4),
               beside={"/data/b/data_arrays/x/polynom_coefficients": np.zeros(0)})
    yield Case("Multi Channel Systems", "/s/ChannelData", i2(4), REFUSED, beside={"/s/InfoChannel": np.zeros(1, [("ADZero", "i4")])})
    yield Case("3Brain", "/3BData/Raw", u2(2048), REFUSED, words="3BRecInfo")
    yield Case("KWIK", "/recordings/0/data", i2(4), WARNED, around={"/recordings/0/application_data": {"channel_bit_volts": [0.195] * 32}},
               words="channel_bit_volts")


def of_masks():
    some, none = np.array([[True, False]]), np.zeros((1, 2), bool)
    for name, path, mask in (("hickle", "/data/data", "/data/mask"), ("vaex", "/table/columns/c/data", "/table/columns/c/mask"),
                             ("pandas", "/g/values", "/g/mask"), ("at the root", "/data", "/mask"), ("underlined", "/_data", "/_mask")):
        yield Case(f"mask: {name}", path, f8(1e20, 1), f8(nan, 1), beside={mask: some})
        yield Case(f"mask: {name}, false", path, f8(1, 2), f8(1, 2), beside={mask: none})
    yield Case("mask of u8", "/data", f8(1, 2), f8(1, nan), beside={"/mask": u1(0, 1)})
    yield Case("mask of words", "/data", f8(1, 2), f8(1, nan), beside={"/mask": u2(0, 256)})
    yield Case("mask of one element", "/data", f8(1, 2), f8(nan, nan), beside={"/mask": True})
    yield Case("mask beside packed numbers", "/data", i2(4, 6, -9), f8(nan, 4, nan), {"scale_factor": 0.5, "add_offset": 1.0,
               "_FillValue": np.int16(-9)}, beside={"/mask": np.array([[True, False, False]])})
    yield Case("mask of another shape", "/data", f8(1, 2), f8(1, 2), beside={"/mask": np.ones((3, 2), bool)})
    yield Case("mask that is no mask", "/data", f8(1, 2), f8(1, 2), beside={"/mask": f8(0.5, 1)})
    yield Case("mask that is a group", "/data", f8(1, 2), f8(1, 2), around={"/mask": {"a": 1}})
    yield Case("mask that leads nowhere", "/data", f8(1, 2), f8(1, 2), more=lambda f: f.update({"mask": h5py.SoftLink("/nothing")}))
    yield Case("mask that leads in a circle", "/data", f8(1, 2), REFUSED, more=lambda f: f.update({"mask": h5py.SoftLink("/mask")}),
               words="cannot be")
    yield Case("mask elsewhere", "/data", f8(1, 2), REFUSED, words="--allow-external",
               more=lambda f: f.update({"mask": h5py.ExternalLink("b.h5", "/b")}))
    yield Case("mask by a soft link", "/data", f8(1, 2), f8(nan, 2), beside={"/m": some},
               more=lambda f: f.update({"mask": h5py.SoftLink("/m")}))
    yield Case("mask by name", "/x", f8(1, 2), WARNED, beside={"/x_mask": some}, words="'x_mask'")
    yield Case("mask by name, false", "/x", f8(1, 2), f8(1, 2), beside={"/x_mask": none})
    yield Case("mask of bits", "/c/data", f8(1, 2), REFUSED, beside={"/c/null_bitmap": u1(3)})
    rows = np.zeros((1, 3000), bool)
    yield Case("mask in chunks, the last", "/data", np.ones((1, 3000)),
               np.where(np.arange(3000)[None] == 2999, nan, 1.0),
               more=lambda f: f.create_dataset("mask", data=np.arange(3000)[None] == 2999, chunks=(1, 100), compression=1))
    yield Case("mask in chunks, false", "/data", np.ones((1, 3000)), np.ones((1, 3000)),
               more=lambda f: f.create_dataset("mask", data=rows, chunks=(1, 100), compression=1))


def of_kinds():
    layer = "/layers/dense/vars/"
    yield Case("Keras, int8", layer + "0", i1(127, -34), REFUSED, beside={layer + "1": np.zeros(2, "f4"), layer + "2": np.ones(2, "f4")},
               words="quantised")
    yield Case("Keras, int4", layer + "0", u1(127, 34), REFUSED, beside={layer + "1": np.ones(2, "f4"), layer + "2": np.zeros(2, "f4")})
    yield Case("Keras, floats", layer + "0", f8(1, 2), f8(1, 2), beside={layer + "1": np.zeros(2), layer + "2": np.ones(2)})
    yield Case("bytes elsewhere", "/layers/0", i1(1, 2), f8(1, 2), beside={"/layers/1": np.zeros(2)})
    yield Case("float8 in bytes", "/a", u1(1, 2), REFUSED, {"dtype": "float8_e5m2"}, words="narrower")
    yield Case("bfloat16 in integers", "/a", i2(1, 2), REFUSED, {"dtype": "bfloat16"}, words="codes")
    yield Case("bfloat16 in opaque bytes", "/a", np.array([[0x3f80, 0x4000]], "<u2").view("V2"), f8(1, 2), {"dtype": "bfloat16"})
    yield Case("durations of xarray", "/a", i2(1, 2), WARNED, {"units": "seconds", "dtype": "timedelta64[ns]"}, words="durations")
    yield Case("dtype that agrees", "/a", u1(1, 2), f8(1, 2), {"dtype": "uint8"})
    yield Case("opaque bytes without a word", "/a", np.array([[1, 2]], "<u2").view("V2"), REFUSED, words="opaque")
    yield Case("codes of categories", "/a", i2(1, 2), REFUSED, {"categories": np.array([b"x", b"y"])}, words="categories")


NAMES = {"unitSI": 1e-3, "lab_radiance_scale_factor": 0.1, "Rescaling Factor": 2.0, "bitVolts": 0.195, "Error_DN": 65535,
         "scl_slope": 0.5, "scl_inter": 3.0, "ScaleSlope": 0.1, "ScaleOffset": 2.0, "calibration_factor": 0.1,
         "Calibration Slope": 0.1, "scaling": 0.1, "divisor": 10, "exponent": -3, "CGSConversionFactor": 3e24, "to_cgs": 3.0,
         "bad_value": -1, "missing": -1, "IMAGE_WHITE_IS_ZERO": 1, "SCALING_FACTOR": 10}
SILENT = {"unitSI": 1.0, "bitVolts": 1.0, "scl_slope": 1.0, "scl_inter": 0.0, "exponent": 0, "to_cgs": 1.0, "IMAGE_WHITE_IS_ZERO": 0,
          "rescale": 2.0, "offsets": 3, "scaled_by": "me", "missing": "none", "factory": 7}


def of_names():
    for name, value in NAMES.items():
        yield Case(f"{name} = {value}", "/a", i2(1, 2), WARNED, {name: value}, words=f"attribute {name} = ")
    yield Case("factors of channels", "/a", i2(1, 2), WARNED, {"gain": [1.0, 0.5]}, words="gain = 0.5, ...")
    yield Case("factors of many channels", "/a", i2(1, 2), WARNED, {"channel_bit_volts": [0.195] * 64}, words="a list")
    yield Case("factors of many channels, BSCALE", "/a", i2(1, 2), REFUSED, {"BSCALE": [0.5] * 64})
    for name, value in SILENT.items():
        yield Case(f"{name} = {value}, silent", "/a", i2(1, 2), f8(1, 2), {name: value})


def of_links():
    """The path that names a dataset need not be where it lies."""
    what = {"gain": 0.5, "offset": 1.0}
    yield Case("a link to the dataset", "/alias", None, f8(2, 3), beside={"/x/data1/data": u1(2, 4)}, around={"/x/data1/what": what},
               more=lambda f: f.update({"alias": h5py.SoftLink("/x/data1/data")}))
    yield Case("a link to its group", "/alias/data", None, f8(2, 3), beside={"/x/data1/data": u1(2, 4)}, around={"/x/what": what},
               more=lambda f: f.update({"alias": h5py.SoftLink("x/data1")}))
    yield Case("a relative link", "/y/alias", None, f8(2, 3), beside={"/y/z/data": u1(2, 4)}, around={"/y/z/what": what},
               more=lambda f: f["y"].update({"alias": h5py.SoftLink("z/data")}))
    deep = "/a" * 40
    yield Case("deep groups", deep + "/data", u1(2, 4), f8(2, 3), around={deep + "/what": what})
    yield Case("deep groups, from the root", deep + "/data", u1(2, 4), f8(2, 3), around={"/what": what})


def write(folder, case):
    with h5py.File(folder / "a.h5", "w") as file:
        if case.stored is not None:
            file.create_dataset(case.path, data=case.stored, **case.create).attrs.update(case.on)
        for path, data in case.beside.items():
            file[path] = data
        for path, attributes in case.around.items():
            file.require_group(path).attrs.update(attributes)
        if case.more:
            case.more(file)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.eye(1 if case.stored is None else len(case.stored))


def try_case(folder, damier, case):
    write(folder, case)
    words = [damier, "multiply", folder / "b.h5", f"{folder}/a.h5:{case.path}", "-o", folder / "c.h5", "--type", "f64", "-q",
             "--allow-rounding", "--missing", "nan", "--no-verify"]
    done = ended(words)
    refused = isinstance(case.want, str) and case.want == REFUSED
    if refused:
        expect(done.returncode in (3, 4) and case.words in done.stderr, f"exit {done.returncode}: {done.stderr}")
        expect(done.returncode == 3 or "cannot be" in done.stderr, done.stderr)
        return
    expect(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
    warned = re.sub(".*NaN.*\n", "", done.stderr)
    if isinstance(case.want, str):
        expect("warning" in warned and case.words in warned, done.stderr or "no word")
        return
    expect("warning" not in warned or "is not applied" in warned and "valid_range" in warned or "cannot occur" in warned, done.stderr)
    with h5py.File(folder / "c.h5") as file:
        got = file["c"][()]
    expect(np.allclose(got, case.want, rtol=1e-14, atol=0, equal_nan=True), f"{got.tolist()} instead of {case.want.tolist()}")


def try_raw(folder, damier, case):
    """--raw takes the stored numbers, whatever lies beside them."""
    write(folder, case)
    done = ended([damier, "multiply", folder / "b.h5", f"{folder}/a.h5:{case.path}", "-o", folder / "c.h5", "--type", "f64", "-q",
                  "--allow-rounding", "--raw"])
    expect(done.returncode == 0 and "not applied" not in done.stderr, f"exit {done.returncode}: {done.stderr}")
    with h5py.File(folder / "c.h5") as file:
        expect(np.array_equal(file["c"][()], case.stored.astype("f8")), "other numbers")


def try_stack(folder, damier):
    """Files alike, which are compared by their bytes, and one with another factor."""
    for i, gain in enumerate((0.5, 0.5, 0.5, 0.25)):
        with h5py.File(folder / f"s{i}.h5", "w") as file:
            file["g/data"] = u1(2, 4)
            file.require_group("g/what").attrs.update({"gain": gain, "offset": 1.0})
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.eye(4)
    done = ended([damier, "multiply", folder / "b.h5", f"{folder}/s*.h5:/g/data", "-o", folder / "c.h5", "-q"])
    expect(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
    with h5py.File(folder / "c.h5") as file:
        expect(np.array_equal(file["c"][()], np.repeat([[2.0, 3.0], [1.5, 2.0]], (3, 1), 0)), file["c"][()].tolist())


def try_list(folder, damier):
    """Lists of rows of netCDF and of R: only an entry that is missing is no index."""
    with h5py.File(folder / "a.h5", "w") as file:
        file["a"] = np.arange(12.0).reshape(4, 3)
    with h5py.File(folder / "b.h5", "w") as file:
        file["b"] = np.eye(3)
    for good, number in ((True, 1), (False, -2**31 + 1), (False, -2**31)):
        for attributes, root in (({}, NETCDF), ({"rhdf5-NA.OK": np.array([1], "i4")}, {})):
            with h5py.File(folder / "i.h5", "w") as file:
                file.attrs.update(root)
                file["i"] = np.array([3, number], "i4")
                file["i"].attrs.update(attributes)
            done = ended([damier, "multiply", f"{folder}/a.h5:/a[@{folder}/i.h5:/i, :]", folder / "b.h5", "-o", folder / "c.h5", "-q",
                          "--force", "--missing", "zero"])
            expect(done.returncode == (0 if good else 3), f"{number}: exit {done.returncode}: {done.stderr}")
            if good:
                with h5py.File(folder / "c.h5") as file:
                    expect(np.array_equal(file["c"][()], [[9, 10, 11], [3, 4, 5]]), file["c"][()].tolist())
            else:
                expect("entry 1 of" in done.stderr, done.stderr)


chosen = options()
cases = [case for part in (of_r, of_netcdf, of_satellites, of_radar, of_measurements, of_masks, of_kinds, of_names, of_links)
         for case in part()]
work = [(try_case, case) for case in cases]
work += [(try_raw, case) for case in cases if isinstance(case.want, str) and case.want == REFUSED and
         case.words not in ("enumerated", "opaque", "cannot be")]
work += [(try_stack,), (try_list,)]
run_cases(chosen.damier, work)
