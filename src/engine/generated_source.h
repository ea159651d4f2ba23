/* generated_source: op(A) and op(B), generated directly in the shares. */
#ifndef DM_ENGINE_GENERATED_SOURCE_H
#define DM_ENGINE_GENERATED_SOURCE_H

#include "core/fill.h"
#include "engine/source.h"

typedef struct dm_generated_source {
  dm_generator generators[2]; /* generators of op(A) and op(B) */
} dm_generated_source;

extern const dm_source_ops dm_source_generated; /* STATE: a dm_generated_source */

/* Random numbers of TYPE, a different sequence for each seed: uniform, or small whole numbers for
 * i8. */
dm_generated_source dm_generated_random(dm_dtype type, uint64_t seed);

#endif
