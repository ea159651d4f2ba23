/* Holds the new file by its descriptor: without a name at first, then under one after the other. A
 * file that takes one of its names is another file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/buffer.h"
#include "dataset/file_system.h"
#include "io/output_impl.h"

dm_status dm_output_share(dm_output_file *file) {
  struct stat info;
  if (fstat(file->made, &info) < 0) return dm_file_failed(&file->at, file->part, "examined");
  file->inode = (uint64_t)info.st_ino;
  return dm_output_lock(&file->at, file->part, file->made, LOCK_SH);
}

dm_status dm_output_check_name(const dm_output_file *file, const char *path) {
  if (dm_path_names(path, file->made)) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_IO, &file->at,
                            "'%s' is not the file that this run made: it was removed or replaced",
                            path),
                 "is another run writing the same output?");
}

dm_status dm_output_check_open(const dm_output_file *file, int fd) {
  struct stat info;
  if (fstat(fd, &info) < 0) return dm_file_failed(&file->at, file->part, "examined");
  /* Not the device: every node of a cluster numbers its mounts itself. */
  if (S_ISREG(info.st_mode) && (uint64_t)info.st_ino == file->inode) return DM_OK;
  return dm_hint(
      dm_fail_at(DM_E_IO, &file->at, "'%s' is not the file that rank 0 made", file->part),
      "is another run using it, or do the nodes see different file systems?");
}

void dm_output_discard(const dm_output_file *file) {
  char new[DM_SIBLING_PATH];
  if (!file->part[0]) return;
  if (file->store) {
    if (dm_path_names(file->part, file->made))
      dm_status_free(dm_store_remove(&file->at, file->part));
    return;
  }
  if (dm_path_names(file->part, file->made)) unlink(file->part);
  dm_status status = dm_output_new_name(&file->at, new);
  if (!status && dm_path_names(new, file->made)) unlink(new); /* a commit has ended there */
  dm_status_free(status);
}

void dm_output_release(dm_output_file *file) {
  if (file->made >= 0) close(file->made);
  file->made = -1;
}

void dm_output_give_up(dm_output_file *file) {
  dm_output_discard(file);
  dm_output_release(file);
}

/* ---- names ---- */

dm_status dm_output_new_name(const dm_location *at, char path[DM_SIBLING_PATH]) {
  return dm_file_sibling(at, ".damier-new", path);
}

dm_status dm_output_forget_new(const dm_location *at) {
  char path[DM_SIBLING_PATH];
  DM_TRY(dm_output_new_name(at, path));
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat info;
  dm_status status = fd < 0 ? DM_OK : dm_output_lock(at, path, fd, LOCK_EX);
  if (!status && fd >= 0 && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
    status = dm_store_remove(at, path);
  else if (!status && unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
    status = dm_file_failed(at, path, "removed");
  if (fd >= 0) close(fd);
  return status;
}

/* As long as it replaces a file nobody else can read it. */
static mode_t first_mode(const dm_output_file *out) {
  struct stat old;
  return lstat(out->at.file, &old) == 0 ? 0600 : 0666;
}

dm_status dm_output_make(dm_output_file *out, const dm_output_file *part) {
  DM_TRY(dm_output_new_name(&out->at, out->part));
  if (part && dm_path_names(out->part, part->made) && unlink(out->part) < 0)
    return dm_file_failed(&out->at, out->part, "replaced");
  DM_TRY(dm_output_forget_new(&out->at));
  if (out->store) return dm_store_make(out);
  out->made = open(out->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, first_mode(out));
  return out->made < 0 ? dm_file_failed(&out->at, out->part, "created") : DM_OK;
}

dm_status dm_output_fill(dm_output_file *out, const dm_output_file *file,
                         const dm_output_file *part, bool store, dm_output_filling *work,
                         void *context) {
  *out = *file;
  out->store = store;
  out->made = -1;
  out->part[0] = '\0';
  DM_TRY(dm_output_make(out, part));
  dm_status status = dm_output_lock(&out->at, out->part, out->made, LOCK_EX);
  if (!status) status = work(context, out);
  if (!status) status = dm_output_share(out);
  if (status) dm_output_give_up(out);
  return status;
}

dm_status dm_output_make_unnamed(dm_output_file *out) {
  char directory[DM_PATH];
  DM_TRY(dm_output_new_name(&out->at, out->part));
  dm_path_directory(out->at.file, directory);
  out->made = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, first_mode(out));
  if (out->made >= 0) return DM_OK;
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)
    return dm_output_make(out, NULL);
  return dm_file_failed(&out->at, out->part, "created");
}

int dm_output_rename_new(const char *from, const char *to) {
  int failed = renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
  if (!failed || (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)) return failed;
  /* Kernels or file systems without a rename that never replaces. */
  if (link(from, to) == 0) return unlink(from);
  if (errno == EEXIST) return -1;
  struct stat info;
  if (lstat(to, &info) != 0) return rename(from, to);
  errno = EEXIST;
  return -1;
}

/* On file systems without hard links the second name replaces the first. */
static dm_status add_name(const dm_output_file *out, const char *from, const char *to) {
  if (link(from, to) == 0) return DM_OK;
  const bool none = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK;
  return none && dm_output_rename_new(from, to) == 0 ? DM_OK
                                                     : dm_file_failed(&out->at, to, "created");
}

/* Opens a file that was made without a name once more, so that lists of open files show its name.
 * It stays locked meanwhile. */
