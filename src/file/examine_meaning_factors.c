/* Packed numbers: their signs, factors and shifts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "file/examine_meaning_impl.h"
#include "file/hdf5_type.h"
#include "file/hdf5_use.h"

enum { WORD = 64 };

dm_status dm_meaning_other_sign(dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  dm_meaning *m = &e->find->meaning;
  const dm_dtype type = e->find->dtype;
  (void)row;
  m->other_sign = type == DM_I8 || type == DM_I16 || type == DM_I32 || type == DM_I64;
  if (!m->other_sign) return DM_OK;
  m->active = true;
  m->type = dm_meaning_number(m, type);
  dm_meaning_add(m->text, "meant as %s (%s)", dm_dtype_name(m->type), sign->name);
  return DM_OK;
}

/* value = scale * stored + offset, or scale * (stored + offset) if SHIFTED. */
typedef struct meaning_line {
  dm_number scale, offset;
  bool shifted;
} meaning_line;

static const meaning_line meaning_identity = {
    {.real = 1.0, .is_single = true}, {.is_single = true}, false};

static bool meaning_is_identity(const meaning_line *l) {
  return l->scale.real == 1.0 && l->offset.real == 0.0;
}

static dm_status meaning_refuse_several(const dm_examined *e, const char *name) {
  return dm_hint(dm_fail_at(DM_E_INPUT, e->at,
                            "refused: '%.80s' has several numbers: one for each slice, channel or "
                            "element",
                            name),
                 "write the unpacked values as a dataset of their own; --raw takes the stored "
                 "numbers");
}

/* NUMBER, unless it is absent, is number WHICH of ROW's mark. */
static dm_status meaning_read(const dm_examined *e, const dm_convention *row, int which,
                              dm_number *number) {
  dm_sign sign;
  dm_said said = DM_SAID_NOTHING;
  dm_number n = *number;
  DM_TRY(dm_beside_find(e->beside, &row->mark, which, &sign));
  dm_status status =
      sign.is ? dm_beside_numbers(e->beside, &row->mark, &sign, 1, &n, &said) : DM_OK;
  const bool beside = row->mark.place == DM_BESIDE;
  if (!status && said == DM_SAID_SEVERAL && beside) status = meaning_refuse_several(e, sign.name);
  if (!status && (said > DM_SAID_ONE || (said == DM_SAID_ONE && !isfinite(n.real))))
    status = dm_meaning_not_understood(e, sign.name);
  if (!status && said == DM_SAID_ONE) *number = n;
  dm_sign_close(&sign);
  return status;
}

static dm_status meaning_read_both(const dm_examined *e, const dm_convention *row,
                                   meaning_line *l) {
  *l = meaning_identity;
  DM_TRY(meaning_read(e, row, 0, &l->scale));
  return meaning_read(e, row, 1, &l->offset);
}

static void meaning_tell_line(dm_meaning *m) {
  char shift[WORD] = "";
  if (m->offset != 0.0)
    snprintf(shift, sizeof shift, " %c %.9g", m->offset < 0.0 ? '-' : '+', fabs(m->offset));
  if (m->shifted)
    dm_meaning_add(m->text, "packed: value = %.9g * (stored%s), in %s", m->scale, shift,
                   dm_dtype_name(m->type));
  else
    dm_meaning_add(m->text, "packed: value = %.9g * stored%s, in %s", m->scale, shift,
                   dm_dtype_name(m->type));
}

static dm_status meaning_set_line(const dm_examined *e, const dm_convention *row,
                                  const meaning_line *l) {
  dm_meaning *m = &e->find->meaning;
  const dm_dtype type = e->find->dtype;
  const bool whole = dm_dtype_is_integer(type);
  const bool single = l->scale.is_single && l->offset.is_single;
  if (dm_dtype_is_complex(type)) return dm_meaning_not_understood(e, row->mark.names);
  if (m->packed && m->scale == l->scale.real && m->offset == l->offset.real &&
      m->shifted == l->shifted)
    return DM_OK;
  if (m->packed)
    return dm_hint(dm_fail_at(DM_E_INPUT, e->at,
                              "refused: two conventions say what its numbers mean, and differ: %s; "
                              "and %s, with other numbers",
                              m->text, row->means),
                   "--raw takes the stored numbers");
  m->active = m->packed = true;
  m->shifted = l->shifted;
  m->scale = l->scale.real;
  m->offset = l->offset.real;
  m->type = !single || type == DM_F64 || (whole && dm_dtype_size(type) > 2) ? DM_F64 : DM_F32;
  meaning_tell_line(m);
  return DM_OK;
}

/* As netCDF4-python, integers become floats even where nothing changes. */
dm_status dm_meaning_unpack(dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  meaning_line l;
  (void)sign;
  DM_TRY(meaning_read_both(e, row, &l));
  if (meaning_is_identity(&l) && !dm_dtype_is_integer(e->find->dtype)) return DM_OK;
  return meaning_set_line(e, row, &l);
}

