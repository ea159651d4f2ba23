/* files: a file system, as extra ranks of the simulation, each behind a link of its own.
 *
 * A server brings or takes one piece at a time, of the ranks that want something of it in turn; a
 * rank's pieces (its part of a panel of A or B, its part of C) go to all servers in turn, several
 * to one part where there are more servers than ranks, over an adapter for files alone.  The loop
 * over the steps reads and writes through this as it does through readers and writers: reading goes
 * on behind products as far as the plan overlaps. */
#ifndef SIMULATION_FILES_H
#define SIMULATION_FILES_H

#include "engine/execute.h"

/* Bytes per second, each way together, of a server, and of the adapter of a rank. */
typedef struct sim_file_system {
  int clients, servers; /* these are the ranks behind the clients */
  double rate, adapter;
} sim_file_system;

/* By every rank and server, before anything else. */
dm_status sim_files_start(const sim_file_system *system);

/* A server serves until all clients have left. */
void sim_files_serve(int server);
void sim_files_leave(void);

/* One rank's way to the servers. */
typedef struct sim_files sim_files;
dm_status sim_files_open(dm_rank_state *local, sim_files **files);
void sim_files_close(sim_files *files);
dm_step_calls sim_files_calls(sim_files *files);

/* Sleeps until TIME, or until something of the files or gathers of this rank gets on. */
void sim_files_wait(void *files, double time);

/* Bytes that this rank read and wrote, and that the busiest server brought and took so far. */
typedef struct sim_file_bytes {
  int64_t read, written, busiest;
} sim_file_bytes;
sim_file_bytes sim_files_bytes(const sim_files *files);

#endif
