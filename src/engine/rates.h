/* rates: the measurements of `damier tune rates` and their file. Without the file the planner uses
 * stated rates.
 *
 * Noise in a measurement must not select another grid, whose sums differ in bits. So runs read the
 * rates from the file and never measure their own, the recipe names the file's hash, and a renewed
 * file keeps every rate that changed by no more than noise. */
#ifndef DM_ENGINE_RATES_H
#define DM_ENGINE_RATES_H

#include <stddef.h>

#include "core/log.h"
#include "engine/engine.h"
#include "io/dataset.h"
#include "io/mount.h"
#include "plan/machine.h"

#define DM_RATES_SCHEMA "damier-rates/3"

/* The configuration that was measured; ranks are per node. */
typedef struct dm_rates_facts {
  char backend[16], device[64], library[96];
  bool several_nodes;
  int64_t ranks, threads;
} dm_rates_facts;

enum { DM_RATES = DM_OPERANDS + 10 };

/* As in dm_machine, for one rank while all work; 0: not measured. */
typedef struct dm_rates {
  union {
    struct {
      double flops[DM_OPERANDS];
      double link, staged, network, beside, upload, memory, host_copy;
      double file_read;  /* of all ranks together: from the page cache; */
      double file_cold;  /* not from the page cache; 0: the file system is in memory; */
      double file_write; /* until the data is on disk */
    };
    double numbers[DM_RATES]; /* all of these */
  };
  dm_mount files;     /* file system of the measurement; empty: none */
  char transport[16]; /* transport of LINK */
  char date[32], host[64];
} dm_rates;

/* Replaces stated rates of MACHINE by measured ones and names the measurement in it. LINK counts
 * only if panels use the same TRANSPORT; NULL: not known yet, it counts. */
void dm_rates_apply(const dm_rates *rates, const char *transport, dm_machine *machine);

/* Which measured rates of files apply to a job. */
typedef struct dm_rates_fit {
  bool reads, writes;
} dm_rates_fit;

/* Compares the file systems of FILES with that of the measurement, and logs a mismatch. Inputs
 * without a name match; an output without a name is assumed to be beside the inputs.
 * (rates_use.c) */
dm_rates_fit dm_rates_fit_files(const dm_log *log, const dm_rates *rates,
                                const dm_named_files *files);

/* State of the files, in terms that noise does not change. */
typedef struct dm_seen_files {
  bool cached;    /* all inputs are in memory already */
  bool in_memory; /* the output is on a file system in memory */
  bool fit;       /* memory could hold the inputs twice */
} dm_seen_files;

/* Inspects FILES in less than 1 ms per file. (rates_seen.c) */
dm_seen_files dm_rates_look(const dm_named_files *files);

/* Sets stated rates of files, for a job with CORES cores on NODES computers. If the inputs fit in
 * memory, the plan is chosen as if they were there, and the forecast uses the actual state: the
 * plan does not depend on what is cached. */
void dm_rates_state_seen(dm_seen_files seen, int64_t cores, int nodes, dm_machine *machine);

/* Sets the stated speed of products, for the forecast only. THREADS and CORES are totals over NODES
 * equal computers. */
void dm_rates_state_cores(int64_t cores, int64_t threads, int nodes, dm_machine *machine);

/* Call after dm_rates_apply: applies the rates of files that fit. If inputs are CACHED, the
 * forecast uses the rate of reading from the page cache. (rates_use.c) */
void dm_rates_apply_files(const dm_rates *rates, dm_rates_fit fit, bool cached,
                          dm_machine *machine);

/* Name of a number in the file, and in reports: "f64_flops", ..., "link_Bps", ... */
void dm_rates_key(int number, char key[32], char label[32]);

/* 16 digits: a hash of the rates and of the file system of the measurement. */
void dm_rates_name(const dm_rates *rates, char name[24]);

/* MEASURED, but with OLD's value for each rate that differs by no more than noise, and with OLD's
 * rates of files if they were not measured again. */
dm_rates dm_rates_renewed(const dm_rates *old, const dm_rates *measured);

/* Sets PATH to damier/rates-DEVICE-NODESxRANKS.json in the user's cache. */
dm_status dm_rates_path(const dm_rates_facts *facts, char path[DM_PATH]);

/* Parses TEXT, which anyone may have written. DM_E_INPUT: not the format of dm_rates_format, or
 * measured with another configuration. */
dm_status dm_rates_parse(const char *text, size_t length, const dm_rates_facts *facts,
                         dm_rates *rates);

/* Writes the file's text to *text; the caller frees it. */
dm_status dm_rates_format(const dm_rates *rates, const dm_rates_facts *facts, char **text);

/* If there is no such file, *found is false and the result DM_OK. */
dm_status dm_rates_read(const char *path, const dm_rates_facts *facts, bool *found,
                        dm_rates *rates);

/* Finds the rates for FACTS in the user's cache and logs them. A file that does not match is
 * ignored with a warning. (rates_use.c) */
bool dm_rates_find(const dm_log *log, const dm_rates_facts *facts, dm_rates *rates);

#endif
