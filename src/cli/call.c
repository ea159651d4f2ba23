/* How one invocation prints. */
#include "cli/verb.h"

dm_level dm_cli_level(const dm_settings *settings) {
  int level = (int)DM_LOG_NOTE + settings->verbose - settings->quiet;
  if (level < (int)DM_LOG_ERROR) return DM_LOG_ERROR;
  return level > (int)DM_LOG_DEBUG ? DM_LOG_DEBUG : (dm_level)level;
}

dm_log dm_cli_log(const dm_call *call) {
  return (dm_log){stderr, dm_cli_level(&call->settings), call->rank < 0 ? 0 : call->rank};
}

bool dm_cli_ramp(const dm_call *call) {
  return call->rank <= 0;
}
