/* rates: the measurements of `damier tune rates` and their file.  Without the
 * file the planner works with stated rates.
 *
 * A measurement's noise must not choose another grid, whose sums have other bits: runs take the
 * rates from the file, and none measures its own; the file's hash stands in the recipe; and a
 * renewed file keeps every rate that has changed by no more than noise. */
#ifndef DM_ENGINE_RATES_H
#define DM_ENGINE_RATES_H

#include <stddef.h>

#include "core/log.h"
#include "engine/engine.h"
#include "io/dataset.h"
#include "io/mount.h"
#include "plan/machine.h"

#define DM_RATES_SCHEMA "damier-rates/3"

/* What the rates are those of; ranks are counted on each node. */
typedef struct dm_rates_facts {
  char backend[16], device[64], library[96];
  bool several_nodes;
  int64_t ranks, threads;
} dm_rates_facts;

enum { DM_RATES = DM_OPERANDS + 10 };

/* As in dm_machine, of one rank while all are at work; 0: not measured. */
typedef struct dm_rates {
  union {
    struct {
      double flops[DM_OPERANDS];
      double link, staged, network, beside, upload, memory, host_copy;
      double file_read;  /* of all ranks together, from the page cache, */
      double file_cold;  /* not from there; 0 where a file system has no other place, */
      double file_write; /* and until it is on the disk */
    };
    double numbers[DM_RATES]; /* all of these */
  };
  dm_mount files;     /* where those were measured; empty: nowhere */
  char transport[16]; /* that link is of */
  char date[32], host[64];
} dm_rates;

/* Puts what was measured in place of what is stated, and notes it in MACHINE's rates.  The rate of
 * links counts where panels take the same TRANSPORT (NULL: not known yet, so they do). */
void dm_rates_apply(const dm_rates *rates, const char *transport, dm_machine *machine);

/* Which rates of files are those of a job. */
typedef struct dm_rates_fit {
  bool reads, writes;
} dm_rates_fit;

/* RATES are those of files that lie where they were measured; of files without a name, too, and
 * what is written without one lies beside what is read.  Says it where they are not.  (rates_use.c)
 */
dm_rates_fit dm_rates_fit_files(const dm_log *log, const dm_rates *rates,
                                const dm_named_files *files);

/* What a look at the files tells, in words that no noise changes. */
typedef struct dm_seen_files {
  bool cached;    /* all of the inputs is in memory already */
  bool in_memory; /* so is, to stay there, what is written */
  bool fit;       /* memory could hold all of the inputs twice */
} dm_seen_files;

/* Takes less than a ms for each file.  (rates_seen.c) */
dm_seen_files dm_rates_look(const dm_named_files *files);

/* Stated rates of files, for a job of so many cores on NODES computers.  Where the inputs fit,
 * plans are chosen as if memory held them, and forecast as it is: then the same command has the
 * same plan whether it does or not. */
void dm_rates_state_seen(dm_seen_files seen, int64_t cores, int nodes, dm_machine *machine);

/* Stated rates of products, for the forecast alone: of a job of THREADS on CORES of NODES computers
 * of this kind. */
void dm_rates_state_cores(int64_t cores, int64_t threads, int nodes, dm_machine *machine);

/* After dm_rates_apply: the rates of files, as far as they fit; to forecast those of inputs that
 * are CACHED, the rates of reading from the page cache.  (rates_use.c) */
void dm_rates_apply_files(const dm_rates *rates, dm_rates_fit fit, bool cached,
                          dm_machine *machine);

/* What a number is called in the file, and for people: "f64_flops", ..., "link_Bps", ... */
void dm_rates_key(int number, char key[32], char label[32]);

/* 16 digits: a hash of the rates, and of where those of files were measured. */
void dm_rates_name(const dm_rates *rates, char name[24]);

/* MEASURED, but for the rates that differ from those of OLD by no more than noise, and with OLD's
 * rates of files where they were not measured again. */
dm_rates dm_rates_renewed(const dm_rates *old, const dm_rates *measured);

/* damier/rates-DEVICE-NODESxRANKS.json in the user's cache. */
dm_status dm_rates_path(const dm_rates_facts *facts, char path[DM_PATH]);

/* TEXT, of a file that anyone may have written.  DM_E_INPUT where it is not what dm_rates_format
 * wrote, or was measured on something else. */
dm_status dm_rates_parse(const char *text, size_t length, const dm_rates_facts *facts,
                         dm_rates *rates);

/* The text of the file, the caller's to free. */
dm_status dm_rates_format(const dm_rates *rates, const dm_rates_facts *facts, char **text);

/* *found false, and no error, where there is no such file. */
dm_status dm_rates_read(const char *path, const dm_rates_facts *facts, bool *found,
                        dm_rates *rates);

/* The rates of the user's cache for FACTS, and says so; a file that does not fit is not used, and
 * that is said too.  (rates_use.c) */
bool dm_rates_find(const dm_log *log, const dm_rates_facts *facts, dm_rates *rates);

#endif
