"""The speed of processes in Python, here and in SimPy 4, and of two processes of the system over one.

`pip install simpy`, then `python crates/doors/python/examples/beside_simpy.py [PAIRS]`. Both sides run in turn; the
table has medians, and the least and the greatest ratio of a pair.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

import parades as p
import simpy

Steps = Generator[simpy.Event, Any, None]

CUSTOMERS = 100_000
NODES, PASSES = 1_000, 200_000
STEPS = 500_000


@p.program(nodes=1, until="1000000s", tallies=["sojourn_s"])
async def mm1(node: p.Node) -> None:
    """A queue with one server, half of whose time is used."""
    server = p.Resource(1)

    async def customer() -> None:
        came = node.now
        async with server:
            await node.sleep(node.random.expovariate(1.0))
        node.observe("sojourn_s", node.now - came)

    for _ in range(CUSTOMERS):
        await node.sleep(node.random.expovariate(0.5))
        node.spawn(customer())


def mm1_of_simpy() -> None:
    env, rng = simpy.Environment(), random.Random(1)
    sojourns: list[float] = []
    server = simpy.Resource(env, 1)

    def customer() -> Steps:
        came = env.now
        with server.request() as request:
            yield request
            yield env.timeout(rng.expovariate(1.0))
        sojourns.append(env.now - came)

    def arrivals() -> Steps:
        for _ in range(CUSTOMERS):
            yield env.timeout(rng.expovariate(0.5))
            env.process(customer())

    env.process(arrivals())
    env.run()
    assert len(sojourns) == CUSTOMERS


@p.program(nodes=NODES, latency="1ms", until=f"{PASSES}ms")
async def ring(node: p.Node) -> None:
    """A token that goes round."""
    right = (node.id + 1) % node.nodes
    if node.id == 0:
        node.send(right, 1)
    while True:
        _, hops = await node.receive()
        node.send(right, hops + 1)


def ring_of_simpy() -> None:
    env = simpy.Environment()
    inboxes = [simpy.Store(env) for _ in range(NODES)]

    def node(number: int) -> Steps:
        while True:
            hops = yield inboxes[number].get()
            yield env.timeout(1)
            inboxes[(number + 1) % NODES].put(hops + 1)

    for number in range(NODES):
        env.process(node(number))
    inboxes[0].put(0)
    env.run(until=PASSES)


@p.program(nodes=1, until=f"{STEPS}s")
async def steps(node: p.Node) -> None:
    """A process that only waits."""
    while True:
        await node.sleep(1)


def steps_of_simpy() -> None:
    env = simpy.Environment()

    def process() -> Steps:
        while True:
            yield env.timeout(1)

    env.process(process())
    env.run(until=STEPS)


@p.program(nodes=8, latency="10ms", until="5s")
async def computing(node: p.Node) -> None:
    """Nodes that compute about a millisecond in each event."""
    node.send((node.id + 1) % node.nodes, 0)
    while True:
        _, number = await node.receive()
        for _ in range(20_000):
            number = (number * 1_103_515_245 + 12_345) & 0xFFFFFFFF
        node.state["number"] = number
        node.send((node.id + 1) % node.nodes, number)


def wall_s(run: Callable[[], object]) -> float:
    """Returns the wall time of a run in seconds, with its start and its results."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rows: list[tuple[str, float, Callable[[], object], Callable[[], object]]] = [
        ("M/M/1: customers", CUSTOMERS, lambda: p.run(mm1, engine="sequential"), mm1_of_simpy),
        ("ring: messages", PASSES, lambda: p.run(ring, engine="sequential"), ring_of_simpy),
        ("waits: steps", STEPS, lambda: p.run(steps, engine="sequential"), steps_of_simpy),
        (
            "computing nodes: two processes, one: messages",
            8 * 500,
            lambda: p.run(computing, engine="window", processes=2, threads=1),
            lambda: p.run(computing, engine="window", processes=1, threads=1),
        ),
    ]
    print(f"{'':48} {'a second':>10} {'other side':>10} {'ratio':>6} {'least':>6} {'greatest':>8}")
    for name, count, ours, others in rows:
        times = [(wall_s(ours), wall_s(others)) for _ in range(pairs)]
        mine, other = (count / statistics.median(side) for side in zip(*times, strict=True))
        ratios = [b / a for a, b in times]
        ratio = statistics.median(ratios)
        print(f"{name:48} {mine:10,.0f} {other:10,.0f} {ratio:6.2f} {min(ratios):6.2f} {max(ratios):8.2f}")


if __name__ == "__main__":
    main()
