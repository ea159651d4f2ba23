/* One invocation: its options, and how it prints. */
#include "cli/call.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "core/checksum.h"
#include "core/status.h"
#include "core/suggest.h"
#include "io/output.h"
#include "options/request.h"
#include "run/record.h"
#include "run/run.h"

/* ---- options ---- */

/* Sets OPTION, and that it was given. Only rank 0 reads the file of a machine. */
static dm_status set_option(dm_call *call, const dm_option *option, const char *text) {
  call->own.given[option - dm_options] = true;
  const dm_option *row = dm_option_valued(option);
  if (row->owner == DM_OF_COMMAND) return row->value.set(&row->value, text, &call->own);
  if (dm_cli_speaks(call) || strcmp(row->name, "machine") != 0 || text[0] != '@')
    return dm_option_take(row, text, &call->settings);
  dm_give(&call->settings, row->name);
  return dm_value_set_text(&row->value, text, &call->settings);
}

dm_status dm_cli_defaults(dm_call *call) {
  memset(&call->own, 0, sizeof call->own);
  DM_TRY(dm_settings_defaults(&call->settings));
  for (int i = 0; i < dm_option_count; i++) {
    const dm_value *own = &dm_options[i].value;
    if (dm_options[i].owner == DM_OF_COMMAND && own->initial)
      DM_TRY(own->set(own, own->initial, &call->own));
  }
  return DM_OK;
}

bool dm_cli_given(const dm_call *call, const char *name) {
  for (int i = 0; i < dm_option_count; i++)
    if (call->own.given[i] && strcmp(dm_options[i].name, name) == 0) return true;
  return false;
}

_Static_assert(DM_ALIKE >= DM_OPTIONS + 32, "room for the options and what else a call states");

void dm_cli_add_alike(dm_alike *alike, const dm_call *call) {
  dm_request_add_alike(alike, &call->settings);
  for (int i = 0; i < dm_option_count; i++) {
    const dm_option *o = &dm_options[i];
    if (!o->value.set || o->owner != DM_OF_COMMAND) continue;
    const uint64_t stated[] = {(uint64_t)dm_checksum_bytes((const char *)&call->own + o->value.at,
                                                           (int64_t)o->value.room, 0),
                               call->own.given[i]};
    dm_alike_add(alike, o->name, stated, sizeof stated);
  }
}

dm_status dm_cli_check_beta(const dm_call *call, bool *reads_c) {
  const bool has_c = dm_given(&call->settings, "c");
  DM_TRY(dm_request_check_beta(&call->settings, false));
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
  return (dm_log){stderr, dm_cli_level(call), call->rank < 0 ? 0 : call->rank, call->notes};
}

bool dm_cli_speaks(const dm_call *call) {
  return call->rank <= 0;
}

/* Which rank failed, and from DM_LOG_DETAIL on, where in the source. */
static void print_place(const dm_error *error, const dm_run *run, dm_level level, FILE *out) {
  const int rank = error->rank < 0 && run ? run->rank : error->rank;
  const bool several = run && run->ranks > 1, source = level >= DM_LOG_DETAIL && error->place[0];
  if (!several && !source) return;
  fputs("  where: ", out);
  if (source) fprintf(out, "%s%s", error->place, several ? ", " : "");
  if (several) fprintf(out, "rank %d of %d", rank, run->ranks);
  if (run && rank == run->rank) fprintf(out, " on %s", dm_comm_host(run->world));
  if (error->others == 1) fputs(" and 1 other", out);
  if (error->others > 1) fprintf(out, " and %d others", error->others);
  fputc('\n', out);
}

void dm_cli_print_error(const dm_error *error, const dm_run *run, dm_level level, FILE *out) {
  fputs(error->code == DM_E_STOPPED ? "damier: " : "damier: error: ", out);
  dm_put_text(error->message, out);
  fputc('\n', out);
  if (error->code == DM_E_HANG)
    fprintf(out, "  where: %s\n", error->place);
  else if (error->code != DM_E_USAGE && error->code != DM_E_STOPPED)
    print_place(error, run, level, out);
  if (error->hint[0]) {
    fputs("  hint: ", out);
    dm_put_text(error->hint, out);
    fputc('\n', out);
  }
  fflush(out);
}

