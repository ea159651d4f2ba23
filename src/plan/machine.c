#include "plan/machine.h"

#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "core/suggest.h"
#include "core/units.h"

/* Rates in operations or bytes per second. */
typedef struct machine_known_gpu {
  const char *name;
  dm_operand_rates flops;
  dm_operand_rates lasting; /* see dm_machine; 0: not known */
  double device_link;       /* between the GPUs of a node */
  double upload;
  double memory;         /* vendors' figures */
  int64_t gib;           /* free on an unused GPU */
  dm_operand_rates peak; /* dense peak of the data sheet (SXM if there is one) */
  bool own_kernels;      /* see dm_device */
} machine_known_gpu;

/* h200: measured (cuBLAS 13.1, n = 8192, all GPUs pulling at once). Others: peak of the data sheet
 * times the fraction measured on the h200: f64 0.97, f32 0.76, tf32 0.87, half 0.80, i8 0.77. What
 * lasts was measured with n = 16384 and more on both (docs/results/gpu.jsonl, limited_gpu.jsonl,
 * node.jsonl): of f64 53 to 55 Tflop/s, of tf32 370, of half 690; f32 and i8 lose nothing. */
/* clang-format off */
static const machine_known_gpu known_gpus[] = {
    {"h200", {64.7e12, 51.1e12, 428e12, 790e12, 1524e12}, {0.84, 1, 0.88, 0.88, 1}, 374e9, 55e9, 4.8e12, 139,
             {67e12, 67e12, 494.7e12, 989.4e12, 1978.9e12}, true},
    {"h100", {64.7e12, 51.1e12, 428e12, 790e12, 1524e12}, {0.84, 1, 0.88, 0.88, 1}, 374e9, 55e9, 3.35e12, 79,
             {67e12, 67e12, 494.7e12, 989.4e12, 1978.9e12}, true},
    {"a100", {18.9e12, 14.8e12, 136e12, 250e12, 480e12}, {0, 0, 0, 0, 0}, 250e9, 24e9, 2.0e12, 79,
             {19.5e12, 19.5e12, 156e12, 312e12, 624e12}, false},
    {"l40s", {1.4e12, 69.0e12, 159e12, 290e12, 560e12}, {0, 0, 0, 0, 0}, 24e9, 24e9, 0.86e12, 44,
             {1.43e12, 91.6e12, 183e12, 362e12, 733e12}, false},
    {"v100", {7.6e12, 11.9e12, 11.9e12, 100e12, 48e12}, {0, 0, 0, 0, 0}, 120e9, 12e9, 0.9e12, 31,
             {7.8e12, 15.7e12, 15.7e12, 125e12, 62.8e12}, false},
};
/* clang-format on */

enum { MACHINE_KNOWN = sizeof known_gpus / sizeof known_gpus[0] };

static const char *const machine_names[MACHINE_KNOWN + 1] = {"h200", "h100", "a100",
                                                             "l40s", "v100", NULL};

const char *const *dm_machine_gpus(void) {
  return machine_names;
}

/* NULL if NAME contains no known name. */
static const machine_known_gpu *find_known(const char *name) {
  for (int i = 0; i < MACHINE_KNOWN; i++)
    if (strcasestr(name, known_gpus[i].name)) return &known_gpus[i];
  return NULL;
}

static const machine_known_gpu *machine_find(const char *name) {
  const machine_known_gpu *known = find_known(name);
  return known ? known : &known_gpus[MACHINE_KNOWN - 1];
}

/* Rates that do not depend on the processor: an SSD, one adapter of 400 Gb/s (GPU) or 100 Gb/s
 * (CPU) per node, Open MPI through host memory. GPU ranks: measured, four ranks of one node
 * exchanging panels at once, Open MPI 4.1.6 without single copies; one message alone reaches 9
 * GB/s. */
static void state_surroundings(dm_machine *machine) {
  machine->nodes = machine->ranks_per_node = 1;
  machine->link = machine->staged = machine->gpu ? 2.1e9 : 5e9;
  machine->network = machine->gpu ? 48e9 : 12e9;
  machine->latency = machine->gpu ? 10e-6 : 3e-6;
  machine->host_copy = machine->gpu ? 40e9 : 10e9;
  machine->file_read = 2e9;
  machine->file_write = 1e9;
}

