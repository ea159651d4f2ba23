/* buffers: the list of all memory that a rank allocates for a plan: purpose, place, bytes, time.
 * The list is a pure function of the plan.  Ranks allocate what it says and nothing else
 * (engine/rank_memory.h), the planner adds it up (plan/memory_need.h), and the simulator refuses
 * steps that leave it. */
#ifndef DM_PLAN_BUFFERS_H
#define DM_PLAN_BUFFERS_H

#include "core/view.h"
#include "plan/buffer_sizes.h"
#include "plan/route.h"

typedef enum dm_buffer_kind {
  DM_BUFFER_SHARE_A, /* those of the factors stand in the order of dm_holder: see dm_buffer_of */
  DM_BUFFER_SHARE_B,
  DM_BUFFER_HOST_RING_A,
  DM_BUFFER_HOST_RING_B,
  DM_BUFFER_DEVICE_RING_A,
  DM_BUFFER_DEVICE_RING_B,
  DM_BUFFER_SHARED_A,
  DM_BUFFER_SHARED_B,
  DM_BUFFER_BLOCKS,     /* sums of products: blocks of C, one slot each */
  DM_BUFFER_SUM,        /* this rank's rows, summed over the layers in host memory */
  DM_BUFFER_PIECES,     /* the same rows of each layer, where GPUs exchange them: one slot each */
  DM_BUFFER_RECEIVED,   /* the same where messages bring them */
  DM_BUFFER_BLOCK_COPY, /* a GPU's block, where messages can take it from */
  DM_BUFFER_UPLOAD,     /* strips of A and B on their way from the file to the GPU */
  DM_BUFFER_LANDING,    /* strips of C on their way to the file: sums from a GPU, */
  DM_BUFFER_FINISHED,   /* elements of C, */
  DM_BUFFER_OLD,        /* and those that beta multiplies, in the widest type */
  DM_BUFFER_HOME_A,     /* of a product without files: where operands come from, */
  DM_BUFFER_HOME_B,
  DM_BUFFER_HOME_C,        /* where C returns to, */
  DM_BUFFER_ROUNDED,       /* or is rounded to its own type */
  DM_BUFFER_FINISHED_HOME, /* C and what beta multiplies, where the caller finishes C */
  DM_BUFFER_READ_A,        /* from here on not by the rank's own steps: by readers of files */
  DM_BUFFER_READ_B,
  DM_BUFFER_READ_OLD,
  DM_BUFFER_LINKS,     /* by a transport that moves GPU memory through the host */
  DM_BUFFER_CONVERTED, /* inputs of a product in the type or order that the backend needs */
  DM_BUFFER_VECTORS,
  DM_BUFFER_DEVICE_VECTORS, /* of the verification */
  DM_BUFFER_SAMPLE,         /* of B, to weigh it */
  DM_BUFFER_PASS,           /* of A and B, to find the exponents of residues */
  DM_BUFFER_PROCESS,        /* the program and its libraries before anything is asked for */
  DM_BUFFER_WORKSPACE,      /* of what multiplies on a GPU */
  DM_BUFFERS,
} dm_buffer_kind;

typedef enum dm_where {
  DM_NOWHERE,       /* the rank has no such buffer */
  DM_PAGEABLE,      /* host memory that only the processor touches */
  DM_PINNED,        /* host memory that a GPU, if there is one, copies from and to */
  DM_ON_DEVICE,     /* GPU memory */
  DM_SHARED_MEMORY, /* host memory that the ranks of a group have together */
} dm_where;

typedef enum dm_life {
  DM_LIFE_RANK,   /* from dm_rank_open to dm_rank_close */
  DM_LIFE_LOAD,   /* from the first load on */
  DM_LIFE_SUM,    /* from the first sum over layers on */
  DM_LIFE_STORE,  /* from the first store on */
  DM_LIFE_HOME,   /* as long as operands come from memory, and C goes there */
  DM_LIFE_BESIDE, /* not the rank's: others take it, give it back, and are counted */
} dm_life;

/* By what people tell buffers apart. */
typedef enum dm_memory_part {
  DM_MEMORY_A,       /* share of A */
  DM_MEMORY_B,       /* share of B */
  DM_MEMORY_RING_A,  /* slots for panels of A */
  DM_MEMORY_RING_B,  /* slots for panels of B */
  DM_MEMORY_C,       /* block of C, in the accumulator's type */
  DM_MEMORY_REDUCE,  /* partial blocks of the other layers, and their sum */
  DM_MEMORY_STAGING, /* pieces on their way from and to files and the device */
  DM_MEMORY_CONVERT, /* inputs of the product in another type or order */
  DM_MEMORY_VERIFY,  /* vectors */
  DM_MEMORY_LIBRARY, /* of a job with files: the process itself; workspace of what multiplies */
  DM_MEMORY_PARTS,
} dm_memory_part;

typedef struct dm_buffer {
  dm_where where;
  int64_t slots, slot; /* of a ring or share: bytes from one slot to the next */
  int64_t bytes;       /* INT64_MAX: no 64-bit number; then nothing can have it */
  int64_t counted;     /* of them as this rank's: less of what a group has together */
} dm_buffer;

typedef struct dm_buffers {
  dm_buffer of[DM_BUFFERS];
  int64_t stored; /* elements of C in a strip on its way to the file; a row of the block or more */
} dm_buffers;

/* All of the rank at AT, an idle one has none.  No rank has more than the one at (0, 0, 0). */
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

/* Bytes from one place to the next in the share of the rank at AT: all pieces have places of the
 * size that the widest panel takes in the first tile, which is the largest. */
int64_t dm_plan_share_slot(const dm_plan *plan, dm_matrix matrix, dm_coords at);

#endif
