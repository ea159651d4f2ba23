/* pack: turns the finished contiguous file of C into one with chunks. */
#ifndef DM_FILE_PACK_H
#define DM_FILE_PACK_H

#include <hdf5.h>

#include "core/status.h"
#include "file/chunk_filter.h"
#include "file/output.h"
#include "file/output_form.h"
#include "file/pool.h"
#include "file/read_impl.h"
#include "file/tile_sums.h"

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

/* The dataset that an inspection of PACKED would find, before PACKED has its name. */
dm_status dm_pack_dataset(const dm_output_file *packed, const dm_output_form *form,
                          dm_dataset *dataset);

/* ---- moves the chunks of C from the contiguous file to the chunked one, and reads them back for
 * comparison ---- */

typedef struct dm_packing {
  const dm_output_file *from;
  const dm_output_file *to;
  const dm_output_form *form;
  const dm_keepalive *keepalive;
  dm_tile_sums *tiles; /* checksums of what is read of FROM, or NULL */
  dm_pool *pool;
  hid_t set;         /* destination of the chunks */
  dm_reader *reader; /* reads the chunks back */
  dm_chunk_filter filter;
  int64_t entry_rows;                  /* rows of C in an entry of the batch */
  int64_t down, across, chunks, bytes; /* numbers of chunks of an entry, of all; bytes of one */
  uint64_t *sums;                      /* checksum of each chunk */
} dm_packing;

/* Opens PACKING's pool and lists for FORM. */
dm_status dm_packing_open(dm_packing *packing, int threads);
void dm_packing_close(dm_packing *packing);

/* Writes all chunks of FROM to the open dataset SET. DM_E_IO: one of TILES differs from what was
 * written. */
dm_status dm_packing_write(dm_packing *packing);

/* Reads all chunks back with READER. DM_E_IO: one differs. */
dm_status dm_packing_compare(dm_packing *packing);

#endif
