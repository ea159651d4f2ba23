/* output_impl: shared by creating, checking and committing an output. Private to src/io. */
#ifndef DM_IO_OUTPUT_IMPL_H
#define DM_IO_OUTPUT_IMPL_H

#include <sys/stat.h>

#include "dataset/naming.h"
#include "io/output.h"

#define DM_STATE "damier_state"

/* Attributes of the root, which keep their place. A file named .part is a leftover if its mark says
 * DM_UNFINISHED, or if it is also named .damier-new. */
#define DM_ID_NAME "damier_id"
#define DM_MARK "damier_mark"
#define DM_UNFINISHED "damier:unfinished"
#define DM_FINISHED "damier:finished"

enum { DM_DESCRIPTOR = 32 }; /* room for a name in /proc */

/* Locks FD, which is PATH, as flock(2) does; DM_E_IO: another run has locked it. Without effect on
 * file systems without locks. */
dm_status dm_output_lock(const dm_location *at, const char *path, int fd, int operation);

/* DM_E_FIT: there is no space for a file of BYTES beside AT, or files may not be as large. */
dm_status dm_output_room(const dm_location *at, int64_t bytes);

/* If there is a file PART: DM_E_IO if another run is writing it, DM_E_USAGE if it is not an
 * unfinished file of damier. REMOVE: removes it. */
dm_status dm_output_leftover(const dm_location *at, const char *part, bool remove);

/* ---- names (output_hold.c) ---- */

/* The name of the file that is to become C, from its first byte until it does; it is damier's,
 * whatever the file contains. A part file has this name first, and .part as the second one: so no
 * state of a disk takes it for a file of the user that is called .part. */
dm_status dm_output_new_name(const dm_location *at, char path[DM_SIBLING_PATH]);

/* Removes a file of that name; DM_E_IO: another run is using it. */
dm_status dm_output_forget_new(const dm_location *at);

/* Creates OUT->made with that name, which it takes from the PART that it is made from, or NULL; or
 * without any, if the file system can. As long as C replaces a file nobody else can read it. */
dm_status dm_output_make(dm_output_file *out, const dm_output_file *part);

/* Makes *OUT, a file (STORE: a folder) of what FILE is to be, with that name, from PART or
 * NULL, and lets WORK fill it in, locked; then ranks may open it. After an error it is gone. */
typedef dm_status dm_output_filling(void *context, dm_output_file *out);
dm_status dm_output_fill(dm_output_file *out, const dm_output_file *file,
                         const dm_output_file *part, bool store, dm_output_filling *work,
                         void *context);
dm_status dm_output_make_unnamed(dm_output_file *out);

/* Gives OUT->made both names; the same for one that was reopened and may have one of them. */
dm_status dm_output_name(dm_output_file *out);
dm_status dm_output_name_again(dm_output_file *out);

/* Takes the name .part from OUT, in the open FOLDER: it is about to look complete. */
dm_status dm_output_take_new_name(dm_output_file *out, int folder);

/* As rename(2), but TO must be free. */
int dm_output_rename_new(const char *from, const char *to);

/* Gives OUT->made the owner, the rights and the extended attributes of the file that it replaces,
 * as far as this process may; it is readable by nobody who could not read that one. */
dm_status dm_output_take_rights(const dm_output_file *out);

/* ---- a folder of Zarr in place of a file (output_zarr.c) ---- */

/* Makes the folder OUT->part and opens it as OUT->made. */
dm_status dm_store_make(dm_output_file *out);

/* Writes the metadata of OUT, an array in FORM (completed) that is incomplete so far. */
dm_status dm_store_describe(const dm_output_file *out, const dm_output_form *form);

/* States COMPLETION in them. What is written is read back. */
dm_status dm_store_complete(const dm_output_file *out, const dm_output_completion *completion);

/* Writes BYTES of the chunk whose place in the grid has COUNT numbers, INDEX; any thread. */
dm_status dm_store_chunk(const dm_output_file *out, const int64_t *index, int count,
                         const void *data, int64_t bytes);

/* Removes the folder PATH if it holds nothing but an array, complete or not, as damier makes them.
 * DM_E_IO: something is left. */
dm_status dm_store_remove(const dm_location *at, const char *path);

/* Whether dm_store_remove would remove all of the folder PATH. *bytes: of its files. */
bool dm_store_only(const char *path, int64_t *bytes);

/* DM_E_USAGE: the folder of AT is not an array that damier wrote, or holds more. */
dm_status dm_store_holds_only(const dm_location *at);

/* ---- structure (output_model.c) ---- */

dm_status dm_output_make_id(dm_output_file *out);

/* *MODEL: an HDF5 file in memory with only OUT's id and its dataset in FORM (NULL: contiguous; sets
 * OUT->offset), marked as unfinished. The caller closes it. */
dm_status dm_output_model(dm_output_file *out, const dm_output_form *form, int *model);

/* Marks the open FILE as finished, if damier made it. */
dm_status dm_output_mark_finished(int64_t file, const dm_output_file *out);

/* Adds OUT's dataset, and its parent groups, to the open FILE; OUT->offset as above. */
dm_status dm_output_add(int64_t file, dm_output_file *out, const dm_output_form *form);

/* Copies all of MODEL except the elements to FD, and sets FD's length to LENGTH. */
dm_status dm_output_copy_model(const dm_output_file *out, int model, int fd, int64_t *length);

/* Whether TEXT occurs near the start of FD, which is PATH. */
dm_status dm_output_find(const dm_location *at, const char *path, int fd, const char *text,
                         bool *found);

/* A name that reopens exactly FD's file. */
const char *dm_output_by_descriptor(int fd, char path[DM_DESCRIPTOR]);

/* ---- identity (output_hold.c) ---- */

/* For a FILE with FILE->made: stores its inode, and shares its lock with the ranks that write. */
dm_status dm_output_share(dm_output_file *file);

/* DM_E_IO: PATH does not name FILE->made (rank 0), or FD is not the file that rank 0 created. */
dm_status dm_output_check_name(const dm_output_file *file, const char *path);
dm_status dm_output_check_open(const dm_output_file *file, int fd);

/* Opens FILE->made and its dataset with HDF5 for WORK, then closes them, which hands all data to
 * the system. (output_write.c) */
typedef dm_status dm_output_work(void *context, int64_t file, int64_t set);
dm_status dm_output_edit(const dm_output_file *file, dm_output_work *work, void *context);

/* Waits until FILE is on the disk, whatever its name; KEEPALIVE (or NULL) beats meanwhile. */
dm_status dm_output_sync_made(const dm_output_file *file, const dm_keepalive *keepalive);

/* A dm_child_work: rejects the file of the dm_location if it contains more than its dataset. */
dm_status dm_output_holds_only(const void *location, void *nothing);

#endif
