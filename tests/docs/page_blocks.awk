# SPDX-License-Identifier: Apache-2.0
# Prints the ```sh blocks of a page as one script. Each block prints its line number first, so that a failure
# names its line of the page. Blocks that tests/docs/not_run.txt lists are left out.
# usage: awk -v page=docs/NAME.md -v list=not_run.txt -f page_blocks.awk PAGE
# Errors (exit code 1): a row of the list without a block, a row without a reason, and a block of commands that is
# not marked as ```sh, which no test would run.
function fail(message) { print page ": " message >"/dev/stderr"; failed = 1 }
# Index of the row of the list that begins this block, 0 if there is none.
function find_row(line,   i) {
  for (i = 1; i <= rows; ++i) if (index(line, start[i]) == 1) return i
  return 0
}
BEGIN {
  while ((getline line < list) > 0) {
    if (line ~ /^#/ || line == "") continue
    count = split(line, field, "\t")
    if (count != 3 || field[3] == "") { fail("a row of " list " has " count " columns, expected page, command, reason: " line); continue }
    if (field[1] == page) { ++rows; start[rows] = field[2] }
  }
}
!inside && /^ *```sh( |$)/ { inside = 1; first = 1; next }
!inside && /^ *```/ { inside = 2; plain = /^ *```$/; next }
inside && /^ *```$/ { inside = 0; next }
inside == 1 && first {
  first = 0
  row = find_row($0)
  if (row) used[row] = 1
  else { print "echo \"== line " FNR "\" >&2"; ++blocks }
}
inside == 1 && !row { print }
inside == 2 && plain && /^ *(\$ )?(etbackend|cmake|ctest|ninja|python3?|pip|g\+\+|gcc|cc|gdb|sudo|tools\/[a-z_]+\.sh) / {
  fail("line " FNR ": a block of commands does not begin with ```sh: " $0)
}
END {
  for (i = 1; i <= rows; ++i) if (!used[i]) fail("no block begins with '" start[i] "', which " list " names")
  if (!failed && blocks + 0 < least + 0) fail(blocks + 0 " blocks found, expected at least " least)
  exit failed
}
