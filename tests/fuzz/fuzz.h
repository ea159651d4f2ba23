/* fuzz: code that reads untrusted bytes, each as a target for fuzzers. */
#ifndef DM_TEST_FUZZ_H
#define DM_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_ROOM = 1 << 17 };

typedef struct fuzz_target {
  const char *name;
  int cost;                                        /* of one execution, relative to the cheapest */
  size_t (*seed)(int number, uint8_t *data);       /* a valid input; 0: there is no such number */
  void (*one)(const uint8_t *data, size_t length); /* aborts if the outcome is wrong */
} fuzz_target;

extern const fuzz_target fuzz_targets[];
extern const int fuzz_target_count;

const fuzz_target *fuzz_target_find(const char *name); /* exits if there is none */

#endif
