/* tilings: the tile sizes of jit: the file that `damier tune` keeps of a model of GPU, and the same
 * sizes on all ranks of a job.  The file is never needed: without it jit uses those built in. */
#ifndef DM_ENGINE_TILINGS_H
#define DM_ENGINE_TILINGS_H

#include "backend/backend.h"
#include "backend/jit.h"
#include "core/dtype.h"
#include "io/dataset.h"
#include "run/record.h"
#include "run/run.h"

#define DM_TILINGS_SCHEMA "damier-tilings/2"

/* Collective.  Where KERNEL is jit, rank 0 looks for the file of `damier tune` and all ranks use
 * what it says, or what is built in where their GPUs cannot.  NAME becomes what the recipe calls
 * the kernel: "jit:" and the hash of the tilings, or KERNEL itself. */
dm_status dm_tilings_agree(dm_run *run, dm_backend *backend, const char *kernel, dm_dtype work,
                           char name[32]);

/* For `damier info`: where the file of BACKEND's GPU is, and whether jit uses it. */
void dm_tilings_describe(dm_backend *backend, const char *path, dm_record *record);

/* ---- the file ---- */

/* "jit:" and 16 digits, of the tilings that products of TYPE use. */
void dm_tilings_name(const dm_tilings *tilings, dm_dtype type, char name[32]);

/* $XDG_CACHE_HOME or $HOME/.cache, then damier/tilings-nvidia-h200.json: one file for each model of
 * GPU, because nodes may share the directory.  DM_E_USAGE where neither is set. */
dm_status dm_tilings_path(const char *gpu, char path[DM_PATH]);

/* The text of the file, the caller's to free. */
dm_status dm_tilings_format(const dm_tilings *tilings, const dm_jit_facts *facts, char **text);

/* TEXT, of a file that anyone may have written, for the GPU of FACTS.  DM_E_INPUT, and TILINGS
 * those that are built in, where it is not what dm_tilings_format wrote or of another machine. */
dm_status dm_tilings_parse(const char *text, size_t length, const dm_jit_facts *facts,
                           dm_tilings *tilings);

/* *found false, and no error, where there is no such file. */
dm_status dm_tilings_read(const char *path, const dm_jit_facts *facts, bool *found,
                          dm_tilings *tilings);

/* Replaces the file at once or not at all.  MAKE_DIRECTORY: also the directories that it is in. */
dm_status dm_tilings_write(const char *path, bool make_directory, const dm_tilings *tilings,
                           const dm_jit_facts *facts);

#endif
