#include "dataset/hdf5_compound.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/checked.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"

enum { HDF5_COMPOUND_DEEP = 8, PAIR_NAMES = 96 };

/* What was found so far. */
typedef struct hdf5_compound_scan {
  dm_compound compound;
  bool real, complex; /* it has such numbers */
  bool other;         /* ... or others, or none */
  bool room;          /* false: they lie in too many ways */
} hdf5_compound_scan;

static void scan_type(hdf5_compound_scan *s, hid_t type, int64_t offset, int depth);

/* ---- what elements take in the file ---- */

/* Strings of any length are a pointer in memory, for which HDF5 states sizes and offsets; a file
 * with addresses of 8 bytes, as nearly all have, has a length, an address and an index. Where
 * elements have other sizes, those of the data do not fit, and reading refuses it. */
enum { HDF5_COMPOUND_STRING = 16 };

static int64_t hdf5_compound_elements_of(hid_t array);

/* Bytes of TYPE in a file beyond those in memory. */
static int64_t hdf5_compound_more(hid_t type, int depth) {
  const H5T_class_t kind = H5Tget_class(type);
  int64_t more = 0;
  if (kind == H5T_STRING && H5Tis_variable_str(type) > 0)
    return HDF5_COMPOUND_STRING - (int64_t)H5Tget_size(type);
  if (depth > HDF5_COMPOUND_DEEP) return 0;
  if (kind == H5T_ARRAY) {
    DM_H5_HELD const hid_t base = H5Tget_super(type);
    const int64_t count = hdf5_compound_elements_of(type);
    return base < 0 || count < 0 ? 0 : count * hdf5_compound_more(base, depth + 1);
  }
  const int members = kind == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
  for (int i = 0; i < members; i++) {
    DM_H5_HELD const hid_t member = H5Tget_member_type(type, (unsigned)i);
    if (member >= 0) more += hdf5_compound_more(member, depth + 1);
  }
  return more;
}

static int64_t hdf5_compound_bytes_of(hid_t type) {
  return (int64_t)H5Tget_size(type) + hdf5_compound_more(type, 0);
}

/* Where member NUMBER of the compound TYPE begins in a file. */
static int64_t hdf5_compound_offset_of(hid_t type, unsigned number) {
  const size_t stated = H5Tget_member_offset(type, number);
  const int members = H5Tget_nmembers(type);
  int64_t offset = (int64_t)stated;
  for (int i = 0; i < members; i++) {
    if (H5Tget_member_offset(type, (unsigned)i) >= stated) continue;
    DM_H5_HELD const hid_t member = H5Tget_member_type(type, (unsigned)i);
    if (member >= 0) offset += hdf5_compound_more(member, 1);
  }
  return offset;
}

bool dm_h5_compound_is_loose(const dm_dataset *find, hid_t type) {
  return find->compound.bytes > 0 && find->compound.bytes != (int64_t)H5Tget_size(type);
}

/* ---- numbers ---- */

static void scan_reals(hdf5_compound_scan *s, int64_t offset, int64_t stride, int64_t count,
                       dm_dtype type, bool swapped) {
  const dm_field f = {(int32_t)offset, (int32_t)stride, (int32_t)count, (int16_t)type,
                      (int16_t)swapped};
  s->room &= offset <= DM_COMPOUND_BYTES && stride <= DM_COMPOUND_BYTES &&
             count <= DM_COMPOUND_BYTES && dm_compound_add(&s->compound, f);
}

/* Whether TYPE is a number, or a complex one of two equal floats one after the other. */
static bool is_number(hid_t type, dm_dtype *dtype, bool *swapped) {
  char text[DM_TYPE_TEXT];
  return dm_h5_read_type(type, false, dtype, swapped, text);
}

static void scan_number(hdf5_compound_scan *s, int64_t offset, int64_t apart, int64_t count,
                        dm_dtype type, bool swapped) {
  const bool complex = dm_dtype_is_complex(type);
  const dm_dtype real = dm_dtype_real(type);
  const int64_t half = dm_dtype_size(real);
  s->complex |= complex;
  s->real |= !complex;
  if (complex && apart == 2 * half)
    scan_reals(s, offset, half, 2 * count, real, swapped);
  else if (!complex)
    scan_reals(s, offset, apart, count, real, swapped);
  for (int64_t i = 0; complex && apart != 2 * half && i < count && s->room; i++)
    scan_reals(s, offset + i * apart, half, 2, real, swapped);
}

