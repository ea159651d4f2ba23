/* Reads what marks say: numbers, and masks. */
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/hdf5_use.h"
#include "dataset/zarr.h"
#include "inspect/beside.h"

enum {
  BESIDE_MOST_NUMBERS = 1 << 16, /* of a dataset beside */
  MOST_OF_MASK = 1 << 28,        /* bytes that are looked through */
  BESIDE_AT_ONCE = 1 << 20,      /* ... if its chunks allow it, ... */
  MOST_AT_ONCE = 1 << 26         /* ... and at most */
};

/* ---- datasets beside ---- */

/* An open dataset beside, whose elements may be looked at. */
typedef struct beside_set {
  hid_t set, type, space, creation;
  int64_t count; /* of its elements */
  int rank;
  hsize_t dims[H5S_MAX_RANK];
} beside_set;

static void beside_close(beside_set *s) {
  const hid_t held[] = {s->type, s->space, s->creation};
  for (int i = 0; i < 3; i++) dm_h5_cleanup(&held[i]);
}

/* The caller closes S, also after an error. */
static dm_status beside_look(const dm_beside *b, const dm_sign *sign, beside_set *s) {
  *s = (beside_set){.set = sign->object, .type = -1, .space = -1};
  s->creation = H5Dget_create_plist(sign->object);
  const H5D_layout_t layout = s->creation < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(s->creation);
  if (layout == H5D_LAYOUT_ERROR)
    return dm_h5_fail(DM_E_IO, b->at, "'%s' beside it cannot be read", sign->name);
  /* Before HDF5 reads anything of it, which may open other files. */
  if (layout == H5D_VIRTUAL ||
      (layout == H5D_CONTIGUOUS && H5Pget_external_count(s->creation) != 0))
    return dm_hint(dm_fail_at(DM_E_INPUT, b->at,
                              "refused: '%s' beside it, which says what its numbers mean, lies in "
                              "other files",
                              sign->name),
                   "--raw takes the stored numbers");
  s->type = H5Dget_type(s->set);
  s->space = H5Dget_space(s->set);
  s->count = s->space < 0 ? -1 : (int64_t)H5Sget_simple_extent_npoints(s->space);
  s->rank = s->space < 0 ? -1 : H5Sget_simple_extent_dims(s->space, s->dims, NULL);
  if (s->type < 0 || s->count < 0 || s->rank < 0)
    return dm_h5_fail(DM_E_IO, b->at, "'%s' beside it cannot be read", sign->name);
  return DM_OK;
}

static dm_status beside_unreadable(const dm_beside *b, const dm_sign *sign) {
  if (dm_zarr_is(b->at)) { /* HDF5 only knows that it was made unreadable (zarr_mirror.c) */
    H5Eclear2(H5E_DEFAULT);
    return dm_hint(dm_fail_at(DM_E_IO, b->at,
                              "'%s' beside it, which says what its numbers mean, cannot be read",
                              sign->name),
                   "'damier info' of it says why");
  }
  return dm_h5_fail(DM_E_IO, b->at,
                    "'%s' beside it, which says what its numbers mean, cannot be read", sign->name);
}

/* ---- numbers ---- */

/* Whether the COUNT numbers in LIST repeat the first EACH. */
static dm_said beside_repeats(const double *list, int64_t count, int each) {
  if (count == 0) return DM_SAID_NOTHING;
  if (count < each || count % each != 0) return DM_SAID_OTHER;
  for (int64_t i = each; i < count; i++)
    if (list[i] != list[i - each]) return DM_SAID_SEVERAL;
  return DM_SAID_ONE;
}

/* All numbers of S, which has at most BESIDE_MOST_NUMBERS, at least one; *is: they are numbers. */
static dm_status beside_read_all(const dm_beside *b, const dm_sign *sign, const beside_set *s,
                                 double **list, bool *is, bool *is_single) {
  const H5T_class_t kind = H5Tget_class(s->type);
  *list = NULL;
  *is = kind == H5T_INTEGER || kind == H5T_FLOAT;
  *is_single = kind == H5T_FLOAT && H5Tget_size(s->type) <= 4;
  if (!*is) return DM_OK;
  DM_TRY(dm_buffer_table(dm_max(1, s->count), list));
  return s->count == 0 ||
                 H5Dread(s->set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *list) >= 0
             ? DM_OK
             : beside_unreadable(b, sign);
}

