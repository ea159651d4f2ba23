/* What stands beside the numbers of a dataset: applies the table of conventions. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "dataset/hdf5_has.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "inspect/examine_meaning_impl.h"

/* ---- telling ---- */

dm_status dm_meaning_refuse(dm_examined *e) {
  char says[DM_MARK_TEXT + 80] = "";
  if (e->row->mark.value && e->row->mark.value[0] == '!')
    snprintf(says, sizeof says, " (%.60s = '%s')", e->sign->name, e->sign->text);
  dm_status status = dm_fail_at(DM_E_INPUT, e->at, "refused: %s%s", e->row->means, says);
  return dm_hint(status, "%s%s--raw takes the stored numbers", e->row->remedy ? e->row->remedy : "",
                 e->row->remedy ? "; " : "");
}

static dm_status meaning_refuse_if_true(dm_examined *e) {
  bool is;
  DM_TRY(dm_attribute_is_true(e->at, e->sign->object, e->sign->name, &is));
  return is ? dm_meaning_refuse(e) : DM_OK;
}

static dm_status meaning_refuse_if_any_0(dm_examined *e) {
  dm_number list[DM_MISSING_VALUES];
  int count;
  bool any = false;
  DM_TRY(dm_attribute_numbers(e->at, e->sign->object, e->sign->name, list, &count));
  for (int i = 0; i < count; i++) any |= list[i].real == 0.0;
  return any ? dm_meaning_refuse(e) : DM_OK;
}

static dm_status meaning_refuse_unless_empty(dm_examined *e) {
  dm_number first;
  dm_said said;
  DM_TRY(dm_beside_numbers(e->beside, &e->row->mark, e->sign, 1, &first, &said));
  return said == DM_SAID_NOTHING ? DM_OK : dm_meaning_refuse(e);
}

/* Refuses masks of complex numbers, and very large ones. */
static dm_status meaning_missing_masked(dm_examined *e) {
  dm_meaning *m = &e->find->meaning;
  const int64_t elements = e->find->rows * e->find->cols;
  const bool can = !dm_dtype_is_complex(e->find->dtype) && e->find->layout != DM_VIRTUAL;
  bool is_mask, any;
  uint64_t *bits = NULL;
  DM_TRY(dm_beside_is_mask(e->beside, e->sign, &is_mask));
  if (!is_mask) return DM_OK;
  DM_TRY(dm_beside_any_true(e->beside, e->sign, elements, can ? &bits : NULL, &any));
  if (any && !bits) return dm_meaning_refuse(e);
  if (!any) return DM_OK;
  m->active = m->found = true;
  m->mask = (dm_mask){.words = dm_mask_words(elements), .bits = bits};
  dm_meaning_add(m->text, "missing: where '%.80s' beside it is true", e->sign->name);
  return DM_OK;
}

static dm_status meaning_warn_if_masked(dm_examined *e) {
  bool is_mask, any;
  if (e->find->meaning.mask.words > 0) return DM_OK; /* one is applied */
  DM_TRY(dm_beside_is_mask(e->beside, e->sign, &is_mask));
  if (!is_mask) return DM_OK;
  DM_TRY(dm_beside_any_true(e->beside, e->sign, 0, NULL, &any));
  if (any) dm_meaning_add(e->find->meaning.warning, "%s ('%.80s')", e->row->means, e->sign->name);
  return DM_OK;
}

/* It was done when the matrix was laid. */
static dm_status meaning_is_complex(dm_examined *e) {
  (void)e;
  return DM_OK;
}

/* More numbers than are read. */
static dm_status meaning_is_long_list(const dm_examined *e, bool *is) {
  H5T_class_t kind;
  DM_TRY(dm_h5_attribute_class(e->at, e->sign->object, e->sign->name, &kind));
  *is = kind == H5T_INTEGER || kind == H5T_FLOAT;
  if (*is)
    dm_meaning_add(e->find->meaning.warning, "attribute %s, a list, is not applied", e->sign->name);
  return DM_OK;
}

