/* The basis of components: dense problems of rank 0. */
#include <float.h>
#include <math.h>

#include "backend/dense.h"
#include "programs/components_impl.h"

enum { COMPONENTS_BLOCKS = 8 }; /* of a pass, that a basis holds before it is restarted */

/* Vectors that the basis has room for: as many passes as a quarter of the memory holds, at least
 * two. */
static int64_t basis_room(const dm_components_state *c) {
  const double block = 2.0 * (double)c->width * (double)c->small * sizeof(double);
  const int64_t fits = (int64_t)fmin(COMPONENTS_BLOCKS, (double)c->share / 4.0 / block);
  return dm_min(c->small, c->width * dm_max(2, fits));
}

static dm_status basis_allocate(dm_components_state *c) {
  dm_basis *b = &c->basis;
  *b = (dm_basis){.size = c->small, .room = basis_room(c)};
  DM_TRY(dm_buffer_table(b->room * b->size, &b->q));
  DM_TRY(dm_buffer_table(b->room * b->size, &b->gq));
  DM_TRY(dm_buffer_table(c->width * b->size, &b->v));
  DM_TRY(dm_buffer_table(c->width * b->size, &b->gv));
  DM_TRY(dm_buffer_table(b->room, &b->values));
  DM_TRY(dm_buffer_table(c->width, &b->residuals));
  DM_TRY(dm_buffer_table(c->width * b->size, &c->p));
  DM_TRY(dm_buffer_table(c->width * b->size, &c->z));
  DM_TRY(dm_buffer_table(c->width * c->width, &c->pairs));
  return c->work == DM_F32 ? dm_buffer_zeroed(c->width * b->size, sizeof(float), &c->rounded)
                           : DM_OK;
}

int64_t dm_basis_bytes(const dm_components_state *c) {
  const int64_t vectors = 2 * c->basis.room + (c->work == DM_F32 ? 5 : 4) * c->width;
  return dm_sat_mul(vectors, dm_sat_mul(c->small, sizeof(double)));
}

dm_status dm_basis_open(dm_components_state *c) {
  return dm_comm_agree(c->run->world, c->run->rank == 0 ? basis_allocate(c) : DM_OK);
}

void dm_basis_close(dm_basis *b) {
  free(b->q);
  free(b->gq);
  free(b->v);
  free(b->gv);
  free(b->values);
  free(b->residuals);
}

/* ---- vectors to begin with ---- */

/* Evenly distributed in [-1, 1), by the mixing function of splitmix64. */
static double basis_random(uint64_t seed, uint64_t i) {
  uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + i * 0xd1342543de82ef95u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (double)(int64_t)(x ^ (x >> 31)) * 0x1p-63;
}

dm_status dm_basis_begin(dm_components_state *c, int64_t count) {
  for (int64_t i = 0; i < count * c->small; i++) c->p[i] = basis_random(c->job->seed, (uint64_t)i);
  return dm_dense_orthonormalise(count, c->small, c->p, NULL);
}

/* ---- growing ---- */

/* Makes COUNT vectors P orthogonal to the basis; what G makes of them, Z, follows. */
static dm_status basis_project(const dm_basis *b, int64_t count, double *p, double *z) {
  DM_FREED double *part = NULL;
  if (b->used == 0) return DM_OK;
  DM_TRY(dm_buffer_table(count * b->used, &part));
  dm_dense_multiply((dm_dense_product){.alpha = 1.0, .turn_b = true}, count, b->used, b->size, p,
                    b->q, part);
  const dm_dense_product less = {.alpha = -1.0, .adds = true};
  dm_dense_multiply(less, count, b->size, b->used, part, b->q, p);
  if (z) dm_dense_multiply(less, count, b->size, b->used, part, b->gq, z);
  return DM_OK;
}

static dm_status basis_orthonormalise(dm_components_state *c, int64_t count, bool passed) {
  dm_basis *b = &c->basis;
  const dm_dense_beside beside = {passed ? c->z : NULL, c->small,
                                  passed && b->used == 0 ? c->pairs : NULL};
  const int rounds = b->used > 0 ? 2 : 1;
  for (int i = 0; i < rounds; i++) {
    DM_TRY(basis_project(b, count, c->p, passed ? c->z : NULL));
    DM_TRY(dm_dense_orthonormalise(count, c->small, c->p, &beside));
  }
  return DM_OK;
}

dm_status dm_basis_not_finite(const dm_components_state *c) {
  return dm_hint(dm_fail(DM_E_INPUT, "X holds NaN or Inf, or its squares overflow"),
                 "--missing mean replaces missing values%s",
                 c->work == DM_F32 ? "; --type f64 has a larger range" : "");
}

/* Q G Q^T: of one pass from its own sums, which lose no digits of small values. */
static void basis_small_problem(const dm_components_state *c, double *t) {
  const dm_basis *b = &c->basis;
  const int64_t n = b->used;
  if (b->single) {
    memcpy(t, c->pairs, (size_t)(n * n) * sizeof *t);
    return;
  }
  dm_dense_multiply((dm_dense_product){.alpha = 1.0, .turn_b = true}, n, n, b->size, b->q, b->gq,
                    t);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++)
      t[i * n + j] = t[j * n + i] = 0.5 * (t[i * n + j] + t[j * n + i]);
}

