#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures as on a machine without GoogleTest and Google Benchmark, and checks the outcome of an option value.
# usage: configure_test.sh AUTO|ON|OFF SOURCE_DIR WORK_DIR      environment: CMAKE CC CXX
#   AUTO   succeeds without tests, and names the missing Debian packages
#   ON     fails, and names the option and the missing Debian packages
#   OFF    succeeds, and does not search the packages
set -euo pipefail
value=$1 source=$2 work=$3
log=$work/configure.log
rm -rf "$work"
mkdir -p "$work"

fail() { cat "$log"; echo "FAILED: $*"; exit 1; }
# configure ARGUMENT...: probes of flags and optional SDKs are omitted, which saves two thirds of the time.
configure() {
  "$CMAKE" -S "$source" -B "$work/build" -G Ninja -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON \
    -DETB_HARDENING=OFF -DETB_PLUGIN_VULKAN=OFF -DETB_PLUGIN_OPENCL=OFF "$@" >"$log" 2>&1
}
# The log in one line: CMake wraps its messages.
has() { tr -s ' \n' ' ' <"$log" | grep -qF "$1" || fail "the output lacks: $1"; }
has_not() { if grep -qF "$1" "$log"; then fail "the output has: $1"; fi; }
has_no_test() { ctest --test-dir "$work/build" -N | grep -qx 'Total Tests: 0' || fail "ctest found tests"; }

case $value in
  AUTO)
    configure -DETB_BUILD_BENCHMARKS=AUTO || fail "AUTO: configuring failed"   # AUTO is the default for tests
    has "Tests: off, missing: GoogleTest (Debian: libgtest-dev libgmock-dev)"
    has "Benchmarks: off, missing: Google Benchmark (Debian: libbenchmark-dev)"
    has_no_test
    ;;
  ON)
    if configure -DETB_BUILD_TESTS=ON; then fail "ETB_BUILD_TESTS=ON: configuring succeeded without GoogleTest"; fi
    has "ETB_BUILD_TESTS is ON, but a package that tests need is missing: GoogleTest (Debian: libgtest-dev libgmock-dev)"
    rm -rf "$work/build"
    if configure -DETB_BUILD_TESTS=OFF -DETB_BUILD_BENCHMARKS=ON; then fail "ETB_BUILD_BENCHMARKS=ON: configuring succeeded"; fi
    has "ETB_BUILD_BENCHMARKS is ON, but a package that benchmarks need is missing: Google Benchmark (Debian: libbenchmark-dev)"
    ;;
  OFF)
    configure -DETB_BUILD_TESTS=OFF || fail "OFF: configuring failed"
    has_not "Tests:"
    has_no_test
    ;;
  *) sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit 2 ;;
esac
echo "ETB_BUILD_TESTS=$value: as expected"