/* ---- reports: the table on standard output, records in the files of --json and --csv ---- */

static bool is_same_file(const char *one, const char *other) {
  struct stat a, b;
  if (strcmp(one, other) == 0) return true;
  return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool is_temporary(const dm_location *output, const char *path) {
  char temporary[DM_SIBLING_PATH];
  bool is = false;
  for (int i = 0; output->file[0] && dm_output_endings[i] && !is; i++) {
    dm_status bad = dm_file_sibling(output, dm_output_endings[i], temporary);
    is = !bad && is_same_file(path, temporary);
    dm_status_free(bad);
  }
  return is;
}

static dm_status check_not_matrix(const dm_call *call, const char *option, const char *path) {
  const dm_settings *s = &call->settings;
  if (is_temporary(&s->output, path))
    return dm_fail(DM_E_USAGE, "option '--%s': %s is a temporary file of this command", option,
                   path);
  bool clash = is_same_file(path, s->output.file) || is_same_file(path, s->old_c.file);
  for (int i = 0; i < call->operand_count && !clash; i++) {
    dm_location at;
    dm_status bad = dm_location_parse(call->operands[i], &at);
    clash = !bad && is_same_file(path, at.file);
    dm_status_free(bad);
  }
  if (!clash) return DM_OK;
  return dm_fail(DM_E_USAGE, "option '--%s': %s is a matrix of this command", option, path);
}

static dm_status check_not_report(const dm_cli_reports *reports, const char *path) {
  for (int i = 0; i < reports->count; i++) {
    const char *other = reports->files[i].path;
    if (dm_report_is_stdout(path) ? dm_report_is_stdout(other) : is_same_file(path, other))
      return dm_fail(DM_E_USAGE, "two reports would go to %s", path);
  }
  return DM_OK;
}

static dm_status open_reports(const dm_call *call, const dm_report_paths *paths, bool csv) {
  dm_cli_reports *reports = call->reports;
  for (int i = 0; i < paths->count; i++) {
    DM_TRY(check_not_report(reports, paths->path[i]));
    DM_TRY(dm_report_open(paths->path[i], csv, &reports->files[reports->count]));
    reports->count++; /* from here it gets closed, and removed if it is new */
    DM_TRY(check_not_matrix(call, csv ? "csv" : "json", paths->path[i]));
  }
  return DM_OK;
}

dm_status dm_cli_open_reports(const dm_call *call) {
  call->reports->count = 0;
  if (call->own.trace[0]) DM_TRY(check_not_matrix(call, "trace", call->own.trace));
  DM_TRY(open_reports(call, &call->own.json, false));
  return open_reports(call, &call->own.csv, true);
}

dm_status dm_cli_close_reports(const dm_call *call) {
  dm_cli_reports *reports = call->reports;
  dm_status status = DM_OK;
  for (int i = 0; i < reports->count; i++)
    status = dm_status_first(status, dm_report_close(&reports->files[i]));
  return status;
}

dm_status dm_cli_report(const dm_call *call, dm_record *record) {
  dm_cli_reports *reports = call->reports;
  dm_status status = DM_OK;
  dm_record_notes(record, call->notes);
  for (int i = 0; i < reports->count; i++)
    status = dm_status_first(status, dm_report_add(&reports->files[i], record));
  return status;
}

FILE *dm_cli_out(const dm_call *call) {
  const dm_report_paths *both[] = {&call->own.json, &call->own.csv};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < both[i]->count; j++)
      if (dm_report_is_stdout(both[i]->path[j])) return stderr;
  return stdout;
}

static const char call_mark[] = "damier: ";

