/* comm_impl: shared by the files of src/comm. */
#ifndef DM_COMM_COMM_IMPL_H
#define DM_COMM_COMM_IMPL_H

#include "comm/comm.h"

/* Maximum bytes of one message; tests also build this layer with a smaller value. */
#ifndef DM_MESSAGE_MAX
#define DM_MESSAGE_MAX (1 << 30)
#endif

enum { DM_HOST_NAME = 256, DM_NO_COLOR = -1, DM_OF_NODE = -2 };

/* An operation under way; zero: none. */
typedef struct dm_comm_request {
  const struct dm_comm_ops *ops; /* NULL: done */
  uint64_t word;                 /* of the implementation */
} dm_comm_request;

/* How values of 8 bytes are combined. */
typedef enum dm_comm_fold { DM_SUM_F64, DM_SUM_U64, DM_MAX_F64, DM_MAX_I64 } dm_comm_fold;

typedef enum dm_way { DM_SEND, DM_RECEIVE } dm_way;

typedef enum dm_purpose { DM_BARRIER, DM_BROADCAST, DM_GATHER, DM_COMBINE, DM_SPLIT } dm_purpose;

/* What a rank brings to a collective operation; all state the same but for IN and OUT. */
typedef struct dm_collective {
  dm_purpose purpose;
  int size;       /* bytes of each rank; of DM_COMBINE, values */
  int what;       /* root, or dm_comm_fold */
  const void *in; /* DM_BROADCAST, DM_COMBINE: the same memory as OUT */
  void *out;
} dm_collective;

/* What carries messages between several ranks. Lengths are at most DM_MESSAGE_MAX bytes. */
typedef struct dm_comm_ops {
  bool one_process;          /* which has all ranks */
  dm_status (*usable)(void); /* DM_E_USAGE: not by this thread, or not any more; NULL: it is */
  /* DATA is only read if it is sent. */
  dm_status (*post)(const dm_comm *comm, dm_way way, void *data, int bytes, int peer, int tag,
                    dm_comm_request *request);
  /* Returns when it is done if REQUEST is NULL. Not DM_SPLIT. */
  dm_status (*collect)(const dm_comm *comm, const dm_collective *mine, dm_comm_request *request);
  /* Sets request->ops = NULL once it is done. */
  dm_status (*test)(dm_comm_request *request);
  dm_status (*wait)(dm_comm_request *request);
  /* Fills in NEW, which stays the caller's. COLOR: DM_OF_NODE, or another negative one: *member =
   * false. */
  dm_status (*split)(const dm_comm *comm, int color, int key, dm_comm *new, bool *member);
  void (*release)(dm_comm *comm); /* what belongs to it, not COMM itself */
  /* The end of the process is enough if they are NULL. */
  void (*stop)(void);
  void (*abort)(const dm_comm *world, int code);
} dm_comm_ops;

struct dm_comm {
  const dm_comm_ops *ops; /* NULL: a single rank, which needs none */
  uint64_t word;          /* of the implementation */
  int rank, size;
  char host[DM_HOST_NAME];
  void (*waiting)(void *context); /* or NULL */
  void *context;
};

dm_status dm_comm_allocate(dm_comm **comm);

/* Tests those that are not done, as far as the first that is still under way. */
dm_status dm_comm_test_all(dm_comm_request *requests, int count, bool *done);
dm_status dm_comm_wait_all(dm_comm_request *requests, int count);

/* ---- what launchers say in the environment (launched.c) ---- */

/* The number in variable NAME, or -1. */
int dm_launched_number(const char *name);

/* The rank that the environment states, or -1. */
int dm_launched_rank(void);

/* Whether no launcher started this process. */
bool dm_launched_by_nobody(void);

/* Several tasks of srun without a process manager: MPI would abort each of them. */
dm_status dm_launched_unconnected(void);

/* DM_E_MPI: the launcher started several ranks, but they do not see each other. RANK: what its
 * environment said of this one before MPI was started, which may change it. */
dm_status dm_launched_apart(int rank);

#endif
