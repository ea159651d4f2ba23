#include "inspect/conventions.h"

static const char conventions_numbers[] =
    "write the numbers they stand for as a dataset of their own";
static const char nothing[] = "there is nothing to multiply";
static const char as_double[] = "save its numbers as a matrix of double";
static const char codes[] = "save double(x) to multiply the codes of its characters";
static const char conventions_filled[] =
    "write the array with its masked elements filled, by NaN for example, as a dataset of its own";
static const char unpacked[] = "write the unpacked values as a dataset of their own";

/* clang-format off */
#define ALWAYS {DM_ALWAYS, 0, 0, 0}
#define ON(names) {DM_ON_DATASET, names, 0, 0}
#define ON_IS(names, text) {DM_ON_DATASET, names, text, 0}
#define LIKE(names) {DM_ON_DATASET_AS, names, 0, 0}
#define GROUP(names) {DM_ON_GROUP, names, 0, 0}
#define GROUP_IS(names, text) {DM_ON_GROUP, names, text, 0}
#define AROUND(names) {DM_ON_ANCESTOR, names, 0, 0}
#define IN(group, names) {DM_IN_GROUP, names, 0, group}
#define IN_IS(group, names, text) {DM_IN_GROUP, names, text, group}
#define BESIDE(names) {DM_BESIDE, names, 0, 0}
#define BESIDE_IS(names, text) {DM_BESIDE, names, text, 0}
#define UNDER(names) {DM_UNDER, names, 0, 0}
#define ANY ALWAYS, 0, DM_ANY_TYPE
#define INTEGERS ALWAYS, 0, DM_INTEGERS
#define IF(also) also, 0, DM_ANY_TYPE
#define NO_NUMBERS {0}

/* In this order: what is no matrix of numbers; the sign; factors, of which an attribute is used by
 * one row only; what is missing; what may have a meaning and is only named. */
