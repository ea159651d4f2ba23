/* library: shared by the parts of the library. context.c has contexts, their options and what a
 * call left; calls.c the calls of all ranks. These two report errors; the others use dm_status. */
#ifndef DM_API_LIBRARY_H
#define DM_API_LIBRARY_H

#include <damier.h>
#include <stdatomic.h>
#include <time.h>

#include "core/crew.h"
#include "core/status.h"
#include "core/units.h"
#include "layout/distributed.h"
#include "options/request.h"
#include "product/in_place.h"
#include "programs/components.h"
#include "programs/reduced.h"
#include "run/run.h"

/* ---- the other ranks of a context that uses several GPUs of one process ----
 *
 * Each is a thread, which carries out the calls of the thread that owns the context, rank 0. */

/* DM_E_FIT: not enough threads. */
dm_status dm_workers_new(int ranks, dm_crew **workers);

/* A product as stated by the caller. */
typedef struct dm_stated {
  const damier_matrix *a, *b, *c;
  bool plan_only;
  bool gram, of_rows;           /* B is A, and transposed or conjugated; or A is */
  bool covariance, correlation; /* of B's lines, too, if it is not A */
  const char *components;       /* "pca" or "svd" of A; NULL: a product */
} dm_stated;

/* The product of a call. */
typedef struct dm_api_product {
  damier_context *context;
  dm_stated stated;
  const damier_matrix *a, *b, *c;
  /* Set by dm_api_product_in_place: JOB multiplied these matrices where they are, and serves others
   * like them until an option changes. */
  bool is_cached;
  dm_multiply job;
  damier_matrix cached[3];
  /* Set by dm_api_product_inspect: */
  dm_settings settings;       /* the options of the context with these files */
  bool old_is_c;              /* beta multiplies the elements of C in memory */
  damier_matrix old;          /* multiplied by beta, if beta is not 0 */
  damier_matrix none;         /* A and B in memory if k is 0: their datasets have no elements */
  dm_memory_matrix memory[4]; /* of DM_A, DM_B, DM_C, DM_OLD, if not in files */
  dm_view seen[4];            /* the same, where all ranks see all of it; else base NULL */
  dm_product_files files;     /* for matrices in memory: their shape and type */
} dm_api_product;

/* The record of the last call. That of a product in place, which may take less time than its
 * record, is made when it is asked for. */
typedef struct dm_recorded {
  char *text;  /* JSON, or NULL */
  char *notes; /* what damier_warnings returned, or NULL */
  bool is_due; /* to be made from OUTCOME */
  time_t when;
  dm_in_place_outcome outcome;
} dm_recorded;

struct damier_context {
  atomic_flag busy;         /* a call is running */
  dm_plain_numbers numbers; /* of the thread that runs it */
  dm_run run;
  dm_crew *workers;                    /* of rank 0, if this process has several ranks; else NULL */
  damier_context **led;                /* all contexts, by rank */
  dm_in_place in_place;                /* reused from product to product */
  dm_known_links links;                /* the same */
  dm_cached_backend opened;            /* the same */
  dm_settings settings;                /* the options set */
  double *numbers_of[DM_USER_VECTORS]; /* in memory, which the settings name; NULL: none */
  dm_recorded *recorded;
  dm_reduced_kept kept;       /* of the last call, on rank 0 */
  dm_components_result found; /* the same */
  bool has_old;
  damier_matrix old; /* multiplied by beta, if stated */
  char *old_file;    /* its file's name, copied */
  int (*progress)(void *argument, int64_t done, int64_t total);
  void *argument;
  atomic_int asked;       /* a stop was requested */
  dm_api_product product; /* of the running call; too large for a caller's stack */
};

/* ---- a visit: every call of a function of a context (context.c) ---- */

typedef struct dm_api_visit {
  damier_context *context; /* NULL: it was refused */
  dm_plain_numbers numbers;
  int gpu; /* that the caller's thread has selected; -1: none */
} dm_api_visit;

/* Other ranks do not know if this fails. */
dm_status dm_api_enter(dm_api_visit *visit, damier_context *context);

/* Reports and frees STATUS. */
int dm_api_leave(dm_api_visit *visit, dm_status status, damier_error *error);

/* Frees what the last call left for the caller. */
void dm_api_forget(damier_context *context);

/* The verb of the command that makes the same product. */
const char *dm_api_verb(const dm_stated *stated);

/* Makes RECORD the one of the last call. */
dm_status dm_api_record(const damier_context *context, dm_record *record);

/* ---- products ---- */

/* MATRIX, which is in memory, as the pipeline takes it. */
dm_memory_matrix dm_memory_of(const damier_matrix *matrix);

/* Begins PRODUCT, which may have what an earlier one kept. (api_product.c) */
void dm_api_product_begin(dm_api_product *product, damier_context *context,
                          const dm_stated *stated);

/* Collective: fills PRODUCT with rank 0's findings, unless it is like the one before.
 * (api_product.c) */
dm_status dm_api_product_inspect(dm_api_product *product);

/* Collective: multiplies where the matrices are, or only sets *taken to false. */
dm_status dm_api_product_in_place(dm_api_product *product, dm_in_place_outcome *outcome,
                                  bool *taken);

/* Collective. Fills RECORD on rank 0. */
dm_status dm_api_product_multiply(dm_api_product *product, dm_record *record);
dm_status dm_api_product_plan(dm_api_product *product, dm_record *record);

/* ---- calls of a context that has several GPUs in one process, by rank 0 and its workers ----
 * */

/* A collective call. WORK is what each rank does, with its own context. */
typedef struct dm_led_call {
  damier_context *leader;
  dm_status (*work)(damier_context *context, const struct dm_led_call *call);
  const dm_stated *stated;           /* a product */
  const damier_matrix *const *files; /* A, B and C to verify */
  const char *location;              /* to describe */
  dm_comm **worlds;                  /* to start in, by rank */
  damier_context **led;              /* set by dm_lead; NULL: there are no workers */
} dm_led_call;

/* Rank 0 and its workers, if it has any, do the work; returns rank 0's status. */
dm_status dm_lead(dm_led_call *call);

/* What RANK has of M: its part, or, without parts, all of it on rank 0. */
damier_matrix dm_led_part(const damier_matrix *m, int rank);

/* ---- what a call states, before anything is done: calls that cannot be right are refused on all
 * ranks ---- */

/* The matrices and the location of a call; NULL: it has none. */
typedef struct dm_call_facts {
  const char *call; /* "multiply", ... */
  bool of_rows, writes;
  const damier_matrix *matrices[3];
  const char *location;
} dm_call_facts;

/* The first collective step of all calls, since ranks may have called different functions.
 * DM_E_USAGE on all ranks if one states what cannot be right, if operands overlap C, or if the
 * ranks state different calls, options or files. */
dm_status dm_checks(const damier_context *context, const dm_call_facts *checked);

/* Whether OLD has the same elements as C in the same places. */
bool dm_checks_is_same(const damier_matrix *old, const damier_matrix *c);

#endif
