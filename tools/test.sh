#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests: sets the machine up for a contributor (tools/setup.sh), configures, builds, runs ctest.
# Repeats no finished step: if nothing has changed since the last run, only the tests run.
#
# usage: test.sh [--asan] [--tsan] [--tidy] [--fuzz SECONDS] [-- ctest arguments]
#   without options   the everyday build (preset dev) and all tests
#   --asan            all tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   --tsan            all tests under ThreadSanitizer
#   --tidy            clang-tidy over all sources
#   --fuzz SECONDS    each fuzz target for that long, from its committed corpus
# Options can be combined; each uses its own build in build/<preset>.
# environment: ETB_REQUIRE_XNNPACK=1   fail if the xnnpack plugin cannot be built
set -euo pipefail
export PATH=/usr/bin:/bin:$PATH   # Debian's own cmake, ninja and compilers, before other installations
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
presets=()
fuzz_seconds=
ctest_arguments=()

say() { printf "test [%3d s]: %s\n" "$SECONDS" "$*" >&2; }

while [ $# -gt 0 ]; do
  case $1 in
    --asan | --tsan | --tidy) presets+=("${1#--}") ;;
    --fuzz)
      fuzz_seconds=${2:-}
      case $fuzz_seconds in '' | *[!0-9]*) say "--fuzz takes a number of seconds"; exit 2 ;; esac
      presets+=(fuzz)
      shift
      ;;
    --) shift; ctest_arguments=("$@"); break ;;
    -h | --help) sed -n '3,/^set/{/^set/!s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit ;;
    *) say "unknown argument $1 (--help lists them)"; exit 2 ;;
  esac
  shift
done
if [ ${#presets[@]} = 0 ]; then presets=(dev); fi

# XNNPACK trusts its inputs. Built with AddressSanitizer, it reveals inputs that the plugin's checks should
# have rejected.
provide_watched_xnnpack() {
  local rc=0
  tools/xnnpack/provide.sh --sanitize address >/dev/null || rc=$?
  if [ "$rc" != 0 ] && [ "${ETB_REQUIRE_XNNPACK:-0}" = 1 ]; then return 1; fi
}

build() {
  local preset=$1 settings=()
  if [ "${ETB_REQUIRE_XNNPACK:-0}" = 1 ]; then settings=(-DETB_PLUGIN_XNNPACK=ON); fi
  case $preset in asan | fuzz) provide_watched_xnnpack ;; esac
  say "building (preset $preset)"
  cmake --preset "$preset" "${settings[@]}" --log-level=NOTICE >/dev/null   # standard error has the warnings
  if [ "$preset" = fuzz ]; then
    # shellcheck disable=SC2046
    cmake --build --preset fuzz --target $(cut -d' ' -f1 build/fuzz/fuzzers.txt)
  else
    cmake --build --preset "$preset"
  fi
}

# Each fuzz target runs from a copy of its committed corpus. New findings stay in the build tree.
fuzz() {
  local name corpus found failed=
  while read -r name corpus; do
    found=$root/build/fuzz/corpus/$name
    mkdir -p "$found"
    say "fuzzing $name for $fuzz_seconds s"
    if ! "$root/build/fuzz/bin/$name" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$root/build/fuzz/crash-$name-" "$found" "$corpus" >"$found.log" 2>&1; then
      tail -n 30 "$found.log"
      failed="$failed $name"
    fi
    grep -E '^stat::number_of_executed_units' "$found.log" || true
  done <"$root/build/fuzz/fuzzers.txt"
  if [ -n "$failed" ]; then say "FAILED:$failed (inputs: build/fuzz/crash-*)"; return 1; fi
  say "$(wc -l <"$root/build/fuzz/fuzzers.txt") fuzz targets, no finding"
}

"$root/tools/setup.sh" --contributor
cd "$root"
for preset in "${presets[@]}"; do
  build "$preset"
  case $preset in
    tidy) say "clang-tidy: no finding" ;;
    fuzz) fuzz ;;
    *) ctest --preset "$preset" "${ctest_arguments[@]}" ;;
  esac
done
