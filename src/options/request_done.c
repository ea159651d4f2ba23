/* The files of a product, and whether C is already there: the complete result of the same options,
 * inputs and version. */
#include "core/checksum.h"
#include "options/request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/buffer.h"
#include "core/version.h"
#include "io/file_note.h"
#include "io/journal.h"
#include "io/output_form.h"

/* ---- what C is made of ---- */

/* Options that say how a run proceeds, or where C goes, not what C is. */
static bool done_is_of_run(const char *name) {
  static const char *const names[] = {
      "output",       "force",   "append",     "if-needed", "checkpoint", "checkpoint-interval",
      "hang-timeout", "threads", "io-threads", "memory",    "read-by",    "write-by"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static uint64_t done_add(uint64_t sum, const void *data, size_t bytes) {
  return dm_checksum_bytes(data, (int64_t)bytes, sum);
}

static uint64_t done_add_options(uint64_t sum, const dm_settings *s) {
  const bool verbs[] = {s->gram, s->covariance, s->correlation};
  for (int i = 0; i < dm_option_count; i++) {
    const dm_option *o = &dm_options[i];
    if (!dm_option_is_setting(o) || done_is_of_run(o->name)) continue;
    sum = done_add(sum, o->name, strlen(o->name));
    sum = done_add(sum, (const char *)s + o->value.at, o->value.room);
  }
  return done_add(sum, verbs, sizeof verbs);
}

/* What identifies INPUT, as in a journal: name, part and meaning of the dataset; bytes, time and
 * samples of its file. */
static dm_status done_add_input(const dm_dataset *input, uint64_t *sum) {
  if (input->rows == 0 && !input->at.file[0]) return DM_OK; /* there is none */
  const int64_t facts[] = {input->rows, input->cols, (int64_t)input->dtype, input->file_bytes,
                           input->modified_ns};
  const char *const texts[] = {input->at.dataset, input->at.part, input->meaning.text};
  uint64_t sample = 0;
  if (!dm_dataset_is_empty(input)) DM_TRY(dm_checksum_sample(input, &sample));
  for (int i = 0; i < 3; i++) *sum = done_add(*sum, texts[i], strlen(texts[i]) + 1);
  *sum = done_add(*sum, facts, sizeof facts);
  *sum = done_add(*sum, &sample, sizeof sample);
  return DM_OK;
}

static dm_status done_identify(const dm_settings *s, const dm_product_files *f,
                               char text[DM_REQUEST]) {
  enum { DONE_MATRICES = 3 };
  static const char version[] = DM_VERSION " " DM_GIT;
  const dm_vectors *v = &f->vectors;
  const dm_dataset *const inputs[DONE_MATRICES + DM_USER_VECTORS] = {
      &f->a,        &f->b,      f->has_c ? &f->c : NULL, &v->center[0], &v->center[1], &v->scale[0],
      &v->scale[1], &v->weights};
  uint64_t sum = done_add_options(done_add(0, version, sizeof version), s);
  for (int i = 0; i < DONE_MATRICES + DM_USER_VECTORS; i++) {
    const dm_numbers *own = i < DONE_MATRICES ? NULL : &s->numbers[i - DONE_MATRICES];
    const char place = (char)i;
    sum = done_add(sum, &place, 1);
    if (own && own->list)
      sum = done_add(sum, own->list, (size_t)own->count * sizeof *own->list);
    else if (inputs[i])
      DM_TRY(done_add_input(inputs[i], &sum));
  }
  snprintf(text, DM_REQUEST, "%016llx", (unsigned long long)sum);
  return DM_OK;
}

/* ---- what C is ---- */

static bool done_has(const dm_attributes *list, const char *name, const char *text) {
  const char *found = dm_attributes_find(list, name);
  return found && strcmp(found, text) == 0;
}

/* As the exit code of that run was 0. */
static bool done_is_verified(const dm_settings *s, const dm_attributes *list) {
  return !s->verify || done_has(list, "verified", "PASS") ||
         (s->allow_unchecked &&
          (done_has(list, "verified", "PARTIAL") || done_has(list, "verified", "UNCHECKED")));
}

/* Whether the file of OUTPUT has no attributes, but perhaps a note. */
static bool done_has_note(const dm_location *output) {
  return dm_output_is_npy(output) || dm_output_is_npz(output);
}

/* The texts beside C, none if there is no C that can be read. */
static void done_read(const dm_settings *s, bool reduced, dm_attributes *list) {
  dm_location at = s->output;
  if (done_has_note(&at)) {
    dm_file_noted(at.file, list);
    return;
  }
  dm_dataset c = {.composite = NULL};
  DM_FREED dm_settings *plain = NULL;
  if (!at.dataset[0] && !dm_output_is_alone(&at)) strcpy(at.dataset, "/c");
  list->count = 0;
  if (access(at.file, F_OK) < 0 && errno == ENOENT) return;
  dm_status status = dm_buffer_table(1, &plain);
  if (!status) status = dm_settings_defaults(plain);
  if (!status && reduced) status = dm_request_inspect_group(plain, &at, list);
  if (!status && !reduced) {
    const dm_log silent = {.out = NULL, .level = DM_LOG_ERROR};
    plain->raw = true;
    status = dm_request_inspect_shaped(plain, &silent, &at, DM_AS_COLUMN, &c, list);
  }
  if (status) list->count = 0;
  dm_status_free(status);
  dm_dataset_free(&c);
}

/* A file with a note is. */
static bool done_is_complete(const dm_location *output, const dm_attributes *list) {
  return done_has_note(output) || done_has(list, "damier_state", "complete");
}

/* The old C would be another one the next time. */
static dm_status done_check_old(const dm_settings *s, const dm_product_files *f) {
  if (!f->has_c || strcmp(s->old_c.file, s->output.file) != 0) return DM_OK;
  return dm_hint(dm_fail(DM_E_USAGE, "--if-needed cannot tell whether the product was added to C"),
                 "name another output than the old C");
}

dm_status dm_request_find_done(const dm_settings *s, dm_product_files *f) {
  DM_FREED dm_attributes *list = NULL;
  dm_reductions kept;
  DM_TRY(dm_request_reductions(s, &kept));
  dm_status status = done_identify(s, f, f->request);
  if (status) f->request[0] = '\0'; /* the run will say what cannot be read */
  dm_status_free(status);
  if (!s->if_needed && !s->skip_done) return DM_OK;
  if (s->if_needed) DM_TRY(done_check_old(s, f));
  /* These are several files or groups. */
  if (!f->request[0] || s->grm || kept.count > 1) return DM_OK;
  DM_TRY(dm_buffer_table(1, &list));
  done_read(s, kept.count > 0, list);
  f->done = done_has(list, "request", f->request) && done_is_verified(s, list) &&
            (kept.count > 0 || done_is_complete(&s->output, list));
  if (f->done) f->out = s->output;
  if (f->done && !f->out.dataset[0] && !dm_output_is_alone(&f->out)) strcpy(f->out.dataset, "/c");
  return DM_OK;
}

/* Whether OUTPUT, with NAME where it names none, has attributes of this request; *list: these. */
static bool done_is_here(const dm_settings *s, const dm_product_files *f, dm_settings *named,
                         const char *name, bool is_group, dm_attributes *list) {
  if (!named->output.dataset[0] && !done_has_note(&named->output))
    strcpy(named->output.dataset, name);
  done_read(named, is_group, list);
  return done_has(list, "request", f->request) && done_is_verified(s, list);
}

dm_status dm_request_find_components(const dm_settings *s, dm_product_files *f) {
  DM_FREED dm_attributes *list = NULL;
  DM_FREED dm_settings *named = NULL;
  dm_status status = done_identify(s, f, f->request);
  if (status) f->request[0] = '\0';
  dm_status_free(status);
  if ((!s->if_needed && !s->skip_done) || !f->request[0] || dm_output_is_alone(&s->output))
    return DM_OK;
  DM_TRY(dm_buffer_table(1, &list));
  DM_TRY(dm_buffer_table(1, &named));
  *named = *s;
  f->done = done_is_here(s, f, named, s->covariance ? "/pca" : "/svd", true, list) &&
            done_has(list, "converged", "yes");
  f->out = named->output;
  if (!f->done || !s->scores.file[0]) return DM_OK;
  named->output = s->scores;
  f->done =
      done_is_here(s, f, named, dm_output_is_alone(&s->scores) ? "" : "/scores", false, list) &&
      done_is_complete(&s->scores, list);
  return DM_OK;
}

dm_status dm_request_inspect_files(const dm_settings *s, const dm_log *log,
                                   const char *const operands[2], dm_product_files *f) {
  dm_problem problem;
  DM_TRY(dm_request_inspect_operands(s, log, operands, f, &problem));
  const dm_equation equation = dm_request_equation(s);
  DM_TRY(dm_request_inspect_vectors(s, log, &equation, &f->a, &f->b, &f->vectors));
  DM_TRY(dm_request_find_done(s, f));
  return f->done ? DM_OK : dm_request_check_output(s, log, f);
}
