# XXH3 with the processor's widest vectors, if the library was built with its dispatcher: the same sums.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::XXHASH)
check_c_source_compiles(
  "#include <xxh_x86dispatch.h>
   int main(int count, char **words) { return (int)XXH3_64bits_withSeed_dispatch(words, (size_t)count, 1); }"
  DAMIER_XXHASH_DISPATCHES)
unset(CMAKE_REQUIRED_LIBRARIES)
