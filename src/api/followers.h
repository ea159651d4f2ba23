/* followers: the other ranks of a context that uses several GPUs of one process. Each is a thread,
 * which carries out the calls of the thread that owns the context, rank 0. */
#ifndef DM_API_FOLLOWERS_H
#define DM_API_FOLLOWERS_H

#include "core/status.h"

typedef struct dm_followers dm_followers;

/* What each follower does: RANK counts from 1. */
typedef void dm_follow(void *argument, int rank);

/* Starts threads for ranks 1 to RANKS - 1. DM_E_FIT: not enough threads. */
dm_status dm_followers_new(int ranks, dm_followers **followers);

/* Has all begin WORK; end waits until they are done. NULL, for both: there are none. */
void dm_followers_begin(dm_followers *followers, dm_follow *work, void *argument);
void dm_followers_end(dm_followers *followers);

/* Ends the threads, which must be idle; NULL is allowed. */
void dm_followers_free(dm_followers *followers);

#endif
