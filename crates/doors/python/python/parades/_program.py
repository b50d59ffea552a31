"""Programs whose processes are written in Python."""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
import os
import runpy
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from itertools import count, product
from types import SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

from . import _parades
from ._errors import GUARD, RUN_OPTIONS, InputError
from ._network import Network
from ._node import Node
from ._words import refused, whole

#: Why runs of a program differ.
OUTSIDE = (
    "its processes use something outside of their node: a variable that nodes share, `random`, a clock, or the order of "
    "a set; keep it in the node, and draw from `node.random`"
)

#: The names that arguments of a program cannot have, since the functions that run one have them.
_TAKEN = frozenset(RUN_OPTIONS) | frozenset(
    "what engines seeds grid jobs metrics until_interval out event links lps begin before nodes over places "
    "latency".split()
)

#: The place of a program that nobody can import.
_SESSION = "the session"

#: The numbers of the programs of this process.
_NUMBERS = count()

#: The variable by which the processes of a run learn where modules are.
_PATH = "PARADES_SYS_PATH"


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
        self.counters, self.tallies = _names("counters", counters), _names("tallies", tallies)
        twice = [name for name, times in Counter(self.counters + self.tallies).items() if times > 1]
        if twice:
            raise refused(
                f"counters={self.counters!r}, tallies={self.tallies!r}",
                f"two are called `{twice[0]}`",
                "give one of them another name",
            )
        self.parameters = dict(parameters)
        self.__doc__ = main.__doc__
        names = list(inspect.signature(main).parameters)
        if not names:
            help = "write `async def name(node):`"
            raise InputError(f"`{self.name}` takes no node; {help}", help=help)
        self.arguments = set(names[1:])
        if taken := sorted(self.arguments & _TAKEN):
            help = "give it another name"
            raise InputError(f"`{taken[0]}` of `{self.name}` is an option of every run; {help}", help=help)

        self._number = next(_NUMBERS)

    @property
    def key(self) -> str:
        """The words by which another process imports the program. No other program has them."""
        module, name = self.main.__module__, self.main.__qualname__
        found: Any = sys.modules.get(module)
        file = getattr(found, "__file__", None)
        for part in name.split("."):
            found = getattr(found, part, None)
        if module == "__main__" and file:
            module = os.path.abspath(file)
        if found is not self or module == "__main__":
            return f"{_SESSION}:{name}#{self._number}"
        return f"{module}:{name}"

    def __repr__(self) -> str:
        nodes = f"{self.nodes} nodes" if self.over is None else f"the nodes of {self.over!r}"
        return f"<Program {self.name!r} of {nodes}>"


def _names(argument: str, names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise refused(f"{argument}={names!r}", "this is one name", f"write `{argument}=[{names!r}]`")
    return list(names)


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


#: The programs of this process by their keys. A run, or a cut, holds its own.
_KNOWN: WeakValueDictionary[str, Program] = WeakValueDictionary()
#: The programs that were imported for runs.
_IMPORTED: dict[str, Program] = {}


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
    others = {name: x for name, x in parameters.items() if name not in what.arguments}
    for name, value in others.items():
        _check_is_known(what, name, value)
    others = {**what.parameters, **others}
    text = _arguments_in_json(what, arguments, several=several)
    if what.over is not None:
        over = what.over._path(file) if isinstance(what.over, Network) else os.fspath(what.over)
        named = {"program": what.key, "arguments": text, "over": over, "places": what._places}
        if "latency" in others:
            argument = f"latency={others['latency']!r}"
            raise refused(
                argument, "it has no effect over a network or a platform", "leave it out, or `over`"
            )
        return {**named, **others}
    if "latency" in others:
        others.setdefault("underlay", "constant")
    return {"program": what.key, "nodes": what.nodes, "arguments": text, "underlay": "constant", **others}


#: The parameters of the scenario that a program fills in itself.
_OF_PROGRAM = frozenset(("program", "arguments"))


def _check_is_known(what: Program, name: str, value: object) -> None:
    near = difflib.get_close_matches(name, what.arguments, 1, 0.7)
    known = [key for key in _parades.parameters_of_programs() if key not in _OF_PROGRAM]
    if name in known and not near:
        return
    own = ", ".join(f"`{argument}`" for argument in sorted(what.arguments))
    near = near or difflib.get_close_matches(name, [*known, *RUN_OPTIONS], 1, 0.7)
    if near:
        help = f"did you mean `{near[0]}`?"
    else:
        help = f"it takes {own or 'none'}, and the parameters of `parades show python`"
    raise refused(f"{name}={value!r}", f"`{what.name}` takes no such argument", help)


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
    if what.key.startswith(_SESSION):
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
    what = _KNOWN.get(key) or _IMPORTED.get(key) or _IMPORTED.setdefault(key, _imported(key))
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
