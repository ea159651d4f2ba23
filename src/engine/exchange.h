/* exchange: ranks send each other test patterns over a transport, as panels travel.
 * The self-test and the measurements of transports are built on it. */
#ifndef DM_ENGINE_EXCHANGE_H
#define DM_ENGINE_EXCHANGE_H

#include "backend/backend.h"
#include "run/run.h"
#include "transport/transport.h"

enum { DM_EXCHANGE_RANKS = 8, DM_EXCHANGE_SLOTS = 2 };

typedef struct dm_exchange {
  /* stated before it is opened */
  dm_backend *backend;
  dm_transport *transport;
  dm_watch *watch;
  dm_comm *group; /* of at most DM_EXCHANGE_RANKS; becomes the exchange's own */
  int number;     /* of the share */
  int slots;      /* with a place for a piece of each rank; gathers take them in turn */
  int64_t piece;  /* room for one */
  bool in_place;  /* what this rank gives lies in its slots, as it must with shared slots */

  bool shared; /* the slots are memory that the group sees */
  dm_space space;
  char *share, *slot;   /* what this rank gives, and what it gets */
  char *sent, *arrived; /* in host memory, of one piece each */
  /* Of each rank's piece: its place in the slots, its length, and where it begins in that rank's
   * share, which is the same as its place where it lies in place. */
  int64_t offset[DM_EXCHANGE_SLOTS][DM_EXCHANGE_RANKS], bytes[DM_EXCHANGE_RANKS],
      source[DM_EXCHANGE_RANKS];
} dm_exchange;

/* Collective: GROUP of neighbours: of one node, or BETWEEN nodes of one rank each, in the same
 * place.
 */
dm_status dm_exchange_neighbours(const dm_run *run, bool between, dm_comm **group);

/* Collective in ALL, which leaves with the same outcome: takes memory, and shows it to the group.
 * Pieces are laid out one behind the other, and empty. */
dm_status dm_exchange_open(dm_exchange *exchange, const dm_comm *all);
void dm_exchange_close(dm_exchange *exchange); /* the transport is closed before */

/* Fills what this rank sends with its test pattern of STEP, which differs everywhere from those of
 * other ranks and steps, and clears what it has received. */
dm_status dm_exchange_fill(const dm_exchange *exchange, int step);

/* Starts gather I; the ticket is the transport's. */
dm_status dm_exchange_post(const dm_exchange *exchange, int i, int *ticket);

/* Gathers COUNT times, at most AT_ONCE, no more than DM_GATHERS, under way.  DM_E_DEVICE where
 * nothing arrives for half a minute. */
dm_status dm_exchange_gather(const dm_exchange *exchange, int count, int at_once);

/* With shared slots: copies COUNT pieces of the others, in turn, which is what a product does. */
void dm_exchange_copy(const dm_exchange *exchange, int count);

/* DM_E_DEVICE where a byte differs from its rank's test pattern of STEP. */
dm_status dm_exchange_compare(const dm_exchange *exchange, int step);

#endif