static dm_status open_named(dm_output_file *out) {
  const int named = open(out->part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (named < 0) return dm_file_failed(&out->at, out->part, "opened");
  dm_status status = dm_output_check_name(out, out->part);
  if (!status) status = dm_output_lock(&out->at, out->part, out->made, LOCK_SH);
  if (!status) status = dm_output_lock(&out->at, out->part, named, LOCK_SH);
  close(status ? named : out->made);
  if (!status) out->made = named;
  return status;
}

dm_status dm_output_name(dm_output_file *out) {
  char new[DM_SIBLING_PATH], made[DM_DESCRIPTOR];
  DM_TRY(dm_output_new_name(&out->at, new));
  const bool unnamed = !dm_path_names(new, out->made);
  if (unnamed && linkat(AT_FDCWD, dm_output_by_descriptor(out->made, made), AT_FDCWD, new,
                        AT_SYMLINK_FOLLOW) < 0)
    return dm_file_failed(&out->at, new, "created");
  DM_TRY(dm_file_sibling(&out->at, ".part", out->part));
  DM_TRY(add_name(out, new, out->part));
  return unnamed ? open_named(out) : DM_OK;
}

dm_status dm_output_name_again(dm_output_file *out) {
  char new[DM_SIBLING_PATH];
  DM_TRY(dm_output_new_name(&out->at, new));
  if (strcmp(out->part, new) == 0) return dm_output_name(out);
  if (dm_path_names(new, out->made)) return DM_OK;
  DM_TRY(dm_output_forget_new(&out->at));
  (void)!link(out->part, new); /* if the file system has hard links */
  return DM_OK;
}

dm_status dm_output_take_new_name(dm_output_file *out, int folder) {
  char new[DM_SIBLING_PATH];
  DM_TRY(dm_output_new_name(&out->at, new));
  DM_TRY(dm_output_check_name(out, out->part));
  if (strcmp(out->part, new) == 0) return DM_OK;
  if (dm_path_names(new, out->made)) {
    if (unlink(out->part) < 0) return dm_file_failed(&out->at, out->part, "renamed");
  } else {
    DM_TRY(dm_output_forget_new(&out->at));
    if (rename(out->part, new) < 0) return dm_file_failed(&out->at, out->part, "renamed");
    DM_TRY(dm_folder_sync(&out->at, folder));
  }
  memcpy(out->part, new, sizeof new);
  return DM_OK;
}

/* ---- rights ---- */

enum { ATTRIBUTE_NAMES = 1 << 16, ATTRIBUTE_BYTES = 1 << 16 /* Linux allows no more */ };

#define ACL "system.posix_acl_access"

/* Whatever the file system or the rights of this process do not allow is left out. False: the list
 * of rights could not be copied. */
static bool copy_attributes(const char *old, int made, bool same_group, char *names, char *value) {
  bool complete = true;
  const ssize_t length = llistxattr(old, names, ATTRIBUTE_NAMES);
  for (const char *name = names; length > 0 && name < names + length; name += strlen(name) + 1) {
    const bool list = strcmp(name, ACL) == 0;
    if (!list && strncmp(name, "user.", 5) != 0 && strcmp(name, "security.selinux") != 0) continue;
    const ssize_t bytes = list && !same_group ? -1 : lgetxattr(old, name, value, ATTRIBUTE_BYTES);
    const bool copied = bytes >= 0 && fsetxattr(made, name, value, (size_t)bytes, 0) == 0;
    if (list) complete = copied;
  }
  return complete;
}

/* Keeps the owner, or else the group, as far as this process may. */
static dm_status take_owner(const dm_output_file *out, const struct stat *old, bool *same_group) {
  struct stat new;
  if (fstat(out->made, &new) < 0) return dm_file_failed(&out->at, out->part, "examined");
  if (old->st_uid != new.st_uid && fchown(out->made, old->st_uid, old->st_gid) < 0)
    (void)!fchown(out->made, (uid_t)-1, old->st_gid);
  else if (old->st_uid == new.st_uid && old->st_gid != new.st_gid)
    (void)!fchown(out->made, (uid_t)-1, old->st_gid);
  if (fstat(out->made, &new) < 0) return dm_file_failed(&out->at, out->part, "examined");
  *same_group = new.st_gid == old->st_gid;
  return DM_OK;
}

dm_status dm_output_take_rights(const dm_output_file *out) {
  struct stat old;
  DM_FREED char *memory = NULL;
  bool same_group = false;
  if (lstat(out->at.file, &old) < 0) return DM_OK; /* nothing is replaced */
  DM_TRY(take_owner(out, &old, &same_group));
  DM_TRY(dm_buffer_alloc(ATTRIBUTE_NAMES + ATTRIBUTE_BYTES, (void **)&memory));
  (void)fremovexattr(out->made, ACL); /* inherited from the directory */
  /* The rights of another group, or of a list that is missing, are not for this group. */
  const bool listed =
      copy_attributes(out->at.file, out->made, same_group, memory, memory + ATTRIBUTE_NAMES);
  const mode_t mode = old.st_mode & (same_group && listed ? 07777 : 0707);
  return fchmod(out->made, mode) < 0
             ? dm_file_failed(&out->at, out->part, "given the rights of the file")
             : DM_OK;
}

dm_status dm_output_lock(const dm_location *at, const char *path, int fd, int operation) {
  if (flock(fd, operation | LOCK_NB) == 0 || errno != EWOULDBLOCK) return DM_OK;
  return dm_hint(dm_fail_at(DM_E_IO, at, "another run is writing '%s'", path),
                 "wait for it, or name another output");
}

const char *const dm_output_endings[] = {".part",          ".journal",       ".damier-new",
                                         ".damier-pair-n", ".damier-pair-p", ".damier-pair-s",
                                         ".damier-pair-q", ".damier-pair-t", ".damier-pair-r",
                                         ".damier-kept",   ".damier-kept-n", NULL};