const dm_convention dm_conventions[] = {
    {"MATLAB", ON("MATLAB_empty"), ANY, DM_REFUSE_IF_TRUE, "it is an empty array of MATLAB: the stored numbers are its dimensions", nothing, NO_NUMBERS},
    {"MATLAB", ON_IS("MATLAB_class", "char"), ANY, DM_REFUSE, "it is text of MATLAB", codes, NO_NUMBERS},
    {"MATLAB", ON_IS("MATLAB_class", "!double|single|logical|int8|uint8|int16|uint16|int32|uint32|int64|uint64"), ANY, DM_REFUSE, "it is not a matrix of MATLAB", as_double, NO_NUMBERS},
    {"MATLAB", ON("MATLAB_object_decode"), ANY, DM_REFUSE_IF_TRUE, "it is an object of MATLAB, not a matrix", as_double, NO_NUMBERS},
    {"Octave", ON("OCTAVE_EMPTY_MATRIX"), ANY, DM_REFUSE, "it is an empty matrix of Octave: the stored numbers are its dimensions", nothing, NO_NUMBERS},
    {"Octave", BESIDE_IS("type", "string|sq_string|char"), GROUP("OCTAVE_NEW_FORMAT"), "value", DM_ANY_TYPE, DM_REFUSE, "it is text of Octave", codes, NO_NUMBERS},
    {"TRIQS, ALPS", ON("__complex__"), ANY, DM_IS_COMPLEX, "a last axis of 2 has the real and imaginary parts of complex numbers", 0, NO_NUMBERS},
    {"PETSc", ON("complex"), ANY, DM_IS_COMPLEX, "a last axis of 2 has the real and imaginary parts of complex numbers", 0, NO_NUMBERS},
    {"anndata, h5py", ON("categories"), INTEGERS, DM_REFUSE, "its numbers are codes of categories", conventions_numbers, NO_NUMBERS},
    {"anndata", GROUP_IS("encoding-type", "categorical"), ANY, DM_REFUSE, "its numbers are codes of categories", conventions_numbers, NO_NUMBERS},
    {"R", ON_IS("class", "factor"), INTEGERS, DM_REFUSE, "its numbers are codes of R's factor", conventions_numbers, NO_NUMBERS},
    {"pandas", ON("shape"), IF(ON("value_type")), DM_REFUSE_IF_ANY_0, "it is an empty array of pandas", nothing, NO_NUMBERS},
    {"pandas", ON_IS("value_type", "datetime64"), ANY, DM_REFUSE, "its numbers are dates of pandas", conventions_numbers, NO_NUMBERS},
    {"pandas", ON_IS("value_type", "timedelta64"), ANY, DM_REFUSE, "its numbers are durations of pandas", conventions_numbers, NO_NUMBERS},
    {"HDF5 images", ON_IS("CLASS", "PALETTE"), ANY, DM_REFUSE, "it is the palette of an image", "name the image", NO_NUMBERS},
    {"HDF5 images", ON_IS("CLASS", "IMAGE"), IF(ON_IS("IMAGE_SUBCLASS", "IMAGE_INDEXED")), DM_REFUSE, "its numbers are indices into a palette", conventions_numbers, NO_NUMBERS},
    {"netCDF", ON_IS("CLASS", "DIMENSION_SCALE"), IF(ON_IS("NAME", "This is a netCDF dimension but not a netCDF variable")), DM_REFUSE, "it is a dimension of netCDF without data", "name a variable", NO_NUMBERS},
    {"ml_dtypes", ON_IS("dtype", "*float8|*float6|*float4|*int4|*int2"), ALWAYS, 0, DM_BYTES, DM_REFUSE, "its bytes are codes of a narrower type, which its attribute 'dtype' names", "write its numbers as float32, in Python: x.astype('float32')", NO_NUMBERS},
    {"ml_dtypes", ON_IS("dtype", "*bfloat16|*float16"), INTEGERS, DM_REFUSE, "its integers are codes of the floats that its attribute 'dtype' names", "write its numbers as float32, in Python: x.view(TYPE).astype('float32')", NO_NUMBERS},
    {"Keras", BESIDE("1|2"), UNDER("vars"), "0|1", DM_BYTES, DM_REFUSE, "its numbers are quantised weights of Keras, whose scale lies beside them", "write the weights: of int8, the numbers divided by the scale of their output", NO_NUMBERS},
    {"vaex", BESIDE("null_bitmap"), ALWAYS, "data", DM_ANY_TYPE, DM_REFUSE, "a mask of bits lies beside it, which says that elements are missing", conventions_filled, NO_NUMBERS},
    {"KNMI radar", IN_IS("calibration", "calibration_formulas", "!GEO=1.000000*PV+0.000000"), INTEGERS, DM_REFUSE, "the group 'calibration' has a formula for its values", unpacked, NO_NUMBERS},
    {"NIX", BESIDE("polynom_coefficients"), ALWAYS, "data", DM_ANY_TYPE, DM_REFUSE_UNLESS_EMPTY, "its values are a polynomial of the stored numbers ('polynom_coefficients')", unpacked, NO_NUMBERS},
    {"NIX", ON("polynom_coefficients"), ANY, DM_REFUSE_UNLESS_EMPTY, "its values are a polynomial of the stored numbers ('polynom_coefficients')", unpacked, NO_NUMBERS},
    {"NIX", GROUP("polynom_coefficients"), ANY, DM_REFUSE_UNLESS_EMPTY, "its values are a polynomial of the stored numbers ('polynom_coefficients')", unpacked, NO_NUMBERS},
    {"Multi Channel Systems", BESIDE("InfoChannel"), ALWAYS, "ChannelData", DM_INTEGERS, DM_REFUSE, "'InfoChannel' has the zero, the factor and the exponent of each channel", unpacked, NO_NUMBERS},

    {"3Brain", UNDER("3BData"), ALWAYS, "Raw", DM_INTEGERS, DM_REFUSE, "'3BRecInfo' has the volts that its smallest and largest numbers stand for", unpacked, NO_NUMBERS},
    {"netCDF", ON_IS("_Unsigned", "true|True"), ANY, DM_OTHER_SIGN, "its signed integers are unsigned ones", 0, NO_NUMBERS},
    {"netCDF", ON_IS("_Unsigned", "!true|True|false|False|FALSE|0"), INTEGERS, DM_REFUSE, "its attribute '_Unsigned' is neither 'true' nor 'false'", "write it so", NO_NUMBERS},

    {"HDF4, converted", ON("scale_factor|add_offset"), IF(ON("scale_factor_err|add_offset_err|calibrated_nt")), DM_UNPACK_HDF4, "value = scale_factor · (stored − add_offset)", 0, NO_NUMBERS},
    {"netCDF", ON("scale_factor|add_offset"), ANY, DM_UNPACK, "value = scale_factor · stored + add_offset", 0, NO_NUMBERS},
    {"HDF-EOS 5, JPSS", ON("ScaleFactor|Offset"), IF(ON("ScaleFactor")), DM_APPLY, "value = ScaleFactor · stored + Offset", 0, NO_NUMBERS},
    {"VIIRS", BESIDE("*Factors"), INTEGERS, DM_APPLY_PAIR, "value = factor · stored + shift, the two numbers there", 0, NO_NUMBERS},
    {"ODIM_H5 radar", IN("what", "gain|offset"), ANY, DM_APPLY, "value = gain · stored + offset", 0, NO_NUMBERS},
    {"MINC", BESIDE("image-max|image-min"), ALWAYS, "image", DM_INTEGERS, DM_APPLY_EXTREMES, "valid_range stands for image-min to image-max", 0, NO_NUMBERS},
    {"NWB", ON("conversion|offset"), IF(AROUND("neurodata_type")), DM_APPLY, "value = conversion · stored + offset", 0, NO_NUMBERS},
    {"NWB", BESIDE("channel_conversion"), GROUP("neurodata_type"), "data", DM_ANY_TYPE, DM_APPLY_MORE, "one more factor of each channel", 0, NO_NUMBERS},
    {"NeXus", ON("scaling_factor|offset"), IF(AROUND("NX_class")), DM_APPLY_ONE, "value = scaling_factor · stored, or stored + offset", 0, NO_NUMBERS},
    {"NeXus", BESIDE("*_scaling_factor|*_offset"), IF(GROUP("NX_class")), DM_APPLY_ONE, "value = factor · stored, or stored + offset", 0, NO_NUMBERS},
    {"FITS", ON("BSCALE"), ANY, DM_REFUSE_UNLESS_1, "FITS' BSCALE and BZERO may still be to be applied", "write BZERO + BSCALE * x if so", NO_NUMBERS},
    {"FITS", ON("BZERO"), ANY, DM_REFUSE_UNLESS_0, "FITS' BSCALE and BZERO may still be to be applied", "write BZERO + BSCALE * x if so", NO_NUMBERS},
    {"HDF-EOS 5", ON("Offset"), ANY, DM_REFUSE_UNLESS_0, "HDF-EOS's Offset may still be to be applied", "write x + Offset if so", NO_NUMBERS},
    {"MODIS", LIKE("reflectancescales|radiancescales|correctedcountsscales|bandscales"), INTEGERS, DM_REFUSE, "it has a factor for each band", unpacked, NO_NUMBERS},

    {"NumPy, hickle, vaex, anndata, pandas", BESIDE("mask|_mask"), ALWAYS, "data|values|_data", DM_ANY_TYPE, DM_MISSING_MASKED, "a mask lies beside it, which says that elements are missing", conventions_filled, NO_NUMBERS},
    {"netCDF", ON("_FillValue"), ANY, DM_MISSING_ARE, "missing", 0, NO_NUMBERS},
    {"netCDF", ON("missing_value"), ANY, DM_MISSING_ARE, "missing", 0, NO_NUMBERS},
    {"HDF-EOS 5", ON("MissingValue"), ANY, DM_MISSING_ARE, "missing", 0, NO_NUMBERS},
    {"GPM", ON("CodeMissingValue"), ANY, DM_MISSING_ARE, "missing", 0, NO_NUMBERS},
    {"ODIM_H5 radar", IN("what", "nodata"), ANY, DM_MISSING_ARE, "missing: not measured", 0, NO_NUMBERS},
    {"ODIM_H5 radar", IN("what", "undetect"), ANY, DM_MISSING_ARE, "missing: too weak to be detected", 0, NO_NUMBERS},
    {"netCDF", ON("valid_range"), ANY, DM_VALID, "stored numbers outside are missing", 0, NO_NUMBERS},
    {"netCDF", ON("valid_min"), ANY, DM_VALID, "smaller stored numbers are missing", 0, NO_NUMBERS},
    {"netCDF", ON("valid_max"), ANY, DM_VALID, "larger stored numbers are missing", 0, NO_NUMBERS},
    {"netCDF", {DM_ON_FILE, "_NCProperties", 0, 0}, ANY, DM_MISSING_DEFAULT, "netCDF's default", 0, NO_NUMBERS},
    {"netCDF", ON("_Netcdf4Dimid|_Netcdf4Coordinates"), ANY, DM_MISSING_DEFAULT, "netCDF's default", 0, NO_NUMBERS},
    {"netCDF", ON("DIMENSION_LIST"), ANY, DM_MISSING_DEFAULT_SET, "netCDF's default", 0, NO_NUMBERS},
    {"VIIRS", BESIDE("*Factors"), ALWAYS, 0, DM_WORDS, DM_MISSING_THESE, "VIIRS", 0, {65535, 65534, 65533, 65532, 65531, 65530, 65529, 65528}},
    {"JPSS", UNDER("All_Data"), ALWAYS, 0, DM_WORDS, DM_MISSING_THESE, "JPSS", 0, {65535, 65534, 65533, 65532, 65531, 65530, 65529, 65528}},
    {"JPSS", UNDER("All_Data"), ALWAYS, 0, DM_SINGLES, DM_MISSING_THESE, "JPSS", 0, {-999.9, -999.8, -999.7, -999.6, -999.5, -999.4, -999.3, -999.2}},
    {"R (rhdf5, HDF5Array)", ON("rhdf5-NA.OK"), INTEGERS, DM_MISSING_SMALLEST, "NA of R", 0, NO_NUMBERS},
    {"R (rhdf5, HDF5Array)", ON_IS("storage.mode", "logical"), INTEGERS, DM_MISSING_SMALLEST, "NA of R", 0, NO_NUMBERS},
    {"R (hdf5r)", {DM_MEMBER, "NA", 0, 0}, ANY, DM_MISSING_ARE, "NA of R", 0, NO_NUMBERS},
    {"R (SeuratDisk)", ON_IS("s3class", "logical"), INTEGERS, DM_MISSING_THESE, "NA of R", 0, {2}},

    {"CF", ON("units"), ANY, DM_WARN_OF_TIMES, "its numbers are times", 0, NO_NUMBERS},
    {"xarray", ON_IS("dtype", "timedelta64|datetime64"), ANY, DM_WARN_OF_TEXTS, "its numbers are durations or dates (dtype)", 0, NO_NUMBERS},
    {"CF", ON("flag_meanings"), INTEGERS, DM_WARN_OF_TEXTS, "its numbers are codes (flag_meanings)", 0, NO_NUMBERS},
    {"R", ON("levels"), INTEGERS, DM_WARN_OF_TEXTS, "its numbers may be codes (levels)", 0, NO_NUMBERS},
    {"others", BESIDE("mask|*_mask|*_masked"), ANY, DM_WARN_IF_MASKED, "a mask lies beside it and is not applied", 0, NO_NUMBERS},
    {"openPMD", LIKE("unitsi"), ANY, DM_WARN_UNLESS_1, "a factor to SI units", 0, NO_NUMBERS},
    {"Open Ephys", LIKE("bitvolts|channelbitvolts"), ANY, DM_WARN_UNLESS_1, "a factor to volts", 0, NO_NUMBERS},
    {"Open Ephys, KWIK", IN("application_data", "channel_bit_volts|bit_volts"), ANY, DM_WARN_UNLESS_1, "a factor to volts", 0, NO_NUMBERS},
    {"NIfTI", LIKE("sclslope"), ANY, DM_WARN_UNLESS_1, "a factor", 0, NO_NUMBERS},
    {"NIfTI", LIKE("sclinter"), ANY, DM_WARN_UNLESS_0, "a shift", 0, NO_NUMBERS},
    {"GADGET, EAGLE, IllustrisTNG", LIKE("cgsconversionfactor|tocgs|conversionfactortocgs*|conversionfactortophysicalcgs*"), ANY, DM_WARN_UNLESS_1, "a factor to CGS units", 0, NO_NUMBERS},
    {"GADGET, EAGLE, IllustrisTNG", LIKE("hscaleexponent|aexpscaleexponent|hscaling|ascaling"), ANY, DM_WARN_UNLESS_0, "an exponent of h or of the scale factor", 0, NO_NUMBERS},
    {"GCOM-C", LIKE("errordn"), ANY, DM_WARN_OF_NUMBER, "a missing number", 0, NO_NUMBERS},
    {"HDF5 images", LIKE("imagewhiteiszero"), ANY, DM_WARN_UNLESS_0, "white is 0", 0, NO_NUMBERS},
    {"others", LIKE("scale|*scalefactor|*scalingfactor|*rescalingfactor|*slope|gain|multiplier|factor|scaling|divisor|*conversion|*conversionfactor|*calibrationfactor|*multiplicationfactor|*unitfactor"), ANY, DM_WARN_UNLESS_1, "a factor", 0, NO_NUMBERS},
    {"others", LIKE("offset|*addoffset|*scaleoffset|*valueoffset|*rescaleoffset|*intercept|exponent"), ANY, DM_WARN_UNLESS_0, "a shift or an exponent", 0, NO_NUMBERS},
    {"others", LIKE("*fillvalue|*missingvalue|missing|nodata*|undetect|novalue|nullvalue|navalue|*invalidvalue|badvalue|*errorvalue|undefinedvalue|undefvalue"), ANY, DM_WARN_OF_NUMBER, "a missing number", 0, NO_NUMBERS},
};
/* clang-format on */

