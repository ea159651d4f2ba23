/* Components in a file are proved again: by a pass of them over X. */
#include <math.h>

#include "backend/dense.h"
#include "check/verdict.h"
#include "core/clock.h"
#include "programs/components_impl.h"
#include "transform/terms.h"

/* The vectors and values of a file, on every rank. */
typedef struct proof {
  double *vectors, *values;
  double largest, loss;
} proof;

/* Rank 0, after the pass: |X v - s u| and |X^T u - s v| of orthonormal vectors u. */
static dm_status proof_judge(dm_components_state *c, proof *p) {
  const int64_t k = c->job->count, size = c->small;
  const double first = p->values[0] / c->unscale;
  if (!dm_dense_in_order(k, c->pairs, size, c->z)) p->largest = INFINITY;
  for (int64_t i = 0; i < k; i++) {
    const double s = p->values[i] / c->unscale, beside = dm_basis_misfit(k, c->pairs, i, s);
    double sum = 0.0;
    for (int64_t j = 0; j < size; j++) {
      const double r = c->z[i * size + j] - s * p->vectors[i * size + j];
      sum += r * r;
    }
    p->largest = fmax(p->largest, fmax(beside, sqrt(sum)) / first);
    if (!(s > 0.0) || !isfinite(sum) || !isfinite(beside)) p->largest = INFINITY;
    if (i > 0 && p->values[i] > p->values[i - 1]) p->largest = INFINITY;
  }
  return dm_dense_orthogonality(k, size, p->vectors, &p->loss);
}

static dm_status proof_pass(dm_components_state *c, proof *p) {
  DM_TRY(dm_components_open(c));
  c->all = 4.0 * (double)c->tall * (double)c->small * (double)c->job->count;
  dm_progress_start(&c->progress, c->run, "multiplying", c->all, 0.0, c->run->ranks);
  if (c->run->rank == 0)
    memcpy(c->p, p->vectors, (size_t)(c->job->count * c->small) * sizeof *c->p);
  dm_status status = dm_components_pass(c, c->job->count);
  dm_progress_end(&c->progress);
  DM_TRY(status);
  DM_TRY(dm_comm_agree(c->run->world, c->run->rank == 0 ? proof_judge(c, p) : DM_OK));
  double found[2] = {p->largest, p->loss};
  DM_TRY(dm_comm_broadcast(c->run->world, found, sizeof found, 0));
  p->largest = found[0];
  p->loss = found[1];
  return DM_OK;
}

static void proof_report(const dm_components_state *c, const proof *p, bool passes,
                         const dm_components_stored *stored, dm_record *record) {
  char name[DM_NAME];
  const double seconds = dm_now() - c->started;
  dm_record_text(record, "files.a", "X", "%s", dm_location_name(&c->job->multiply.a.at, name));
  dm_record_text(record, "files.c", "components", "%s",
                 dm_location_name(&stored->components.at, name));
  dm_record_integer(record, "components.count", "their number", DM_SHOWN_PLAIN, c->job->count);
  dm_record_real(record, "components.largest_residual", "largest residual, of s1", DM_SHOWN_PLAIN,
                 p->largest);
  dm_record_real(record, "components.loss_of_orthogonality", "loss of orthogonality",
                 DM_SHOWN_PLAIN, p->loss);
  dm_record_text(record, "verification.verdict", "verdict", "%s", passes ? "PASS" : "FAIL");
  dm_record_real(record, "times.total_s", "time", DM_SHOWN_SECONDS, seconds);
  dm_record_summary(record,
                    "observations=%lld variables=%lld rank=%lld residual=%.2e ranks=%d "
                    "time_s=%.3f %s",
                    (long long)c->observations, (long long)c->variables, (long long)c->job->count,
                    p->largest, c->run->ranks, seconds, passes ? "PASS" : "FAIL");
}

static dm_status proof_end(const dm_components_state *c, const proof *p,
                           const dm_components_stored *stored, dm_record *record) {
  const double allowed = c->job->tolerance;
  const double loss = p->loss, largest = p->largest;
  const bool passes = largest <= allowed && loss <= allowed;
  if (record && c->run->rank == 0) proof_report(c, p, passes, stored, record);
  if (passes) return DM_OK;
  dm_status status = dm_hint(
      dm_fail(DM_E_VERIFY,
              "the components are not those of X: residuals are up to %.1e of the largest singular "
              "value, the loss of orthogonality is %.1e, %.0e is allowed",
              largest, loss, allowed),
      "--tolerance allows more, as for a search that did not converge");
  status->agreed = true;
  return status;
}

static dm_status proof_on(dm_components_state *c, proof *p, const dm_components_stored *stored) {
  DM_FREED dm_multiply *own = NULL;
  dm_centered made = {.made = {NULL, NULL}};
  DM_TRY(dm_comm_agree(c->run->world, dm_buffer_table(1, &own)));
  dm_status status = dm_components_begin(c, own);
  if (!status && (stored->components.cols != c->variables ||
                  stored->singular_values.rows * stored->singular_values.cols != c->job->count)) {
    status =
        dm_fail(DM_E_INPUT, "the components are not of %lld variables", (long long)c->variables);
    status->agreed = true; /* all ranks see it */
  }
  if (!status) status = dm_components_center(c, &made);
  if (!status) status = dm_read_vector(c->run, &stored->components, &p->vectors);
  if (!status) status = dm_read_vector(c->run, &stored->singular_values, &p->values);
  if (!status) status = proof_pass(c, p);
  dm_centered_free(&made);
  if (!status || status->agreed) dm_components_close(c);
  return status;
}

dm_status dm_components_verify(dm_run *run, const dm_components *job,
                               const dm_components_stored *stored, dm_record *record) {
  dm_components_state c = {.run = run, .job = job, .proves = true, .started = dm_now()};
  proof p = {.largest = 0.0};
  dm_status status = proof_on(&c, &p, stored);
  if (!status) status = proof_end(&c, &p, stored, record);
  free(p.vectors);
  free(p.values);
  return status;
}
