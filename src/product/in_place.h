/* in_place: products whose A, B and C are in one memory and are multiplied where they are; later
 * calls reuse the open backend. One process calls the BLAS library once, in memory of the host or
 * of its GPU, and copies nothing; several, in memory of their GPUs, move op(A) or op(B)
 * (layout/stationary_c.h). In GPU memory, A and B that are centered are copied there first
 * (transform/centered_copy.h). */
#ifndef DM_PRODUCT_IN_PLACE_H
#define DM_PRODUCT_IN_PLACE_H

#include "layout/layout_choice.h"
#include "layout/stationary_c.h"
#include "product/description.h"
#include "transform/centered.h"

/* The places of the last product's matrices; a product that is stated alike opens nothing. */
typedef struct dm_in_place_places {
  bool open;
  dm_memory_matrix stated[3];
  bool turned[2];            /* op(A), op(B) */
  bool symmetric;            /* C must be */
  dm_distributed matrix[3];  /* op(A), op(B), C */
  dm_layout_choice arranged; /* with several ranks */
  dm_extent at[3];           /* of this rank's parts, as they are multiplied */
} dm_in_place_places;

/* What the planner took for "fastest". */
typedef struct dm_in_place_fastest {
  bool known;
  dm_problem asked; /* for a product of this size and these types */
  dm_compute taken;
} dm_in_place_fastest;

/* What a GPU's backend multiplies by. */
typedef struct dm_in_place_mode {
  bool known;
  dm_compute compute;
  const char *kernel; /* static text */
  bool reproducible;
} dm_in_place_mode;

/* What later products reuse; initially zero. */
typedef struct dm_in_place {
  dm_backend *host, *gpu;
  dm_in_place_mode mode; /* of GPU */
  dm_scaling scaling;    /* of the last product by residues */
  dm_device device[2];   /* of HOST and GPU */
  dm_freivalds *check;   /* the last one: its memory serves a product of the same size */
  dm_in_place_places places;
  dm_workspace workspace;
  dm_centered_room rooms[2]; /* of centered copies of A and B */
  dm_in_place_fastest fastest;
} dm_in_place;

typedef struct dm_in_place_outcome {
  dm_problem problem;
  bool on_gpu, verified;
  const char *kernel; /* that was named, static text; or NULL */
  bool reproducible;
  bool posted;       /* the product runs in the caller's stream and may not be complete */
  bool turned, both; /* several ranks: op(A) travelled, or both did, in as many strips; */
  int64_t strips;    /* 0: nothing did, or */
  bool summed;       /* sums of parts of k */
  bool moved[3];     /* op(A), op(B), C were moved to rows, and C back */
  const char *transport;
  int moduli;        /* more than the caller stated: A and B need them; or 0, ... */
  char instead[160]; /* ... and then why not by residues, as stated; or "" */
  double alpha[2], beta[2];
  dm_standard standard[2];              /* of A and B, copies of which were multiplied, ... */
  char centering[2][DM_CENTERING_TEXT]; /* ... and in words; or "" */
  dm_verdict verdict;
  double seconds;
} dm_in_place_outcome;

/* Multiplies if MULTIPLY is such a product: *taken; else nothing was done. A product that is not
 * verified, with a C in GPU memory that has a stream, is only posted to that stream. If C is wrong
 * and beta is 0 it is multiplied once more; DM_E_VERIFY or DM_E_CORRUPT, agreed: C is wrong. */
dm_status dm_in_place_run(dm_in_place *cached, dm_run *run, const dm_multiply *multiply,
                          dm_in_place_outcome *outcome, bool *taken);
void dm_in_place_close(dm_in_place *cached); /* collective */

void dm_in_place_record(const dm_in_place *cached, const dm_in_place_outcome *outcome,
                        const dm_run *run, dm_record *record);

#endif
