#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Finds or builds an XNNPACK for the xnnpack plugin, and describes it on standard output:
#
#   origin=system|cache|source    installed packages; built from Debian's sources; built from --source
#   root=DIR                      the folder of include/ and lib/libetb_xnnpack.a; empty for origin=system
#   xnnpack=... pthreadpool=...   versions, if known
#   executor=0|1                  1: pthreadpool can run on threads of the host
#
# usage: provide.sh [--find] [--source DIR] [--sanitize NAMES]
#   --find         only search (system, then cache): download and build nothing
#   --source DIR   build this XNNPACK checkout; dependencies come from DIR/../{cpuinfo,pthreadpool,fxdiv} if
#                  they exist, else from Debian's sources
#   --sanitize NAMES   of the compiler's -fsanitize=, e.g. address: also checks XNNPACK's own reads and writes
# exit status: 0 found or built; 3 not available (reason on standard error); other values: a build failed
#
# Results are stored in ${ETBACKEND_CACHE:-${XDG_CACHE_HOME:-~/.cache}/etbackend}/xnnpack-KEY. Deleting that
# folder is safe.
set -euo pipefail
export PATH=/usr/bin:/bin:$PATH   # Debian's own cmake, ninja and compiler, before other installations
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${ETBACKEND_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/etbackend}
cc=${ETB_XNNPACK_CC:-cc}
cxx=${ETB_XNNPACK_CXX:-c++}
find_only=
source_dir=
sanitize=

say() { echo "xnnpack: $*" >&2; }
none() { say "$*"; exit 3; }

while [ $# -gt 0 ]; do
  case $1 in
    --find) find_only=1 ;;
    --source) source_dir=$(cd "$2" && pwd); shift ;;
    --sanitize) sanitize=$2; shift ;;
    *) say "unknown argument $1"; exit 2 ;;
  esac
  shift
done
command -v "$cc" >/dev/null || none "no C compiler"

# Programs of a compiler for another processor run under QEMU's user mode.
machine=$("$cc" -dumpmachine)
emulator=()
if [ "${machine%%-*}" != "$(uname -m)" ]; then emulator=("qemu-${machine%%-*}" -L "/usr/$machine"); fi

# probe FLAGS...: returns 0 if probe.c compiles, links and runs with these flags.
probe() {
  local out rc=0
  out=$(mktemp)
  { "$cc" -o "$out" "$here/probe.c" "$@" && "${emulator[@]}" "$out"; } >/dev/null 2>&1 || rc=1
  rm -f "$out"
  return $rc
}

has_executor() { grep -qs pthreadpool_executor "$1"; }

find_in_system() {
  local header libraries
  header=$(echo '#include <xnnpack.h>' | "$cc" -E -x c - 2>/dev/null | sed -n 's/^# 1 "\(.*\/xnnpack.h\)".*/\1/p' | head -n 1)
  if [ -z "$header" ]; then return 1; fi
  libraries="-lXNNPACK -lpthreadpool -lm -pthread"
  # shellcheck disable=SC2086
  if ! probe $libraries; then
    say "the installed XNNPACK is too old or does not run: not used"
    return 1
  fi
  printf 'origin=system\nroot=\nexecutor=%d\n' "$(has_executor "$(dirname "$header")/pthreadpool.h" && echo 1 || echo 0)"
}

