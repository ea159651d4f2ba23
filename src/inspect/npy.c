#include "inspect/npy.h"

#include "inspect/inspect_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/file_system.h"
#include "dataset/naming.h"
#include "dataset/npy_header.h"

enum { NPY_MAGIC = DM_NPY_MAGIC, HEADER_LIMIT = 1 << 16, RANK_LIMIT = 32, NPY_WORD = 64 };

/* The contents of a header. */
typedef struct npy_header {
  char type[NPY_WORD]; /* "<f8" */
  bool by_columns;
  int rank;
  int64_t dims[RANK_LIMIT];
  unsigned seen; /* keys seen */
} npy_header;

static const char *const keys[] = {"descr", "fortran_order", "shape"};

static bool is_npy(int fd) {
  char first[NPY_MAGIC] = "";
  return dm_file_read_at(fd, first, NPY_MAGIC, 0) == NPY_MAGIC &&
         memcmp(first, "\x93NUMPY", NPY_MAGIC) == 0;
}

/* ---- the dictionary ---- */

static void skip(const char **at) {
  while (**at == ' ' || **at == '\n' || **at == '\t') ++*at;
}

static bool npy_take(const char **at, char wanted) {
  skip(at);
  if (**at != wanted) return false;
  ++*at;
  return true;
}

static bool take_string(const char **at, char word[NPY_WORD]) {
  skip(at);
  const char quote = **at;
  if (quote != '\'' && quote != '"') return false;
  const char *first = ++*at, *end = strchr(first, quote);
  if (!end || end - first >= NPY_WORD) return false;
  snprintf(word, NPY_WORD, "%.*s", (int)(end - first), first);
  *at = end + 1;
  return true;
}

static bool npy_take_word(const char **at, const char *word) {
  skip(at);
  const size_t length = strlen(word);
  if (strncmp(*at, word, length) != 0 || isalnum((unsigned char)(*at)[length])) return false;
  *at += length;
  return true;
}

static bool npy_take_number(const char **at, int64_t *number) {
  skip(at);
  if (!isdigit((unsigned char)**at)) return false;
  if (**at == '0' && isdigit((unsigned char)(*at)[1])) return false; /* no number of Python */
  for (*number = 0; isdigit((unsigned char)**at); ++*at)
    if (dm_mul_overflows(*number, 10, number) || dm_add_overflows(*number, **at - '0', number))
      return false;
  if (**at == 'L') ++*at; /* Python 2's long integers */
  return true;
}

static bool take_shape(const char **at, npy_header *h) {
  if (!npy_take(at, '(')) return false;
  while (!npy_take(at, ')')) {
    if (h->rank == RANK_LIMIT || !npy_take_number(at, &h->dims[h->rank])) return false;
    h->rank++;
    skip(at);
    if (!npy_take(at, ',') && **at != ')') return false;
  }
  return true;
}

/* Parses a key and its value. */
static bool npy_take_entry(const char **at, npy_header *h) {
  char key[NPY_WORD];
  int which = 0;
  if (!take_string(at, key) || !npy_take(at, ':')) return false;
  while (which < 3 && strcmp(key, keys[which]) != 0) which++;
  if (which == 3 || h->seen >> which & 1) return false;
  h->seen |= 1u << which;
  if (which == 0) return take_string(at, h->type);
  if (which == 2) return take_shape(at, h);
  h->by_columns = npy_take_word(at, "True");
  return h->by_columns || npy_take_word(at, "False");
}

static bool npy_take_all(const char *at, npy_header *h) {
  if (!npy_take(&at, '{')) return false;
  while (!npy_take(&at, '}')) {
    if (!npy_take_entry(&at, h)) return false;
    if (!npy_take(&at, ',') && *at != '}') return false;
  }
  skip(&at);
  return *at == '\0' && h->seen == 7;
}

/* ---- interpretation ---- */

/* The name may follow a character for the byte order; without, and after '=' and '|', it is the
 * machine's own. */
static dm_status npy_check_type(const dm_location *at, const char *text, dm_dtype *dtype,
                                bool *swapped) {
  const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  const char *name = text + (text[0] != '\0' && strchr("<>=|", text[0]));
  const bool ordered_word = name > text && isalpha((unsigned char)name[1]); /* NumPy has none */
  *dtype = ordered_word ? DM_DTYPE_NONE : dm_npy_dtype(name);
  if (*dtype != DM_DTYPE_NONE) {
    *swapped = dm_dtype_size(*dtype) > 1 && text[0] == (big ? '<' : '>');
    return DM_OK;
  }
  dm_status status = dm_fail_at(DM_E_INPUT, at, "its elements are '%s' of NumPy", text);
  if (strcmp(name, "V2") == 0)
    return dm_hint(status, "bfloat16 has no name in .npy files: write it as float32, or to HDF5");
  return dm_hint(status, "supported: f2, f4, f8, c8, c16, i1 to i8, u1 to u8 and b1");
}

