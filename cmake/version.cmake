# core/version.h: version, commit and build for `damier --version` and the records.
set(DAMIER_COMMIT "" CACHE STRING "Commit that is built, for a tree without its history")
set(DAMIER_GIT "${DAMIER_COMMIT}")
if(NOT DAMIER_GIT) # written by 'git archive', whose tree may lie inside of another repository
  file(STRINGS cmake/commit DAMIER_GIT REGEX "^[0-9a-f]+$")
endif()
find_package(Git QUIET)
if(GIT_FOUND AND NOT DAMIER_GIT)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} describe --always --dirty
                  --abbrev=12 OUTPUT_VARIABLE DAMIER_GIT OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  # Reconfigures after a commit.
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --path-format=absolute
                  --git-path logs/HEAD OUTPUT_VARIABLE history OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  if(EXISTS "${history}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${history})
  endif()
endif()
if(NOT DAMIER_GIT)
  set(DAMIER_GIT "unknown")
endif()
configure_file(cmake/version.h.in generated/core/version.h @ONLY)
