/* collect: an NVTX tool that the program loads if NVTX_INJECTION64_PATH names it: writes the name
 * and number of each range to the file NVTX_RANGES when it begins, and "end" when it ends. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *file;
static nvtxRangeId_t last;

static nvtxRangeId_t NVTX_API begin(const nvtxEventAttributes_t *event) {
  fprintf(file, "%s %lld\n", event->message.ascii,
          event->payloadType == NVTX_PAYLOAD_TYPE_INT64 ? (long long)event->payload.llValue : -1);
  return ++last;
}

static void NVTX_API end(nvtxRangeId_t range) {
  fprintf(file, "end %d\n", range > 0 && range <= last);
}

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const char *path = getenv("NVTX_RANGES");
  const NvtxExportTableCallbacks *callbacks =
      (const NvtxExportTableCallbacks *)get_table(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable functions;
  unsigned int size = 0;
  file = path ? fopen(path, "w") : NULL;
  if (!file || !callbacks ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &size) ||
      size <= NVTX_CBID_CORE_RangeEnd)
    return 0;
  *functions[NVTX_CBID_CORE_RangeStartEx] = (NvtxFunctionPointer)begin;
  *functions[NVTX_CBID_CORE_RangeEnd] = (NvtxFunctionPointer)end;
  return 1;
}
