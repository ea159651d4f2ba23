# Installs, besides the programs: completion, man page, job scripts, schema, documents. 'ninja uninstall' removes them.
include(GNUInstallDirs)
option(DAMIER_BUNDLE "Install libraries too, but for MPI and the C library: for a tree that may be moved" OFF)

# Installed files also find libraries of modules or Spack.
if(NOT DEFINED CMAKE_INSTALL_RPATH_USE_LINK_PATH)
  set_target_properties(damier damier_bench libdamier PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
endif()
if(DAMIER_BUNDLE)
  set_target_properties(damier damier_bench libdamier PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/damier"
                                                    INSTALL_RPATH_USE_LINK_PATH OFF)
  foreach(target damier damier_bench libdamier) # RPATH also applies to the libraries' dependencies
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  endforeach()
  install(TARGETS damier damier_bench RUNTIME_DEPENDENCY_SET damier_libraries)
  install(RUNTIME_DEPENDENCY_SET damier_libraries DESTINATION lib/damier
          PRE_EXCLUDE_REGEXES "^libmpi" "^libpmix" "^libcuda" "^libnccl" "^libnvidia"
          POST_EXCLUDE_REGEXES "/ld-linux[^/]*$" "/lib(c|m|dl|rt|pthread|resolv)\\.so[^/]*$")
else()
  install(TARGETS damier damier_bench)
endif()
install(FILES docs/damier.1 docs/damier-bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES docs/record.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/damier)
install(PROGRAMS slurm/submit.sh slurm/multiply.sbatch slurm/scale.sbatch
        DESTINATION ${CMAKE_INSTALL_DATADIR}/damier/slurm)
install(FILES slurm/README.md slurm/env.sh slurm/launch.sh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/damier/slurm)

option(DAMIER_PYTHON "Install the Python package" OFF)
if(DAMIER_PYTHON)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  set(DAMIER_PYTHON_DIR lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/site-packages CACHE STRING
      "Where the Python package is installed, below the prefix")
  install(DIRECTORY python/damier DESTINATION ${DAMIER_PYTHON_DIR} FILES_MATCHING PATTERN "*.py"
          PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
endif()

# The program generates its completion scripts.
if(NOT CMAKE_CROSSCOMPILING AND NOT DAMIER_SANITIZE)
  set(folder ${CMAKE_BINARY_DIR}/completion)
  file(MAKE_DIRECTORY ${folder})
  foreach(script "bash;damier;bash-completion/completions" "zsh;_damier;zsh/site-functions"
          "fish;damier.fish;fish/vendor_completions.d")
    list(GET script 0 shell)
    list(GET script 1 name)
    list(GET script 2 place)
    add_custom_command(OUTPUT ${folder}/${name} VERBATIM
                       COMMAND damier --completion ${shell} > ${folder}/${name} DEPENDS damier)
    list(APPEND scripts ${folder}/${name})
    install(FILES ${folder}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/${place} OPTIONAL)
  endforeach()
  add_custom_target(completion ALL DEPENDS ${scripts})
endif()

# Builds everything that `cmake --install` needs, without tests; used by scripts/demo.sh.
add_custom_target(installed DEPENDS damier damier_bench libdamier)
foreach(more libdamier_static completion)
  if(TARGET ${more})
    add_dependencies(installed ${more})
  endif()
endforeach()

add_custom_target(uninstall VERBATIM
  COMMAND ${CMAKE_COMMAND} -D MANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
          -P ${CMAKE_SOURCE_DIR}/cmake/uninstall.cmake)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME damier-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
include(CPack)
