#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that every compile command has the protections of tools/cmake/EtbHardening.cmake, including those
# that leave no trace in a file.
# usage: hardening_flags.sh COMPILE_COMMANDS.json [REGEX]      commands that match REGEX are left out
set -euo pipefail
flags='-fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=[23]'
case $(uname -m) in
  x86_64) flags+=' -fcf-protection=full' ;;
  aarch64) flags+=' -mbranch-protection=standard' ;;
esac
awk -v flags="$flags" -v excluded="${2:-}" '
  /^ *"command": / {
    if (excluded != "" && $0 ~ excluded) next
    count++
    total = split(flags, flag, " ")
    for (i = 1; i <= total; i++)
      if ($0 !~ " " flag[i] " ") { source = $0; sub(/.* -c /, "", source); sub(/",?$/, "", source); print source ": compiled without " flag[i]; missing = 1 }
  }
  END {
    if (count == 0) { print "no command found"; exit 2 }
    if (missing) exit 1
    print count " commands have " flags
  }' "$1"
