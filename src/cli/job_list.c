#include "cli/job_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "core/units.h"

static dm_status job_list_no_memory(void) {
  return dm_fail(DM_E_FIT, "no memory for the list of jobs");
}

/* "3/10": part 3 of 10. */
static dm_status job_list_part(const char *of, int64_t *part, int64_t *parts) {
  char first[32];
  const char *slash = strchr(of, '/');
  *part = 0;
  *parts = 1;
  if (!of[0]) return DM_OK;
  snprintf(first, sizeof first, "%.*s", slash ? (int)dm_min(slash - of, 31) : 0, of);
  if (!slash || !dm_parse_count(first, part) || !dm_parse_count(slash + 1, parts) || *parts < 1 ||
      *part > *parts)
    return dm_hint(dm_fail(DM_E_USAGE, "option '--jobs-of': '%s' is no part I/N", of),
                   "--jobs-of $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT, for an array 0-9 or "
                   "1-10");
  *part %= *parts;
  return DM_OK;
}

/* Adds a copy of WORD, which may be empty. */
static dm_status job_list_add_word(dm_job_line *job, const char *word) {
  char **more = realloc(job->word, (size_t)(job->words + 2) * sizeof *more);
  char *copy = strdup(word);
  if (more) job->word = more;
  if (!more || !copy) {
    free(copy);
    return job_list_no_memory();
  }
  job->word[job->words++] = copy;
  job->word[job->words] = NULL;
  return DM_OK;
}

/* Moves the next word of *AT, without its quotes, to WORD; false: there is none, or a comment.
 * *OPEN: a quote is not closed. */
static bool job_list_word(const char **at, char *word, bool *open) {
  const char *from = *at + strspn(*at, " \t");
  char quote = '\0', *to = word;
  if (!*from || *from == '#') return false;
  for (; *from && (quote || (*from != ' ' && *from != '\t')); from++) {
    if (!quote && (*from == '\'' || *from == '"'))
      quote = *from;
    else if (*from == quote)
      quote = '\0';
    else if (*from == '\\' && quote != '\'' && from[1])
      *to++ = *++from;
    else
      *to++ = *from;
  }
  *to = '\0';
  *at = from;
  *open = quote != '\0';
  return true;
}

/* "damier" may be missing, or be the name of its file. */
static bool job_list_is_program(const char *word) {
  const char *slash = strrchr(word, '/');
  return strcmp(slash ? slash + 1 : word, "damier") == 0;
}

static dm_status job_list_split(const char *text, char *word, dm_job_line *job) {
  bool open = false;
  DM_TRY(job_list_add_word(job, "damier"));
  for (const char *at = text; job_list_word(&at, word, &open);)
    if (job->words > 1 || !job_list_is_program(word)) DM_TRY(job_list_add_word(job, word));
  if (!open && job->words > 1) return DM_OK;
  job->wrong = strdup(open ? "a quote is not closed" : "no command follows");
  return job->wrong ? DM_OK : job_list_no_memory();
}

static dm_status job_list_add(dm_job_list *list, int64_t line, const char *text) {
  if ((list->count & (list->count - 1)) == 0) { /* room for a power of two */
    const size_t room = list->count ? 2 * (size_t)list->count : 1;
    dm_job_line *more = realloc(list->jobs, room * sizeof *more);
    if (!more) return job_list_no_memory();
    list->jobs = more;
  }
  dm_job_line *job = &list->jobs[list->count++];
  *job = (dm_job_line){.line = line};
  char *word = malloc(strlen(text) + 1);
  dm_status status = word ? job_list_split(text, word, job) : job_list_no_memory();
  free(word);
  return status;
}

dm_status dm_job_list_read(const char *file, const char *of, dm_job_list *list) {
  char *text = NULL;
  size_t room = 0;
  int64_t part, parts, line = 0, jobs = 0;
  ssize_t length;
  *list = (dm_job_list){.count = 0};
  DM_TRY(job_list_part(of, &part, &parts));
  FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
  if (!in) return dm_fail(DM_E_IO, "'%s' cannot be opened: %s", file, strerror(errno));
  dm_status status = DM_OK;
  while (!status && (length = getline(&text, &room, in)) >= 0) {
    line++;
    if (memchr(text, '\0', (size_t)length)) {
      status = dm_fail(DM_E_USAGE, "'%s' is no list of jobs: it is no text", file);
      break;
    }
    text[strcspn(text, "\r\n")] = '\0';
    const char *start = text;
    if (line == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0) start += 3; /* editors of Windows */
    start += strspn(start, " \t");
    if (*start == '\0' || *start == '#' || jobs++ % parts != part) continue;
    status = job_list_add(list, line, start);
  }
  if (!status && ferror(in)) status = dm_fail(DM_E_IO, "'%s' cannot be read", file);
  free(text);
  fclose(in);
  return status;
}

void dm_job_list_free(dm_job_list *list) {
  for (int64_t i = 0; i < list->count; i++) {
    for (int w = 0; w < list->jobs[i].words; w++) free(list->jobs[i].word[w]);
    free(list->jobs[i].word);
    free(list->jobs[i].wrong);
  }
  free(list->jobs);
  *list = (dm_job_list){.count = 0};
}
