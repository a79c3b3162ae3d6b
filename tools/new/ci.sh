#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# For CI jobs: a clean build with warnings as errors, then all tests. Needs CMake, a compiler and the
# etbackend SDK (in CMAKE_PREFIX_PATH if it is not installed in the system).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cmake -S . -B build/ci -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
  -DCMAKE_C_FLAGS="-Wall -Wextra ${CFLAGS:-}" -DCMAKE_CXX_FLAGS="-Wall -Wextra ${CXXFLAGS:-}"
cmake --build build/ci --parallel
ctest --test-dir build/ci --output-on-failure --no-tests=error
