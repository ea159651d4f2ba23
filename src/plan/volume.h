/* volume: what a plan moves between ranks, counted from the partition itself, and the pieces in
 * which it reads A and B from their files. */
#ifndef DM_PLAN_VOLUME_H
#define DM_PLAN_VOLUME_H

#include "plan/plan.h"

typedef struct dm_volume {
  double most_words;    /* elements received by the rank that receives most */
  double total_bytes;   /* received by all ranks */
  double between_nodes; /* bytes of it from another node */
} dm_volume;

/* Takes O(ranks * tiles) time. Exact for few tiles; with many, each counts as the first. Pieces go
 * from rank to rank: one needed by several ranks of a node is sent to it several times. Nodes have
 * RANKS_PER_NODE consecutive ranks. */
dm_volume dm_plan_volume(const dm_plan *plan, int ranks_per_node);

/* ---- lower bounds, for any algorithm, of the elements that a rank receives ---- */

/* Elements that at least one of RANKS ranks must receive if A, B and C are distributed evenly: the
 * larger of the tight memory-independent bound of Al Daas, Ballard, Grigori, Kumar, Rouse 2022
 * (arXiv 2205.13407, corollary 4) and the memory-dependent 2mnk/(P sqrt(M)) - 2M of Smith et al.
 * (arXiv 1702.02017), M = MEMORY_WORDS elements per rank (0: unknown, only the first). 0 for one
 * rank. */
double dm_bound_words(int64_t m, int64_t n, int64_t k, int64_t ranks, double memory_words);

/* Elements that must be read from and written to files if all ranks together hold MEMORY_WORDS:
 * max(2mnk / sqrt(S) + mn, mk + kn + mn) (Hong and Kung 1981, with the constant of Smith et al.); S
 * = 0: unlimited. */
double dm_bound_file_words(int64_t m, int64_t n, int64_t k, double memory_words);

/* ---- runs: contiguous pieces of A and B that a rank reads, and the cost of short ones ----
 *
 * A matrix is stored row by row, or in chunks. The columns that a rank needs are one run in each
 * row; if it needs all columns, consecutive rows form one run. */

enum { DM_RUN_LEAST = 1 << 15, DM_RUN_MOST = 1 << 17 }; /* bytes */

/* Panels are read together until their run in the file has this many bytes: longer runs are faster,
 * but more must be read before the first product (docs/results/read_strips.txt). */
int64_t dm_plan_run_wanted(const dm_plan *plan);

/* Bytes of a run of MATRIX in its file, for the rank with the largest share. */
double dm_plan_run(const dm_plan *plan, dm_matrix matrix);

/* Fraction of a layer of MATRIX, in (0, 1], that is read together with its first panel. */
double dm_plan_together(const dm_plan *plan, dm_matrix matrix);

/* How often all of MATRIX is read before the first product to find the exponents of residues if the
 * plan streams. Once if pieces hold whole rows of op(A) or columns of op(B), whose exponents need
 * two scans of each; else twice. 0: not at all. */
int dm_plan_readings_ahead(const dm_plan *plan, dm_matrix matrix);

/* Bytes of such a piece in the work type; larger matrices have larger pieces. */
int64_t dm_plan_pass_bytes(const dm_plan *plan, dm_matrix matrix);

/* Elements read ahead by all ranks together. */
double dm_plan_words_ahead(const dm_plan *plan, dm_matrix matrix);

/* The time for reading in runs of BYTES relative to reading in one piece: 1 from 128 KiB, below 7/8
 * + 16 KiB / BYTES, between the measurements from the page cache and from a disk
 * (docs/results/read_strips.txt). */
double dm_run_factor(double bytes);

/* A lower bound for any plan with grid pm x pn: bytes of A and B that a rank reads, each times its
 * factor. */
double dm_run_floor(const dm_problem *problem, int pm, int pn);

/* Short runs cost what they cost on a local disk. Their cost on a file system that nodes share is
 * unknown, and must not leave most nodes idle. */
static inline bool dm_counts_runs(const dm_machine *machine) {
  return machine->nodes == 1;
}

#endif
