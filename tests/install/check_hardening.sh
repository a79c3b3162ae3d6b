#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints one line for each protection that an ELF file or a static archive lacks: FILE: PROPERTY: finding.
# FILE is the name without folder. Properties of programs and shared libraries: relro bind-now pie exec-stack
# writable-code text-relocations separate-code stack-protector fortify cet bti. Properties of static archives,
# for each object: cet bti exec-stack.
#
# usage: check_hardening.sh [--cet] [--linked-cet] [--bti] [--exceptions TABLE] FILE...    ignores other files
#   --cet, --bti        the compiler marks objects for CET (x86), for BTI (AArch64)
#   --linked-cet        the C library's start files are marked for CET, too; else no linked file can be
#   --exceptions TABLE  lines `NAME PROPERTY REASON`: accepted findings. A line without a finding is a failure, unless
#                       PROPERTY ends in ?, for findings that depend on the flags of the build
# exit status: 0 no protection is missing, 1 one is missing, 2 no file was checked
set -euo pipefail
cet='' linked_cet='' bti='' table=/dev/null checked=0 findings=''
while [ $# -gt 0 ]; do
  case $1 in
    --cet) cet=1 ;;
    --linked-cet) linked_cet=1 ;;
    --bti) bti=1 ;;
    --exceptions) table=$2; shift ;;
    *) break ;;
  esac
  shift
done

found() { findings+="$1: $2: $3"$'\n'; }

# check_linked NAME FILE: checks a program or a shared library.
check_linked() {
  local name=$1 segments dynamic imports notes
  segments=$(readelf --wide --segments "$2")
  dynamic=$(readelf --wide --dynamic "$2")
  imports=$(nm --dynamic --undefined-only "$2" | awk '{ sub("@.*", "", $NF); print $NF }')
  notes=$(readelf --wide --notes "$2")
  grep -q GNU_RELRO <<<"$segments" || found "$name" relro "no segment GNU_RELRO"
  grep -qE 'BIND_NOW|Flags:.*\bNOW\b' <<<"$dynamic" || found "$name" bind-now "no flag BIND_NOW: the table of functions stays writable"
  if grep -q INTERP <<<"$segments" && ! grep -qE 'Flags:.*\bPIE\b' <<<"$dynamic"; then found "$name" pie "a program at a fixed address"; fi
  if ! grep -q GNU_STACK <<<"$segments"; then
    found "$name" exec-stack "no segment GNU_STACK: the kernel may make the stack executable"
  elif grep -qE 'GNU_STACK.* RWE ' <<<"$segments"; then
    found "$name" exec-stack "segment GNU_STACK is executable"
  fi
  if grep -qE '^ *LOAD.* RWE ' <<<"$segments"; then found "$name" writable-code "a segment is writable and executable"; fi
  if grep -qE '\(TEXTREL\)|Flags:.*TEXTREL' <<<"$dynamic"; then found "$name" text-relocations "the loader writes into code"; fi
  if [ "$(grep -cE '^ *LOAD.* R E ' <<<"$segments")" != 1 ] || grep -m 1 -E '^ *LOAD' <<<"$segments" | grep -q ' R E '; then
    found "$name" separate-code "data shares an executable segment"
  fi
  grep -qx __stack_chk_fail <<<"$imports" || found "$name" stack-protector "does not import __stack_chk_fail"
  # No pipe into grep -q: it ends at the first match, and a writer that is still busy then fails the whole pipe.
  grep -qE '^__.*_chk$' <<<"$imports" || found "$name" fortify "imports no function __*_chk"
  if [ -n "$linked_cet" ] && ! grep -qE 'x86 feature:.*IBT.*SHSTK' <<<"$notes"; then found "$name" cet "not marked for IBT and SHSTK"; fi
  if [ -n "$bti" ] && ! grep -qE 'AArch64 feature:.*BTI' <<<"$notes"; then found "$name" bti "not marked for BTI"; fi
}

# check_archive NAME FILE: checks each object of a static archive. Objects without code need no mark.
check_archive() {
  local name=$1 member
  if [ -n "$cet$bti" ]; then
    while read -r member; do
      found "$name($member)" "${cet:+cet}${bti:+bti}" "object is not marked"
    done < <(readelf --wide --sections --notes "$2" | awk -v mark="${cet:+IBT, SHSTK}${bti:+BTI}" '
      function report() { if (object != "" && has_code && !is_marked) print object }
      /^File: / { report(); object = $0; sub(/^File: .*\(/, "", object); sub(/\)$/, "", object); has_code = is_marked = 0 }
      / PROGBITS .* AX[A-Z]* / && !/ PROGBITS +[0-9a-f]+ [0-9a-f]+ 000000 / { has_code = 1 }
      index($0, mark) && /feature:/ { is_marked = 1 }
      END { report() }')
  fi
  while read -r member; do
    found "$name($member)" exec-stack "object has no section .note.GNU-stack, or an executable one"
  done < <(readelf --wide --sections "$2" | awk '
    function report() { if (object != "" && !is_plain) print object }
    /^File: / { report(); object = $0; sub(/^File: .*\(/, "", object); sub(/\)$/, "", object); is_plain = 0 }
    / \.note\.GNU-stack / && !/ AX? | X / { is_plain = 1 }
    END { report() }')
}

for file in "$@"; do
  if [ ! -f "$file" ] || [ -L "$file" ]; then continue; fi
  name=${file##*/}
  case $(head -c 8 "$file" | tr -d '\0' | tr '\n' ' ') in
    $'\x7fELF'*) check_linked "$name" "$file" ;;
    '!<arch> '*) check_archive "$name" "$file" ;;
    *) continue ;;
  esac
  checked=$((checked + 1))
done
if [ "$checked" = 0 ]; then echo "no ELF file and no archive among $# files"; exit 2; fi

# Prints findings without an exception, and exceptions without a finding.
left=$(printf '%s' "$findings" | awk -v table="$table" '
  BEGIN { while ((getline line < table) > 0) if (line !~ /^(#|$)/) {
    split(line, word, " "); may = sub(/\?$/, "", word[2]); allowed[word[1] ": " word[2]] = 1
    if (may) seen[word[1] ": " word[2]] = 1
  } }
  { split($0, part, ": "); key = part[1] ": " part[2]; if (key in allowed) seen[key] = 1; else print }
  END { for (key in allowed) if (!(key in seen)) print key ": the table of exceptions names it, but the file has it" }')
if [ -n "$left" ]; then printf '%s\n' "$left"; exit 1; fi
echo "$checked files hardened"
