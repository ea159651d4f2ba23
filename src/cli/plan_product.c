#include "cli/plan_product.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/call.h"
#include "cli/gpus.h"
#include "cli/session.h"
#include "core/buffer.h"
#include "core/units.h"
#include "options/request.h"
#include "plan/partition.h"
#include "plan/plan.h"
#include "plan/plan_text.h"

/* ---- Slurm's partitions, as sinfo describes them ---- */

/* A Slurm partition as a machine with all its nodes. */
typedef struct partition {
  char name[128]; /* "": described by --machine */
  dm_machine machine;
  int gpus;          /* per node */
  int cores;         /* per rank; 0: not known */
  int64_t memory;    /* of a node; 0: not known */
  double time_limit; /* seconds; 0: none, or not known */
} partition;

/* The rest of a node's memory is left to the system and libraries. */
static const double plan_product_usable = 0.85;

/* The columns of sinfo, in SINFO's order; a line describes identical nodes of a partition. */
enum { PLAN_PRODUCT_NAME, NODES, CPUS, MEGABYTES, GRES, PLAN_PRODUCT_LIMIT, PLAN_PRODUCT_COLUMNS };
static const char sinfo_command[] = "sinfo --noheader --format='%P|%D|%c|%m|%G|%l' 2>/dev/null";

/* Splits LINE if it is of the partition WANTED; "": of the default one, which a star marks. */
static bool plan_product_is_wanted(char *line, const char *wanted,
                                   char *column[PLAN_PRODUCT_COLUMNS]) {
  for (int i = 0; i < PLAN_PRODUCT_COLUMNS; i++)
    if (!(column[i] = strsep(&line, "|"))) return false;
  char *star = strchr(column[PLAN_PRODUCT_NAME], '*');
  if (star) *star = '\0';
  return wanted[0] ? strcmp(column[PLAN_PRODUCT_NAME], wanted) == 0 : star != NULL;
}

/* Parses "gpu:h100:8(S:0-1)" or "gpu:8"; other resources may precede it. */
static int gpus_of(const char *gres, char type[32]) {
  const char *at = strstr(gres, "gpu:");
  int count = 0;
  type[0] = '\0';
  if (!at) return 0;
  if (sscanf(at, "gpu:%d", &count) == 1) return count;
  return sscanf(at, "gpu:%31[^:,(]:%d", type, &count) == 2 ? count : type[0] ? 1 : 0;
}

/* The planner's name of a GPU: "nvidia_h100_80gb" is an h100. */
static const char *plan_product_known_gpu(const char *type) {
  const char *const *known = dm_machine_gpus();
  for (int i = 0; known[i]; i++)
    if (strcasestr(type, known[i])) return known[i];
  return NULL;
}

static dm_status plan_product_describe(char *const column[PLAN_PRODUCT_COLUMNS], partition *p) {
  char words[160], type[32];
  const int nodes = atoi(column[NODES]), cpus = (int)dm_max(1, atoi(column[CPUS]));
  p->gpus = gpus_of(column[GRES], type);
  const char *gpu = p->gpus ? plan_product_known_gpu(type) : NULL;
  if (p->gpus && !gpu)
    return dm_hint(dm_fail(DM_E_USAGE, "the GPUs of partition %s are of unknown type: %s",
                           column[PLAN_PRODUCT_NAME], column[GRES]),
                   "describe it: --machine \"nodes=%d gpus=%d gpu=h100\"", nodes, p->gpus);
  /* One rank per node on CPUs: its threads use all cores. */
  const int ranks = p->gpus ? p->gpus : 1;
  p->cores = (int)dm_max(1, cpus / ranks);
  p->memory = (int64_t)atoll(column[MEGABYTES]) << 20;
  snprintf(p->name, sizeof p->name, "%s", column[PLAN_PRODUCT_NAME]);
  const bool limited = strcmp(column[PLAN_PRODUCT_LIMIT], "infinite") != 0;
  if (!limited || !dm_parse_duration(column[PLAN_PRODUCT_LIMIT], &p->time_limit)) p->time_limit = 0;
  snprintf(words, sizeof words, "nodes=%d cores=%d %s%s %s=%d", nodes, p->cores, gpu ? "gpu=" : "",
           gpu ? gpu : "", gpu ? "gpus" : "ranks", ranks);
  DM_TRY(dm_machine_parse(words, &p->machine));
  p->machine.host_bytes = (int64_t)((double)p->memory * plan_product_usable / ranks);
  return DM_OK;
}

