/* Packed numbers: their signs, factors and shifts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buffer.h"
#include "dataset/hdf5_type.h"
#include "dataset/hdf5_use.h"
#include "inspect/examine_meaning_impl.h"

enum { EXAMINE_MEANING_WORD = 64 };

dm_status dm_meaning_other_sign(dm_examined *e) {
  dm_meaning *m = &e->find->meaning;
  const dm_dtype type = e->find->dtype;
  m->other_sign = dm_dtype_is_signed(type);
  if (!m->other_sign) return DM_OK;
  m->active = true;
  m->type = dm_meaning_number(m, type);
  dm_meaning_add(m->text, "meant as %s (%s)", dm_dtype_name(m->type), e->sign->name);
  return DM_OK;
}

/* value = scale * stored + offset, or scale * (stored + offset) if SHIFTED. */
typedef struct meaning_line {
  dm_number scale, offset;
  bool shifted;
} meaning_line;

static const meaning_line meaning_identity = {
    {.real = 1.0, .is_single = true}, {.is_single = true}, false};

/* The type of values whose factors are SINGLE. */
static dm_dtype meaning_type(dm_dtype stored, bool single) {
  const bool wide = dm_dtype_is_integer(stored) && dm_dtype_size(stored) > 2;
  return !single || stored == DM_F64 || wide ? DM_F64 : DM_F32;
}

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

/* NUMBER, unless it is absent, is number WHICH of the mark of E's row. */
static dm_status meaning_read(const dm_examined *e, int which, dm_number *number) {
  dm_sign sign;
  dm_said said = DM_SAID_NOTHING;
  dm_number n = *number;
  DM_TRY(dm_beside_find(e->beside, &e->row->mark, which, &sign));
  dm_status status =
      sign.is ? dm_beside_numbers(e->beside, &e->row->mark, &sign, 1, &n, &said) : DM_OK;
  const bool beside = e->row->mark.place == DM_BESIDE;
  if (!status && said == DM_SAID_SEVERAL && beside) status = meaning_refuse_several(e, sign.name);
  if (!status && (said > DM_SAID_ONE || (said == DM_SAID_ONE && !isfinite(n.real))))
    status = dm_meaning_not_understood(e, sign.name);
  if (!status && said == DM_SAID_ONE) *number = n;
  dm_sign_close(&sign);
  return status;
}

static dm_status meaning_read_both(const dm_examined *e, meaning_line *l) {
  *l = meaning_identity;
  DM_TRY(meaning_read(e, 0, &l->scale));
  return meaning_read(e, 1, &l->offset);
}

static void meaning_tell_line(dm_meaning *m) {
  char shift[EXAMINE_MEANING_WORD] = "";
  if (m->offset != 0.0)
    snprintf(shift, sizeof shift, " %c %.9g", m->offset < 0.0 ? '-' : '+', fabs(m->offset));
  if (m->shifted)
    dm_meaning_add(m->text, "packed: value = %.9g * (stored%s), in %s", m->scale, shift,
                   dm_dtype_name(m->type));
  else
    dm_meaning_add(m->text, "packed: value = %.9g * stored%s, in %s", m->scale, shift,
                   dm_dtype_name(m->type));
}

static dm_status meaning_refuse_two(const dm_examined *e) {
  return dm_hint(dm_fail_at(DM_E_INPUT, e->at,
                            "refused: two conventions say what its numbers mean, and differ: %s; "
                            "and %s, with other numbers",
                            e->find->meaning.text, e->row->means),
                 "--raw takes the stored numbers");
}

static dm_status meaning_set_line(const dm_examined *e, const meaning_line *l) {
  dm_meaning *m = &e->find->meaning;
  const dm_dtype type = e->find->dtype;
  if (dm_dtype_is_complex(type)) return dm_meaning_not_understood(e, e->row->mark.names);
  if (m->packed && m->slices.count == 0 && m->scale == l->scale.real &&
      m->offset == l->offset.real && m->shifted == l->shifted)
    return DM_OK;
  if (m->packed) return meaning_refuse_two(e);
  m->active = m->packed = true;
  m->shifted = l->shifted;
  m->scale = l->scale.real;
  m->offset = l->offset.real;
  m->type = meaning_type(type, l->scale.is_single && l->offset.is_single);
  meaning_tell_line(m);
  return DM_OK;
}