static int64_t hdf5_compound_elements_of(hid_t array) {
  hsize_t dims[H5S_MAX_RANK];
  int64_t count = 1;
  const int rank = H5Tget_array_ndims(array);
  if (rank < 1 || rank > DM_AXES || H5Tget_array_dims2(array, dims) < 0) return -1;
  for (int i = 0; i < rank; i++)
    if (dims[i] > DM_COMPOUND_BYTES || dm_mul_overflows(count, (int64_t)dims[i], &count)) return -1;
  return count > DM_COMPOUND_BYTES ? -1 : count;
}

static void scan_array(hdf5_compound_scan *s, hid_t type, int64_t offset, int depth) {
  DM_H5_HELD const hid_t base = H5Tget_super(type);
  const int64_t count = hdf5_compound_elements_of(type);
  dm_dtype dtype;
  bool swapped;
  if (base < 0 || count < 1) {
    s->other = true;
    return;
  }
  const int64_t apart = hdf5_compound_bytes_of(base);
  if (is_number(base, &dtype, &swapped)) {
    scan_number(s, offset, apart, count, dtype, swapped);
    return;
  }
  for (int64_t i = 0; i < count && s->room && !s->other; i++)
    scan_type(s, base, offset + i * apart, depth + 1);
}

static bool begins(const char *name, const char *word) {
  return strncasecmp(name, word, strlen(word)) == 0;
}

static bool are_parts(const char *real, const char *imaginary) {
  return (strcasecmp(real, "r") == 0 && strcasecmp(imaginary, "i") == 0) ||
         (begins(real, "re") && begins(imaginary, "im"));
}

/* Whether the two members of TYPE are called like parts of complex numbers: r and i, Re and Im,
 * real and imaginary; *real: the first of them. */
static bool has_names_of_parts(hid_t type, unsigned *real) {
  char *first = H5Tget_member_name(type, 0), *second = H5Tget_member_name(type, 1);
  *real = first && second && are_parts(second, first);
  const bool are = first && second && (*real || are_parts(first, second));
  if (first) H5free_memory(first);
  if (second) H5free_memory(second);
  return are;
}

/* Whether TYPE is a compound of two equal numbers: *dtype, *swapped. */
static bool is_pair(hid_t type, dm_dtype *dtype, bool *swapped) {
  dm_dtype of[2];
  bool turned[2];
  if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2) return false;
  for (unsigned i = 0; i < 2; i++) {
    DM_H5_HELD const hid_t member = H5Tget_member_type(type, i);
    if (member < 0 || !is_number(member, &of[i], &turned[i]) || dm_dtype_is_complex(of[i]))
      return false;
  }
  *dtype = of[0];
  *swapped = turned[0];
  return of[0] == of[1] && turned[0] == turned[1];
}

static void scan_pair(hdf5_compound_scan *s, hid_t type, int64_t offset, dm_dtype part,
                      bool swapped) {
  unsigned real;
  s->complex = true;
  if (!has_names_of_parts(type, &real)) s->compound.pairs = 1;
  for (unsigned i = 0; i < 2; i++)
    scan_reals(s, offset + (int64_t)H5Tget_member_offset(type, i ^ real), dm_dtype_size(part), 1,
               part, swapped);
}

static void scan_compound(hdf5_compound_scan *s, hid_t type, int64_t offset, int depth) {
  const int members = H5Tget_nmembers(type);
  dm_dtype part;
  unsigned real;
  bool swapped;
  if (is_pair(type, &part, &swapped) && has_names_of_parts(type, &real)) {
    scan_pair(s, type, offset, part, swapped);
    return;
  }
  for (int i = 0; i < members && s->room && !s->other; i++) {
    DM_H5_HELD const hid_t member = H5Tget_member_type(type, (unsigned)i);
    if (member < 0)
      s->other = true;
    else
      scan_type(s, member, offset + hdf5_compound_offset_of(type, (unsigned)i), depth + 1);
  }
  s->other |= members < 1;
}

