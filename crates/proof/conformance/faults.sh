#!/usr/bin/env bash
# Faults of runs of three processes: killed workers, Ctrl-C, and workers that are stopped for a while.
#
# usage: faults.sh PARADES [KILLS [INTERRUPTS [STOPS]]]
#   PARADES     the command
#   KILLS       the number of workers that are killed with SIGKILL (default 100)
#   INTERRUPTS  the number of runs that are ended with SIGINT (default 20)
#   STOPS       the number of workers that are stopped with SIGSTOP and continued (default 6)
#
# Prints a line for each fault, and then the number of failed checks. The status is 1 if a check failed: a
# message or a status is wrong, the end took more than 2 s, a result is not that of `sequential`, or something
# is left behind.
set -euo pipefail
set -m # Jobs are not deaf to SIGINT, unless this script is: hence `env` below.
parades=$(realpath "$1")
kills=${2:-100} interrupts=${3:-20} stops=${4:-6}
engines=(window null-message time-warp)
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
failures=0
model=(run phold --set lps=256 --json --quiet)

check() { # NAME CONDITION...
  local name=$1
  shift
  "$@" || { failures=$((failures + 1)); echo "FAILED: $name"; cat "$work/error"; }
}
now() { echo $(($(date +%s%N) / 1000000)); }
field() { sed -n "s/.*\"$1\": *\"\{0,1\}\([0-9a-f.e+]*\).*/\1/p" "$2" | head -1; }
shared_memory() { ls -A /dev/shm; }
# A process that has ended stays a zombie until its parent asks for its status.
has_ended() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null || [ ! -e "/proc/$1" ]; }

# Starts a run of three processes, and waits for a random time. Sets `run` and `children`.
start() { # ENGINE UNTIL
  env --default-signal=INT "$parades" "${model[@]}" --engine "$1" --until "$2" --processes 3 --threads 1 \
    >"$work/result" 2>"$work/error" &
  run=$!
  children=()
  while [ "${#children[@]}" -lt 2 ]; do mapfile -t children < <(pgrep -P "$run"); done
  sleep "0.$((RANDOM % 400 + 100))"
}

# Waits for the end of the run. Sets `status` and `took`, and checks that nothing is left behind.
await_end() { # SINCE
  status=0
  wait "$run" || status=$?
  took=$(($(now) - $1))
  for child in "${children[@]}"; do
    for _ in {1..100}; do has_ended "$child" || sleep 0.01; done
    check "process $child is left behind" has_ended "$child"
  done
  check "something is left behind in /dev/shm" [ "$(shared_memory)" = "$before" ]
}

same_as_sequential() { # UNTIL
  "$parades" "${model[@]}" --engine sequential --until "$1" >"$work/expected"
  [ "$(field digest "$work/result")" = "$(field digest "$work/expected")" ]
}

before=$(shared_memory)
for ((i = 0; i < kills; i++)); do
  engine=${engines[i % 3]} victim=$((i / 3 % 3))
  start "$engine" 1000000s
  since=$(now)
  if [ "$victim" = 0 ]; then
    kill -9 "$run"
    await_end "$since"
    check "the status is $status" [ "$status" = 137 ]
  else
    pid=${children[victim - 1]}
    kill -9 "$pid"
    await_end "$since"
    check "the status is $status" [ "$status" = 1 ]
    check "the message is another" grep -q "(process $pid) was killed by SIGKILL" "$work/error"
  fi
  check "there is a result" [ ! -s "$work/result" ]
  check "the end took $took ms" [ "$took" -lt 2000 ]
  echo "kill $((i + 1)): $engine, process $victim: status $status after $took ms: $(head -1 "$work/error")"
done 2> >(grep -v Killed >&2)

for ((i = 0; i < interrupts; i++)); do
  engine=${engines[i % 3]}
  start "$engine" 1000000s
  since=$(now)
  kill -INT "$run"
  await_end "$since"
  end=$(field virtual_time_s "$work/result")
  check "the status is $status" [ "$status" = 130 ]
  check "the end took $took ms" [ "$took" -lt 2000 ]
  check "the result is not that of sequential until $end s" same_as_sequential "${end}s"
  echo "interrupt $((i + 1)): $engine: status $status after $took ms, at $end s: $(field digest "$work/result")"
done

for ((i = 0; i < stops; i++)); do
  engine=${engines[i % 3]} pid_index=$((i % 2))
  start "$engine" 20000s
  pid=${children[pid_index]}
  kill -STOP "$pid"
  sleep 1
  check "the run ended without a stopped worker" kill -0 "$run"
  since=$(now)
  kill -CONT "$pid"
  await_end "$since"
  check "the status is $status" [ "$status" = 0 ]
  check "the result is not that of sequential" same_as_sequential 20000s
  echo "stop $((i + 1)): $engine, process $((pid_index + 1)): status $status: $(field digest "$work/result")"
done
echo "$kills kills, $interrupts interrupts, $stops stops: $failures failed checks"
[ "$failures" = 0 ]
