#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins that were built with a sanitizer are verified by the ordinary program: correct ones pass, and an error
# that only the sanitizer sees is reported with the sanitizer's text.
#
#   sanitizer_host.sh ETBACKEND FOLDER_OF_PLUGINS
set -u
etbackend=$1
plugins=$2
failures=0

# expect NAME EXIT TEXT PLUGIN PATTERN...
expect() {
  name=$1 wanted=$2 text=$3 plugin=$plugins/$4/$4.so
  shift 4
  for pattern in "$@"; do
    set -- "$@" --case "$pattern"
    shift
  done
  output=$("$etbackend" verify "$plugin" --no-confirm "$@" 2>&1)
  found=$?
  if [ "$found" -ne "$wanted" ]; then
    echo "$name: exit code $found, expected $wanted"
    echo "$output"
    failures=$((failures + 1))
  elif ! printf '%s' "$output" | grep -q "$text"; then
    echo "$name: no '$text' in the report"
    echo "$output"
    failures=$((failures + 1))
  else
    echo "$name: as expected"
  fi
}

expect "overflow without a sanitizer" 0 "PASS" fault_290 'op.neg.f32.7.*'
expect "correct plugin with AddressSanitizer" 0 "PASS" asan_0 'op.neg.f32.*' 'conc.*' 'blob.truncated.0?'
expect "overflow with AddressSanitizer" 1 "AddressSanitizer: heap-buffer-overflow" asan_290 'op.neg.f32.7.*'
expect "race without a sanitizer" 0 "PASS" fault_291 'conc.contexts'
expect "correct plugin with ThreadSanitizer" 0 "PASS" tsan_0 'op.neg.f32.*' 'conc.contexts'
expect "race with ThreadSanitizer" 1 "ThreadSanitizer: data race" tsan_291 'conc.contexts'
exit "$failures"