/* Numbers other than NEUTRAL (1 for factors, 0 for shifts), which may or may not concern the
 * stored ones: warns. */
static dm_status meaning_doubts(const dm_examined *e, double neutral, bool *doubtful) {
  dm_number list[DM_MISSING_VALUES];
  int count, i = 0;
  DM_TRY(dm_attribute_numbers(e->at, e->sign->object, e->sign->name, list, &count));
  if (count == DM_NO_NUMBERS) return meaning_is_long_list(e, doubtful);
  while (i < count && !(list[i].real != neutral && fabs(list[i].real) <= 0x1p1000)) i++;
  *doubtful = i < count;
  if (*doubtful)
    dm_meaning_add(e->find->meaning.warning, "attribute %s = %.6g%s is not applied", e->sign->name,
                   list[i].real, count > 1 ? ", ..." : "");
  return DM_OK;
}

static dm_status meaning_refuse_unless(dm_examined *e, double neutral) {
  bool doubtful;
  DM_TRY(meaning_doubts(e, neutral, &doubtful));
  return doubtful && dm_dtype_is_integer(e->find->dtype) ? dm_meaning_refuse(e) : DM_OK;
}

static dm_status meaning_refuse_unless_1(dm_examined *e) {
  return meaning_refuse_unless(e, 1.0);
}

static dm_status meaning_refuse_unless_0(dm_examined *e) {
  return meaning_refuse_unless(e, 0.0);
}

static dm_status meaning_warn_unless_1(dm_examined *e) {
  bool doubtful;
  return meaning_doubts(e, 1.0, &doubtful);
}

static dm_status meaning_warn_unless_0(dm_examined *e) {
  bool doubtful;
  return meaning_doubts(e, 0.0, &doubtful);
}

static dm_status meaning_warn_of_number(dm_examined *e) {
  bool doubtful;
  return meaning_doubts(e, (double)NAN, &doubtful);
}

/* Texts beside integers. */
static dm_status meaning_warn_of_texts(dm_examined *e) {
  H5T_class_t kind;
  DM_TRY(dm_h5_attribute_class(e->at, e->sign->object, e->sign->name, &kind));
  if (kind == H5T_STRING) dm_meaning_add(e->find->meaning.warning, "%s", e->row->means);
  return DM_OK;
}

/* CF's "days since 2000-01-01". */
static dm_status meaning_warn_of_times(dm_examined *e) {
  char text[DM_MARK_TEXT] = "";
  bool is_text;
  DM_TRY(dm_h5_text_of(e->at, e->sign->object, e->sign->name, text, sizeof text, &is_text));
  if (strstr(text, " since "))
    dm_meaning_add(e->find->meaning.warning, "%s ('%.30s')", e->row->means, text);
  return DM_OK;
}

/* ---- applying the table ---- */

