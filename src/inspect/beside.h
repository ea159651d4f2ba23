/* beside: finds the marks of conventions.h around a dataset of an untrusted file: its attributes,
 * those of the groups that it is in, and what lies next to it.
 *
 * Everything is looked up by name; no group is listed. Call in the inspecting child, with the lock
 * of hdf5_use.h. */
#ifndef DM_INSPECT_BESIDE_H
#define DM_INSPECT_BESIDE_H

#include "inspect/attribute_numbers.h"
#include "inspect/conventions.h"
#include "inspect/inspect_impl.h"

enum {
  DM_LEVELS = 10,              /* the dataset, the nearest groups that it is in, and the root */
  DM_MARK_NAME = DM_PATH + 64, /* bytes of a name, */
  DM_MARK_TEXT = 64            /* and of the start of a text */
};

typedef struct dm_beside_level {
  int64_t object; /* negative: it is not open yet */
  bool bare;      /* it has no attributes */
  char path[DM_PATH];
} dm_beside_level;

typedef struct dm_beside {
  const dm_trust *trust;
  const dm_location *at;
  int64_t file;  /* that the dataset lies in */
  bool own_file; /* FILE is closed at the end: a link led into it */
  int levels;
  dm_beside_level level[DM_LEVELS];
} dm_beside;

/* What was found of a mark. */
typedef struct dm_sign {
  bool is;
  int which;               /* which of the mark's names, from 0 */
  char name[DM_MARK_NAME]; /* that name */
  char text[DM_MARK_TEXT]; /* what it says, if the mark has a value */
  int64_t object;          /* that has the attribute, or the dataset beside; or negative */
  bool own;                /* OBJECT is closed with this */
  dm_number member;        /* of DM_MEMBER: its value */
} dm_sign;

/* Begins at SET, which is open as AT of FILE. SET stays the caller's. */
dm_status dm_beside_start(const dm_trust *trust, const dm_location *at, int64_t file, int64_t set,
                          dm_beside *beside);
void dm_beside_end(dm_beside *beside);

/* Sets the path of level 0, and the file, to where links lead; to what AT states if that cannot be
 * known. */
void dm_beside_follow(dm_beside *beside);

/* Looks for MARK, whose place is not DM_ON_DATASET_AS, by the first of its names that is there; by
 * name ONLY, from 0, if that is not negative. The caller closes SIGN, also after an error. */
dm_status dm_beside_find(dm_beside *beside, const dm_mark *mark, int only, dm_sign *sign);
void dm_sign_close(dm_sign *sign);

/* What SIGN says in numbers. */
typedef enum dm_said {
  DM_SAID_NOTHING, /* it is empty */
  DM_SAID_ONE,     /* one number, or many equal ones */
  DM_SAID_SEVERAL, /* numbers that differ, or too many to be read */
  DM_SAID_OTHER    /* it is no number */
} dm_said;

/* Reads the numbers of SIGN, an attribute of any place, a dataset beside, or a member: *NUMBER is
 * the first one. EACH 2: they are pairs, in NUMBER[0] and [1], and ONE stands for equal pairs. */
dm_status dm_beside_numbers(const dm_beside *beside, const dm_mark *mark, const dm_sign *sign,
                            int each, dm_number *number, dm_said *said);

/* The numbers of the dataset of SIGN. */
typedef struct dm_beside_list {
  int64_t count;
  int rank; /* of the dataset, whose extents follow */
  int64_t extent[DM_AXES];
  double *number; /* the caller frees them */
  bool is_single; /* floats of at most 32 bits */
} dm_beside_list;

/* DM_E_INPUT: it has too many numbers or axes, or no numbers. */
dm_status dm_beside_numbers_all(const dm_beside *beside, const dm_sign *sign, dm_beside_list *list);

/* Whether the dataset of SIGN, a mask, has the shape of this one, or none. */
dm_status dm_beside_is_mask(const dm_beside *beside, const dm_sign *sign, bool *is);

/* *any: an element of the dataset of SIGN is not 0, or it is too large to be looked through. BITS
 * not NULL: *BITS is that of ELEMENTS which are not 0, as in dm_mask, if the dataset has as many or
 * one for all; NULL if there are none, or it is too large. The caller frees it. */
dm_status dm_beside_any_true(const dm_beside *beside, const dm_sign *sign, int64_t elements,
                             uint64_t **bits, bool *any);

/* Whether NAME is one of NAMES, "a|b|c". */
bool dm_beside_is_one_of(const char *names, const char *name);

/* The letters and digits of NAME, in lower case. */
void dm_beside_plain(const char *name, char plain[DM_MARK_TEXT]);

/* Whether PLAIN is one of NAMES, in which a star stands for any letters and digits. */
bool dm_beside_is_like(const char *names, const char *plain);

/* The name of the dataset in its group. */
const char *dm_beside_name(const dm_beside *beside);

#endif
