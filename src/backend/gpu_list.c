#include "backend/gpu_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/units.h"

static const char variable[] = "CUDA_VISIBLE_DEVICES";
static const char hidden_hint[] = "nvidia-smi -L lists GPUs with their UUIDs; CUDA_VISIBLE_DEVICES "
                                  "or the batch system may hide some";

/* The next word of a list, without blanks; false: there is none. */
static bool next_word(const char **text, char word[DM_GPU_TEXT]) {
  *text += strspn(*text, " ");
  if (!**text) return false;
  const size_t length = strcspn(*text, ",");
  size_t used = dm_min((int64_t)length, DM_GPU_TEXT - 1);
  while (used > 0 && (*text)[used - 1] == ' ') used--;
  snprintf(word, DM_GPU_TEXT, "%.*s", (int)used, *text);
  *text += length + ((*text)[length] == ',');
  return true;
}

/* The index in LIST that WORD names, or -1. */
static int find(const dm_gpu_list *list, const char *word) {
  int64_t index;
  if (dm_parse_count(word, &index)) return index < list->count ? (int)index : -1;
  for (int i = 0; i < list->count; i++)
    if (strncmp(word, "GPU-", 4) == 0 && strncmp(list->gpu[i].id, word, strlen(word)) == 0)
      return i;
  return -1;
}

/* As the driver does: GPUs after one that does not exist are hidden, and a process sees one part of
 * a divided GPU (MIG) at most. */
static void hide(dm_gpu_list *list, const char *visible) {
  const dm_gpu_list all = *list;
  char word[DM_GPU_TEXT];
  list->count = 0;
  while (next_word(&visible, word) && list->count < DM_GPUS) {
    const int at = find(&all, word);
    const bool part = strncmp(word, "MIG-", 4) == 0;
    if (at < 0 && !part) return;
    dm_listed_gpu *gpu = &list->gpu[list->count++];
    *gpu = part ? (dm_listed_gpu){.id = ""} : all.gpu[at];
    snprintf(gpu->entry, sizeof gpu->entry, "%s", word);
    if (part) return;
  }
}

void dm_gpu_list_hide(dm_gpu_list *list) {
  const char *visible = getenv(variable);
  for (int i = 0; i < list->count; i++)
    snprintf(list->gpu[i].entry, sizeof list->gpu[i].entry, "%d", i);
  if (visible) hide(list, visible);
}

static dm_status absent(const dm_gpu_list *list, const char *word) {
  char range[48] = "no GPU is visible";
  if (list->count > 0) snprintf(range, sizeof range, "those visible are 0 to %d", list->count - 1);
  return dm_hint(dm_fail(DM_E_DEVICE, "there is no GPU %s: %s", word, range), "%s", hidden_hint);
}

static dm_status take_number(dm_gpu_list *list, const char *wanted, int64_t number) {
  if (number < 1)
    return dm_hint(dm_fail(DM_E_USAGE, "'%s' GPUs cannot multiply", wanted),
                   "none multiplies on the CPU");
  if (number > list->count)
    return dm_hint(dm_fail(DM_E_DEVICE, "%s GPUs are more than the %d that this process sees",
                           wanted, list->count),
                   "%s; '%s,' is the GPU with that number", hidden_hint, wanted);
  list->count = (int)number;
  return DM_OK;
}

static bool is_name(const char *word) {
  const bool is_id = strncmp(word, "GPU-", 4) == 0;
  return word[0] && (is_id || strspn(word, "0123456789") == strlen(word));
}

dm_status dm_gpu_list_restrict(dm_gpu_list *list, const char *wanted) {
  const dm_gpu_list all = *list;
  char word[DM_GPU_TEXT];
  int64_t number;
  bool taken[DM_GPUS] = {false};
  if (dm_parse_count(wanted, &number)) return take_number(list, wanted, number);
  list->count = 0;
  if (strcmp(wanted, "none") == 0) return DM_OK;
  for (const char *rest = wanted; next_word(&rest, word);) {
    if (!is_name(word))
      return dm_hint(dm_fail(DM_E_USAGE, "'%s' is no GPU", word),
                     "a number of GPUs; a list such as 0,2 or GPU-5a...,GPU-07...; or none");
    const int at = find(&all, word);
    if (at < 0) return absent(&all, word);
    if (taken[at]) return dm_fail(DM_E_USAGE, "GPU %s is named twice", word);
    taken[at] = true;
    list->gpu[list->count++] = all.gpu[at];
  }
  return list->count > 0 ? DM_OK : dm_fail(DM_E_USAGE, "'%s' names no GPU", wanted);
}

void dm_gpu_list_show(const dm_gpu_list *list, int count) {
  char text[DM_GPUS * (DM_GPU_TEXT + 1)] = "";
  size_t used = 0;
  for (int i = 0; i < count; i++)
    used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "", list->gpu[i].entry);
  (void)setenv(variable, text, 1); /* on failure the start takes longer */
}
