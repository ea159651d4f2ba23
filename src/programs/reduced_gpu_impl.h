/* reduced_gpu_impl: shared by reduced_gpu.c, which multiplies tiles, and reduced_sift.c, which
 * passes them through a sieve. */
#ifndef DM_PROGRAMS_REDUCED_GPU_IMPL_H
#define DM_PROGRAMS_REDUCED_GPU_IMPL_H

#include <pthread.h>

#include "core/sieve.h"
#include "product/in_place.h"
#include "programs/reduced_gpu.h"

/* What a thread merges. */
typedef struct gpu_merge {
  dm_reducer *reducer;
  dm_candidate *list, *scratch;
  int64_t count, row, col;
  double most;   /* magnitude of an element; others are rounded beyond it */
  double last;   /* that, rounded as elements are */
  bool along[2]; /* the rows, and the columns, of the list's elements are lines */
  int threads;
  bool started;
  pthread_t thread;
  dm_status status;
} gpu_merge;

struct dm_reduced_gpu {
  dm_in_place in_place;        /* with an open backend */
  dm_backend *backend;         /* that one */
  dm_multiply multiply;        /* as a tile's, but for the parts of A and B */
  dm_memory_matrix loaded[2];  /* A and B, in GPU memory; */
  void *memory[2];             /* NULL: they are the caller's, or B is A */
  dm_centered made;            /* or copies of them that are centered */
  dm_centered_room rooms[2];   /* of these */
  dm_dataset sets[2];          /* what is multiplied; their memory is that of the GPU */
  void *tile;                  /* of C */
  int64_t line;                /* elements from row to row */
  double most;                 /* of correlations that rounding took beyond it; else INFINITY */
  dm_candidate *list;          /* elements that passed, in host memory, */
  dm_candidate *scratch;       /* and the same by lines */
  int64_t room;                /* of LIST */
  float *raised[2], *limit[2]; /* limits of rows and columns: of this tile alone, and to use */
  gpu_merge merge;
  dm_reduced_gpu_times times;
};

/* Takes memory for the elements that pass the sieve, in tiles of R->step lines. */
dm_status dm_reduced_sift_open(reduced *r);

#endif
