/* Shared by the files of components: their state, and the products and dense problems of it. */
#ifndef DM_PROGRAMS_COMPONENTS_IMPL_H
#define DM_PROGRAMS_COMPONENTS_IMPL_H

#include "core/buffer.h"
#include "core/checked.h"
#include "plan/plan.h"
#include "product/in_place.h"
#include "product/state_file.h"
#include "programs/components.h"
#include "transform/centered.h"

/* Rank 0: an orthonormal basis of a part of the short side, and the best vectors in it. All are
 * rows; G is op(X)^T op(X), of which no element is known. */
typedef struct dm_basis {
  int64_t size;       /* numbers of a vector: the short side */
  int64_t used, room; /* vectors */
  double *q, *gq;     /* the basis, and G times it */
  double *v, *gv;     /* the best vectors, and G times them, */
  int64_t best;       /* so many, */
  double *values;     /* and their eigenvalues of G, largest first */
  double *residuals;  /* |G v / s - s v| / s1 */
  bool single;        /* the basis is of one pass, whose own sums gave VALUES */
} dm_basis;

/* X in GPU memory (components_gpu.c). */
typedef struct dm_components_gpu dm_components_gpu;

typedef struct dm_components_state {
  dm_run *run;
  const dm_components *job;
  dm_multiply *multiply; /* X as its A, centered */
  dm_dtype work;         /* of the products */
  bool beyond;           /* squares of X are beyond f32 */
  dm_op op;              /* op(X) has the short side along its columns */
  int64_t tall, small;   /* rows and columns of op(X) */
  bool proves;           /* vectors of the variables are given: these are the short side */
  bool over_variables;   /* the short side is that of the variables */
  int64_t variables, observations;
  dm_components_method method;
  int64_t width; /* vectors of a pass */
  int64_t step;  /* rows of op(X) multiplied at a time */
  int64_t process, share;
  double divisor; /* 1 / n - 1, as stated; 0: nothing is divided */
  double squares; /* of all elements of X; negative: not known */
  double unscale; /* singular values are so many times those of X with scaled weights */
  dm_basis basis;
  /* Rank 0: the vectors of a pass as f64 and in WORK's type, G times them, and the products of all
   * pairs of op(X) times them. */
  double *p, *z, *pairs;
  double *g; /* G, of the lines before ROW; NULL where no method needs it, and once it is solved */
  void *rounded;
  void *copy; /* X in host memory; NULL: it is read where it is */
  void *y;    /* every rank: its rows of op(X) times them */
  /* A strip of X as it is multiplied, its rows divided over the ranks; NULL: X is multiplied in the
   * memory where it is. LOADED: the strip is all of X, and there. */
  void *x;
  bool loaded;
  int64_t passes;
  int64_t count; /* vectors of the pass that goes on; 0: the search has not begun, or ends */
  int64_t row;   /* of op(X), from which on it, or G, goes on */
  bool proving;  /* it is the last one, of the vectors found */
  dm_state state;
  bool recorded;          /* a file has the search, as it was */
  dm_in_place in_place;   /* multiplies what is in memory */
  dm_components_gpu *gpu; /* NULL: X is not there */
  bool plans;             /* nothing is computed */
  dm_forecast *forecast;  /* what products would take is added to it, in their place; or NULL */
  int64_t host_bytes;     /* the most that a rank would need meanwhile, but for the basis */
  bool unchecked, converged;
  double largest; /* residual of the vectors found */
  double orthogonality[2];
  double gram_s, passes_s, solve_s, started;
  dm_progress progress;
  double done, all;
} dm_components_state;

/* Vectors of a pass of a search. */
static inline int64_t dm_components_pass_width(const dm_components_state *c) {
  return dm_min(c->small, dm_sat_add(c->job->count, c->job->oversampling));
}

/* Collective: all that needs no reading; OWN: room for what is multiplied. */
dm_status dm_components_begin(dm_components_state *c, dm_multiply *own);

/* Collective: finds means and deviations once, for all products. */
dm_status dm_components_center(dm_components_state *c, dm_centered *made);

/* Collective: room for passes. */
dm_status dm_components_open(dm_components_state *c);
void dm_components_close(dm_components_state *c);

/* ---- products (components_products.c) ---- */

/* Allocates what this rank needs for strips of X; *bytes of it. */
dm_status dm_components_room(dm_components_state *c, int64_t *bytes);

