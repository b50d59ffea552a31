"""Programs whose processes are written in Python, and what these use."""

from __future__ import annotations

import ctypes
import difflib
import glob
import heapq
import importlib
import inspect
import json
import os
import random
import runpy
import signal
import sys
import sysconfig
import threading
import types
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial, wraps
from itertools import count, product
from types import SimpleNamespace
from typing import Any, NoReturn, ParamSpec, TypeVar

from . import _parades
from ._errors import GUARD, Error, InputError
from ._network import Network
from ._words import refused, whole

#: A delay: a text with its unit, a number of seconds, or a `timedelta`.
Delay = str | float | timedelta

#: A message, and each part of a state: `None`, `bool`, `int`, `float`, `str`, `bytes`, and tuples, lists and
#: dictionaries of them.
Message = Any

_MESSAGE = _parades.Wish.message()

Awaited = _parades.Awaited

#: Why runs of a program differ.
OUTSIDE = (
    "its processes use something outside of their node: a variable that nodes share, `random`, a clock, or the order of "
    "a set; keep it in the node, and draw from `node.random`"
)

#: The names that arguments of a program cannot have, since the functions that run one have them.
_OPTIONS = frozenset(
    "what until seed tie_seed engine engines threads processes tune memory_limit digest set progress save seeds grid jobs "
    "metrics until_interval outputs out event links lps begin before nodes over places latency".split()
)

#: The place of a program that is in no file.
_SESSION = "the session"

#: The variable by which the processes of a run learn where modules are.
_PATH = "PARADES_SYS_PATH"


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


Process = _parades.Process


def joined(done: _parades.Wait) -> Generator[Any, Any, Any]:
    """Waits for the end of a process, and returns its result."""
    if not done.is_over:
        yield _parades.Wish.end(done)
    outcome = done.value
    if outcome is None:
        raise Killed("the process was killed, and has no result")
    return outcome[0]


class _Ready:
    """Something awaited that is there."""

    def __await__(self) -> Any:
        return iter(())


_READY = _Ready()

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


def receive(within: Delay | None) -> Generator[Any, Any, Any]:
    return (yield _MESSAGE if within is None else _parades.Wish.message(within))


def sleep(delay: Delay) -> Generator[Any, Any, None]:
    yield delay


# The functions have the names of the methods, for errors.
_received, _slept = receive, sleep
del receive, sleep


class Forgotten(RuntimeError):
    """A process goes on without the `await` that it has forgotten."""


def forgotten(steps: Generator[Any, Any, Any]) -> None:
    """Ends the run: a process has dropped a wait before it awaited it. Called where it is dropped."""
    try:
        frame = sys._getframe(1)
    except ValueError:
        return
    word = "yield from" if frame.f_code.co_flags & inspect.CO_GENERATOR else "await"
    place = f"{os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno}"
    _parades.fail_here(
        f"`{getattr(steps, '__name__', 'a wait')}` did nothing, since nobody awaits it: write `{word}` before it ({place})"
    )

    def stop(*_: object) -> None:
        sys.settrace(None)
        raise Forgotten

    # A loop of such waits would never end. The next line of the process raises the exception.
    frame.f_trace = stop
    sys.settrace(lambda *_: None)


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

    _random: Random | None = None
    _main: Callable[[Node], Any]

    def receive(self, within: Delay | None = None) -> Awaited[Any]:
        """Waits for a message. Returns its sender and the message; after the time `within`, `None`."""
        return Awaited(_received(within))

    def sleep(self, delay: Delay) -> Awaited[None]:
        """Waits for a time: a text with its unit, a number of seconds, or a `timedelta`."""
        return Awaited(_slept(delay))

    @_waits
    def deliver(self, to: int, message: Message, bytes: int | None = None) -> Generator[Any, Any, bool]:
        """Sends a message and waits until it has arrived. Returns false if it was lost.

        `bytes` is its size over a network of packets or a platform, as for `send`.
        """
        self.check_delivery(to, message, bytes)
        arrived: bool = yield _parades.Wish.delivery(to, message, bytes)
        return arrived

    @_waits
    def compute(self, flops: float) -> Generator[Any, Any, None]:
        """Computes on the host of a platform, and waits for the end. `flops` are floating-point operations.

        Computations of a host share its cores. If the host fails, the process ends with it.
        """
        self.check_computes()
        yield _parades.Wish.computation(flops)

    @property
    def random(self) -> Random:
        """The node's random stream, with the distributions of `random.Random`."""
        if self._random is None:
            self._random = Random(self)
        return self._random

    def crash(self) -> None:
        """Ends all other processes of this node and disconnects it, until `connect`."""
        self.kill_others()
        self.disconnect()

    def _begin(self, is_fresh: bool) -> Any:
        if is_fresh:
            self.state = {}
        return self._main(self)


