"""Programs that the tests run, also in other processes, which import this file."""

from __future__ import annotations

import os
import signal

import parades as p


@p.program(nodes=1000, latency="1ms", until="5s", counters=["passes"])
async def ring(node: p.Node):
    """A token goes round."""
    right = (node.id + 1) % node.nodes
    if node.id == 0:
        node.send(right, 1)
    while True:
        sender, hops = await node.receive()
        assert sender == (node.id - 1) % node.nodes
        node.state["hops"] = hops
        node.count("passes")
        node.send(right, hops + 1)


@p.program(
    nodes=60,
    latency="20ms",
    until="40s",
    session="10s",
    absence="5s",
    stable=1,
    counters=["told"],
    tallies=["heard_s"],
)
async def gossip(node: p.Node, fanout=2):
    """Nodes tell each other a rumour, crash, and come back without it."""
    if node.id == 0:
        node.state["rumour"] = {"text": "rain", "hops": 0}
    await node.sleep(node.random.uniform(0, 1))
    while True:
        rumour = node.state.get("rumour")
        if rumour is not None:
            for _ in range(fanout):
                node.send(node.random_node(), {**rumour, "hops": rumour["hops"] + 1})
                node.count("told")
        end = node.now + 1.0
        while (left := end - node.now) > 0:
            received = await node.receive(within=left)
            if received is None:
                break
            if "rumour" not in node.state:
                node.state["rumour"] = received[1]
                node.observe("heard_s", node.now)


@p.program(nodes=4, until="2000s", latency="1ms", tallies=["sojourn_s"])
async def mm1(node: p.Node, load=0.8):
    """A server with a queue at each node."""
    server = p.Resource(1)

    async def customer():
        came = node.now
        async with server:
            await node.sleep(node.random.expovariate(1.0))
        node.observe("sojourn_s", node.now - came)
        node.state["left"] = node.state.get("left", 0) + 1

    while True:
        await node.sleep(node.random.expovariate(load))
        node.spawn(customer())


@p.program(nodes=2, latency="10ms", until="1s")
def generators(node: p.Node):
    """Processes as generators."""

    def child(n):
        yield from node.sleep("5ms")
        return n * 2

    if node.id == 0:
        assert (yield from node.spawn(child(1))) == 2
        doubled = yield from node.spawn(child(21)).__await__()
        node.send(1, doubled)
    else:
        sender, message = yield from node.receive()
        node.state["got"] = (sender, message, node.now_ps)


VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1 << 62,
    -(1 << 63),
    1 << 200,
    -(1 << 99),
    0.1,
    float("inf"),
    "",
    "ä𝄞",
    b"",
    b"\0" * 99,
]
VALUES += [(), (1, "a", None), [], [[1], (2,)], {"b": 1, "a": [2]}, {1: 2, (3, "x"): {}}]


@p.program(nodes=2, latency="1ms", until="1s")
async def values(node: p.Node):
    """Values of all types travel."""
    if node.id == 0:
        for value in VALUES:
            node.send(1, value)
    else:
        got = [(await node.receive())[1] for _ in VALUES]
        assert got == VALUES, got
        assert [type(one) for one in got] == [type(one) for one in VALUES]
        node.state["got"] = got


@p.program(nodes=2, latency="1ms", until="1s")
async def sends(node: p.Node, sort="set"):
    """Sends something that cannot be sent."""
    node.send(1 - node.id, {"set": {1}, "object": object(), "node": node}[sort])


@p.program(nodes=5, latency="1ms", until="1s")
async def raises(node: p.Node):
    """A process raises an exception."""
    await node.sleep("10ms")
    if node.id == 3:
        raise ValueError("the cat is out")
    await node.sleep("10ms")


SHARED: list[int] = []


@p.program(nodes=8, latency="1ms", until="100ms")
async def leaks(node: p.Node):
    """Nodes share a variable, which they must not."""
    while True:
        SHARED.append(node.id)
        node.state["seen"] = len(SHARED)
        await node.sleep("1ms")


@p.program(nodes=2, latency="1ms", until="1000000s")
async def endless(node: p.Node):
    """Runs for a long time."""
    while True:
        await node.sleep("1ms")


@p.program(nodes=2, latency="1ms", until="10s")
async def stuck(node: p.Node):
    """Never waits again."""
    await node.sleep("1ms")
    while True:
        pass


@p.program(nodes=4, latency="1ms", until="1000000s")
async def dies(node: p.Node, parent=0):
    """Kills its process, unless it is that of the user."""
    await node.sleep("10ms")
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        await node.sleep("1ms")


