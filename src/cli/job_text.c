#include "cli/job_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/checked.h"
#include "dataset/file_system.h"

void dm_job_text_tell(dm_job_text *text) {
  FILE *const streams[2] = {stdout, stderr};
  for (int i = 0; i < 2; i++) {
    if (text->bytes[i] > 0) fwrite(text->of[i], 1, (size_t)text->bytes[i], streams[i]);
    fflush(streams[i]);
    free(text->of[i]);
    text->of[i] = NULL;
    text->bytes[i] = 0;
  }
}

bool dm_job_sheet_open(dm_job_sheet *sheet) {
  *sheet = (dm_job_sheet){.file = {-1, -1}};
  for (int i = 0; i < 2; i++) sheet->file[i] = memfd_create("damier-job", MFD_CLOEXEC);
  if (sheet->file[0] >= 0 && sheet->file[1] >= 0) return true;
  dm_job_sheet_close(sheet);
  return false;
}

void dm_job_sheet_close(dm_job_sheet *sheet) {
  for (int i = 0; i < 2; i++) {
    if (sheet->file[i] >= 0) close(sheet->file[i]);
    sheet->file[i] = -1;
  }
}

void dm_job_sheet_use(const dm_job_sheet *sheet) {
  for (int i = 0; i < 2; i++)
    if (sheet->file[i] >= 0) (void)dup2(sheet->file[i], STDOUT_FILENO + i);
}

void dm_job_sheet_ends(const dm_job_sheet *sheet, int64_t ends[2]) {
  for (int i = 0; i < 2; i++) {
    struct stat info;
    ends[i] = sheet->file[i] >= 0 && fstat(sheet->file[i], &info) == 0 ? info.st_size : 0;
  }
}

void dm_job_sheet_take(dm_job_sheet *sheet, const int64_t ends[2], dm_job_text *text) {
  const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  *text = (dm_job_text){.bytes = {0, 0}};
  for (int i = 0; i < 2; i++) {
    const int64_t from = sheet->taken[i], bytes = ends[i] - from;
    if (sheet->file[i] < 0 || bytes <= 0) continue;
    text->of[i] = malloc((size_t)bytes);
    if (text->of[i])
      text->bytes[i] = dm_max(0, dm_file_read_at(sheet->file[i], text->of[i], bytes, from));
    (void)fallocate(sheet->file[i], hole, from, bytes); /* gives the memory back */
    sheet->taken[i] = ends[i];
  }
}
