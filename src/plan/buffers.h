/* buffers: the list of all memory that a rank allocates for a plan: purpose, place, bytes, time. It
 * is a pure function of the plan. Ranks allocate exactly this list (engine/rank_state.h), the
 * planner sums it, and the simulator rejects steps that use other memory. */
#ifndef DM_PLAN_BUFFERS_H
#define DM_PLAN_BUFFERS_H

#include "core/checked.h"
#include "core/view.h"
#include "plan/plan.h"

/* ---- the route of op(A) or op(B) on a rank, from its own pieces to the whole panels that products
 * read; only this file derives it from the plan ---- */

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
  bool fetched;      /* peers' pieces are gathered, */
  bool linked;       /* and GPUs read them directly from their peers' exposed memory */
  bool uploaded;     /* panels are copied to the GPU */
  dm_holder piece;   /* where LOAD puts this rank's piece; if not the share, the ring has a slot for
                      each panel of the layer, and the piece is in its place there */
  dm_holder exposed; /* where peers take the piece from; if not from PIECE, it is uploaded first,
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

/* ---- the list ---- */

typedef enum dm_buffer_kind {
  DM_BUFFER_SHARE_A, /* factors' buffers have the order of dm_holder; see dm_buffer_of */
  DM_BUFFER_SHARE_B,
  DM_BUFFER_HOST_RING_A,
  DM_BUFFER_HOST_RING_B,
  DM_BUFFER_DEVICE_RING_A,
  DM_BUFFER_DEVICE_RING_B,
  DM_BUFFER_SHARED_A,
  DM_BUFFER_SHARED_B,
  DM_BUFFER_BLOCKS,     /* sums of products: blocks of C, one slot each */
  DM_BUFFER_SUM,        /* sum over the layers of this rank's rows, in host memory */
  DM_BUFFER_PIECES,     /* these rows from each layer, exchanged by GPUs: one slot each */
  DM_BUFFER_RECEIVED,   /* these rows from the other layers, received as messages */
  DM_BUFFER_BLOCK_COPY, /* a GPU's block in host memory, for messages */
  DM_BUFFER_UPLOAD,     /* strips of A and B on their way from the file to the GPU */
  DM_BUFFER_DOWNLOAD,   /* strips of C on their way to the file: sums from a GPU, */
  DM_BUFFER_FINISHED,   /* elements of C, */
  DM_BUFFER_MIRRORED,   /* their mirror images, if they are stored twice, */
  DM_BUFFER_OLD,        /* and those that beta multiplies, in the widest type */
  DM_BUFFER_HOME_A,   /* operands in host memory on their way to the GPU: one slot for each place */
  DM_BUFFER_HOME_B,   /* of the share (plan/tiles.h), */
  DM_BUFFER_HOME_OLD, /* the old C beside this rank's sums, if C goes to a file, */
  DM_BUFFER_HOME_C,   /* C in host memory, */
  DM_BUFFER_ROUNDED,  /* or C rounded to its own type */
  DM_BUFFER_FINISHED_HOME, /* C and old C, if the caller finishes C */
  DM_BUFFER_DEVICE_SUMS,   /* checksums of data in GPU memory: C, pieces of shares */
  DM_BUFFER_READ_A,        /* from here on used outside the rank's steps: readers of files */
  DM_BUFFER_READ_B,
  DM_BUFFER_READ_OLD,
  DM_BUFFER_CONVERTED, /* inputs of a product in the type or order that the backend needs */
  DM_BUFFER_VECTORS,
  DM_BUFFER_DEVICE_VECTORS, /* for the verification */
  DM_BUFFER_SAMPLE,         /* sample of B for the weights of the verification */
  DM_BUFFER_PASS,           /* pieces of A and B, to find the exponents of residues */
  DM_BUFFER_PROCESS,        /* the program and its libraries at start */
  DM_BUFFER_WORKSPACE,      /* workspace of products on a GPU */
  DM_BUFFERS,
} dm_buffer_kind;

typedef enum dm_where {
  DM_NOWHERE,       /* the rank has no such buffer */
  DM_PAGEABLE,      /* host memory that no GPU copies */
  DM_PINNED,        /* host memory for copies from and to a GPU */
  DM_ON_DEVICE,     /* GPU memory */
  DM_SHARED_MEMORY, /* host memory shared by the ranks of a group */
} dm_where;

typedef enum dm_life {
  DM_LIFE_RANK,    /* from dm_rank_open to dm_rank_close */
  DM_LIFE_LOAD,    /* from the first load on */
  DM_LIFE_SUM,     /* from the first sum over layers on */
  DM_LIFE_STORE,   /* from the first store on */
  DM_LIFE_HOME,    /* while operands come from memory, and C returns there */
  DM_LIFE_COUNTED, /* allocated by others; counted here */
} dm_life;

/* Categories of buffers in reports. */
typedef enum dm_memory_part {
  DM_MEMORY_A,       /* share of A */
  DM_MEMORY_B,       /* share of B */
  DM_MEMORY_RING_A,  /* slots for panels of A */
  DM_MEMORY_RING_B,  /* slots for panels of B */
  DM_MEMORY_C,       /* block of C, in the accumulator's type */
  DM_MEMORY_REDUCE,  /* partial blocks of other layers, and their sum */
  DM_MEMORY_STAGING, /* pieces moving from and to files and the device */
  DM_MEMORY_CONVERT, /* converted or reordered inputs of products */
  DM_MEMORY_VERIFY,  /* vectors */
  DM_MEMORY_LIBRARY, /* jobs with files: the process itself; workspace of products */
  DM_MEMORY_PARTS,
} dm_memory_part;

