/* page: a document that a program of this folder makes, as text, and the one that is stored. */
#ifndef DM_DOCUMENTS_PAGE_H
#define DM_DOCUMENTS_PAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_ROOM = 1 << 18 };

typedef struct page {
  size_t used;
  char text[PAGE_ROOM];
} page;

static void add(page *p, const char *text) {
  const size_t length = strlen(text);
  if (p->used + length >= sizeof p->text) {
    fputs("the document is too long\n", stderr);
    exit(1);
  }
  memcpy(p->text + p->used, text, length + 1);
  p->used += length;
}

/* Reads the file NAME to OLD. */
static void read_page(const char *name, page *old) {
  FILE *file = fopen(name, "r");
  if (file) old->used = fread(old->text, 1, sizeof old->text - 1, file);
  if (!file || ferror(file)) {
    fprintf(stderr, "%s cannot be read\n", name);
    exit(1);
  }
  fclose(file);
  old->text[old->used] = '\0';
}

#endif
