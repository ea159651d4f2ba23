#include "transform/relationship.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/buffer.h"
#include "core/centering.h"
#include "core/checked.h"
#include "core/checksum.h"
#include "dataset/composite.h"
#include "inspect/bed_lists.h"
#include "plan/partition.h"

enum { FIELDS = 6, RELATIONSHIP_FEW = 50 /* founders */ };

/* A line of a list. */
typedef struct listed_line {
  uint64_t name; /* a checksum of what identifies it */
  bool counts;   /* a variant that is not left out, or a founder */
} listed_line;

typedef struct relation_list {
  dm_bed_list kind;
  dm_location at; /* for messages */
  listed_line *lines;
  int64_t room;
} relation_list;

/* ---- lines ---- */

/* Cuts LINE into at most FIELDS words; returns their number. */
static int relation_words(char *line, char *words[FIELDS]) {
  static const char blank[] = " \t";
  int count = 0;
  for (char *word = line + strspn(line, blank); *word && count < FIELDS; count++) {
    char *end = word + strcspn(word, blank);
    words[count] = word;
    word = end + strspn(end, blank);
    *end = '\0';
  }
  return count;
}

/* What the chromosome CODE is: 1 with variants of two alleles in everybody, 0 without, -1
 * unknown. */
static int relation_chromosome(const char *code) {
  static const struct {
    const char *code;
    int is;
  } named[] = {{"X", 0},  {"Y", 0},  {"M", 0},  {"MT", 0}, {"XY", 1}, {"PAR1", 1}, {"PAR2", 1},
               {"23", 0}, {"24", 0}, {"26", 0}, {"25", 1}, {"27", 1}, {"28", 1}};
  char *end;
  if (strncasecmp(code, "chr", 3) == 0) code += 3;
  for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
    if (strcasecmp(code, named[i].code) == 0) return named[i].is;
  const long number = isdigit((unsigned char)code[0]) ? strtol(code, &end, 10) : -1;
  return number >= 0 && number <= 22 && *end == '\0' ? 1 : -1;
}

static uint64_t relation_name(char *const words[], const int which[3]) {
  uint64_t sum = 0;
  for (int i = 0; i < 3; i++)
    sum = (uint64_t)dm_checksum_bytes(words[which[i]], (int64_t)strlen(words[which[i]]), sum + 1);
  return sum;
}

/* Chromosome, name, (position in morgans,) position, A1, A2. */
static dm_status relation_variant(const relation_list *list, int64_t number, char *line,
                                  listed_line *to) {
  char *words[FIELDS];
  const int count = relation_words(line, words);
  if (count < FIELDS - 1)
    return dm_fail(DM_E_INPUT, "%s: line %lld has %d words; those of .bim have 6", list->at.file,
                   (long long)number + 1, count);
  const int is = relation_chromosome(words[0]);
  if (is < 0)
    return dm_hint(dm_fail(DM_E_INPUT, "%s: the chromosome of variant %lld is '%.20s'",
                           list->at.file, (long long)number + 1, words[0]),
                   "known are 0 to 26, X, Y, XY, MT, PAR1 and PAR2, also after chr; rows of "
                   "G.bed[1000:2000, :] leave others out");
  to->name = relation_name(words, (const int[]){1, count - 2, count - 1});
  to->counts = is == 1;
  return DM_OK;
}

/* Family, name, father, mother, sex, phenotype. */
static dm_status relation_sample(const relation_list *list, int64_t number, char *line,
                                 listed_line *to) {
  char *words[FIELDS];
  const int count = relation_words(line, words);
  if (count < FIELDS - 1)
    return dm_fail(DM_E_INPUT, "%s: line %lld has %d words; those of .fam have 6", list->at.file,
                   (long long)number + 1, count);
  to->name = relation_name(words, (const int[]){0, 1, 1});
  to->counts = strcmp(words[2], "0") == 0 && strcmp(words[3], "0") == 0;
  return DM_OK;
}

static dm_status relation_take(void *context, int64_t number, char *line) {
  relation_list *list = context;
  if (number >= list->room)
    return dm_fail(DM_E_IO, "%s has more lines than when it was inspected", list->at.file);
  return list->kind == DM_BED_VARIANTS ? relation_variant(list, number, line, &list->lines[number])
                                       : relation_sample(list, number, line, &list->lines[number]);
}

/* The list beside SET, a file of genotypes; the caller frees the lines. */
static dm_status relation_read(const dm_dataset *set, dm_bed_list kind, relation_list *list) {
  const bool variants = kind == DM_BED_VARIANTS;
  int64_t count;
  *list = (relation_list){.kind = kind, .room = variants ? set->rows : set->cols};
  DM_TRY(dm_bed_list_name(&set->at, kind, &list->at));
  DM_TRY(dm_buffer_table(list->room, &list->lines));
  DM_TRY(dm_bed_each(&set->at, kind, relation_take, list, &count));
  return count == list->room
             ? DM_OK
             : dm_fail(DM_E_IO, "%s has fewer lines than when it was inspected", list->at.file);
}

