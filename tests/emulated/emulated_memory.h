/* emulated_memory: memory of an emulated device. Its addresses cannot be dereferenced: accesses as
 * host memory end the process with a signal. Authorised code asks for the accessible address. */
#ifndef DM_TESTS_EMULATED_EMULATED_MEMORY_H
#define DM_TESTS_EMULATED_EMULATED_MEMORY_H

#include "core/status.h"
#include "core/view.h"

/* Bytes of all devices together, or what is left of them: EMULATED_MEMORY in the environment, else
 * 4 GiB, of which any amount may be allocated. */
int64_t emulated_room(bool left);

/* Filled with bytes 0xff: NaN in every real type. Free with emulated_release. */
dm_status emulated_alloc(int64_t bytes, void **memory);
void emulated_release(void *memory);

/* The accessible address of the BYTES at MEMORY. They must be within one allocation: else aborts
 * the process with a message. */
void *emulated_reach(const void *memory, int64_t bytes);

/* Whether MEMORY belongs to the device; *index: number of the emulated device that has it. */
bool emulated_has(const void *memory, int *index);

/* Pretends that the allocation at MEMORY belongs to another device. */
void emulated_move(void *memory, int device);

/* A stream of the caller, with WORK that is done when the stream is waited for. */
typedef struct emulated_stream {
  void (*work)(void *context);
  void *context;
} emulated_stream;

/* VIEW as host memory; views of host memory are unchanged. */
dm_view emulated_view(dm_view view);

/* A file descriptor of the allocation at MEMORY, which other processes can map. */
int emulated_file(const void *memory);

/* Corrupts all elements of VIEW, in host memory. */
void emulated_spoil(dm_view view);

#endif