/* As netCDF4-python, integers become floats even where nothing changes. */
dm_status dm_meaning_unpack(dm_examined *e) {
  meaning_line l;
  DM_TRY(meaning_read_both(e, &l));
  if (meaning_is_identity(&l) && !dm_dtype_is_integer(e->find->dtype)) return DM_OK;
  return meaning_set_line(e, &l);
}

dm_status dm_meaning_unpack_hdf4(dm_examined *e) {
  meaning_line l;
  DM_TRY(meaning_read_both(e, &l));
  l.shifted = l.offset.real != 0.0;
  l.offset.real = l.shifted ? -l.offset.real : 0.0;
  return meaning_is_identity(&l) ? DM_OK : meaning_set_line(e, &l);
}

dm_status dm_meaning_apply_line(dm_examined *e) {
  meaning_line l;
  DM_TRY(meaning_read_both(e, &l));
  return meaning_is_identity(&l) ? DM_OK : meaning_set_line(e, &l);
}

/* ---- factors that differ between slices or channels ---- */

static dm_status meaning_misfits(const dm_examined *e, const char *name, int64_t count) {
  char shape[DM_SHAPE_TEXT];
  const dm_axes axes = dm_dataset_axes(e->find);
  return dm_hint(dm_fail_at(DM_E_INPUT, e->at,
                            "refused: '%.80s' has %lld numbers, which are not one or two for each "
                            "of its slices or channels, or not finite; its shape is %s",
                            name, (long long)count, dm_axes_text(&axes, shape)),
                 "write the unpacked values as a dataset of their own; --raw takes the stored "
                 "numbers");
}

/* The numbers of the dataset beside that is name WHICH of the mark of E's row, or STANDARD, if
 * there is none. The caller frees them, also after an error. */
static dm_status meaning_read_list(const dm_examined *e, int which, double standard,
                                   dm_beside_list *list) {
  dm_sign sign;
  DM_TRY(dm_beside_find(e->beside, &e->row->mark, which, &sign));
  dm_status status = sign.is ? dm_beside_numbers_all(e->beside, &sign, list) : DM_OK;
  dm_sign_close(&sign);
  if (status || list->count > 0) return status;
  free(list->number);
  DM_TRY(dm_buffer_table(1, &list->number));
  list->number[0] = standard;
  list->count = 1;
  return DM_OK;
}

/* COUNT pairs of a factor and a shift in the order of the elements along AXIS and the next, AXES in
 * all: equal numbers of them share one. Takes over PAIR, also after an error. NAME has them. */
static dm_status meaning_set_slices(const dm_examined *e, int axis, int axes, int64_t count,
                                    double *pair, bool single, const char *name) {
  dm_meaning *m = &e->find->meaning;
  const dm_axes of = dm_dataset_axes(e->find);
  int64_t extent = 1;
  bool fits = count > 0 && axis >= 0 && axes > 0 && axis + axes <= of.count;
  for (int i = axis; fits && i < axis + axes; i++) extent *= of.extent[i];
  fits = fits && extent >= count && extent % count == 0;
  for (int64_t i = 0; fits && i < 2 * count; i++) fits = isfinite(pair[i]);
  if (!fits || dm_dtype_is_complex(e->find->dtype)) {
    free(pair);
    return meaning_misfits(e, name, count);
  }
  m->active = m->packed = true;
  m->scale = 1.0;
  m->offset = 0.0;
  m->type = meaning_type(e->find->dtype, single);
  m->slices =
      (dm_slices){.count = count, .each = extent / count, .axis = axis, .axes = axes, .pair = pair};
  dm_meaning_add(m->text,
                 "packed: value = factor * stored + shift, a pair for each of %lld parts "
                 "(%s), in %s",
                 (long long)count, name, dm_dtype_name(m->type));
  return DM_OK;
}

/* *is: a text that is no number. */
static dm_status meaning_is_text(const dm_examined *e, bool *is) {
  dm_number list[DM_MISSING_VALUES];
  char text[EXAMINE_MEANING_WORD];
  int count;
  *is = false;
  if (e->row->mark.place == DM_BESIDE) return DM_OK;
  DM_TRY(dm_attribute_numbers(e->at, e->sign->object, e->sign->name, list, &count));
  if (count != DM_NO_NUMBERS) return DM_OK;
  return dm_h5_text_of(e->at, e->sign->object, e->sign->name, text, sizeof text, is);
}