/* Collective: room for G, and G, from ROW on. */
dm_status dm_components_open_gram(dm_components_state *c);
dm_status dm_components_gram(dm_components_state *c);
void dm_components_close_gram(dm_components_state *c);

/* Collective: multiplies COUNT vectors P of rank 0, which are rounded to WORK first, with op(X) and
 * with its transpose, from ROW on: completes Z and PAIRS. */
dm_status dm_components_pass(dm_components_state *c, int64_t count);

/* Collective: what a pass, or G, would take, and all reading of X in one. */
dm_status dm_components_forecast_pass(dm_components_state *c, int64_t count, dm_forecast *forecast);
dm_status dm_components_forecast_gram(dm_components_state *c, dm_forecast *forecast);

/* Collective: COUNT vectors of the short side, on rank 0, times op(X)^T: LONG, COUNT x TALL. */
dm_status dm_components_lift(dm_components_state *c, int64_t count, double *vectors,
                             double *lifted);

/* Collective: the file of scores, by the COMPONENTS of rank 0; or SCORES, if no file is named. */
dm_status dm_components_score(dm_components_state *c, double *components, double *scores);

/* ---- X in GPU memory (components_gpu.c) ---- */

/* Brings X there, in a job of one rank that has a GPU with room for it: C->gpu. */
dm_status dm_components_open_gpu(dm_components_state *c);
void dm_components_close_gpu(dm_components_state *c);
dm_status dm_components_center_gpu(dm_components_state *c, dm_centered *made);

/* LINES of op(X). *Y: room for as many ROWS times COUNT vectors. */
dm_memory_matrix dm_components_gpu_x(const dm_components_state *c, dm_range lines);
dm_status dm_components_gpu_y(dm_components_state *c, int64_t rows, int64_t count,
                              dm_memory_matrix *y);

/* Brings *M, factor X of a product in TYPE, there. */
dm_status dm_components_gpu_take(dm_components_state *c, int x, dm_dtype type, dm_memory_matrix *m);

/* *THERE: OUT, or room for it in TYPE; and from there to OUT. */
dm_status dm_components_gpu_room(dm_components_state *c, dm_dtype type, const dm_memory_matrix *out,
                                 dm_memory_matrix *there);
dm_status dm_components_gpu_fetch(dm_components_state *c, const dm_memory_matrix *there,
                                  const dm_memory_matrix *out);

/* ---- the basis (components_basis.c); all but the first of them on rank 0 ---- */

dm_status dm_basis_open(dm_components_state *c);
void dm_basis_close(dm_basis *basis);
int64_t dm_basis_bytes(const dm_components_state *c); /* of its arrays, and those of a pass */

/* P gets COUNT random vectors, of the seed. */
dm_status dm_basis_begin(dm_components_state *c, int64_t count);

/* Adds the COUNT vectors of the last pass, and finds the best vectors of the basis. */
dm_status dm_basis_add(dm_components_state *c, int64_t count);

/* P gets vectors by which the basis grows: *count; 0: there are none. */
dm_status dm_basis_grow(dm_components_state *c, int64_t *count);

/* P gets the best vectors, and the basis is empty. */
void dm_basis_restart(dm_components_state *c, int64_t count);

/* That sums of squares of X are NaN or Inf. */
dm_status dm_basis_not_finite(const dm_components_state *c);

double dm_basis_largest_residual(const dm_components_state *c);

/* |y - S q|, of line I of Y = L Q (dm_dense_in_order), COUNT lines. */
double dm_basis_misfit(int64_t count, const double *l, int64_t i, double s);

/* ---- the state beside the result (components_state.c) ---- */

/* Collective, after the basis is opened: takes what an earlier run left; COUNT tells. */
dm_status dm_components_resume(dm_components_state *c);

/* Collective, before or in a pass, or between parts of G: writes all if it is time, or NOW. */
dm_status dm_components_record(dm_components_state *c, bool now);

/* ---- the result (components_result.c) ---- */

/* Collective: what follows from the best vectors. */
dm_status dm_components_finish(dm_components_state *c, dm_components_result *result);
dm_status dm_components_write(dm_components_state *c, const dm_components_result *result);
void dm_components_report(const dm_components_state *c, const dm_components_result *result,
                          dm_record *record);
const char *dm_components_method_name(dm_components_method method);

#endif
