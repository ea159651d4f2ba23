/* emulated_memory: of an emulated device.  Its addresses cannot be followed: whoever reads or
 * writes through one, as if it were host memory, is ended by a signal.  What may touch it asks for
 * the way in. */
#ifndef DM_TESTS_EMULATED_EMULATED_MEMORY_H
#define DM_TESTS_EMULATED_EMULATED_MEMORY_H

#include "core/status.h"
#include "core/view.h"

/* Filled with bytes 0xff: NaN in every real type.  Freed by release. */
dm_status emulated_alloc(int64_t bytes, void **memory);
void emulated_release(void *memory);

/* Where the BYTES at MEMORY really lie.  They must be within one allocation: else the process is
 * aborted, and says what it wanted. */
void *emulated_reach(const void *memory, int64_t bytes);

/* Whether MEMORY is of the device, and how many of its devices lie before the one that has it. */
bool emulated_has(const void *memory, int *index);

/* As if the allocation at MEMORY were of another device. */
void emulated_move_away(void *memory);

/* A stream of the caller: WORK that is done when it is waited for. */
typedef struct emulated_stream {
  void (*work)(void *context);
  void *context;
} emulated_stream;

/* VIEW as host memory; what is host memory stays. */
dm_view emulated_view(dm_view view);

/* A descriptor of the allocation that begins at MEMORY, for other processes to map. */
int emulated_file(const void *memory);

/* Spoils all elements of VIEW, of host memory. */
void emulated_spoil(dm_view view);

#endif