static dm_meaning_act *const meaning_acts[DM_DEEDS] = {
    [DM_REFUSE] = dm_meaning_refuse,
    [DM_REFUSE_IF_TRUE] = meaning_refuse_if_true,
    [DM_REFUSE_IF_ANY_0] = meaning_refuse_if_any_0,
    [DM_REFUSE_UNLESS_1] = meaning_refuse_unless_1,
    [DM_REFUSE_UNLESS_0] = meaning_refuse_unless_0,
    [DM_REFUSE_UNLESS_EMPTY] = meaning_refuse_unless_empty,
    [DM_MISSING_MASKED] = meaning_missing_masked,
    [DM_IS_COMPLEX] = meaning_is_complex,
    [DM_OTHER_SIGN] = dm_meaning_other_sign,
    [DM_UNPACK] = dm_meaning_unpack,
    [DM_UNPACK_HDF4] = dm_meaning_unpack_hdf4,
    [DM_APPLY] = dm_meaning_apply_line,
    [DM_APPLY_ONE] = dm_meaning_apply_one,
    [DM_APPLY_PAIR] = dm_meaning_apply_pair,
    [DM_APPLY_MORE] = dm_meaning_apply_more,
    [DM_APPLY_EXTREMES] = dm_meaning_apply_extremes,
    [DM_MISSING_ARE] = dm_meaning_missing,
    [DM_MISSING_THESE] = dm_meaning_missing_these,
    [DM_MISSING_DEFAULT] = dm_meaning_missing_default,
    [DM_MISSING_DEFAULT_SET] = dm_meaning_missing_default_set,
    [DM_MISSING_SMALLEST] = dm_meaning_missing_smallest,
    [DM_VALID] = dm_meaning_valid,
    [DM_WARN_UNLESS_1] = meaning_warn_unless_1,
    [DM_WARN_UNLESS_0] = meaning_warn_unless_0,
    [DM_WARN_OF_NUMBER] = meaning_warn_of_number,
    [DM_WARN_OF_TEXTS] = meaning_warn_of_texts,
    [DM_WARN_OF_TIMES] = meaning_warn_of_times,
    [DM_WARN_IF_MASKED] = meaning_warn_if_masked,
};

static bool meaning_is_of(dm_only only, dm_dtype type) {
  switch (only) {
  case DM_INTEGERS:
    return dm_dtype_is_integer(type);
  case DM_BYTES:
    return type == DM_I8 || type == DM_U8;
  case DM_WORDS:
    return type == DM_U16;
  case DM_SINGLES:
    return type == DM_F32;
  default:
    return true;
  }
}

/* Whether a row that was there names ATTRIBUTE of the dataset. */
static bool meaning_is_used(const dm_examined *e, const char *attribute) {
  for (int i = 0; i < dm_conventions_count; i++)
    if (e->fired[i] && dm_conventions[i].mark.place == DM_ON_DATASET &&
        dm_beside_is_one_of(dm_conventions[i].mark.names, attribute))
      return true;
  return false;
}

static dm_status meaning_apply_row(dm_examined *e, const dm_convention *row) {
  dm_sign sign, also;
  if (row->mark.place == DM_ON_DATASET_AS || !meaning_is_of(row->only, e->find->dtype) ||
      (row->called && !dm_beside_is_one_of(row->called, dm_beside_name(e->beside))))
    return DM_OK;
  DM_TRY(dm_beside_find(e->beside, &row->mark, -1, &sign));
  if (!sign.is || (row->mark.place == DM_ON_DATASET && meaning_is_used(e, sign.name))) {
    dm_sign_close(&sign);
    return DM_OK;
  }
  dm_status status = dm_beside_find(e->beside, &row->also, -1, &also);
  if (!status && also.is) {
    e->fired[row - dm_conventions] = true;
    e->row = row;
    e->sign = &sign;
    status = meaning_acts[row->deed](e);
  }
  dm_sign_close(&also);
  dm_sign_close(&sign);
  return status;
}

/* A dm_h5_visit for a dm_examined: applies the first row of DM_ON_DATASET_AS that NAME is like. */
static dm_status meaning_liken(void *context, hid_t set, const char *name) {
  dm_examined *e = context;
  dm_sign sign = {.is = true, .object = set};
  char plain[DM_MARK_TEXT];
  snprintf(sign.name, sizeof sign.name, "%s", name);
  dm_beside_plain(name, plain);
  for (int i = 0; i < dm_conventions_count; i++) {
    const dm_convention *row = &dm_conventions[i];
    if (row->mark.place != DM_ON_DATASET_AS || !meaning_is_of(row->only, e->find->dtype) ||
        !dm_beside_is_like(row->mark.names, plain))
      continue;
    if (meaning_is_used(e, name)) return DM_OK;
    e->row = row;
    e->sign = &sign;
    return meaning_acts[row->deed](e);
  }
  return DM_OK;
}