double dm_operand_rate(const dm_operand_rates *rates, dm_operand operand) {
  switch (operand) {
  case DM_F64:
  case DM_C128:
    return rates->f64;
  case DM_F32:
  case DM_C64:
    return rates->f32;
  case DM_TF32:
    return rates->tf32;
  case DM_F16:
  case DM_BF16:
    return rates->half;
  case DM_I8:
    return rates->i8;
  default:
    return 0;
  }
}

static void state_flops(dm_machine *machine, const dm_operand_rates *rates) {
  for (int i = 0; i < DM_OPERANDS; i++) machine->flops[i] = dm_operand_rate(rates, i);
}

/* Measured with H200 in one process: driver, context and kernels take 0.16 s, 0.28 s if the GPU was
 * idle; a second GPU 0.18 and 0.31 s, as the driver starts GPUs one after another, and 0.05 s of it
 * to test and map their links. */
static void state_start(dm_machine *machine) {
  machine->gpu_start = 0.21;
  machine->next_gpu_start = 0.29;
}

void dm_machine_stated(const char *name, int cores, dm_machine *machine) {
  *machine = (dm_machine){.cores_per_rank = cores > 0 ? cores : 1, .gpu = name != NULL};
  state_surroundings(machine);
  if (!name) { /* AVX2: two 4-wide fma units at 2 GHz; narrow types run as f32, converted */
    double f64 = 32e9 * machine->cores_per_rank, f32 = 2 * f64;
    snprintf(machine->name, sizeof machine->name, "cpu");
    state_flops(machine, &(dm_operand_rates){f64, f32, f32, 0.8 * f32, 0.8 * f32});
    return;
  }
  const machine_known_gpu *gpu = machine_find(name);
  snprintf(machine->name, sizeof machine->name, "%s", gpu->name);
  state_flops(machine, &gpu->flops);
  for (int i = 0; i < DM_OPERANDS; i++) machine->lasting[i] = dm_operand_rate(&gpu->lasting, i);
  state_start(machine);
  machine->upload = gpu->upload;
  machine->memory = gpu->memory;
  machine->own_kernels = gpu->own_kernels;
}

double dm_machine_flops(const dm_machine *machine, const dm_compute *compute, dm_dtype work) {
  const double share = machine->gpu ? dm_compute_share(compute, work) : 1;
  return machine->flops[dm_compute_operand(compute, work)] / (compute->products * share);
}

double dm_machine_lasting_flops(const dm_machine *machine, const dm_compute *compute,
                                dm_dtype work) {
  const double lasting = machine->lasting[dm_compute_operand(compute, work)];
  return dm_machine_flops(machine, compute, work) * (lasting > 0 ? lasting : 1);
}

double dm_machine_product_seconds(const dm_machine *machine, const dm_compute *compute,
                                  dm_dtype work, double flops) {
  const double full_speed = 0.05, rate = dm_machine_flops(machine, compute, work);
  if (flops <= full_speed * rate) return flops / rate;
  const double rest = flops - full_speed * rate;
  return full_speed + rest / dm_machine_lasting_flops(machine, compute, work);
}

/* Measured with Open MPI 4.1. Memory and files of a rank are also opened and closed. */
double dm_machine_start(const dm_machine *machine, int ranks, bool one_process) {
  const double process = 0.03, mpi = 0.1, rank = 0.025, further_rank = 0.05;
  double start = process + (ranks > 1 && !one_process ? mpi : 0);
  if (!machine->gpu) return start;
  start += machine->gpu_start + rank;
  return one_process ? start + (machine->next_gpu_start + further_rank) * (ranks - 1) : start;
}

double dm_machine_device_link(const char *name) {
  return machine_find(name)->device_link;
}

double dm_machine_peak(const char *name, const dm_compute *compute) {
  const machine_known_gpu *known = find_known(name);
  return known ? dm_operand_rate(&known->peak, compute->operand) / compute->products : 0;
}

