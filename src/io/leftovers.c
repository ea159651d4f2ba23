#include "io/leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/batch.h"
#include "io/journal.h"
#include "io/output_impl.h"

static const char leftovers_part[] = ".part", leftovers_journal[] = ".journal",
                  leftovers_new[] = ".damier-new";

size_t dm_leftover_of(const char *file) {
  const size_t length = strlen(file);
  for (int i = 0; dm_output_endings[i]; i++) {
    const size_t ending = strlen(dm_output_endings[i]);
    if (length > ending && strcmp(file + length - ending, dm_output_endings[i]) == 0)
      return length - ending;
  }
  return 0;
}

/* The files of one output. */
typedef struct cleaning {
  const dm_location *at;
  bool remove, told;
  dm_leftover_taker *take;
  void *context;
  dm_journal *journal; /* locked; NULL: none, or it is empty */
  bool ours;           /* ... and its contents say that it is damier's */
  bool records;        /* ... and has tiles, or cannot be read */
  bool parts;          /* there is a part file of damier */
  struct stat last;    /* the last file that was told of */
} cleaning;

/* Whether a run uses PATH: it is locked, or the file system has no locks to tell. */
static bool leftovers_in_use(const char *path) {
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return true;
  const bool used = flock(fd, LOCK_EX | LOCK_NB) < 0;
  close(fd);
  return used;
}

/* Whether INFO of PATH, which ends with ENDING, is of a file that a run may have left, or of a
 * folder of Zarr that no run had finished, whose BYTES it counts. */
static bool leftovers_is(const char *ending, const char *path, const struct stat *info,
                         int64_t *bytes) {
  *bytes = info->st_size;
  if (!S_ISDIR(info->st_mode)) return S_ISREG(info->st_mode);
  return strcmp(ending, leftovers_new) == 0 && dm_store_only(path, bytes);
}

/* Whether the contents of PATH say nothing about whose it is: there are none, or zeros. */
static bool leftovers_is_blank(const char *path) {
  bool blank = true;
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  dm_status status = fd < 0 ? DM_OK : dm_batch_is_zero(path, fd, &blank);
  blank |= status != NULL;
  dm_status_free(status);
  if (fd >= 0) close(fd);
  return blank;
}

/* Whether the part file PATH has the other name of such files, too. */
static bool leftovers_is_named(const cleaning *c, const char *path) {
  char new[DM_SIBLING_PATH];
  struct stat part, other;
  dm_status status = dm_output_new_name(c->at, new);
  const bool named = !status && lstat(path, &part) == 0 && lstat(new, &other) == 0 &&
                     part.st_dev == other.st_dev && part.st_ino == other.st_ino;
  dm_status_free(status);
  return named;
}

/* The fate of PATH, which ends with ENDING and is no journal, whatever the journal says. */
static dm_leftover_fate leftovers_judge(const cleaning *c, const char *ending, const char *path) {
  if (leftovers_in_use(path)) return DM_LEFTOVER_IN_USE;
  if (strcmp(ending, leftovers_new) == 0) return DM_LEFTOVER_GOES;
  if (strcmp(ending, leftovers_part) != 0) return DM_LEFTOVER_RESUMABLE;
  dm_status status = dm_output_leftover(c->at, path, false);
  const bool foreign = status && status->code == DM_E_USAGE, fails = status != NULL;
  dm_status_free(status);
  if (foreign || fails) return foreign ? DM_LEFTOVER_FOREIGN : DM_LEFTOVER_IN_USE;
  return c->ours || leftovers_is_named(c, path) || !leftovers_is_blank(path)
             ? DM_LEFTOVER_GOES
             : DM_LEFTOVER_RESUMABLE;
}

static dm_status leftovers_take(const cleaning *c, const char *path, int64_t bytes,
                                dm_leftover_fate fate) {
  return c->take(c->context, &(dm_leftover){.path = path, .bytes = bytes, .fate = fate});
}

