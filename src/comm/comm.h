/* comm: the only wrapper of MPI, which a build may lack. Sizes are 64-bit; messages are split into
 * pieces of at most 1 GiB. */
#ifndef DM_COMM_COMM_H
#define DM_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

typedef struct dm_comm dm_comm;

/* ---- the job ---- */

/* Starts MPI (MPI_THREAD_FUNNELED) and returns the communicator of all ranks. A process without a
 * launcher runs without MPI, which would start a daemon for it. DM_E_MPI: MPI cannot be used, is
 * too old (Open MPI before 4.0.2 corrupts files), or the launcher's ranks do not see each other. */
dm_status dm_comm_start(dm_comm **world);

/* The same for a program without threads and an MPI without thread support (simulation/). */
dm_status dm_comm_start_single(dm_comm **world);

/* A single rank; nothing is started. */
dm_status dm_comm_take_alone(dm_comm **world);

/* For the library: the communicator of a Fortran handle, duplicated (comm/comm_mpi.h); -1: a single
 * rank. DM_E_USAGE: it is none, or this build has no MPI. */
dm_status dm_comm_adopt_fortran(int handle, dm_comm **world);

/* Ends MPI if it was started; collective. */
void dm_comm_stop(dm_comm *world);

/* Ends the whole job at once with exit code CODE; does not return. */
void dm_comm_abort(dm_comm *world, int code) __attribute__((noreturn));

/* The rank that the launcher's environment states before MPI is started, or -1. 0 if it states
 * fewer ranks: another launcher left the variable behind. */
int dm_comm_rank_before_start(void);

/* The number of ranks it states; 1 if it states none. */
int dm_comm_size_before_start(void);

/* No launcher started this process, whatever the environment says: children that it forks, of which
 * MPI knows nothing, do not start MPI. */
void dm_comm_forget_launcher(void);

/* The rank within its node, of a process for which MPI will be started; -1: unknown. *only: it is
 * the only rank of the job. */
int dm_comm_local_rank_before_start(bool *only);

/* Whether the MPI library is known not to use GPUs itself. */
bool dm_comm_ignores_gpus(void);

/* DM_E_USAGE: MPI has ended, or this thread may not call it. */
dm_status dm_comm_usable(const dm_comm *comm);

/* Whether no launcher started this process and MPI is not used. */
bool dm_comm_is_alone(const dm_comm *world);

/* Whether one process has all ranks: a single one, or a team's (team.h). */
bool dm_comm_is_one_process(const dm_comm *world);

/* "Open MPI 4.1.4", or "Open MPI 5.0.7, CUDA-aware": the library loaded; "none": this build has no
 * MPI. */
void dm_comm_library(char *text, int64_t size);

/* ---- communicators ---- */

int dm_comm_rank(const dm_comm *comm);
int dm_comm_size(const dm_comm *comm);
const char *dm_comm_host(const dm_comm *comm); /* this node's name */

/* WAITING is called repeatedly while a rank waits in COMM or in communicators split from it
 * later. */
void dm_comm_on_wait(dm_comm *comm, void (*waiting)(void *context), void *context);

/* The following are collective in COMM; if a member has no memory they fail on all. */

/* Ranks of the same COLOR, ordered by KEY; a negative color gets *out = NULL. */
dm_status dm_comm_split(const dm_comm *comm, int color, int key, dm_comm **out);

/* The ranks of this node, which can share memory. */
dm_status dm_comm_split_node(const dm_comm *comm, dm_comm **out);

void dm_comm_free(dm_comm *comm); /* NULL is allowed; collective */

/* ---- collectives ---- */

dm_status dm_comm_barrier(const dm_comm *comm);
/* A barrier for ranks that are idle while others work: a waiting rank sleeps between polls. */
dm_status dm_comm_idle_barrier(const dm_comm *comm);
dm_status dm_comm_broadcast(const dm_comm *comm, void *data, int64_t bytes, int root);
dm_status dm_comm_gather(const dm_comm *comm, const void *data, int64_t bytes, void *all, int root);
/* DATA of all ranks in their order, on every rank. */
dm_status dm_comm_allgather(const dm_comm *comm, const void *data, int64_t bytes, void *all);
dm_status dm_comm_sum_f64(const dm_comm *comm, double *values, int64_t count);
dm_status dm_comm_sum_i64(const dm_comm *comm, int64_t *values, int64_t count);
dm_status dm_comm_max_f64(const dm_comm *comm, double *values, int64_t count);
dm_status dm_comm_max_i64(const dm_comm *comm, int64_t *values, int64_t count);

/* A non-blocking maximum: every rank starts it and continues its work. */
enum { DM_MAXIMA = 2 };
typedef struct dm_sum dm_comm_pending;
dm_status dm_comm_max_start(const dm_comm *comm, const int64_t values[DM_MAXIMA],
                            dm_comm_pending **round);
/* *done: VALUES has the maxima, and the round is freed. */
dm_status dm_comm_max_test(dm_comm_pending *round, bool *done, int64_t values[DM_MAXIMA]);

/* A non-blocking sum, in place: VALUES must not be used until it is done. INTEGERS: values
 * are int64_t, and wrap. */
typedef struct dm_sum dm_sum;
dm_status dm_comm_sum_start(const dm_comm *comm, double *values, int64_t count, bool integers,
                            dm_sum **sum);
dm_status dm_comm_sum_test(dm_sum *sum, bool *done); /* *done: SUM is freed */

/* Every rank passes its own outcome; all get the same one: DM_OK if all succeeded, else the error
 * of the lowest rank that failed, marked agreed. Frees MINE. */
dm_status dm_comm_agree(const dm_comm *comm, dm_status mine);

/* Sums COUNT numbers, f64 or (INTEGERS) int64_t that wrap, unless a rank passes an error: then all
 * get the error, as from dm_comm_agree. VALUES have room for one number more; a rank with an error
 * may pass NULL. */
dm_status dm_comm_agree_sum(const dm_comm *comm, dm_status mine, void *values, int64_t count,
                            bool integers);

/* ---- messages ---- */

/* A set of messages under way. */
typedef struct dm_messages dm_messages;

dm_status dm_messages_new(dm_messages **messages);
void dm_messages_free(dm_messages *messages); /* NULL is allowed; all must be done */

dm_status dm_messages_send(dm_messages *messages, const dm_comm *comm, const void *data,
                           int64_t bytes, int peer, int tag);
dm_status dm_messages_receive(dm_messages *messages, const dm_comm *comm, void *data, int64_t bytes,
                              int peer, int tag);

/* Progresses the messages; *done when all have been sent and received. */
dm_status dm_messages_test(dm_messages *messages, bool *done);
dm_status dm_messages_wait(dm_messages *messages);

/* The same, one after the other; a waiting rank sends no heartbeat meanwhile. */
dm_status dm_messages_wait_idle(dm_messages *messages);

/* ---- what all ranks must state alike ----
 *
 * Ranks that differ would compute different products, or wait for each other. */

enum { DM_ALIKE = 224 };

/* A list of statements; all ranks have the same names in the same order. */
typedef struct dm_alike {
  int count;
  const char *name[DM_ALIKE];
  uint64_t hash[DM_ALIKE];
} dm_alike;

/* Adds BYTES of DATA, at most DM_ALIKE times; NAME is kept. */
void dm_alike_add(dm_alike *alike, const char *name, const void *data, size_t bytes);
void dm_alike_add_text(dm_alike *alike, const char *name, const char *text); /* or NULL */

/* Collective: DM_E_USAGE on all ranks, with the names, if something differs. */
dm_status dm_alike_check(const dm_comm *comm, const dm_alike *alike);

#endif
