"""Questions about runs: do engines agree, where do two runs part, why did an event happen?"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any

from . import _parades
from ._errors import SimulationError, Stopped
from ._network import Network
from ._program import OUTSIDE, Program
from ._progress import Listener, callback
from ._run import Run, What, asked
from ._words import refused, time, whole


class Comparison:
    """The same run on several engines, all with the same result.

    Attributes:
        left_out: A sentence on each engine that cannot run the model.
        stopped: The engines whose runs Ctrl-C stopped, or left no time for. All others are in the results.
    """

    def __init__(self, comparison: _parades.Comparison) -> None:
        self._comparison = comparison
        self.left_out: list[str] = comparison.left_out()
        self.stopped: list[str] = comparison.stopped()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The object that the command prints with `--json`."""
        summary: dict[str, Any] = json.loads(self._comparison.json())
        return summary

    @property
    def digest(self) -> str:
        """The digest of all runs. With several tie seeds, that of the first."""
        return str(self.summary["runs"][0]["digest"])

    @property
    def engines(self) -> list[str]:
        """The engine of each run."""
        return [str(run["engine"]) for run in self.summary["runs"]]

    def report(self, width: int = 100) -> str:
        """Returns the comparison as the command prints it."""
        return self._comparison.text(width)

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the proof into a folder, as `parades compare --out` does: `proof.txt` says in words what was
        compared.

        Raises:
            InputError: If the folder has other results, unless `overwrite` is true.
        """
        self._comparison.write(os.fspath(folder), overwrite)

    def __repr__(self) -> str:
        return f"<Comparison: {', '.join(self.engines)} have the digest {self.digest}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.report())}</pre>"


def compare(
    what: What,
    *,
    engines: Iterable[str] = (),
    threads: int | Iterable[int] = (),
    processes: int | Iterable[int] = (),
    tie_seed: int | Iterable[int] = (),
    progress: Listener = None,
    **how: Any,
) -> Comparison:
    """Executes the same run on several engines, and checks that all have the same digest, metrics and counts.

    >>> import parades as p
    >>> p.compare("phold", lps=16, until="1s", engines=["sequential", "window"], threads=2).engines
    ['sequential', 'window']

    Args:
        what: As in `run`.
        engines: The engines; the others are compared with the first. Default: all.
        threads: The worker threads in each process, or several numbers of them.
        processes: The processes, or several numbers of them.
        tie_seed: The seed that shuffles simultaneous events, or several of them.
        progress: As in `run`.
        **how: `until`, `seed`, `tune`, `memory_limit`, `set` and the parameters of the scenario, as in `run`. An
            engine gets those settings of `tune` that it has.

    Raises:
        InputError: If the input is wrong, or if an engine that was named cannot run the model.
        SimulationError: If two engines come to different results.
        Stopped: After Ctrl-C, with the runs that had ended as its attribute `comparison`.
    """

    def several(name: str, numbers: int | Iterable[int], least: int = 1) -> list[int]:
        each = numbers if isinstance(numbers, Iterable) else [numbers]
        return [number for one in each if (number := whole(name, one, least)) is not None]

    if "engine" in how:
        raise refused(f"engine={how['engine']!r}", "several engines are compared", "name them by `engines`")
    ties = several("tie_seed", tie_seed, 0)
    request = asked(what, {**how, "tie_seed": ties[0] if ties else None})
    engines = [engines] if isinstance(engines, str) else list(engines)
    workers = (several("threads", threads), several("processes", processes))
    compared = _parades.compare(request, engines, *workers, ties, callback(progress))
    try:
        compared.check()
    except SimulationError as error:
        if not isinstance(what, Program):
            raise
        raise SimulationError(f"{error}; {OUTSIDE}") from None
    if compared.is_stopped:
        without = ", ".join(compared.stopped())
        missing = f" without the runs on {without}" if without else ""
        raise Stopped(
            f"the comparison was stopped{missing}; `comparison` has the other runs", comparison=compared
        )
    return Comparison(compared)


class Difference:
    """Where two runs part. It is true if they do.

    Attributes:
        same: True if no difference was found.
        events: The number of events that are the same; `None` if only results were compared.
        lines: The next event of each run; `None` where a run has no more events.
    """

    def __init__(
        self, same: bool, events: int | None, lines: tuple[str | None, str | None] | None, text: str
    ) -> None:
        self.same = same
        self.events = events
        self.lines = lines
        self._text = text

    def __bool__(self) -> bool:
        return not self.same

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Difference: {self._text.strip()}>"


#: One of two runs: a folder of results, a scenario or a network, or one of these with the options of a run.
One = What | tuple[What, Mapping[str, Any]]


def diff(a: One, b: One, *, progress: Listener = None) -> Difference:
    """Executes two runs side by side, and returns the first event at which they part.

    >>> import parades as p
    >>> found = p.diff(("phold", dict(lps=16, seed=1)), ("phold", dict(lps=16, seed=2)))
    >>> found.same, found.events
    (False, 0)

    Args:
        a: The first run: a folder that `Run.write` wrote, or a scenario or network, with options as in `run`.
        b: The second run.

    Raises:
        InputError: If the input is wrong.
        SimulationError: If a run fails, or if a recorded run cannot be repeated.
    """
    names = ("a", "b")
    sides = [_side(one, f"network-{name}.toml") for one, name in zip((a, b), names, strict=True)]
    return Difference(*_parades.diff(names, sides[0], sides[1], callback(progress)))


def _side(one: One, name: str) -> _parades.Request | str:
    what, options = one if isinstance(one, tuple) else (one, {})
    if not isinstance(what, (Network, Mapping, Program)) and not options and os.path.isdir(what):
        return os.fspath(what)
    return asked(what, options, name)


class Chain:
    """The chain of events that led to another one.

    Attributes:
        events: The events, the first cause first, each a dictionary as in the JSON of the command.
        is_whole: True if the first of them has no event as its cause.
        failure: The error of the run, where that was asked about.
        notes: Notes on the answer, a sentence each.
    """

    def __init__(self, answer: Mapping[str, Any], text: str, notes: list[str]) -> None:
        self.events: list[dict[str, Any]] = answer["chain"]
        self.is_whole: bool = answer["whole"]
        self.failure: str | None = answer["failure"]
        self.notes = notes
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Chain of {len(self.events)} events>"


def why(
    what: What,
    event: str | None = None,
    *,
    links: int | None = None,
    progress: Listener = None,
    **how: Any,
) -> Chain:
    """Returns the chain of events that led to an event, or to the failure of the run.

    >>> import parades as p
    >>> p.why("phold", "3:5s", lps=16).is_whole
    True

    Args:
        what: As in `run`.
        event: The event, `LP:TIME`: the last of that logical process up to that time. Default: the failure.
        links: The greatest number of events, the latest ones. Default: all.
        progress: As in `run`.
        **how: The options of `run` from `until` to `memory_limit`, `set`, and the parameters of the scenario.

    Raises:
        InputError: If there is no such event, or if the run does not fail and no event is named.
    """
    answer, text, notes = _parades.why(asked(what, how), event, whole("links", links, 1), callback(progress))
    return Chain(json.loads(answer), text, notes)


def trace(
    what: What,
    *,
    lps: str | None = None,
    begin: str | timedelta | None = None,
    before: str | timedelta | None = None,
    **how: Any,
) -> Iterator[str]:
    """Executes a run, and returns an iterator over its executed events in their one order.

    An event is a line of text. Lines that begin with a blank are notes of its handler.

    The run goes on as far as the lines are read, so memory stays bounded, and it ends when the iterator is
    dropped.

    >>> import parades as p
    >>> events = p.trace("phold", lps="3", until="10s")
    >>> next(events).split()[1:3]
    ['LP', '3']

    Args:
        what: As in `run`.
        lps: The logical processes: `"3"`, `"10..=20"`, or by name, `"east.0,gw-west"`, `"east.*"`. Default:
            all.
        begin: The virtual time from which events are traced, with a unit. Default: the start.
        before: The virtual time before which they are traced, with a unit. Default: the end.
        **how: The options of `run` from `until` to `memory_limit`, `set`, and the parameters of the scenario.

    Raises:
        InputError: If the input is wrong, at the first line.
        SimulationError: If the run fails, after the lines up to then.
    """
    lines = _parades.trace(asked(what, how), lps, time("begin", begin), time("before", before))

    def of(what: What) -> Iterator[str]:
        # A program lives as long as its run.
        yield from lines

    return of(what)


def rerun(
    folder: str | os.PathLike[str],
    *,
    engine: str | None = None,
    threads: int | None = None,
    processes: int | None = None,
    progress: Listener = None,
) -> tuple[Run, list[str]]:
    """Executes a recorded run again, and checks its digest.

    Returns:
        The run, and a sentence on each difference between the origins of both: files, program, machine.

    Raises:
        InputError: If the folder has no run, or a run without a digest.
        SimulationError: If the digest is another one.
    """
    workers = (whole("threads", threads, 1), whole("processes", processes, 1))
    run, differences = _parades.rerun(os.fspath(folder), engine, *workers, callback(progress))
    return Run(run), differences
