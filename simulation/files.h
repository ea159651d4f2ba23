/* files: a file system whose servers are extra ranks of the simulation, each with its own link.
 *
 * A server reads or writes one piece at once, alternating between the ranks that have requests.  A
 * rank's pieces (its part of a panel of A or B, its part of C) are distributed over the servers in
 * turn, and striped if there are more servers than ranks; they pass an adapter used only for files.
 * The loop over the steps uses this like readers and writers: reading runs behind products if the
 * plan overlaps. */
#ifndef SIMULATION_FILES_H
#define SIMULATION_FILES_H

#include "engine/execute.h"

/* Rates in bytes per second, for both directions together, of a server and of a rank's adapter. */
typedef struct sim_file_system {
  int clients, servers; /* servers follow the clients in rank order */
  double rate, adapter;
} sim_file_system;

/* Every rank and server calls this first. */
dm_status sim_files_start(const sim_file_system *system);

/* A server runs until all clients have left. */
void sim_files_serve(int server);
void sim_files_leave(void);

/* One rank's connection to the servers. */
typedef struct sim_files sim_files;
dm_status sim_files_open(dm_rank_state *local, sim_files **files);
void sim_files_close(sim_files *files);
dm_step_calls sim_files_calls(sim_files *files);

/* Sleeps until TIME, or until files or gathers of this rank progress. */
void sim_files_wait(void *files, double time);

/* Bytes that this rank read and wrote, and that the busiest server moved, so far. */
typedef struct sim_file_bytes {
  int64_t read, written, busiest;
} sim_file_bytes;
sim_file_bytes sim_files_bytes(const sim_files *files);

#endif
