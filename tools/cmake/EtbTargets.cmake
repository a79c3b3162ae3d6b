# SPDX-License-Identifier: Apache-2.0
# Functions that add targets, one per kind: every target gets the same warnings, visibility and sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Paths below the source folder are relative in ccache's keys, so that clones and worktrees share what was compiled.
find_program(ETB_CCACHE ccache)
find_program(ETB_ENV env)
if(ETB_CCACHE AND ETB_ENV)
  set(CMAKE_C_COMPILER_LAUNCHER ${ETB_ENV} CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true ${ETB_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()
find_package(Threads REQUIRED)
# Without it CMake compiles programs for -pie but leaves linking to the compiler's default.
include(CheckPIESupported)
check_pie_supported()
include(EtbHardening)

# Release: the linker leaves out functions and data that nothing refers to.
if(NOT APPLE AND NOT MSVC)
  add_compile_options($<$<CONFIG:Release>:-ffunction-sections> $<$<CONFIG:Release>:-fdata-sections>)
  add_link_options($<$<CONFIG:Release>:LINKER:--gc-sections>)
endif()

# etb_optimise_release(-O2|-Os): in a Release build, the targets of this folder and its subfolders are optimised so instead of
# with -O3: for code that is not called in a loop. docs/performance.md has the sizes.
function(etb_optimise_release level)
  if(NOT MSVC)
    add_compile_options($<$<CONFIG:Release>:${level}>)
  endif()
endfunction()

# etb_clear_without_rep_stos(): in a Release build for x86-64, GCC clears small structs in the targets of this folder by vector
# stores. By default it takes `rep stos`, which needs some 10 ns to start: too long for the path of a small call.
function(etb_clear_without_rep_stos)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    add_compile_options($<$<CONFIG:Release>:-mmemset-strategy=vector_loop:512:noalign,libcall:-1:noalign>)
  endif()
endfunction()

add_library(etb_warnings INTERFACE)
target_compile_options(etb_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<BOOL:${ETB_WARNINGS_AS_ERRORS}>:-Werror>)
# GCC 12 wrongly reports overlapping copies in "text" + std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(etb_warnings INTERFACE -Wno-restrict)
endif()
add_library(etb_sanitizers INTERFACE)
if(ETB_SANITIZE)
  target_compile_options(etb_sanitizers INTERFACE -fsanitize=${ETB_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(etb_sanitizers INTERFACE -fsanitize=${ETB_SANITIZE})
endif()

# With sanitizers, GCC wrongly reports uninitialised reads in the standard library (regex, optional).
if(ETB_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(etb_sanitizers INTERFACE -Wno-maybe-uninitialized)
endif()

if(ETB_BUILD_FUZZERS)
  file(WRITE ${PROJECT_BINARY_DIR}/fuzzers.txt "")
  target_compile_options(etb_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()

# etb_add_library(name SOURCES a.cpp ... [DEPS targets] [PRIVATE_DEPS targets] [TEST_SUPPORT]): a static
# library etb_<name>, alias etb::<name>. It is installed and exported (EtbInstall), except with TEST_SUPPORT.
# Sources include each other from the repository root: #include "host/registry/manifest.hpp".
function(etb_add_library name)
  cmake_parse_arguments(arg "TEST_SUPPORT" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(etb_${name} STATIC ${arg_SOURCES})
  add_library(etb::${name} ALIAS etb_${name})
  set_target_properties(etb_${name} PROPERTIES EXPORT_NAME ${name} ETB_TEST_SUPPORT ${arg_TEST_SUPPORT})
  target_include_directories(etb_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(etb_${name} PUBLIC ${arg_DEPS}
    PRIVATE ${arg_PRIVATE_DEPS} $<BUILD_INTERFACE:etb_warnings> $<BUILD_INTERFACE:etb_sanitizers>)
  etb_harden(etb_${name})
endfunction()

# etb_add_executable(name SOURCES a.cpp ... [DEPS targets])
function(etb_add_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} etb_warnings etb_sanitizers)
  etb_harden(${name})
endfunction()

# etb_add_test(name SOURCES a_test.cpp ... [DEPS targets] [LABELS unit ...] [TIMEOUT seconds]): one GoogleTest
# program, one ctest entry. Tests are stored beside the code they test. Under an emulator the time is ten times as long.
function(etb_add_test name)
  if(NOT ETB_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPS;LABELS;DEFINES" ${ARGN})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    math(EXPR arg_TIMEOUT "10 * ${arg_TIMEOUT}")
  endif()
  find_package(GTest REQUIRED)
  etb_add_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ETB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${arg_DEFINES})
  # The sources of tests take a quarter less time to compile than with -O2. GCC's search for
  # uninitialized values has false findings with -O1. Libraries and programs keep -O2.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1;-Wno-maybe-uninitialized>)
  add_test(NAME ${name} COMMAND ${name})
  # No test fills the cache of its user, or finds there what an earlier one left.
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT ETBACKEND_PLUGIN_CACHE=off)
endfunction()

# etb_add_script_test(name COMMAND ... [LABELS arch ...] [TIMEOUT seconds] [ENVIRONMENT ...]): a test that is
# a command.
function(etb_add_script_test name)
  if(NOT ETB_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "ETBACKEND_PLUGIN_CACHE=off;${arg_ENVIRONMENT}"
    SKIP_RETURN_CODE 77)
endfunction()

# etb_add_benchmark(name SOURCES a_benchmark.cpp [DEPS targets]): a Google Benchmark program; never a test.
function(etb_add_benchmark name)
  if(NOT ETB_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  find_package(benchmark REQUIRED)
  etb_add_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} benchmark::benchmark benchmark::benchmark_main)
endfunction()

# etb_add_fuzzer(name SOURCES a_fuzz.cpp CORPUS dir [MUTATOR a_mutator.cpp] [DEPS targets]): a test that
# replays the committed corpus (each file of CORPUS goes through LLVMFuzzerTestOneInput once). The fuzz preset
# also builds a libFuzzer program.
function(etb_add_fuzzer name)
  cmake_parse_arguments(arg "" "CORPUS;MUTATOR" "SOURCES;DEPS" ${ARGN})
  if(ETB_BUILD_FUZZERS)
    etb_add_executable(${name} SOURCES ${arg_SOURCES} ${arg_MUTATOR} DEPS ${arg_DEPS})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    cmake_path(ABSOLUTE_PATH arg_CORPUS)
    # Read by tools/test.sh --fuzz: one line per fuzzer, its name and its corpus.
    file(APPEND ${PROJECT_BINARY_DIR}/fuzzers.txt "${name} ${arg_CORPUS}\n")
  endif()
  if(ETB_BUILD_TESTS)
    etb_add_executable(${name}_replay SOURCES ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cpp DEPS ${arg_DEPS})
    add_test(NAME ${name}_replay COMMAND ${name}_replay ${arg_CORPUS})
    set_tests_properties(${name}_replay PROPERTIES LABELS fuzz TIMEOUT 120)
  endif()
endfunction()

# etb_flatbuffers(target schema.fbs ...): generates headers "etb_schema/<name>_generated.h", private to the
# target.
find_program(ETB_FLATC flatc REQUIRED)
function(etb_flatbuffers target)
  set(dir ${PROJECT_BINARY_DIR}/generated/etb_schema)
  foreach(schema ${ARGN})
    cmake_path(GET schema STEM stem)
    set(out ${dir}/${stem}_generated.h)
    add_custom_command(OUTPUT ${out} DEPENDS ${schema} VERBATIM
      COMMAND ${ETB_FLATC} --cpp --scoped-enums -o ${dir} ${schema})
    target_sources(${target} PRIVATE ${out})
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  set_property(TARGET ${target} APPEND PROPERTY ETB_INCLUDED_LIBRARIES flatbuffers)   # see EtbSbom.cmake
endfunction()

include(EtbPlugin)