static void scan_type(hdf5_compound_scan *s, hid_t type, int64_t offset, int depth) {
  const H5T_class_t kind = H5Tget_class(type);
  dm_dtype dtype;
  bool swapped;
  if (is_number(type, &dtype, &swapped))
    scan_number(s, offset, (int64_t)H5Tget_size(type), 1, dtype, swapped);
  else if (kind == H5T_ARRAY && depth < HDF5_COMPOUND_DEEP)
    scan_array(s, type, offset, depth);
  else if (kind == H5T_COMPOUND && depth < HDF5_COMPOUND_DEEP)
    scan_compound(s, type, offset, depth);
  else
    s->other = true;
}

/* ---- members ---- */

/* Opens the member of the compound TYPE that NAME, "a.b" for b in a, names, and adds where it is to
 * *offset; negative: there is none. */
static hid_t open_member(hid_t type, const char *name, int64_t *offset, int depth) {
  if (H5Tget_class(type) != H5T_COMPOUND || depth > HDF5_COMPOUND_DEEP) return -1;
  const int members = H5Tget_nmembers(type);
  for (int i = 0; i < members; i++) {
    char *own = H5Tget_member_name(type, (unsigned)i);
    const size_t length = own ? strlen(own) : 0;
    const bool begin = own && strncmp(own, name, length) == 0;
    if (own) H5free_memory(own);
    if (!begin || (name[length] != '\0' && name[length] != '.')) continue;
    const int64_t here = hdf5_compound_offset_of(type, (unsigned)i);
    const hid_t member = H5Tget_member_type(type, (unsigned)i);
    if (member < 0) return -1;
    *offset += here;
    if (name[length] == '\0') return member;
    DM_H5_HELD const hid_t outer = member;
    const hid_t inner = open_member(outer, name + length + 1, offset, depth + 1);
    if (inner >= 0) return inner;
    *offset -= here;
  }
  return -1;
}

static bool is_type_of_parts(dm_dtype part, dm_dtype *complex) {
  const bool wide = part == DM_F64 || part == DM_I32 || part == DM_U32;
  *complex = wide ? DM_C128 : DM_C64;
  return part != DM_I64 && part != DM_U64 && part != DM_BOOL;
}

/* The type of all numbers that S found: *type; false: complex ones of such parts are not read. */
static bool hdf5_compound_type_of(const hdf5_compound_scan *s, dm_dtype *type) {
  *type = (dm_dtype)s->compound.field[0].type;
  for (int i = 1; i < s->compound.count; i++)
    *type = dm_compound_common(*type, (dm_dtype)s->compound.field[i].type);
  return !s->complex || is_type_of_parts(*type, type);
}

void dm_h5_list_members(hid_t type, char *text, size_t size) {
  const int members = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < members; i++) {
    DM_H5_HELD const hid_t member = H5Tget_member_type(type, (unsigned)i);
    hdf5_compound_scan s = {.room = true};
    char entry[160] = "", *name = H5Tget_member_name(type, (unsigned)i);
    dm_dtype dtype;
    if (member >= 0 && name) scan_type(&s, member, 0, 0);
    const int64_t reals = dm_compound_reals(&s.compound), each = s.complex ? 2 : 1;
    if (reals > 0 && !s.other && s.room && hdf5_compound_type_of(&s, &dtype) &&
        strlen(name) < 100) {
      if (reals == each)
        snprintf(entry, sizeof entry, "%s%s (%s)", used ? ", " : "", name, dm_dtype_name(dtype));
      else
        snprintf(entry, sizeof entry, "%s%s (%lld %s)", used ? ", " : "", name,
                 (long long)(reals / each), dm_dtype_name(dtype));
    }
    if (name) H5free_memory(name);
    if (used + strlen(entry) + 8 >= size) {
      if (used > 0) strcpy(text + used, ", ...");
      return;
    }
    strcpy(text + used, entry);
    used += strlen(entry);
  }
}

/* Whether the compound TYPE has arrays beside other members: which of them is the matrix? */
static bool has_arrays(hid_t type) {
  const int members = H5Tget_class(type) == H5T_COMPOUND ? H5Tget_nmembers(type) : 0;
  for (int i = 0; i < members && members > 1; i++) {
    DM_H5_HELD const hid_t member = H5Tget_member_type(type, (unsigned)i);
    if (member >= 0 && H5Tget_class(member) == H5T_ARRAY) return true;
  }
  return false;
}

