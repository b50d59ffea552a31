"""Runs and their results."""

from __future__ import annotations

import difflib
import html
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any

from . import _parades
from ._errors import REQUEST_OPTIONS, InputError, SimulationError
from ._failures import raised_in
from ._network import FILE, Network
from ._outputs import Outputs, Save, precision, saving
from ._program import Program, check_is_no_import, values_of
from ._progress import Listener, callback
from ._table import Table
from ._words import assignments, merged, refused, time, whole

#: What can be run: the name of a scenario, the path of a file, a network, a dictionary in the form of a network
#: file, or a program.
What = str | os.PathLike[str] | Network | Mapping[str, Any] | Program

#: True if one thread at a time executes Python, so that workers on several threads would only wait.
_HAS_LOCK: bool = getattr(sys, "_is_gil_enabled", lambda: True)()


def request(
    what: What,
    *,
    until: str | timedelta | None = None,
    seed: int | None = None,
    tie_seed: int | None = None,
    engine: str | None = None,
    threads: int | None = None,
    processes: int | None = None,
    tune: Mapping[str, object] | None = None,
    memory_limit: str | None = None,
    digest: bool = True,
    set: Mapping[str, object] | None = None,
    parameters: Mapping[str, object] | None = None,
    several: bool = False,
    name: str = FILE,
) -> _parades.Request:
    """Returns a request in the words of the command. `several` allows several values of a parameter."""
    check_is_no_import()
    if isinstance(what, Mapping):
        what = Network.from_dict(what)
    values = merged(set, parameters or {}, "set")
    if isinstance(what, Program):
        values = values_of(what, values, is_apart=several or (processes or 1) > 1, several=several, file=name)
        until = what.until if until is None else until
        threads = 1 if threads is None and _HAS_LOCK else threads
        scenario, text = "python", what.over.to_toml() if isinstance(what.over, Network) else None
    elif isinstance(what, Network):
        scenario, text = what._path(name), what.to_toml()
    else:
        if not isinstance(what, (str, os.PathLike)):
            help = "name a scenario or a file, or give a network or a program"
            raise refused(f"what={what!r}", "this cannot be run", help)
        scenario, text = os.fspath(what), None
    return _parades.Request(
        scenario,
        text=text,
        file=str(values["over"]) if isinstance(what, Program) and text else None,
        set=assignments(values, several=several),
        until=time("until", until),
        seed=whole("seed", seed),
        tie_seed=whole("tie_seed", tie_seed),
        engine=engine,
        threads=whole("threads", threads, 1),
        processes=whole("processes", processes, 1),
        tune=assignments(tune or {}),
        memory_limit=memory_limit,
        digest=digest,
    )


def asked(what: What, how: Mapping[str, Any], name: str = FILE) -> _parades.Request:
    """Returns the request of a question about a run. `how` has options and parameters, as in `run`."""
    options = {key: value for key, value in how.items() if key in REQUEST_OPTIONS}
    parameters = {key: value for key, value in how.items() if key not in REQUEST_OPTIONS}
    return request(what, **options, parameters=parameters, name=name)