/* Describes the largest group of identical nodes of the partition NAME; "": of the default one. */
static dm_status detect_partition(const char *name, partition *p) {
  char text[64 * 1024], *lines = text, *line, *one[PLAN_PRODUCT_COLUMNS],
                        *best[PLAN_PRODUCT_COLUMNS];
  FILE *sinfo = popen(sinfo_command, "r");
  const size_t size = sinfo ? fread(text, 1, sizeof text - 1, sinfo) : 0;
  text[size] = '\0';
  if (!sinfo || pclose(sinfo) != 0)
    return dm_hint(dm_fail(DM_E_USAGE, "sinfo failed: is Slurm installed here?"),
                   "--machine \"nodes=16 gpus=8 gpu=h200\" describes the partition");
  int most = 0;
  while ((line = strsep(&lines, "\n"))) {
    if (!plan_product_is_wanted(line, name, one) || atoi(one[NODES]) <= most) continue;
    memcpy(best, one, sizeof best);
    most = atoi(one[NODES]);
  }
  *p = (partition){0};
  if (most > 0) return plan_product_describe(best, p);
  return dm_hint(name[0] ? dm_fail(DM_E_USAGE, "sinfo knows no partition '%s'", name)
                         : dm_fail(DM_E_USAGE, "sinfo knows no default partition"),
                 "--partition names one, or --machine describes one");
}

/* ---- the lines of a job script ---- */

/* Requested beyond the forecast: its rates may be stated ones, and starting takes time. */
static const double time_factor = 2.0, time_more = 120; /* seconds */
static const double memory_factor = 1.1;
static const int64_t memory_more = INT64_C(1) << 30; /* per rank: libraries, a CUDA context */

static double asked_time(const dm_plan *plan) {
  double seconds = plan->forecast.total * time_factor + time_more;
  return ceil(seconds / 60) * 60;
}

static int64_t asked_memory(const dm_plan *plan, const partition *p) {
  double node =
      ((double)plan->host_bytes * memory_factor + (double)memory_more) * p->machine.ranks_per_node;
  int64_t gib = (int64_t)ceil(node / (double)(INT64_C(1) << 30));
  return p->memory > 0 ? dm_min(gib, p->memory >> 30) : gib;
}

/* 1, 2, 3, 4, 6, 8, 12, ...: common requests; at last, all nodes. */
static int more_nodes(int nodes, int all) {
  int next = nodes < 4 ? nodes + 1 : (nodes & (nodes - 1)) == 0 ? nodes / 2 * 3 : nodes / 3 * 4;
  return nodes < all && next > all ? all : next;
}

static dm_status find_partition(const dm_call *call, const dm_problem *problem, partition *p) {
  const dm_settings *s = &call->settings;
  int ranks;
  if (!dm_given(s, "machine")) return detect_partition(call->own.partition, p);
  *p = (partition){0};
  DM_TRY(dm_cli_machine(call, problem, &p->machine, &ranks));
  snprintf(p->name, sizeof p->name, "%.127s", call->own.partition);
  p->gpus = p->machine.gpu ? p->machine.ranks_per_node : 0;
  /* Slurm's default is one core per rank; cores of 0 omit the request. */
  p->cores = p->machine.cores_per_rank > 1 || !p->gpus ? p->machine.cores_per_rank : 0;
  return DM_OK;
}

/* Seconds before the end at which Slurm should send USR1: signals are ignored while C is written.
 * 0: the default of multiply.sbatch suffices. */
static int asked_notice(const dm_plan *plan) {
  double notice = ceil(plan->forecast.write * time_factor / 60) * 60 + 60;
  return notice > 120 ? (int)fmin(notice, 65535) : 0; /* 65535 is Slurm's maximum */
}

static void print_lines(const partition *p, const dm_plan *plan, int nodes, FILE *out) {
  char time[32], recipe[DM_RECIPE];
  long long minutes = (long long)(asked_time(plan) / 60);
  long long gib = (long long)asked_memory(plan, p);
  dm_plan_recipe(plan, recipe);
  fprintf(out, "# predicted: %s with %s\n", dm_format_seconds(plan->forecast.total, time), recipe);
  if (p->name[0]) fprintf(out, "#SBATCH --partition=%s\n", p->name);
  fprintf(out, "#SBATCH --nodes=%d\n", nodes);
  fprintf(out, "#SBATCH --ntasks-per-node=%d\n", p->machine.ranks_per_node);
  if (p->gpus) fprintf(out, "#SBATCH --gpus-per-node=%d\n", p->gpus);
  if (p->cores)
    fprintf(out, "#SBATCH --cpus-per-task=%d\n", p->cores);
  else
    fputs("# add --cpus-per-task, or each rank has one core; cores=16 in --machine states it\n",
          out);
  if (gib > 0) fprintf(out, "#SBATCH --mem=%lldG\n", gib);
  fprintf(out, "#SBATCH --time=%02lld:%02lld:00\n", minutes / 60, minutes % 60);
  if (asked_notice(plan)) fprintf(out, "#SBATCH --signal=B:USR1@%d\n", asked_notice(plan));
}

