#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the host and the XNNPACK plugin for Linux on aarch64, and runs their tests under QEMU. Debian's
# libraries for that processor are unpacked in a folder of the cache; apt and dpkg of this machine are not changed.
#
# usage: cross_tests.sh [--build-only] [ctest arguments]
#   e.g. cross_tests.sh -R xnnpack
# environment: ETBACKEND_CACHE=DIR   for libraries and XNNPACK (default ~/.cache/etbackend)
#              JOBS=N                jobs of the build and of ctest (default 2)
#              FOLDERS='a b'         what to build and test instead of 'host plugins/xnnpack'
#
# Needs Debian's g++-aarch64-linux-gnu and qemu-user beside what tools/setup.sh installs. Exit code 77: a tool is missing.
set -euo pipefail
export PATH=/usr/bin:/bin:$PATH   # Debian's own cmake and ninja, before other installations
cd "$(dirname "$0")/.."
need() { command -v "$1" >/dev/null || { echo "skipped: no $1 (Debian: $2)"; exit 77; }; }
need cmake cmake
need ninja ninja-build
need flatc flatbuffers-compiler
need apt-get apt
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
need qemu-aarch64 qemu-user
is_build_only=
if [ "${1:-}" = --build-only ]; then is_build_only=1; shift; fi
cache=${ETBACKEND_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/etbackend}
packages="libexpected-dev libcli11-dev libfmt-dev nlohmann-json3-dev libflatbuffers-dev libzip-dev libgtest-dev libgmock-dev libsodium-dev"

# Fills the folder $1 with the packages and what they need, by an apt with settings, lists and status of its own. The compiler has
# the C library.
unpack_libraries() {
  local work=$1.work
  rm -rf "$work" "$1"
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
  : >"$work/status"
  local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$work" -o Dir::State::lists="$work/lists"
    -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User=
    -o Debug::NoLocking=1)
  "${apt[@]}" update
  # shellcheck disable=SC2086
  "${apt[@]}" install -y --no-install-recommends --download-only $packages
  local package
  for package in "$work"/cache/archives/*.deb; do
    case ${package##*/} in libc6* | libc-dev* | linux-libc-dev* | libgcc* | libstdc++* | gcc-*) continue ;; esac
    dpkg-deb -x "$package" "$work/root"
  done
  mv "$work/root" "$1"
  rm -rf "$work"
}

root=$cache/aarch64-$(echo "$packages" | sha256sum | cut -c1-16)
if [ ! -d "$root" ]; then
  echo "== Debian's libraries for aarch64"
  mkdir -p "$cache"
  unpack_libraries "$root"
fi
echo "== XNNPACK"
ETB_XNNPACK_CC=aarch64-linux-gnu-gcc ETB_XNNPACK_CXX=aarch64-linux-gnu-g++ tools/xnnpack/provide.sh >/dev/null
echo "== build"
ETB_CROSS_ROOT=$root cmake --preset aarch64 --log-level=NOTICE -DETB_PLUGIN_VULKAN=OFF -DETB_PLUGIN_OPENCL=OFF
folders=${FOLDERS:-host plugins/xnnpack}
# shellcheck disable=SC2086
ninja -C build/aarch64 -j "${JOBS:-2}" $(printf '%s/all ' $folders)
if [ -n "$is_build_only" ]; then exit; fi
failed=0
for folder in $folders; do
  echo "== tests of $folder"
  ctest --test-dir "build/aarch64/$folder" -j "${JOBS:-2}" --output-on-failure "$@" || failed=1
done
exit $failed