def run(
    what: What,
    *,
    until: str | timedelta | None = None,
    seed: int | None = None,
    tie_seed: int | None = None,
    engine: str | None = None,
    threads: int | None = None,
    processes: int | None = None,
    tune: Mapping[str, object] | None = None,
    memory_limit: str | None = None,
    digest: bool = True,
    set: Mapping[str, object] | None = None,
    progress: Listener = None,
    save: Save = None,
    outputs: Outputs | None = None,
    until_interval: float | None = None,
    metrics: Iterable[str] = (),
    **parameters: object,
) -> Run:
    """Executes a simulation to its end, and returns its results.

    The interpreter is free meanwhile: other threads go on. Ctrl-C ends the run at a consistent cut.

    >>> import parades as p
    >>> run = p.run("mm1", customers=1000, engine="sequential")
    >>> run.digest == p.run("mm1", customers=1000, engine="window", threads=2).digest
    True

    Args:
        what: The name of a scenario (`scenarios()` has them), the path of a TOML file, a `Network`, a dictionary
            in the form of a network file, or a `Program`.
        until: The virtual end time, with a unit: `"10s"`. Default: that of the scenario.
        seed: The seed of the random streams. Default: 1.
        tie_seed: Shuffles simultaneous events, alike on every engine. Default: they are not shuffled.
        engine: `auto`, `sequential`, `rounds`, `window`, `null-message`, `time-warp`. Default: `auto`.
        threads: The worker threads in each process. Default: the number of cores, divided by the processes.
        processes: The processes on this machine, connected by shared memory. Default: 1.
        tune: Settings of the engine. None of them changes the answer.
        memory_limit: A bound on the memory that the run takes in each process, with a unit: `"2GiB"`. The
            memory that the program holds when the run begins is not in it. Default: three quarters of the
            machine's, divided by the processes.
        digest: False skips the digest.
        set: Parameters by name, where the name is no name in Python: `{"link.gw.rate": "5Mbps"}`.
        progress: A function that is called ten times a second with a `Progress`; or `True` for a line.
        save: A file in which the run is saved at its end, or a `Saving`; `load` goes on from it.
        outputs: The files that the run writes while it is executed: captures, samples, a timeline, a trace.
        until_interval: The run is made longer until the 95 % interval of each of `metrics` is at most this
            share of its mean to either side: 0.01 is 1 %.
        metrics: The steady-state metrics that count for `until_interval`: `["sojourn"]`.
        **parameters: Parameters of the scenario: `networks=2, traffic="tcp"`.

    Raises:
        InputError: If the input is wrong.
        SimulationError: If the run fails.
        Stopped: After Ctrl-C, with the results so far as its attribute `run`.
    """
    asked = request(
        what,
        until=until,
        seed=seed,
        tie_seed=tie_seed,
        engine=engine,
        threads=threads,
        processes=processes,
        tune=tune,
        memory_limit=memory_limit,
        digest=digest,
        set=set,
        parameters=parameters,
    )
    names, share = precision(until_interval, metrics)
    try:
        return Run(_parades.execute(asked, callback(progress), None, saving(save), outputs, names, share))
    except SimulationError as error:
        raise error from raised_in(str(error))


class _Metrics(dict[str, Any]):
    """Metrics by name."""

    def __missing__(self, name: str) -> Any:
        parts = [known for known in self if isinstance(name, str) and known.startswith(name)]
        near = (parts or difflib.get_close_matches(str(name), self, 3))[:5]
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"they are {', '.join(self)}"
        raise KeyError(f"there is no metric {name!r}; {hint}")