/* ---- rows and columns ---- */

/* Those of a matrix: of each what the first list says that has it. */
typedef struct relation_side {
  dm_bed_list kind;
  listed_line *lines;
  bool *known;
} relation_side;

/* Lines FIRST to FIRST + COUNT - 1 of the matrix are those of LIST from FROM on, STEP apart. */
static dm_status relation_place(const relation_list *list, int64_t from, int64_t step,
                                int64_t first, int64_t count, relation_side *to) {
  const bool variants = to->kind == DM_BED_VARIANTS;
  for (int64_t i = 0; i < count; i++) {
    const listed_line *line = &list->lines[from + i * step];
    if (to->known[first + i] && to->lines[first + i].name != line->name)
      return dm_hint(
          dm_fail(DM_E_INPUT, "%s: line %lld is another %s than in the files before it",
                  list->at.file, (long long)(from + i * step) + 1, variants ? "variant" : "sample"),
          variants ? "files side by side have the same variants and alleles, in the same order"
                   : "files one above another have the same samples in the same order");
    to->known[first + i] = true;
    to->lines[first + i] = *line;
  }
  return DM_OK;
}

static dm_status relation_patch(const relation_list *list, const dm_patch *p, relation_side *to) {
  return to->kind == DM_BED_VARIANTS
             ? relation_place(list, p->source_row, p->row_step, p->row, p->rows, to)
             : relation_place(list, p->source_col, p->col_step, p->col, p->cols, to);
}

static dm_status relation_not_genotypes(const dm_dataset *set) {
  char name[DM_NAME];
  return dm_hint(
      dm_fail(DM_E_INPUT, "%s holds no genotypes of PLINK", dm_location_name(&set->at, name)),
      "--grm takes G.bed, with G.bim and G.fam, or a part or a stack of such files");
}

/* All patches from source I of SET. */
static dm_status relation_source(const dm_dataset *set, int64_t i, relation_side *to) {
  const dm_patch *patch = dm_composite_patches(set->composite);
  dm_dataset source;
  relation_list list;
  dm_composite_source(set->composite, i, &source);
  if (!source.genotypes) return relation_not_genotypes(set);
  dm_status status = relation_read(&source, to->kind, &list);
  for (int64_t j = 0; j < set->composite->patches && !status; j++)
    if (patch[j].source == i) status = relation_patch(&list, &patch[j], to);
  free(list.lines);
  return status;
}

static dm_status relation_whole(const dm_dataset *set, relation_side *to) {
  relation_list list;
  if (!set->genotypes) return relation_not_genotypes(set);
  dm_status status = relation_read(set, to->kind, &list);
  if (!status) status = relation_place(&list, 0, 1, 0, list.room, to);
  free(list.lines);
  return status;
}

/* Fills SIDE, of COUNT lines, and WEIGHTS; *LEFT of them have the weight 1. */
static dm_status relation_fill(const dm_dataset *set, bool all, int64_t count, relation_side *side,
                               double *weights, int64_t *left) {
  DM_TRY(dm_buffer_table(count, &side->lines));
  DM_TRY(dm_buffer_table(count, &side->known));
  if (!set->composite) DM_TRY(relation_whole(set, side));
  for (int64_t i = 0; set->composite && i < set->composite->sources; i++)
    DM_TRY(relation_source(set, i, side));
  *left = 0;
  for (int64_t i = 0; i < count; i++) {
    const bool counts = all || side->lines[i].counts;
    weights[i] = counts ? 1.0 : DM_LEFT_OUT;
    *left += counts;
  }
  return DM_OK;
}

static dm_status relation_side_of(const dm_dataset *set, dm_bed_list kind, bool all, int64_t count,
                                  double *weights, int64_t *left) {
  relation_side side = {.kind = kind};
  dm_status status = relation_fill(set, all, count, &side, weights, left);
  free(side.lines);
  free(side.known);
  return status;
}

/* ---- all ---- */

static dm_status relation_find(const dm_dataset *set, bool all, dm_relation *r) {
  char name[DM_NAME];
  int64_t left;
  if (set->memory.base || (!set->genotypes && !set->composite)) return relation_not_genotypes(set);
  DM_TRY(relation_side_of(set, DM_BED_VARIANTS, false, r->variants, r->of_variants, &left));
  DM_TRY(relation_side_of(set, DM_BED_SAMPLES, all, r->samples, r->of_samples, &r->founders));
  r->left_out = r->variants - left;
  dm_location_name(&set->at, name);
  if (left == 0)
    return dm_fail(DM_E_INPUT, "%s: all variants are on X, Y or MT, which are left out", name);
  if (r->founders > 0) return DM_OK;
  return dm_hint(
      dm_fail(DM_E_INPUT, "%s: all samples have parents in .fam: there are no founders", name),
      "--nonfounders takes the allele frequencies of all samples");
}

