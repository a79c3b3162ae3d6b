#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a bare Debian 12, after tools/quickstart.sh: says what a machine without drivers lacks, installs a Vulkan and an OpenCL
# driver, and has both plugins listed, verified and MobileNetV2 run on them. Runs as root: it installs packages.
#
# usage: bare_gpu.sh [BUILD]      BUILD: build/quickstart
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/quickstart}
etbackend=$build/bin/etbackend
export ETBACKEND_PATH=$PWD/$build/plugins.d
model=tests/fixtures/zoo/mobilenet_v2

say() { printf '\n== %s\n' "$*"; }

say "without drivers"
for plugin in vulkan opencl; do
  "$etbackend" compile -b "$plugin" "$model.pt2" -o "$build/$plugin.pte"
  if "$etbackend" run "$build/$plugin.pte" --input "$model.in.0.npy" 2>"$build/$plugin.err"; then
    echo "a driver for $plugin is here already"
  else
    cat "$build/$plugin.err"
    grep -q hint "$build/$plugin.err" || { echo "FAILED: the error does not say what to install"; exit 1; }
  fi
done

say "with drivers"
apt-get install -y --no-install-recommends mesa-vulkan-drivers ocl-icd-libopencl1 pocl-opencl-icd >"$build/drivers.log"
"$etbackend" list --devices
for plugin in vulkan opencl; do
  say "$plugin"
  "$etbackend" verify "$plugin" --profile smoke
  "$etbackend" run "$build/$plugin.pte" --input "$model.in.0.npy"
  "$etbackend" diff "$model.out.0.npy" "$plugin" --model "$model.pt2" --input "$model.in.0.npy"
done
