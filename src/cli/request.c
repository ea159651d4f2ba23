#include "cli/request.h"

#include "core/checked.h"

static bool is_zero(const double z[2]) {
  return z[0] == 0.0 && z[1] == 0.0;
}

dm_equation dm_cli_equation(const dm_settings *s) {
  return (dm_equation){
      .op_a = (dm_op)s->op_a,
      .op_b = (dm_op)s->op_b,
      .alpha = {s->alpha[0], s->alpha[1]},
      .beta = {s->beta[0], s->beta[1]},
      .type = dm_cli_given(s, "type") ? (dm_dtype)s->type : DM_DTYPE_NONE,
      .type_c = dm_cli_given(s, "type-c") ? (dm_dtype)s->type_c : DM_DTYPE_NONE,
      .compute = (int)s->compute,
  };
}

dm_wishes dm_cli_wishes(const dm_settings *s) {
  return (dm_wishes){
      .pm = (int)s->grid[0],
      .pn = (int)s->grid[1],
      .pk = (int)s->grid[2],
      .panel = s->panel[0],
      .ramp = {s->panel[1], s->panel[2]},
      .reproducible = s->reproducible,
      .no_overlap = !s->overlap,
  };
}

dm_output_form dm_cli_form(const dm_settings *s) {
  return (dm_output_form){.chunk_rows = s->chunk[0],
                          .chunk_cols = s->chunk[1],
                          .deflate = (int)s->deflate,
                          .shuffle = s->shuffle};
}

int dm_cli_io_threads(const dm_settings *s) {
  return dm_cli_given(s, "io-threads") ? (int)dm_min(s->io_threads, INT32_MAX) : -1;
}

dm_engine dm_cli_engine(const dm_settings *s) {
  return (dm_engine){
      .backend = dm_cli_options[dm_cli_option_find("backend")].choices[s->backend],
      .kernel = s->kernel,
      .transport = dm_cli_options[dm_cli_option_find("transport")].choices[s->transport],
      .threads = (int)s->threads,
      .io_threads = dm_cli_io_threads(s),
      .write_by = (dm_write_way)s->write_by,
      .memory_host = s->memory[0],
      .memory_device = s->memory[1],
      .require_gpu_per_rank = s->require_gpu_per_rank,
      .pretend_nodes = (int)s->pretend_nodes,
      .stated_rates = s->rates != 0,
      .wishes = dm_cli_wishes(s),
  };
}

dm_status dm_cli_look_at(const dm_call *call, const dm_location *location, dm_dataset *dataset,
                         dm_attributes *provenance) {
  const dm_settings *s = &call->settings;
  const dm_trust trust = {
      .external = s->external, .virtual = s->virtual, .filters = s->filters, .no_data = s->no_data};
  DM_TRY(dm_io_inspect(location, &trust, dataset, provenance));
  char text[256];
  dm_log log = dm_cli_log(call);
  dm_io_describe(dataset, text, sizeof text);
  dm_log_line(&log, DM_LOG_DETAIL, "%s:%s: %lld x %lld %s, %s", dataset->at.file,
              dataset->at.dataset, (long long)dataset->rows, (long long)dataset->cols,
              dm_dtype_name(dataset->dtype), text);
  return DM_OK;
}

dm_status dm_cli_look(const dm_call *call, const char *operand, dm_dataset *dataset,
                      dm_attributes *provenance) {
  dm_location location;
  DM_TRY(dm_io_parse_location(operand, &location));
  return dm_cli_look_at(call, &location, dataset, provenance);
}

dm_status dm_cli_check_beta(const dm_call *call, bool *reads_c) {
  bool has_c = dm_cli_given(&call->settings, "c");
  *reads_c = !is_zero(call->settings.beta);
  if (*reads_c && !has_c)
    return dm_hint(dm_fail(DM_E_USAGE, "beta is not 0, but there is no old C"),
                   "--c FILE.h5:/dataset names it");
  if (has_c && !*reads_c) {
    dm_log log = dm_cli_log(call);
    dm_log_line(&log, DM_LOG_WARNING, "beta is 0: the file of --c is not read");
  }
  return DM_OK;
}

dm_status dm_cli_dimensions(const dm_settings *s, int64_t fallback, int64_t mnk[3]) {
  static const char *const names[] = {"m", "n", "k"};
  const int64_t stated[] = {s->m, s->n, s->k};
  for (int i = 0; i < 3; i++) {
    mnk[i] = stated[i] ? stated[i] : s->size ? s->size : fallback;
    if (mnk[i] == 0)
      return dm_hint(dm_fail(DM_E_USAGE, "--%s is missing", names[i]),
                     "--m, --n and --k state the problem, or --size for all three");
  }
  return DM_OK;
}
