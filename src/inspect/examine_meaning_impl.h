/* examine_meaning_impl: what the files of examine_meaning share. */
#ifndef DM_INSPECT_EXAMINE_MEANING_IMPL_H
#define DM_INSPECT_EXAMINE_MEANING_IMPL_H

#include "inspect/beside.h"

typedef struct dm_examined {
  const dm_location *at;
  dm_beside *beside; /* NULL: only what the user states is considered */
  int64_t file, set;
  dm_dataset *find;
  bool has_fill, has_range;   /* _FillValue and valid_range were applied */
  bool fired[DM_CONVENTIONS]; /* the rows of the table that were there */
  const dm_convention *row;   /* the one that is applied */
  const dm_sign *sign;        /* its mark, as it stands there */
} dm_examined;

/* Does what E's row says. */
typedef dm_status dm_meaning_act(dm_examined *e);

/* examine_meaning_numbers.c */
dm_meaning_act dm_meaning_missing, dm_meaning_missing_these, dm_meaning_missing_default,
    dm_meaning_missing_default_set, dm_meaning_missing_smallest, dm_meaning_valid;

/* examine_meaning_factors.c */
dm_meaning_act dm_meaning_other_sign, dm_meaning_unpack, dm_meaning_unpack_hdf4,
    dm_meaning_apply_line, dm_meaning_apply_one, dm_meaning_apply_pair, dm_meaning_apply_more,
    dm_meaning_apply_extremes;

/* DM_E_INPUT, as E's row words it. */
dm_meaning_act dm_meaning_refuse;
dm_status dm_meaning_not_understood(const dm_examined *e, const char *attribute);

/* Appends to TEXT, the meaning's text or its warning. */
void dm_meaning_add(char text[DM_MEANING_TEXT], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* N is a missing number, as WHY says. */
dm_status dm_meaning_add_missing(const dm_examined *e, const dm_number *n, const char *why);

/* The stored numbers of FIND that N stands for, as they are compared; false: there are none. */
bool dm_meaning_as_stored(const dm_dataset *find, const dm_number *n, double *real, int64_t *whole);

#endif