static dm_status beside_read_numbers(const dm_beside *b, const dm_sign *sign, const beside_set *s,
                                     int each, dm_number *number, dm_said *said) {
  DM_FREED double *list = NULL;
  bool is, is_single;
  *said = DM_SAID_SEVERAL;
  if (s->count > BESIDE_MOST_NUMBERS) return DM_OK;
  DM_TRY(beside_read_all(b, sign, s, &list, &is, &is_single));
  *said = is ? beside_repeats(list, s->count, each) : DM_SAID_OTHER;
  for (int i = 0; is && i < each && i < s->count; i++)
    number[i] = (dm_number){.real = list[i], .is_single = is_single};
  return DM_OK;
}

dm_status dm_beside_numbers_all(const dm_beside *b, const dm_sign *sign, dm_beside_list *list) {
  beside_set s;
  bool is = false;
  *list = (dm_beside_list){.number = NULL};
  dm_status status = beside_look(b, sign, &s);
  if (!status && s.count <= BESIDE_MOST_NUMBERS && s.rank <= DM_AXES)
    status = beside_read_all(b, sign, &s, &list->number, &is, &list->is_single);
  if (!status && !is)
    status = dm_hint(dm_fail_at(DM_E_INPUT, b->at,
                                "refused: '%.80s' beside it says what its numbers mean, but is not "
                                "a list of at most %d numbers",
                                sign->name, BESIDE_MOST_NUMBERS),
                     "--raw takes the stored numbers");
  if (!status) {
    list->count = s.count;
    list->rank = s.rank;
    for (int i = 0; i < s.rank; i++) list->extent[i] = (int64_t)s.dims[i];
  } else {
    free(list->number);
    list->number = NULL;
  }
  beside_close(&s);
  return status;
}

static dm_said beside_of_attribute(const dm_number *list, int count, int each) {
  double reals[DM_MISSING_VALUES];
  for (int i = 0; i < count; i++) reals[i] = list[i].real;
  return count < 0 ? DM_SAID_OTHER : beside_repeats(reals, count, each);
}

dm_status dm_beside_numbers(const dm_beside *b, const dm_mark *mark, const dm_sign *sign, int each,
                            dm_number *number, dm_said *said) {
  if (mark->place == DM_BESIDE) {
    beside_set s;
    dm_status status = beside_look(b, sign, &s);
    if (!status) status = beside_read_numbers(b, sign, &s, each, number, said);
    beside_close(&s);
    return status;
  }
  dm_number list[DM_MISSING_VALUES] = {sign->member};
  int count = 1;
  if (mark->place != DM_MEMBER)
    DM_TRY(dm_attribute_numbers(b->at, sign->object, sign->name, list, &count));
  *said = beside_of_attribute(list, count, each);
  for (int i = 0; i < each && i < count; i++) number[i] = list[i];
  return DM_OK;
}

/* ---- masks ---- */

dm_status dm_beside_is_mask(const dm_beside *b, const dm_sign *sign, bool *is) {
  hsize_t dims[H5S_MAX_RANK];
  beside_set s;
  *is = false;
  dm_status status = beside_look(b, sign, &s);
  DM_H5_HELD hid_t own = status ? -1 : H5Dget_space(b->level[0].object);
  const int rank = own < 0 ? -1 : H5Sget_simple_extent_dims(own, dims, NULL);
  if (!status && rank < 0) status = dm_h5_fail(DM_E_IO, b->at, "its shape cannot be read");
  if (!status) {
    const H5T_class_t kind = H5Tget_class(s.type);
    *is = (kind == H5T_INTEGER || kind == H5T_ENUM || kind == H5T_BITFIELD) &&
          (s.count == 1 || s.rank == rank);
    for (int i = 0; i < rank && *is && s.count != 1; i++) *is = s.dims[i] == dims[i];
  }
  beside_close(&s);
  return status;
}

