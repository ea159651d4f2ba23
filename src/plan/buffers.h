/* buffers: every piece of memory that a rank takes for a plan, as a list: what it is for, where it
 * lies, how many bytes, when.
 *
 * The list is a pure function of the plan.  Ranks allocate what it says and nothing else
 * (engine/rank_memory.h), the planner adds it up (plan/memory_need.h), and the simulator refuses
 * steps that leave it. */
#ifndef DM_PLAN_BUFFERS_H
#define DM_PLAN_BUFFERS_H

#include "core/view.h"
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
  /* what others than the rank's own steps take: */
  DM_BUFFER_READ_A, /* by readers of files */
  DM_BUFFER_READ_B,
  DM_BUFFER_READ_OLD,
  DM_BUFFER_HOME_A, /* of a product without files: where operands come from */
  DM_BUFFER_HOME_B, /* and C returns to, */
  DM_BUFFER_HOME_C,
  DM_BUFFER_ROUNDED,   /* or where it is rounded to its own type */
  DM_BUFFER_CONVERTED, /* inputs of a product in the type or order that the backend needs */
  DM_BUFFER_VECTORS,   /* of the verification */
  DM_BUFFER_DEVICE_VECTORS,
  DM_BUFFER_SAMPLE,    /* of B, to weigh it */
  DM_BUFFER_PROCESS,   /* the program and its libraries before anything is asked for */
  DM_BUFFER_WORKSPACE, /* of what multiplies on a GPU */
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
  DM_LIFE_BESIDE, /* not the rank's: taken, and given back, by whoever needs it */
} dm_life;

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

dm_life dm_buffer_life(dm_buffer_kind kind);
const char *dm_buffer_name(dm_buffer_kind kind);

static inline dm_buffer_kind dm_buffer_of(dm_matrix matrix, dm_holder holder) {
  return (dm_buffer_kind)(2 * ((int)holder - (int)DM_SHARE) + (int)matrix);
}

static inline dm_space dm_where_space(dm_where where) {
  return where == DM_ON_DEVICE ? DM_DEVICE : DM_HOST;
}

/* Bytes from one place to the next in the share of the rank at AT: all pieces have places of the
 * size that the widest panel takes in the first tile, which is the largest. */
int64_t dm_plan_share_slot(const dm_plan *plan, dm_matrix matrix, dm_coords at);

/* What the sizes of others' memory are, who take it: they assert that it is so. */
enum {
  DM_BUFFER_READ_BYTES = 64 << 20,    /* a reader's piece, or half of the chunks that are kept */
  DM_BUFFER_WIDENED_BYTES = 36 << 20, /* 16-bit and int8 inputs of the CPU in f32 */
  DM_BUFFER_SAMPLE_BYTES = 1 << 20,
  DM_BUFFER_SLAB_BYTES = 2 << 20, /* memory that peers' GPUs read fills whole ones */
  DM_BUFFER_STRIPS_UP = 16,       /* on the way to a device */
  DM_BUFFER_STRIPS_OUT = 8,       /* on the way to the file */
};

/* Sizes of a rank that more than one part of the list needs. */
typedef struct dm_rank_extent {
  const dm_plan *plan;
  dm_coords at;
  int64_t panels;      /* of the layer */
  int64_t rows, cols;  /* of the block, in the first tile, */
  int64_t wide, added; /* columns with all accumulators, and as layers add them up */
  int64_t own_rows;    /* and of those that this rank sums and stores */
  int64_t a_rows;      /* of the share of A */
  int64_t b_rows;      /* of this rank's piece of the widest panel of B, */
  int64_t width;       /* which is so wide */
  int64_t work, sum;   /* bytes of an element */
} dm_rank_extent;

void dm_buffers_beside(const dm_rank_extent *e, dm_buffers *list); /* buffers_beside.c */

#endif
