/* comm: the only wrapper of MPI.  Sizes are 64-bit; messages are cut into pieces of at most 1 GiB.
 */
#ifndef DM_COMM_COMM_H
#define DM_COMM_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

typedef struct dm_comm dm_comm;

/* ---- the job ---- */

/* Starts MPI (MPI_THREAD_FUNNELED) and returns the communicator of all ranks.  A process that no
 * launcher started is alone: it does without MPI, which would start a daemon for it.  DM_E_MPI: MPI
 * cannot be used, is too old (Open MPI before 4.0.2 corrupts files), or the launcher started single
 * copies. */
dm_status dm_comm_start(dm_comm **world);

/* The same for a program without threads of its own, with an MPI that knows none (simulation/). */
dm_status dm_comm_start_single(dm_comm **world);

/* Ends MPI, where it was started; every rank must come here. */
void dm_comm_stop(dm_comm *world);

/* Ends the whole job at once with exit code CODE; does not return. */
void dm_comm_abort(dm_comm *world, int code) __attribute__((noreturn));

/* What the launcher's environment says before MPI is started: the rank, or -1 where it says
 * nothing. */
int dm_comm_rank_before_start(void);

/* The number of ranks that it started; 1 where it says nothing. */
int dm_comm_size_before_start(void);

/* The rank among those of its node, of a process for which MPI will be started; -1: not known.
 * *only: it is the only rank of the job. */
int dm_comm_local_rank_before_start(bool *only);

/* Whether no launcher started this process, and MPI was not. */
bool dm_comm_is_alone(const dm_comm *world);

/* "Open MPI 4.1.4": what is loaded. */
void dm_comm_library(char *text, int64_t size);

/* ---- communicators ---- */

int dm_comm_rank(const dm_comm *comm);
int dm_comm_size(const dm_comm *comm);
const char *dm_comm_host(const dm_comm *comm); /* this node's name */

/* WAITING is called again and again while a rank waits in COMM, or in what is split off it later.
 */
void dm_comm_on_wait(dm_comm *comm, void (*waiting)(void *context), void *context);

/* Collective in COMM: it fails for all members, or for none, where one has no memory. */

/* Ranks of the same COLOR, ordered by KEY; a negative color gets *out = NULL. */
dm_status dm_comm_split(const dm_comm *comm, int color, int key, dm_comm **out);

/* Ranks that share memory: those of one node. */
dm_status dm_comm_split_node(const dm_comm *comm, dm_comm **out);

void dm_comm_free(dm_comm *comm); /* NULL is allowed; collective */

/* ---- collectives ---- */

dm_status dm_comm_barrier(const dm_comm *comm);
/* A barrier for ranks with nothing to do while others work: a waiting rank sleeps between polls. */
dm_status dm_comm_rest(const dm_comm *comm);
dm_status dm_comm_broadcast(const dm_comm *comm, void *data, int64_t bytes, int root);
dm_status dm_comm_gather(const dm_comm *comm, const void *data, int64_t bytes, void *all, int root);
dm_status dm_comm_sum_f64(const dm_comm *comm, double *values, int64_t count);
dm_status dm_comm_sum_i64(const dm_comm *comm, int64_t *values, int64_t count);
dm_status dm_comm_max_f64(const dm_comm *comm, double *values, int64_t count);
dm_status dm_comm_max_i64(const dm_comm *comm, int64_t *values, int64_t count);

/* A maximum that is under way: every rank starts it, and goes on with its work. */
enum { DM_ROUND = 2 };
typedef struct dm_round dm_round;
dm_status dm_comm_max_start(const dm_comm *comm, const int64_t values[DM_ROUND], dm_round **round);
/* *done: VALUES are those of all, and the round is freed. */
dm_status dm_comm_max_test(dm_round *round, bool *done, int64_t values[DM_ROUND]);

/* A sum that is under way, in place: VALUES are the sum's until it is done; WHOLE: they are
 * int64_t, and wrap. */
typedef struct dm_sum dm_sum;
dm_status dm_comm_sum_start(const dm_comm *comm, double *values, int64_t count, bool whole,
                            dm_sum **sum);
dm_status dm_comm_sum_test(dm_sum *sum, bool *done); /* *done: SUM is freed */

/* All ranks bring their own outcome and leave with the same: DM_OK if all have it, else the error
 * of the lowest rank that failed, marked agreed.  Takes MINE. */
dm_status dm_comm_agree(const dm_comm *comm, dm_status mine);

/* ---- messages ---- */

/* A set of messages under way. */
typedef struct dm_messages dm_messages;

dm_status dm_messages_new(dm_messages **messages);
void dm_messages_free(dm_messages *messages); /* NULL is allowed; all must be done */

dm_status dm_messages_send(dm_messages *messages, const dm_comm *comm, const void *data,
                           int64_t bytes, int peer, int tag);
dm_status dm_messages_receive(dm_messages *messages, const dm_comm *comm, void *data, int64_t bytes,
                              int peer, int tag);

/* Moves the messages on; *done when all have arrived and left. */
dm_status dm_messages_test(dm_messages *messages, bool *done);
dm_status dm_messages_wait(dm_messages *messages);

/* The same, but one after the other, and whoever waits is not heard meanwhile. */
dm_status dm_messages_rest(dm_messages *messages);

#endif
