#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package under a sanitizer: the library, the plugins and the binding module are built with
# it, and its run time is loaded before Python. The compiler is a process of its own and comes from a plain build; its
# code is tested under sanitizers by `tools/test.sh --asan` and `--tsan`.
#
# usage: check_sanitized.sh address|thread [--python PYTHON] [--program ETBACKEND] [--jobs N] [-- PYTEST_ARGUMENT...]
#   address            AddressSanitizer and UndefinedBehaviorSanitizer; runs all tests
#   thread             ThreadSanitizer; runs the tests of threads
#   --python PYTHON    interpreter of the tests (default: python3)
#   --program FILE     the plain etbackend program (default: of build/python/tree, which build_wheel.sh builds)
#   --jobs N           parallel jobs of the build (default: one for each processor)
#   PYTEST_ARGUMENT    in place of the choice of tests above, relative to tools/python/tests, such as test_arrays.py
# Exit codes: 0, no finding; 1, a finding, or a test or step failed; 2, a wrong argument. Writes only below build/.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=python3 program=$root/build/python/tree/bin/etbackend jobs=$(nproc) arguments=()

say() { printf 'check_sanitized: %s\n' "$*" >&2; }
fail() { say "$*"; exit 2; }
usage() { sed -n '3,/^# Exit/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

case ${1:-} in
  address) flags=address,undefined runtime=asan tests=(.) ;;
  thread) flags=thread runtime=tsan tests=(test_threads.py) ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; fail "found '${1:-}', expected address or thread" ;;
esac
sanitizer=$1
shift
while [ $# -gt 0 ]; do
  case $1 in
    --python | --program | --jobs) [ $# -ge 2 ] || fail "$1: a value is missing" ;;
    --) shift; arguments=("$@"); break ;;
    *) fail "unknown argument '$1' (--help lists all)" ;;
  esac
  case $1 in
    --python) python=$2 ;;
    --program) program=$(realpath -m "$2") ;;
    --jobs) jobs=$2 ;;
  esac
  shift 2
done
[ ${#arguments[@]} = 0 ] || tests=("${arguments[@]}")
[ -x "$program" ] || fail "no program '$program'; tools/python/build_wheel.sh builds it, or name one: --program ETBACKEND"

out=$root/build/python/$sanitizer build=$root/build/python-$sanitizer
(
  export PATH=/usr/bin:/bin:$PATH   # Debian's own cmake, ninja and compiler, as in tools/test.sh
  say "building the library and the plugins (in ${build#"$root"/})"
  # The flags of the presets asan and tsan, which the compiler cache may know.
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
    -DCMAKE_C_FLAGS_RELWITHDEBINFO="-O1 -g1" -DETB_SANITIZE="$flags" -DETB_WARNINGS_AS_ERRORS=ON -DETB_BUILD_TESTS=OFF \
    -DETB_PLUGIN_VULKAN=OFF -DETB_PLUGIN_OPENCL=OFF --log-level=NOTICE >/dev/null
  targets=(etb_shared)
  help=$(cmake --build "$build" --target help)
  if grep -q '^etb_plugin_xnnpack:' <<<"$help"; then targets+=(etb_plugin_xnnpack); fi
  cmake --build "$build" --parallel "$jobs" --target "${targets[@]}"
)
tree=$out/tree
rm -rf "$tree"
mkdir -p "$tree/bin" "$tree/lib/etbackend/plugins.d"
# Without the preload: the program replaces operators of C++ (tools/large_blocks.cpp), which a sanitizer would report.
printf '#!/bin/sh\nunset LD_PRELOAD\nexec "%s" "$@"\n' "$program" >"$tree/bin/etbackend"
chmod 755 "$tree/bin/etbackend"
cp -L "$build/lib/libetbackend.so.1" "$tree/lib/"
if [ -e "$build/plugins.d/xnnpack.json" ]; then cp "$build/plugins.d/xnnpack".{so,json} "$tree/lib/etbackend/plugins.d/"; fi

say "building the package"
rm -rf "$out/env"
"$python" -m venv "$out/env"
PATH=$out/env/bin:$PATH
pip install --quiet --quiet --disable-pip-version-check 'scikit-build-core>=1.0' 'nanobind>=3.1,<4' pytest
pip install --quiet --disable-pip-version-check --no-build-isolation --config-settings=cmake.define.ETB_PRODUCT="$tree" \
  --config-settings=cmake.define.ETB_SANITIZE="$flags" --config-settings=build-dir="$out/build" "$root/tools/python"

say "testing under the ${sanitizer} sanitizer"
# Python frees nothing at its end, so leaks are not reported. A finding ends the process with code 99.
preload=$(c++ -print-file-name=lib$runtime.so)
[ -e "$preload" ] || { say "$preload is missing, the sanitizer's run time of the compiler"; exit 1; }
mkdir -p "$out/run"
rm -f "$out"/report.*
cd "$out/run"
# The C++ library is loaded early, too: Python has none, and AddressSanitizer looks for its functions at the start.
# pytest would keep what a process writes at its end, so findings go to a file.
code=0
env -u PYTHONPATH ETB_TEST_SANITIZERS="$flags" LD_PRELOAD="$preload $(c++ -print-file-name=libstdc++.so)" PYTHONMALLOC=malloc \
  ASAN_OPTIONS="detect_leaks=0:exitcode=99:allocator_may_return_null=1:log_path=$out/report" \
  UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:log_path=$out/report" \
  TSAN_OPTIONS="halt_on_error=1:exitcode=99:allocator_may_return_null=1:log_path=$out/report" \
  python -m pytest -q -p no:cacheprovider -rs "${tests[@]/#/$root/tools/python/tests/}" || code=$?
if compgen -G "$out/report.*" >/dev/null; then cat "$out"/report.*; code=1; fi
[ "$code" = 0 ] || { say "FAILED: the lines above"; exit 1; }
say "no finding"
