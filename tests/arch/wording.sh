#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Refuses words of wording_rules.txt in comments and docs. Offences from before the check are counted per file in
# wording_baseline.txt, and a count may only shrink: one more offence in a file fails and lists them; a new file may have none.
#
# usage: wording.sh [--rebase | --reset | --list [FILE...]]
#   without options   compares with the baseline (exit code 1: a file has more offences than its count)
#   --rebase          lowers the counts of files that improved; never raises one
#   --reset           writes all counts as they are: after a merge, a move of files, or a new rule
#   --list            prints every offence, of all files or of those named
# environment: WORDING_ROOT, WORDING_BASELINE   another tree and baseline, for wording_test.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "${WORDING_ROOT:-$here/../..}" && pwd)
baseline=${WORDING_BASELINE:-$here/wording_baseline.txt}
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

if [ "${1:-}" = --list ]; then
  shift
  if [ $# = 0 ]; then mapfile -t all <"$work/files.txt"; set -- "${all[@]}"; fi
  scan "$@"
  exit
fi

mapfile -t all <"$work/files.txt"
scan "${all[@]}" >"$work/offences.txt"
cut -d: -f1 "$work/offences.txt" | uniq -c | awk '{ print $1 "\t" $2 }' >"$work/counts.txt"
touch "$work/old.txt"
if [ -e "$baseline" ]; then grep -v '^#' "$baseline" >"$work/old.txt" || true; fi

write() {  # counts
  {
    echo "# Offences against wording_rules.txt from before the check, per file. Counts may only shrink: tests/arch/wording.sh --rebase."
    LC_ALL=C sort -t"$(printf '\t')" -k2 "$1"
  } >"$baseline"
  echo "wrote $(basename "$baseline"): $(awk '{ sum += $1 } END { print sum + 0 }' "$1") offences in $(wc -l <"$1") files"
}

case ${1:-} in
  --reset) write "$work/counts.txt"; exit ;;
  --rebase)
    awk -F'\t' 'NR == FNR { now[$2] = $1; next } $2 in now { print (now[$2] < $1 ? now[$2] : $1) "\t" $2 }' \
      "$work/counts.txt" "$work/old.txt" >"$work/lower.txt"
    write "$work/lower.txt" ;;
  '') ;;
  *) echo "unknown argument $1"; exit 2 ;;
esac
if [ "${1:-}" = --rebase ]; then cp "$work/lower.txt" "$work/old.txt"; fi

# Files with more offences than their count, and the number of those with fewer.
awk -F'\t' 'NR == FNR { old[$2] = $1; next } $1 > old[$2] + 0 { print $2 "\t" $1 "\t" old[$2] + 0 }' \
  "$work/old.txt" "$work/counts.txt" >"$work/worse.txt"
better=$(awk -F'\t' 'NR == FNR { now[$2] = $1; next } now[$2] + 0 < $1' "$work/counts.txt" "$work/old.txt" | wc -l)
total=$(wc -l <"$work/offences.txt")
if [ -s "$work/worse.txt" ]; then
  while IFS=$'\t' read -r file count allowed; do
    echo "$file: $count offences, the baseline allows $allowed. One of these lines is new:"
    grep -F "$file:" "$work/offences.txt" | awk -v file="$file:" 'index($0, file) == 1 { print "  " $0 }'
  done <"$work/worse.txt"
  echo "hint: write the sentence in plain English (docs/contributing.md); tests/arch/wording.sh --list FILE lists a file"
  exit 1
fi
if [ "$better" != 0 ]; then echo "$better files have fewer offences than the baseline; lower it with tests/arch/wording.sh --rebase"; fi
echo "$total offences, none above the baseline"
