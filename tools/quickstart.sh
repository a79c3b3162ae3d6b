#!/usr/bin/env bash
# From a bare Debian 12 to a first result: sets the machine up (tools/setup.sh), builds the program and the plugins in
# build/quickstart (Release, no tests), and runs the main job. Run again, it only does what is left to do.
# Runs as root, or as a user with sudo.
#
# usage: quickstart.sh
set -euo pipefail
export PATH=/usr/bin:/bin:$PATH   # Debian's own cmake, ninja and compiler, whatever else is installed
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/quickstart

say() { echo "quickstart: $*" >&2; }

# The command line that shows what the project is for. Plugins come from the build tree.
main_job() {
  export ETBACKEND_PATH=$build/plugins.d
  "$build/bin/etbackend" exit-codes
}

say "setting up"
"$root/tools/setup.sh"
say "building (Release, in build/quickstart)"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DETB_BUILD_TESTS=OFF --log-level=NOTICE
cmake --build "$build"
say "running: build/quickstart/bin/etbackend, with the plugins of build/quickstart/plugins.d"
main_job
