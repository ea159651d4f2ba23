#include "file/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "file/dataset.h"

/* A mount is identified by its number or, before Linux 5.8, by the device of its files. */
typedef struct wanted {
  bool numbered;
  unsigned long long number;
  unsigned int major, minor;
} wanted;

static bool ask(const char *path, wanted *w) {
  struct statx info;
#ifdef STATX_MNT_ID
  const unsigned int mask = STATX_MNT_ID;
#else
  const unsigned int mask = 0;
#endif
  if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, mask, &info) != 0) return false;
  *w = (wanted){.major = info.stx_dev_major, .minor = info.stx_dev_minor};
#ifdef STATX_MNT_ID
  w->numbered = (info.stx_mask & STATX_MNT_ID) != 0;
  w->number = info.stx_mnt_id;
#endif
  return true;
}

/* "dir" of "dir/file", "." of "file", "/" of "/file" */
static bool ask_folder(const char *path, wanted *w) {
  char folder[DM_PATH];
  const char *slash = strrchr(path, '/');
  const size_t length = slash > path ? (size_t)(slash - path) : 1;
  if (length >= sizeof folder) return false;
  snprintf(folder, sizeof folder, "%.*s", (int)length, slash ? path : ".");
  return ask(folder, w);
}

/* A line is "36 35 98:0 /root /point options [optional ...] - kind source options"; blanks are
 * escaped as \040. (Linux: Documentation/filesystems/proc.rst) */
static bool read_line(const char *line, const wanted *w, dm_mount *mount) {
  unsigned long long number;
  unsigned int major, minor;
  const char *rest = strstr(line, " - ");
  _Static_assert(DM_MOUNT == 256 && DM_FILE_SYSTEM == 24, "the widths below");
  if (!rest || sscanf(line, "%llu %*u %u:%u %*s %255s", &number, &major, &minor, mount->point) != 4)
    return false;
  if (w->numbered ? number != w->number : major != w->major || minor != w->minor) return false;
  return sscanf(rest + 3, "%23s %255s", mount->kind, mount->source) == 2;
}

/* In a chroot whose root is no mount point, only the mount that contains it is not listed. */
static void state_root(dm_mount *mount) {
  dm_io_file_system("/", mount->kind);
  snprintf(mount->source, sizeof mount->source, "unlisted");
  snprintf(mount->point, sizeof mount->point, "/");
}

static bool find(FILE *list, const wanted *w, dm_mount *mount) {
  char *line = NULL;
  size_t size = 0;
  bool found = false, root = false;
  while (!found && getline(&line, &size, list) > 0) {
    found = read_line(line, w, mount);
    root = root || strcmp(mount->point, "/") == 0;
  }
  free(line);
  if (!found && !root) state_root(mount);
  return found || !root;
}

bool dm_io_mount(const char *path, dm_mount *mount) {
  wanted w;
  memset(mount, 0, sizeof *mount);
  if (!ask(path, &w) && !(errno == ENOENT && ask_folder(path, &w))) return false;
  FILE *file = fopen("/proc/self/mountinfo", "re");
  if (!file) return false;
  const bool found = find(file, &w, mount);
  fclose(file);
  if (!found) memset(mount, 0, sizeof *mount);
  return found;
}

/* Numbers from linux/magic.h, and of file systems with external drivers. */
static const struct {
  uint32_t magic;
  const char *name;
} kinds[] = {
    {0xEF53, "ext4"},         {0x58465342, "xfs"},       {0x9123683E, "btrfs"},
    {0x2FC12FC1, "zfs"},      {0xF2F52010, "f2fs"},      {0x01021994, "tmpfs"},
    {0x858458F6, "ramfs"},    {0x794C7630, "overlayfs"}, {0x6969, "nfs"},
    {0xFF534D42, "cifs"},     {0xFE534D42, "smb2"},      {0x01021997, "9p"},
    {0x65735546, "fuse"},     {0x00C36400, "ceph"},      {0x0BD00BD0, "lustre"},
    {0x47504653, "gpfs"},     {0x19830326, "beegfs"},    {0xAAD7AAEA, "panfs"},
    {0x7461636F, "ocfs2"},    {0x01161970, "gfs2"},      {0x20030528, "orangefs"},
    {0x73717368, "squashfs"},
};

char *dm_io_file_system(const char *path, char text[DM_FILE_SYSTEM]) {
  struct statfs found;
  snprintf(text, DM_FILE_SYSTEM, "unknown");
  if (statfs(path, &found) != 0) return text;
  const uint32_t magic = (uint32_t)found.f_type;
  snprintf(text, DM_FILE_SYSTEM, "0x%x", magic);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (kinds[i].magic == magic) snprintf(text, DM_FILE_SYSTEM, "%s", kinds[i].name);
  return text;
}