int64_t dm_machine_device_memory(const char *name) {
  return machine_find(name)->gib << 30;
}

/* ---- machines stated in words, like hwloc's synthetic topologies ---- */

enum { LONGEST_WORD = 127, MACHINE_MOST = 1 << 24 };

/* In the order of the names below. */
typedef enum key {
  KEY_NODES,
  KEY_GPUS,
  KEY_RANKS,
  KEY_GPU,
  KEY_CORES,
  KEY_MEMORY,
  KEY_DEVICE_MEMORY,
  KEY_GFLOPS,
  KEY_LINKS,
  KEY_LINK,
  KEY_NETWORK,
  KEY_UPLOAD,
  KEY_COPY,
  KEY_READ,
  KEY_WRITE,
  KEY_LATENCY,
  KEY_TYPES, /* gflops-TYPE, for each operand */
  KEYS = KEY_TYPES + DM_OPERANDS,
} key;

static const char *const key_names[KEYS] = {"nodes",
                                            "gpus",
                                            "ranks",
                                            "gpu",
                                            "cores",
                                            "memory",
                                            "device-memory",
                                            "gflops",
                                            "links",
                                            "link",
                                            "network",
                                            "upload",
                                            "copy",
                                            "read",
                                            "write",
                                            "latency",
                                            [KEY_TYPES + DM_F32] = "gflops-f32",
                                            [KEY_TYPES + DM_F16] = "gflops-f16",
                                            [KEY_TYPES + DM_BF16] = "gflops-bf16",
                                            [KEY_TYPES + DM_C64] = "gflops-c64",
                                            [KEY_TYPES + DM_C128] = "gflops-c128",
                                            [KEY_TYPES + DM_I8] = "gflops-i8",
                                            [KEY_TYPES + DM_TF32] = "gflops-tf32"};

/* The values by key; NULL if not stated. */
typedef struct machine_words {
  char text[KEYS][LONGEST_WORD + 1];
  bool stated[KEYS];
} machine_words;

static dm_status bad_value(key which, const char *value, const char *wanted) {
  return dm_fail(DM_E_USAGE, "%s=%s is not %s", key_names[which], value, wanted);
}

static dm_status machine_take_word(const char *word, machine_words *all) {
  const char *equals = strchr(word, '=');
  if (!equals || equals == word || !equals[1])
    return dm_fail(DM_E_USAGE, "\"%s\" is not key=value", word);
  char name[LONGEST_WORD + 1];
  snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
  for (int i = 0; i < KEYS; i++) {
    if (!key_names[i] || strcmp(name, key_names[i]) != 0) continue;
    if (all->stated[i]) return dm_fail(DM_E_USAGE, "%s is stated twice", name);
    all->stated[i] = true;
    snprintf(all->text[i], sizeof all->text[i], "%s", equals + 1);
    return DM_OK;
  }
  dm_status status = dm_fail(DM_E_USAGE, "unknown key \"%s\"", name);
  int near = dm_closest(name, key_names, KEY_TYPES);
  return near < 0 ? dm_hint(status,
                            "known keys: nodes gpus ranks gpu cores memory device-memory "
                            "gflops gflops-TYPE links link network upload copy read write latency")
                  : dm_hint(status, "did you mean \"%s\"?", key_names[near]);
}

static dm_status split_words(const char *text, machine_words *all) {
  const char *blanks = " \t\n,";
  for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
    if (*text == '#') {
      text += strcspn(text, "\n");
      continue;
    }
    size_t length = strcspn(text, blanks);
    char word[LONGEST_WORD + 1];
    if (length > LONGEST_WORD)
      return dm_fail(DM_E_USAGE, "a word of more than %d characters", LONGEST_WORD);
    memcpy(word, text, length);
    word[length] = '\0';
    DM_TRY(machine_take_word(word, all));
    text += length;
  }
  return DM_OK;
}