/* Finds the fewest nodes on which PROBLEM fits and finishes in time; prints the #SBATCH lines and
 * returns the plan with its machine. */
static dm_status plan_slurm(const dm_call *call, const dm_problem *problem, dm_plan *plan,
                            dm_machine *machine) {
  const dm_settings *s = &call->settings;
  partition p;
  DM_TRY(find_partition(call, problem, &p));
  const dm_wishes wishes = dm_request_wishes(s);
  const int all = p.machine.nodes;
  double within = call->own.within > 0 ? call->own.within : p.time_limit, best = INFINITY;
  dm_status status = DM_OK;
  for (int nodes = 1; nodes <= all; nodes = more_nodes(nodes, all)) {
    dm_status_free(status);
    *machine = p.machine;
    machine->nodes = nodes;
    status = dm_plan_choose(problem, machine, nodes * machine->ranks_per_node, &wishes, plan);
    if (status && status->code != DM_E_FIT) return status;
    if (status) continue;
    best = fmin(best, asked_time(plan));
    if (within > 0 && asked_time(plan) > within) continue;
    print_lines(&p, plan, nodes, dm_cli_out(call));
    return DM_OK;
  }
  if (isinf(best)) return dm_context(status, "on all %d nodes", all);
  char wanted[32], found[32];
  dm_status_free(status);
  return dm_hint(dm_fail(DM_E_FIT, "no number of nodes up to %d finishes within %s", all,
                         dm_format_seconds(within, wanted)),
                 "the fastest needs %s: twice the prediction, and 2 minutes to start",
                 dm_format_seconds(best, found));
}

/* ---- the verb ---- */

enum { PLAN_PRODUCT_SHOWN = 6 };

static dm_status problem_of_files(const dm_call *call, dm_problem *problem) {
  const dm_log log = dm_cli_log(call);
  DM_FREED dm_product_files *f = NULL;
  DM_TRY(dm_buffer_table(1, &f));
  DM_TRY(dm_cli_check_beta(call, &f->has_c));
  dm_status status = dm_request_inspect_operands(&call->settings, &log, call->operands, f, problem);
  dm_dataset *const datasets[] = {&f->a, &f->b, &f->c};
  for (int i = 0; i < 3; i++) dm_dataset_free(datasets[i]);
  return status;
}

static dm_status problem_stated(const dm_call *call, dm_problem *problem) {
  const dm_settings *s = &call->settings;
  int64_t mnk[3];
  dm_equation equation = dm_request_equation(s);
  dm_call square = *call;
  if (s->gram && square.own.n == 0) square.own.n = square.own.m;
  if (s->gram && square.own.m == 0) square.own.m = square.own.n;
  DM_TRY(dm_cli_dimensions(&square, 0, mnk));
  if (s->gram && mnk[0] != mnk[1])
    return dm_fail(DM_E_USAGE, "the products of a matrix with itself are a square: %lld x %lld",
                   (long long)mnk[0], (long long)mnk[1]);
  if (dm_mul_overflows(mnk[0], s->batch, &mnk[0]) || mnk[2] > INT64_MAX / s->batch)
    return dm_fail(DM_E_USAGE, "a batch of %lld has more rows than 64 bits can count",
                   (long long)s->batch);
  dm_dtype type = (dm_dtype)s->type;
  *problem = (dm_problem){.m = mnk[0],
                          .batch = s->batch,
                          .n = mnk[1],
                          .k = mnk[2],
                          .file_a = type,
                          .file_b = type,
                          .op_a = equation.op_a,
                          .op_b = equation.op_b,
                          .reads_c = dm_request_reads_c(s)};
  dm_problem_set_home(problem, DM_HOME_FILE);
  DM_TRY(dm_types_of(type, &equation, problem));
  if (s->gram) problem->symmetry = dm_dtype_is_complex(problem->work) ? DM_HERMITIAN : DM_SYMMETRIC;
  return DM_OK;
}

