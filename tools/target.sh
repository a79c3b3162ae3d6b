#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a bare Debian 12 to programs of another processor: installs its compiler and its simulator (tools/setup.sh), builds `etbackend`
# with the DSP plugin in build/target (Release, no tests), builds the run time for the target, and runs models on it under QEMU. Fails
# if a result is wrong. A second run does only the missing steps. Runs as root, or as a user with sudo.
#
# usage: target.sh TARGET
#   mps2-an385, mps2-an386, mps3-an547   firmware for Cortex-M3, M4 and M55: DS-CNN in float, in integers and on the DSP, then the codes
#                                        of the DSP for two networks (docs/microcontroller.md)
#   hexagon                              the codes of the DSP on Hexagon (docs/dsp_stub.md)
#   aarch64, riscv64                     the run time for Linux, with the example models (docs/other_processors.md)
#   host                                 this machine: the models of aarch64, and the twin of the firmware with damaged programs
# environment: ETBACKEND=PROGRAM PLUGINS=FOLDER   an `etbackend` that is built already
set -euo pipefail
export PATH=/usr/bin:/bin:$PATH   # Debian's own cmake, ninja and compilers, before other installations
usage() { sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
target=${1:-}
case $target in
  mps2-an385 | mps2-an386 | mps3-an547) packages=cortex_m ;;
  hexagon | aarch64 | riscv64) packages=$target ;;
  host) packages= ;;
  -h | --help) usage; exit ;;
  *) echo "target '$target', expected mps2-an385, mps2-an386, mps3-an547, hexagon, aarch64, riscv64 or host" >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { printf "target [%3d s]: %s\n" "$SECONDS" "$*" >&2; }

say "setting up"
tools/setup.sh --target "$packages"
if [ -z "${ETBACKEND:-}" ]; then
  say "building etbackend (Release, in build/target)"
  cmake -S . -B build/target -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DETB_BUILD_TESTS=OFF \
    -DETB_PLUGIN_XNNPACK=OFF -DETB_PLUGIN_VULKAN=OFF -DETB_PLUGIN_OPENCL=OFF --log-level=NOTICE >/dev/null
  cmake --build build/target --target etbackend etb_plugin_dsp_stub
  ETBACKEND=$PWD/build/target/bin/etbackend PLUGINS=$PWD/build/target/plugins.d
fi
export ETBACKEND PLUGINS
say "building for $target, and running"
firmware() { docs/examples/cortex_m/run.sh "$target" "build/target_$target/firmware"; }
codes() { tests/cross/codes/run.sh "build/target_$target/codes" "$target"; }
case $target in
  mps*) firmware; codes ;;
  hexagon) codes ;;
  host) tools/cross.sh host "build/target_$target/models"; firmware ;;
  *) tools/cross.sh "$target" "build/target_$target/models" ;;
esac
say "done: $target"
