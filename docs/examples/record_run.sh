#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the example of docs/profiling.md, and checks that the page shows its lines and that its files can be opened.
# usage: record_run.sh ETBACKEND RECORD_RUN MODEL.pte PAGE.md SOURCE.c
set -euo pipefail
etbackend=$1 record_run=$2 model=$3 page=$4 source=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The block after "From C", each line without its indentation, must be a part of the source.
awk '/^## /{inside = $0 == "## From C"} inside && /^```c$/{block = 1; next} /^```$/{block = 0} block' "$page" >"$work/page"
awk '/etb_recording_options wanted/{on = 1} on{sub(/^  /, ""); print} /etb_recording_close/{on = 0}' "$source" >"$work/source"
[ -s "$work/source" ] || { echo "$source: no lines of a recording"; exit 1; }
diff "$work/page" "$work/source" || { echo "FAILED: the block of $page (left) is not that of $source"; exit 1; }
cd "$work"
"$record_run" "$model"
"$etbackend" inspect run.etdp --by event --json >report.json
sha256=$(sha256sum "$model" | cut -d' ' -f1)
grep -q "$sha256" report.json || { echo "FAILED: the recording lacks the digest of its program"; exit 1; }
[ "$(stat -c %s run.bin)" -ge 24 ] || { echo "FAILED: run.bin lacks the values"; exit 1; }
echo "recorded $(stat -c %s run.bin) bytes of values"
