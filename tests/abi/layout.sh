#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the memory layout of every ABI struct, from clang's record dump, for two 64-bit and two 32-bit
# targets. Compares it with layout.golden beside this file; with --rebase, writes that file. Needs no compiler
# runtime for the targets.
# usage: layout.sh CLANG [--rebase]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
clang=$1
golden=$here/layout.golden

# The inline graph reader uses functions of string.h, which a bare cross target lacks.
stubs=$(mktemp -d)
trap 'rm -rf "$stubs"' EXIT
cat >"$stubs/string.h" <<'STRING'
#include <stddef.h>
int memcmp(const void*, const void*, size_t);
void* memcpy(void*, const void*, size_t);
void* memset(void*, int, size_t);
int strcmp(const char*, const char*);
size_t strlen(const char*);
char* strstr(const char*, const char*);
STRING

layout_of() {  # target
  printf '# %s\n' "$1"
  printf '#include "etb/all.h"\n#include "etb/etbackend.h"\n#include "etb/ext/buffer.h"\n#include "etb/ext/cache.h"\n' | "$clang" --target="$1" -std=c11 -ffreestanding -fsyntax-only -isystem "$stubs" -I"$here/../../api/include" \
    -Xclang -fdump-record-layouts-complete -xc - |
    awk '
      /\| struct etb_/ && $1 == 0 && $3 == "struct" && NF == 4 { name = $4; text = ""; keep = 1; next }
      /Dumping AST Record Layout/ { keep = 0; next }
      keep && /\[sizeof=/ { line = $0; gsub(/.*\[|\].*/, "", line); printf "%s %s\n%s", name, line, text; keep = 0; next }
      keep { indent = match($0, /\|/); rest = substr($0, indent + 1); depth = match(rest, /[^ ]/)
             if (depth == 4) { offset = $1; sub(/^ +/, "", rest); text = text sprintf("  %4d %s\n", offset, rest) } }'
}

now=$(for target in x86_64-linux-gnu aarch64-linux-gnu i386-linux-gnu armv7-linux-gnueabihf; do layout_of "$target"; done)
[ "$(grep -c sizeof= <<<"$now")" -ge 100 ] || { echo "the record dump was not understood"; exit 1; }
if [ "${2:-}" = --rebase ]; then
  printf '%s\n' "$now" >"$golden"
  echo "wrote $golden"
elif ! diff -u "$golden" <(printf '%s\n' "$now"); then
  echo "The layout of the ABI changed. If that is on purpose: tests/abi/layout.sh $clang --rebase, and say why in docs/decisions.md, same commit."
  exit 1
fi
