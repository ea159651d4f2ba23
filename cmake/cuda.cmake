# The cuda backend: built if nvcc is found. DAMIER_CUDA=ON makes a missing nvcc an error.
set(DAMIER_HAVE_CUDA OFF)
if(NOT DAMIER_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      # Machine code for Ampere and Hopper; later GPUs compile the PTX of 90 (PTX of 90a only runs on Hopper).
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit 12 REQUIRED)
    set(DAMIER_HAVE_CUDA ON)
  elseif(DAMIER_CUDA STREQUAL "ON")
    message(FATAL_ERROR "DAMIER_CUDA=ON, but no CUDA compiler was found")
  endif()
endif()

function(damier_cuda_layers)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*/*.cu)
  set(slowest ${CMAKE_SOURCE_DIR}/kernels/ladder/20_wgmma.cu) # compiles for a minute, thus begins first
  list(REMOVE_ITEM sources ${slowest})
  add_library(dm_kernels STATIC ${slowest} ${sources})
  # -fmad=false: generated matrices have the same bits as on the CPU (products use explicit fma).
  target_compile_options(dm_kernels PRIVATE -fmad=false -Xcompiler=-Wall)
  target_include_directories(dm_kernels PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(dm_kernels PUBLIC CUDA::cudart_static)
  target_compile_definitions(dm_backend PUBLIC DM_HAVE_CUDA=1)
  # cuBLAS is loaded at run time (backend/cuda_library.c).
  target_compile_definitions(dm_backend PRIVATE DM_CUDA_LIBRARIES="${CUDAToolkit_LIBRARY_DIR}")
  target_link_libraries(dm_backend PUBLIC dm_kernels CUDA::cudart_static)

  # Source of the kernel that `jit` compiles; libnvrtc is loaded when needed.
  set(headers kernels/gemm.h kernels/ladder/vectors.cuh kernels/ladder/17_warp_tile.cu)
  set(embedded ${CMAKE_BINARY_DIR}/generated/kernels/embedded.h)
  list(TRANSFORM headers PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  add_custom_command(OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -D ROOT=${CMAKE_SOURCE_DIR} -D "HEADERS=${headers}"
            -D OUTPUT=${embedded} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(dm_backend PRIVATE ${embedded})
  target_compile_definitions(dm_transport PUBLIC DM_HAVE_CUDA=1)
  target_link_libraries(dm_transport PUBLIC CUDA::cudart_static)
  if(DAMIER_NCCL)
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} REQUIRED)
    find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR} REQUIRED)
    target_include_directories(dm_transport SYSTEM PRIVATE ${NCCL_INCLUDE_DIR})
    target_compile_definitions(dm_transport PUBLIC DM_HAVE_NCCL=1)
    target_link_libraries(dm_transport PUBLIC ${NCCL_LIBRARY})
  endif()
endfunction()
