/* The GPUs of this computer, as the driver lists them in /proc, or else its management library. */
#ifdef DM_HAVE_CUDA

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda.h"
#include "backend/nvml.h"

#define FOLDER "/proc/driver/nvidia/gpus"

/* The text after KEY in LINE, without blanks around it; false: LINE is another one. */
static bool take(const char *line, const char *key, char *to, size_t room) {
  const size_t length = strlen(key);
  if (strncmp(line, key, length) != 0) return false;
  line += length + strspn(line + length, " \t");
  snprintf(to, room, "%.*s", (int)strcspn(line, "\n"), line);
  return true;
}

/* False: it cannot be read, or a container hides the device. */
static bool read_gpu(const char *bus, dm_listed_gpu *gpu) {
  char path[sizeof FOLDER + 300], line[256], minor[16] = "", device[40];
  *gpu = (dm_listed_gpu){.id = ""};
  snprintf(path, sizeof path, FOLDER "/%.255s/information", bus);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  while (fgets(line, sizeof line, file)) {
    (void)(take(line, "Model:", gpu->name, sizeof gpu->name) ||
           take(line, "GPU UUID:", gpu->id, sizeof gpu->id) ||
           take(line, "Device Minor:", minor, sizeof minor));
  }
  fclose(file);
  snprintf(device, sizeof device, "/dev/nvidia%s", minor);
  return minor[0] && access(device, R_OK | W_OK) == 0;
}

static int skip_dots(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

void dm_cuda_list(dm_gpu_list *list) {
  struct dirent **entries = NULL;
  const int count = scandir(FOLDER, &entries, skip_dots, alphasort); /* by bus, as CUDA does */
  list->count = 0;
  for (int i = 0; i < count; i++) {
    if (list->count < DM_GPUS && read_gpu(entries[i]->d_name, &list->gpu[list->count]))
      list->count++;
    free(entries[i]);
  }
  free(entries);
  if (list->count == 0 && dm_cuda_has_driver()) dm_nvml_list(list);
}

#endif
