#include "cli/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/backend.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "comm/comm.h"
#include "core/buffer.h"
#include "core/checked.h"
#include "core/clock.h"
#include "core/crew.h"
#include "core/version.h"
#include "dataset/codec.h"
#include "options/request.h"
#include "programs/info.h"
#include "transport/transport.h"

/* The command line, quoted for a shell; a longer one ends with "...". */
static void remember_command(dm_call *call, int argc, char **argv) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-_./:,=+%@";
  size_t used = 0, room = sizeof call->command;
  for (int i = 0; i < argc && used + 1 < room; i++) {
    const char *word = i == 0 ? "damier" : argv[i];
    const char *quote = strchr(word, '\'') ? "\"" : "'";
    if (word[0] && strspn(word, plain) == strlen(word)) quote = "";
    int length =
        snprintf(call->command + used, room - used, "%s%s%s%s", i ? " " : "", quote, word, quote);
    used += length > 0 ? (size_t)length : 0;
  }
  if (used >= room) strcpy(call->command + room - 5, " ...");
}

/* Either the output without its -o, or a product of three matrices. */
static dm_status third_operand(const dm_call *call) {
  const char *const *name = call->operands;
  const bool no_output = !dm_cli_given(call, "output");
  dm_status status = dm_fail(DM_E_USAGE, "unexpected operand '%s'", name[2]);
  if (no_output && call->operand_count == 3)
    return dm_hint(status, "-o names the output: damier multiply %s %s -o %s", name[0], name[1],
                   name[2]);
  return dm_hint(status,
                 "one run multiplies two matrices: damier multiply %s %s -o AB.h5, then damier "
                 "multiply AB.h5 %s ...",
                 name[0], name[1], name[2]);
}

static dm_status check_operands(const dm_call *call) {
  const dm_verb *verb = call->verb;
  if (verb->bit == DM_VERB_NONE) {
    if (call->operand_count == 0)
      return dm_hint(dm_fail(DM_E_USAGE, "no verb is given"), "'damier --help' lists the verbs");
    return dm_hint(dm_fail(DM_E_USAGE, "options precede the verb '%s'", call->operands[0]),
                   "put the verb first: damier VERB [options] ...");
  }
  if (call->operand_count > verb->most && verb->bit == DM_VERB_MULTIPLY) return third_operand(call);
  if (call->operand_count > verb->most)
    return dm_hint(dm_fail(DM_E_USAGE, "unexpected operand '%s'", call->operands[verb->most]),
                   "usage: damier %s%s%s", verb->name, verb->operands[0] ? " " : "",
                   verb->operands);
  if (call->operand_count < verb->least)
    return dm_hint(dm_fail(DM_E_USAGE, "damier %s needs %d operand%s, got %d", verb->name,
                           verb->least, verb->least == 1 ? "" : "s", call->operand_count),
                   "usage: damier %s %s", verb->name, verb->operands);
  return DM_OK;
}

/* The features of this build. */
static void print_features(void) {
  const dm_backend_ops *const *backends = dm_backend_all();
  const dm_transport_ops *const *transports = dm_transport_all();
  const char *before = "backends: ";
  for (int i = 0; backends[i]; i++) {
    if (backends[i]->not_built) continue;
    printf("%s%s", before, backends[i]->name);
    before = ", ";
  }
  before = "; transports: ";
  for (int i = 0; transports[i]; i++) {
    if (transports[i]->not_built) continue;
    printf("%s%s", before, transports[i]->name);
    before = ", ";
  }
  char mpi[128];
  dm_comm_library(mpi, sizeof mpi);
  printf("; codecs: %s%s\n", dm_codec_names(), strcmp(mpi, "none") == 0 ? "; without MPI" : "");
}

static dm_status print_version(const dm_call *call) {
  printf("damier %s (git %s)\n", DM_VERSION, DM_GIT);
  print_features();
  if (call->own.verbose == 0) return DM_OK;
  dm_record *record = NULL;
  dm_status status = dm_record_new("version", call->command, &record);
  if (!status) status = dm_info_program(record);
  if (!status) dm_record_print(record, true, stdout);
  dm_record_free(record);
  return status;
}

/* Whether there are options that print something instead of working. */
static bool program_is_asked(const dm_command_asked *asked) {
  return asked->help || asked->help_all || asked->version || asked->man_page ||
         asked->completion != 0;
}

static dm_status program_answer(const dm_call *call, bool *answered) {
  const dm_command_asked *asked = &call->own.asked;
  *answered = program_is_asked(asked);
  if (!*answered || !dm_cli_speaks(call)) return DM_OK;
  if (asked->help || asked->help_all)
    dm_cli_print_help(call->verb, asked->help_all, stdout);
  else if (asked->version)
    DM_TRY(print_version(call));
  else if (asked->man_page)
    dm_cli_print_man_page(stdout);
  else
    dm_cli_print_completion(asked->completion - 1, stdout);
  if (fflush(stdout) != 0 || ferror(stdout))
    return dm_fail(DM_E_IO, "standard output could not be written");
  return DM_OK;
}

/* "help VERB" is "VERB --help", and "version" is "--version". */
static void turn_words(int argc, char **argv) {
  static char help[] = "--help", version[] = "--version";
  if (argc > 1 && strcmp(argv[1], "version") == 0) argv[1] = version;
  if (argc < 2 || strcmp(argv[1], "help") != 0) return;
  memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
  argv[argc - 1] = help;
}