static dm_status describe_problem(const dm_call *call, dm_problem *problem) {
  static const char *const stating[] = {"m", "n", "k", "size", "batch"};
  if (call->operand_count == 0)
    DM_TRY(problem_stated(call, problem));
  else if (call->operand_count == 1)
    return dm_fail(DM_E_USAGE, "damier plan needs two files, one for gram, cov or cor, or none");
  for (int i = 0; call->operand_count == 2 && i < 5; i++)
    if (dm_cli_given(call, stating[i]))
      return dm_fail(DM_E_USAGE, "--%s cannot be combined with files, which state it", stating[i]);
  if (call->operand_count == 2) DM_TRY(problem_of_files(call, problem));
  if (dm_runs_suit(problem) && problem->work != problem->accumulator) { /* 16 bits are widened */
    const dm_dtype files[] = {problem->file_a, problem->file_b};
    dm_call wide = *call;
    wide.settings.type = (int)problem->accumulator;
    wide.settings.compute = 0;
    wide.settings.accumulate = 0;
    DM_TRY(describe_problem(&wide, problem));
    problem->file_a = files[0];
    problem->file_b = files[1];
  }
  problem->verify = call->settings.verify;
  if (call->verb->bit == DM_VERB_PLAN) problem->scales = false; /* plan has no --alpha */
  return DM_OK;
}

static void note_problem(const dm_plan *plan, const dm_machine *machine, dm_record *record) {
  const dm_problem *p = &plan->problem;
  dm_setup_record_sizes(p, record);
  dm_record_text(record, "problem.type", NULL, "%s", dm_dtype_name(p->work));
  dm_record_text(record, "problem.type_c", NULL, "%s", dm_dtype_name(p->c));
  dm_record_text(record, "machine.name", NULL, "%s", machine->name);
  dm_record_integer(record, "machine.nodes", NULL, DM_SHOWN_PLAIN, machine->nodes);
  dm_record_integer(record, "machine.ranks_per_node", NULL, DM_SHOWN_PLAIN,
                    machine->ranks_per_node);
  dm_record_integer(record, "machine.host_bytes", NULL, DM_SHOWN_BYTES, machine->host_bytes);
  dm_record_integer(record, "machine.device_bytes", NULL, DM_SHOWN_BYTES, machine->device_bytes);
}

/* No labels: dm_plan_report prints the table for people. */
static void note_plan(const dm_plan *plan, const dm_machine *machine, dm_record *record) {
  char recipe[DM_RECIPE], ramp[32];
  dm_plan_recipe(plan, recipe);
  dm_plan_ramp_text(plan, ramp);
  dm_record_integer(record, "plan.ranks", NULL, DM_SHOWN_PLAIN, plan->ranks);
  dm_record_text(record, "plan.grid", NULL, "%dx%dx%d", plan->pm, plan->pn, plan->pk);
  dm_record_integer(record, "plan.pm", NULL, DM_SHOWN_PLAIN, plan->pm);
  dm_record_integer(record, "plan.pn", NULL, DM_SHOWN_PLAIN, plan->pn);
  dm_record_integer(record, "plan.pk", NULL, DM_SHOWN_PLAIN, plan->pk);
  dm_record_integer(record, "plan.kb", NULL, DM_SHOWN_PLAIN, plan->kb);
  dm_record_text(record, "plan.ramp", NULL, "%s", ramp);
  dm_record_integer(record, "plan.panels", NULL, DM_SHOWN_PLAIN, plan->panels);
  dm_record_text(record, "plan.recipe", NULL, "%s", recipe);
  dm_record_text(record, "plan.rates", NULL, "%s", machine->rates_of_user ? "given" : "stated");
  dm_record_integer(record, "plan.host_bytes", NULL, DM_SHOWN_BYTES, plan->host_bytes);
  dm_record_integer(record, "plan.device_bytes", NULL, DM_SHOWN_BYTES, plan->device_bytes);
  dm_record_integer(record, "plan.disk_bytes", NULL, DM_SHOWN_BYTES, plan->disk_bytes);
  dm_record_real(record, "plan.received_words", NULL, DM_SHOWN_PLAIN, plan->received_words);
  dm_record_real(record, "plan.received_bytes_total", NULL, DM_SHOWN_BYTES,
                 plan->received_bytes_total);
  dm_record_real(record, "plan.between_nodes_bytes", NULL, DM_SHOWN_BYTES,
                 plan->between_nodes_bytes);
  dm_record_real(record, "plan.bound_words", NULL, DM_SHOWN_PLAIN, plan->bound_words);
}

static void note_gpus(const dm_gpu_choice *gpus, dm_record *record) {
  if (gpus->most == 0) return;
  dm_record_integer(record, "plan.gpus", NULL, DM_SHOWN_PLAIN, gpus->ranks);
  dm_record_series(record, "plan.gpus_s", gpus->seconds, gpus->most);
}

