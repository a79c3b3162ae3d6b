#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the promises of SECURITY.md name existing tests, that the page's examples run, and that
# README.md links it.
# usage: security_page.sh SECURITY.md BUILD_DIR CTEST      tests of the xnnpack plugin may be missing: it is
# optional
set -euo pipefail
page=$1 build=$2 ctest=$3
fail() { echo "FAILED: $*"; exit 1; }

known=" $("$ctest" --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p' | tr '\n' ' ') "
# The second column of the table with the header "promise | tests".
promises=$(sed -n '/^| promise | tests |$/,/^$/p' "$page" | tail -n +3)
count=$(wc -l <<<"$promises")
[ "$count" -ge 10 ] || fail "$count promises found in $page"
while IFS='|' read -r _ promise tests _; do
  names=$(grep -o '`[a-z0-9_]*`' <<<"$tests" | tr -d '`') || fail "no test shows:$promise"
  for name in $names; do
    case $name in
      xnnpack_*) [ -e "$build/plugins.d/xnnpack.so" ] || continue ;;
      hardening_*) if grep -q '^ETB_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then continue; fi ;;  # has other flags
    esac
    case $known in *" $name "*) ;; *) fail "no test is called $name, which shows:$promise" ;; esac
  done
done <<<"$promises"

cd "$(dirname "$page")"
grep -q '](SECURITY.md)' README.md || fail "README.md does not link SECURITY.md"
commands=$(sed -n '/^```sh$/,/^```$/p' "$page" | grep -v '^```')
[ -n "$commands" ] || fail "no example in $page"
PATH=$build/bin:$PATH bash -euo pipefail -c "$commands" >/dev/null
echo "$count promises, each with its tests; the examples run"
