# SPDX-License-Identifier: Apache-2.0
# Toolchain file for Linux on riscv64 with Debian's g++-riscv64-linux-gnu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER riscv64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Static programs need no libraries of the other system, neither on the board nor under QEMU.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
