#include "inspect/foreign.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dataset/file_system.h"
#include "dataset/naming.h"

enum { HEAD = 1024, MARKS = 2 };

/* The beginning of a file. */
typedef struct head {
  unsigned char bytes[HEAD + 1]; /* followed by a zero */
  size_t length;
  int64_t file_bytes;
} head;

/* A format: what its files are, and what to do with one. A file has all MARKS, or passes IS. */
typedef struct format {
  const char *what, *hint;
  struct {
    int at; /* ANYWHERE: within the head */
    const char *bytes;
    size_t length;
  } mark[MARKS];
  bool (*is)(const head *h);
} format;

enum { ANYWHERE = -1 };

/* ---- formats without a fixed mark ---- */

static uint32_t foreign_word(const unsigned char *at, bool big) {
  return big ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]
             : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* Five numbers (type MOPT, rows, columns, complex or not, length of the name) and a name. */
static bool is_matlab_4(const head *h) {
  if (h->length < 22) return false;
  for (int big = 0; big < 2; big++) {
    uint32_t field[5];
    for (int i = 0; i < 5; i++) field[i] = foreign_word(h->bytes + 4 * i, big);
    const uint32_t name = field[4];
    if (field[0] > 4052 || field[0] / 100 % 10 != 0 || field[0] / 10 % 10 > 5 ||
        field[0] % 10 > 2 || field[0] / 1000 != (uint32_t)big || field[3] > 1 || name < 2 ||
        name > 64 || 20 + name > h->length || h->bytes[20 + name - 1] != '\0')
      continue;
    if (strlen((const char *)h->bytes + 20) == name - 1 && isalpha(h->bytes[20])) return true;
  }
  return false;
}

/* The length of the header in 64 bits, and the header in JSON. */
static bool is_safetensors(const head *h) {
  return h->length > 10 && foreign_word(h->bytes + 4, false) == 0 && h->bytes[8] == '{' &&
         (h->bytes[9] == '"' || h->bytes[9] == '}' || h->bytes[9] == ' ') &&
         (int64_t)foreign_word(h->bytes, false) <= h->file_bytes - 8;
}

static bool begins_with(const head *h, const char *mark) {
  return strncmp((const char *)h->bytes, mark, strlen(mark)) == 0;
}

static bool has_mark(const head *h, int at, const char *bytes, size_t length) {
  if (at != ANYWHERE)
    return (size_t)at + length <= h->length && memcmp(h->bytes + at, bytes, length) == 0;
  return memmem(h->bytes, h->length, bytes, length) != NULL;
}

static bool is_matlab_5(const head *h) {
  return begins_with(h, "MATLAB 5.0 MAT-file") || has_mark(h, 124, "\0\1IM", 4) ||
         has_mark(h, 124, "\1\0MI", 4);
}

static bool is_octave(const head *h) {
  return begins_with(h, "# Created by Octave") || begins_with(h, "Octave-1-");
}

/* HDF5's signature, \x89HDF\r\n\x1a\n, with other ends of lines, as UTF-8, or without eighth bits.
 */
static bool is_changed_hdf5(const head *h) {
  return has_mark(h, 0, "\x89HDF", 4) || has_mark(h, 1, "\x89HDF", 4) ||
         begins_with(h, "\xef\xbf\xbdHDF\r") || begins_with(h, "\tHDF\r");
}

static bool is_zarr_zip(const head *h) {
  return begins_with(h, "PK\3\4") &&
         (has_mark(h, ANYWHERE, ".zarray", 7) || has_mark(h, ANYWHERE, ".zgroup", 7) ||
          has_mark(h, ANYWHERE, "zarr.json", 9));
}

static bool is_nifti(const head *h) {
  return has_mark(h, 344, "n+1", 4) || has_mark(h, 4, "n+2", 4);
}

static bool is_pickle(const head *h) {
  if (begins_with(h, "cnumpy") || begins_with(h, "ccopy_reg")) return true;
  return h->length > 3 && h->bytes[0] == 0x80 && h->bytes[1] >= 2 && h->bytes[1] <= 5 &&
         memchr("\x95}](cXKGNq\x8a\x8c", h->bytes[2], 12) != NULL;
}

static bool is_zeros(const head *h) {
  size_t zeros = 0;
  while (zeros < h->length && h->bytes[zeros] == 0) zeros++;
  return h->length >= 64 && zeros == h->length;
}

