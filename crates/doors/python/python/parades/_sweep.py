"""Sweeps: replications of a run over a grid of parameters."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import cached_property
from typing import Any

from . import _parades
from ._errors import SimulationError, Stopped
from ._progress import Listener, callback
from ._run import What, request
from ._table import Table
from ._words import merged, refused, whole


class Sweep:
    """The results of a sweep.

    Attributes:
        notes: Notes on the grid and on the results, a sentence each: also where seeds change nothing.
        failures: The number of runs that failed. The table of runs has their errors.
        first_failure: The message of the first of them; `None` if none has failed.
    """

    def __init__(self, sweep: _parades.Sweep) -> None:
        self._sweep = sweep
        self.notes: list[str] = [*sweep.notes, *self.summary["notes"]]
        self.failures: int = sweep.failed[0] if sweep.failed else 0
        self.first_failure: str | None = sweep.failed[1] if sweep.failed else None

    def runs(self) -> Table:
        """Returns a table with a row for each run: swept parameters, seed, digest, metrics."""
        return Table(self._sweep.runs(), "runs")

    def means(self) -> Table:
        """Returns a table with a row for each metric of each point: its mean over the seeds.

        `half_width_95` is the half-width of the interval of 95 % (Student's t).
        """
        return Table(self._sweep.means(), "means")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The object that the command prints with `--json`."""
        summary: dict[str, Any] = json.loads(self._sweep.json())
        return summary

    def report(self) -> str:
        """Returns the results as the command prints them."""
        return self._sweep.report()

    def __repr__(self) -> str:
        swept, runs = ", ".join(self.summary["swept"]), self.summary["finished"]
        return f"<Sweep over {swept or 'seeds'}: {runs} runs, {self.failures} failed>"

    def _repr_html_(self) -> str:
        return self.means()._repr_html_()


def sweep(
    what: What,
    grid: Mapping[str, object] | None = None,
    *,
    seeds: Iterable[int] | str | None = None,
    jobs: int | None = None,
    until: str | timedelta | None = None,
    tie_seed: int | Iterable[int] | None = None,
    engine: str | None = None,
    threads: int | None = None,
    processes: int | None = None,
    tune: Mapping[str, object] | None = None,
    memory_limit: str | None = None,
    metrics: Iterable[str] = (),
    until_interval: float | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Listener = None,
    **parameters: object,
) -> Sweep:
    """Executes a run at each point of a grid, with each seed.

    The runs are executed by processes: `sys.executable -m parades`. A run that fails is a row with its error.

    >>> import parades as p
    >>> queue = p.sweep("mm1", {"utilisation": [0.5, 0.7]}, customers=500, seeds=range(1, 4), jobs=1)
    >>> [row["runs"] for row in queue.means() if row["metric"] == "sojourn_s.mean"]
    [3, 3]

    Args:
        what: As in `run`.
        grid: The values of each parameter; every combination is a point.
        seeds: The seeds: numbers, or as the command has them, `"1..30"`. Default: one, 1.
        jobs: The number of runs at a time. Default: the number of cores over the threads of a run.
        tie_seed: A seed that shuffles simultaneous events; each point is run with each of several.
        threads: The worker threads of each run. Default: 1.
        memory_limit: A bound on the memory of each run, with a unit. Default: three quarters of the
            machine's, divided by `jobs`.
        metrics: The metrics that are shown, and that count for `until_interval`.
        until_interval: Seeds are added until the 95 % intervals of `metrics` are at most this share of their
            means to either side.
        out: A folder for the tables, the journal and the results of each run. A sweep that was stopped goes
            on from it.
        progress: A function that is called after each run with a `Progress`; or `True` for a line.
        until, engine, processes, tune: As in `run`.
        **parameters: Further parameters, one value or several.

    Raises:
        InputError: If the input is wrong.
        SimulationError: If all runs fail, or if no process can be started.
        Stopped: After Ctrl-C, with the results so far as its attribute `sweep`.
    """
    if isinstance(seeds, int):
        raise refused(f"seeds={seeds!r}", "this is one number", f"write `seeds=[{seeds!r}]`, or a `range`")
    ties = [] if tie_seed is None else [tie_seed] if isinstance(tie_seed, int) else list(tie_seed)
    asked = request(
        what,
        until=until,
        tie_seed=ties[0] if ties else None,
        engine=engine,
        threads=threads,
        processes=processes,
        tune=tune,
        memory_limit=memory_limit,
        parameters=merged(grid, parameters, "grid"),
        several=True,
    )
    swept = Sweep(
        _parades.sweep(
            asked,
            seeds=seeds if seeds is None or isinstance(seeds, str) else ",".join(str(seed) for seed in seeds),
            tie_seeds=ties,
            jobs=whole("jobs", jobs, 1),
            metrics=list(metrics),
            until_interval=until_interval,
            folder=None if out is None else os.fspath(out),
            callback=callback(progress),
        )
    )
    if swept._sweep.is_stopped:
        raise Stopped("the sweep was stopped; `sweep` has the results so far", sweep=swept._sweep)
    if swept.failures == swept.summary["finished"] > 0:
        raise SimulationError(f"all {swept.failures} runs failed, the first with: {swept.first_failure}")
    return swept
