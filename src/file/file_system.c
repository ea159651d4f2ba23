#include "file/file_system.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/vfs.h>

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
