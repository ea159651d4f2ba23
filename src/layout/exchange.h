/* exchange: a flow of messages. In each round every rank gives every other rank at most one, which
 * lies in the workspaces of both: two rounds are under way at a time. */
#ifndef DM_LAYOUT_EXCHANGE_H
#define DM_LAYOUT_EXCHANGE_H

#include "layout/flow.h"

/* How messages of many lines are cut, the same on all ranks. */
typedef struct dm_message_rounds {
  int64_t count;
  int64_t height;     /* lines of a message in a round; the last ones may have fewer */
  int64_t slot_bytes; /* of a message */
  int64_t bytes;      /* of the workspace */
} dm_message_rounds;

/* LINES lines of at most LINE_BYTES from each of RANKS ranks to each. PER_ROUND: approximate bytes
 * that a rank gives in a round; 0: a good number. */
dm_status dm_message_rounds_of(int64_t lines, int64_t line_bytes, int64_t per_round, int ranks,
                               dm_message_rounds *rounds);

/* What a rank gives another one in a round. */
typedef struct dm_exchange_message {
  int giver, taker;
  int64_t round;
} dm_exchange_message;

typedef struct dm_exchange_ops {
  /* 0: nothing. */
  int64_t (*bytes)(const void *context, dm_exchange_message message);
  /* Posts the copy of MESSAGE between this rank's matrix and MEMORY; *done: the last copy. */
  dm_status (*copy)(const void *context, dm_exchange_message message, void *memory, dm_event *done);
  /* Posts what takes no message; *done: the last of it. */
  dm_status (*keep)(const void *context, dm_event *done);
} dm_exchange_ops;

/* Collective, with the same outcome on all ranks: through ROUNDS->bytes of SPACE from byte AT. */
dm_status dm_exchange_run(const dm_exchange_ops *ops, const void *context, const dm_run *run,
                          dm_workspace *space, int64_t at, const dm_message_rounds *rounds);

#endif
