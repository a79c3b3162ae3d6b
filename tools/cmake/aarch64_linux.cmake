# SPDX-License-Identifier: Apache-2.0
# Toolchain file for the whole build on Linux for aarch64: Debian's g++-aarch64-linux-gnu, and Debian's libraries for that processor in
# the folder ETB_CROSS_ROOT (tools/cross_tests.sh fills one). Programs that the build makes run under qemu-aarch64 (qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT ETB_CROSS_ROOT)
  set(ETB_CROSS_ROOT $ENV{ETB_CROSS_ROOT})
endif()
set(ETB_CROSS_ROOT "${ETB_CROSS_ROOT}" CACHE PATH "Folder with usr/include and usr/lib/aarch64-linux-gnu of Debian's libraries for aarch64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ETB_CROSS_ROOT)
set(libraries ${ETB_CROSS_ROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${ETB_CROSS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${ETB_CROSS_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${ETB_CROSS_ROOT}/usr/share/pkgconfig)
# Libraries that a library needs.
foreach(kind SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT -Wl,-rpath-link,${libraries})
endforeach()
# The C library is found by these paths. With qemu's option -L instead, the folder / would be another one for programs that open it.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${libraries} -Wl,--dynamic-linker=/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1")
set(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/aarch64_run.sh --libraries=${libraries}:/usr/aarch64-linux-gnu/lib)
