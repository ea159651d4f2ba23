/* tunings: the tile sizes that `damier tune` found best on a model of GPU, and the file that keeps
 * them.  The file is never needed: without it jit uses the tile sizes that are built in. */
#ifndef DM_ENGINE_TUNINGS_H
#define DM_ENGINE_TUNINGS_H

#include <stddef.h>

#include "backend/jit.h"
#include "io/dataset.h"

#define DM_TUNINGS_SCHEMA "damier-tilings/1"

/* The best of a class. */
typedef struct dm_tuned {
  bool measured;
  dm_tiling tiling;
  int64_t size;                 /* m, n and k of the product that was measured */
  double flops, built_in_flops; /* per second: by this tiling, and by the one that is built in */
} dm_tuned;

typedef struct dm_tunings {
  dm_tuned of[DM_TILING_TYPES][DM_TILING_CLASSES];
} dm_tunings;

/* What jit uses: where nothing was measured, the tilings that are built in. */
dm_tilings dm_tunings_tilings(const dm_tunings *tunings);

/* Of the tilings that products of TYPE use. */
uint64_t dm_tilings_hash(const dm_tilings *tilings, dm_dtype type);

/* "jit:" and the hash in 16 digits: how a recipe names the kernel. */
void dm_tilings_name(const dm_tilings *tilings, dm_dtype type, char name[32]);

/* $XDG_CACHE_HOME or $HOME/.cache, then damier/tilings-nvidia-h200.json: one file for each model of
 * GPU, because nodes may share the directory.  DM_E_USAGE where neither is set. */
dm_status dm_tunings_path(const char *gpu, char path[DM_PATH]);

/* TEXT, of a file that anyone may have written, for the GPU of FACTS.  DM_E_INPUT where it is not
 * what dm_tunings_format wrote, or was measured on something else. */
dm_status dm_tunings_parse(const char *text, size_t length, const dm_jit_facts *facts,
                           dm_tunings *tunings);

/* The text of the file, the caller's to free. */
dm_status dm_tunings_format(const dm_tunings *tunings, const dm_jit_facts *facts, char **text);

/* *found false, and no error, where there is no such file.  (tunings_file.c) */
dm_status dm_tunings_read(const char *path, const dm_jit_facts *facts, bool *found,
                          dm_tunings *tunings);

/* Replaces the file at once or not at all.  MAKE_DIRECTORY: also the directories that it is in. */
dm_status dm_tunings_write(const char *path, bool make_directory, const dm_tunings *tunings,
                           const dm_jit_facts *facts);

#endif
