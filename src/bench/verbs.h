/* verbs: the verbs of damier-bench; each returns the exit code. */
#ifndef DM_BENCH_VERBS_H
#define DM_BENCH_VERBS_H

#include "cli/call.h"

int dm_bench_verb_multiply(dm_call *call);
int dm_bench_verb_scale(dm_call *call);
int dm_bench_verb_rates(dm_call *call);
int dm_bench_verb_links(dm_call *call);
int dm_bench_verb_kernels(dm_call *call); /* verb_bench_kernels.c */

#endif
