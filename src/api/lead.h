/* lead: calls of a context that has several GPUs in one process, by rank 0 and its followers. */
#ifndef DM_API_LEAD_H
#define DM_API_LEAD_H

#include "api/library.h"

/* A collective call. WORK is what each follower does, with its own context. */
typedef struct dm_led_call {
  damier_context *leader;
  void (*work)(damier_context *context, const struct dm_led_call *call);
  const dm_posed *stated;            /* a product */
  const damier_matrix *const *files; /* A, B and C to verify */
  const char *location;              /* to describe */
  dm_comm **worlds;                  /* to start in, by rank */
  damier_context **led;              /* set by dm_lead_begin */
} dm_led_call;

/* Between these two rank 0 does the same, which ends with STATUS, returned. Without followers they
 * do nothing. */
void dm_lead_begin(dm_led_call *call);
dm_status dm_lead_end(const dm_led_call *call, dm_status status);

/* What RANK has of M: its part, or, without parts, all of it on rank 0. */
damier_matrix dm_led_part(const damier_matrix *m, int rank);

/* Frees STATUS of a follower's work. An error that only this follower knows ends the call of
 * all. */
void dm_led_done(damier_context *context, dm_status status);

#endif