# Hash of everything that the result depends on: versions of the sources, the recipe, the compiler.
recipe_key() {
  {
    cat "$here/sources.txt" "$here/CMakeLists.txt" "$here"/*.c "$here"/*.cc "$here/upstream/CMakeLists.txt" "$here/../cmake/EtbHardening.cmake"
    "$cc" -dumpfullversion 2>/dev/null || "$cc" --version
    echo "$machine"
    if [ -n "$sanitize" ]; then echo "sanitize $sanitize"; fi
    if [ -n "$source_dir" ]; then
      echo "$source_dir"
      find "$source_dir" -name .git -prune -o -type f -printf '%P %s %T@\n' | sort
    fi
  } | sha256sum | cut -c1-16
}

build() {
  local work=$1 target=$2 sources=$1/sources identifier recipe=$here arguments=()
  if [ -n "$source_dir" ]; then
    collect_dependencies "$sources"
    recipe=$here/upstream
    arguments=(-DXNNPACK_DIR="$source_dir" -DDEPENDENCIES_DIR="$sources")
  else
    "$here/fetch.sh" "$sources" "$cache/sources" || return 3
    identifier=$(sed -n 's/^xnnpack=//p' "$sources/versions.txt")
    case $machine in
      x86_64-*) arguments=(-DSOURCES="$sources" -DIDENTIFIER="$identifier $key") ;;
      *)
        recipe=$here/upstream
        arguments=(-DXNNPACK_DIR="$sources/xnnpack" -DDEPENDENCIES_DIR="$sources")
        ;;
    esac
  fi
  if [ ${#emulator[@]} != 0 ]; then arguments+=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="${machine%%-*}"); fi
  say "building with $("$cc" --version | head -n 1) (a minute or two; XNNPACK's own CMake takes several; log: $cache/xnnpack-$key.log)"
  # The caller's compiler flags are meant for the caller's own code.
  if ! {
    env -u CFLAGS -u CXXFLAGS -u LDFLAGS CC="$cc" CXX="$cxx" cmake -S "$recipe" -B "$work/build" -G Ninja \
      -DCMAKE_BUILD_TYPE=Release -DETB_SANITIZE="$sanitize" -DCMAKE_INSTALL_PREFIX="$target" -DCMAKE_INSTALL_LIBDIR=lib "${arguments[@]}" &&
      cmake --build "$work/build" --target etb_xnnpack &&
      cmake -DCMAKE_INSTALL_LOCAL_ONLY=1 -P "$work/build/cmake_install.cmake"
  } >"$cache/xnnpack-$key.log" 2>&1; then
    tail -n 20 "$cache/xnnpack-$key.log" >&2
    say "the build failed"
    return 1
  fi
  if ! probe -I"$target/include" "$target/lib/libetb_xnnpack.a" -lstdc++ -lm -pthread ${sanitize:+"-fsanitize=$sanitize"}; then
    say "the build succeeded, but a program linked with it does not run"
    return 1
  fi
  {
    if [ -n "$source_dir" ]; then printf 'origin=source\nxnnpack=%s\n' "$source_dir"; else echo origin=cache; fi
    if [ -n "$sanitize" ]; then echo "sanitize=$sanitize"; fi
    cat "$sources/versions.txt"
    printf 'executor=%d\n' "$(has_executor "$target/include/pthreadpool.h" && echo 1 || echo 0)"
  } >"$target/sdk.txt"
}

# For --source: each dependency from beside the checkout, or from Debian.
collect_dependencies() {
  local sources=$1 name
  mkdir -p "$sources"
  for name in cpuinfo pthreadpool fxdiv; do
    if [ ! -e "$source_dir/../$name/CMakeLists.txt" ]; then
      "$here/fetch.sh" "$sources" "$cache/sources" || return 3
      break
    fi
  done
  for name in cpuinfo pthreadpool fxdiv; do
    if [ -e "$source_dir/../$name/CMakeLists.txt" ]; then
      rm -rf "${sources:?}/$name"
      ln -s "$(cd "$source_dir/../$name" && pwd)" "$sources/$name"
    fi
  done
  touch "$sources/versions.txt"
  sed -i '/^xnnpack=/d' "$sources/versions.txt"
  for name in cpuinfo pthreadpool fxdiv; do
    if [ -L "$sources/$name" ]; then sed -i "s|^$name=.*|$name=$(readlink "$sources/$name")|" "$sources/versions.txt"; fi
  done
}

describe() {
  echo "root=$1"
  cat "$1/sdk.txt"
}

if [ -z "$source_dir$sanitize" ] && find_in_system; then exit 0; fi
key=$(recipe_key)
final=$cache/xnnpack-$key
if [ -e "$final/sdk.txt" ]; then describe "$final"; exit 0; fi
if [ -n "$find_only" ]; then none "not installed and not in $cache (tools/setup.sh makes it)"; fi

mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || none "cannot write $cache"
for tool in cmake ninja flock sha256sum tar xz "$cxx"; do
  command -v "$tool" >/dev/null || none "no $tool to build it with"
done
exec 9>"$cache/xnnpack-$key.lock"
flock 9   # another process may be building the same thing: then its result is used
if [ ! -e "$final/sdk.txt" ]; then
  work=$(mktemp -d "$cache/work-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  rc=0
  build "$work" "$work/result" || rc=$?
  if [ "$rc" = 3 ]; then none "no source: neither cached nor from this machine's Debian mirror"; fi
  if [ "$rc" != 0 ]; then exit "$rc"; fi
  rm -rf "$final"
  mv "$work/result" "$final"
  say "kept in $final"
fi
describe "$final"