static dm_status machine_read_integer(const machine_words *all, key which, int *value) {
  int64_t number;
  if (!all->stated[which]) return DM_OK;
  if (!dm_parse_count(all->text[which], &number) || number < 1 || number > MACHINE_MOST)
    return bad_value(which, all->text[which], "a whole number from 1 to 16777216");
  *value = (int)number;
  return DM_OK;
}

static dm_status machine_read_bytes(const machine_words *all, key which, int64_t *bytes) {
  if (!all->stated[which]) return DM_OK;
  if (!dm_parse_count(all->text[which], bytes) || *bytes < 1)
    return bad_value(which, all->text[which], "a number of bytes such as 64GiB");
  return DM_OK;
}

static dm_status read_rate(const machine_words *all, key which, double unit, double *rate) {
  double number;
  if (!all->stated[which]) return DM_OK;
  if (!dm_parse_real(all->text[which], &number) || !(number > 0))
    return bad_value(which, all->text[which], "a number above 0");
  *rate = number * unit;
  return DM_OK;
}

static dm_status check_gpu(const machine_words *all) {
  if (!all->stated[KEY_GPU])
    return all->stated[KEY_GPUS]
               ? dm_hint(dm_fail(DM_E_USAGE, "gpus=%s without gpu=", all->text[KEY_GPUS]),
                         "state which, for example gpu=h200")
               : DM_OK;
  const char *const *known = dm_machine_gpus();
  int count = 0;
  for (; known[count]; count++)
    if (strcmp(all->text[KEY_GPU], known[count]) == 0) return DM_OK;
  dm_status status = dm_fail(DM_E_USAGE, "unknown GPU \"%s\"", all->text[KEY_GPU]);
  int near = dm_closest(all->text[KEY_GPU], known, count);
  return near < 0
             ? dm_hint(status, "known: h200 h100 a100 l40s v100; another one by its rates, as in "
                               "gpu=a100 gflops=9700 device-memory=40GiB")
             : dm_hint(status, "did you mean \"%s\"?", known[near]);
}

static dm_status machine_read_shape(const machine_words *all, dm_machine *machine, int *gpus) {
  int cores = 1;
  DM_TRY(check_gpu(all));
  DM_TRY(machine_read_integer(all, KEY_CORES, &cores));
  dm_machine_stated(all->stated[KEY_GPU] ? all->text[KEY_GPU] : NULL, cores, machine);
  DM_TRY(machine_read_integer(all, KEY_NODES, &machine->nodes));
  DM_TRY(machine_read_integer(all, KEY_GPUS, gpus));
  machine->ranks_per_node = *gpus;
  DM_TRY(machine_read_integer(all, KEY_RANKS, &machine->ranks_per_node));
  if (machine->nodes > MACHINE_MOST / machine->ranks_per_node)
    return dm_fail(DM_E_USAGE, "more than %d ranks", MACHINE_MOST);
  return DM_OK;
}

static dm_status machine_read_links(const machine_words *all, dm_machine *machine) {
  const char *links = all->stated[KEY_LINKS] ? all->text[KEY_LINKS]
                      : machine->gpu         ? "device"
                                             : "shared";
  machine->device_links = strcmp(links, "device") == 0;
  machine->shared_slots = strcmp(links, "shared") == 0;
  if (!machine->device_links && !machine->shared_slots && strcmp(links, "host") != 0)
    return bad_value(KEY_LINKS, links, "shared, device or host");
  if (machine->shared_slots && machine->gpu)
    return dm_fail(DM_E_USAGE, "links=shared is for ranks without a GPU");
  if (machine->device_links && !machine->gpu)
    return dm_hint(dm_fail(DM_E_USAGE, "links=device without a GPU"), "state gpu=NAME");
  if (machine->device_links) machine->link = dm_machine_device_link(machine->name);
  return DM_OK;
}

