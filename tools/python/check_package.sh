#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks, without Python, that the Python package fits the product it is built for: its version, the names of the native
# module, options and exit codes of `etbackend compile`, and flags of the C API.
# usage: check_package.sh PROGRAM      (the etbackend program that was built)
set -euo pipefail
program=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
package=$here/src/etbackend
failed=0
wrong() { echo "FAILED: $*"; failed=1; }
same() {  # WHAT, and two lists
  if [ -z "$2" ] || [ "$2" != "$3" ]; then
    wrong "$1 differ (< found, > expected):"
    diff <(echo "$2") <(echo "$3") || true
  fi
}

# The version of the package is read from version.h: the parts must be there in the order that pyproject.toml expects.
same "parts of the version" "$(grep -o 'ETB_VERSION_[A-Z]*' "$here/pyproject.toml")" \
  "$(sed -n 's/^#define \(ETB_VERSION_[A-Z]*\) [0-9]*$/\1/p' "$root/api/include/etb/version.h")"
if grep -q '^version *=' "$here/pyproject.toml"; then wrong "pyproject.toml states a version of its own"; fi

# Functions, classes and members of the native module have a type in the stub, and nothing else has.
bound=$(sed -n 's/.*\(def\|def_rw\|def_static\|def_prop_ro\)("\([a-z_]*\)".*/\2/p; s/.*class_<.*(module, "\([A-Z][A-Za-z]*\)").*/\1/p' "$here/native/native.cpp" | LC_ALL=C sort -u)
typed=$(sed -n 's/^ *def \([a-z][a-z_]*\)(.*/\1/p; s/^class \([A-Za-z]*\):.*/\1/p; s/^    \([a-z_]*\): .*/\1/p' "$package/_native.pyi" | LC_ALL=C sort -u)
same "names of the native module and of its stub" "$bound" "$typed"

# Options of compile() are options of the command.
help=$("$program" help compile)
options=$(grep -oE '"-(b|-[a-z-]+)"' "$package/compiler.py" | tr -d '"' | LC_ALL=C sort -u)
[ "$(wc -l <<<"$options")" -ge 20 ] || wrong "found only these options in compiler.py: $options"
for option in $options; do
  case $option in
    --no-config | --plugin-path | --secure) text=$("$program" --help) ;;
    *) text=$help ;;
  esac
  grep -qE -- "(^|[ ,])$option([ ,=]|\$)" <<<"$text" || wrong "compiler.py passes $option, which the help of the command lacks"
done

# Exit codes and their names, but the 0.
same "exit codes" "$(sed -n 's/^    \([1-9]\): "compile\.\(.*\)",$/\1 \2/p' "$package/compiler.py")" \
  "$(sed -n 's/^ETB_EXIT(\([A-Z_]*\), \([1-9]\),.*/\2 \1/p' "$root/tools/exit_code.def" | tr '[:upper:]_' '[:lower:]-')"

# Numbers of the C API that Python states.
value_of() { awk -v name="$1" '{ for (i = 1; i < NF; ++i) if ($i == name) { v = $(i + 1); if (v == "\\") { getline; v = $1 } sub(/u$/, "", v); print v; exit } }' "$root/api/include/etb/$2"; }
same "flags of modules" "$(sed -n 's/^_NO_PLUGINS, _SHARED_ARENAS, _SECURE, _ASYNC = \([0-9]*\), \([0-9]*\), \([0-9]*\), \([0-9]*\) .*/\1 \2 \3 \4/p' "$package/runtime.py")" \
  "$(($(value_of ETB_MODULE_NO_PLUGINS module.h))) $(($(value_of ETB_MODULE_SHARED_ARENAS module.h))) $(($(value_of ETB_MODULE_SECURE module.h))) $(($(value_of ETB_MODULE_ASYNC module.h)))"
same "flags of registries" "$(sed -n 's/^_SECURE, _ONLY_PATHS = \(0x[0-9a-f]*\), \(0x[0-9a-f]*\) .*/\1 \2/p' "$package/registry.py")" \
  "$(value_of ETB_REGISTRY_SECURE registry.h) $(value_of ETB_REGISTRY_ONLY_PATHS registry.h)"
same "load modes" "$(sed -n 's/^_LOAD_MODES.*"mmap": \([0-9]\), "file": \([0-9]\), "mmap-lock": \([0-9]\), "mmap-try-lock": \([0-9]\).*/\1 \2 \3 \4/p' "$package/runtime.py")" \
  "$(value_of ETB_LOAD_MMAP module.h) $(value_of ETB_LOAD_FILE module.h) $(value_of ETB_LOAD_MMAP_LOCK module.h) $(value_of ETB_LOAD_MMAP_TRY_LOCK module.h)"

[ "$failed" = 0 ] || exit 1
echo "the Python package fits the product: $(wc -l <<<"$bound") names, $(wc -l <<<"$options") options"
