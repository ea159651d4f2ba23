/* ending: the end of a process that has used GPUs, which takes the driver 0.1 to 0.3 s. */
#ifndef DM_CLI_ENDING_H
#define DM_CLI_ENDING_H

/* Once all is written, and nothing runs any more: ends this process with exit code 0, and leaves
 * what the driver has to end to a child. Returns if there is nothing to gain. */
void dm_cli_end_ahead(void);

#endif
