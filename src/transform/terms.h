/* terms: the weights of the terms of a product's sums, and which terms are left out; and the
 * numbers of the user that they come from. */
#ifndef DM_TRANSFORM_TERMS_H
#define DM_TRANSFORM_TERMS_H

#include "engine/equation.h"
#include "run/run.h"

/* The weights, times a power of two that makes the largest about 1: their squares neither overflow
 * nor vanish. Terms that are left out have DM_LEFT_OUT. */
typedef struct dm_terms {
  double *list, *roots; /* NULL: all are 1; ROOTS: what the factors of terms are multiplied with */
  int64_t count;
  int64_t complete;     /* terms that are not left out; -1: none is */
  double less_one, sum; /* what n - 1 and n become */
  uint64_t user_sum;
} dm_terms;

/* Collective: the weights of the COUNT terms, which EQUATION says are in SET, else 1. To be closed
 * also after an error. */
dm_status dm_terms_open(const dm_run *run, const dm_equation *equation, const dm_dataset *set,
                        int64_t count, dm_terms *terms);
void dm_terms_close(dm_terms *terms);

/* Once it is known which are left out: sets the roots and sums, and divides EQUATION's alpha.
 * DM_E_INPUT: that is not possible. */
dm_status dm_terms_complete(dm_terms *terms, dm_equation *equation);

/* Collective: all numbers of SET, a vector, which rank 0 reads; the caller frees *LIST. DM_E_INPUT:
 * one is not finite. */
dm_status dm_read_vector(const dm_run *run, const dm_dataset *set, double **list);

/* DM_E_INPUT: number I of SET is VALUE, for which WHAT says why it does not suit. */
dm_status dm_unsuitable_number(const dm_dataset *set, int64_t i, double value, const char *what);

#endif
