/* tilings: tile sizes of kernel jit: the file of `damier tune` for a model of GPU, and the same
 * sizes on all ranks of a job. Without the file jit uses built-in sizes. */
#ifndef DM_ENGINE_TILINGS_H
#define DM_ENGINE_TILINGS_H

#include "backend/backend.h"
#include "backend/jit.h"
#include "core/dtype.h"
#include "io/dataset.h"
#include "run/record.h"
#include "run/run.h"

#define DM_TILINGS_SCHEMA "damier-tilings/2"

/* Collective. If KERNEL is jit, rank 0 reads the file of `damier tune`, and all ranks use its tile
 * sizes, or built-in ones if their GPUs do not support those. NAME becomes the kernel's name in the
 * recipe: "jit:" and the hash of the tilings, or KERNEL itself. */
dm_status dm_tilings_agree(dm_run *run, dm_backend *backend, const char *kernel, dm_dtype work,
                           char name[32]);

/* For `damier info`: the file for BACKEND's GPU, and whether jit uses it. */
void dm_tilings_describe(dm_backend *backend, const char *path, dm_record *record);

/* ---- the file ---- */

/* "jit:" and 16 digits, the hash of the tilings for products of TYPE. */
void dm_tilings_name(const dm_tilings *tilings, dm_dtype type, char name[32]);

/* damier/tilings-nvidia-h200.json in $XDG_CACHE_HOME or $HOME/.cache: one file per model of GPU,
 * because nodes may share the directory. DM_E_USAGE: neither variable is set. */
dm_status dm_tilings_path(const char *gpu, char path[DM_PATH]);

/* The text of the file; the caller frees it. */
dm_status dm_tilings_format(const dm_tilings *tilings, const dm_jit_facts *facts, char **text);

/* Parses TEXT, which may come from anyone, for the GPU of FACTS. DM_E_INPUT, with built-in TILINGS:
 * not written by dm_tilings_format, or for another machine. */
dm_status dm_tilings_parse(const char *text, size_t length, const dm_jit_facts *facts,
                           dm_tilings *tilings);

/* *found false, without an error: there is no such file. */
dm_status dm_tilings_read(const char *path, const dm_jit_facts *facts, bool *found,
                          dm_tilings *tilings);

/* Replaces the file atomically. MAKE_DIRECTORY: also creates its directories. */
dm_status dm_tilings_write(const char *path, bool make_directory, const dm_tilings *tilings,
                           const dm_jit_facts *facts);

#endif