const int dm_conventions_count = sizeof dm_conventions / sizeof *dm_conventions;

_Static_assert(sizeof dm_conventions / sizeof *dm_conventions <= DM_CONVENTIONS, "fewer rows");

const char *dm_deed_text(dm_deed deed) {
  static const char *const texts[DM_DEEDS] = {
      [DM_REFUSE] = "refused",
      [DM_REFUSE_IF_TRUE] = "refused, unless it is 0 or false",
      [DM_REFUSE_IF_ANY_0] = "refused, if one of its numbers is 0",
      [DM_REFUSE_UNLESS_1] = "refused beside integers, unless it is 1; else a warning",
      [DM_REFUSE_UNLESS_0] = "refused beside integers, unless it is 0; else a warning",
      [DM_REFUSE_UNLESS_EMPTY] = "refused, unless it is empty",
      [DM_IS_COMPLEX] = "read as complex (`--complex-axis`), if it is true",
      [DM_OTHER_SIGN] = "applied",
      [DM_UNPACK] = "applied, one factor and one shift",
      [DM_UNPACK_HDF4] = "applied, one factor and one shift",
      [DM_APPLY] = "applied, one factor and one shift; refused if they are several",
      [DM_APPLY_ONE] = "applied; refused if they are several, or if there are both",
      [DM_APPLY_PAIR] = "applied; several pairs are those of equal parts of the first axis",
      [DM_APPLY_MORE] = "applied, along the axis that its attribute `axis` names, or the second",
      [DM_APPLY_EXTREMES] = "applied; several are those of slices along the first axes",
      [DM_MISSING_ARE] = "applied",
      [DM_MISSING_MASKED] = "missing where it is true; of complex numbers refused",
      [DM_MISSING_THESE] = "applied",
      [DM_MISSING_DEFAULT] = "missing, unless _FillValue names another or _Unsigned is true; of "
                             "one byte, if there is a fill value",
      [DM_MISSING_DEFAULT_SET] = "the same, if the dataset was written with a fill value",
      [DM_MISSING_SMALLEST] =
          "the smallest integer of the type is missing; of 64 bits also that of 32",
      [DM_VALID] = "applied, if the type holds the bounds; else a warning",
      [DM_WARN_UNLESS_1] = "a warning, unless it is 1",
      [DM_WARN_UNLESS_0] = "a warning, unless it is 0",
      [DM_WARN_OF_NUMBER] = "a warning, if it is a number",
      [DM_WARN_OF_TEXTS] = "a warning, if it is text",
      [DM_WARN_OF_TIMES] = "a warning, if it contains \" since \"",
      [DM_WARN_IF_MASKED] = "a warning, unless the mask is false everywhere",
  };
  return texts[deed];
}