/* NeXus has said both, that the shift comes first and that it comes last. */
dm_status dm_meaning_apply_one(dm_examined *e) {
  meaning_line l;
  bool is_text;
  DM_TRY(meaning_is_text(e, &is_text));
  if (is_text) return DM_OK; /* the time to which numbers are relative */
  DM_TRY(meaning_read_both(e, &l));
  if (meaning_is_identity(&l)) return DM_OK;
  if (l.scale.real == 1.0 || l.offset.real == 0.0) return meaning_set_line(e, &l);
  return dm_hint(dm_fail_at(DM_E_INPUT, e->at,
                            "refused: it has both a factor, %.9g, and a shift, %.9g: which comes "
                            "first is not clear",
                            l.scale.real, l.offset.real),
                 "write the unpacked values as a dataset of their own; --raw takes the stored "
                 "numbers");
}

/* Each granule of VIIRS has a pair; they follow each other along the first axis. */
dm_status dm_meaning_apply_pair(dm_examined *e) {
  dm_number pair[2];
  dm_beside_list list;
  dm_said said;
  DM_TRY(dm_beside_numbers(e->beside, &e->row->mark, e->sign, 2, pair, &said));
  if (said == DM_SAID_NOTHING) return DM_OK;
  if (said == DM_SAID_SEVERAL) {
    if (e->find->meaning.packed) return meaning_refuse_two(e);
    DM_TRY(dm_beside_numbers_all(e->beside, e->sign, &list));
    return meaning_set_slices(e, 0, 1, list.count / 2, list.number, list.is_single, e->sign->name);
  }
  if (said == DM_SAID_OTHER || !isfinite(pair[0].real) || !isfinite(pair[1].real))
    return dm_meaning_not_understood(e, e->sign->name);
  const meaning_line l = {pair[0], pair[1], false};
  return meaning_is_identity(&l) ? DM_OK : meaning_set_line(e, &l);
}

/* The axis of the channels: an attribute of their factors says so; NWB's schema has the second. */
static dm_status meaning_channel_axis(const dm_examined *e, int *axis) {
  dm_number list[DM_MISSING_VALUES];
  int count;
  DM_TRY(dm_attribute_numbers(e->at, e->sign->object, "axis", list, &count));
  *axis = count == DM_NO_ATTRIBUTE                                    ? 1
          : count == 1 && list[0].real >= 0 && list[0].real < DM_AXES ? (int)list[0].real
                                                                      : -1;
  return DM_OK;
}

/* value = scale * factor * stored + offset, with a factor for each channel */
static dm_status meaning_apply_channels(const dm_examined *e) {
  const dm_meaning *m = &e->find->meaning;
  const dm_axes axes = dm_dataset_axes(e->find);
  DM_FREED double *factor = NULL;
  double *pair = NULL;
  dm_beside_list list;
  int axis;
  DM_TRY(meaning_channel_axis(e, &axis));
  dm_status status = dm_beside_numbers_all(e->beside, e->sign, &list);
  factor = list.number;
  if (!status && (axis < 0 || axis >= axes.count || axes.extent[axis] != list.count))
    status = meaning_misfits(e, e->sign->name, list.count);
  DM_TRY(status);
  DM_TRY(dm_buffer_table(2 * list.count, &pair));
  for (int64_t i = 0; i < list.count; i++) {
    pair[2 * i] = factor[i] * (m->packed ? m->scale : 1.0);
    pair[2 * i + 1] = m->packed ? m->offset : 0.0;
  }
  return meaning_set_slices(e, axis, 1, list.count, pair, false, e->sign->name);
}

dm_status dm_meaning_apply_more(dm_examined *e) {
  dm_meaning *m = &e->find->meaning;
  dm_number factor;
  dm_said said;
  DM_TRY(dm_beside_numbers(e->beside, &e->row->mark, e->sign, 1, &factor, &said));
  if (said == DM_SAID_SEVERAL) return meaning_apply_channels(e);
  meaning_line l = meaning_identity;
  DM_TRY(meaning_read(e, 0, &l.scale));
  if (l.scale.real == 1.0) return DM_OK;
  if (!m->packed) return meaning_set_line(e, &l);
  m->scale *= l.scale.real;
  m->type = DM_F64;
  dm_meaning_add(m->text, "times %.9g (%s)", l.scale.real, e->row->mark.names);
  return DM_OK;
}

