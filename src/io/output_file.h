/* output_file: what creating, checking and committing an output share.  Private to io. */
#ifndef DM_IO_OUTPUT_FILE_H
#define DM_IO_OUTPUT_FILE_H

#include <sys/stat.h>

#include "io/naming.h"
#include "io/output.h"
#include "io/output_form.h"

#define DM_STATE "damier_state"
#define DM_OWN_GROUP "/.damier"
#define DM_ID_NAME "damier_id"

enum { DM_DESCRIPTOR = 32 }; /* of a name in /proc */

/* The name of the output with ENDING (at most 8 characters) behind it; DM_E_USAGE: too long. */
dm_status dm_output_beside(const dm_location *at, const char *ending, char path[DM_BESIDE]);

/* "'PATH' cannot be WHAT", with the reason in errno. */
dm_status dm_output_failed(const dm_location *at, const char *path, const char *what);

/* Locks FD, which is PATH, as flock(2) does; DM_E_IO where another run has it.  A file system
 * without locks cannot tell. */
dm_status dm_output_lock(const dm_location *at, const char *path, int fd, int operation);

/* The directory of FILE: "." where it names none. */
void dm_output_directory(const char *file, char directory[DM_PATH]);

/* DM_E_FIT where the file system of DIRECTORY has less than BYTES left. */
dm_status dm_output_room(const dm_location *at, const char *directory, int64_t bytes);

/* DM_E_IO where PART is being written; with FORCE a leftover is removed if REMOVE is given. */
dm_status dm_output_leftover(const dm_location *at, const char *part, bool force, bool remove);

/* ---- structure (output_model.c) ---- */

dm_status dm_output_make_id(dm_output_file *out);

/* *MODEL: a file without a name that is HDF5 with OUT's id and its dataset in FORM (NULL:
 * contiguous; OUT->offset is filled), marked as incomplete, and nothing else.  The caller closes
 * it. */
dm_status dm_output_model(dm_output_file *out, const dm_output_form *form, int *model);

/* Adds OUT's dataset, and the groups above it, to the open FILE; OUT->offset as above. */
dm_status dm_output_add(int64_t file, dm_output_file *out, const dm_output_form *form);

/* All of MODEL but the elements goes to FD, which gets its LENGTH. */
dm_status dm_output_copy_model(const dm_output_file *out, int model, int fd, int64_t *length);

/* Whether TEXT stands near the beginning of FD, which is PATH. */
dm_status dm_output_look_for(const dm_location *at, const char *path, int fd, const char *text,
                             bool *found);

/* A name by which FD's file, and no other, is opened once more. */
const char *dm_output_by_descriptor(int fd, char path[DM_DESCRIPTOR]);

/* ---- which file it is (output_hold.c) ---- */

/* FILE->made has it: notes its inode, and shares its lock with the ranks that write. */
dm_status dm_output_share(dm_output_file *file);

/* DM_E_IO where PATH does not name FILE->made (rank 0), or FD is not the file that was made. */
dm_status dm_output_check_name(const dm_output_file *file, const char *path);
dm_status dm_output_check_open(const dm_output_file *file, int fd);

/* Reserves BYTES of the disk for FILE->made; DM_E_FIT; at once, or by a thread that
 * dm_reservation_end waits for. (output_reserve.c) */
dm_status dm_output_reserve(const dm_output_file *out, int64_t bytes);
dm_status dm_reservation_start(const dm_output_file *out, int64_t bytes,
                               dm_reservation **reservation);

/* Opens FILE->made and its dataset with HDF5 for WORK, and closes them so that everything is
 * with the system.  (output_commit.c) */
typedef dm_status dm_output_work(void *context, int64_t file, int64_t set);
dm_status dm_output_edit(const dm_output_file *file, dm_output_work *work, void *context);

/* Waits until FILE is on the disk, whatever its name is; KEEPALIVE (or NULL) beats meanwhile. */
dm_status dm_output_sync_made(const dm_output_file *file, const dm_keepalive *keepalive);

/* Waits until PATH, opened with FLAGS, is on the disk; a directory only where that can be asked. */
dm_status dm_output_sync_path(const dm_location *at, const char *path, int flags);

/* A dm_child_work: refuses the file of the dm_location if it holds more than its dataset. */
dm_status dm_output_holds_only(const void *location, void *nothing);

#endif
