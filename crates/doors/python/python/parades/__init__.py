"""Simulation of networks and distributed systems, in parallel: one answer on every engine, bit for bit.

>>> import parades as p
>>> run = p.run("campus", networks=1, until="1s")
>>> run.table("flows").columns[:2]
['flow', 'source']

`run` executes a simulation, `Network` describes one, `program` makes one of code in Python, `sweep` repeats it
over a grid, `compare` proves that engines agree, `start` returns a run that is advanced, branched and saved,
and `step` a network that this program drives. docs/python.md is a tutorial.
"""

from __future__ import annotations

import os as _os
import sys as _sys

from . import _parades
from ._cut import Cut, load, start
from ._errors import Error, InputError, SimulationError, Stopped
from ._network import (
    Cake,
    CoDel,
    Dctcp,
    DropTail,
    FqCoDel,
    Network,
    Pie,
    Priority,
    Queue,
    Red,
    TokenBucket,
)
from ._node import Killed, Node, Random
from ._outputs import Outputs, Saving
from ._parades import Event, Process, Resource
from ._program import Program, program
from ._progress import Progress
from ._questions import Chain, Comparison, Difference, compare, diff, rerun, trace, why
from ._run import Run, run
from ._stepped import Completion, Stepped, step
from ._sweep import Sweep, sweep
from ._sync import Container, Store
from ._table import Table

__all__ = [
    "Cake",
    "Chain",
    "CoDel",
    "Comparison",
    "Completion",
    "Container",
    "Cut",
    "Dctcp",
    "Difference",
    "DropTail",
    "Error",
    "Event",
    "FqCoDel",
    "InputError",
    "Killed",
    "Network",
    "Node",
    "Outputs",
    "Pie",
    "Priority",
    "Process",
    "Program",
    "Progress",
    "Queue",
    "Random",
    "Red",
    "Resource",
    "Run",
    "Saving",
    "SimulationError",
    "Stepped",
    "Stopped",
    "Store",
    "Sweep",
    "Table",
    "TokenBucket",
    "__commit__",
    "__version__",
    "compare",
    "diff",
    "load",
    "program",
    "rerun",
    "run",
    "scenarios",
    "serve_if_frozen",
    "start",
    "step",
    "sweep",
    "trace",
    "why",
]

__version__, __commit__ = _parades.version()

# How this program starts the processes of a run and of a sweep. A frozen program starts itself.
_parades.started_by([_sys.executable or "", *([] if getattr(_sys, "frozen", False) else ["-m", "parades"])])


def scenarios() -> dict[str, str]:
    """Returns the scenarios by name, with a sentence on each.

    >>> import parades as p
    >>> "campus" in p.scenarios()
    True
    """
    return dict(_parades.scenarios())


def serve_if_frozen() -> None:
    """Serves as a process of a run or a sweep, if the program is frozen and was started for that.

    A program that was frozen by a tool such as PyInstaller calls this first of all. Otherwise it does
    nothing.
    """
    if getattr(_sys, "frozen", False) and _sys.argv[1:2] in (["rank"], ["sweep-worker"]):
        from .__main__ import main

        _os._exit(main())
