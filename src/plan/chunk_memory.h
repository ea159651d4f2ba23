/* chunk_memory: what large chunks of a file take in memory while they are read.
 *
 * Small ones fit into the memory that readers have in any case.  A large one is unpacked from one
 * place to another and then kept until all of it was copied, so that it is unpacked once: several
 * panels, and chunks that lie abreast, have a part of each. */
#ifndef DM_PLAN_CHUNK_MEMORY_H
#define DM_PLAN_CHUNK_MEMORY_H

#include "core/checked.h"
#include "plan/buffer_sizes.h"
#include "plan/saturating.h"

enum { DM_CHUNKS_KEPT = 4 };

/* Bytes of chunks of CHUNK bytes that are kept, of a matrix that has BYTES in its file. */
static inline int64_t dm_chunks_kept(int64_t chunk, int64_t bytes) {
  if (chunk <= DM_BUFFER_READ_BYTES / 8) return 0;
  return dm_min(dm_plus(bytes, chunk), dm_times(DM_CHUNKS_KEPT, chunk));
}

/* The same, and what the one takes that is being unpacked. */
static inline int64_t dm_chunks_memory(int64_t chunk, int64_t bytes) {
  const int64_t kept = dm_chunks_kept(chunk, bytes);
  return kept > 0 ? dm_plus(kept, dm_times(2, chunk)) : 0;
}

#endif
