/* backend_table: the table of functions that a backend fills. backend.h documents the functions, at
 * their callers.
 *
 * A backend does what it does better than its BASE, another backend, and inherits the rest: where
 * an entry is NULL, the base's serves, with the base's own state. Entries that multiply belong
 * together: who has a gemm inherits none of them, so nothing multiplies behind its back; those that
 * it lacks are done by its gemm, or are refused. */
#ifndef DM_BACKEND_BACKEND_TABLE_H
#define DM_BACKEND_BACKEND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/centering.h"
#include "core/compute.h"
#include "core/element.h"
#include "core/element_sum.h"
#include "core/pairs.h"
#include "core/sieve.h"
#include "core/status.h"
#include "core/view.h"

typedef struct dm_backend dm_backend;

/* Handle of posted work; 0: already done. */
typedef uint64_t dm_event;

enum { DM_CPU_SCRATCH = 36 << 20 }; /* bytes of the cpu backend for types without a CBLAS product */

typedef struct dm_backend_config {
  int local_rank, local_ranks;   /* on this node */
  int threads;                   /* threads of the CPU product; 0: all CPUs of this process */
  const dm_compute *compute;     /* NULL: the plain row of each type */
  const dm_compute_calls *calls; /* for a row with a FINISH; must outlive the backend */
  int64_t tile;                  /* cut products at its multiples (see dm_plan.border); 0: do not */
  const char *kernel;            /* a name of dm_backend_registry, or "auto" */
  bool whole;                    /* only whole products will be computed */
  bool few;    /* the products need less time than the threads of a BLAS take to start */
  bool caches; /* GPU memory that is released serves later allocations, a sixteenth of it at most */
} dm_backend_config;

/* How whole products are multiplied; see dm_backend_config. */
typedef struct dm_backend_mode {
  const dm_compute *compute;
  const char *kernel;
  int64_t tile;
  int64_t depth; /* k is cut at multiples of it, and the parts' sums are added; 0: it is not */
} dm_backend_mode;

typedef struct dm_device {
  char name[64];                     /* "NVIDIA H200", or the CPU's model */
  char id[48];                       /* UUID of a GPU; empty for a CPU */
  char near[128];                    /* CPUs next to a GPU, as "0-15,32-47"; empty: not known */
  int index;                         /* index of the GPU among those visible to this rank */
  int visible;                       /* number of visible GPUs */
  int sharing;                       /* the node's ranks on this device, at least 1 */
  int threads;                       /* threads of the CPU product */
  bool own_kernels;                  /* it has those of dm_compute.own_kernels */
  int64_t memory_total, memory_free; /* bytes of the device */
  char library[96];                  /* "OpenBLAS 0.3.21", "cuBLAS 13.1" */
  char advice[200];                  /* how to make it faster; empty: no advice */
} dm_device;

/* Kind of memory. */
typedef struct dm_memory_kind {
  bool host, gpu; /* accessible to the host, to GPUs; both: managed memory */
  int index;      /* its GPU, as in dm_device; -1: none or any */
  bool foreign;   /* of a GPU that is not the backend's */
  bool pinned;    /* on the host: GPUs copy it by themselves */
} dm_memory_kind;

/* C = alpha op(A) op(B) + beta C on the caller's matrices, where they are. A and B are op's views
 * (transposed by their strides); of each matrix rows or columns are contiguous. With several
 * ENTRIES, C, A and B each hold so many matrices of equal shape, one below the other.
 *
 * SYMMETRIC: op(B) is op(A) transposed, or conjugated too, and alpha and beta suit; then half of C
 * is multiplied and the other half, of which the old C is not read, becomes its mirror image. */
typedef struct dm_whole_product {
  dm_view c, a, b;
  int64_t entries; /* 0: one */
  int64_t piece;   /* on GPUs, of k: longer sums go in pieces (dm_compute.piece); 0: any */
  bool conjugate_a, conjugate_b, symmetric;
  double alpha[2], beta[2];
  dm_exponents exponents; /* if the mode has moduli: of the rows and columns of C, ... */
  bool row_parts;         /* ... two for each complex column, or for each row */
} dm_whole_product;

/* What is done before and after the product of each entry, on one of the backend's threads, of
 * which THREAD is the number, below DM_ENTRY_THREADS. Several entries may be under way at once. */
enum { DM_ENTRY_THREADS = 256 };
typedef dm_status dm_entry_step(void *context, int thread, int64_t entry,
                                const dm_whole_product *one);