/* RANGE of the stored numbers, for which the extremes of the values stand. */
static dm_status meaning_stored_range(const dm_examined *e, double range[2]) {
  dm_number list[DM_MISSING_VALUES];
  const dm_dtype type = e->find->dtype;
  const int bits = 8 * (int)dm_dtype_size(type);
  const bool is_signed = dm_dtype_is_signed(type);
  int count;
  DM_TRY(dm_attribute_numbers(e->at, e->set, "valid_range", list, &count));
  range[0] = is_signed ? -ldexp(1.0, bits - 1) : 0.0;
  range[1] = ldexp(1.0, bits - is_signed) - 1.0;
  for (int i = 0; i < 2 && count == 2; i++) range[i] = list[i].real;
  return (count == 2 || count == DM_NO_ATTRIBUTE) && range[0] < range[1]
             ? DM_OK
             : dm_meaning_not_understood(e, "valid_range");
}

/* Makes the numbers of EXTREMES, those of slices or one for all, COUNT pairs that map RANGE. */
static void meaning_map_range(const dm_beside_list extremes[2], const double range[2],
                              int64_t count, double *pair) {
  for (int64_t i = 0; i < count; i++) {
    const double high = extremes[0].number[extremes[0].count == 1 ? 0 : i];
    const double low = extremes[1].number[extremes[1].count == 1 ? 0 : i];
    pair[2 * i] = (high - low) / (range[1] - range[0]);
    pair[2 * i + 1] = low - range[0] * pair[2 * i];
  }
}

/* Whether LIST has one number, or COUNT in the shape of the first AXES of E. */
static bool meaning_is_of_slices(const dm_examined *e, const dm_beside_list *list, int axes,
                                 int64_t count) {
  const dm_axes of = dm_dataset_axes(e->find);
  if (list->count == 1) return true;
  bool is = list->count == count && list->rank == axes && axes <= of.count;
  for (int i = 0; is && i < axes; i++) is = list->extent[i] == of.extent[i];
  return is;
}

static dm_status meaning_apply_slices(const dm_examined *e, const dm_beside_list extremes[2],
                                      const double range[2], const char *name) {
  const dm_beside_list *most = &extremes[extremes[1].count > extremes[0].count];
  double *pair = NULL;
  for (int i = 0; i < 2; i++)
    if (!meaning_is_of_slices(e, &extremes[i], most->rank, most->count))
      return meaning_misfits(e, name, most->count);
  DM_TRY(dm_buffer_table(2 * most->count, &pair));
  meaning_map_range(extremes, range, most->count, pair);
  return meaning_set_slices(e, 0, most->rank, most->count, pair, false, name);
}

static bool meaning_are_alike(const dm_beside_list *list) {
  for (int64_t i = 1; i < list->count; i++)
    if (list->number[i] != list->number[0]) return false;
  return true;
}

static dm_status meaning_apply_both(dm_examined *e, const dm_beside_list extremes[2]) {
  double range[2], pair[2];
  DM_TRY(meaning_stored_range(e, range));
  if (!meaning_are_alike(&extremes[0]) || !meaning_are_alike(&extremes[1]))
    return e->find->meaning.packed ? meaning_refuse_two(e)
                                   : meaning_apply_slices(e, extremes, range, e->sign->name);
  meaning_map_range(extremes, range, 1, pair);
  const meaning_line l = {{.real = pair[0]}, {.real = pair[1]}, false};
  if (!isfinite(pair[0]) || !isfinite(pair[1])) return dm_meaning_not_understood(e, e->sign->name);
  return meaning_is_identity(&l) ? DM_OK : meaning_set_line(e, &l);
}

dm_status dm_meaning_apply_extremes(dm_examined *e) {
  dm_beside_list extremes[2] = {{.number = NULL}, {.number = NULL}};
  dm_status status = meaning_read_list(e, 0, 1.0, &extremes[0]);
  if (!status) status = meaning_read_list(e, 1, 0.0, &extremes[1]);
  if (!status) status = meaning_apply_both(e, extremes);
  for (int i = 0; i < 2; i++) free(extremes[i].number);
  return status;
}