static dm_status check_job(const dm_call *call) {
  static const unsigned jobs =
      DM_VERBS_PRODUCT | DM_VERBS_COMPONENTS | DM_VERB_VERIFY | DM_VERB_COMPARE;
  const bool asked = program_is_asked(&call->own.asked);
  if (call->verb->bit & jobs && !asked) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_USAGE, "'%s' is no job of a list", asked ? call->command : call->verb->name),
      "jobs are multiply, gram, cov, cor, pca, svd, verify and compare");
}

/* Each of COUNT jobs at once has its part of the node. */
static void program_share_node(dm_settings *s, int64_t count) {
  const int64_t free = dm_memory_available();
  if (count <= 1) return;
  if (s->threads == 0) s->threads = dm_max(1, dm_cores() / count);
  if (s->memory[0] == 0 && free > 0) s->memory[0] = free / count / 10 * 9;
}

/* WITHIN: NULL, or the list that the call is a job of. */
static dm_status read_call(dm_call *call, int argc, char **argv, const dm_call *within,
                           bool *answered) {
  int used = 0;
  call->verb = &dm_cli_no_verb;
  call->rank = dm_comm_rank_before_start();
  call->argv = argv;
  remember_command(call, argc, argv);
  turn_words(argc, argv);
  DM_TRY(dm_cli_defaults(call));
  if (argc > 1 && argv[1][0] != '-')
    DM_TRY(dm_cli_verb_find(argc - 1, argv + 1, &call->verb, &used));
  DM_TRY(dm_cli_arguments(call, argc - used, argv + used));
  if (within) DM_TRY(check_job(call));
  DM_TRY(program_answer(call, answered));
  if (*answered) return DM_OK;
  if (within) {
    call->settings.skip_done = true;
    call->settings.inspector = within->settings.inspector;
    call->own.quiet += within->own.quiet + 1;
    call->own.verbose += within->own.verbose;
    program_share_node(&call->settings, within->own.at_once);
  }
  DM_TRY(dm_cli_environment(call));
  DM_TRY(check_operands(call));
  return dm_cli_check_effects(call);
}

/* Called when the pages of a mapped file cannot be read: the file was truncated, or its disk
 * failed. Several threads may get here at once; only the first prints. */
static void lose_file(int number) {
  static atomic_flag printed = ATOMIC_FLAG_INIT;
  static const char text[] = "damier: error: a mapped file was truncated, or its storage failed\n"
                             "  hint: once the files are intact, the same command resumes\n";
  (void)number;
  while (atomic_flag_test_and_set(&printed)) pause();
  const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written; /* a failure cannot be reported any more */
  _exit(DM_E_IO);
}

/* Of a closed standard stream no file may take the number, for messages would be written into it.
 * In its place comes what cannot be used: writing fails as before. */
static void keep_streams(void) {
  for (int fd = 0; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd) return;
}

/* While it is loaded, OpenBLAS starts its threads, and each reserves 128 MiB. If a limit (ulimit
 * -v, -d) prevents that they retry for ever: the program would not get to main, or could not fork
 * or end. So OpenBLAS is loaded with one thread; dm_cpu_set_threads starts the others when there is
 * room for them. */
static char one_thread[] = "OPENBLAS_NUM_THREADS=1";
static char *displaced; /* the variable in whose place it is */

/* Runs before any library is initialised: may not call libc, nor be instrumented. */
__attribute__((no_sanitize("address", "undefined"))) static void hold_threads(int argc, char **argv,
                                                                              char **variables) {
  char **place = NULL;
  (void)argc;
  (void)argv;
  for (char **at = variables; *at; at++) {
    int same = 0;
    while (one_thread[same] != '=' && (*at)[same] == one_thread[same]) same++;
    place = at;
    if (one_thread[same] == '=' && (*at)[same] == '=') break;
  }
  if (!place) return;
  displaced = *place;
  *place = one_thread;
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **, char **) = hold_threads;

void dm_cli_restore_environment(void) {
  for (char **at = environ; displaced && at && *at; at++)
    if (*at == one_thread) *at = displaced;
}

/* A virtual dataset may have thousands of sources. */
static void allow_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int run_verb(dm_call *call) {
  const dm_cli_work *works = call->works;
  while (works->verb && works->verb != call->verb->bit) works++;
  return works->run(call);
}

/* From the words to the exit code. */
static int program_call(int argc, char **argv, double born, const dm_cli_work *works,
                        const dm_call *within) {
  bool answered = false;
  DM_FREED dm_call *call = calloc(1, sizeof *call);
  DM_FREED const char **operands = calloc((size_t)argc + 1, sizeof *operands);
  dm_cli_reports reports = {.count = 0};
  if (!call || !operands) {
    fputs("damier: error: out of memory\n", stderr);
    return DM_E_FIT;
  }
  call->operands = operands;
  call->reports = &reports;
  call->notes = dm_notes_new();
  call->born = born;
  call->works = works;
  dm_status status = read_call(call, argc, argv, within, &answered);
  if (!status && !answered) dm_cli_catch_signals(call);
  const int code = status || answered ? dm_cli_finish(call, status) : run_verb(call);
  dm_notes_free(call->notes);
  return code;
}

int dm_cli_job(int argc, char **argv, const dm_call *within) {
  return program_call(argc, argv, dm_now(), within->works, within);
}

int dm_cli_program(int argc, char **argv, const dm_cli_work *works) {
  const double born = dm_now();
  dm_cli_restore_environment();
  keep_streams();
  if (argc > 1 && strcmp(argv[1], "--complete") == 0) {
    dm_cli_complete(argc - 2, argv + 2);
    return 0;
  }
  allow_files();
  dm_backend_prepare();
  /* A write beyond ulimit -f then fails with an error, a message and exit code 4. */
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGBUS, lose_file);
  return program_call(argc, argv, born, works, NULL);
}
