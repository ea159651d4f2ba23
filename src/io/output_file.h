/* output_file: what creating, checking and committing an output share.  Private to io. */
#ifndef DM_IO_OUTPUT_FILE_H
#define DM_IO_OUTPUT_FILE_H

#include <sys/stat.h>

#include "io/naming.h"
#include "io/output.h"
#include "io/output_form.h"

#define DM_STATE "damier_state"

/* The name of the part file; DM_E_USAGE where it is too long. */
dm_status dm_output_part_name(const dm_location *at, char part[DM_PATH + 8]);

/* The directory of FILE: "." where it names none. */
void dm_output_directory(const char *file, char directory[DM_PATH]);

/* DM_E_FIT where the file system of DIRECTORY has less than BYTES left. */
dm_status dm_output_room(const dm_location *at, const char *directory, int64_t bytes);

/* DM_E_IO where PART is being written; with FORCE a leftover is removed if REMOVE is given. */
dm_status dm_output_leftover(const dm_location *at, const char *part, bool force, bool remove);

/* Makes PATH, which may be there, an HDF5 file with OUT's dataset in FORM (NULL: contiguous;
 * OUT->offset is filled) and nothing else, marked as incomplete.  (output_create.c) */
dm_status dm_output_structure(dm_output_file *out, const char *path, const dm_output_form *form);

/* Reserves BYTES of the disk for the open part file; DM_E_FIT. */
dm_status dm_output_reserve(const dm_output_file *out, int fd, int64_t bytes);

/* Waits until PATH, opened with FLAGS, is on the disk; a directory only where that can be asked. */
dm_status dm_output_sync_path(const dm_location *at, const char *path, int flags);

/* A dm_child_work: refuses the file of the dm_location if it holds more than its dataset. */
dm_status dm_output_holds_only(const void *location, void *nothing);

#endif
