/* conventions: what programs write beside the numbers of a dataset, and what is done about it: one
 * table, whose rows examine_meaning.c applies in order and docs/attributes.md lists. A new
 * convention is a row. */
#ifndef DM_FILE_CONVENTIONS_H
#define DM_FILE_CONVENTIONS_H

/* Where a mark is. */
typedef enum dm_place {
  DM_ALWAYS,
  DM_ON_DATASET,    /* an attribute of the dataset */
  DM_ON_GROUP,      /* ... of the group that it is in */
  DM_ON_ANCESTOR,   /* ... of that group or of one around it: the nearest that has it */
  DM_ON_FILE,       /* ... of the file, that is of its root */
  DM_IN_GROUP,      /* ... of the group OBJECT beside the dataset, or beside a group around it */
  DM_BESIDE,        /* a dataset in the same group */
  DM_ON_DATASET_AS, /* an attribute of the dataset that is spelled like a name: capitals, spaces and
                       punctuation do not count, and a star stands for any letters */
} dm_place;

typedef struct dm_mark {
  dm_place place;
  const char *names; /* "gain|offset": one of them is there; '*' in DM_BESIDE: the dataset's name */
  const char *value; /* how the text there begins, "a|b"; "!a|b": what it is not; NULL: anything */
  const char *object; /* of DM_IN_GROUP */
} dm_mark;

/* What is done. FACTOR and SHIFT are the first and the second of the mark's names. */
typedef enum dm_deed {
  DM_REFUSE,
  DM_REFUSE_IF_TRUE,
  DM_REFUSE_UNLESS_1, /* beside integers; else warns */
  DM_REFUSE_UNLESS_0,
  DM_REFUSE_IF_ANY_0,
  DM_REFUSE_COMPLEX,
  DM_UNSIGNED,
  DM_UNPACK, /* value = FACTOR * stored + SHIFT */
  DM_MISSING_ARE,
  DM_VALID,
  DM_NETCDF_FILL,
  DM_R_NA,
  DM_WARN_UNLESS_1,
  DM_WARN_UNLESS_0,
  DM_WARN,
  DM_WARN_OF_TEXTS,
  DM_WARN_OF_TIMES,
  DM_DEEDS
} dm_deed;

typedef enum dm_only { DM_ANY_TYPE, DM_INTEGERS } dm_only;

typedef struct dm_convention {
  const char *writer; /* for the page */
  dm_mark mark, also; /* both are there; ALSO is often none */
  const char *called; /* "data|values": names of the datasets that it concerns, or NULL: any */
  dm_only only;       /* types of elements */
  dm_deed deed;
  const char *means, *remedy; /* for messages; may be NULL where the deed has its own */
} dm_convention;

extern const dm_convention dm_conventions[];
extern const int dm_conventions_count;

#endif
