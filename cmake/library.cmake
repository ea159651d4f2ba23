# libdamier: the shared library, its header, pkg-config file and CMake package.
file(GLOB library_sources CONFIGURE_DEPENDS src/lib/*.c)
add_library(dm_lib OBJECT ${library_sources})
target_include_directories(dm_lib PUBLIC include)
target_link_libraries(dm_lib PUBLIC dm_cli)
set_target_properties(dm_lib PROPERTIES C_VISIBILITY_PRESET hidden)
add_library(libdamier SHARED $<TARGET_OBJECTS:dm_lib>)
set_target_properties(libdamier PROPERTIES OUTPUT_NAME damier EXPORT_NAME damier
                                           VERSION ${PROJECT_VERSION} SOVERSION 0)
target_include_directories(libdamier PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Of the layers nothing is seen from outside.
target_link_libraries(libdamier PRIVATE dm_cli PUBLIC MPI::MPI_C)
target_link_options(libdamier PRIVATE LINKER:--exclude-libs,ALL)

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS libdamier EXPORT damier)
install(FILES include/damier.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# It may be moved after it was installed.
file(RELATIVE_PATH damier_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/damier.pc.in damier.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/damier.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/damier)
install(EXPORT damier NAMESPACE damier:: DESTINATION ${package_dir} FILE damier-targets.cmake)
write_basic_package_version_file(damier-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/damier-config.cmake ${CMAKE_BINARY_DIR}/damier-config-version.cmake DESTINATION ${package_dir})