@p.program(nodes=1, latency="1ms", until="10s")
async def parts(node: p.Node):
    """Queues, events, containers, timeouts and kills."""
    log = node.state.setdefault("log", [])
    store, tank, bell, seat = p.Store(2), p.Container(5, 10), p.Event(), p.Resource(1)

    async def producer():
        for n in range(4):
            await store.put(n)
            log.append(("put", n, node.now_ps))

    async def consumer():
        for _ in range(4):
            await node.sleep("10ms")
            log.append(("got", await store.get()))

    async def with_seat(name, hold, priority):
        await seat.acquire(priority)
        try:
            log.append((name, node.now_ps))
            await node.sleep(hold)
        finally:
            seat.release()

    done = [node.spawn(producer()), node.spawn(consumer())]
    for process in done:
        await process
    assert await store.get(within="5ms") is None
    first = node.spawn(with_seat("first", "1s", 0))
    await node.sleep(0)
    late, soon = node.spawn(with_seat("late", "1ms", 2)), node.spawn(with_seat("soon", "1ms", 1))
    await node.sleep("1ms")
    assert not await seat.acquire(within="1ms")
    assert seat.queue_length == 2
    first.kill()
    try:
        await first
    except p.Killed:
        log.append("killed")
    await soon
    await late
    assert seat.count == 0
    assert await tank.get(3) and not await tank.get(3, within="1ms")
    filler = node.spawn(fill(tank, 9))
    await tank.get(1)
    await filler
    log.append(tank.level)
    node.spawn(ring_bell(node, bell))
    log.append(await bell.wait())
    assert await bell.wait() == "ding"


async def fill(tank, amount):
    await tank.put(amount)


async def ring_bell(node, bell):
    await node.sleep("1ms")
    bell.set("ding")


@p.program(nodes=2, latency="1ms", until="1s")
async def crashes(node: p.Node):
    """Node 1 crashes, and comes back; node 0 sends it a message before, during and after."""
    if node.id == 0:
        for number in range(3):
            node.send(1, number)
            await node.sleep("100ms")
        assert await node.deliver(1, 3)
        return

    async def listener(log):
        try:
            while True:
                log.append((await node.receive())[1])
        finally:
            log.append("crashed")

    log = node.state.setdefault("log", [])
    node.spawn(listener(log))
    await node.sleep("50ms")
    node.crash()
    await node.sleep("100ms")
    node.connect()
    node.spawn(listener(log))
    await node.sleep("500ms")
    assert log == [0, "crashed", 2, 3], log


def line() -> p.Network:
    """Three nodes in a line, with links of 8 Mbit/s and 10 ms."""
    net = p.Network(defaults=dict(rate="8Mbps", delay="10ms")).nodes("left", "router", "right")
    return net.link("left", "router").link("router", "right")


@p.program(over=line(), nodes=["left", "right"], until="1s")
async def one_way(node: p.Node):
    """A message of 980 bytes, and the report of its arrival."""
    if node.name == "left":
        assert await node.deliver(node.number("right"), "hello", bytes=980)
    else:
        assert await node.receive() == (0, "hello")
    node.state["done_ps"] = node.now_ps


def star() -> p.Network:
    """Sixteen hosts at a switch, whose links lose packets."""
    net = p.Network(defaults=dict(rate="10Mbps", delay="1ms", loss=0.05, queue=5)).nodes("switch")
    return net.group("host", 16, attach="switch")


@p.program(over=star(), nodes="host.*", until="2s", counters=["asked", "answered"])
async def questions(node: p.Node, bytes=1000):
    """Each node asks others, which answer; packets and answers are lost."""

    async def answers() -> None:
        while True:
            sender, question = await node.receive()
            if question["asks"]:
                node.send(sender, {"asks": False}, bytes=bytes)
            else:
                node.count("answered")
                node.state["answers"] = node.state.get("answers", 0) + 1

    node.spawn(answers())
    while True:
        await node.sleep(node.random.expovariate(200))
        node.send(node.random_node(), {"asks": True}, bytes=bytes)
        node.count("asked")


PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <config><prop id="network/model" value="CM02"/><prop id="network/crosstraffic" value="0"/></config>
  <zone id="w" routing="Full">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/>
    <link id="ab" bandwidth="10MBps" latency="1ms"/>
    <route src="a" dst="b"><link_ctn id="ab"/></route>
  </zone>
</platform>
"""


async def work(node: p.Node):
    """Two computations share a host; then 10 MB are sent."""
    if node.name == "a":
        other = node.spawn(node.compute(1e9))
        await node.compute(2e9)
        await other
        assert node.now == 3.0
        node.send(node.number("b"), "data", bytes=10_000_000)
    else:
        await node.receive()
        node.state["done_ps"] = node.now_ps