class Run:
    """The results of a run. They do not change, so several threads may read them.

    Attributes:
        digest: The digest of all executed events, as 16 hexadecimal digits; `None` if it was switched off.
        events: The number of executed events.
        virtual_time_s: The virtual time at the end, in seconds.
        title: The name of the scenario, with the title of the network.
    """

    def __init__(self, run: _parades.Run) -> None:
        self._run = run
        self.digest: str | None = run.digest
        self.events: int = run.events
        self.virtual_time_s: float = run.virtual_time_s
        self.title: str = run.title

    @cached_property
    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self._run.facts())
        return facts

    @property
    def engine(self) -> str:
        """The engine; where `auto` was asked for, the one that it chose."""
        return str(self._facts["engine"])

    @property
    def seed(self) -> int:
        """The seed of the random streams."""
        return int(self._facts["seed"])

    @property
    def threads(self) -> int:
        """The number of worker threads of each process."""
        return int(self._facts["threads"])

    @property
    def processes(self) -> int:
        """The number of processes."""
        return int(self._facts["processes"])

    @property
    def notes(self) -> list[str]:
        """Notes on the run, a sentence each."""
        return list(self._facts["notes"])

    @property
    def wall_s(self) -> dict[str, float]:
        """The wall times of `setup`, `run` and `results`, in seconds."""
        return dict(self._facts["wall_s"])

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """Every number and text among the results by name, as in the table of a sweep.

        The end of a name is its unit.

        >>> import parades as p
        >>> sorted(name for name in p.run("mm1", customers=1000).metrics if name.startswith("sojourn_s"))
        ['sojourn_s.count', 'sojourn_s.half_width_95', 'sojourn_s.mean']
        """
        return _Metrics(json.loads(self._run.figures()))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The object that the command prints with `--json`."""
        summary: dict[str, Any] = json.loads(self._run.json())
        return summary

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each metric by name: `counter`, `tally`, `histogram`, `series`, `table`, …"""
        return dict(self._run.kinds())

    def table(self, name: str) -> Table:
        """Returns a table of the results, such as `flows` or `links`.

        Raises:
            InputError: If there is no such table, with the nearest name.
        """
        return Table(self._run.table(name), name)

    def series(self, name: str) -> Table:
        """Returns a series of the results, with the columns `time_s` and the value.

        Raises:
            InputError: If there is no such series, with the nearest name.
        """
        series = [one for one, kind in self.kinds.items() if kind == "series"]
        if not series and name not in self.kinds:
            help = 'a network has those of `measure(every="100ms", links="*")`'
            raise InputError(f"`{name}` is no series of this run, which has none; {help}", help=help)
        return self.table(name)

    def histogram(self, name: str) -> Table:
        """Returns the buckets of a histogram: the least and the greatest value of each, and the count.

        Raises:
            InputError: If there is no such histogram.
        """
        return Table(self._run.histogram(name), name)

    def samples(self, name: str) -> Table:
        """Returns the samples of a metric, which the run has kept in files (`Outputs.samples`).

        The columns are `time_s`, `lp`, `flow`, and the value under the name of the metric with its unit.

        Raises:
            InputError: If the run has kept no samples, or if the metric has none.
            SimulationError: If the file is not there any more.
        """
        return Table(self._run.samples(name), name)

    @property
    def profile(self) -> dict[str, Any] | None:
        """The wall time of handlers by kind, and the time outside of them, in seconds (`Outputs.profile`).

        `None` if the run was not asked for it.
        """
        profile: dict[str, Any] | None = self.summary.get("profile")
        return profile

    def tables(self) -> Iterator[Table]:
        """Returns all tables and series."""
        return (self.table(name) for name, kind in self.kinds.items() if kind in ("table", "series"))

    def report(self, width: int = 100) -> str:
        """Returns the results as the command prints them, in lines of at most `width` characters."""
        return self._run.report(width)

    def write(
        self, folder: str | os.PathLike[str], *, overwrite: bool = False, copy_inputs: bool = False
    ) -> None:
        """Writes the results into a folder, as `parades run --out` does; `rerun` repeats the run from there.

        `copy_inputs` copies the files that the run has read too.

        Raises:
            InputError: If the folder has the results of another run, unless `overwrite` is true.
        """
        self._run.write(os.fspath(folder), overwrite, copy_inputs)

    def __repr__(self) -> str:
        return f"<Run {self.title!r}: {self.events} events, {self.virtual_time_s:g} s, digest {self.digest}>"

    def _repr_html_(self) -> str:
        facts = {
            "engine": self.engine if self.threads == 1 else f"{self.engine} on {self.threads} threads",
            "virtual time": f"{self.virtual_time_s:g} s",
            "events": f"{self.events:,}",
            "run time": f"{self.wall_s['run']:.3g} s",
            "digest": str(self.digest),
        }
        numbers = {name: x for name, x in self.metrics.items() if x is not None}
        facts |= {name: f"{x:.6g}" if isinstance(x, float) else str(x) for name, x in numbers.items()}
        rows = "".join(
            f"<tr><th>{html.escape(key)}</th><td>{html.escape(x)}</td></tr>" for key, x in facts.items()
        )
        return f"<table><caption>{html.escape(self.title)}</caption>{rows}</table>"