/* -q leaves only the line that scripts read, if there is one; -q -q prints nothing. */
static dm_status print_table(const dm_call *call, const dm_record *record) {
  DM_FREED char *text = NULL;
  size_t size = 0;
  FILE *out = dm_cli_out(call);
  dm_level level = dm_cli_level(call);
  if (level <= DM_LOG_ERROR) return DM_OK;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) return dm_fail(DM_E_FIT, "no memory for the report");
  const bool short_one = call->verb->bit & (DM_VERBS_PRODUCT | DM_VERBS_COMPONENTS);
  dm_record_print(record, !short_one || call->own.verbose > 0 || call->own.dry_run, memory);
  if (fclose(memory) != 0) return dm_fail(DM_E_FIT, "no memory for the report");
  const char *last = text, *end = text + size;
  for (const char *at = text; at + 1 < end; at++)
    if (*at == '\n') last = at + 1;
  const bool brief = level <= DM_LOG_WARNING;
  if (!brief || strncmp(last, call_mark, strlen(call_mark)) == 0) fputs(brief ? last : text, out);
  if (fflush(out) != 0 || ferror(out))
    return dm_fail(DM_E_IO, "the report could not be written to standard output");
  return DM_OK;
}

dm_status dm_cli_publish(const dm_call *call, dm_record *record) {
  dm_status status = print_table(call, record);
  return dm_status_first(status, dm_cli_report(call, record));
}

/* ---- parsing the command line with getopt_long, from lists made of the option table ---- */

enum {
  FIRST = 256, /* values of long options start above all letters */
  CALL_MOST = 2 * DM_OPTIONS + 1,
  OPERAND = 1, /* getopt_long returns 1 for an operand if the letters start with "-" */
};

typedef struct call_lists {
  struct option longs[CALL_MOST];
  char letters[DM_OPTIONS * 2 + 3];
  char negated[DM_OPTIONS][40]; /* "no-verify" */
} call_lists;

static void make_lists(unsigned verb, call_lists *l) {
  int count = 0;
  memset(l, 0, sizeof *l);
  strcpy(l->letters, "-:"); /* '-': operands in order; ':': report a missing value */
  for (int i = 0; i < dm_option_count; i++) {
    const dm_option *o = &dm_options[i];
    if (!(o->verbs & verb)) continue;
    int value = dm_option_takes_value(o) ? required_argument : no_argument;
    l->longs[count++] = (struct option){o->name, value, NULL, FIRST + i};
    if (o->letter) {
      char letter[3] = {o->letter, value ? ':' : '\0', '\0'};
      strcat(l->letters, letter);
    }
    if (o->negatable) {
      snprintf(l->negated[i], sizeof l->negated[i], "no-%s", o->name);
      l->longs[count++] = (struct option){l->negated[i], 0, NULL, FIRST + DM_OPTIONS + i};
    }
  }
}

/* The option that getopt_long reported as CODE, or NULL. */
static const dm_option *option_of(int code, unsigned verb, bool *negated) {
  *negated = code >= FIRST + DM_OPTIONS;
  if (code >= FIRST) return &dm_options[code - FIRST - (*negated ? DM_OPTIONS : 0)];
  for (int i = 0; i < dm_option_count; i++)
    if (dm_options[i].letter == code && (dm_options[i].verbs & verb)) return &dm_options[i];
  return NULL;
}

/* The verbs that have the option NAME, as text; empty if none has it. */
static void knowing_verbs(const char *name, char *text, size_t room) {
  unsigned verbs = 0; /* the table has --output more than once */
  for (int i = 0; i < dm_option_count; i++)
    if (strcmp(dm_options[i].name, name) == 0) verbs |= dm_options[i].verbs;
  text[0] = '\0';
  for (int i = 0; i < dm_cli_verb_count; i++) {
    size_t used = strlen(text);
    if (verbs & dm_cli_verbs[i].bit)
      snprintf(text + used, room - used, "%s%s", used ? ", " : "", dm_cli_verbs[i].name);
  }
}

/* Names that other programs use for an option; NAME itself if none is known. */
static const char *call_synonym_of(const char *name) {
  static const char *const synonyms[][2] = {{"dtype", "type"},         {"out", "output"},
                                            {"overwrite", "force"},    {"output-type", "type-c"},
                                            {"jobs", "threads"},       {"cores", "threads"},
                                            {"cpus", "threads"},       {"mem", "memory"},
                                            {"max-memory", "memory"},  {"compression", "deflate"},
                                            {"gzip", "deflate"},       {"chunks", "chunk"},
                                            {"n-components", "rank"},  {"components", "rank"},
                                            {"ncomp", "rank"},         {"k", "rank"},
                                            {"topk", "top"},           {"distance", "metric"},
                                            {"timeout", "time-limit"}, {"max-time", "time-limit"}};
  for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
    if (strcasecmp(name, synonyms[i][0]) == 0) return synonyms[i][1];
  return name;
}

