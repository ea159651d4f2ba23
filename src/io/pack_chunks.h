/* pack_chunks: the chunks of C on their way from the contiguous file to the one with chunks, and
 * back for comparison.  Private to io. */
#ifndef DM_IO_PACK_CHUNKS_H
#define DM_IO_PACK_CHUNKS_H

#include <hdf5.h>

#include "io/chunk_filter.h"
#include "io/pack.h"
#include "io/pool.h"
#include "io/reader.h"

typedef struct dm_packing {
  const dm_output_file *from;
  const dm_output_file *to;
  const dm_output_form *form;
  const dm_keepalive *keepalive;
  dm_tile_sums *tiles; /* of what is read of FROM, or NULL */
  dm_pool *pool;
  hid_t set;         /* that chunks are written to */
  dm_reader *reader; /* that they are read back with */
  dm_chunk_filter filter;
  int64_t down, across, bytes; /* chunks; bytes of one */
  uint64_t *sums;              /* of each */
} dm_packing;

/* Opens PACKING's pool and lists for FORM. */
dm_status dm_packing_open(dm_packing *packing, int threads);
void dm_packing_close(dm_packing *packing);

/* Writes all chunks of FROM to the open dataset SET.  DM_E_IO where one of TILES is not what was
 * written. */
dm_status dm_packing_write(dm_packing *packing);

/* Reads all chunks back with READER.  DM_E_IO where one differs. */
dm_status dm_packing_compare(dm_packing *packing);

#endif