static dm_status relation_allocate(const dm_dataset *set, dm_relation *r) {
  *r = (dm_relation){.variants = set->rows, .samples = set->cols};
  DM_TRY(dm_buffer_table(r->variants, &r->of_variants));
  DM_TRY(dm_buffer_table(r->variants, &r->alleles));
  return dm_buffer_table(r->samples, &r->of_samples);
}

/* ---- alleles ---- */

_Static_assert(sizeof(dm_allele_count) == 2 * sizeof(int64_t), "counts are summed");

/* Collective: COUNTS of the samples with WEIGHTS (or NULL), of which each rank counts some rows. */
static dm_status relation_count(const dm_run *run, const dm_dataset *set, const double *weights,
                                dm_allele_count *counts) {
  const dm_range own = dm_split(set->rows, run->ranks, run->rank, 1);
  DM_TRY(dm_comm_agree(run->world, dm_genotypes_count(set, own.begin, own.end, weights,
                                                      run->cores.threads, counts)));
  return dm_comm_sum_i64(run->world, (int64_t *)counts, 2 * set->rows);
}

/* EVERY: the alleles of all samples. */
static dm_status relation_check_others(const dm_dataset *set, const dm_relation *r,
                                       const dm_allele_count *every) {
  char name[DM_NAME];
  for (int64_t i = 0; i < r->variants; i++) {
    const dm_allele_count *some = &r->alleles[i], *all = &every[i];
    const bool none = some->copies == 0, only = some->copies == 2 * some->called;
    const bool same = (none && all->copies == 0) || (only && all->copies == 2 * all->called);
    if (r->of_variants[i] < 0.0 || !(none || only) || all->called == 0) continue;
    if (same && some->called > 0) continue;
    return dm_hint(dm_fail(DM_E_INPUT,
                           "%s: the variant of row %lld varies only among samples that are not "
                           "founders",
                           dm_location_name(&set->at, name), (long long)i),
                   "--nonfounders takes the allele frequencies of all samples; PLINK's --maf "
                   "leaves out such variants");
  }
  return DM_OK;
}

/* Collective. */
static dm_status relation_count_all(const dm_run *run, const dm_dataset *set, dm_relation *r) {
  DM_FREED dm_allele_count *every = NULL;
  const bool others = r->founders < r->samples;
  DM_TRY(relation_count(run, set, r->of_samples, r->alleles));
  if (others) {
    DM_TRY(dm_comm_agree(run->world, dm_buffer_table(r->variants, &every)));
    DM_TRY(relation_count(run, set, NULL, every));
    DM_TRY(dm_comm_agree(run->world, relation_check_others(set, r, every)));
  }
  for (int64_t i = 0; i < r->variants; i++)
    if (r->of_variants[i] > 0.0)
      r->missing += r->samples - (others ? every[i].called : r->alleles[i].called);
  return DM_OK;
}

static void relation_warn(const dm_run *run, const dm_dataset *set, const dm_relation *r) {
  char name[DM_NAME];
  if (r->founders < RELATIONSHIP_FEW && run->rank == 0)
    dm_log_line(&run->log, DM_LOG_WARNING,
                "%s: allele frequencies come from %lld samples; those of fewer than %d are poor",
                dm_location_name(&set->at, name), (long long)r->founders, RELATIONSHIP_FEW);
}

dm_status dm_relation_open(const dm_run *run, const dm_dataset *set, bool all, dm_relation *r) {
  DM_TRY(dm_comm_agree(run->world, relation_allocate(set, r)));
  dm_status status = run->rank == 0 ? relation_find(set, all, r) : DM_OK;
  DM_TRY(dm_comm_agree(run->world, status));
  int64_t counts[] = {r->left_out, r->founders};
  DM_TRY(dm_comm_broadcast(run->world, counts, sizeof counts, 0));
  DM_TRY(dm_comm_broadcast(run->world, r->of_variants, r->variants * (int64_t)sizeof(double), 0));
  DM_TRY(dm_comm_broadcast(run->world, r->of_samples, r->samples * (int64_t)sizeof(double), 0));
  r->left_out = counts[0];
  r->founders = counts[1];
  relation_warn(run, set, r);
  return relation_count_all(run, set, r);
}

void dm_relation_close(dm_relation *r) {
  free(r->of_variants);
  free(r->of_samples);
  free(r->alleles);
  *r = (dm_relation){.variants = 0};
}