/* Rows of S, along its first dimension, to be read at once; 0: too many bytes. */
static int64_t beside_rows(const beside_set *s, int64_t row_bytes) {
  hsize_t chunk[H5S_MAX_RANK] = {1};
  if (H5Pget_layout(s->creation) == H5D_CHUNKED && H5Pget_chunk(s->creation, s->rank, chunk) < 0)
    return 0;
  const int64_t each = chunk[0] < (hsize_t)MOST_OF_MASK ? (int64_t)chunk[0] : MOST_OF_MASK;
  const int64_t rows = each * dm_max(1, BESIDE_AT_ONCE / dm_max(1, each * row_bytes));
  return rows > MOST_AT_ONCE / dm_max(1, row_bytes) ? 0 : rows;
}

static bool beside_has_bits(const unsigned char *bytes, int64_t count) {
  unsigned char all = 0;
  for (int64_t i = 0; i < count; i++) all |= bytes[i];
  return all != 0;
}

/* Sets the bits of COUNT elements of SIZE bytes that are not 0, from FIRST on. */
static void beside_mark(const unsigned char *bytes, int64_t count, int64_t size, int64_t first,
                        uint64_t *bits) {
  for (int64_t i = 0; i < count; i++)
    bits[(first + i) / 64] |= (uint64_t)beside_has_bits(bytes + i * size, size) << (first + i) % 64;
}

/* *any: a byte of S is not 0. BITS: all zero; or NULL. */
static dm_status beside_scan(const dm_beside *b, const dm_sign *sign, const beside_set *s,
                             uint64_t *bits, bool *any) {
  const int64_t height = s->rank > 0 ? (int64_t)s->dims[0] : 1;
  const int64_t size = (int64_t)H5Tget_size(s->type), across = s->count / dm_max(1, height);
  const int64_t row = across * size;
  const int64_t rows = s->rank > 0 ? beside_rows(s, row) : 1;
  DM_FREED unsigned char *bytes = NULL;
  hsize_t start[H5S_MAX_RANK] = {0}, count[H5S_MAX_RANK];
  *any = rows == 0;
  if (*any) return DM_OK;
  DM_TRY(dm_buffer_table(dm_min(rows, height) * row, &bytes));
  memcpy(count, s->dims, sizeof count);
  for (int64_t at = 0; at < height && (bits || !*any); at += rows) {
    const int64_t now = dm_min(rows, height - at);
    start[0] = (hsize_t)at;
    count[0] = (hsize_t)now;
    DM_H5_HELD hid_t packed =
        s->rank > 0 ? H5Screate_simple(s->rank, count, NULL) : H5Screate(H5S_SCALAR);
    const bool ready =
        packed >= 0 && (s->rank == 0 || H5Sselect_hyperslab(s->space, H5S_SELECT_SET, start, NULL,
                                                            count, NULL) >= 0);
    if (!ready || H5Dread(s->set, s->type, packed, s->space, H5P_DEFAULT, bytes) < 0)
      return beside_unreadable(b, sign);
    *any |= beside_has_bits(bytes, now * row);
    if (bits) beside_mark(bytes, now * across, size, at * across, bits);
  }
  return DM_OK;
}

/* Frees *BITS, or spreads the one of an only element over all WORDS. */
static void beside_finish_bits(const beside_set *s, bool any, int64_t words, uint64_t **bits) {
  if (any && s->count == 1) memset(*bits, 0xff, (size_t)words * sizeof **bits);
  if (any) return;
  free(*bits);
  *bits = NULL;
}

dm_status dm_beside_any_true(const dm_beside *b, const dm_sign *sign, int64_t elements,
                             uint64_t **bits, bool *any) {
  const int64_t words = dm_mask_words(elements);
  beside_set s;
  dm_status status = beside_look(b, sign, &s);
  const bool large = !status && dm_max(s.count, bits ? elements : 0) > MOST_OF_MASK;
  const bool fits = bits && !large && (s.count == 1 || s.count == elements);
  *any = large;
  if (bits) *bits = NULL;
  if (!status && fits) status = dm_buffer_table(dm_max(1, words), bits);
  if (!status && !large && s.count > 0) status = beside_scan(b, sign, &s, fits ? *bits : NULL, any);
  if (fits && *bits) beside_finish_bits(&s, !status && *any, words, bits);
  beside_close(&s);
  return status;
}
