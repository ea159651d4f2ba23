# Headers as C strings in one header: cmake -D ROOT=... -D HEADERS="a;b" -D OUTPUT=... -P embed.cmake
# The program contains the sources that NVRTC compiles on the user's machine (src/backend/cuda_jit.c).
set(names "")
set(texts "")
foreach(header ${HEADERS})
  file(READ "${ROOT}/${header}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  string(APPEND names "    \"${header}\",\n")
  string(APPEND texts "    \"${text}\",\n")
endforeach()
file(WRITE "${OUTPUT}" "/* made by cmake/embed.cmake */\n"
  "static const char *const embedded_names[] = {\n${names}};\n"
  "static const char *const embedded_texts[] = {\n${texts}};\n")
