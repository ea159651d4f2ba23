/* pack: turns the finished contiguous file of C into one with chunks. */
#ifndef DM_IO_PACK_H
#define DM_IO_PACK_H

#include "core/keepalive.h"
#include "io/output.h"
#include "io/output_form.h"
#include "io/tile_sums.h"

/* Before any work, after dm_output_check: DM_E_IO where FILE.packing, which is made on the way, is
 * being written, or is there with neither FORCE nor a journal beside it that tells whose it is. */
dm_status dm_pack_check(const dm_location *location, bool force);

/* Removes what an earlier run, whose journal this one has locked, left of its packing. */
dm_status dm_pack_forget(const dm_location *location);

/* DM_E_FIT where there is no room for the chunks beside FILE, whose space is reserved already. */
dm_status dm_pack_room(const dm_output_file *file, const dm_output_form *form);

/* Makes *packed, a file called FILE.packing with the elements of FILE in FORM (completed), by
 * THREADS that shuffle and deflate (0: the caller does).  All chunks are read back from the file
 * and compared by checksum.  What is read of FILE is added to SUMS and compared with them; DM_E_IO
 * where it is not what was written.  *packed is ready for dm_output_commit, and released by the
 * caller; FILE stays as it is, also after an error: it is then the only whole result.  KEEPALIVE
 * beats with every chunk.  SUMS and KEEPALIVE may be NULL. */
dm_status dm_pack(const dm_output_file *file, const dm_output_form *form, int threads,
                  dm_tile_sums *sums, const dm_keepalive *keepalive, dm_output_file *packed);

/* What an inspection would find of PACKED, before it has its name. */
dm_status dm_pack_dataset(const dm_output_file *packed, const dm_output_form *form,
                          dm_dataset *dataset);

#endif
