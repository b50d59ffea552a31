#!/usr/bin/env bash
# Replays the cases of cases.txt with SimGrid's SMPI, and prints the times at which their ranks end.
#
# usage: crates/systems/replay/simgrid/times.sh > crates/systems/replay/simgrid/times.txt
#
# Needs `smpirun` of SimGrid 3.32 (Debian: `apt install libsimgrid-dev`). The status is 1 if a replay fails.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# A paragraph becomes a trace: `*` at the beginning of a line stands for each rank, and `@` for its number.
awk -v work="$work" '
  $1 == "case" { name = $2; ranks = $3; print name, ranks, $4, $5, $6; next }
  /^#/ || NF == 0 { next }
  $1 == "*" { for (r = 0; r < ranks; r++) { line = $0; sub(/^\*/, r, line); gsub(/@/, r, line); print line > (work "/" name) }; next }
  { print > (work "/" name) }' cases.txt >"$work/cases"

while read -r name ranks platform model crosstraffic; do
  echo "$work/$name" >"$work/list"
  seq -f 'n%g' 0 $((ranks - 1)) >"$work/hosts"
  smpirun -no-privatize -np "$ranks" -platform "$platform" -hostfile "$work/hosts" -replay "$work/list" \
    --cfg=network/model:"$model" --cfg=network/crosstraffic:"$crosstraffic" \
    --log=smpi_replay.thresh:verbose --log='root.fmt:%a;%.12r;%m%n' >"$work/out" 2>&1 </dev/null || {
    echo "the replay of $name has failed:" >&2
    tail -20 "$work/out" >&2
    exit 1
  }
  # The last action of a rank, or the end of the replay, is its end.
  awk -F';' -v name="$name" -v ranks="$ranks" '
    $1 ~ /^[0-9]+$/ { end[$1] = $2 }
    END { line = name; for (r = 0; r < ranks; r++) line = line " " (r in end ? end[r] : 0); print line }' "$work/out"
done <"$work/cases"
