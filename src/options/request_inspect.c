/* How files are inspected, as options state. */
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "dataset/dataset_text.h"
#include "options/request.h"

static const double forever = 1e9; /* seconds */

/* Which values of a factor are missing is the user's to say; where means are taken, NaN is found
 * without being looked for. */
static bool searches_nan(const dm_settings *s) {
  const bool looks = s->missing == (int)DM_MISSING_ZERO ||
                     (s->missing == (int)DM_MISSING_REFUSED && !s->center_x && !s->scale_x);
  return looks && (s->covariance || dm_given(s, "missing"));
}

/* The features of files that the settings allow; DM_E_USAGE if they contradict each other. */
dm_status dm_request_trust(const dm_settings *s, dm_trust *trust) {
  *trust = (dm_trust){.external = s->external,
                      .virtual = s->virtual,
                      .filters = s->filters,
                      .no_data = s->no_data,
                      .swmr = s->swmr,
                      .raw = s->raw,
                      .missing = (dm_missing)s->missing,
                      .patience = s->hang_timeout > 0 ? s->hang_timeout : forever,
                      .batch = true,
                      .by_columns = s->stack != 0,
                      .inspector = s->inspector,
                      .replaced = s->append ? NULL : s->output.file,
                      .vectors = s->as_column ? DM_AS_COLUMN
                                 : s->as_row  ? DM_AS_ROW
                                              : DM_NO_VECTOR};
  return s->as_column && s->as_row
             ? dm_hint(dm_fail(DM_E_USAGE, "--as-column and --as-row cannot be combined"),
                       "--op-a t and --op-b t read a column as a row")
             : DM_OK;
}

static void state_missing(const dm_settings *s, dm_trust *trust) {
  trust->nan = searches_nan(s);
  memcpy(trust->missing_value, s->missing_value, sizeof trust->missing_value);
}

static void warn_of_meaning(const dm_log *log, const dm_dataset *dataset) {
  char name[DM_NAME];
  if (dataset->meaning.warning[0])
    dm_log_line(log, DM_LOG_WARNING, "%s: %s", dm_location_name(&dataset->at, name),
                dataset->meaning.warning);
}

static dm_status request_inspect(const dm_settings *s, const dm_log *log,
                                 const dm_location *location, bool is_factor, dm_vector by_rule,
                                 dm_dataset *dataset, dm_attributes *provenance) {
  dm_trust trust;
  DM_TRY(dm_request_trust(s, &trust));
  if (trust.vectors == DM_NO_VECTOR) trust.vectors = by_rule;
  if (is_factor)
    state_missing(s, &trust);
  else if (trust.missing != DM_MISSING_NAN && trust.missing != DM_MISSING_ZERO)
    trust.missing = DM_MISSING_REFUSED; /* no means are taken of an old C, nor of vectors */
  trust.row_axes = location->row_axes;
  trust.complex_axis = location->complex_axis;
  trust.fold = location->fold;
  DM_TRY(dm_file_inspect(location, &trust, dataset, provenance));
  char text[256], name[DM_NAME], shape[DM_SHAPE_TEXT];
  if (strlen(dm_location_name(&dataset->at, name)) >= DM_ATTRIBUTE_TEXT)
    return dm_fail(DM_E_USAGE, "the name '%.60s...' has more than %d characters", name,
                   DM_ATTRIBUTE_TEXT - 1);
  dm_dataset_describe(dataset, text, sizeof text);
  dm_log_line(log, DM_LOG_DETAIL, "%s: %s %s, %s", dm_location_name(&dataset->at, name),
              dm_dataset_text(dataset, shape), dm_dtype_name(dataset->dtype), text);
  warn_of_meaning(log, dataset);
  return DM_OK;
}

dm_status dm_request_state_missing(const dm_settings *s, const dm_log *log, dm_dataset *dataset) {
  dm_trust trust;
  DM_TRY(dm_request_trust(s, &trust));
  state_missing(s, &trust);
  dataset->meaning = (dm_meaning){.missing = trust.missing};
  DM_TRY(dm_examine_stated(&trust, dataset));
  warn_of_meaning(log, dataset);
  return DM_OK;
}

