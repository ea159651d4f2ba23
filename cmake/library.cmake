# libdamier: the shared and the static library, their header, pkg-config file and CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
option(DAMIER_STATIC "Build the static library, too" ON)

file(GLOB library_sources CONFIGURE_DEPENDS src/api/*.c)
add_library(dm_api OBJECT ${library_sources})
target_include_directories(dm_api PUBLIC include)
target_link_libraries(dm_api PUBLIC dm_options)
set_target_properties(dm_api PROPERTIES C_VISIBILITY_PRESET hidden)
add_library(libdamier SHARED $<TARGET_OBJECTS:dm_api>)
set_target_properties(libdamier PROPERTIES OUTPUT_NAME damier EXPORT_NAME damier
                                           VERSION ${PROJECT_VERSION} SOVERSION 0)
target_include_directories(libdamier PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# The layers' symbols are not exported.
target_link_libraries(libdamier PRIVATE dm_options)
set(damier_header include/damier.h)
if(DAMIER_MPI)
  target_link_libraries(libdamier PUBLIC MPI::MPI_C)
  # Programs in C++ need no library for MPI's former C++ classes.
  target_compile_definitions(libdamier INTERFACE $<$<COMPILE_LANGUAGE:CXX>:OMPI_SKIP_MPICXX=1>
                                                 $<$<COMPILE_LANGUAGE:CXX>:MPICH_SKIP_MPICXX=1>)
else() # programs need not know how the installed library was built
  target_compile_definitions(dm_api PUBLIC DAMIER_MPI=0)
  target_compile_definitions(libdamier INTERFACE DAMIER_MPI=0)
  file(READ include/damier.h text)
  string(REPLACE "#define DAMIER_MPI 1" "#define DAMIER_MPI 0" text "${text}")
  set(damier_header ${CMAKE_BINARY_DIR}/installed/damier.h)
  file(WRITE ${damier_header} "${text}")
endif()
target_link_options(libdamier PRIVATE LINKER:--exclude-libs,ALL)


# Libraries that a program linked with the static library needs besides MPI.
set(damier_private_libs ${OPENBLAS_LDFLAGS} ${HDF5_C_LIBRARIES} ${JANSSON_LDFLAGS} ${HWLOC_LDFLAGS} ${XXHASH_LDFLAGS}
                        ${ZLIB_LIBRARIES} ${damier_codec_libs} -lpthread -ldl -lm)
if(NOT OPENBLAS_FOUND)
  list(PREPEND damier_private_libs ${BLAS_LIBRARIES})
endif()

# One object of all layers: `ar` stores it as a whole, and only the interface's symbols stay global. Not with
# sanitizers or CUDA: the program would have to link as this build does.
if(DAMIER_STATIC AND NOT DAMIER_SANITIZE AND NOT DAMIER_HAVE_CUDA)
  foreach(layer core comm plan dataset io inspect transport backend run check reduce engine layout transform product programs options)
    list(APPEND layer_files $<TARGET_FILE:dm_${layer}>)
  endforeach()
  add_custom_command(
    OUTPUT libdamier.a VERBATIM COMMAND_EXPAND_LISTS
    COMMAND ${CMAKE_COMMAND} -E rm -f libdamier.a
    COMMAND ${CMAKE_LINKER} -r -o libdamier_all.o $<TARGET_OBJECTS:dm_api> --whole-archive ${layer_files}
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=damier_* libdamier_all.o
    COMMAND ${CMAKE_AR} rcs libdamier.a libdamier_all.o
    DEPENDS dm_api $<TARGET_OBJECTS:dm_api> ${layer_files})
  add_custom_target(libdamier_static ALL DEPENDS libdamier.a)
  install(FILES ${CMAKE_BINARY_DIR}/libdamier.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

install(TARGETS libdamier EXPORT damier)
install(FILES ${damier_header} include/damier.f90 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(damier_words "; compile and link with MPI's own compiler")
set(damier_mpi MPI::MPI_C)
if(NOT DAMIER_MPI)
  set(damier_words ", built without MPI")
  set(damier_mpi)
endif()
# The installation may be moved later.
file(RELATIVE_PATH damier_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
list(JOIN damier_private_libs " " damier_private_flags)
file(RELATIVE_PATH damier_include_up /${CMAKE_INSTALL_LIBDIR}/cmake/damier /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/damier.pc.in damier.pc @ONLY)
configure_file(cmake/damier-config.cmake damier-config.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/damier.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/damier)
install(EXPORT damier NAMESPACE damier:: DESTINATION ${package_dir} FILE damier-targets.cmake)
write_basic_package_version_file(damier-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/damier-config.cmake ${CMAKE_BINARY_DIR}/damier-config-version.cmake DESTINATION ${package_dir})
