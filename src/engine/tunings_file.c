#include <stdlib.h>
#include <string.h>

#include "engine/tunings.h"
#include "run/cache_file.h"

dm_status dm_tunings_path(const char *gpu, char path[DM_PATH]) {
  return dm_cache_path("tilings", gpu, path);
}

dm_status dm_tunings_read(const char *path, const dm_jit_facts *facts, bool *found,
                          dm_tunings *tunings) {
  char *text;
  size_t length;
  memset(tunings, 0, sizeof *tunings);
  *found = false;
  DM_TRY(dm_cache_read(path, &text, &length));
  if (!text) return DM_OK;
  dm_status status = dm_tunings_parse(text, length, facts, tunings);
  free(text);
  *found = status == DM_OK;
  return dm_context(status, "%s", path);
}

dm_status dm_tunings_write(const char *path, bool make_directory, const dm_tunings *tunings,
                           const dm_jit_facts *facts) {
  char *text;
  DM_TRY(dm_tunings_format(tunings, facts, &text));
  dm_status status = dm_cache_write(path, make_directory, text);
  free(text);
  return status;
}
