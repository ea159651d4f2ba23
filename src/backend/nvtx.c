#include "backend/nvtx.h"

#include <nvtx3/nvToolsExt.h>

uint64_t dm_nvtx_begin(const char *name, int64_t number) {
  const nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                       .payloadType = number < 0 ? NVTX_PAYLOAD_UNKNOWN
                                                                 : NVTX_PAYLOAD_TYPE_INT64,
                                       .payload.llValue = number,
                                       .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                       .message.ascii = name};
  return nvtxRangeStartEx(&event);
}

void dm_nvtx_end(uint64_t range) {
  nvtxRangeEnd(range);
}
