#include "file/hdf5_attribute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/hdf5_use.h"
#include "file/naming.h"

enum { TEXT_LIMIT = 1 << 16 };

static bool read_fixed_text(hid_t attribute, hid_t type, char *text, size_t size) {
  size_t length = H5Tget_size(type);
  if (length == 0 || length > TEXT_LIMIT) return false;
  char *buffer = calloc(length + 1, 1); /* the stored text may lack a final zero */
  bool read = buffer && H5Aread(attribute, type, buffer) >= 0;
  if (read) snprintf(text, size, "%s", buffer);
  free(buffer);
  return read;
}

static bool read_free_text(hid_t attribute, hid_t type, char *text, size_t size) {
  char *buffer = NULL;
  bool read = H5Aread(attribute, type, &buffer) >= 0;
  if (read) snprintf(text, size, "%s", buffer ? buffer : "");
  if (buffer) H5free_memory(buffer);
  return read;
}

static bool read_value(hid_t attribute, hid_t type, char *text, size_t size) {
  long long whole = 0;
  double real = 0;
  switch (H5Tget_class(type)) {
  case H5T_STRING:
    return H5Tis_variable_str(type) > 0 ? read_free_text(attribute, type, text, size)
                                        : read_fixed_text(attribute, type, text, size);
  case H5T_INTEGER:
    if (H5Aread(attribute, H5T_NATIVE_LLONG, &whole) < 0) return false;
    snprintf(text, size, "%lld", whole);
    return true;
  case H5T_FLOAT:
    if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) < 0) return false;
    snprintf(text, size, "%.17g", real);
    return true;
  default:
    return false;
  }
}

bool dm_h5_text_of(hid_t object, const char *name, char *text, size_t size) {
  bool read = false;
  if (H5Aexists(object, name) <= 0) return false;
  hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  if (attribute < 0) return false;
  hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
  if (space >= 0 && type >= 0 && H5Sget_simple_extent_npoints(space) == 1)
    read = read_value(attribute, type, text, size);
  if (read) dm_io_clean(text);
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  H5Aclose(attribute);
  return read;
}

bool dm_h5_is_bfloat16(hid_t set) {
  char text[32] = "";
  return dm_h5_text_of(set, "dtype", text, sizeof text) && strcmp(text, "bfloat16") == 0;
}

bool dm_h5_is_whole(hid_t set) {
  char text[32] = "";
  return dm_h5_text_of(set, "damier_state", text, sizeof text) && strcmp(text, "complete") == 0;
}

static herr_t collect(hid_t object, const char *name, const H5A_info_t *info, void *data) {
  (void)info;
  dm_attributes *attributes = data;
  dm_attribute *next = &attributes->list[attributes->count];
  if (strlen(name) >= sizeof next->name ||
      !dm_h5_text_of(object, name, next->text, sizeof next->text))
    return 0;
  snprintf(next->name, sizeof next->name, "%s", name);
  dm_io_clean(next->name);
  return ++attributes->count == DM_ATTRIBUTES;
}

dm_status dm_h5_read_attributes(const dm_location *at, hid_t object, dm_attributes *attributes) {
  memset(attributes, 0, sizeof *attributes);
  const herr_t read = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, collect, attributes);
  if (read < 0 && dm_h5_met_newer()) /* none of damier's own: those are texts */
    H5Eclear2(H5E_DEFAULT);
  else if (read < 0)
    return dm_h5_fail(DM_E_INPUT, at, "its attributes cannot be read");
  return DM_OK;
}

dm_status dm_h5_write_text(const dm_location *at, hid_t object, const char *name,
                           const char *text) {
  dm_status status = DM_OK;
  hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1), attribute = -1;
  htri_t exists = H5Aexists(object, name);
  bool ready = space >= 0 && type >= 0 && exists >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 &&
               H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
               (exists == 0 || H5Adelete(object, name) >= 0);
  if (ready) attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute < 0 || H5Awrite(attribute, type, &text) < 0)
    status = dm_h5_fail(DM_E_IO, at, "its attribute '%s' cannot be written", name);
  if (attribute >= 0 && H5Aclose(attribute) < 0 && !status)
    status = dm_h5_fail(DM_E_IO, at, "its attribute '%s' cannot be written", name);
  if (type >= 0) H5Tclose(type);
  if (space >= 0) H5Sclose(space);
  return status;
}
