# core/version.h: what `damier --version` and the records say of this build.
find_package(Git QUIET)
set(DAMIER_GIT "unknown")
if(GIT_FOUND AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} describe --always --dirty
                  --abbrev=12 OUTPUT_VARIABLE DAMIER_GIT OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
endif()
configure_file(cmake/version.h.in generated/core/version.h @ONLY)
