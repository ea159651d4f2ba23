/* Removes what killed runs left beside their outputs. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/session.h"
#include "core/buffer.h"
#include "core/units.h"
#include "io/leftovers.h"

typedef struct clean_work {
  const dm_call *call;
  bool named; /* the output was named: what stays is shown */
  int64_t removed, bytes, kept;
} clean_work;

static dm_status clean_tell(void *context, const dm_leftover *left) {
  static const char *const words[] = {
      [DM_LEFTOVER_GOES] = NULL,
      [DM_LEFTOVER_RESUMABLE] = "stays: the same command would go on from it, or it may be another "
                                "program's (--resumable removes it)",
      [DM_LEFTOVER_IN_USE] = "stays: a run is using it",
      [DM_LEFTOVER_FOREIGN] = "stays: it was not made by damier"};
  clean_work *w = context;
  char size[32];
  const bool goes = left->fate == DM_LEFTOVER_GOES;
  const bool shown = left->fate != DM_LEFTOVER_FOREIGN || w->named || w->call->own.verbose > 0;
  w->removed += goes;
  w->bytes += goes && !left->again ? left->bytes : 0;
  w->kept += !goes && shown;
  if (!shown || w->call->own.quiet > 0) return DM_OK;
  dm_format_bytes(left->bytes, size);
  printf("%s (%s) %s\n", left->path, left->again ? "the same file" : size,
         !goes                  ? words[left->fate]
         : w->call->own.dry_run ? "would be removed"
                                : "removed");
  return DM_OK;
}

static dm_status clean_output(clean_work *w, const char *file) {
  const dm_command_settings *own = &w->call->own;
  dm_location at = {.dataset = ""};
  if ((size_t)snprintf(at.file, sizeof at.file, "%s", file) >= sizeof at.file)
    return dm_fail(DM_E_USAGE, "the name '%.60s...' is too long", file);
  return dm_leftovers_clean(&at, !own->dry_run, own->resumable, clean_tell, w);
}

/* The outputs that files of FOLDER are left by, each once: *LIST, to be freed with its names. */
static dm_status clean_list(const char *folder, char ***list, int64_t *count) {
  DIR *open = opendir(folder);
  int64_t room = 0;
  if (!open) return dm_fail(DM_E_IO, "'%s' cannot be read: %s", folder, strerror(errno));
  for (struct dirent *entry; (entry = readdir(open));) {
    const size_t length = dm_leftover_of(entry->d_name);
    char name[DM_PATH];
    bool known = false;
    if (length == 0) continue;
    const int used =
        strcmp(folder, ".") == 0
            ? snprintf(name, sizeof name, "%.*s", (int)length, entry->d_name)
            : snprintf(name, sizeof name, "%s/%.*s", folder, (int)length, entry->d_name);
    if (used >= (int)sizeof name) continue;
    for (int64_t i = 0; i < *count && !known; i++) known = strcmp((*list)[i], name) == 0;
    if (known) continue;
    if (*count == room) {
      room = 2 * room + 16;
      char **more = realloc(*list, (size_t)room * sizeof **list);
      if (!more) break;
      *list = more;
    }
    (*list)[*count] = strdup(name);
    if (!(*list)[*count]) break;
    ++*count;
  }
  closedir(open);
  return DM_OK;
}

static int clean_compare(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static dm_status clean_folder(clean_work *w, const char *folder) {
  char **list = NULL;
  int64_t count = 0;
  dm_status status = clean_list(folder, &list, &count);
  if (count > 0) qsort(list, (size_t)count, sizeof *list, clean_compare);
  for (int64_t i = 0; i < count; i++) {
    if (!status) status = clean_output(w, list[i]);
    free(list[i]);
  }
  free(list);
  return status;
}

static dm_status clean_operand(clean_work *w, const char *operand) {
  struct stat info;
  dm_location at;
  w->named = stat(operand, &info) != 0 || !S_ISDIR(info.st_mode);
  if (!w->named) return clean_folder(w, operand);
  if (operand[0] && operand[strlen(operand) - 1] == '/')
    return dm_fail(DM_E_IO, "'%s' is no folder", operand);
  DM_TRY(dm_location_parse(operand, &at));
  return clean_output(w, at.file);
}

int dm_cli_clean(dm_call *call) {
  clean_work w = {.call = call};
  dm_status status = DM_OK;
  if (!dm_cli_speaks(call)) return 0; /* only one rank under mpirun */
  if (call->operand_count == 0) status = clean_folder(&w, ".");
  for (int i = 0; i < call->operand_count && !status; i++)
    status = clean_operand(&w, call->operands[i]);
  if (!status && call->own.quiet < 2)
    printf("damier: clean %s=%lld bytes=%lld kept=%lld DONE\n",
           call->own.dry_run ? "removable" : "removed", (long long)w.removed, (long long)w.bytes,
           (long long)w.kept);
  if (!status && (fflush(stdout) != 0 || ferror(stdout)))
    status = dm_fail(DM_E_IO, "standard output could not be written");
  return dm_cli_finish(call, status);
}
