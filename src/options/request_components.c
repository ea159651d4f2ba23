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
  return dm_output_check(&at, "/scores", s->force || s->if_needed, inputs, count, NULL, NULL);
}

/* Whole numbers are read as f64. */
static dm_status components_problem_check(const dm_settings *s, const dm_log *log,
                                          dm_product_files *f) {
  DM_FREED dm_settings *own = NULL;
  dm_problem problem;
  DM_TRY(dm_buffer_table(1, &own));
  *own = *s;
  if (!dm_given(s, "type") && dm_dtype_is_integer(dm_dataset_type(&f->a)))
    DM_TRY(dm_option_take(dm_option_find("type"), "f64", own));
  DM_TRY(dm_request_arrange(own, &f->a, &f->b, &f->form.leads));
  dm_request_tell(own, log, &f->a, &f->b);
  DM_TRY(dm_request_problem(own, f, &problem));
  if (dm_problem_is_exact(&problem))
    return dm_hint(
        dm_fail(DM_E_USAGE, "components are no whole numbers in %s", dm_dtype_name(problem.c)),
        "leave out --type, or state f32 or f64");
  dm_request_tell_types(own, log, DM_LOG_DETAIL, &f->a, &f->b, &problem);
  return DM_OK;
}

static dm_status components_inputs_check(const dm_settings *s, const dm_log *log,
                                         dm_product_files *f) {
  const dm_equation equation = dm_request_equation(s);
  DM_TRY(check_components(s));
  DM_TRY(components_problem_check(s, log, f));
  return dm_request_inspect_vectors(s, log, &equation, &f->a, &f->b, &f->vectors);
}

static dm_status components_outputs_check(const dm_settings *s, bool to_file, dm_product_files *f) {
  const dm_dataset *const inputs[] = {&f->a, &f->vectors.weights};
  if (to_file) {
    f->out = s->output;
    if (dm_output_is_npy(&f->out))
      return dm_hint(dm_fail(DM_E_USAGE, "a .npy file holds one array"),
                     "name an HDF5 or .npz file: -o P.h5");
    DM_TRY(dm_output_check_arrays(&f->out, s->covariance ? "/pca" : "/svd",
                                  s->force || s->if_needed, inputs, 2));
  }
  return check_scores(s, inputs, 2);
}

dm_status dm_request_settle_components(const dm_settings *s, const dm_log *log, bool to_file,
                                       bool find, dm_product_files *f) {
  DM_TRY(components_inputs_check(s, log, f));
  if (find) DM_TRY(dm_request_find_components(s, f));
  return f->done ? DM_OK : components_outputs_check(s, to_file, f);
}

dm_status dm_request_inspect_components(const dm_settings *s, const dm_log *log,
                                        const char *operand, bool to_file, dm_product_files *f) {
  DM_TRY(check_components(s));
  DM_TRY(dm_request_inspect_factor(s, log, operand, 0, false, &f->a));
  DM_TRY(dm_request_inspect_factor(s, log, operand, 1, false, &f->b));
  return dm_request_settle_components(s, log, to_file, to_file, f);
}

/* ---- components in a file ---- */

/* Takes OPTION from attribute NAME, unless it is stated. */
static dm_status take_stored(const dm_attributes *list, const char *name, const char *option,
                             dm_settings *s) {
  const char *text = dm_attributes_find(list, name);
  if (!text || !*text || dm_given(s, option)) return DM_OK;
  return dm_context(dm_option_take(dm_option_find(option), text, s), "attribute %s", name);
}

/* The group AT, by default /pca or /svd. */
static dm_status components_group_find(const dm_settings *s, dm_location *at, dm_attributes *list) {
  static const char *const names[] = {"/pca", "/svd"};
  const bool named = at->dataset[0] != '\0';
  for (int i = 0; i < (named ? 1 : 2); i++) {
    if (!named) strcpy(at->dataset, names[i]);
    DM_TRY(dm_request_inspect_group(s, at, list));
    if (dm_attributes_find(list, "decomposition")) return DM_OK;
  }
  return dm_hint(
      dm_fail(DM_E_USAGE, "verify needs A, B and C, or C alone, or X and its components"),
      "%s has none of damier pca or svd; if C is X^H X of another program: damier verify X X C "
      "--op-a c",
      at->file);
}

static dm_status inspect_array(const dm_settings *s, const dm_log *log, const dm_location *group,
                               const char *name, dm_dataset *set) {
  DM_FREED dm_settings *own = NULL;
  dm_location at = *group;
  const size_t used = strlen(at.dataset), more = strlen(name) + 2;
  if (used + more > sizeof at.dataset)
    return dm_fail(DM_E_USAGE, "the name of %s's group is too long", at.file);
  at.dataset[used] = '/';
  strcpy(at.dataset + used + 1, name);
  DM_TRY(dm_buffer_table(1, &own));
  *own = *s;
  own->as_column = own->raw = true;
  own->as_row = false;
  return dm_request_inspect_at(own, log, &at, set, NULL);
}

dm_status dm_request_verify_components(dm_settings *s, const dm_log *log,
                                       const char *const operands[2], dm_product_files *f,
                                       dm_components_stored *stored) {
  DM_FREED dm_attributes *list = NULL;
  dm_location at;
  DM_TRY(dm_buffer_table(1, &list));
  DM_TRY(dm_value_location(operands[1], &at));
  DM_TRY(components_group_find(s, &at, list));
  const char *of = dm_attributes_find(list, "components_of"),
             *centering = dm_attributes_find(list, "centering_a");
  DM_TRY(take_stored(list, "type", "type", s));
  DM_TRY(take_stored(list, "missing", "missing", s));
  DM_TRY(take_stored(list, "weights", "weights", s));
  DM_TRY(take_stored(list, "weights_are", "weights-are", s));
  DM_TRY(inspect_array(s, log, &at, "components", &stored->components));
  DM_TRY(inspect_array(s, log, &at, "singular_values", &stored->singular_values));
  s->rank = stored->components.rows;
  dm_give(s, "rank");
  s->scale_x = centering && strstr(centering, "scale none") == NULL;
  dm_request_components(s, of && strcmp(of, "rows") == 0,
                        strcmp(dm_attributes_find(list, "decomposition"), "svd") == 0);
  DM_TRY(dm_request_inspect_factor(s, log, operands[0], 0, false, &f->a));
  DM_TRY(dm_request_inspect_factor(s, log, operands[0], 1, false, &f->b));
  return dm_request_settle_components(s, log, false, false, f);
}
