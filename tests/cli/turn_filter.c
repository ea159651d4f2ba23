/* An HDF5 plug-in whose filter inverts every bit: for files that need a plug-in. */
#include <H5PLextern.h>
#include <hdf5.h>

enum { NUMBER = 32765 };

static size_t turn(unsigned flags, size_t values, const unsigned *value, size_t bytes, size_t *size,
                   void **buffer) {
  (void)flags, (void)values, (void)value, (void)size;
  unsigned char *data = *buffer;
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)~data[i];
  return bytes;
}

static const H5Z_class2_t filter = {.version = H5Z_CLASS_T_VERS,
                                    .id = NUMBER,
                                    .encoder_present = 1,
                                    .decoder_present = 1,
                                    .name = "turn",
                                    .filter = turn};

H5PL_type_t H5PLget_plugin_type(void) {
  return H5PL_TYPE_FILTER;
}

const void *H5PLget_plugin_info(void) {
  return &filter;
}
