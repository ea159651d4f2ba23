/* equation: C = alpha op(A) op(B) + beta C0, and the planning problem for two matrices. */
#ifndef DM_ENGINE_EQUATION_H
#define DM_ENGINE_EQUATION_H

#include "core/compute.h"
#include "core/distance.h"
#include "dataset/dataset.h"
#include "plan/problem.h"

/* What else the product is divided by: the number of its terms, k, or one less. */
typedef enum dm_divide { DM_NO_DIVISION, DM_DIVIDE_BY_N, DM_DIVIDE_BY_N_LESS_1 } dm_divide;

/* What a weight says: how reliable a term is, or how often it occurs. Divided by n, the weights'
 * sum V1; by n - 1: V1 - V2 / V1 with the sum V2 of their squares, or V1 - 1 (numpy.cov: aweights,
 * fweights). */
typedef enum dm_weights_are { DM_RELIABILITIES, DM_FREQUENCIES } dm_weights_are;

/* How GPUs sum products of 16 bits: as their units do, or in pieces whose sums are added in f32
 * (dm_compute.piece). */
typedef enum dm_accumulate { DM_ACCUMULATE_FAST, DM_ACCUMULATE_F32 } dm_accumulate;

/* The parameters of the equation. */
typedef struct dm_equation {
  dm_op op_a, op_b;
  double alpha[2], beta[2]; /* real, imaginary */
  dm_dtype type;            /* both inputs are first rounded to it; DM_DTYPE_NONE: not rounded */
  dm_dtype type_c;          /* DM_DTYPE_NONE: follows from the inputs */
  dm_divide divide;         /* until dm_equation_divide makes it a part of alpha, */
  dm_divide divided;        /* and then what it was, */
  double undivided[2];      /* and alpha before */
  double correlates; /* C holds correlations times this number (core/pairs.h); 0: it does not */
  dm_line_distance distance; /* C has those of the lines, whose products only lead to them */
  dm_standard standard[2];   /* of A and B */
  dm_weights_are weights_are;
  bool symmetric; /* B is A, and op(B) the transpose of op(A), or its conjugate */
  dm_half half;   /* of a symmetric C, that is stored */
  bool rounds;    /* also round integers that TYPE cannot hold exactly */
  dm_compute_choice compute;
  dm_accumulate accumulate;
  bool accumulate_stated;
  const dm_compute *own; /* NULL, or the caller's own row, used instead */
} dm_equation;

/* The problem of A, B and the equation: checks shapes and types. DM_E_USAGE or DM_E_INPUT
 * otherwise. Pure. (equation.c) */
dm_status dm_problem_of(const dm_dataset *a, const dm_dataset *b, const dm_dataset *c,
                        const dm_equation *equation, dm_problem *problem);

/* The type that A and B are to be converted to, as NumPy promotes them, if EQUATION states none and
 * they have different types, or integers that are not multiplied as such; else DM_DTYPE_NONE.
 * Values that it cannot hold are dm_problem_of's to refuse. Pure. */
dm_dtype dm_equation_promotes(const dm_dataset *a, const dm_dataset *b,
                              const dm_equation *equation);

/* Divides alpha as EQUATION states; A must fit. If terms are weighted or left out, only their sum,
 * BY, tells. */
void dm_equation_divide(const dm_dataset *a, dm_equation *equation);
void dm_equation_divide_by(double by, dm_equation *equation);

/* Sets how EQUATION multiplies inputs of type INPUT in PROBLEM, whose k is set, and C's type.
 * DM_E_USAGE: not possible. */
dm_status dm_types_of(dm_dtype input, const dm_equation *equation, dm_problem *problem);

#endif