static dm_status npy_check_shape(const npy_header *h, const dm_trust *trust, dm_dataset *find,
                                 dm_complex_axis *axis) {
  const dm_location *at = &find->at;
  if (h->rank == 0) return dm_fail_at(DM_E_INPUT, at, "is a single value, not a matrix");
  if (h->rank > DM_AXES)
    return dm_fail_at(DM_E_INPUT, at, "has %d dimensions; at most %d are read", h->rank, DM_AXES);
  if (h->rank > 2 && h->by_columns)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "has %d dimensions in Fortran order", h->rank),
                   "numpy.ascontiguousarray(array) has them in C order");
  dm_axes axes = {.count = h->rank};
  memcpy(axes.extent, h->dims, (size_t)h->rank * sizeof h->dims[0]);
  find->by_columns = h->by_columns && h->rank == 2;
  DM_TRY(dm_complex_find(trust, -1, &axes, find, axis));
  if (*axis == DM_COMPLEX_NONE) return dm_examine_lay(trust, &axes, find);
  if (find->by_columns)
    return dm_hint(dm_fail_at(DM_E_INPUT, at, "is in Fortran order, and has no complex axis"),
                   "numpy.ascontiguousarray(array) has it in C order");
  dm_trust reals = *trust;
  reals.any_shape = true;
  return dm_examine_lay(&reals, &axes, find);
}

static dm_status check_bytes(int64_t offset, dm_dataset *find) {
  int64_t bytes = 0;
  dm_status status = dm_bytes_of(find->rows, find->cols, dm_dtype_size(find->dtype), &bytes);
  if (status) {
    dm_status_free(status);
    return dm_fail_at(DM_E_INPUT, &find->at, "declares more bytes than 64 bits can count");
  }
  const int64_t stored = find->file_bytes - offset;
  if (stored < bytes) /* NumPy does not look at what follows */
    return dm_fail_at(DM_E_INPUT, &find->at, "declares %lld bytes and stores %lld: was it cut off?",
                      (long long)bytes, (long long)stored);
  find->layout = DM_CONTIGUOUS;
  find->offset = offset;
  find->stored_bytes = bytes;
  return DM_OK;
}

/* Reads the header as text; *offset is where the elements start. */
static dm_status npy_read_header(const dm_location *at, int fd, char text[HEADER_LIMIT + 1],
                                 int64_t *offset) {
  unsigned char first[NPY_MAGIC + 6] = {0};
  if (dm_file_read_at(fd, first, sizeof first, 0) < (int64_t)sizeof first)
    return dm_fail_at(DM_E_INPUT, at, "is cut off in its header");
  const int version = first[NPY_MAGIC], wide = version > 1 ? 4 : 2;
  if (version < 1 || version > 3 || first[NPY_MAGIC + 1] != 0)
    return dm_fail_at(DM_E_INPUT, at, "is of version %d.%d of NumPy's format; 1.0 to 3.0 are read",
                      version, first[NPY_MAGIC + 1]);
  int64_t length = 0;
  for (int i = wide - 1; i >= 0; i--) length = length << 8 | first[NPY_MAGIC + 2 + i];
  if (length > HEADER_LIMIT)
    return dm_fail_at(DM_E_INPUT, at, "has a header of %lld bytes", (long long)length);
  *offset = NPY_MAGIC + 2 + wide + length;
  if (dm_file_read_at(fd, text, length, NPY_MAGIC + 2 + wide) != length)
    return dm_fail_at(DM_E_INPUT, at, "is cut off in its header");
  text[length] = '\0';
  return strlen(text) == (size_t)length
             ? DM_OK
             : dm_fail_at(DM_E_INPUT, at, "has a header that is not text");
}

static dm_status npy_examine(int fd, const dm_trust *trust, dm_dataset *find) {
  DM_FREED char *text = NULL;
  const dm_location *at = &find->at;
  npy_header h = {.rank = 0};
  int64_t offset = 0;
  if (at->dataset[0])
    return dm_fail_at(DM_E_INPUT, at, "is a .npy file, whose one array has no name");
  DM_TRY(dm_buffer_table(HEADER_LIMIT + 1, &text));
  DM_TRY(npy_read_header(at, fd, text, &offset));
  if (strstr(text, "[("))
    return dm_fail_at(DM_E_INPUT, at, "its elements are records of NumPy, not numbers");
  if (!npy_take_all(text, &h))
    return dm_fail_at(DM_E_INPUT, at, "has a header that NumPy does not write");
  DM_TRY(npy_check_type(at, h.type, &find->dtype, &find->swapped));
  dm_complex_axis axis;
  DM_TRY(npy_check_shape(&h, trust, find, &axis));
  DM_TRY(check_bytes(offset, find));
  const dm_axes axes = dm_dataset_axes(find);
  return axis == DM_COMPLEX_NONE ? DM_OK : dm_complex_lay(trust, &axes, axis, find);
}

const dm_format dm_format_npy = {.name = "npy", .is = is_npy, .examine = npy_examine};
