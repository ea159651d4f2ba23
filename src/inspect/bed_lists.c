#include "inspect/bed_lists.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "dataset/naming.h"
#include "inspect/inspect_impl.h"

enum { BED_LISTS_LINE = 1 << 20, ENDING = 4 };

static const char *const bed_lists_endings[] = {
    [DM_BED_VARIANTS] = ".bim", [DM_BED_SAMPLES] = ".fam"};

dm_status dm_bed_list_name(const dm_location *bed, dm_bed_list list, dm_location *name) {
  const size_t length = strlen(bed->file);
  *name = (dm_location){.dataset = ""};
  if (length <= ENDING || strcmp(bed->file + length - ENDING, ".bed") != 0)
    return dm_hint(
        dm_fail_at(DM_E_INPUT, bed, "holds genotypes of PLINK; its name must end in .bed"),
        "G.bed is read with G.bim and G.fam");
  memcpy(name->file, bed->file, length - ENDING);
  memcpy(name->file + length - ENDING, bed_lists_endings[list], ENDING + 1);
  return DM_OK;
}

/* LINE of LENGTH bytes without its end. */
static dm_status check_line(const dm_location *at, int64_t number, char *line, size_t length) {
  if (length > BED_LISTS_LINE || strlen(line) != length)
    return dm_fail_at(DM_E_INPUT, at, "line %lld is not text, or longer than %d bytes",
                      (long long)number + 1, BED_LISTS_LINE);
  while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) length--;
  line[length] = '\0';
  if (line[0] != '#') return DM_OK;
  return dm_fail_at(DM_E_INPUT, at, "line %lld begins with '#': .bim and .fam have no headers",
                    (long long)number + 1);
}

static dm_status bed_take_lines(const dm_location *at, FILE *file, dm_bed_take *take, void *context,
                                int64_t *count) {
  DM_FREED char *line = NULL;
  size_t room = 0;
  ssize_t length;
  for (*count = 0; (length = getline(&line, &room, file)) >= 0;) {
    DM_TRY(check_line(at, *count, line, (size_t)length));
    if (line[strspn(line, " \t")] == '\0') continue;
    if (take) DM_TRY(take(context, *count, line));
    ++*count;
  }
  return !feof(file) ? dm_fail_at(DM_E_IO, at, "cannot be read: %s", strerror(errno)) : DM_OK;
}

static dm_status bed_open_list(const dm_location *at, FILE **file) {
  int fd;
  DM_TRY(dm_examine_open_regular(at, &fd));
  *file = fdopen(fd, "r");
  if (*file) return DM_OK;
  close(fd);
  return dm_fail_at(DM_E_IO, at, "cannot be read: %s", strerror(errno));
}

dm_status dm_bed_each(const dm_location *bed, dm_bed_list list, dm_bed_take *take, void *context,
                      int64_t *count) {
  dm_location at;
  FILE *file;
  DM_TRY(dm_bed_list_name(bed, list, &at));
  dm_status status = bed_open_list(&at, &file);
  if (status)
    return dm_hint(status, "%s is read with the .bim and .fam files of that name", bed->file);
  status = bed_take_lines(&at, file, take, context, count);
  fclose(file);
  return status;
}