static dm_status meaning_apply_table(dm_examined *e) {
  for (int i = 0; i < dm_conventions_count; i++) DM_TRY(meaning_apply_row(e, &dm_conventions[i]));
  return e->beside->level[0].bare ? DM_OK : dm_h5_each_attribute(e->at, e->set, meaning_liken, e);
}

/* What STATUS, that attributes cannot be read, is to the user. */
static dm_status meaning_hint_at_raw(dm_status status) {
  char before[sizeof status->hint];
  if (!status || status->code != DM_E_IO) return status;
  memcpy(before, status->hint, sizeof before);
  return dm_hint(status,
                 "scale_factor, _FillValue and their like say what its numbers mean; --raw takes "
                 "the stored numbers%s%s",
                 before[0] ? "; " : "", before);
}

dm_status dm_examine_meaning(const dm_trust *trust, int64_t file, int64_t set, dm_dataset *find) {
  char warning[DM_MEANING_TEXT]; /* of how it is stored */
  memcpy(warning, find->meaning.warning, sizeof warning);
  find->meaning = (dm_meaning){.missing = trust->missing, .type = find->dtype};
  memcpy(find->meaning.warning, warning, sizeof warning);
  if (trust->raw) return dm_examine_stated(trust, find);
  DM_FREED dm_beside *beside = NULL;
  DM_TRY(dm_buffer_table(1, &beside));
  dm_examined e = {.at = &find->at, .beside = beside, .file = file, .set = set, .find = find};
  dm_status status = dm_beside_start(trust, &find->at, file, set, beside);
  if (!status) status = meaning_apply_table(&e);
  dm_beside_end(beside);
  status = meaning_hint_at_raw(status);
  return status ? status : dm_examine_stated(trust, find);
}

/* ---- what the user states ---- */

/* The user's own number, exact if it is whole. */
static dm_number stated_number(const char *text) {
  dm_number n = {.real = 0.0};
  char copy[DM_MISSING_TEXT], *end;
  snprintf(copy, sizeof copy, "%s", text);
  (void)dm_number_of_text(copy, &n);
  errno = 0;
  const long long whole = strtoll(text, &end, 10);
  if (*end == '\0' && errno == 0)
    return (dm_number){.real = (double)whole, .integer = whole, .is_integer = true};
  errno = 0;
  const unsigned long long large = strtoull(text, &end, 10);
  if (*end == '\0' && errno == 0 && text[0] != '-') /* at least 2^63 */
    n = (dm_number){
        .real = (double)large, .integer = (int64_t)large, .is_integer = true, .is_unsigned = true};
  return n;
}

dm_status dm_examine_stated(const dm_trust *trust, dm_dataset *find) {
  dm_meaning *m = &find->meaning;
  const dm_examined e = {.at = &find->at, .find = find};
  const bool silent = !m->active, is_complex = dm_dtype_is_complex(find->dtype);
  if (find->layout == DM_VIRTUAL) return DM_OK; /* its sources are stored numbers */
  if (silent) m->type = find->dtype;
  if (trust->missing_value[0] && !m->found) {
    const dm_number n = stated_number(trust->missing_value);
    if (is_complex && !isnan(n.real))
      return dm_fail_at(DM_E_INPUT, &find->at, "--missing-value %s names no complex number",
                        trust->missing_value);
    double real;
    int64_t whole;
    if (!is_complex && !dm_meaning_as_stored(find, &n, &real, &whole))
      return dm_fail_at(DM_E_INPUT, &find->at,
                        "--missing-value %s cannot occur among numbers of type %s",
                        trust->missing_value, dm_dtype_name(find->dtype));
    if (!is_complex) DM_TRY(dm_meaning_add_missing(&e, &n, "--missing-value"));
    m->nan |= is_complex;
  }
  if ((trust->nan && !dm_dtype_is_integer(find->dtype)) || (is_complex && m->nan)) {
    if (!m->nan || is_complex) dm_meaning_add(m->text, "missing: nan");
    m->active = m->nan = m->found = true;
  }
  m->asked = silent && m->active;
  return DM_OK;
}
