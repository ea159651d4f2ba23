/* reduction: what is kept of each row or column of a C that is never stored: its largest elements,
 * those beyond a threshold, or a number.
 *
 * A reducer sees finished, verified parts of C in any division, and its result does not depend on
 * that: elements are ordered by value, equal ones by index. NaN is never among the largest or
 * beyond a threshold; it is counted. */
#ifndef DM_REDUCE_REDUCTION_H
#define DM_REDUCE_REDUCTION_H

#include "comm/comm.h"
#include "core/array.h"
#include "core/sieve.h"
#include "core/status.h"
#include "core/view.h"

typedef enum dm_reduction_kind {
  DM_REDUCE_NONE,
  DM_REDUCE_TOP,    /* the best TOP elements of each line, best first */
  DM_REDUCE_BEYOND, /* those above, or below, THRESHOLD */
  DM_REDUCE_MAX,    /* a number for each line: */
  DM_REDUCE_MIN,
  DM_REDUCE_ARGMAX, /* where it is; -1: the line has only NaN */
  DM_REDUCE_ARGMIN,
  DM_REDUCE_SUM,
  DM_REDUCE_MEAN,
  DM_REDUCE_NORM,    /* the root of the sum of squares */
  DM_REDUCE_COUNT,   /* of the elements that are not NaN */
  DM_REDUCE_DIAGONAL /* the element with the line's own number */
} dm_reduction_kind;

/* By what elements are compared. */
typedef enum dm_reduce_by { DM_BY_VALUE, DM_BY_MAGNITUDE, DM_BY_LEAST } dm_reduce_by;

const char *dm_reduce_by_name(dm_reduce_by by); /* "value", "abs", "smallest" */

typedef struct dm_reduction {
  dm_reduction_kind kind;
  bool by_columns;  /* lines are columns of C; else rows */
  dm_reduce_by by;  /* of TOP; BEYOND: value or magnitude */
  int64_t top;      /* elements of each line */
  bool sparse;      /* the result of TOP is a sparse matrix, as that of BEYOND */
  double threshold; /* of BEYOND, which keeps what is larger, */
  bool below;       /* or smaller */
  bool no_self;     /* leaves out the diagonal */
  int64_t most;     /* elements that BEYOND may keep; 0: as many as fit */
} dm_reduction;

/* What is kept of one C; all have the same lines. */
enum { DM_REDUCTIONS = DM_REDUCE_DIAGONAL + 1 }; /* BEYOND twice: above and below */
typedef struct dm_reductions {
  int count; /* 0: C itself is wanted */
  dm_reduction list[DM_REDUCTIONS];
} dm_reductions;

/* The attribute of a result that says in words what it is. */
#define DM_REDUCTION_ATTRIBUTE "reduction"

/* "top 10 of each row by magnitude" */
enum { DM_REDUCTION_TEXT = 96 };
const char *dm_reduction_text(const dm_reduction *what, char text[DM_REDUCTION_TEXT]);

/* "top", "max", ...; of BEYOND "above" or "below". */
const char *dm_reduction_word(const dm_reduction *what);

typedef struct dm_reducer dm_reducer;

/* Of LINES with LENGTH elements each. ROOM: bytes that this rank may use. DM_E_FIT: too few.
 * FOLDER, which must stay, or NULL: where elements beyond a threshold go that have no room. */
dm_status dm_reducer_new(const dm_reduction *what, int64_t lines, int64_t length, int64_t room,
                         const char *folder, dm_reducer **reducer);
void dm_reducer_free(dm_reducer *reducer); /* NULL is allowed */

/* Adds PART of C, real and in host memory, with its first element at (row, col), on at most THREADS
 * threads: its rows, or ACROSS its columns, are of the lines. Parts that have elements of the same
 * line come in the order of their indices. DM_E_FIT: more elements are beyond the threshold than
 * may be kept. */
dm_status dm_reducer_add(dm_reducer *reducer, dm_view part, int64_t row, int64_t col, bool across,
                         int threads);

/* What a sieve asks of the elements that REDUCER may keep, without limits of lines but with LIMIT;
 * false: it needs all elements. The caller says where the diagonal is. */
bool dm_reducer_sieve(const dm_reducer *reducer, dm_sieve *sieve);

/* The limits of its lines now; NULL: LIMIT of the sieve is that of all. */
const float *dm_reducer_limits(const dm_reducer *reducer);

/* How many elements of each line it keeps at most; 0: any number. */
int64_t dm_reducer_most(const dm_reducer *reducer);

/* As dm_reducer_add, of a part at (row, col) of which LIST has what passed a sieve with limits that
 * were those of the reducer, or lower, in any order. SCRATCH: room for as many. Elements that are
 * NaN are added by their number. */
dm_status dm_reducer_merge(dm_reducer *reducer, const dm_candidate *list, int64_t count,
                           dm_candidate *scratch, int64_t row, int64_t col, bool across,
                           int threads);
void dm_reducer_add_nans(dm_reducer *reducer, int64_t nans);

/* Collective: rank 0's reducer has what all ranks have added. */
dm_status dm_reducer_join(dm_reducer *reducer, const dm_comm *comm);

/* Collective: the same before more is added; the other ranks' reducers are empty afterwards. */
dm_status dm_reducer_gather(dm_reducer *reducer, const dm_comm *comm);

/* Passes all that REDUCER has to WRITE, piece by piece; on rank 0, after it was gathered. LOAD adds
 * what was written, from a reducer of the same lines and kind, as READ brings it in the same
 * pieces. */
typedef dm_status dm_reducer_mover(void *context, void *data, int64_t bytes);
dm_status dm_reducer_save(dm_reducer *reducer, dm_reducer_mover *write, void *context);
dm_status dm_reducer_load(dm_reducer *reducer, dm_reducer_mover *read, void *context);

/* Bytes of memory that it uses now. */
int64_t dm_reducer_bytes(const dm_reducer *reducer);

/* Elements kept, and NaN that were left out; after the join, on rank 0. */
int64_t dm_reducer_kept(const dm_reducer *reducer);
int64_t dm_reducer_nan(const dm_reducer *reducer);

enum { DM_REDUCED_ARRAYS = 3 };

/* The names of the arrays that WHAT becomes, in the order of dm_reducer_result; their number. */
int dm_reduction_arrays(const dm_reduction *what, const char *names[DM_REDUCED_ARRAYS]);

/* Whether such numbers of lines are whole: ARGMAX, ARGMIN, COUNT. */
bool dm_reduction_counts(dm_reduction_kind kind);

/* The result, on rank 0, of a C of TYPE; it belongs to the reducer. TOP: "values" and "indices",
 * LINES x TOP, or LENGTH if that is less; lines with fewer elements end with NaN (0 in whole
 * numbers) and -1. BEYOND: "data", "indices" and "indptr" as in scipy.sparse.csr_array; of columns,
 * as in csc_array; SPARSE: TOP likewise, the best of a line first. Others: one array of LINES,
 * called like the reduction. */
dm_status dm_reducer_result(dm_reducer *reducer, dm_dtype type, dm_array arrays[DM_REDUCED_ARRAYS],
                            int *count);

#endif
