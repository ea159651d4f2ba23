/* The path of a dataset without links: what lies beside it lies there. */
#include <stdio.h>
#include <string.h>

#include "dataset/hdf5_use.h"
#include "inspect/beside.h"

enum { BESIDE_MOST_LINKS = 16 }; /* that are followed */

static void beside_use_file(dm_beside *b, int64_t file, bool own) {
  const hid_t before = b->file;
  if (b->own_file) dm_h5_cleanup(&before);
  b->file = file;
  b->own_file = own;
}

typedef struct beside_way {
  dm_beside *of;
  int links;          /* followed so far */
  char done[DM_PATH]; /* "/a/b": hard links only */
  char left[DM_PATH]; /* "c/d" */
} beside_way;

/* W goes on by TARGET in place of what is done and NAME. False: too long, or too many links. */
static bool beside_turn(beside_way *w, const char *target) {
  char path[2 * DM_PATH];
  const int length = snprintf(path, sizeof path, "%s/%s", target, w->left);
  if (length < 0 || length >= DM_PATH || ++w->links > BESIDE_MOST_LINKS) return false;
  memcpy(w->left, path, (size_t)length + 1);
  if (target[0] == '/') w->done[0] = '\0';
  return true;
}

/* Follows the link PATH, which leads to TARGET, into another file. */
static bool beside_leave(beside_way *w, const char *path, const char *target) {
  dm_beside *b = w->of;
  dm_h5_exit leave;
  DM_H5_HELD hid_t access = dm_h5_access(b->trust->external, &leave);
  DM_H5_HELD hid_t object = access < 0 ? -1 : H5Oopen(b->file, path, access);
  const hid_t file = object < 0 ? -1 : H5Iget_file_id(object);
  if (file < 0 || !beside_turn(w, target)) {
    dm_h5_cleanup(&file);
    return false;
  }
  beside_use_file(b, file, true);
  w->done[0] = '\0';
  return true;
}

/* Goes on by the component NAME. False: where it leads is not known. */
static bool beside_step(beside_way *w, const char *name) {
  H5L_info_t info;
  char path[2 * DM_PATH], target[2 * DM_PATH];
  const char *file = NULL, *object = NULL;
  unsigned flags;
  if (snprintf(path, sizeof path, "%s/%s", w->done, name) >= DM_PATH ||
      H5Lget_info(w->of->file, path, &info, H5P_DEFAULT) < 0)
    return false;
  if (info.type == H5L_TYPE_HARD) {
    memcpy(w->done, path, DM_PATH);
    return true;
  }
  if (info.u.val_size >= sizeof target ||
      H5Lget_val(w->of->file, path, target, sizeof target, H5P_DEFAULT) < 0)
    return false;
  if (info.type == H5L_TYPE_SOFT) return beside_turn(w, target);
  return info.type == H5L_TYPE_EXTERNAL &&
         H5Lunpack_elink_val(target, info.u.val_size, &flags, &file, &object) >= 0 &&
         beside_leave(w, path, object);
}

void dm_beside_follow(dm_beside *b) {
  const int64_t stated = b->file;
  beside_way w = {.of = b};
  /* An array of Zarr without a name has one in its mirror. */
  if (b->at->dataset[0])
    snprintf(w.left, sizeof w.left, "%s", b->at->dataset);
  else if (H5Iget_name(b->level[0].object, w.left, sizeof w.left - 1) < 0)
    H5Eclear2(H5E_DEFAULT);
  bool known = true;
  while (known && w.left[strspn(w.left, "/")] != '\0') {
    char name[DM_PATH];
    const char *begin = w.left + strspn(w.left, "/");
    const size_t length = strcspn(begin, "/");
    memcpy(name, begin, length);
    name[length] = '\0';
    memmove(w.left, begin + length, strlen(begin + length) + 1);
    if (strcmp(name, ".") != 0) known = beside_step(&w, name);
  }
  if (!known) {
    H5Eclear2(H5E_DEFAULT);
    beside_use_file(b, stated, false);
  }
  snprintf(b->level[0].path, sizeof b->level[0].path, "%s", known ? w.done : b->at->dataset);
}