static const char *first_word(const head *h) {
  const char *at = (const char *)h->bytes;
  if (strncmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
  while (isspace((unsigned char)*at)) at++;
  return at;
}

static bool is_html(const head *h) {
  static const char *const tags[] = {"<!doctype html", "<html", "<head", "<body"};
  for (int i = 0; i < 4; i++)
    if (strncasecmp(first_word(h), tags[i], strlen(tags[i])) == 0) return true;
  return false;
}

static bool is_xml(const head *h) {
  const char *at = first_word(h);
  return *at == '<' && (isalpha((unsigned char)at[1]) || at[1] == '?' || at[1] == '!');
}

static bool is_matrix_market(const head *h) {
  return strncasecmp(first_word(h), "%%MatrixMarket", 14) == 0;
}

static bool is_json(const head *h) {
  const char *at = first_word(h);
  if (*at != '{' && *at != '[') return false;
  do at++;
  while (isspace((unsigned char)*at));
  return *at != '\0' && strchr("\"{}[]", *at) != NULL;
}

/* Latin-1 and its like: no control characters, and at least every second one a letter, digit or
 * sign of ASCII. */
static bool is_old_text(const head *h) {
  size_t plain = 0;
  for (size_t i = 0; i < h->length; i++) {
    const unsigned char c = h->bytes[i];
    if (c == 0 || (c < 0x20 && !strchr("\t\n\r\f", c)) || (c >= 0x7f && c < 0xa0)) return false;
    plain += c < 0x7f;
  }
  return h->length > 0 && 2 * plain > h->length;
}

/* UTF-8, perhaps cut off at the end of the head, or UTF-16 with a mark of its order. */
static bool foreign_is_text(const head *h) {
  const char *order = (const char *)h->bytes;
  if (h->length > 3 && (strncmp(order, "\xff\xfe", 2) == 0 || strncmp(order, "\xfe\xff", 2) == 0))
    return true;
  char text[HEAD + 1];
  size_t length = 0;
  for (size_t i = 0; i < h->length; i++) {
    const unsigned char c = h->bytes[i];
    if (c == '\0') return false;
    text[length++] = c == '\t' || c == '\n' || c == '\r' || c == '\f' ? ' ' : (char)c;
  }
  /* The last character of a head may be cut. */
  while (h->length == HEAD && length > HEAD - 4 && ((unsigned char)text[length - 1] >> 6) == 2)
    length--;
  if (h->length == HEAD && (text[length - 1] & 0x80)) length--;
  text[length] = '\0';
  return length > 0 && dm_text_clean(text);
}

/* ---- the table ---- */

static const char pickle[] =
    "in Python: numpy.save('NAME.npy', numpy.load(FILE, allow_pickle=True))";
static const char foreign_matlab[] =
    "in MATLAB: save(NAME, '-v7.3'); in Octave: save -hdf5; in Python: scipy.io.loadmat, then h5py";
static const char foreign_octave[] = "in Octave: save -hdf5 NAME.h5 a; it appears as /a/value";
static const char netcdf[] = "'nccopy -k nc4 IN OUT' writes netCDF-4, which is HDF5";
static const char as_binary[] = "copy it again as binary, not as text";
static const char lfs[] = "'git lfs pull' fetches the file";
static const char from_r[] = "in R: rhdf5::h5write(x, 'NAME.h5', 'a')";
static const char tiff[] = "in Python: h5py's file['name'] = tifffile.imread(FILE)";
static const char excel[] = "in Python: h5py's file['name'] = pandas.read_excel(FILE).to_numpy()";
static const char feather[] =
    "in Python: h5py's file['name'] = pandas.read_feather(FILE).to_numpy()";
static const char zarr_zip[] = "in Python: zarr.open(FILE)['name'][...], then h5py";
static const char numpy[] = "in Python: numpy.save('NAME.npy', the array), or h5py's "
                            "file['name'] = the array";

/* clang-format off */
#define MARK(offset, text) {offset, text, sizeof(text) - 1}
#define AT(offset, text, what, hint) {what, hint, {MARK(offset, text)}, NULL}
#define AND(offset, text, next, more, what, hint) {what, hint, {MARK(offset, text), MARK(next, more)}, NULL}
#define TOLD_BY(is, what, hint) {what, hint, {{0}}, is}

/* The first row that fits counts. */
static const format formats[] = {
    AT(0, "MATLAB 7.3 MAT-file", "is a MATLAB file without its HDF5 part: it was cut off or damaged", "copy it again"),
    TOLD_BY(is_matlab_5, "is a MATLAB file of version 5 to 7, not HDF5", foreign_matlab),
    TOLD_BY(is_octave, "is a file of Octave, not HDF5", foreign_octave),
    AT(0, "CDF", "is a netCDF file of the classic format, not HDF5", netcdf),
    AT(0, "\x0e\x03\x13\x01", "is an HDF4 file, not HDF5", "'h4toh5 IN OUT' of the HDF Group converts it"),
    TOLD_BY(is_changed_hdf5, "is an HDF5 file that was changed as if it were text, which damaged all of it", as_binary),

    AT(0, "\x1f\x8b", "is compressed with gzip", "'gunzip FILE' unpacks it; if it is an .rds or .RData file of R: rhdf5::h5write(readRDS(FILE), 'NAME.h5', 'a')"),
    AT(0, "\x28\xb5\x2f\xfd", "is compressed with zstd", "'zstd -d FILE' unpacks it"),
    AT(0, "\xfd""7zXZ\0", "is compressed with xz", "'unxz FILE' unpacks it"),
    AND(0, "BZh", 4, "1AY&SY", "is compressed with bzip2", "'bunzip2 FILE' unpacks it"),
    AT(257, "ustar", "is a tar archive", "'tar -xf FILE' unpacks it"),
    AND(0, "PK\3\4", ANYWHERE, "data.pkl", "is a file of PyTorch", "in Python: numpy.save('NAME.npy', tensor.numpy())"),
    TOLD_BY(is_zarr_zip, "is a Zarr store in a zip archive, not HDF5", zarr_zip),
    AND(0, "PK\3\4", ANYWHERE, "[Content_Types].xml", "is a spreadsheet of Excel", excel),
    AND(0, "PK\3\4", 30, "indices.npy", "is a sparse matrix of SciPy (.npz)", "in Python: numpy.save('NAME.npy', scipy.sparse.load_npz(FILE).toarray())"),
    AT(0, "PK\3\4", "is a zip archive, as .npz files of NumPy are", "numpy.save writes each array to a .npy file, which is read; 'unzip FILE' unpacks others"),

    AT(0, "version https://git-lfs.github.com/spec/", "is a pointer of Git LFS, not the file itself", lfs),
    AT(0, "/annex/objects/", "is a pointer of git-annex, not the file itself", "'git annex get FILE' fetches the file"),
    TOLD_BY(is_html, "is a web page (HTML), perhaps an error message in place of the file", "download it again"),
    TOLD_BY(is_xml, "is XML, perhaps an error message in place of the file", "download it again"),
    TOLD_BY(is_matrix_market, "is a text file of Matrix Market", "in Python: a = scipy.io.mmread(FILE); a = a.toarray() if it is sparse; numpy.save('NAME.npy', a)"),

    AT(0, "%PDF-", "is a PDF document", NULL),
    AT(0, "PAR1", "is a Parquet file", "in Python: h5py's file['name'] = pandas.read_parquet(FILE).to_numpy()"),
    AT(0, "ARROW1", "is a file of Arrow (Feather)", feather),
    AT(0, "SIMPLE  =", "is a FITS file", "in Python: h5py's file['name'] = astropy.io.fits.getdata(FILE)"),
    AT(0, "\0\x12\x7b", "is a binary file of PETSc", "PetscViewerHDF5Open writes HDF5"),
    AT(0, "RDX", "is a file of R", from_r),
    AT(0, "X\n\0\0\0", "is a file of R", from_r),
    AT(0, "root\0", "is a file of ROOT", "in Python: uproot.open(FILE), then h5py"),
    AT(0, "GRIB", "is a GRIB file", "'cdo -f nc4 copy IN OUT' writes netCDF-4, which is HDF5"),
    TOLD_BY(is_nifti, "is a NIfTI file", "in Python: nibabel.load(FILE).get_fdata(), then h5py"),
    AT(0, "II*\0", "is an image (TIFF)", tiff),
    AT(0, "MM\0*", "is an image (TIFF)", tiff),

    TOLD_BY(is_safetensors, "is a file of safetensors", "in Python: numpy.save('NAME.npy', safetensors.numpy.load_file(FILE)['name'])"),
    TOLD_BY(is_pickle, "is a pickle of Python", pickle),
    TOLD_BY(is_matlab_4, "is a MATLAB file of version 4, not HDF5", "in MATLAB: load it and save(NAME, '-v7.3'); in Python: scipy.io.loadmat, then h5py"),
    TOLD_BY(is_zeros, "begins with zeros: a download or copy of it may not have finished", "copy it again"),
    TOLD_BY(is_json, "is JSON, a text file", "in Python: numpy.save('NAME.npy', numpy.array(json.load(open(FILE))))"),
    TOLD_BY(foreign_is_text, "is a text file, such as CSV", "in Python: numpy.save('NAME.npy', numpy.genfromtxt(FILE, delimiter=',')); skip_header=1 leaves out a line of names, usecols columns of names"),
    TOLD_BY(is_old_text, "is a text file, such as CSV", "in Python: numpy.save('NAME.npy', numpy.genfromtxt(FILE, delimiter=',', encoding='latin-1')); skip_header=1 leaves out a line of names, usecols columns of names"),
};
/* clang-format on */

/* ---- files ---- */

static bool foreign_fits(const head *h, const format *f) {
  if (f->is) return f->is(h);
  for (int i = 0; i < MARKS; i++)
    if (f->mark[i].bytes && !has_mark(h, f->mark[i].at, f->mark[i].bytes, f->mark[i].length))
      return false;
  return true;
}

/* HDF5 looks for its signature at 0, 512 and every further doubling. */
static bool has_signature(int fd, int64_t bytes) {
  char text[8];
  for (int64_t at = 0; at + 8 <= bytes && at >= 0; at = at ? 2 * at : 512)
    if (dm_file_read_at(fd, text, 8, at) == 8 && memcmp(text, "\x89HDF\r\n\x1a\n", 8) == 0)
      return true;
  return false;
}

static dm_status name_format(const dm_location *at, const head *h) {
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    if (!foreign_fits(h, &formats[i])) continue;
    dm_status status = dm_fail_at(DM_E_INPUT, at, "%s", formats[i].what);
    return formats[i].hint ? dm_hint(status, "%s", formats[i].hint) : status;
  }
  return dm_hint(dm_fail_at(DM_E_INPUT, at, "is neither an HDF5 nor a .npy file"),
                 "if it holds the bare elements, in Python: numpy.save('NAME.npy', "
                 "numpy.fromfile(FILE, type).reshape(rows, columns))");
}

