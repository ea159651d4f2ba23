/* Options that would change nothing are refused: who gives one expects something of it. Variables
 * of the environment are for many commands, and may be idle. */
#include <stdio.h>
#include <string.h>

#include "cli/call.h"

static bool names_c_alone(const dm_call *call) {
  return call->verb->bit == DM_VERB_VERIFY && call->operand_count == 1;
}

static bool is_of_itself(const dm_call *call) {
  static const char *const products[] = {"gram", "cov", "cor", "pca", "svd"};
  for (int i = 0; i < 5 && call->operand_count > 0; i++)
    if (strcmp(call->operands[0], products[i]) == 0) return true;
  return false;
}

static bool plans_sizes(const dm_call *call) {
  return call->verb->bit == DM_VERB_PLAN && call->operand_count == (is_of_itself(call) ? 1 : 0);
}

static bool plans_two(const dm_call *call) {
  return call->verb->bit == DM_VERB_PLAN && !is_of_itself(call);
}

static bool plans_no_job(const dm_call *call) {
  return call->verb->bit == DM_VERB_PLAN && !call->own.slurm;
}

static bool plans_no_components(const dm_call *call) {
  const char *first = call->operand_count > 0 ? call->operands[0] : "";
  return call->verb->bit == DM_VERB_PLAN && strcmp(first, "pca") != 0 && strcmp(first, "svd") != 0;
}

static bool has_no_weights(const dm_call *call) {
  return call->verb->bit & DM_VERBS_PRODUCT && !dm_given(&call->settings, "weights");
}

static bool compares_fully(const dm_call *call) {
  return call->verb->bit == DM_VERB_VERIFY && call->settings.full;
}

static bool is_not_verified(const dm_call *call) {
  return call->verb->bit & DM_VERBS_PRODUCT && !call->settings.verify;
}

/* In calls of which IS is true, OPTIONS do nothing; WHY says where they do something. */
static const struct {
  bool (*is)(const dm_call *call);
  const char *why;
  const char *options[32];
} idle[] = {
    {names_c_alone,
     "it applies to the comparison of C with A and B, which are not named",
     {"c",           "op-a",
      "op-b",        "center-a",
      "center-b",    "scale-a",
      "scale-b",     "weights",
      "weights-are", "divide",
      "triangle",    "row-axes-a",
      "row-axes-b",  "shape-a",
      "shape-b",     "packed-a",
      "packed-b",    "alpha",
      "beta",        "type",
      "missing",     "missing-value",
      "compute",     "full",
      "verify-seed", "allow-unchecked",
      "strict-types"}},
    {plans_sizes,
     "it applies to files, and none is named",
     {"c",
      "as-column",
      "as-row",
      "row-axes-a",
      "row-axes-b",
      "shape-a",
      "shape-b",
      "packed-a",
      "packed-b",
      "stack",
      "missing",
      "missing-value",
      "raw",
      "allow-rounding",
      "strict-types",
      "allow-external",
      "allow-virtual",
      "allow-filters",
      "allow-no-data",
      "swmr"}},
    {plans_two, "it applies to 'damier plan gram', cov and cor", {"of"}},
    {plans_no_job, "it applies to the job that --slurm prints", {"partition", "within"}},
    {plans_no_components,
     "it applies to 'damier plan pca' and svd",
     {"rank", "method", "passes", "oversampling", "tolerance"}},
    {has_no_weights, "it applies to --weights, which are not named", {"weights-are"}},
    {compares_fully, "--full compares every element, without a random vector", {"verify-seed"}},
    {is_not_verified, "with --no-verify C is not checked", {"verify-seed", "on-corruption"}},
};

static bool is_stated(const dm_call *call, const char *name) {
  for (int i = 0; i < dm_option_count; i++)
    if (call->own.stated[i] && strcmp(dm_options[i].name, name) == 0) return true;
  return false;
}

dm_status dm_cli_check_effects(const dm_call *call) {
  for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
    if (!idle[i].is(call)) continue;
    for (int j = 0; j < 24 && idle[i].options[j]; j++)
      if (is_stated(call, idle[i].options[j]))
        return dm_fail(DM_E_USAGE, "--%s changes nothing: %s", idle[i].options[j], idle[i].why);
  }
  return DM_OK;
}
