"""The node of a program, as its processes see it."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn

from . import _parades

#: A message, and each part of a state: `None`, `bool`, `int`, `float`, `str`, `bytes`, and tuples, lists and
#: dictionaries of them.
Message = Any


class Random(random.Random):
    """The random stream of a node, with the distributions of `random.Random`.

    The stream belongs to the node and the seed of the run, so it is the same on every engine.
    """

    def __new__(cls, node: _parades.Node) -> Random:
        # Its own generator is not used; a seed spares a call to the system.
        return super().__new__(cls, 0)  # type: ignore[call-arg]

    def __init__(self, node: _parades.Node) -> None:
        self._bits = node.draw_bits
        self.random = node.draw_unit  # type: ignore[method-assign]
        self.gauss_next = None

    def getrandbits(self, k: int, /) -> int:
        if k < 0:
            raise ValueError("a number of bits is not negative")
        bits, drawn = 0, 0
        while drawn < k:
            bits |= self._bits() << drawn
            drawn += 64
        return bits >> (drawn - k)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError(
            "the stream of a node goes on from the seed of its run: run with another `seed`"
        )

    seed = getstate = setstate = _refuse


class Killed(Exception):
    """The process whose end was awaited has been killed."""


class Node(_parades.Node):
    """A node, as its processes see it.

    Attributes:
        id: The number of the node, from 0.
        nodes: The number of nodes.
        name: The name of its node in the network, or of its host; its number where there are no names.
            `number(name)` returns the number of the node with a name.
        now: The virtual time in seconds; `now_ps` in picoseconds, exactly.
        state: Values of the node that belong to the digest, in a dictionary. They are those of messages: `None`,
            numbers, texts, bytes, tuples, lists and dictionaries. Any other attribute that is set belongs to the
            node too, but not to the digest.
    """

    #: A function whose result the digest has instead of `state`, if a process sets it.
    fold: Callable[[], Message]

    _main: Callable[[Node], Any]

    @cached_property
    def random(self) -> Random:
        """The node's random stream, with the distributions of `random.Random`."""
        return Random(self)

    def crash(self) -> None:
        """Ends all other processes of this node and disconnects it, until `connect`."""
        self.kill_others()
        self.disconnect()

    def _begin(self, is_fresh: bool) -> Any:
        if is_fresh:
            self.state = {}
        return self._main(self)
