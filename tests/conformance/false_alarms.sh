#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Verifies correct plugins again and again on a busy machine, and prints every failure. The exit code is 1 if there
# was one.
#
#   false_alarms.sh ETBACKEND COUNT PROFILE PLUGIN...
#   false_alarms.sh build/dev/bin/etbackend 50 cert portable build/dev/plugins.d/xnnpack.so
#
# LOOPS is the number of busy loops beside the runs (default: 4). Each line has the mean number of processes that
# wanted a processor in the last minute.
set -u
if [ $# -lt 4 ]; then
  echo "usage: $0 ETBACKEND COUNT PROFILE PLUGIN..." >&2
  exit 2
fi
etbackend=$1
count=$2
profile=$3
shift 3
folder=$(mktemp -d)
loops=""
clean_up() {
  for pid in $loops; do kill "$pid" 2>/dev/null; done
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM
i=0
while [ "$i" -lt "${LOOPS:-4}" ]; do
  (while :; do :; done) &
  loops="$loops $!"
  i=$((i + 1))
done
failures=0
run=1
while [ "$run" -le "$count" ]; do
  for plugin in "$@"; do
    begin=$(date +%s)
    # Each run has other random numbers.
    "$etbackend" verify "$plugin" --profile "$profile" --seed "$run" --results "$folder/results.jsonl" \
      >"$folder/report.txt" 2>&1
    found=$?
    seconds=$(($(date +%s) - begin))
    load=$(cut -d' ' -f1 /proc/loadavg)
    echo "run $run of $count: $plugin: exit code $found, $seconds s, load $load: $(tail -1 "$folder/report.txt")"
    [ "$found" -eq 0 ] && continue
    failures=$((failures + 1))
    grep -E '"state":"(fail|crash|hang|dishonest|flaky|xpass)"' "$folder/results.jsonl"
    cat "$folder/report.txt"
  done
  run=$((run + 1))
done
echo "$failures failures in $count runs of $# plugins, profile $profile, ${LOOPS:-4} busy loops"
[ "$failures" -eq 0 ]
