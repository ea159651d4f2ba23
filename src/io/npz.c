#include "io/npz.h"

#include <string.h>
#include <zlib.h>

#include "core/buffer.h"
#include "core/checked.h"
#include "dataset/npy_header.h"
#include "io/batch.h"

/* All sizes and offsets have 64 bits, in the extra fields that zip has for them, as NumPy's own
 * archives do: one form for every size. */
enum {
  LOCAL = 30 + 20,     /* bytes of a member's head without its name, */
  NPZ_ENTRY = 46 + 28, /* of its entry in the list at the end, */
  END = 56 + 20 + 22,  /* and of what follows the list */
  NPZ_BLOCK = 1 << 22  /* bytes written at once, between two beats */
};

/* Numbers of zip, least byte first. */
typedef struct zip_text {
  unsigned char *to;
  int64_t used;
} zip_text;

static void zip_put(zip_text *t, int bytes, uint64_t value) {
  for (int i = 0; i < bytes; i++) t->to[t->used++] = (unsigned char)(value >> (8 * i));
}

static void zip_put_bytes(zip_text *t, const void *from, int64_t bytes) {
  memcpy(t->to + t->used, from, (size_t)bytes);
  t->used += bytes;
}

/* A member as it is written. */
typedef struct zip_member {
  const dm_npz_member *of;
  char header[DM_NPY_HEADER];
  int64_t header_bytes, bytes, at; /* BYTES with the header; where its head is */
  uint32_t sum;
} zip_member;

static zip_member zip_member_of(const dm_npz_member *of, int64_t at) {
  zip_member m = {.of = of, .at = at};
  if (strstr(of->name, ".npy") != NULL)
    m.header_bytes = dm_npy_header_of(of->type, of->shape, m.header);
  m.bytes = m.header_bytes + of->bytes;
  return m;
}

static int64_t zip_member_end(const zip_member *m) {
  return m->at + LOCAL + (int64_t)strlen(m->of->name) + m->bytes;
}

int64_t dm_npz_bytes(const dm_npz_member *members, int count) {
  int64_t all = END;
  for (int i = 0; i < count; i++) {
    const zip_member m = zip_member_of(&members[i], all);
    all = zip_member_end(&m) + NPZ_ENTRY + (int64_t)strlen(members[i].name);
  }
  return all;
}

/* What a head and an entry have in common: from the version that is needed to the lengths. */
static void zip_put_common(zip_text *t, const zip_member *m, int extra) {
  enum { VERSION = 45, FIRST_DAY = 1 << 5 | 1 /* January 1, 1980, as NumPy says */ };
  zip_put(t, 2, VERSION);
  zip_put(t, 4, 0); /* no flags, stored */
  zip_put(t, 4, (uint64_t)FIRST_DAY << 16);
  zip_put(t, 4, m->sum);
  zip_put(t, 4, UINT32_MAX);
  zip_put(t, 4, UINT32_MAX);
  zip_put(t, 2, strlen(m->of->name));
  zip_put(t, 2, (uint64_t)extra);
}

/* The extra field with the sizes, and, in an NPZ_ENTRY, where the head is. */
static void zip_put_sizes(zip_text *t, const zip_member *m, bool entry) {
  zip_put(t, 2, 1);
  zip_put(t, 2, entry ? 24 : 16);
  zip_put(t, 8, (uint64_t)m->bytes);
  zip_put(t, 8, (uint64_t)m->bytes);
  if (entry) zip_put(t, 8, (uint64_t)m->at);
}

static void zip_put_head(zip_text *t, const zip_member *m) {
  zip_put(t, 4, 0x04034b50);
  zip_put_common(t, m, 20);
  zip_put_bytes(t, m->of->name, (int64_t)strlen(m->of->name));
  zip_put_sizes(t, m, false);
}

