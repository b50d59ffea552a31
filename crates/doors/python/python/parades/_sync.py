"""What the processes of one node share, beside events and resources: stores and containers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from datetime import timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ._parades import Awaited, Event
from ._words import refused, whole

#: A delay: a text with its unit, a number of seconds, or a `timedelta`.
Delay = str | float | timedelta

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _waits(
    steps: Callable[_Arguments, Generator[Any, Any, _Result]],
) -> Callable[_Arguments, Awaited[_Result]]:
    """Makes a method of the steps of a wait. The run fails if its result is dropped before it was awaited."""

    @wraps(steps)
    def begin(*args: _Arguments.args, **named: _Arguments.kwargs) -> Awaited[_Result]:
        return Awaited(steps(*args, **named))

    return begin


class _Queue:
    """Processes that wait, in the order of their coming."""

    def __init__(self) -> None:
        self._entries: deque[tuple[Event, Any]] = deque()

    def __len__(self) -> int:
        return len(self._entries)

    def first(self) -> Any:
        return self._entries[0][1]

    def serve(self, value: object = True) -> None:
        self._entries.popleft()[0].set(value)

    def wait(
        self, what: object, within: Delay | None, undo: Callable[[Any], None]
    ) -> Generator[Any, Any, Any]:
        """Waits until it is served, and returns the value; `None` if the time `within` is over before.

        `undo` takes back what a process was given that was killed meanwhile.
        """
        entry = (Event(), what)
        self._entries.append(entry)
        served = None
        try:
            served = yield from entry[0].wait(within)
        finally:
            if served is None:
                if entry[0].is_set:
                    undo(entry[0].value)
                else:
                    self._entries.remove(entry)
        return served


class Store:
    """A queue of items between processes of one node, as `simpy.Store` is.

    Attributes:
        capacity: The greatest number of items.
        items: The items, the oldest first.
    """

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = whole("capacity", capacity, 1)
        self.items: deque[Any] = deque()
        self._getters = _Queue()
        self._putters = _Queue()

    @_waits
    def put(self, item: object, within: Delay | None = None) -> Generator[Any, Any, bool]:
        """Adds an item when there is room. Returns false if the time `within` is over before."""
        if self._getters:
            self._getters.serve((item,))
            return True
        if self.capacity is None or len(self.items) < self.capacity:
            self.items.append(item)
            return True
        return bool((yield from self._putters.wait(item, within, lambda _: None)))

    @_waits
    def get(self, within: Delay | None = None) -> Generator[Any, Any, Any]:
        """Takes the oldest item when there is one. Returns `None` if the time `within` is over before."""
        if self.items:
            item = self.items.popleft()
            if self._putters:
                self.items.append(self._putters.first())
                self._putters.serve(True)
            return item

        def undo(given: tuple[Any]) -> None:
            if self._getters:
                self._getters.serve(given)
            else:
                self.items.appendleft(given[0])

        given = yield from self._getters.wait(None, within, undo)
        return None if given is None else given[0]


class Container:
    """An amount of something between processes of one node, as `simpy.Container` is.

    Attributes:
        level: The amount that is there.
        capacity: The greatest amount.
    """

    def __init__(self, level: float = 0, capacity: float = float("inf")) -> None:
        if not 0 <= level <= capacity:
            raise refused(f"level={level!r}", "it is not from 0 to the capacity", "give such an amount")
        self.level = level
        self.capacity = capacity
        self._getters = _Queue()
        self._putters = _Queue()

    def _settle(self) -> None:
        while True:
            if self._getters and self._getters.first() <= self.level:
                self.level -= self._getters.first()
                self._getters.serve(True)
            elif self._putters and self.level + self._putters.first() <= self.capacity:
                self.level += self._putters.first()
                self._putters.serve(True)
            else:
                return

    @_waits
    def get(self, amount: float, within: Delay | None = None) -> Generator[Any, Any, bool]:
        """Takes an amount when it is there. Returns false if the time `within` is over before."""
        self._check(amount)
        if not self._getters and amount <= self.level:
            self.level -= amount
            self._settle()
            return True

        def undo(_: object) -> None:
            self.level += amount
            self._settle()

        return bool((yield from self._getters.wait(amount, within, undo)))

    @_waits
    def put(self, amount: float, within: Delay | None = None) -> Generator[Any, Any, bool]:
        """Adds an amount when there is room. Returns false if the time `within` is over before."""
        self._check(amount)
        if not self._putters and self.level + amount <= self.capacity:
            self.level += amount
            self._settle()
            return True
        return bool((yield from self._putters.wait(amount, within, lambda _: None)))

    def _check(self, amount: float) -> None:
        if not 0 <= amount <= self.capacity:
            raise ValueError(f"an amount of {amount} never fits: give one from 0 to {self.capacity}")
