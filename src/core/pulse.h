/* pulse: how a long piece of work tells those above that it moves, and hears whether to go on. */
#ifndef DM_CORE_PULSE_H
#define DM_CORE_PULSE_H

#include <stddef.h>

#include "core/status.h"

typedef struct dm_pulse {
  dm_status (*beat)(void *context); /* anything but DM_OK ends the work with it */
  void *context;
} dm_pulse;

/* PULSE may be NULL: nobody wants to know. */
static inline dm_status dm_pulse_beat(const dm_pulse *pulse) {
  return pulse && pulse->beat ? pulse->beat(pulse->context) : DM_OK;
}

#endif
