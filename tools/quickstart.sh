#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian 12 to a first result: sets the machine up (tools/setup.sh), builds the program and the
# plugins in build/quickstart (Release, no tests), and runs the main job. A second run does only the missing
# steps. Runs as root, or as a user with sudo.
#
# usage: quickstart.sh
set -euo pipefail
export PATH=/usr/bin:/bin:$PATH   # Debian's own cmake, ninja and compiler, before other installations
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/quickstart

say() { printf "quickstart [%3d s]: %s\n" "$SECONDS" "$*" >&2; }

# The main use of the project. Finds plugins without running them, loads one by name and runs a call through
# it (docs/examples/load_by_name.cpp). Then compiles a trained model for the xnnpack plugin (without it, for
# the portable kernels). Runs it by plugin name on new images, and prints the plugin used and the accuracy
# (docs/examples/classify_digits.cpp).
main_job() {
  export ETBACKEND_PATH=$build/plugins.d
  local digits=$root/docs/examples/digits
  say "plugins here: etbackend list"
  "$build/bin/etbackend" list
  say "one call through a plugin: load_by_name my_npu"
  "$build/bin/load_by_name" my_npu
  local backend=()
  if "$build/bin/etbackend" explain xnnpack >/dev/null 2>&1; then backend=(-b xnnpack --report); fi
  say "a trained digit classifier: etbackend compile digits.pt2 ${backend[*]}, then classify_digits"
  "$build/bin/etbackend" compile "$digits/digits.pt2" "${backend[@]}" -o "$build/digits.pte"
  "$build/bin/classify_digits" "$build/digits.pte" "$digits/digits.bin"
}

say "setting up"
"$root/tools/setup.sh"
say "building (Release, in build/quickstart)"
# -O2: kernels request -O3 themselves. For other code it would only lengthen the build.
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DETB_BUILD_TESTS=OFF --log-level=NOTICE >/dev/null
cmake --build "$build"
main_job
