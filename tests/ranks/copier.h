/* copier: a mover of host memory whose copies complete late. */
#ifndef DM_TESTS_COPIER_H
#define DM_TESTS_COPIER_H

#include <stdlib.h>
#include <string.h>

#include "transport/mover.h"

enum { COPIER_ROOM = 64, COPIER_WAITS = 3 };

/* Copies that complete after a few polls. */
typedef struct copier {
  struct {
    dm_view dst, src;
    int waits;
  } copy[COPIER_ROOM];
  uint64_t posted;
} copier;

static inline dm_status copier_take(void *context, dm_space space, int64_t bytes, void **memory) {
  (void)context;
  (void)space;
  *memory = malloc((size_t)bytes);
  return *memory ? DM_OK : dm_fail(DM_E_FIT, "no memory");
}

static inline void copier_give(void *context, dm_space space, void *memory) {
  (void)context;
  (void)space;
  free(memory);
}

static inline dm_status copier_copy(void *context, dm_view dst, dm_view src, uint64_t *event) {
  copier *c = context;
  *event = c->posted++;
  c->copy[*event % COPIER_ROOM].dst = dst;
  c->copy[*event % COPIER_ROOM].src = src;
  c->copy[*event % COPIER_ROOM].waits = COPIER_WAITS + (int)(*event % 5);
  return DM_OK;
}

static inline dm_status copier_ask(void *context, uint64_t event, bool *done) {
  copier *c = context;
  *done = c->copy[event % COPIER_ROOM].waits-- == 0;
  if (*done)
    memcpy(c->copy[event % COPIER_ROOM].dst.base, c->copy[event % COPIER_ROOM].src.base,
           (size_t)c->copy[event % COPIER_ROOM].src.cols);
  return DM_OK;
}

static inline dm_mover copier_mover(copier *copies) {
  return (dm_mover){.context = copies,
                    .alloc = copier_take,
                    .release = copier_give,
                    .copy = copier_copy,
                    .test = copier_ask};
}

#endif
