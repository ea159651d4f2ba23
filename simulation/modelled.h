/* modelled: a backend whose products take modelled time, and whose buffers do not exist.
 *
 * All ranks share one range of addresses, which holds no data.  A product occupies the rank's
 * stream: it starts once it is posted and the previous one is complete, and testing it waits for
 * its end, as on the CPU.  Messages progress meanwhile. */
#ifndef SIMULATION_MODELLED_H
#define SIMULATION_MODELLED_H

#include "backend/backend.h"

typedef struct dm_model {
  double flops;         /* operations per second in a large product */
  double memory;        /* bytes per second of GPU memory */
  double latency;       /* seconds per product */
  double slow_down;     /* 0.05: products of this rank take 5 % longer */
  int64_t device_bytes; /* memory of the GPU */
} dm_model;

dm_status dm_modelled_open(const dm_model *model, dm_backend **backend);

/* Makes tests of a product sleep by calling WAIT until TIME; WAIT may return earlier. */
void dm_modelled_on_wait(dm_backend *backend, void (*wait)(void *context, double time),
                         void *context);

/* Seconds spent in products of this rank so far. */
double dm_modelled_busy(const dm_backend *backend);

/* Seconds of a product with k = DEPTH; ACCUMULATE: including access to the old C. */
double dm_model_seconds(const dm_model *model, dm_dtype work, int64_t rows, int64_t cols,
                        int64_t depth, bool accumulate);

#endif