static dm_status leftovers_file(cleaning *c, const char *ending) {
  char path[DM_SIBLING_PATH];
  struct stat info;
  int64_t bytes;
  DM_TRY(dm_file_sibling(c->at, ending, path));
  if (lstat(path, &info) < 0 || !leftovers_is(ending, path, &info, &bytes)) return DM_OK;
  dm_leftover_fate fate = leftovers_judge(c, ending, path);
  if (fate == DM_LEFTOVER_GOES && strcmp(ending, leftovers_part) == 0) c->parts = true;
  if (fate == DM_LEFTOVER_GOES && c->records) fate = DM_LEFTOVER_RESUMABLE;
  if (fate == DM_LEFTOVER_RESUMABLE && c->told) fate = DM_LEFTOVER_GOES;
  if (fate == DM_LEFTOVER_GOES && c->remove) {
    if (strcmp(ending, leftovers_part) == 0)
      DM_TRY(dm_output_leftover(c->at, path, true)); /* looks again, with the lock */
    else if (strcmp(ending, leftovers_new) == 0)
      DM_TRY(dm_output_forget_new(c->at));
    else if (unlink(path) < 0 && errno != ENOENT)
      return dm_file_failed(c->at, path, "removed");
  }
  const bool again = info.st_dev == c->last.st_dev && info.st_ino == c->last.st_ino;
  c->last = info;
  return c->take(c->context, &(dm_leftover){path, bytes, fate, again});
}

/* An empty journal, or one of zeros, is only surely damier's beside a part file. */
static dm_status leftovers_end_journal(cleaning *c, const char *path, int64_t bytes) {
  dm_leftover_fate fate =
      c->records || (!c->ours && !c->parts) ? DM_LEFTOVER_RESUMABLE : DM_LEFTOVER_GOES;
  if (c->told) fate = DM_LEFTOVER_GOES;
  if (fate == DM_LEFTOVER_GOES && c->remove) {
    if (c->journal)
      DM_TRY(dm_journal_remove(c->journal));
    else if (unlink(path) < 0 && errno != ENOENT)
      return dm_file_failed(c->at, path, "removed");
  }
  return leftovers_take(c, path, bytes, fate);
}

/* Locks the journal, if there is one, so that no run begins meanwhile. *stays: all stays, because a
 * run has locked it, or it is another program's. */
static dm_status leftovers_open_journal(cleaning *c, const char *path, int64_t bytes,
                                        dm_leftover_fate *stays) {
  bool locked = true, ours;
  int64_t tiles;
  if (leftovers_in_use(path)) *stays = DM_LEFTOVER_IN_USE;
  if (*stays != DM_LEFTOVER_GOES || bytes == 0) return DM_OK;
  dm_status status = dm_journal_inspect(c->at, &ours);
  if (status) *stays = DM_LEFTOVER_FOREIGN;
  dm_status_free(status);
  if (*stays != DM_LEFTOVER_GOES) return DM_OK;
  DM_TRY(dm_journal_open(c->at, &c->journal, &locked));
  dm_journal_tiles(c->journal, &tiles);
  const dm_journal_state state = dm_journal_state_of(c->journal);
  c->records = tiles > 0 || state == DM_JOURNAL_DAMAGED || state == DM_JOURNAL_STRANGE;
  c->ours = !leftovers_is_blank(path);
  return DM_OK;
}

static dm_status leftovers_all(cleaning *c) {
  char path[DM_SIBLING_PATH];
  struct stat info;
  dm_leftover_fate stays = DM_LEFTOVER_GOES;
  DM_TRY(dm_file_sibling(c->at, leftovers_journal, path));
  const bool has = lstat(path, &info) == 0 && S_ISREG(info.st_mode);
  if (has) DM_TRY(leftovers_open_journal(c, path, info.st_size, &stays));
  if (stays == DM_LEFTOVER_IN_USE) return leftovers_take(c, path, info.st_size, stays);
  for (int i = 0; dm_output_endings[i]; i++)
    if (strcmp(dm_output_endings[i], leftovers_journal) != 0)
      DM_TRY(leftovers_file(c, dm_output_endings[i]));
  if (!has) return DM_OK;
  return stays == DM_LEFTOVER_FOREIGN ? leftovers_take(c, path, info.st_size, stays)
                                      : leftovers_end_journal(c, path, info.st_size);
}

dm_status dm_leftovers_clean(const dm_location *at, bool remove, bool told, dm_leftover_taker *take,
                             void *context) {
  cleaning c = {.at = at, .remove = remove, .told = told, .take = take, .context = context};
  dm_status status = leftovers_all(&c);
  dm_journal_close(c.journal);
  return status;
}
