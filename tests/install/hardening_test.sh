#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every file of `cmake --install` has the protections of tools/cmake/EtbHardening.cmake. So must a
# vendor's plugin built against the installed tree. First builds one file without each protection:
# check_hardening.sh must find each.
# usage: hardening_test.sh BUILD_DIR SOURCE_DIR [ARCHIVE...]
# ARCHIVE: archives that are linked into plugins but not installed
# environment: CMAKE CC CXX
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2")
shift 2
here=$source/tests/install
work=$build/tests/install/hardening
prefix=$work/prefix
rm -rf "$work"
mkdir -p "$work/without"

step() { echo "== $*"; }
fail() { echo "FAILED: $*"; exit 1; }

step "marks that this compiler and the C library's start files set"
probe() { echo 'int main(void) { return 0; }' | "$CC" -x c "$@" -o "$work/probe" - && readelf --wide --notes "$work/probe"; }
marks=()
compile=(-O2 -fPIC -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
case $(uname -m) in
  x86_64)
    compile+=(-fcf-protection=full)
    probe -c "${compile[@]}" | grep -q 'feature:.*SHSTK' || fail "$CC marks no object for CET"
    marks+=(--cet)
    if probe "${compile[@]}" | grep -q 'feature:.*SHSTK'; then marks+=(--linked-cet); fi
    ;;
  aarch64)
    compile+=(-mbranch-protection=standard)
    if probe "${compile[@]}" | grep -q 'feature:.*BTI'; then marks+=(--bti); fi
    ;;
esac
echo "${marks[*]:-nothing}"
bare_check() { "$here/check_hardening.sh" "${marks[@]}" "$@"; }

step "a file without one of the protections is found"
cat >"$work/sample.c" <<'END'
#include <stdio.h>
#include <string.h>
int sample(const char* text);
int sample(const char* text) {
  char copy[16];
  strcpy(copy, text);
  return printf("%s\n", copy);
}
#ifdef PROGRAM
int main(int count, char** arguments) { return sample(arguments[count - 1]); }
#endif
END
printf '.text\n.globl place\nplace: .quad sample\n.section .note.GNU-stack,"",%%progbits\n' >"$work/relocated.s"
printf '.section .both,"awx",%%progbits\n.long 1\n.section .note.GNU-stack,"",%%progbits\n' >"$work/both.s"
link=(-shared -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code)
build_sample() { "$CC" "${compile[@]}" "$work/sample.c" "${link[@]}" -o "$@" 2>"$work/sample.log" || { cat "$work/sample.log"; exit 1; }; }
# expect PROPERTY FILE: fails unless the check reports this property of the file, and no other.
expect() {
  if bare_check "$2" >"$work/findings.txt"; then fail "$1 is missing in $2, and was not found"; fi
  if grep -v "^${2##*/}.*: $1: " "$work/findings.txt"; then fail "findings about others than $1"; fi
  cat "$work/findings.txt"
}
without() { build_sample "$work/without/$1.so" "${@:2}"; expect "$1" "$work/without/$1.so"; }
build_sample "$work/without/nothing.so"
bare_check "$work/without/nothing.so"
without relro -Wl,-z,norelro
without bind-now -Wl,-z,lazy
without exec-stack -Wl,-z,execstack
without separate-code -Wl,-z,noseparate-code
without stack-protector -fno-stack-protector
without fortify -U_FORTIFY_SOURCE
without text-relocations "$work/relocated.s" -Wl,-z,notext
without writable-code "$work/both.s"
"$CC" "${compile[@]}" -fno-pie -no-pie -DPROGRAM "${link[@]:1}" -o "$work/without/program" "$work/sample.c"
expect pie "$work/without/program"
if [ "${marks[0]:-}" = --cet ]; then
  "$CC" "${compile[@]}" -fcf-protection=none -c -o "$work/without/object.o" "$work/sample.c"
  ar rc "$work/without/archive.a" "$work/without/object.o"
  expect cet "$work/without/archive.a"
fi
printf 'nothing.so relro not needed\n' >"$work/stale.txt"
if bare_check --exceptions "$work/stale.txt" "$work/without/nothing.so"; then fail "an exception that is not needed was accepted"; fi
printf 'nothing.so relro? in some builds\nrelro.so relro? in some builds\n' >"$work/some_builds.txt"
bare_check --exceptions "$work/some_builds.txt" "$work/without/nothing.so" "$work/without/relro.so"

step "the installed tree"
DESTDIR='' "$CMAKE" --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mapfile -t files < <(find "$prefix" -type f)
for wanted in bin/etbackend libetb_registry.a; do
  case " ${files[*]} " in *"/$wanted "*) ;; *) fail "$wanted was not installed" ;; esac
done
bare_check --exceptions "$here/hardening_exceptions.txt" "${files[@]}" "$@"

for language in cpp c; do
  step "a vendor's plugin ($language)"
  (cd "$work" && "$prefix/bin/etbackend" new vendor_npu --lang "$language" --dir "vendor_$language") >/dev/null
  "$CMAKE" -S "$work/vendor_$language" -B "$work/vendor_$language/build" -G Ninja -DBUILD_TESTING=OFF -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/vendor.log"
  "$CMAKE" --build "$work/vendor_$language/build" >>"$work/vendor.log" || { cat "$work/vendor.log"; exit 1; }
  "$source/tests/arch/hardening_flags.sh" "$work/vendor_$language/build/compile_commands.json"
  # A plugin may call no function that the C library can check. Its compile commands show that FORTIFY was
  # requested.
  if ! bare_check "$work/vendor_$language/build/plugins.d/vendor_npu.so" >"$work/findings.txt" && grep -v ': fortify: ' "$work/findings.txt"; then
    fail "the findings above"
  fi
done
step "FORTIFY is not asked for where code is not optimised or a sanitizer is on"
# fortifies CMAKE_ARGUMENTS...: prints the FORTIFY flags in the compile commands of a vendor's plugin.
fortifies() {
  rm -rf "$work/configured"
  "$CMAKE" -S "$work/vendor_c" -B "$work/configured" -G Ninja -DBUILD_TESTING=OFF -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" >"$work/configured.log"
  grep -q '"command": ' "$work/configured/compile_commands.json" || echo "no compile command"
  grep -o -- '-D_FORTIFY_SOURCE=[0-9]' "$work/configured/compile_commands.json" | sort -u
}
[ -z "$(fortifies -DCMAKE_BUILD_TYPE=Debug)" ] || fail "in Debug, where the C library warns of it"
[ -z "$(fortifies -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS=-fsanitize=address)" ] || fail "beside a sanitizer"
[ -z "$(fortifies -DCMAKE_BUILD_TYPE=Release -DETB_HARDENING=OFF)" ] || fail "with ETB_HARDENING=OFF"
echo "== all good"
