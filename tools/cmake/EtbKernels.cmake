# SPDX-License-Identifier: Apache-2.0
# etb_add_kernels(target relu softmax ...): adds relu.cpp ... of this folder to the target. Writes
# kernel_table.inc with a line ETB_KERNELS(relu) for each. One array is built from it: no static initialisers,
# no whole-archive linking.
function(etb_add_kernels target)
  set(lines "")
  foreach(name ${ARGN})
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cpp)
    cmake_path(GET name FILENAME stem)
    string(APPEND lines "ETB_KERNELS(${stem})\n")
  endforeach()
  set(dir ${PROJECT_BINARY_DIR}/generated/kernels)
  file(CONFIGURE OUTPUT ${dir}/kernel_table.inc CONTENT "${lines}" @ONLY)
  target_include_directories(${target} PRIVATE ${dir})
endfunction()

# etb_add_vector_sources(target a.cpp ...): compiles each file for the target's baseline, and again for each
# worthwhile instruction set. Each variant has its own namespace (ETB_VARIANT).
function(etb_add_vector_sources target)
  include(CheckCXXCompilerFlag)
  # Fused multiply-add and calls without errno change results only within the tests' tolerance. NaN, infinity
  # and signed zero keep their meaning (no -ffast-math).
  set(common -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fno-exceptions -fno-rtti
    $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)  # formulas that call libm do not vectorise
  set(variants baseline)
  set(flags_baseline "")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    list(APPEND variants avx2 avx512)
    set(flags_avx2 -mavx2 -mfma -mf16c -mbmi2)
    set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
  endif()
  foreach(variant ${variants})
    string(TOUPPER ${variant} upper)
    if(NOT variant STREQUAL baseline)
      target_compile_definitions(${target} PRIVATE ETB_HAS_${upper}=1)
    endif()
    add_library(${target}_${variant} OBJECT ${ARGN})
    target_compile_definitions(${target}_${variant} PRIVATE ETB_VARIANT=${variant})
    target_compile_options(${target}_${variant} PRIVATE ${common} ${flags_${variant}})
    target_include_directories(${target}_${variant} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target}_${variant} PRIVATE etb::values etb_warnings etb_sanitizers)
    etb_harden(${target}_${variant})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${variant}>)
  endforeach()
endfunction()
