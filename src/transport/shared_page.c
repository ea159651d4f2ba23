#include "transport/shared_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/checked.h"

enum { TRIES = 16 };

static dm_status trouble(const char *what, const char *name) {
  return dm_fail(DM_E_DEVICE, "shared memory %s: %s: %s", name, what, strerror(errno));
}

/* O_EXCL makes sure that the name is new; the random part, that it hardly ever has to try again. */
static dm_status create(dm_shared_page *page, int *file) {
  for (int i = 0; i < TRIES; i++) {
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != sizeof number) return trouble("getrandom", "name");
    snprintf(page->name, sizeof page->name, "/damier-%ld-%016llx", (long)getpid(),
             (unsigned long long)number);
    *file = shm_open(page->name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (*file >= 0) return DM_OK;
    if (errno != EEXIST) break;
  }
  return trouble("shm_open", page->name);
}

/* posix_fallocate, not ftruncate alone: a full /dev/shm is an error here, not a signal later. */
static dm_status reserve(const dm_shared_page *page, int file) {
  errno = posix_fallocate(file, 0, page->bytes);
  return errno == 0 ? DM_OK : trouble("posix_fallocate", page->name);
}

static dm_status attach(dm_shared_page *page, int *file) {
  struct stat found;
  *file = shm_open(page->name, O_RDWR | O_CLOEXEC, 0);
  if (*file < 0) return trouble("shm_open", page->name);
  if (fstat(*file, &found) != 0) return trouble("fstat", page->name);
  if (found.st_uid == geteuid() && found.st_size == page->bytes) return DM_OK;
  return dm_fail(DM_E_DEVICE, "shared memory %s is not what another rank made", page->name);
}

static dm_status map(dm_shared_page *page, int file) {
  void *memory = mmap(NULL, (size_t)page->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return trouble("mmap", page->name);
  page->line = memory;
  return DM_OK;
}

dm_status dm_shared_page_open(const dm_comm *group, dm_shared_page *page) {
  const bool leads = dm_comm_rank(group) == 0;
  int file = -1;
  *page = (dm_shared_page){0};
  page->bytes =
      dm_round_up(dm_comm_size(group) * (int64_t)sizeof(dm_shared_line), sysconf(_SC_PAGESIZE));
  dm_status status = leads ? create(page, &file) : DM_OK;
  if (leads && !status) status = reserve(page, file);
  const bool created = leads && file >= 0;
  status = dm_comm_agree(group, status);
  if (!status) status = dm_comm_broadcast(group, page->name, sizeof page->name, 0);
  if (!status) {
    if (!leads) status = attach(page, &file);
    if (!status) status = map(page, file);
    status = dm_comm_agree(group, status);
  }
  /* Here all have mapped it, or it is of no use. */
  if (created && shm_unlink(page->name) != 0)
    status = dm_status_first(status, trouble("shm_unlink", page->name));
  if (file >= 0) (void)close(file);
  status = dm_comm_agree(group, status);
  if (status) dm_shared_page_close(page);
  return status;
}

void dm_shared_page_close(dm_shared_page *page) {
  if (page->line) (void)munmap(page->line, (size_t)page->bytes);
  page->line = NULL;
}