dm_status dm_request_inspect_at(const dm_settings *s, const dm_log *log,
                                const dm_location *location, dm_dataset *dataset,
                                dm_attributes *provenance) {
  return request_inspect(s, log, location, false, DM_NO_VECTOR, dataset, provenance);
}

dm_status dm_request_inspect_shaped(const dm_settings *s, const dm_log *log,
                                    const dm_location *location, dm_vector vector,
                                    dm_dataset *dataset, dm_attributes *provenance) {
  return request_inspect(s, log, location, false, vector, dataset, provenance);
}

dm_status dm_request_inspect_group(const dm_settings *s, const dm_location *at,
                                   dm_attributes *attributes) {
  dm_trust trust;
  if (dm_output_is_npz(at))
    return dm_hint(
        dm_fail(DM_E_USAGE, "%s: results in archives of NumPy are not verified later", at->file),
        "write the result to a file of HDF5, too: -o R.h5");
  DM_TRY(dm_request_trust(s, &trust));
  return dm_group_inspect(at, trust.patience, attributes);
}

/* A vector is A's row or B's column, as in NumPy, whatever the ops; only in products of two. */
static dm_vector request_rule(const dm_settings *s, int x, const dm_location *location) {
  const bool upright = x == 1 ? s->op_b == (int)DM_OP_N : s->op_a != (int)DM_OP_N;
  if (s->gram || s->covariance || s->metric.kind != DM_NO_DISTANCE ||
      dm_location_is_stack(location))
    return DM_NO_VECTOR;
  return upright ? DM_AS_COLUMN : DM_AS_ROW;
}

/* Whether SET has one dimension, beside that of the parts of complex numbers. */
static bool request_is_line(const dm_dataset *set) {
  return set->vector != DM_NO_VECTOR ||
         (set->parts == DM_PARTS_PAIRED && dm_dataset_axes(set).count == 2);
}

dm_status dm_request_shape_result(const dm_settings *s, const dm_dataset *a, const dm_dataset *b,
                                  dm_leads *leads) {
  const dm_dataset *const sets[2] = {a, b};
  char name[DM_NAME];
  leads->vector = DM_NO_VECTOR;
  if (s->as_column || s->as_row) return DM_OK;
  for (int x = 0; x < 2; x++) {
    if (!request_is_line(sets[x])) continue;
    if (leads->count > 0)
      return dm_hint(dm_fail(DM_E_INPUT, "%s has 1 dimension, beside a batch of matrices",
                             dm_location_name(&sets[x]->at, name)),
                     "--as-column or --as-row takes it as a matrix");
    leads->vector = x == 0 ? DM_AS_ROW : DM_AS_COLUMN;
  }
  return DM_OK;
}

dm_status dm_request_inspect_both(const dm_settings *s, const dm_log *log,
                                  const char *const operands[2], dm_dataset *a, dm_dataset *b) {
  DM_TRY(dm_request_inspect_factor(s, log, operands[0], 0, true, a));
  return dm_request_inspect_factor(s, log, operands[1], 1, true, b);
}

dm_status dm_request_inspect_factor(const dm_settings *s, const dm_log *log, const char *operand,
                                    int x, bool by_rule, dm_dataset *dataset) {
  dm_location location;
  double number;
  DM_TRY(dm_value_location(operand, &location));
  if (dm_given(s, x == 0 ? "shape-a" : "shape-b") && dm_given(s, x == 0 ? "packed-a" : "packed-b"))
    return dm_fail(DM_E_USAGE, "--shape-%c and --packed-%c cannot be combined", "ab"[x], "ab"[x]);
  location.row_axes = s->row_axes[x];
  const bool own = s->complex_axes[x] != (int)DM_COMPLEX_AUTO;
  location.complex_axis = (dm_complex_axis)(own ? s->complex_axes[x] : s->complex_axis);
  location.fold = s->fold[x];
  dm_status status =
      request_inspect(s, log, &location, true,
                      by_rule ? request_rule(s, x, &location) : DM_NO_VECTOR, dataset, NULL);
  if (status && status->code == DM_E_IO && dm_parse_real(operand, &number))
    return dm_hint(status,
                   "operands are files; --alpha %s multiplies the product of two matrices by %s",
                   operand, operand);
  return status;
}
