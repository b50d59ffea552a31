#!/usr/bin/env bash
# Runs the programs of actors.cpp, and prints their logs.
#
# usage: crates/systems/carriers/simgrid/times.sh > crates/systems/carriers/simgrid/times.txt
#
# Needs g++ and SimGrid 3.32 (Debian: `apt install libsimgrid-dev`).
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
g++ -O2 -std=c++17 actors.cpp -lsimgrid -o "$work/actors" 2>"$work/warnings" || { cat "$work/warnings" >&2; exit 1; }
"$work/actors" --cfg=network/model:CM02 --log=root.thres:error
