/* modelled: a backend whose products take the time that a model says, and whose buffers are absent.
 *
 * Addresses stand in one range that all ranks have in common; nothing of worth is ever there.  A
 * product occupies the rank's stream: it begins when it is posted and the one before it is done,
 * and asking after it waits for its end, as on the CPU.  Messages go on meanwhile. */
#ifndef SIMULATION_MODELLED_H
#define SIMULATION_MODELLED_H

#include "backend/backend.h"

typedef struct dm_model {
  double flops;         /* of a large product, per second */
  double memory;        /* bytes per second, of the GPU */
  double latency;       /* seconds, of each product */
  double slow_down;     /* of this rank: 0.05 makes products take 5 % longer */
  int64_t device_bytes; /* of the GPU */
} dm_model;

dm_status dm_modelled_open(const dm_model *model, dm_backend **backend);

/* Who asks after a product then sleeps by WAIT until TIME, which may return before. */
void dm_modelled_on_wait(dm_backend *backend, void (*wait)(void *context, double time),
                         void *context);

/* Seconds that the products of this rank took so far. */
double dm_modelled_busy(const dm_backend *backend);

/* Seconds of one product of DEPTH columns and rows, without and with reading the old C. */
double dm_model_seconds(const dm_model *model, dm_dtype work, int64_t rows, int64_t cols,
                        int64_t depth, bool accumulate);

#endif
