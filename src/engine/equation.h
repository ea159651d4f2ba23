/* equation: C = alpha op(A) op(B) + beta C0, and the planning problem for two matrices. */
#ifndef DM_ENGINE_EQUATION_H
#define DM_ENGINE_EQUATION_H

#include "core/compute_choice.h"
#include "io/dataset.h"
#include "plan/problem.h"

/* The numbers of the equation. */
typedef struct dm_equation {
  dm_op op_a, op_b;
  double alpha[2], beta[2]; /* real, imaginary */
  dm_dtype type;            /* both inputs are first rounded to it; DM_DTYPE_NONE: as they are */
  dm_dtype type_c;          /* DM_DTYPE_NONE: follows from the inputs */
  bool rounds;              /* integers that TYPE does not hold exactly, too */
  dm_compute_choice compute;
  const dm_compute *own; /* NULL, or the row that counts instead: of the caller's own */
} dm_equation;

/* The problem that A, B and the equation pose: shapes agree, types are allowed.  DM_E_USAGE or
 * DM_E_INPUT otherwise.  Pure. (equation.c) */
dm_status dm_problem_of(const dm_dataset *a, const dm_dataset *b, const dm_dataset *c,
                        const dm_equation *equation, dm_problem *problem);

/* How EQUATION multiplies inputs of type INPUT in PROBLEM, whose k is set, and C's type. DM_E_USAGE
 * where there is no way. */
dm_status dm_types_of(dm_dtype input, const dm_equation *equation, dm_problem *problem);

#endif