static dm_status has_no_numbers(const dm_location *at, hid_t type, int rank) {
  char text[DM_TYPE_TEXT], members[240];
  dm_dtype dtype;
  bool swapped;
  (void)dm_h5_read_type(type, false, &dtype, &swapped, text);
  dm_h5_list_members(type, members, sizeof members);
  if (H5Tget_class(type) == H5T_COMPOUND && members[0])
    return dm_hint(dm_fail_at(DM_E_INPUT, at,
                              rank > 1 ? "its elements are compounds of several members"
                                       : "is a table, not all of whose members are single numbers"),
                   "'%.300s:%.200s.MEMBER' takes one of them as a matrix: %s", at->file,
                   at->dataset, members);
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "its elements are %s", text),
                 "supported: floats of 64, 32 and 16 bits, bfloat16, complex numbers, integers and "
                 "booleans, also as members of compounds and in arrays");
}

/* ---- the matrix ---- */

/* The axes of the array TYPE, or of the members of a compound; false: too many. */
static bool lay_inside(hid_t type, const hdf5_compound_scan *s, dm_compound *record) {
  hsize_t dims[H5S_MAX_RANK];
  const int64_t numbers = dm_compound_reals(&s->compound) / (s->complex ? 2 : 1);
  const int rank = H5Tget_class(type) == H5T_ARRAY ? H5Tget_array_ndims(type) : 0;
  int64_t product = 1;
  record->inner = numbers > 1 || rank > 0;
  record->extent[0] = (int32_t)numbers;
  if (rank < 1) return true;
  if (rank > DM_INNER || H5Tget_array_dims2(type, dims) < 0) return false;
  for (int i = 0; i < rank; i++) product *= (int64_t)dims[i];
  for (int i = 0; i < rank && product == numbers; i++) record->extent[i] = (int32_t)dims[i];
  if (product == numbers) record->inner = rank;
  return true;
}

dm_status dm_h5_read_compound(const dm_trust *trust, hid_t type, int rank, dm_dataset *find) {
  const dm_location *at = &find->at;
  const int32_t path = find->compound.path;
  hdf5_compound_scan s = {.room = true};
  int64_t offset = 0;
  const int64_t bytes = hdf5_compound_bytes_of(type);
  dm_dtype part;
  bool swapped;
  DM_H5_HELD const hid_t member =
      path > 0 ? open_member(type, at->dataset + path + 1, &offset, 0) : -1;
  if (path > 0 && member < 0) {
    char members[240];
    dm_h5_list_members(type, members, sizeof members);
    return dm_hint(
        dm_fail_at(DM_E_INPUT, at, "its elements have no member '%.100s'", at->dataset + path + 1),
        "members of numbers: %s", members[0] ? members : "none");
  }
  const hid_t of = path > 0 ? member : type;
  /* Names say nothing: a matrix of pairs is one of complex numbers, a list of pairs is a table. */
  if (is_pair(of, &part, &swapped) && rank > 1 && trust->complex_axis != DM_COMPLEX_NONE)
    scan_pair(&s, of, offset, part, swapped);
  else
    scan_type(&s, of, offset, 0);
  const bool several = H5Tget_class(of) == H5T_COMPOUND && H5Tget_nmembers(of) > 1 && !s.complex &&
                       !is_pair(of, &part, &swapped);
  if (s.other || s.compound.count == 0 || has_arrays(of) || (several && rank > 1))
    return has_no_numbers(at, of, rank);
  if (s.real && s.complex)
    return dm_fail_at(DM_E_INPUT, at, "has real and complex members; name one of them");
  if (!s.room || bytes < 1 || bytes > DM_COMPOUND_BYTES)
    return dm_hint(dm_fail_at(DM_E_INPUT, at,
                              "its members lie in its elements in more than %d different ways",
                              (int)DM_FIELDS),
                   "name one of them: '%.300s:%.200s.MEMBER'", at->file, at->dataset);
  if (!hdf5_compound_type_of(&s, &find->dtype))
    return dm_fail_at(DM_E_INPUT, at, "its complex numbers have parts of 64-bit integers");
  if (!lay_inside(of, &s, &s.compound))
    return dm_fail_at(DM_E_INPUT, at, "has arrays of more than %d dimensions", (int)DM_INNER);
  s.compound.bytes = (int32_t)bytes;
  s.compound.path = path;
  dm_compound_finish(&s.compound, dm_dtype_real(find->dtype));
  find->compound = s.compound;
  find->swapped = !s.compound.apart && s.compound.field[0].swapped;
  return DM_OK;
}

