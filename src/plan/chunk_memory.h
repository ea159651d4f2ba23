/* chunk_memory: memory for reading large chunks of a file.
 *
 * Small chunks fit into the readers' buffers. A large chunk is unpacked once, from one buffer to
 * another, and kept until all of it has been copied: several panels, and adjacent chunks, use a
 * part of each. */
#ifndef DM_PLAN_CHUNK_MEMORY_H
#define DM_PLAN_CHUNK_MEMORY_H

#include "core/checked.h"
#include "plan/buffers.h"
#include "plan/saturating.h"

enum { DM_CHUNKS_KEPT = 4 };

/* Bytes of the chunks kept, each CHUNK bytes large, for a matrix of BYTES in its file. */
static inline int64_t dm_chunks_kept(int64_t chunk, int64_t bytes) {
  if (chunk <= DM_BUFFER_READ_BYTES / 8) return 0;
  return dm_min(dm_plus(bytes, chunk), dm_times(DM_CHUNKS_KEPT, chunk));
}

/* The same plus the buffer of the chunk being unpacked. */
static inline int64_t dm_chunks_memory(int64_t chunk, int64_t bytes) {
  const int64_t kept = dm_chunks_kept(chunk, bytes);
  return kept > 0 ? dm_plus(kept, dm_times(2, chunk)) : 0;
}

#endif