class Event:
    """Something that happens once, for which processes of a node wait."""

    def __init__(self) -> None:
        self._wait = _parades.Wait()

    @property
    def is_set(self) -> bool:
        """True if it has happened."""
        return self._wait.is_over

    def set(self, value: object = None) -> None:
        """Lets it happen, with a value. Only the first time counts."""
        self._wait.end(value)

    @_waits
    def wait(self, within: Delay | None = None) -> Generator[Any, Any, Any]:
        """Waits until it happens, and returns its value; `None` if the time `within` is over before."""
        if not self._wait.is_over:
            yield _parades.Wish.end(self._wait, within)
        return self._wait.value


class _Queue:
    """Processes that wait, in the order of their priorities, and then of their coming."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, _parades.Wait, Any]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def first(self) -> Any:
        return self._heap[0][3]

    def serve(self, value: object = None) -> None:
        heapq.heappop(self._heap)[2].end(value)

    def wait(self, what: Any, within: Delay | None, priority: float, undo: Callable[[Any], None]) -> Any:
        """Waits until it is served. `undo` takes back what a process was given that was killed meanwhile."""
        entry = (priority, next(self._numbers), _parades.Wait(), what)
        heapq.heappush(self._heap, entry)
        is_served = False
        try:
            is_served = yield _parades.Wish.end(entry[2], within)
        finally:
            if not is_served:
                if entry[2].is_over:
                    undo(entry[2].value)
                else:
                    self._heap.remove(entry)
                    heapq.heapify(self._heap)
        return entry[2].value if is_served else None


class Resource:
    """A resource with a number of places, as `simpy.Resource` and `simpy.PriorityResource` are.

    Processes of one node use it: `async with resource:`, or `await resource.acquire()` and `resource.release()`.

    Attributes:
        capacity: The number of places.
        count: The number of places in use.
    """

    def __init__(self, capacity: int = 1) -> None:
        self.capacity = whole("capacity", capacity, 1) or 1
        self.count = 0
        self._waiting = _Queue()

    @property
    def queue_length(self) -> int:
        """The number of processes that wait."""
        return len(self._waiting)

    @_waits
    def acquire(self, priority: float = 0, within: Delay | None = None) -> Generator[Any, Any, bool]:
        """Waits for a place; the least `priority` comes first. Returns false if the time `within` is over."""
        if self.count < self.capacity:
            self.count += 1
            return True
        return bool((yield from self._waiting.wait(None, within, priority, lambda _: self.release())))

    def release(self) -> None:
        """Gives a place back."""
        if self.count == 0:
            raise RuntimeError("a place was given back that nobody has: release once for each acquire")
        if self._waiting:
            self._waiting.serve(True)
        else:
            self.count -= 1

    def __aenter__(self) -> Awaitable[Any]:
        if self.count < self.capacity:
            self.count += 1
            return _READY
        return self.acquire()

    def __aexit__(self, *_: object) -> Awaitable[None]:
        self.release()
        return _READY


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
        return bool((yield from self._putters.wait(item, within, 0, lambda _: None)))

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

        given = yield from self._getters.wait(None, within, 0, undo)
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

        return bool((yield from self._getters.wait(amount, within, 0, undo)))

    @_waits
    def put(self, amount: float, within: Delay | None = None) -> Generator[Any, Any, bool]:
        """Adds an amount when there is room. Returns false if the time `within` is over before."""
        self._check(amount)
        if not self._putters and self.level + amount <= self.capacity:
            self.level += amount
            self._settle()
            return True
        return bool((yield from self._putters.wait(amount, within, 0, lambda _: None)))

    def _check(self, amount: float) -> None:
        if not 0 <= amount <= self.capacity:
            raise ValueError(f"an amount of {amount} never fits: give one from 0 to {self.capacity}")


class Program:
    """The code of all nodes, made by `program`. `run`, `compare`, `trace` and the others take it.

    Attributes:
        name: The name of its function.
        nodes: The number of nodes; 0 where it is that of a network or platform.
        until: The virtual end time.
        over: The network or the file over which messages travel; `None` for latencies.
    """

    def __init__(
        self,
        main: Callable[..., Any],
        nodes: int | str | Iterable[str] | None,
        over: Network | str | os.PathLike[str] | None,
        until: str | timedelta,
        stable: int,
        counters: Iterable[str],
        tallies: Iterable[str],
        parameters: Mapping[str, object],
    ) -> None:
        self.main = main
        self.name = main.__name__
        self.over = over
        if over is None:
            self.nodes, self._places = whole("nodes", nodes, 1) or 0, ""
            if not self.nodes:
                raise refused(
                    "nodes=None", "the program has no node", "give a number of nodes from 1 on, or `over`"
                )
        else:
            if isinstance(nodes, int):
                help = "give their names or patterns, or leave `nodes` out for all nodes of the network"
                raise refused(f"nodes={nodes!r}", "nodes of a network have names", help)
            self.nodes = 0
            self._places = nodes if isinstance(nodes, str) else "\n".join(nodes or ())
        self.until = until
        self.stable = whole("stable", stable) or 0
        self.counters = list(counters)
        self.tallies = list(tallies)
        self.parameters = dict(parameters)
        self.__doc__ = main.__doc__
        names = list(inspect.signature(main).parameters)
        if not names:
            help = "write `async def name(node):`"
            raise InputError(f"`{self.name}` takes no node; {help}", help=help)
        self.arguments = set(names[1:])
        if taken := sorted(self.arguments & _OPTIONS):
            help = "give it another name"
            raise InputError(f"`{taken[0]}` of `{self.name}` is an option of every run; {help}", help=help)

    @property
    def key(self) -> str:
        """The words by which another process imports the program."""
        module = self.main.__module__
        if module == "__main__":
            file = getattr(sys.modules["__main__"], "__file__", None)
            module = os.path.abspath(file) if file else _SESSION
        return f"{module}:{self.main.__qualname__}"

    def __repr__(self) -> str:
        nodes = f"{self.nodes} nodes" if self.over is None else f"the nodes of {self.over!r}"
        return f"<Program {self.name!r} of {nodes}>"


def program(
    *,
    nodes: int | str | Iterable[str] | None = None,
    over: Network | str | os.PathLike[str] | None = None,
    until: str | timedelta = "60s",
    stable: int = 0,
    counters: Iterable[str] = (),
    tallies: Iterable[str] = (),
    **parameters: object,
) -> Callable[[Callable[..., Any]], Program]:
    """Makes a program of the function that each node executes: `async def`, or a generator.

    >>> import parades as p
    >>> @p.program(nodes=3, latency="1ms", until="1s")
    ... async def ring(node, laps=1):
    ...     right = (node.id + 1) % node.nodes
    ...     if node.id == 0:
    ...         node.send(right, 0)
    ...     for _ in range(laps):
    ...         sender, hops = await node.receive()
    ...         node.state["hops"] = hops
    ...         node.send(right, hops + 1)
    >>> run = p.run(ring, laps=5)
    >>> run.digest == p.run(ring, laps=5, engine="window", threads=2).digest
    True

    Args:
        nodes: The number of nodes. With a network, their names or patterns: `["east.*", "gw"]`; default: all.
        over: A `Network` or a network file, in which each message is a packet; or the file of a platform, on
            whose hosts the nodes are, and on which messages are flows. Default: messages have a latency alone.
        until: The virtual end time, unless a run has its own.
        stable: The number of nodes, from node 0 on, that neither come nor go where there is churn.
        counters: The names of counters (`node.count`).
        tallies: The names of tallies (`node.observe`).
        **parameters: Parameters of the network and of churn, as `parades show python` has them: `latency="1ms"`,
            `loss=0.01`, `session="60s"`, `crash=1.0`.
    """
    return lambda main: Program(main, nodes, over, until, stable, counters, tallies, parameters)


#: The programs that runs of this process were asked for, by their keys.
_KNOWN: dict[str, Program] = {}
#: The exceptions that ended runs, by the sentences on them.
_RAISED: dict[str, BaseException] = {}


def values_of(
    what: Program, parameters: Mapping[str, object], *, is_apart: bool, several: bool, file: str
) -> dict[str, object]:
    """Returns the values of the scenario `python` for a run of a program. `is_apart`: by other processes too.

    `several` allows several values of a parameter. `file` is the name of a network that was built in Python.
    """
    if is_apart:
        _check_import(what, several=several)
        os.environ[_PATH] = os.pathsep.join(filter(None, sys.path))
    _KNOWN[what.key] = what
    arguments = {name: x for name, x in parameters.items() if name in what.arguments}
    for name in parameters.keys() - arguments.keys():
        if near := difflib.get_close_matches(name, what.arguments, 1, 0.7):
            raise refused(
                f"{name}={parameters[name]!r}",
                f"`{what.name}` takes no such argument",
                f"did you mean `{near[0]}`?",
            )
    text = _arguments_in_json(what, arguments, several=several)
    if what.over is not None:
        over = what.over._path(file) if isinstance(what.over, Network) else os.fspath(what.over)
        named = {"program": what.key, "arguments": text, "over": over, "places": what._places}
        others = {name: x for name, x in parameters.items() if name not in what.arguments}
        others = {**what.parameters, **others}
        if "latency" in others:
            argument = f"latency={others['latency']!r}"
            raise refused(
                argument, "it has no effect over a network or a platform", "leave it out, or `over`"
            )
        return {**named, **others}
    others = {**what.parameters, **{name: x for name, x in parameters.items() if name not in what.arguments}}
    if "latency" in others:
        others.setdefault("underlay", "constant")
    return {"program": what.key, "nodes": what.nodes, "arguments": text, "underlay": "constant", **others}


def _arguments_in_json(what: Program, arguments: Mapping[str, object], *, several: bool) -> str | list[str]:
    """Returns the arguments of a program; for a sweep, those of each combination of values."""

    def of(value: object) -> list[object]:
        if several and isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
            return list(value)
        return [value]

    def plain(value: Any) -> object:
        if hasattr(value, "item"):
            return value.item()  # a scalar of numpy
        raise TypeError(f"the type `{type(value).__name__}`")

    combinations = [dict(zip(arguments, values)) for values in product(*map(of, arguments.values()))]
    try:
        texts = [json.dumps(one, default=plain) for one in combinations]
    except TypeError as error:
        help = "use numbers, texts, lists and dictionaries"
        raise InputError(
            f"an argument of `{what.name}` cannot be passed on ({error}); {help}", help=help
        ) from None
    if not texts:
        raise InputError(f"an argument of `{what.name}` has no value; give one at least")
    return texts if several else texts[0]


def _check_import(what: Program, *, several: bool) -> None:
    found: Any = sys.modules.get(what.main.__module__)
    for part in what.main.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not what or what.key.startswith(_SESSION):
        help = "define it under its own name at the top of a file, which you import (in a notebook too)"
        help += ": sweeps execute runs by other processes" if several else ", or use one process"
        raise InputError(f"other processes cannot import the program `{what.name}`; {help}", help=help)


#: The module that a thread imports for a program.
_IMPORTING = threading.local()


def check_is_no_import() -> None:
    """Checks that this thread does not import a program, which would repeat what its file does.

    Raises:
        InputError: If a run begins while its file is imported.
    """
    if (module := getattr(_IMPORTING, "module", None)) is not None:
        raise InputError(f"`{module}` begins a run while it is imported for a program; {GUARD}", help=GUARD)


def _executed(file: str) -> Any:
    """Returns the names of a file. The part under `if __name__ == "__main__":` is not executed."""
    # The file imports its neighbours.
    folder = os.path.dirname(os.path.abspath(file))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return SimpleNamespace(**runpy.run_path(file, run_name="__parades__"))
    except FileNotFoundError:
        if os.path.exists(file):
            raise
        raise InputError(f"there is no file `{file}`; name the file of the program") from None


def _imported(key: str) -> Program:
    for path in os.environ.get(_PATH, "").split(os.pathsep):
        if path and path not in sys.path:
            sys.path.append(path)
    module, _, name = key.rpartition(":")
    if not module:
        raise InputError(f"`{key}` names no program; write `file.py:name` or `module:name`")
    _IMPORTING.module = module
    try:
        found = _executed(module) if module.endswith(".py") else importlib.import_module(module)
    finally:
        del _IMPORTING.module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Program):
        raise InputError(f"`{name}` in `{module}` is no program; make it one by `@parades.program(nodes=…)`")
    return found


def found(key: str, arguments: str) -> SimpleNamespace:
    """Returns what the scenario needs of a program. Called by the scenario."""
    what = _KNOWN.get(key) or _KNOWN.setdefault(key, _imported(key))
    try:
        known = json.loads(arguments)
        inspect.signature(what.main).bind(None, **known)
    except (TypeError, ValueError) as error:
        raise InputError(f"the arguments {arguments} do not fit `{what.name}` ({error})") from None
    main = partial(what.main, **known) if known else what.main

    def begin(key: _parades.NodeKey) -> Node:
        node = Node(key, {})
        node._main = main
        return node

    return SimpleNamespace(
        name=what.name,
        nodes=what.nodes,
        stable=what.stable,
        counters=what.counters,
        tallies=what.tallies,
        begin=begin,
    )


def told(error: BaseException, traceback: types.TracebackType | None) -> str:
    """Returns a sentence on an exception, with its line. Called where a process fails."""
    error.__traceback__ = traceback
    text = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    if "no running event loop" in text:
        text += "; programs do not run under asyncio: await the waits of the node, such as `node.sleep`"
    text += _place(traceback)
    _RAISED[text] = error
    return text


#: Where code is that is not the user's: this package, and the library of Python.
_NOT_OF_USERS = (
    os.path.dirname(__file__),
    *{sysconfig.get_path(name) for name in ("stdlib", "purelib")},
    "<frozen",
)


def _place(traceback: types.TracebackType | None) -> str:
    """Returns the last line of the user's code, or else of any code but this package's."""
    places: list[tuple[bool, str]] = []
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(_NOT_OF_USERS[0]):
            line = f" ({os.path.basename(file)}, line {traceback.tb_lineno})"
            places.append((not file.startswith(_NOT_OF_USERS), line))
        traceback = traceback.tb_next
    return max(reversed(places), key=lambda place: place[0], default=(False, ""))[1]


def raised_in(message: str) -> BaseException | None:
    """Returns the exception of a process that ended the run with this message."""
    known = next((error for text, error in _RAISED.items() if text in message), None)
    _RAISED.clear()
    return known


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raises an exception in a thread, when it next executes code of Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def interrupt(times: int) -> None:
    """Raises `KeyboardInterrupt` in processes that are being executed. Called each second that a run needs to stop.

    `times` is the number of calls before. From the second call on, the other processes of runs are killed: they
    execute code that never returns, so nothing else reaches them.
    """
    for thread in sys._current_frames().keys() & _parades.executing():
        _raise_in(thread, KeyboardInterrupt)
    if times > 0:
        for child in _ranks():
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def _ranks() -> Iterator[int]:
    """Returns the processes that this one has started for its runs, where the system has `/proc`."""
    for children in glob.glob("/proc/self/task/*/children"):
        with suppress(OSError), open(children) as file:
            for child in map(int, file.read().split()):
                with open(f"/proc/{child}/cmdline", "rb") as words:
                    if words.read().rstrip(b"\0").endswith(b"\0rank"):
                        yield child
