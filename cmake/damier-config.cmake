include(CMakeFindDependencyMacro)

# MPI as a language of the project finds it: in a project without C, MPI::MPI_C stands for that one.
set(damier_needs_mpi @DAMIER_MPI@)
if(damier_needs_mpi)
  get_property(damier_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(damier_language C)
  if(NOT "C" IN_LIST damier_languages)
    foreach(language CXX Fortran)
      if("${language}" IN_LIST damier_languages)
        set(damier_language ${language})
        break()
      endif()
    endforeach()
  endif()
  find_dependency(MPI COMPONENTS ${damier_language})
  if(NOT TARGET MPI::MPI_C)
    add_library(MPI::MPI_C INTERFACE IMPORTED)
    target_link_libraries(MPI::MPI_C INTERFACE MPI::MPI_${damier_language})
  endif()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/damier-targets.cmake)

# The Fortran module, to be compiled with the program.
get_filename_component(damier_FORTRAN_SOURCE "${CMAKE_CURRENT_LIST_DIR}/@damier_include_up@/damier.f90" ABSOLUTE)

# damier::static, if installed.
get_filename_component(damier_static "${CMAKE_CURRENT_LIST_DIR}/../../libdamier.a" ABSOLUTE)
if(EXISTS ${damier_static} AND NOT TARGET damier::static)
  add_library(damier::static STATIC IMPORTED)
  set_target_properties(damier::static PROPERTIES IMPORTED_LOCATION ${damier_static})
  target_include_directories(damier::static INTERFACE
    $<TARGET_PROPERTY:damier::damier,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(damier::static INTERFACE
    $<TARGET_PROPERTY:damier::damier,INTERFACE_COMPILE_DEFINITIONS>)
  target_link_libraries(damier::static INTERFACE @damier_mpi@ "@damier_private_libs@")
endif()
