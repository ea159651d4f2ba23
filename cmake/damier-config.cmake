include(CMakeFindDependencyMacro)
@damier_needs_mpi@
include(${CMAKE_CURRENT_LIST_DIR}/damier-targets.cmake)

# damier::static, if installed.
get_filename_component(damier_static "${CMAKE_CURRENT_LIST_DIR}/../../libdamier.a" ABSOLUTE)
if(EXISTS ${damier_static} AND NOT TARGET damier::static)
  add_library(damier::static STATIC IMPORTED)
  set_target_properties(damier::static PROPERTIES IMPORTED_LOCATION ${damier_static})
  target_include_directories(damier::static INTERFACE
    $<TARGET_PROPERTY:damier::damier,INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(damier::static INTERFACE @damier_mpi@ "@damier_private_libs@")
endif()
