/* recast: turns the finished contiguous file of C into a .npy file, or makes C one more dataset of
 * a file that holds others.  What has C's name stays as it is until the commit gives that to the
 * new file. */
#ifndef DM_IO_RECAST_H
#define DM_IO_RECAST_H

#include "core/keepalive.h"
#include "io/output.h"
#include "io/output_form.h"
#include "io/tile_sums.h"

/* Before any work, for FORM with an existing file: AT's file is HDF5, and has room for a dataset of
 * that name; notes in FORM which file it is.  DM_E_USAGE or DM_E_INPUT otherwise.  Forks. */
dm_status dm_recast_check(const dm_location *at, dm_output_form *form);

/* DM_E_FIT where there is no room for the new file beside FILE, whose space is reserved already. */
dm_status dm_recast_room(const dm_output_file *file, const dm_output_form *form);

/* Makes *made, a file called FILE.packing that is on the disk: C alone as a .npy file, or a copy of
 * the existing file with C in it, ready for dm_output_commit.  FILE stays as it is; what is read of
 * it is added to SUMS and compared with them, as in dm_pack.  KEEPALIVE beats now and then.  *HELD,
 * to be closed after the commit, keeps programs that respect locks from writing to the existing
 * file; it may be -1. */
dm_status dm_recast(const dm_output_file *file, const dm_output_form *form, dm_tile_sums *sums,
                    const dm_keepalive *keepalive, dm_output_file *made, int *held);

/* DM_E_IO where the existing file is not as it was found. */
dm_status dm_recast_unchanged(const dm_output_file *file, const dm_output_form *form);

#endif