/* What does instead what others do by an option; NULL: nothing is known. */
static const char *instead_of(const char *name) {
  static const char gpu[] =
      "CUDA_VISIBLE_DEVICES=0 damier ... uses GPU 0 alone; multiply and gram have --gpus N; "
      "--backend cuda requires a GPU, and 'damier info' lists them";
  static const char ranks[] = "mpirun -n 4 damier ... starts 4 ranks";
  static const char op_a[] = "--op-a t transposes A", op_b[] = "--op-b t transposes B";
  static const char *const ways[][2] = {
      {"gpu", gpu},      {"gpus", gpu},         {"device", gpu},     {"cuda", gpu},
      {"np", ranks},     {"processes", ranks},  {"ranks", ranks},    {"transa", op_a},
      {"trans-a", op_a}, {"transpose-a", op_a}, {"transpose", op_a}, {"transb", op_b},
      {"trans-b", op_b}, {"transpose-b", op_b}};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
    if (strcasecmp(name, ways[i][0]) == 0) return ways[i][1];
  return NULL;
}

static dm_status unknown_option(const dm_verb *verb, const char *typed, const call_lists *l) {
  char name[64], others[160];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(typed, "="), typed);
  const char *space = verb->name[0] ? " " : "";
  knowing_verbs(name, others, sizeof others);
  dm_status status =
      dm_fail(DM_E_USAGE, "damier%s%s has no option '--%s'", space, verb->name, name);
  if (instead_of(name)) return dm_hint(status, "%s", instead_of(name));
  for (int i = 0; l->longs[i].name; i++)
    if (strcmp(l->longs[i].name, call_synonym_of(name)) == 0)
      return dm_hint(status, "did you mean '--%s'?", l->longs[i].name);
  if (others[0]) return dm_hint(status, "it is an option of %s", others);
  const char *names[CALL_MOST];
  int count = 0;
  for (; l->longs[count].name; count++) names[count] = l->longs[count].name;
  int nearest = dm_closest(call_synonym_of(name), names, count);
  if (nearest < 0)
    return dm_hint(status, "'damier%s%s --help-all' lists the options", space, verb->name);
  return dm_hint(status, "did you mean '--%s'?", names[nearest]);
}

static dm_status bad_option(const dm_verb *verb, const char *typed, const call_lists *l) {
  bool is_long = strncmp(typed, "--", 2) == 0;
  bool negated;
  if (is_long && optopt >= FIRST)
    return dm_fail(DM_E_USAGE, "option '%.*s' takes no value", (int)strcspn(typed, "="), typed);
  if (is_long) return unknown_option(verb, typed + 2, l);
  if (option_of(optopt, verb->bit, &negated))
    return dm_fail(DM_E_USAGE, "option '-%c' takes no value", optopt);
  dm_status status = dm_fail(DM_E_USAGE, "unknown option '-%c'", optopt);
  if (optopt == 'n') return dm_hint(status, "%s", instead_of("ranks"));
  for (int i = 0; optopt == 'k' && l->longs[i].name; i++)
    if (strcmp(l->longs[i].name, "rank") == 0) return dm_hint(status, "did you mean '--rank'?");
  if (optopt == 'j' || optopt == 't') return dm_hint(status, "did you mean '--threads'?");
  return dm_hint(status, "'damier%s%s --help-all' lists the options", verb->name[0] ? " " : "",
                 verb->name);
}

