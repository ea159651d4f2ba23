/* Mutants without a fuzzer, reproducible by seed: usage: fuzz COUNT SEED [TARGET]
 * COUNT applies to the cheapest target; the others run fewer, by their cost.
 * fuzz seeds FOLDER: writes the seeds of each target, for libFuzzer and AFL++. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"

static uint64_t state;

static uint64_t next(uint64_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % below;
}

/* One change: a byte, a special byte, a bit, or a piece that is removed, duplicated or cut off. */
static size_t change(uint8_t *data, size_t length) {
  static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, '"', '9', '-', '{', ','};
  if (length == 0) return 0;
  const size_t front = length < 2400 ? length : 2400;
  const size_t at = next(next(4) ? front : length);
  const size_t piece = 1 + next(length - at < 16 ? length - at : 16);
  switch (next(8)) {
  case 0:
    memmove(data + at, data + at + piece, length - at - piece);
    return length - piece;
  case 1:
    if (length + piece > FUZZ_ROOM) return length;
    memmove(data + at + piece, data + at, length - at);
    return length + piece;
  case 2:
    return next(4) ? length : at;
  case 3:
  case 4:
    data[at] = telling[next(sizeof telling)];
    return length;
  case 5:
    data[at] ^= (uint8_t)(1u << next(8));
    return length;
  default:
    data[at] = (uint8_t)next(256);
    return length;
  }
}

static void run(const fuzz_target *target, long count) {
  static uint8_t seed[FUZZ_ROOM], data[FUZZ_ROOM];
  int seeds = 0;
  while (target->seed(seeds, seed) > 0) seeds++;
  const long runs = count / target->cost;
  for (int s = 0; s < seeds; s++) {
    const size_t whole = target->seed(s, seed);
    target->one(seed, whole);
    for (long i = 0; i < runs / seeds; i++) {
      size_t length = whole;
      memcpy(data, seed, whole);
      for (uint64_t changes = 1 + next(8); changes > 0; changes--) length = change(data, length);
      target->one(data, length);
    }
  }
  printf("%-8s %ld mutants of %d seeds\n", target->name, runs / seeds * seeds, seeds);
  fflush(stdout);
}

static int write_seeds(const char *folder) {
  static uint8_t data[FUZZ_ROOM];
  char path[512];
  if (mkdir(folder, 0755) < 0 && errno != EEXIST) return 1;
  for (int i = 0; i < fuzz_target_count; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, fuzz_targets[i].name);
    if (mkdir(path, 0755) < 0) return 1;
    for (int s = 0;; s++) {
      const size_t length = fuzz_targets[i].seed(s, data);
      if (length == 0) break;
      snprintf(path, sizeof path, "%s/%s/%d", folder, fuzz_targets[i].name, s);
      FILE *file = fopen(path, "wb");
      if (!file || fwrite(data, 1, length, file) != length || fclose(file)) return 1;
    }
  }
  return 0;
}

int main(int count, char **words) {
  if (count == 3 && strcmp(words[1], "seeds") == 0) return write_seeds(words[2]);
  if (count < 3) {
    fprintf(stderr, "usage: fuzz COUNT SEED [TARGET] | fuzz seeds FOLDER\n");
    return 2;
  }
  state = strtoull(words[2], NULL, 10);
  for (int i = 0; i < fuzz_target_count; i++)
    if (count == 3 || &fuzz_targets[i] == fuzz_target_find(words[3]))
      run(&fuzz_targets[i], atol(words[1]));
  return 0;
}
