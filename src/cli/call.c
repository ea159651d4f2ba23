/* One invocation: its options, and how it prints. */
#include <string.h>

#include "cli/call.h"
#include "file/checksum.h"
#include "options/request.h"
#include "run/run.h"

/* ---- options ---- */

dm_status dm_cli_take(dm_call *call, const dm_option *option, const char *text) {
  call->own.given[option - dm_cli_options] = true;
  return option->own.set ? option->own.set(&option->own, text, &call->own)
                         : dm_value_take(dm_cli_value(option), text, &call->settings);
}

dm_status dm_cli_defaults(dm_call *call) {
  memset(&call->own, 0, sizeof call->own);
  DM_TRY(dm_settings_defaults(&call->settings));
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_value *own = &dm_cli_options[i].own;
    if (own->set && own->initial) DM_TRY(own->set(own, own->initial, &call->own));
  }
  return DM_OK;
}

bool dm_cli_given(const dm_call *call, const char *name) {
  for (int i = 0; i < dm_cli_option_count; i++)
    if (call->own.given[i] && strcmp(dm_cli_options[i].name, name) == 0) return true;
  return false;
}

_Static_assert(DM_ALIKE >= DM_CLI_OPTIONS + 32, "room for the options and what else a call states");

void dm_cli_add_alike(dm_alike *alike, const dm_call *call) {
  dm_request_add_alike(alike, &call->settings);
  for (int i = 0; i < dm_cli_option_count; i++) {
    const dm_option *o = &dm_cli_options[i];
    if (!o->own.set) continue;
    const uint64_t stated[] = {
        (uint64_t)dm_checksum_bytes((const char *)&call->own + o->own.at, (int64_t)o->own.room, 0),
        call->own.given[i]};
    dm_alike_add(alike, o->name, stated, sizeof stated);
  }
}

dm_status dm_cli_check_beta(const dm_call *call, bool *reads_c) {
  const bool has_c = dm_given(&call->settings, "c");
  *reads_c = dm_request_reads_c(&call->settings);
  if (*reads_c && !has_c)
    return dm_hint(dm_fail(DM_E_USAGE, "beta is not 0, but no old C is named"),
                   "--c FILE.h5:/dataset names it");
  if (has_c && !*reads_c) {
    dm_log log = dm_cli_log(call);
    dm_log_line(&log, DM_LOG_WARNING, "beta is 0: the file of --c is not read");
  }
  return DM_OK;
}

dm_status dm_cli_dimensions(const dm_call *call, int64_t fallback, int64_t mnk[3]) {
  static const char *const names[] = {"m", "n", "k"};
  const int64_t stated[] = {call->own.m, call->own.n, call->own.k};
  for (int i = 0; i < 3; i++) {
    mnk[i] = stated[i] ? stated[i] : call->own.size ? call->own.size : fallback;
    if (mnk[i] == 0)
      return dm_hint(dm_fail(DM_E_USAGE, "--%s is missing", names[i]),
                     "--m, --n and --k state the problem, or --size for all three");
  }
  return DM_OK;
}

/* ---- output ---- */

dm_level dm_cli_level(const dm_call *call) {
  int level = (int)DM_LOG_NOTE + call->own.verbose - call->own.quiet;
  if (level < (int)DM_LOG_ERROR) return DM_LOG_ERROR;
  return level > (int)DM_LOG_DEBUG ? DM_LOG_DEBUG : (dm_level)level;
}

dm_log dm_cli_log(const dm_call *call) {
  return (dm_log){stderr, dm_cli_level(call), call->rank < 0 ? 0 : call->rank};
}

bool dm_cli_ramp(const dm_call *call) {
  return call->rank <= 0;
}

void dm_cli_print_error(const dm_error *error, const dm_run *run, FILE *out) {
  fputs(error->code == DM_E_STOPPED ? "damier: " : "damier: error: ", out);
  dm_put_text(error->message, out);
  fputc('\n', out);
  if (error->code == DM_E_HANG) {
    fprintf(out, "  where: %s\n", error->place);
  } else if (error->code != DM_E_USAGE && error->code != DM_E_STOPPED && error->place[0]) {
    int rank = error->rank < 0 && run ? run->rank : error->rank;
    fprintf(out, "  where: %s", error->place);
    if (run && run->ranks > 1) fprintf(out, ", rank %d of %d", rank, run->ranks);
    if (run && rank == run->rank) fprintf(out, " on %s", dm_comm_host(run->world));
    if (error->others == 1) fputs(" and 1 other", out);
    if (error->others > 1) fprintf(out, " and %d others", error->others);
    fputc('\n', out);
  }
  if (error->hint[0]) {
    fputs("  hint: ", out);
    dm_put_text(error->hint, out);
    fputc('\n', out);
  }
  fflush(out);
}