void dm_h5_describe_compound(hid_t type, int rank, char *text, size_t size) {
  const dm_trust trust = {.complex_axis = DM_COMPLEX_AUTO};
  dm_dataset found = {.rows = 0};
  char inside[DM_SHAPE_TEXT] = "", members[200];
  dm_status status = dm_h5_read_compound(&trust, type, rank, &found);
  const dm_compound *r = &found.compound;
  dm_axes axes = {.count = r->inner};
  for (int i = 0; i < r->inner; i++) axes.extent[i] = r->extent[i];
  if (!status && r->inner > 0)
    snprintf(text, size, "%s of %s %s", H5Tget_class(type) == H5T_ARRAY ? "arrays" : "compounds",
             dm_axes_text(&axes, inside), dm_dtype_name(found.dtype));
  else if (!status)
    snprintf(text, size, "%s", dm_dtype_name(found.dtype));
  dm_h5_list_members(type, members, sizeof members);
  if (status && members[0]) snprintf(text, size, "compounds with %s", members);
  dm_status_free(status);
}

dm_status dm_h5_matrix_extents(const dm_dataset *find, hid_t set, dm_axes *axes) {
  const dm_compound *r = &find->compound;
  DM_TRY(dm_h5_extents(&find->at, set, axes));
  if (axes->count + r->inner > DM_AXES)
    return dm_fail_at(DM_E_INPUT, &find->at,
                      "has %d dimensions, with those of its elements; at most %d are read",
                      axes->count + r->inner, DM_AXES);
  for (int i = 0; i < r->inner; i++) axes->extent[axes->count++] = r->extent[i];
  return DM_OK;
}

bool dm_h5_matrix_chunks(const dm_dataset *find, hid_t creation, dm_axes *axes) {
  const int inner = find->compound.inner;
  axes->count -= inner;
  const bool good = dm_h5_chunk_shape(creation, axes);
  for (int i = 0; i < inner; i++, axes->count++)
    axes->chunk[axes->count] = axes->extent[axes->count];
  return good;
}

/* ---- names ---- */

const char *dm_h5_set_name(const dm_dataset *dataset, char name[DM_PATH]) {
  snprintf(name, DM_PATH, "%s", dataset->at.dataset);
  if (dataset->compound.path > 0 && dataset->compound.path < DM_PATH)
    name[dataset->compound.path] = '\0';
  return name;
}

/* Whether PATH is a dataset of compounds in FILE. */
static bool is_table(hid_t file, const char *path, hid_t access) {
  DM_H5_HELD const hid_t object = H5Oopen(file, path, access);
  if (object < 0 || H5Iget_type(object) != H5I_DATASET) return false;
  DM_H5_HELD const hid_t type = H5Dget_type(object);
  return type >= 0 && H5Tget_class(type) == H5T_COMPOUND;
}

dm_status dm_h5_split_member(hid_t file, hid_t access, dm_dataset *find) {
  const dm_location *at = &find->at;
  char path[DM_PATH];
  bool exists = false;
  find->compound.path = 0;
  if (!strchr(at->dataset, '.')) return DM_OK;
  dm_status_free(dm_h5_has_link(at, file, at->dataset, access, &exists));
  if (exists) return DM_OK;
  for (const char *dot = strchr(at->dataset + 1, '.'); dot; dot = strchr(dot + 1, '.')) {
    if (dot[1] == '\0' || dot[-1] == '/') continue;
    snprintf(path, sizeof path, "%.*s", (int)(dot - at->dataset), at->dataset);
    dm_status_free(dm_h5_has_link(at, file, path, access, &exists));
    if (exists && is_table(file, path, access)) {
      find->compound.path = (int32_t)(dot - at->dataset);
      return DM_OK;
    }
  }
  H5Eclear2(H5E_DEFAULT);
  return DM_OK;
}
