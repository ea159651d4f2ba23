/* conventions: what programs write beside the numbers of a dataset, and what is done about it: one
 * table, whose rows examine_meaning.c applies in order and docs/attributes.md lists. A new
 * convention is a row. */
#ifndef DM_INSPECT_CONVENTIONS_H
#define DM_INSPECT_CONVENTIONS_H

/* Where a mark is. */
typedef enum dm_place {
  DM_ALWAYS,        /* nowhere: it is always there */
  DM_ON_DATASET,    /* an attribute of the dataset */
  DM_ON_DATASET_AS, /* ... spelled like a name: capitals, spaces and punctuation do not count, and a
                       star stands for any letters and digits */
  DM_ON_GROUP,      /* ... of the group that it is in */
  DM_ON_ANCESTOR,   /* ... of that group or of one around it: the nearest that has it */
  DM_ON_FILE,       /* ... of the file, that is of its root */
  DM_IN_GROUP,      /* ... of the group OBJECT beside the dataset, or beside a group around it: the
                       nearest */
  DM_BESIDE,        /* a dataset in the same group */
  DM_UNDER,         /* the name of a group that the dataset is in */
  DM_MEMBER,        /* a member of the enumeration that its elements are */
} dm_place;

typedef struct dm_mark {
  dm_place place;
  /* "gain|offset": one of them is there. In DM_BESIDE a star stands for the dataset's own name. */
  const char *names;
  /* How the text there begins: "a|b"; "*a": what it contains; "!a|b": what it is not; NULL:
   * anything. */
  const char *value;
  const char *object; /* of DM_IN_GROUP */
} dm_mark;

/* What is done. FACTOR and SHIFT are the first and the second of the mark's names. */
typedef enum dm_deed {
  DM_REFUSE,
  DM_REFUSE_IF_TRUE,
  DM_REFUSE_IF_ANY_0,
  DM_REFUSE_UNLESS_1, /* beside floats: warns */
  DM_REFUSE_UNLESS_0,
  DM_REFUSE_UNLESS_EMPTY,
  DM_IS_COMPLEX, /* along a last axis of 2: complex_axis.c, before what else applies */
  DM_OTHER_SIGN,
  DM_UNPACK,         /* value = FACTOR * stored + SHIFT, also for integers by 1 and 0 */
  DM_UNPACK_HDF4,    /* value = FACTOR * (stored - SHIFT) */
  DM_APPLY,          /* value = FACTOR * stored + SHIFT */
  DM_APPLY_ONE,      /* the same, if FACTOR is 1 or SHIFT is 0: their order is not clear */
  DM_APPLY_PAIR,     /* FACTOR and SHIFT are the two numbers of the mark, or of each part of it */
  DM_APPLY_MORE,     /* one more factor of the stored numbers, or of each channel */
  DM_APPLY_EXTREMES, /* FACTOR and SHIFT map valid_range to the numbers of the two marks; each
                        slice may have its own */
  DM_MISSING_ARE,
  DM_MISSING_MASKED, /* where a mask is not 0 */
  DM_MISSING_THESE,  /* the numbers of the row */
  DM_MISSING_DEFAULT,
  DM_MISSING_DEFAULT_SET, /* the same, if the dataset was written with a fill value */
  DM_MISSING_SMALLEST,    /* the smallest integer */
  DM_VALID,
  DM_WARN_UNLESS_1,
  DM_WARN_UNLESS_0,
  DM_WARN_OF_NUMBER,
  DM_WARN_OF_TEXTS,
  DM_WARN_OF_TIMES,
  DM_WARN_IF_MASKED,
  DM_DEEDS
} dm_deed;

/* Types of elements. */
typedef enum dm_only { DM_ANY_TYPE, DM_INTEGERS, DM_BYTES, DM_WORDS, DM_SINGLES } dm_only;

typedef struct dm_convention {
  const char *writer; /* for the page */
  dm_mark mark, also; /* both are there; ALSO is often DM_ALWAYS */
  const char *called; /* "data|values": names of the datasets that it concerns, or NULL: any */
  dm_only only;
  dm_deed deed;
  const char *means;  /* what is said of the dataset: "it is text of MATLAB" */
  const char *remedy; /* of a refusal, beside --raw; or NULL */
  double numbers[8];  /* of DM_MISSING_THESE; 0 ends them */
} dm_convention;

enum { DM_CONVENTIONS = 256 }; /* at most */

extern const dm_convention dm_conventions[];
extern const int dm_conventions_count;

/* What DEED does, for people: "refused, unless it is 1". */
const char *dm_deed_text(dm_deed deed);

#endif