typedef struct dm_buffer {
  dm_where where;
  int64_t slots, slot; /* number of slots; bytes from one to the next */
  int64_t bytes;       /* INT64_MAX: overflows 64 bits; never fits */
  int64_t counted;     /* bytes counted for this rank: its part of shared memory */
} dm_buffer;

typedef struct dm_buffers {
  dm_buffer of[DM_BUFFERS];
  int64_t stored; /* elements of C in a strip for the file; at least a row of the block */
} dm_buffers;

/* All buffers of the rank at AT; idle ranks have none. The rank at (0, 0, 0) has the most. */
void dm_plan_buffers(const dm_plan *plan, dm_coords at, dm_buffers *list);

typedef struct dm_buffer_traits {
  const char *name;
  dm_life life;
  dm_memory_part part;
} dm_buffer_traits;

extern const dm_buffer_traits dm_buffer_kinds[DM_BUFFERS];

static inline dm_life dm_buffer_life(dm_buffer_kind kind) {
  return dm_buffer_kinds[kind].life;
}

static inline dm_buffer_kind dm_buffer_of(dm_matrix matrix, dm_holder holder) {
  return (dm_buffer_kind)(2 * ((int)holder - (int)DM_SHARE) + (int)matrix);
}

static inline dm_space dm_where_space(dm_where where) {
  return where == DM_ON_DEVICE ? DM_DEVICE : DM_HOST;
}

/* Bytes from one place to the next in the share of the rank at AT. All places have the size of a
 * piece of the widest panel in the first tile, which is the largest. */
int64_t dm_plan_share_slot(const dm_plan *plan, dm_matrix matrix, dm_coords at);

/* ---- sizes of buffers that other modules allocate; those assert them ---- */

enum {
  DM_BUFFER_READ_BYTES = 64 << 20,    /* a reader's piece, or half of the chunks kept */
  DM_BUFFER_WIDENED_BYTES = 36 << 20, /* 16-bit and int8 inputs of the CPU in f32 */
  DM_BUFFER_SAMPLE_BYTES = 1 << 20,
  DM_BUFFER_PASS_PIECES =
      2, /* of A or B that are scanned and not kept: one while the next is read */
  DM_BUFFER_CHECK_GROUPS = 4,     /* groups of columns, if CPUs multiply, */
  DM_BUFFER_GROUP_COLS = 32,      /* each of so many columns at least */
  DM_BUFFER_CHECK_ROWS = 1 << 19, /* rows of op(B) whose sums the verification holds at a time */
  DM_BUFFER_CHECKED_ROWS =
      1 << 22, /* ... and rows of C, if it is read again; fewer of several groups */
  DM_BUFFER_SLAB_BYTES = 2 << 20, /* memory that peers' GPUs read consists of whole slabs */
  DM_BUFFER_STRIPS_UP = 32,       /* strips moving to a device */
  DM_BUFFER_STRIPS_OUT = 8,       /* strips moving to the file */
  DM_TILE_STEP = 256,             /* tiles of C in memory start at its multiples, in bytes */
};

/* Groups of N columns in the verification. */
static inline int64_t dm_check_groups(int64_t n) {
  return dm_max(1, dm_min(DM_BUFFER_CHECK_GROUPS, n / DM_BUFFER_GROUP_COLS));
}

/* Of DEPTH rows of op(B), those whose sums the verification holds at a time, if LEAST are added
 * together. */
static inline int64_t dm_check_room(int64_t depth, int64_t least) {
  return dm_min(depth, dm_max(DM_BUFFER_CHECK_ROWS, least));
}

/* Whether sums for all rows of C would take too much of the machine's memory, or more than reading
 * the rows again: then C is verified from its file, some rows at a time. */
bool dm_plan_verifies_later(const dm_problem *problem, const dm_machine *machine);

/* Memory for reading large chunks of a file. Small chunks fit into the readers' buffers. A large
 * chunk is unpacked once, from one buffer to another, and kept until all of it has been copied:
 * several panels, and adjacent chunks, use a part of each. */

enum { DM_CHUNKS_KEPT = 4 };

/* Bytes of the chunks kept, each CHUNK bytes large, for a matrix of BYTES in its file. */
static inline int64_t dm_chunks_cached(int64_t chunk, int64_t bytes) {
  if (chunk <= DM_BUFFER_READ_BYTES / 8) return 0;
  return dm_min(dm_sat_add(bytes, chunk), dm_sat_mul(DM_CHUNKS_KEPT, chunk));
}

/* The same plus the buffer of the chunk being unpacked. */
static inline int64_t dm_chunks_memory(int64_t chunk, int64_t bytes) {
  const int64_t kept = dm_chunks_cached(chunk, bytes);
  return kept > 0 ? dm_sat_add(kept, dm_sat_mul(2, chunk)) : 0;
}

/* ---- memory of the rank that needs most, summed from its buffers by purpose ---- */

/* Bytes. Sizes beyond 64 bits are INT64_MAX, which fits nowhere. */
typedef struct dm_memory_need {
  int64_t part[2][DM_MEMORY_PARTS]; /* [DM_HOST], [DM_DEVICE] */
  int64_t total[2];
} dm_memory_need;

/* The need of the rank at (0, 0, 0), whose block and layer are the largest. */
dm_memory_need dm_plan_memory(const dm_plan *plan);

dm_memory_need dm_buffers_need(const dm_buffers *list);

/* The larger of need / limit on host and device; at most 1: it fits. */
double dm_plan_pressure(const dm_plan *plan, const dm_machine *machine);

/* "share of A", ... */
const char *dm_memory_part_name(dm_memory_part part);

#endif