static void basis_find_residuals(const dm_components_state *c) {
  const dm_basis *b = &c->basis;
  const double largest = sqrt(fmax(0.0, b->values[0]));
  for (int64_t i = 0; i < b->best; i++) {
    const double s = sqrt(fmax(0.0, b->values[i]));
    double sum = 0.0;
    for (int64_t j = 0; j < b->size; j++) {
      const int64_t at = i * b->size + j;
      const double r = s > 0.0 ? b->gv[at] / s - s * b->v[at] : 0.0;
      sum += r * r;
    }
    b->residuals[i] = largest > 0.0 ? sqrt(sum) / largest : 0.0;
  }
}

enum { BASIS_GRADED = 512 }; /* vectors, whose small values have all digits */

/* The best vectors (Rayleigh, Ritz). */
static dm_status basis_find_best(dm_components_state *c) {
  dm_basis *b = &c->basis;
  const int64_t n = b->used, count = dm_min(c->width, n);
  DM_FREED double *t = NULL, *w = NULL;
  DM_TRY(dm_buffer_table(n * n, &t));
  DM_TRY(dm_buffer_table(n * count, &w));
  basis_small_problem(c, t);
  for (int64_t i = 0; i < n * n; i++)
    if (!isfinite(t[i])) return dm_basis_not_finite(c);
  DM_TRY(b->single && n <= BASIS_GRADED ? dm_dense_eigen_graded(n, t, count, b->values, w)
                                        : dm_dense_eigen(n, t, count, b->values, w));
  const dm_dense_product plain = {.alpha = 1.0};
  dm_dense_multiply(plain, count, b->size, n, w, b->q, b->v);
  dm_dense_multiply(plain, count, b->size, n, w, b->gq, b->gv);
  b->best = count;
  basis_find_residuals(c);
  return DM_OK;
}

dm_status dm_basis_add(dm_components_state *c, int64_t count) {
  dm_basis *b = &c->basis;
  DM_TRY(basis_orthonormalise(c, count, true));
  b->single = b->used == 0;
  const int64_t at = b->used * b->size, numbers = count * b->size;
  memcpy(b->q + at, c->p, (size_t)numbers * sizeof *c->p);
  memcpy(b->gq + at, c->z, (size_t)numbers * sizeof *c->z);
  b->used += count;
  return basis_find_best(c);
}

/* Where there is no room, the best vectors are kept alone. */
static void basis_make_room(dm_basis *b, int64_t count) {
  if (b->used + count <= b->room) return;
  const size_t bytes = (size_t)(b->best * b->size) * sizeof *b->q;
  memcpy(b->q, b->v, bytes);
  memcpy(b->gq, b->gv, bytes);
  b->used = b->best;
  b->single = false;
}

/* Residuals that vanish say nothing: random vectors take their place. */
dm_status dm_basis_grow(dm_components_state *c, int64_t *count) {
  dm_basis *b = &c->basis;
  basis_make_room(b, b->best);
  *count = dm_min(b->best, dm_min(b->size, b->room) - b->used);
  for (int64_t i = 0; i < *count; i++) {
    const double s = sqrt(fmax(0.0, b->values[i]));
    double *p = c->p + i * b->size;
    for (int64_t j = 0; j < b->size; j++)
      p[j] = s > 0.0 ? b->gv[i * b->size + j] / s - s * b->v[i * b->size + j] : 0.0;
    const double norm = dm_dense_norm(b->size, p);
    const bool none = norm <= 1e3 * DBL_EPSILON * sqrt(fmax(0.0, b->values[0]));
    for (int64_t j = 0; j < b->size; j++)
      p[j] = none ? basis_random(c->job->seed + (uint64_t)c->passes, (uint64_t)(i * b->size + j))
                  : p[j] / norm;
  }
  return *count > 0 ? basis_orthonormalise(c, *count, false) : DM_OK;
}

void dm_basis_restart(dm_components_state *c, int64_t count) {
  dm_basis *b = &c->basis;
  memcpy(c->p, b->v, (size_t)(count * b->size) * sizeof *c->p);
  b->used = b->best = 0;
}

double dm_basis_largest_residual(const dm_components_state *c) {
  double largest = 0.0;
  for (int64_t i = 0; i < dm_min(c->basis.best, c->job->count); i++)
    largest = fmax(largest, c->basis.residuals[i]);
  return largest;
}

double dm_basis_misfit(int64_t count, const double *l, int64_t i, double s) {
  double sum = 0.0;
  for (int64_t j = 0; j <= i; j++) {
    const double r = l[i * count + j] - (j == i ? s : 0.0);
    sum += r * r;
  }
  return sqrt(sum);
}

const char *dm_components_method_name(dm_components_method method) {
  static const char *const names[] = {"auto", "gram", "passes"};
  return names[method];
}