static dm_status plan_product_publish(const dm_call *call, const dm_plan *plan,
                                      const dm_machine *machine, const dm_gpu_choice *gpus) {
  dm_record *record = NULL;
  char sizes[DM_SIZES_TEXT];
  DM_TRY(dm_record_new("plan", call->command, &record));
  note_problem(plan, machine, record);
  note_plan(plan, machine, record);
  note_gpus(gpus, record);
  dm_forecast_record(plan, machine, record);
  if (!call->own.slurm) /* print nothing but the job script's lines */
    dm_record_summary(record, "%s ranks=%d grid=%dx%dx%d kb=%lld total_s=%.4g",
                      dm_problem_sizes(&plan->problem, sizes), plan->ranks, plan->pm, plan->pn,
                      plan->pk, (long long)plan->kb, plan->forecast.total);
  dm_status status = dm_cli_publish(call, record);
  dm_record_free(record);
  return status;
}

/* GPUs that a command without a launcher would use. */
static dm_status consider_gpus(dm_call *call, const dm_problem *problem, dm_gpu_choice *gpus) {
  dm_machine machine;
  int ranks;
  *gpus = (dm_gpu_choice){.ranks = 1};
  if (call->own.ranks > 0 && !dm_cli_given(call, "gpus")) return DM_OK;
  if (call->verb->bit != DM_VERB_PLAN || !call->settings.machine[0]) {
    DM_TRY(dm_cli_take_gpus(call, problem, gpus));
    if (gpus->ranks > 1) call->own.ranks = gpus->ranks;
    return DM_OK;
  }
  if (dm_cli_given(call, "gpus"))
    return dm_hint(dm_fail(DM_E_USAGE, "--gpus names GPUs of this computer"),
                   "gpus=N is the word for --machine");
  DM_TRY(dm_cli_machine(call, problem, &machine, &ranks));
  if (machine.nodes > 1 || !machine.gpu || ranks < 2 || ranks > DM_GPUS) return DM_OK;
  machine.host_bytes = dm_sat_bytes(machine.host_bytes, ranks, 1); /* of the computer */
  machine.cores_per_rank *= ranks;
  dm_cli_weigh_gpus(call, problem, &machine, ranks, gpus);
  return DM_OK;
}

static void write_gpus(const dm_gpu_choice *gpus, FILE *out) {
  char time[32];
  if (gpus->most == 0) return;
  fprintf(out, "GPUs without mpirun: %d of %d\n", gpus->ranks, gpus->most);
  for (int i = 0; i < gpus->most; i++)
    if (isfinite(gpus->seconds[i]))
      fprintf(out, "%c %-20d %14s   with the start\n", i + 1 == gpus->ranks ? '*' : ' ', i + 1,
              dm_format_seconds(gpus->seconds[i], time));
  fprintf(out, "\n");
}

dm_status dm_cli_plan_of(dm_call *call) {
  dm_gpu_choice gpus;
  dm_problem problem;
  dm_machine machine;
  dm_plan best, candidates[PLAN_PRODUCT_SHOWN];
  dm_reductions kept;
  int ranks = 0, found = 0;
  DM_TRY(dm_request_reductions(&call->settings, &kept)); /* none */
  DM_TRY(dm_cli_open_reports(call));
  DM_TRY(describe_problem(call, &problem));
  if (call->own.slurm) {
    DM_TRY(plan_slurm(call, &problem, &best, &machine));
    return plan_product_publish(call, &best, &machine, &(dm_gpu_choice){.ranks = 1});
  }
  DM_TRY(consider_gpus(call, &problem, &gpus));
  DM_TRY(dm_cli_machine(call, &problem, &machine, &ranks));
  dm_wishes wishes = dm_request_wishes(&call->settings);
  if (call->settings.checkpoint) wishes.tile_seconds = call->settings.checkpoint_interval;
  DM_TRY(dm_plan_choose(&problem, &machine, ranks, &wishes, &best));
  best.forecast.start = dm_machine_start(&machine, ranks, gpus.ranks == ranks);
  DM_TRY(dm_plan_candidates(&best.problem, &machine, ranks, &wishes, candidates, PLAN_PRODUCT_SHOWN,
                            &found));
  if (dm_cli_level(call) >= DM_LOG_NOTE)
    DM_TRY(dm_plan_report(&best, candidates, found, &machine, dm_cli_out(call)));
  if (dm_cli_level(call) >= DM_LOG_NOTE) write_gpus(&gpus, dm_cli_out(call));
  return plan_product_publish(call, &best, &machine, &gpus);
}

int dm_cli_plan_product(dm_call *call) {
  if (!dm_cli_speaks(call)) return 0;
  return dm_cli_finish(call, dm_cli_plan_of(call));
}
