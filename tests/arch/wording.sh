#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Refuses words of wording_rules.txt in comments and docs.
#
# usage: wording.sh [FILE...]   prints every offence, of all files or of those named (exit code 1: there is one)
# environment: WORDING_ROOT   another tree, for wording_test.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "${WORDING_ROOT:-$here/../..}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

# Frozen headers and generated pages keep their text.
files() {
  find . -name .git -prune -o -name build -prune -o -path ./tests/compat/template_1_0 -prune -o -path ./tests/fuzz/graph_text -prune \
    -o -path ./docs/conformance_kill_matrix.md -prune \
    -o -type f \( -name '*.c' -o -name '*.cc' -o -name '*.cpp' -o -name '*.h' -o -name '*.hpp' -o -name '*.def' -o -name '*.fbs' \
    -o -name '*.inc' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.sh' -o -name '*.md' \) -print | sed 's|^\./||' | LC_ALL=C sort
}

# One offence a line: FILE:LINE: 'WORDS' in "TEXT"; ALTERNATIVE
scan() {
  LC_ALL=C awk -v rules="$here/wording_rules.txt" '
    BEGIN {
      FS = "\t"
      while ((getline line < rules) > 0) {
        if (line ~ /^#/ || split(line, field, "\t") != 3) continue
        if (field[1] == "start") { starts = "(^|[.!?] +)(" field[2] ")[ ,]"; start_advice = field[3] }
        else { ++count; pattern[count] = " (" field[2] ") "; advice[count] = field[3] }
      }
      if (count == 0 || starts == "") { print "wording_rules.txt was not understood" > "/dev/stderr"; exit 2 }
      quote = "\047"
    }
    function report(words, text, instead) {
      gsub(/^ +| +$/, "", words)
      printf "%s:%d: %s%s%s in \"%s\"; instead: %s\n", FILENAME, FNR, quote, words, quote, substr(text, 1, 100), instead
    }
    function check(text,   plain, rest, i, from) {
      gsub(/`[^`]*`/, "x", text)               # code
      gsub(/"[^"]*"/, "x", text)               # quoted words
      gsub(/https?:[^ ]*/, "x", text)
      sub(/^[ \t*>#-]+/, "", text)
      sub(/^[0-9]+\. +/, "", text)
      rest = text
      while (match(rest, starts)) {
        report(substr(rest, RSTART, RLENGTH), text, start_advice)
        rest = substr(rest, RSTART + RLENGTH)
      }
      plain = " " tolower(text) " "
      gsub(/[^a-z\047]+/, " ", plain)
      for (i = 1; i <= count; ++i) {
        rest = plain
        while (match(rest, pattern[i])) {
          report(substr(rest, RSTART, RLENGTH), text, advice[i])
          rest = substr(rest, RSTART + RLENGTH - 1)
        }
      }
    }
    FNR == 1 {
      fenced = 0; in_block = 0
      language = FILENAME ~ /\.md$/ ? "md" : FILENAME ~ /\.(sh|cmake)$|CMakeLists\.txt$/ ? "sh" : "c"
    }
    language == "md" {
      if ($0 ~ /^ *```/) { fenced = !fenced; next }
      if (!fenced && $0 !~ /^#/) check($0)
      next
    }
    language == "sh" {
      if ($0 ~ /^ *#[^!]/) { sub(/^ *#+/, ""); check($0) }
      else if (match($0, /  # /)) check(substr($0, RSTART + 4))
      next
    }
    {
      text = $0
      if (in_block) {
        at = index(text, "*/")
        if (at > 0) { in_block = 0; check(substr(text, 1, at - 1)) } else check(text)
        next
      }
      gsub(/"([^"\\]|\\.)*"/, "s", text)       # string literals
      if ((at = index(text, "//")) > 0) { check(substr(text, at + 2)); next }
      if ((at = index(text, "/*")) > 0) {
        text = substr(text, at + 2)
        if ((at = index(text, "*/")) > 0) check(substr(text, 1, at - 1)); else { in_block = 1; check(text) }
      }
    }' "$@"
}

files >"$work/files.txt"
[ "$(wc -l <"$work/files.txt")" -ge "${WORDING_LEAST:-500}" ] || { echo "FAILED: the scan found almost no files"; exit 1; }

if [ $# = 0 ]; then mapfile -t all <"$work/files.txt"; set -- "${all[@]}"; fi
scan "$@" >"$work/offences.txt"
if [ -s "$work/offences.txt" ]; then
  cat "$work/offences.txt"
  echo "hint: write the sentence in plain English (docs/contributing.md)"
  exit 1
fi
echo "no offence in $# files"
