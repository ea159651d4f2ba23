#include "file/conventions.h"

static const char numbers[] = "write the numbers they stand for as a dataset of their own";
static const char nothing[] = "there is nothing to multiply";
static const char as_double[] = "save its numbers as a matrix of double";
static const char codes[] = "save double(x) to multiply the codes of its characters";
static const char without_missing[] =
    "write the array without missing values as a dataset of its own";

/* clang-format off */
#define ON(names) {DM_ON_DATASET, names, 0, 0}
#define ON_IS(names, value) {DM_ON_DATASET, names, value, 0}
#define ON_GROUP(names) {DM_ON_GROUP, names, 0, 0}
#define ON_GROUP_IS(names, value) {DM_ON_GROUP, names, value, 0}
#define BESIDE_IS(names, text) {DM_BESIDE, names, text, 0}
#define LIKE(names) {DM_ON_DATASET_AS, names, 0, 0}
#define ALWAYS {DM_ALWAYS, 0, 0, 0}
#define NONE ALWAYS, 0, DM_ANY_TYPE
#define INTEGERS ALWAYS, 0, DM_INTEGERS

/* In this order: what is no matrix of numbers; the sign; factors; what is missing; what may have a
 * meaning and is only named. */
const dm_convention dm_conventions[] = {
    {"MATLAB", ON("MATLAB_empty"), NONE, DM_REFUSE_IF_TRUE, "it is an empty array of MATLAB: the stored numbers are its dimensions", nothing},
    {"MATLAB", ON_IS("MATLAB_class", "char"), NONE, DM_REFUSE, "it is text of MATLAB", codes},
    {"MATLAB", ON_IS("MATLAB_class", "!double|single|logical|int8|uint8|int16|uint16|int32|uint32|int64|uint64"), NONE, DM_REFUSE, "it is no matrix of MATLAB", as_double},
    {"MATLAB", ON("MATLAB_object_decode"), NONE, DM_REFUSE_IF_TRUE, "it is an object of MATLAB, not a matrix", as_double},
    {"Octave", ON("OCTAVE_EMPTY_MATRIX"), NONE, DM_REFUSE, "it is an empty matrix of Octave: the stored numbers are its dimensions", nothing},
    {"Octave", BESIDE_IS("type", "string|sq_string|char"), ON_GROUP("OCTAVE_NEW_FORMAT"), "value", DM_ANY_TYPE, DM_REFUSE, "it is text of Octave", codes},
    {"PETSc", ON("complex"), NONE, DM_REFUSE_COMPLEX, "its two columns are the real and imaginary parts of PETSc's complex numbers", "write x[:, :1] + 1j * x[:, 1:] as a matrix of complex numbers"},
    {"h5py, anndata", ON("categories"), INTEGERS, DM_REFUSE, "its numbers are codes of categories", numbers},
    {"anndata", ON_GROUP_IS("encoding-type", "categorical"), NONE, DM_REFUSE, "its numbers are codes of categories", numbers},
    {"anndata", ON_GROUP_IS("encoding-type", "nullable-"), NONE, DM_REFUSE, "it belongs to an array with missing values (a mask lies beside it)", without_missing},
    {"R", ON_IS("class", "factor"), INTEGERS, DM_REFUSE, "its numbers are codes of R's factor", numbers},
    {"pandas", ON("shape"), ON("value_type"), 0, DM_ANY_TYPE, DM_REFUSE_IF_ANY_0, "it is an empty array of pandas", nothing},
    {"pandas", ON_IS("value_type", "datetime64"), NONE, DM_REFUSE, "its numbers are dates of pandas", numbers},
    {"pandas", ON_IS("value_type", "timedelta64"), NONE, DM_REFUSE, "its numbers are durations of pandas", numbers},
    {"HDF5 images", ON_IS("CLASS", "PALETTE"), NONE, DM_REFUSE, "it is the palette of an image", "name the image"},
    {"HDF5 images", ON_IS("CLASS", "IMAGE"), ON_IS("IMAGE_SUBCLASS", "IMAGE_INDEXED"), 0, DM_ANY_TYPE, DM_REFUSE, "its numbers are indices into a palette", numbers},
    {"netCDF", ON_IS("CLASS", "DIMENSION_SCALE"), ON_IS("NAME", "This is a netCDF dimension but not a netCDF variable"), 0, DM_ANY_TYPE, DM_REFUSE, "it is a dimension of netCDF without data", "name a variable"},

    {"netCDF", ON("_Unsigned"), NONE, DM_UNSIGNED, "signed integers are unsigned ones", 0},
    {"netCDF", ON("scale_factor|add_offset"), NONE, DM_UNPACK, "value = scale_factor · stored + add_offset", 0},
    {"netCDF", ON("_FillValue"), NONE, DM_MISSING_ARE, "missing", 0},
    {"netCDF", ON("missing_value"), NONE, DM_MISSING_ARE, "missing", 0},
    {"HDF-EOS 5", ON("MissingValue"), NONE, DM_MISSING_ARE, "missing", 0},
    {"GPM", ON("CodeMissingValue"), NONE, DM_MISSING_ARE, "missing", 0},
    {"netCDF", ON("valid_range"), NONE, DM_VALID, "numbers outside are missing", 0},
    {"netCDF", ON("valid_min"), NONE, DM_VALID, "smaller numbers are missing", 0},
    {"netCDF", ON("valid_max"), NONE, DM_VALID, "larger numbers are missing", 0},
    {"netCDF", ALWAYS, NONE, DM_NETCDF_FILL, "the default fill value of its type is missing", 0},
    {"R (rhdf5)", ON("rhdf5-NA.OK"), NONE, DM_R_NA, "the smallest integer is NA", 0},
    {"R (rhdf5)", ON_IS("storage.mode", "logical"), NONE, DM_R_NA, "the smallest integer is NA", 0},
    {"FITS", ON("BSCALE"), NONE, DM_REFUSE_UNLESS_1, "FITS' BSCALE and BZERO may still be to be applied", "write BZERO + BSCALE * x if so"},
    {"FITS", ON("BZERO"), NONE, DM_REFUSE_UNLESS_0, "FITS' BSCALE and BZERO may still be to be applied", "write BZERO + BSCALE * x if so"},
    {"HDF-EOS 5", ON("ScaleFactor"), NONE, DM_REFUSE_UNLESS_1, "HDF-EOS's ScaleFactor and Offset may still be to be applied", "write ScaleFactor * x + Offset if so"},
    {"HDF-EOS 5", ON("Offset"), NONE, DM_REFUSE_UNLESS_0, "HDF-EOS's ScaleFactor and Offset may still be to be applied", "write ScaleFactor * x + Offset if so"},
    {"CF", ON("units"), NONE, DM_WARN_OF_TIMES, "its numbers are times", 0},
    {"CF", ON("flag_meanings"), INTEGERS, DM_WARN_OF_TEXTS, "its numbers are codes (flag_meanings)", 0},
    {"R", ON("levels"), INTEGERS, DM_WARN_OF_TEXTS, "its numbers may be codes (levels)", 0},
    {"others", LIKE("scale|scalefactor|scalingfactor|slope|gain|multiplier|factor|conversion|conversionfactor"), NONE, DM_WARN_UNLESS_1, "a factor", 0},
    {"others", LIKE("offset|addoffset|intercept"), NONE, DM_WARN_UNLESS_0, "a shift", 0},
    {"others", LIKE("fillvalue|missingvalue|nodata|nodatavalue|undetect|novalue|nullvalue|navalue|invalidvalue"), NONE, DM_WARN, "a missing number", 0},
};
/* clang-format on */

const int dm_conventions_count = sizeof dm_conventions / sizeof *dm_conventions;