static void zip_put_entry(zip_text *t, const zip_member *m) {
  zip_put(t, 4, 0x02014b50);
  zip_put(t, 2, 3 << 8 | 45); /* made on Unix */
  zip_put_common(t, m, 28);
  zip_put(t, 2, 0); /* no comment, */
  zip_put(t, 2, 0); /* on this disk, */
  zip_put(t, 2, 0);
  zip_put(t, 4, (uint64_t)0100644 << 16); /* a plain file */
  zip_put(t, 4, UINT32_MAX);
  zip_put_bytes(t, m->of->name, (int64_t)strlen(m->of->name));
  zip_put_sizes(t, m, true);
}

/* What follows the list of COUNT entries, BYTES at AT. */
static void zip_put_end(zip_text *t, int count, int64_t bytes, int64_t at) {
  zip_put(t, 4, 0x06064b50);
  zip_put(t, 8, 44);
  zip_put(t, 2, 3 << 8 | 45);
  zip_put(t, 2, 45);
  zip_put(t, 8, 0);
  zip_put(t, 8, (uint64_t)count);
  zip_put(t, 8, (uint64_t)count);
  zip_put(t, 8, (uint64_t)bytes);
  zip_put(t, 8, (uint64_t)at);
  zip_put(t, 4, 0x07064b50);
  zip_put(t, 4, 0);
  zip_put(t, 8, (uint64_t)(at + bytes));
  zip_put(t, 4, 1);
  zip_put(t, 4, 0x06054b50);
  zip_put(t, 4, 0);
  zip_put(t, 2, UINT16_MAX);
  zip_put(t, 2, UINT16_MAX);
  zip_put(t, 4, UINT32_MAX);
  zip_put(t, 4, UINT32_MAX);
  zip_put(t, 2, 0);
}

/* Writes BYTES of DATA, of M, from AT on, and adds them to its sum. */
static dm_status zip_write_summed(int fd, const char *path, zip_member *m, const char *data,
                                  int64_t bytes, int64_t at, const dm_keepalive *keepalive) {
  for (int64_t done = 0; done < bytes; done += NPZ_BLOCK) {
    const int64_t some = dm_min(NPZ_BLOCK, bytes - done);
    m->sum = (uint32_t)crc32(m->sum, (const unsigned char *)data + done, (unsigned)some);
    DM_TRY(dm_batch_move(fd, true, path, (void *)(data + done), some, at + done));
    DM_TRY(dm_keepalive_beat(keepalive));
  }
  return DM_OK;
}

/* The head, which has the sum, comes last. */
static dm_status zip_write_member(int fd, const char *path, zip_member *m,
                                  const dm_keepalive *keepalive) {
  unsigned char head[LOCAL + sizeof m->of->name];
  zip_text t = {head, 0};
  const int64_t at = m->at + LOCAL + (int64_t)strlen(m->of->name);
  DM_TRY(zip_write_summed(fd, path, m, m->header, m->header_bytes, at, keepalive));
  DM_TRY(zip_write_summed(fd, path, m, m->of->data, m->of->bytes, at + m->header_bytes, keepalive));
  zip_put_head(&t, m);
  return dm_batch_move(fd, true, path, head, t.used, m->at);
}

dm_status dm_npz_write(int fd, const char *path, const dm_npz_member *members, int count,
                       const dm_keepalive *keepalive) {
  DM_FREED unsigned char *list = NULL;
  int64_t at = 0;
  DM_TRY(
      dm_buffer_alloc(count * (NPZ_ENTRY + (int64_t)sizeof members->name) + END, (void **)&list));
  zip_text t = {list, 0};
  for (int i = 0; i < count; i++) {
    zip_member m = zip_member_of(&members[i], at);
    DM_TRY(zip_write_member(fd, path, &m, keepalive));
    zip_put_entry(&t, &m);
    at = zip_member_end(&m);
  }
  zip_put_end(&t, count, t.used, at);
  return dm_batch_move(fd, true, path, list, t.used, at);
}
