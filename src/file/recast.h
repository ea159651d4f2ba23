/* recast: turns the finished contiguous file of C into a .npy file, or adds C as a dataset to an
 * existing file. The file with C's name stays unchanged until the commit renames the new file. */
#ifndef DM_FILE_RECAST_H
#define DM_FILE_RECAST_H

#include "core/status.h"
#include "file/output.h"
#include "file/output_form.h"
#include "file/tile_sums.h"

/* Before any work, for FORM with an existing file: checks that AT's file is HDF5 and has no object
 * of that name; stores its identity in FORM. DM_E_USAGE or DM_E_INPUT otherwise. Forks. */
dm_status dm_recast_check(const dm_location *at, dm_output_form *form);

/* DM_E_FIT: there is no room for the new file besides FILE, whose space is already reserved. */
dm_status dm_recast_room(const dm_output_file *file, const dm_output_form *form);

/* Creates *made, a file with its last temporary name that is on the disk: a .npy file of C, or a
 * copy of the existing file with C added, ready for dm_output_commit. FILE stays unchanged; what is
 * read of it is added to SUMS and compared, as in dm_pack. KEEPALIVE beats repeatedly. *HELD, to be
 * closed after the commit, keeps programs that respect locks from writing to the existing file; it
 * may be -1. */
dm_status dm_recast(const dm_output_file *file, const dm_output_form *form, dm_tile_sums *sums,
                    const dm_keepalive *keepalive, dm_output_file *made, int *held);

/* DM_E_IO: the existing file was changed. */
dm_status dm_recast_unchanged(const dm_output_file *file, const dm_output_form *form);

#endif