typedef struct dm_entry_steps {
  dm_entry_step *before, *after;
  void *context;
} dm_entry_steps;

typedef struct dm_verified_product dm_verified_product; /* verify_sums.h */
typedef struct dm_verified_ranks dm_verified_ranks;
typedef struct dm_verified_found dm_verified_found;

typedef struct dm_backend_ops {
  const char *name;
  const char *about;     /* one line */
  const char *not_built; /* NULL, or why this program has only its name */
  bool device_memory;    /* DM_DEVICE differs from DM_HOST */
  bool slow_start;       /* its first use in a process takes long (dm_machine.gpu_start) */
  /* NULL: it has all that is not optional. Both have the same memory: device_memory is equal. */
  const struct dm_backend_ops *base;
  /* Without them, with a base: no state but dm_backend. Close frees BACKEND, not the base. */
  dm_status (*open)(dm_backend **backend, const dm_backend_config *config);
  void (*close)(dm_backend *backend);
  void (*leave)(dm_backend *backend); /* (optional) */
  dm_status (*device)(dm_backend *backend, dm_device *device);
  dm_status (*alloc)(dm_backend *backend, dm_space space, int64_t bytes, void **memory);
  void (*release)(dm_backend *backend, dm_space space, void *memory);
  dm_status (*copy)(dm_backend *backend, dm_view dst, dm_view src, dm_event *done);
  /* (optional) Many pieces inside device memory at once; NULL: one after the other. */
  dm_status (*copy_runs)(dm_backend *backend, dm_view dst, dm_view src, const dm_copy_runs *of,
                         dm_event *done);
  /* (optional) With device memory. */
  dm_status (*transpose)(dm_backend *backend, dm_view to, dm_view from, bool conjugate,
                         bool in_order, dm_event *done);
  /* (optional) For the caller's memory; NULL: all is host memory. */
  dm_status (*memory_kind)(dm_backend *backend, const void *memory, dm_memory_kind *kind);
  dm_status (*await)(dm_backend *backend, void *stream);
  /* ---- entries that multiply: the base's only without a gemm of one's own ---- */
  dm_status (*gemm)(dm_backend *backend, dm_view c, dm_view a, dm_view b, bool accumulate,
                    dm_event *done);
  /* (optional) NULL: as any product. */
  dm_status (*syrk)(dm_backend *backend, dm_view c, dm_view a, bool accumulate, dm_event *done);
  /* (optional) NULL: false. */
  bool (*halves)(dm_backend *backend, dm_dtype dtype, int64_t size);
  /* (optional) For the row and its calls; C: the first accumulators. */
  dm_status (*gemm_parts)(dm_backend *backend, dm_view c, int64_t plane, dm_view a, dm_view b,
                          bool accumulate, dm_exponents exponents, dm_event *done);
  dm_status (*finish)(dm_backend *backend, dm_view sums, dm_view c, int64_t plane,
                      dm_exponents exponents, dm_event *done);
  /* (optional) For rows whose FINISH follows the sum over the layers; NULL: accumulators are
   * added. */
  dm_status (*join)(dm_backend *backend, dm_view c, dm_view more, int64_t plane);
  /* (optional) If the row splits operands: rows and columns of parts of k multiplied natively so
   * far. */
  dm_status (*native_lines)(dm_backend *backend, int64_t *lines);
  /* (optional) As the config, for a backend that is open and has no pending work. */
  dm_status (*set_mode)(dm_backend *backend, const dm_backend_mode *mode);
  /* (optional) Whole products of the caller's matrices, in modes and by kernels that libraries
   * have; CAN_MULTIPLY: whether MULTIPLY takes this one. */
  bool (*can_multiply)(const dm_backend *backend, const dm_whole_product *product);
  /* (optional) Whether MULTIPLY takes this one in the mode that is set. */
  bool (*multiplies_in_mode)(const dm_backend *backend, const dm_whole_product *product);
  /* (optional) Whether its panels' products are faster than MULTIPLY of this one. */
  bool (*prefers_panels)(const dm_backend *backend, const dm_whole_product *product);
  dm_status (*multiply)(dm_backend *backend, const dm_whole_product *product, void *stream,
                        dm_event *done);
  /* (optional) The same for several entries in host memory, with STEPS around each; synchronous. */
  dm_status (*multiply_entries)(dm_backend *backend, const dm_whole_product *product,
                                const dm_entry_steps *steps);
  /* (optional) The same with the verification, on a GPU. */
  dm_status (*multiply_verified)(dm_backend *backend, const dm_verified_product *product,
                                 dm_verified_found *found);
  /* (optional) One plain library call on whole matrices, C = A B: the baseline of bench. C has the
   * accumulator's type, or that of A and B. */
  dm_status (*library_gemm)(dm_backend *backend, dm_view c, dm_view a, dm_view b, double *seconds);
  const char *const *(*kernel_names)(void); /* (optional) names for --kernel, NULL at the end */
  /* (optional) Whether KERNEL multiplies WORK by COMPUTE; if not, the reason in *why (static text).
   * NULL: "auto" multiplies every type by its plain row. */
  bool (*kernel_multiplies)(const char *kernel, dm_dtype work, const dm_compute *compute,
                            const char **why);
  /* (optional) Number of whole panels of A and B that KERNEL copies to its own device memory. */
  void (*kernel_copies)(const char *kernel, dm_dtype work, const dm_compute *compute, int *of_a,
                        int *of_b);
  /* ---- the rest ---- */
  dm_status (*mirror)(dm_backend *backend, dm_view square, int64_t first, bool conjugate,
                      dm_event *done);
  /* (optional) For rows with moduli. */
  dm_status (*extremes)(dm_backend *backend, dm_view matrix, bool by_row, double *extremes);
  dm_status (*line_sums)(dm_backend *backend, dm_view matrix, bool by_row, const double *extremes,
                         int64_t *sums);
  /* With a base: an event of its own has a number that no event of the base has. */
  dm_status (*test)(dm_backend *backend, dm_event event, bool *done);
  dm_status (*wait)(dm_backend *backend, dm_event event);
  dm_status (*probe)(dm_backend *backend, dm_view matrix, const void *x, void *y, double *squares);
  dm_status (*scan)(dm_backend *backend, dm_view matrix, double *col_squares);
  /* (optional) With device memory. */
  dm_status (*checksum)(dm_backend *backend, dm_view matrix, dm_element_place place, bool subtract,
                        uint64_t *sum);
  dm_status (*settle)(dm_backend *backend);
  dm_status (*expect_sums)(dm_backend *backend, dm_dtype operands, dm_dtype c);
  dm_status (*fill)(dm_backend *backend, dm_view view, const dm_generator *generator, int64_t row,
                    int64_t col);
  dm_status (*add)(dm_backend *backend, dm_view z, dm_view x, dm_view y, double alpha, double beta);
  dm_status (*dot)(dm_backend *backend, dm_view x, dm_view y, double *sum);
  /* (optional) With device memory. */
  dm_status (*epilogue)(dm_backend *backend, dm_view c, dm_view sums, dm_view old,
                        const double alpha[2], const double beta[2], dm_event *done);
  /* (optional) With device memory. */
  dm_status (*moments)(dm_backend *backend, dm_view matrix, const dm_moments_how *how,
                       double *numbers, int64_t *first);
  dm_status (*center)(dm_backend *backend, dm_view to, dm_view from, const dm_gaps *gaps,
                      const dm_centering *centering);
  dm_status (*pairs)(dm_backend *backend, dm_view c, const dm_pairs *of, const dm_pair_form *form,
                     bool *doubtful);
  dm_status (*correlate)(dm_backend *backend, dm_view c, int64_t row, int64_t col, double factor,
                         bool diagonal);
  dm_status (*sift)(dm_backend *backend, dm_view c, const dm_sieve *sieve, dm_candidate *list,
                    int64_t room, int64_t *count, int64_t *nans);
  dm_status (*raise)(dm_backend *backend, dm_view c, dm_score score, dm_left_out left_out,
                     bool by_row, int64_t best, float *limits);
} dm_backend_ops;

/* Memory of the backend's that grows. */
typedef struct dm_tile_room {
  void *memory;
  int64_t bytes;
} dm_tile_room;

/* How whole products are done that no library does (backend_whole.c). */
typedef struct dm_tiles {
  bool used, named; /* NAMED: by a kernel that was named */
  dm_compute mode;
  int64_t depth;                     /* as in dm_backend_mode */
  dm_tile_room sums;                 /* and accumulators, of a tile */
  dm_tile_room operands[2], between; /* parts of A and B by rows; what is turned twice */
  dm_tile_room widened[2];           /* parts of A and B in the mode's type */
  dm_event last;                     /* the last step that was posted */
} dm_tiles;

struct dm_backend {
  const dm_backend_ops *ops;
  dm_tiles tiles;   /* initially zero */
  dm_backend *base; /* open as long as this one; NULL: none. Set after OPEN */
};

#endif
