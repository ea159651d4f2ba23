/* equation: C = alpha op(A) op(B) + beta C0, and the problem that it poses with two matrices. */
#ifndef DM_ENGINE_EQUATION_H
#define DM_ENGINE_EQUATION_H

#include "io/dataset.h"
#include "plan/problem.h"

typedef enum dm_compute {
  DM_COMPUTE_AUTO,
  DM_COMPUTE_F64,
  DM_COMPUTE_F32,
  DM_COMPUTE_TF32,
} dm_compute;

/* The numbers of the equation. */
typedef struct dm_equation {
  dm_op op_a, op_b;
  double alpha[2], beta[2]; /* real, imaginary */
  dm_dtype type;            /* both inputs are first rounded to it; DM_DTYPE_NONE: as they are */
  dm_dtype type_c;          /* DM_DTYPE_NONE: follows from the inputs */
  dm_compute compute;
} dm_equation;

/* "auto", "f64", "f32", "tf32"; false for anything else. */
bool dm_compute_parse(const char *name, dm_compute *compute);
const char *dm_compute_name(dm_compute compute);

/* The problem that A, B and the equation pose: shapes agree, types are allowed.  DM_E_USAGE or
 * DM_E_INPUT otherwise.  Pure. (equation.c) */
dm_status dm_problem_of(const dm_dataset *a, const dm_dataset *b, const dm_dataset *c,
                        const dm_equation *equation, dm_problem *problem);

/* Work, accumulator and C type for inputs of type INPUT. DM_E_USAGE where they cannot be had. */
dm_status dm_types_of(dm_dtype input, dm_dtype type_c, dm_compute compute, dm_problem *problem);

#endif
