#include "file/known_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "file/read.h"

enum { KNOWN = 8, WINDOW = 4096 };

typedef struct known {
  dm_location asked;
  dm_vector vectors; /* how one dimension was to be read */
  dm_dataset answer; /* file_bytes 0: none */
  dm_h5_log log;
} known;

struct dm_known_files {
  int next; /* the place that the next file takes */
  known of[KNOWN];
};

dm_status dm_known_new(dm_known_files **files) {
  return dm_buffer_table(1, files);
}

void dm_known_free(dm_known_files *files) {
  free(files);
}

dm_h5_log *dm_known_start(dm_known_files *files) {
  known *k = &files->of[files->next];
  k->answer.file_bytes = 0;
  k->log.lost = false;
  k->log.count = k->log.bytes = k->log.elements_bytes = 0;
  return &k->log;
}

/* The answer must depend on the one file alone. */
static bool is_about_one_file(const dm_trust *trust, const dm_dataset *found) {
  return !trust->external && !trust->swmr && !found->composite;
}

void dm_known_note(dm_known_files *files, const dm_trust *trust, const dm_location *asked,
                   const dm_dataset *found) {
  known *k = &files->of[files->next];
  if (k->log.lost || k->log.count == 0 || !is_about_one_file(trust, found)) return;
  k->asked = *asked;
  k->vectors = trust->vectors;
  k->answer = *found;
  files->next = (files->next + 1) % KNOWN;
}

static bool is_asked(const known *k, const dm_trust *trust, const dm_location *at) {
  return k->vectors == trust->vectors && k->asked.row_axes == at->row_axes &&
         strcmp(k->asked.dataset, at->dataset) == 0 && strcmp(k->asked.part, at->part) == 0;
}

/* ---- comparing ---- */

/* A part of an open file; what is beyond its end is zero, as for HDF5. */
typedef struct window {
  int fd;
  int64_t start; /* negative: nothing was read */
  unsigned char content[WINDOW];
} window;

static bool move_to(window *w, int64_t offset) {
  if (w->start >= 0 && offset >= w->start && offset - w->start < WINDOW) return true;
  memset(w->content, 0, WINDOW);
  w->start = offset - offset % WINDOW;
  for (int64_t got = 0; got < WINDOW;) {
    const ssize_t more = pread(w->fd, w->content + got, (size_t)(WINDOW - got), w->start + got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return false;
    if (more == 0) break;
    got += more;
  }
  return true;
}

static bool has_same_bytes(int fd, const dm_h5_log *log) {
  window w = {.fd = fd, .start = -1};
  const unsigned char *content = log->content;
  for (int64_t i = 0; i < log->count; i++) {
    const int64_t end = log->piece[i].offset + log->piece[i].bytes;
    for (int64_t at = log->piece[i].offset, length; at < end; at += length) {
      if (!move_to(&w, at)) return false;
      length = dm_min(end, w.start + WINDOW) - at;
      if (memcmp(w.content + (at - w.start), content, (size_t)length) != 0) return false;
      content += length;
    }
  }
  return true;
}

/* As HDF5 locks a file that it reads, unless the user says that it shall not. */
static bool is_lockable(int fd) {
  const char *wish = getenv("HDF5_USE_FILE_LOCKING");
  if (wish && (strcmp(wish, "FALSE") == 0 || strcmp(wish, "0") == 0)) return true;
  return flock(fd, LOCK_SH | LOCK_NB) == 0;
}

bool dm_known_find(const dm_known_files *files, const dm_trust *trust, dm_dataset *find) {
  const dm_location at = find->at;
  struct stat info;
  const known *found = NULL;
  if (stat(at.file, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return false;
  bool possible = false;
  for (int i = 0; i < KNOWN && !possible; i++)
    possible = files->of[i].answer.file_bytes == info.st_size;
  const int fd = possible ? open(at.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY) : -1;
  if (fd < 0) return false;
  /* Its identity is that before it was compared: later changes are noticed. */
  const bool good = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_lockable(fd);
  for (int i = 0; i < KNOWN && good && !found; i++) {
    const known *k = &files->of[i];
    if (k->answer.file_bytes == info.st_size && is_asked(k, trust, &at) &&
        has_same_bytes(fd, &k->log))
      found = k;
  }
  close(fd);
  if (!found) return false;
  *find = found->answer;
  memcpy(find->at.file, at.file, sizeof at.file);
  dm_io_identify(&info, find);
  return true;
}
