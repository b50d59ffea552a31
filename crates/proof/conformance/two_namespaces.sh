#!/usr/bin/env bash
# Two ranks in two network namespaces, joined by a link with delay: MPI over TCP between them.
#
# usage: two_namespaces.sh PROGRAM [DELAY]
#   PROGRAM  the command, built by: cargo build --release -p parades-cli --features mpi
#   DELAY    of each direction of the link, in us, ms or s (default 1ms); `none` for no delay
#
# Needs root, iproute2, Open MPI, and a kernel with veth; with a delay, a kernel with tun, and Python 3.
# Prints the digest of each engine over the link, and of `sequential`. The status is 1 if any two differ.
set -euo pipefail
program=$(realpath "$1")
delay=${2:-1ms}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
one=parades-$$-1 two=parades-$$-2
work=$(mktemp -d)
relay_pid=
clean() {
  [ -z "$relay_pid" ] || kill "$relay_pid" 2>/dev/null || true
  ip netns delete "$one" 2>/dev/null || true
  ip netns delete "$two" 2>/dev/null || true
  rm -r "$work"
}
trap clean EXIT

ip netns add "$one"
ip netns add "$two"

# Passes frames between two tap devices, each after the delay: a link with delay without sch_netem.
relay='
import collections, fcntl, os, select, struct, sys, time
delay, names = float(sys.argv[1]), sys.argv[2:]
taps = [os.open("/dev/net/tun", os.O_RDWR) for _ in names]
for tap, name in zip(taps, names):
    fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH", name.encode(), 0x0002 | 0x1000))  # TUNSETIFF: TAP, no header
print("ready", flush=True)
waiting = collections.deque()
while True:
    timeout = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    for tap in select.select(taps, [], [], timeout)[0]:
        waiting.append((time.monotonic() + delay, taps[tap == taps[0]], os.read(tap, 65536)))
    while waiting and waiting[0][0] <= time.monotonic():
        _, tap, frame = waiting.popleft()
        try:
            os.write(tap, frame)
        except OSError:
            pass  # The other end is not up yet.
'
if [ "$delay" = none ]; then
  ip link add link-1 netns "$one" type veth peer name link-2 netns "$two"
else
  seconds=$(awk -v delay="$delay" 'BEGIN { print delay / (delay ~ /us$/ ? 1e6 : delay ~ /ms$/ ? 1e3 : 1) }')
  coproc RELAY { exec python3 -c "$relay" "$seconds" link-1 link-2; }
  relay_pid=$RELAY_PID
  read -r _ <&"${RELAY[0]}"
  ip link set link-1 netns "$one"
  ip link set link-2 netns "$two"
fi
for end in 1 2; do
  [ "$end" = 1 ] && namespace=$one || namespace=$two
  ip -n "$namespace" address add "10.93.0.$end/24" dev "link-$end"
  ip -n "$namespace" link set "link-$end" up
  ip -n "$namespace" link set lo up
done

# mpirun calls this in the place of ssh: HOST COMMAND. The second machine has a host name of its own.
cat >"$work/agent" <<AGENT
#!/usr/bin/env bash
shift
exec ip netns exec $two unshare --uts bash -c "hostname second; \$*"
AGENT
chmod +x "$work/agent"
printf '10.93.0.1 slots=1\n10.93.0.2 slots=1\n' >"$work/hosts"

digest_of() { sed -n 's/.*"digest": *"\([0-9a-f]*\)".*/\1/p' | head -1; }
differences=0
for model in "phold --set lps=64 --until 5s" "campus --until 500ms" network; do
  here=$("$program" run $model --engine sequential --json --quiet | digest_of)
  for engine in window null-message time-warp; do
    begin=$(date +%s%N)
    there=$(ip netns exec "$one" mpirun --mca plm_rsh_agent "$work/agent" --hostfile "$work/hosts" -n 2 \
      --map-by node --mca btl tcp,self --mca btl_tcp_if_include 10.93.0.0/24 \
      --mca oob_tcp_if_include 10.93.0.0/24 \
      "$program" run $model --engine "$engine" --threads 1 --json --quiet | digest_of)
    echo "$model, $engine: $there in $((($(date +%s%N) - begin) / 1000000)) ms over the link, $here by sequential"
    [ "$here" = "$there" ] || differences=1
  done
done
exit "$differences"
