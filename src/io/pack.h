/* pack: turns the finished contiguous file of C into one with chunks. */
#ifndef DM_IO_PACK_H
#define DM_IO_PACK_H

#include "core/status.h"
#include "io/output.h"
#include "io/output_form.h"
#include "io/tile_sums.h"

/* DM_E_FIT: there is no room for the chunks besides FILE, whose space is already reserved. */
dm_status dm_pack_room(const dm_output_file *file, const dm_output_form *form);

/* Creates *packed, a file with its last temporary name and the elements of FILE in FORM
 * (completed), with THREADS that shuffle and deflate (0: the caller does). Reads all chunks back
 * and compares checksums. Adds what it reads of FILE to SUMS and compares; DM_E_IO: FILE differs
 * from what was written. *packed is ready for dm_output_commit; the caller releases it. FILE stays
 * unchanged, also after an error: then it is the only complete result. KEEPALIVE beats with every
 * chunk. SUMS and KEEPALIVE may be NULL. */
dm_status dm_pack(const dm_output_file *file, const dm_output_form *form, int threads,
                  dm_tile_sums *sums, const dm_keepalive *keepalive, dm_output_file *packed);

#endif
