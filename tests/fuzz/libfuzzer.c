/* The target named by FUZZ_TARGET, for libFuzzer, and for AFL++ through its libFuzzer driver. */
#include <stdlib.h>

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
  static const fuzz_target *target;
  if (!target) target = fuzz_target_find(getenv("FUZZ_TARGET"));
  if (length <= FUZZ_ROOM) target->one(data, length);
  return 0;
}