dm_status dm_foreign_file(const dm_location *at) {
  const int fd = open(at->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  head h = {.length = 0};
  if (fd < 0) return DM_OK;
  h.file_bytes = lseek(fd, 0, SEEK_END);
  const int64_t got = dm_file_read_at(fd, h.bytes, HEAD, 0);
  const bool known = got <= 0 || has_signature(fd, h.file_bytes);
  h.length = got > 0 ? (size_t)got : 0;
  close(fd);
  return known ? DM_OK : name_format(at, &h);
}

/* ---- folders ---- */

dm_status dm_foreign_folder(const dm_location *at) {
  static const struct {
    const char *entry, *what, *hint;
  } folders[] = {
      {"attributes.json", "a folder of N5", "in Python: z5py or zarr read it, then h5py"},
      {"__tiledb_group.tdb", "a group of TileDB", "in Python: tiledb.open(FOLDER)[:], then h5py"},
      {"__schema", "an array of TileDB", "in Python: tiledb.open(FOLDER)[:], then h5py"},
      {"_metadata", "a folder of Parquet files",
       "in Python: h5py's file['name'] = pandas.read_parquet(FOLDER).to_numpy()"},
      {"md.idx", "a folder of ADIOS2 (BP)", "ADIOS2's HDF5 engine writes HDF5"},
      {"saved_model.pb", "a model of TensorFlow", numpy},
  };
  char path[DM_PATH + 32];
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    snprintf(path, sizeof path, "%s/%s", at->file, folders[i].entry);
    if (access(path, F_OK) == 0)
      return dm_hint(dm_fail_at(DM_E_INPUT, at, "is %s, not an HDF5 file", folders[i].what), "%s",
                     folders[i].hint);
  }
  return DM_OK;
}