static dm_status read_rates(const machine_words *all, dm_machine *machine) {
  double stated = machine->flops[DM_F64], f64 = stated;
  DM_TRY(read_rate(all, KEY_GFLOPS, 1e9, &f64));
  for (int i = 0; i < DM_OPERANDS; i++) {
    machine->flops[i] *= f64 / stated;
    DM_TRY(read_rate(all, (key)(KEY_TYPES + i), 1e9, &machine->flops[i]));
    if (all->stated[KEY_GFLOPS] || all->stated[KEY_TYPES + i]) machine->lasting[i] = 0;
  }
  DM_TRY(read_rate(all, KEY_LINK, 1e9, &machine->link));
  DM_TRY(read_rate(all, KEY_NETWORK, 1e9, &machine->network));
  DM_TRY(read_rate(all, KEY_UPLOAD, 1e9, &machine->upload));
  DM_TRY(read_rate(all, KEY_COPY, 1e9, &machine->host_copy));
  DM_TRY(read_rate(all, KEY_READ, 1e9, &machine->file_read));
  DM_TRY(read_rate(all, KEY_WRITE, 1e9, &machine->file_write));
  for (int i = KEY_GFLOPS; i < KEYS; i++)
    machine->rates_of_user |= all->stated[i] && i != KEY_LINKS;
  return read_rate(all, KEY_LATENCY, 1e-6, &machine->latency);
}

dm_status dm_machine_take_rates(const char *text, dm_machine *machine) {
  machine_words all = {0};
  DM_TRY(split_words(text, &all));
  DM_TRY(read_rates(&all, machine));
  if (all.stated[KEY_GFLOPS]) machine->speed_now = 1; /* of these cores */
  if (all.stated[KEY_READ]) machine->read_now = machine->file_read;
  if (!all.stated[KEY_WRITE]) return DM_OK;
  machine->write_now = machine->file_write;
  machine->pages_now = 0; /* the rate includes them */
  return DM_OK;
}

static void put_rate(const char *name, double rate, double unit, char *text, size_t room) {
  const size_t used = strlen(text);
  if (rate > 0 && used < room) snprintf(text + used, room - used, "%s=%.3g\n", name, rate / unit);
}

void dm_machine_put_rates(const dm_machine *machine, bool files, char *text, size_t room) {
  put_rate(key_names[KEY_GFLOPS], machine->flops[DM_F64], 1e9, text, room);
  for (int i = 0; i < DM_OPERANDS; i++)
    if (key_names[KEY_TYPES + i])
      put_rate(key_names[KEY_TYPES + i], machine->flops[i], 1e9, text, room);
  put_rate(key_names[KEY_LINK], machine->link, 1e9, text, room);
  put_rate(key_names[KEY_NETWORK], machine->network, 1e9, text, room);
  if (machine->gpu) put_rate(key_names[KEY_UPLOAD], machine->upload, 1e9, text, room);
  put_rate(key_names[KEY_COPY], machine->host_copy, 1e9, text, room);
  if (!files) return;
  put_rate(key_names[KEY_READ], machine->file_read, 1e9, text, room);
  put_rate(key_names[KEY_WRITE], machine->file_write, 1e9, text, room);
}

/* Each rank gets a part of the shared GPU's rates and memory. */
static void share_gpus(dm_machine *machine, int gpus) {
  if (!machine->gpu || machine->ranks_per_node <= gpus) return;
  double part = (double)gpus / machine->ranks_per_node;
  for (int i = 0; i < DM_OPERANDS; i++) machine->flops[i] *= part;
  machine->upload *= part;
  machine->memory *= part;
  machine->device_bytes = (int64_t)((double)machine->device_bytes * part);
}

dm_status dm_machine_parse(const char *text, dm_machine *machine) {
  machine_words all = {0};
  int gpus = 1;
  DM_TRY(split_words(text, &all));
  DM_TRY(machine_read_shape(&all, machine, &gpus));
  machine->device_bytes = machine->gpu ? dm_machine_device_memory(machine->name) : 0;
  DM_TRY(machine_read_links(&all, machine));
  share_gpus(machine, gpus); /* numbers stated below are already per rank */
  DM_TRY(machine_read_bytes(&all, KEY_MEMORY, &machine->host_bytes));
  DM_TRY(machine_read_bytes(&all, KEY_DEVICE_MEMORY, &machine->device_bytes));
  return read_rates(&all, machine);
}
