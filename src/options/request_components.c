/* Components of a matrix, from the options that state them. */
#include "options/request.h"

#include <string.h>

#include "core/buffer.h"

void dm_request_components(dm_settings *s, bool of_rows, bool svd) {
  if (svd)
    dm_request_gram(s, of_rows);
  else
    dm_request_covariance(s, of_rows, false, false);
}

/* What components do not take. */
static dm_status check_components(const dm_settings *s) {
  if (!dm_given(s, "rank"))
    return dm_hint(dm_fail(DM_E_USAGE, "the number of components is missing"),
                   "--rank K states it");
  if (s->missing == (int)DM_MISSING_PAIRWISE)
    return dm_hint(dm_fail(DM_E_USAGE, "components are not those of pairs of variables"),
                   "--missing mean takes means, complete leaves out observations");
  if (s->missing == (int)DM_MISSING_COMPLETE && s->scores.file[0])
    return dm_hint(dm_fail(DM_E_USAGE, "observations that are left out have no scores"),
                   "--missing mean takes means in place of missing values");
  if (!(s->tolerance > 0.0)) return dm_fail(DM_E_USAGE, "--tolerance is a positive number");
  return DM_OK;
}

dm_status dm_request_components_job(const dm_settings *s, const dm_product_files *f,
                                    dm_components *job) {
  DM_TRY(check_components(s));
  dm_request_multiply(s, f, &job->multiply);
  job->count = s->rank;
  job->method = (dm_components_method)s->method;
  job->passes = s->passes;
  job->oversampling = s->oversampling;
  job->tolerance = s->tolerance;
  job->seed = (uint64_t)s->seed;
  job->scores = s->scores;
  if (job->scores.file[0] && !job->scores.dataset[0]) strcpy(job->scores.dataset, "/scores");
  return DM_OK;
}

/* Scores are checked like any C in a file. */
static dm_status check_scores(const dm_settings *s, const dm_dataset *const *inputs, int count) {
  dm_location at = s->scores;
  if (!at.file[0]) return DM_OK;
  if (strcmp(at.file, s->output.file) == 0)
    return dm_hint(dm_fail(DM_E_USAGE, "scores are written to a file of their own"),
                   "--scores names another one than -o");
  return dm_output_check(&at, "/scores", s->force, inputs, count, NULL, NULL);
}

/* Whole numbers are read as f64. */
static dm_status check_problem(const dm_settings *s, const dm_log *log, dm_product_files *f) {
  DM_FREED dm_settings *own = NULL;
  dm_problem problem;
  DM_TRY(dm_buffer_table(1, &own));
  *own = *s;
  if (!dm_given(s, "type") && dm_dtype_is_integer(dm_dataset_type(&f->a)))
    DM_TRY(dm_value_take(dm_value_find("type"), "f64", own));
  DM_TRY(dm_request_arrange(own, &f->a, &f->b, &f->form.leads));
  dm_request_tell(own, log, &f->a, &f->b);
  DM_TRY(dm_request_problem(own, f, &problem));
  dm_request_tell_types(own, log, &f->a, &f->b, &problem);
  return DM_OK;
}

dm_status dm_request_settle_components(const dm_settings *s, const dm_log *log, bool to_file,
                                       dm_product_files *f) {
  const dm_equation equation = dm_request_equation(s);
  DM_TRY(check_components(s));
  DM_TRY(check_problem(s, log, f));
  DM_TRY(dm_request_inspect_vectors(s, log, &equation, &f->a, &f->b, &f->vectors));
  const dm_dataset *const inputs[] = {&f->a, &f->vectors.weights};
  if (to_file) {
    f->out = s->output;
    if (dm_output_is_npy(&f->out))
      return dm_hint(dm_fail(DM_E_USAGE, "a .npy file holds one array"),
                     "name an HDF5 file: -o P.h5");
    DM_TRY(
        dm_output_check(&f->out, s->covariance ? "/pca" : "/svd", s->force, inputs, 2, NULL, NULL));
  }
  return check_scores(s, inputs, 2);
}

dm_status dm_request_inspect_components(const dm_settings *s, const dm_log *log,
                                        const char *operand, dm_product_files *f) {
  DM_TRY(check_components(s));
  DM_TRY(dm_request_inspect_factor(s, log, operand, 0, &f->a));
  DM_TRY(dm_request_inspect_factor(s, log, operand, 1, &f->b));
  return dm_request_settle_components(s, log, true, f);
}
