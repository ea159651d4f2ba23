/* bound: how many elements some rank must receive, whatever the algorithm. */
#ifndef DM_PLAN_BOUND_H
#define DM_PLAN_BOUND_H

#include "plan/plan.h"

/* Elements that at least one of RANKS ranks must receive when A, B and C are spread evenly: the
 * larger of the tight memory-independent bound of Al Daas, Ballard, Grigori, Kumar, Rouse 2022
 * (arXiv 2205.13407, corollary 4) and the memory-dependent 2mnk/(P sqrt(M)) - 2M of Smith et al.
 * (arXiv 1702.02017), M = MEMORY_WORDS elements per rank (0: unknown, only the first).  0 for one
 * rank. */
double dm_bound_words(int64_t m, int64_t n, int64_t k, int64_t ranks, double memory_words);

/* Elements that must be read and written of files when all ranks together hold MEMORY_WORDS of
 * them: max(2mnk / sqrt(S) + mn, mk + kn + mn) (Hong and Kung 1981; the constant is that of Smith
 * et al.); S = 0: not limited. */
double dm_bound_file_words(int64_t m, int64_t n, int64_t k, double memory_words);

#endif
