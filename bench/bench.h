/* bench: measures the performance of this machine in comparable numbers, a file for each
 * measurement: bench_multiply.c, bench_scale.c, bench_links.c, bench_rates.c, bench_kernels.c. Each
 * has a verb, which reads its options (bench_kernels_verb.c for the last), and a collective
 * function, which publishes records of one form (docs/records.md). Products are those of the
 * pipeline. */
#ifndef DM_BENCH_BENCH_H
#define DM_BENCH_BENCH_H

#include "bench/kernel_choice.h"
#include "cli/call.h"
#include "engine/links.h"
#include "product/multiply.h"
#include "run/run.h"

typedef struct dm_bench_multiply {
  dm_kernel_size size;
  dm_dtype type;
  dm_dtype type_c;
  int compute; /* as in dm_equation */
  dm_accumulate accumulate;
  bool accumulate_stated;
  dm_engine_options engine;
  bool from_device, from_host; /* where operands start; neither: where the plan stores them */
  bool verify;
  bool against_library; /* alternate with one library call for each rank's whole block of C */
  int warmup;
  int repetitions;  /* 0: at least 10, until the median's interval is narrow or time is up */
  double precision; /* target half-width of that interval, relative to the median */
  double limit;     /* seconds for repetitions and their verification */
  uint64_t seed;    /* of the matrices */
  dm_check_seed check_seed; /* of the verification's random vector */
} dm_bench_multiply;

/* The results, known to rank 0. */
typedef struct dm_bench_found {
  double median, low, high; /* seconds, with the 95 % interval */
  dm_plan plan;
} dm_bench_found;

/* Collective. Multiplies generated matrices in memory; no files. Fills RECORD and FOUND (optional)
 * on rank 0. */
dm_status dm_bench_multiply_run(dm_run *run, const dm_bench_multiply *bench, dm_record *record,
                                dm_bench_found *found);

enum { DM_LINK_SIZES = 32 };

typedef struct dm_bench_links {
  dm_engine_options engine; /* transport "auto": each one that works */
  int64_t bytes[DM_LINK_SIZES];
  int sizes;
  int repetitions;
} dm_bench_links;

/* Collective. Measures rank 0 with each other rank, and all ranks in pairs. Rank 0
 * publishes a record of CALL for each transport and size. DM_E_DEVICE: a pair received wrong
 * bytes. */
dm_status dm_bench_links_run(dm_run *run, const dm_bench_links *bench, const dm_call *call);

/* Parses a list of byte counts such as "8,64KiB,1MiB:64MiB:x4"; DM_E_USAGE. */
dm_status dm_bench_links_sizes(const char *text, dm_bench_links *bench);

typedef struct dm_bench_rates {
  dm_engine_options engine;
  char output[DM_PATH]; /* file for the words; empty: none */
  char files[DM_PATH];  /* folder for measuring files; empty: files are not measured */
} dm_bench_rates;

/* Collective: measures the planner's rates with all ranks at work, and writes them as words for
 * --machine. */
dm_status dm_bench_rates_run(dm_run *run, const dm_bench_rates *bench, dm_record *record);

typedef enum dm_scale_series {
  DM_SCALE_STRONG, /* the same product */
  DM_SCALE_MEMORY, /* dimensions grow with the square root of the ranks: same memory per rank */
  DM_SCALE_WORK,   /* with the cube root: same operations per rank */
  DM_SCALE_SERIES
} dm_scale_series;

enum { DM_SCALE_COUNTS = 64 };

typedef struct dm_bench_scale {
  dm_bench_multiply base;             /* on the fewest ranks */
  int counts[DM_SCALE_COUNTS], count; /* ascending numbers of ranks; none: powers of two, and all */
  bool series[DM_SCALE_SERIES];
} dm_bench_scale;

/* Collective. Rank 0 publishes a record of CALL for each measurement. */
dm_status dm_bench_scale_run(dm_run *run, const dm_bench_scale *scale, const dm_call *call);

const char *dm_scale_series_name(dm_scale_series series); /* "strong", "memory", "work" */

/* ---- the harness (bench.c) ---- */

enum { DM_BENCH_SIZE = 2048, DM_BENCH_MOST = 1000 }; /* default size; most repetitions */

typedef dm_status dm_bench_measure(dm_run *run, const dm_call *call, void *shared,
                                   dm_record *record);

/* With the GPUs of --gpus, if it is given. RUN publishes records of its own if it has SHARED data,
 * of BYTES. */
int dm_bench_job(dm_call *call, dm_status prepared, dm_bench_measure *run, void *shared,
                 size_t bytes);

/* ---- what bench multiply and bench scale are asked (bench_multiply.c) ---- */

/* All wishes except the sizes and the place of the operands. */
dm_bench_multiply dm_bench_wishes(const dm_call *call);

/* Where operands start. auto leaves the choice to the planner: GPU memory as far as the shares fit
 * and can be gathered there. */
dm_status dm_bench_find_place(const dm_call *call, dm_bench_multiply *wanted);

/* ---- the verbs of damier-bench; each returns the exit code ---- */

int dm_bench_verb_multiply(dm_call *call);
int dm_bench_verb_scale(dm_call *call);
int dm_bench_verb_rates(dm_call *call);
int dm_bench_verb_links(dm_call *call);
int dm_bench_verb_kernels(dm_call *call);

/* ---- a pair of ranks (bench_links.c) ---- */

/* This rank's pair, while a transport is open. */
typedef struct dm_link {
  dm_run *run;
  dm_transport *transport;
  dm_link_pattern exchange; /* in place, two gathers under way, as with panels */
  bool served;              /* the pair has two members, and the transport can connect them */
  int other;                /* the partner; -1: none */
  int step;                 /* step of the test patterns */
} dm_link;

/* Collective: opens OPS, and the link between this rank and OTHER, which names this rank as well
 * (-1: none), for pieces of up to LARGEST bytes. All ranks return the same outcome; a failed open
 * keeps its memory. */
dm_status dm_link_open(dm_run *run, dm_backend *backend, const dm_transport_ops *ops, int other,
                       int64_t largest, dm_link *link);
void dm_link_close(dm_link *link);

/* Both members of a pair: sends SIZE bytes back and forth and compares them. Both return the same
 * outcome. */
dm_status dm_link_check(dm_link *link, int64_t size);

#endif