static dm_status missing_value(unsigned verb, int code) {
  bool negated;
  const dm_option *option = option_of(code, verb, &negated);
  char metavar[128];
  if (!option) return dm_fail(DM_E_BUG, "getopt_long reports an option %d without a value", code);
  dm_status status = dm_fail(DM_E_USAGE, "option '--%s' needs a value: %s", option->name,
                             dm_option_metavar(option, metavar));
  return strcmp(option->name, "json") == 0
             ? dm_hint(status, "--json=- writes to standard output, with -q nothing else is there")
             : status;
}

/* getopt_long accepts "--verb" for "--verbose"; a later option of a similar name would break
 * scripts. */
static bool is_cut_short(const char *typed, const char *name) {
  size_t length = strcspn(typed + 2, "=");
  return strlen(name) != length || strncmp(typed + 2, name, length) != 0;
}

static dm_status call_take(dm_call *call, int code, const char *typed, int place,
                           const call_lists *l) {
  bool negated;
  const dm_option *option = option_of(code, call->verb->bit, &negated);
  if (!option) return dm_fail(DM_E_BUG, "getopt_long returned %d", code);
  if (place >= 0 && is_cut_short(typed, l->longs[place].name))
    return unknown_option(call->verb, typed + 2, l);
  call->own.stated[option - dm_options] = true;
  const char *value = negated ? "no" : dm_option_takes_value(option) ? optarg : NULL;
  return dm_context(set_option(call, option, value), "option '--%s'", option->name);
}

dm_status dm_cli_arguments(dm_call *call, int argc, char **argv) {
  call_lists l;
  make_lists(call->verb->bit, &l);
  optind = 1;
  opterr = 0;
  for (;;) {
    int place = -1, at = optind;
    int code = getopt_long(argc, argv, l.letters, l.longs, &place);
    if (code == -1) break;
    if (code == OPERAND)
      call->operands[call->operand_count++] = optarg;
    else if (code == ':')
      return missing_value(call->verb->bit, optopt);
    else if (code == '?')
      return bad_option(call->verb, argv[at], &l);
    else
      DM_TRY(call_take(call, code, argv[at], place, &l));
  }
  while (optind < argc) call->operands[call->operand_count++] = argv[optind++];
  return DM_OK;
}

/* ---- environment ---- */

/* ---- DAMIER_* variables: they override defaults; flags override them ---- */

extern char **environ;

static const char prefix[] = "DAMIER_";
/* Not options: module files set DAMIER_ROOT, the Python package reads the other two. */
static const char *const of_others[] = {"ROOT", "LIBRARY", "PROGRAM"};
enum { OF_OTHERS = sizeof of_others / sizeof *of_others };

/* NAMES have no prefix: it must not count towards the similarity. */
static void warn_unknown(const dm_log *log, const char *name, const char *const *names, int count) {
  char typed[64] = "";
  strncat(typed, name, dm_min(strcspn(name, "="), sizeof typed - 1));
  const int near = dm_closest(typed, names, count);
  if (near >= 0 && strcmp(typed, names[near]) == 0) return;
  dm_log_line(log, DM_LOG_WARNING, "the variable %s%s is unknown and ignored%s%s%s%s", prefix,
              typed, near < 0 ? "" : "; did you mean ", near < 0 ? "" : prefix,
              near < 0 ? "" : names[near], near < 0 ? "" : "?");
}

dm_status dm_cli_environment(dm_call *call) {
  char variables[DM_OPTIONS][64];
  const char *names[DM_OPTIONS + OF_OTHERS];
  int count = 0;
  for (int i = 0; i < dm_option_count; i++) {
    const dm_option *option = &dm_options[i];
    if (option->flags_only) continue;
    names[count++] = dm_option_variable(option, variables[i]) + strlen(prefix);
    const char *value = getenv(variables[i]);
    if (value && !call->own.given[i] && option->verbs & call->verb->bit)
      DM_TRY(dm_context(set_option(call, option, value), "variable %s", variables[i]));
  }
  for (int i = 0; i < OF_OTHERS; i++) names[count++] = of_others[i];
  dm_log log = dm_cli_log(call);
  for (char **line = environ; dm_cli_speaks(call) && *line; line++)
    if (strncmp(*line, prefix, strlen(prefix)) == 0)
      warn_unknown(&log, *line + strlen(prefix), names, count);
  return DM_OK;
}
