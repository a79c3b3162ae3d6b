#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Processor seconds of load and first run, by what is cached: nothing, cache/1 of the host, the driver's own cache.
#
# usage: cold_start.sh ETBACKEND PROGRAM [ROUNDS]
#
# Each line is the least of ROUNDS (default 3) runs in processes of their own, user and system time. Every round begins with
# empty folders. The driver's caches are switched off by the variables of Mesa and PoCL, except in the last line.
set -eu
etbackend=$1 program=$2 rounds=${3:-3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Prints user and system seconds of one run.
seconds() {
  { command time -f '%U %S' "$etbackend" run "$program" --random 1 >/dev/null; } 2>"$dir/time"
  tail -n 1 "$dir/time" | awk '{ printf "%.2f\n", $1 + $2 }'
}
without_driver_cache() {
  MESA_SHADER_CACHE_DISABLE=true MESA_GLSL_CACHE_DISABLE=true POCL_KERNEL_CACHE=0 POCL_CACHE_DIR="$dir/pocl" "$@"
}
new_folder() { rm -rf "$dir/host" "$dir/pocl" "$dir/driver" && mkdir "$dir/pocl" "$dir/driver"; }
keep() { printf '%s\n' "$2" >>"$dir/$1.txt"; }
least() { printf '%-44s %s\n' "$2" "$(sort -n "$dir/$1.txt" | head -n 1)"; }

i=0
while [ "$i" -lt "$rounds" ]; do
  i=$((i + 1))
  new_folder
  keep off "$(export ETBACKEND_PLUGIN_CACHE=off; without_driver_cache seconds)"
  new_folder
  export ETBACKEND_PLUGIN_CACHE="$dir/host"
  keep first "$(without_driver_cache seconds)"
  rm -rf "$dir/pocl" && mkdir "$dir/pocl"
  keep second "$(without_driver_cache seconds)"
  new_folder
  export ETBACKEND_PLUGIN_CACHE=off XDG_CACHE_HOME="$dir/driver" POCL_CACHE_DIR="$dir/pocl"
  seconds >/dev/null
  keep driver "$(seconds)"
done
least off 'no cache'
least first 'cache/1, empty'
least second 'cache/1, second load'
least driver "only the driver's cache, second load"
