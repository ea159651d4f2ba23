/* route: the path of op(A) or op(B) on a rank, from its own pieces to the whole panels that
 * products read. Only this file derives it from the plan. */
#ifndef DM_PLAN_ROUTE_H
#define DM_PLAN_ROUTE_H

#include "plan/plan.h"

/* Places that hold pieces or panels of a matrix. */
typedef enum dm_holder {
  DM_NO_HOLDER,
  DM_SHARE,        /* places for this rank's pieces (plan/tiles.h) */
  DM_HOST_RING,    /* slots for whole panels in host memory */
  DM_DEVICE_RING,  /* the same in GPU memory */
  DM_SHARED_SLOTS, /* one slot per panel of the layer, in the group's shared memory */
  DM_HOLDERS,
} dm_holder;

typedef struct dm_route {
  bool fetched;    /* peers' pieces are gathered, */
  bool linked;     /* and GPUs read them directly from their peers' exposed memory */
  bool uploaded;   /* panels are copied to the GPU */
  dm_holder piece; /* where LOAD puts this rank's piece; if not the share, the ring has a slot for
                    each panel of the layer, and the piece is in its place there */
  dm_holder given; /* where peers take the piece from; if not from PIECE, it is uploaded first,
                    alone, to its place in a slot of the ring */
  dm_holder gathered; /* where panels are assembled */
  dm_holder operand;  /* where a product reads the panel */
} dm_route;

dm_route dm_plan_route(const dm_plan *plan, dm_matrix matrix);

/* Whether every panel of a layer keeps its own place until the end. */
static inline bool dm_route_keeps_panels(const dm_route *route) {
  return route->operand == route->piece;
}

/* Whether each panel needs a copy. */
static inline bool dm_route_moves(const dm_route *route) {
  return route->uploaded || (route->fetched && route->operand != DM_SHARED_SLOTS);
}

/* The slot of panel Q of the layer; SLOT is the ring slot of its turn. */
static inline int64_t dm_route_slot(const dm_route *route, int64_t q, int64_t slot) {
  return route->piece == DM_SHARE ? slot : q;
}

#endif