dm_status dm_meaning_unpack_hdf4(dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  meaning_line l;
  (void)sign;
  DM_TRY(meaning_read_both(e, row, &l));
  l.shifted = l.offset.real != 0.0;
  l.offset.real = l.shifted ? -l.offset.real : 0.0;
  return meaning_is_identity(&l) ? DM_OK : meaning_set_line(e, row, &l);
}

dm_status dm_meaning_apply_line(dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  meaning_line l;
  (void)sign;
  DM_TRY(meaning_read_both(e, row, &l));
  return meaning_is_identity(&l) ? DM_OK : meaning_set_line(e, row, &l);
}

/* *is: a text that is no number. */
static dm_status meaning_is_text(const dm_examined *e, const dm_convention *row,
                                 const dm_sign *sign, bool *is) {
  dm_number list[DM_MISSING_VALUES];
  char text[WORD];
  int count;
  *is = false;
  if (row->mark.place == DM_BESIDE) return DM_OK;
  DM_TRY(dm_attribute_numbers(e->at, sign->object, sign->name, list, &count));
  if (count != DM_NO_NUMBERS) return DM_OK;
  return dm_h5_text_of(e->at, sign->object, sign->name, text, sizeof text, is);
}

/* NeXus has said both, that the shift comes first and that it comes last. */
dm_status dm_meaning_apply_one(dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  meaning_line l;
  bool is_text;
  DM_TRY(meaning_is_text(e, row, sign, &is_text));
  if (is_text) return DM_OK; /* the time to which numbers are relative */
  DM_TRY(meaning_read_both(e, row, &l));
  if (meaning_is_identity(&l)) return DM_OK;
  if (l.scale.real == 1.0 || l.offset.real == 0.0) return meaning_set_line(e, row, &l);
  return dm_hint(dm_fail_at(DM_E_INPUT, e->at,
                            "refused: it has both a factor, %.9g, and a shift, %.9g: which comes "
                            "first is not clear",
                            l.scale.real, l.offset.real),
                 "write the unpacked values as a dataset of their own; --raw takes the stored "
                 "numbers");
}

/* Each granule of VIIRS has a pair. */
dm_status dm_meaning_apply_pair(dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  dm_number pair[2];
  dm_said said;
  DM_TRY(dm_beside_numbers(e->beside, &row->mark, sign, 2, pair, &said));
  if (said == DM_SAID_NOTHING) return DM_OK;
  if (said == DM_SAID_SEVERAL) return meaning_refuse_several(e, sign->name);
  if (said == DM_SAID_OTHER || !isfinite(pair[0].real) || !isfinite(pair[1].real))
    return dm_meaning_not_understood(e, sign->name);
  const meaning_line l = {pair[0], pair[1], false};
  return meaning_is_identity(&l) ? DM_OK : meaning_set_line(e, row, &l);
}

/* value = scale * factor * stored + offset */
dm_status dm_meaning_apply_more(dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  dm_meaning *m = &e->find->meaning;
  meaning_line l = meaning_identity;
  (void)sign;
  DM_TRY(meaning_read(e, row, 0, &l.scale));
  if (l.scale.real == 1.0) return DM_OK;
  if (!m->packed) return meaning_set_line(e, row, &l);
  m->scale *= l.scale.real;
  m->type = DM_F64;
  dm_meaning_add(m->text, "times %.9g (%s)", l.scale.real, row->mark.names);
  return DM_OK;
}

/* RANGE of the stored numbers, for which the extremes of the values stand. */
static dm_status meaning_stored_range(const dm_examined *e, double range[2]) {
  dm_number list[DM_MISSING_VALUES];
  const dm_dtype type = e->find->dtype;
  const int bits = 8 * (int)dm_dtype_size(type);
  const bool is_signed = type == DM_I8 || type == DM_I16 || type == DM_I32 || type == DM_I64;
  int count;
  DM_TRY(dm_attribute_numbers(e->at, e->set, "valid_range", list, &count));
  range[0] = is_signed ? -ldexp(1.0, bits - 1) : 0.0;
  range[1] = ldexp(1.0, bits - is_signed) - 1.0;
  for (int i = 0; i < 2 && count == 2; i++) range[i] = list[i].real;
  return (count == 2 || count == DM_NO_ATTRIBUTE) && range[0] < range[1]
             ? DM_OK
             : dm_meaning_not_understood(e, "valid_range");
}

dm_status dm_meaning_apply_extremes(dm_examined *e, const dm_convention *row, const dm_sign *sign) {
  double range[2];
  dm_number high = {.real = 1.0}, low = {.real = 0.0};
  DM_TRY(meaning_read(e, row, 0, &high));
  DM_TRY(meaning_read(e, row, 1, &low));
  DM_TRY(meaning_stored_range(e, range));
  const double scale = (high.real - low.real) / (range[1] - range[0]);
  const meaning_line l = {{.real = scale}, {.real = low.real - range[0] * scale}, false};
  if (!isfinite(l.scale.real) || !isfinite(l.offset.real))
    return dm_meaning_not_understood(e, sign->name);
  return meaning_is_identity(&l) ? DM_OK : meaning_set_line(e, row, &l);
}
