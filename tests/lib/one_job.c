/* Overrides MPI functions through the profiling interface (PMPI). */
#include "lib/one_job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
void __lsan_do_leak_check(void);
void __lsan_disable(void);
void __lsan_enable(void);
#else
static void __lsan_do_leak_check(void) {
}
static void __lsan_disable(void) {
}
static void __lsan_enable(void) {
}
#endif

static int rank, size, level;
static MPI_Comm part = MPI_COMM_NULL;

int MPI_Init_thread(int *count, char ***words, int required, int *provided) {
  (void)count, (void)words, (void)required;
  *provided = level;
  return MPI_SUCCESS;
}

int MPI_Init(int *count, char ***words) {
  (void)count, (void)words;
  return MPI_SUCCESS;
}

int MPI_Finalize(void) {
  return MPI_SUCCESS;
}

static MPI_Comm part_of(MPI_Comm comm) {
  return comm == MPI_COMM_WORLD && part != MPI_COMM_NULL ? part : comm;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) {
  return PMPI_Comm_dup(part_of(comm), copy);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *new_comm) {
  return PMPI_Comm_split(part_of(comm), color, key, new_comm);
}

int MPI_Comm_rank(MPI_Comm comm, int *own) {
  return PMPI_Comm_rank(part_of(comm), own);
}

int MPI_Comm_size(MPI_Comm comm, int *count) {
  return PMPI_Comm_size(part_of(comm), count);
}

/* Environment variables that launchers set for each process. */
static void tell(const char *name, int value) {
  char text[16];
  if (!getenv(name)) return;
  snprintf(text, sizeof text, "%d", value);
  setenv(name, text, 1);
}

void one_job_start(void) {
  __lsan_disable(); /* what MPI loses while it starts is not ours */
  PMPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
  __lsan_enable();
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
}

int one_job_rank(void) {
  return rank;
}

int one_job_size(void) {
  return size;
}

void one_job_part(int ranks) {
  MPI_Group all, few;
  int range[1][3] = {{0, ranks - 1, 1}};
  if (part != MPI_COMM_NULL) PMPI_Comm_free(&part);
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Group_range_incl(all, 1, range, &few);
  PMPI_Comm_create_group(MPI_COMM_WORLD, few, 0, &part);
  PMPI_Group_free(&few);
  PMPI_Group_free(&all);
  tell("OMPI_COMM_WORLD_SIZE", ranks);
  tell("PMI_SIZE", ranks);
}

int one_job_agree(int code) {
  int most, done = 0;
  MPI_Request request;
  PMPI_Iallreduce(&code, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  for (PMPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
       PMPI_Test(&request, &done, MPI_STATUS_IGNORE))
    usleep(1000);
  return most;
}

/* Leaks are sought before MPI unloads its modules: then reports can name them, and suppressions,
 * too. */
void one_job_stop(void) {
  __lsan_do_leak_check();
  PMPI_Finalize();
}
