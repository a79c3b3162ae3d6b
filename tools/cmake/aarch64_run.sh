#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program for Linux on aarch64 under QEMU: the emulator of aarch64_linux.cmake.
#
# usage: aarch64_run.sh --libraries=FOLDERS PROGRAM [argument ...]
#        aarch64_run.sh [argument ...]   PROGRAM again, as its own child
#
# A program that starts itself again executes its argv[0], as GoogleTest does for death tests. The system cannot
# execute a file for aarch64, so argv[0] is this script, and the environment names the program.
case ${1-} in
  --libraries=*)
    libraries=${1#--libraries=}
    program=$2
    shift 2
    exec qemu-aarch64 -E "LD_LIBRARY_PATH=$libraries" -E "ETB_EMULATED_PROGRAM=$program" -0 "$0" "$program" "$@"
    ;;
esac
exec qemu-aarch64 -0 "$0" "${ETB_EMULATED_PROGRAM:?names no program}" "$@"
