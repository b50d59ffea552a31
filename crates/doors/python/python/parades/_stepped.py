"""Networks that another program steps."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from . import _parades
from ._network import Network
from ._words import time, whole


class Completion(NamedTuple):
    """The end of a transfer.

    Attributes:
        transfer: The number that `send` returned.
        begin_s: The virtual time at which it was sent, in seconds.
        end_s: The virtual time of its end, in seconds.
        bytes: The bytes that were delivered.
        retransmissions: The segments that were sent again; 0 in a network of flows.
        outcome: `done`, `failed` or `cancelled`.
    """

    transfer: int
    begin_s: float
    end_s: float
    bytes: int
    retransmissions: int
    outcome: str


class Stepped:
    """A network that this program drives: it sends transfers, advances the time, and learns which have ended.

    Several may be stepped by several threads of Python at a time: the interpreter is free during a step.
    """

    def __init__(self, network: _parades.Stepped) -> None:
        self._network = network

    @property
    def now_s(self) -> float:
        """The virtual time in seconds."""
        return self._network.now_s

    @property
    def digest(self) -> str:
        """The digest so far: equal if two programs have done the same."""
        return self._network.digest()

    def send(self, source: str, destination: str, bytes: int) -> int:
        """Sends a transfer now, of `bytes` bytes of data. Returns its number.

        Raises:
            InputError: If there is no such node.
            SimulationError: If no path leads there.
        """
        return self._network.send(source, destination, whole("bytes", bytes) or 0)

    def cancel(self, transfer: int) -> None:
        """Gives a transfer up now. Does nothing if it has ended.

        Raises:
            SimulationError: If no transfer has this number.
        """
        self._network.cancel(transfer)

    def advance(self, by: str | timedelta) -> None:
        """Advances the virtual time by a duration with its unit, such as `"50ms"`, or a `timedelta`.

        Everything before the new time has happened then, and nothing at it. Ctrl-C raises `KeyboardInterrupt`
        at a consistent time, from which the network can go on.

        Raises:
            InputError: If it is no duration.
            SimulationError: If a network of packets fails, or has come to its end.
        """
        self._network.advance(time("by", by) or "")

    def completions(self) -> list[Completion]:
        """Returns the transfers that have ended since the last call, in the order of their ends."""
        return [Completion(*end) for end in self._network.completions()]

    def set_link(
        self,
        link: str,
        *,
        rate: str | None = None,
        delay: str | timedelta | None = None,
        loss: float | None = None,
        up: bool | None = None,
    ) -> None:
        """Changes a link now.

        Args:
            link: The name of the link.
            rate: Its rate in bits a second, with a unit: `"10Mbps"`.
            delay: Its delay, with a unit: `"5ms"`, or a `timedelta`.
            loss: The probability that it loses a packet, from 0 to 1.
            up: False if it does not work.

        Raises:
            InputError: If there is no such link, or if a value is wrong or cannot change.
        """
        self._network.set_link(link, rate, time("delay", delay), loss, up)

    def branch(self) -> Stepped:
        """Returns a second network in the same state. From here on, neither sees what is done to the other."""
        return Stepped(self._network.branch())

    def __repr__(self) -> str:
        return f"<Stepped at {self.now_s:g} s>"


def step(
    network: Network | Mapping[str, Any],
    *,
    by: str = "packets",
    engine: str = "sequential",
    threads: int = 1,
    seed: int = 1,
    until: str | timedelta | None = None,
) -> Stepped:
    """Returns a network at time 0 that this program drives.

    >>> import parades as p
    >>> net = p.Network(defaults=dict(rate="8Mbps", delay="1ms")).nodes("a", "b").link("a", "b")
    >>> stepped = p.step(net, by="flows")
    >>> stepped.send("a", "b", 1_000_000)
    0
    >>> stepped.advance("2s")
    >>> [(end.transfer, end.end_s, end.outcome) for end in stepped.completions()]
    [(0, 1.001, 'done')]

    Args:
        network: The nodes and links. With `packets`, its own traffic and events happen too.
        by: `packets`: a transfer is a TCP connection, packet by packet. `flows`: it has its max-min fair share of
            the links, in two events.
        engine: The engine of a network of packets.
        threads: Its worker threads.
        seed: The seed of the random streams.
        until: The time at which a network of packets ends. Default: never.

    Raises:
        InputError: If the input is wrong.
    """
    described = network if isinstance(network, Network) else Network.from_dict(network)
    return Stepped(
        _parades.Stepped(
            described.to_toml(),
            by,
            engine,
            whole("threads", threads, 1) or 1,
            whole("seed", seed) or 0,
            time("until", until),
        )
    )
