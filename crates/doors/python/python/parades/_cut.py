"""Runs as values: a run at one virtual time, which goes on in one way or in several."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from . import _parades
from ._errors import InputError
from ._outputs import Outputs, Save, Saving, saving
from ._progress import Listener, callback
from ._run import Run, What, request
from ._words import assignments, merged, time, whole


class Cut:
    """A run at one virtual time, with everything before it executed and nothing at it.

    A cut does not change. `advance` returns a later one, `branch` one that goes on differently, and `finish`
    the results of the whole run. The digest at the end is that of the unbroken run, whatever the cuts and the
    engines.

    Each step reads the cut before it, so a step takes some milliseconds, and more with a large model.

    >>> import parades as p
    >>> half = p.start("mm1", customers=1000).advance("500ms")
    >>> whole = half.with_engine("window", threads=2).finish()
    >>> whole.digest == p.run("mm1", customers=1000).digest
    True
    """

    def __init__(
        self,
        asked: _parades.Request,
        engine: Mapping[str, Any],
        saved: _parades.Saved | None = None,
        so_far: Run | None = None,
        outputs: Outputs | None = None,
        what: What | None = None,
    ) -> None:
        self._asked = asked
        #: The program lives as long as its cuts.
        self._what = what
        #: The files of a run at its start. Later ones go on with those of the saved run.
        self._outputs = outputs
        self._engine = dict(engine)
        self._saved = saved
        #: The results up to the cut; `None` at the start, and where the cut was loaded or is a branch.
        self.so_far = so_far

    @property
    def time(self) -> str:
        """The virtual time, with its unit."""
        return "0s" if self._saved is None else self._saved.time

    @property
    def time_s(self) -> float:
        """The virtual time in seconds."""
        return 0.0 if self._saved is None else self._saved.time_s

    @property
    def events(self) -> int:
        """The number of events executed before."""
        return 0 if self._saved is None else self._saved.events

    @property
    def digest(self) -> str | None:
        """The digest of these events; `None` at the start, and where digests are switched off."""
        return None if self._saved is None else self._saved.digest

    def _how(self, until: str | None = None) -> _parades.Request:
        """Returns the request by which the run goes on."""
        if self._saved is None:
            return self._asked
        how = request("", until=until or self._saved.end, **self._engine)
        return how.with_text_of(self._asked)

    def _save(self, path: str, until: str | timedelta, progress: Listener) -> Run:
        save = Saving(path, stop_at=time("until", until))
        return Run(_parades.execute(self._how(), callback(progress), self._saved, save, self._outputs))

    def advance(self, until: str | timedelta, *, progress: Listener = None) -> Cut:
        """Executes everything before a virtual time, and returns the run there.

        It stops at the end of the run.

        Raises:
            InputError: If the time has passed, or if the scenario cannot be saved.
        """
        with tempfile.TemporaryDirectory(prefix="parades-") as folder:
            path = os.path.join(folder, "run.save")
            so_far = self._save(path, until, progress)
            return Cut(self._asked, self._engine, _parades.Saved.read(path), so_far, what=self._what)

    def branch(
        self,
        *,
        set: Mapping[str, object] | None = None,
        seed: int | None = None,
        fresh_metrics: bool = False,
        until: str | timedelta | None = None,
        **parameters: object,
    ) -> Cut:
        """Returns a run that has other values, or other random streams, from here on.

        >>> import parades as p
        >>> warm = p.start("mm1", customers=1000).advance("500ms")
        >>> busier = warm.branch(utilisation=0.9).finish()
        >>> busier.digest == warm.finish().digest
        False

        Args:
            set: Values by name, where the name is no name in Python: `{"link.gw.rate": "5Mbps"}`.
            seed: The seed of new random streams. Default: the streams go on.
            fresh_metrics: True if the metrics begin again here.
            until: Another end of the run.
            **parameters: Values of parameters that may change during a run.

        Raises:
            InputError: If a value cannot change during a run; at the start of a run, where nothing has
            happened.
        """
        if self._saved is None:
            raise InputError(
                "the run is at its start; start it with these values instead",
                help="start it with these values",
            )
        changes = assignments(merged(set, parameters, "set"))
        end = time("until", until) or self._saved.end or ""
        branch = self._saved.branch(changes, whole("seed", seed), fresh_metrics, end)
        return Cut(self._asked, self._engine, branch, what=self._what)

    def with_engine(
        self,
        engine: str,
        *,
        threads: int | None = None,
        processes: int | None = None,
        tune: Mapping[str, object] | None = None,
    ) -> Cut:
        """Returns the same run, which goes on under another engine. The answer stays the same.

        Raises:
            InputError: If there is no such engine, when the run goes on.
        """
        how = {**self._engine, "engine": engine, "threads": threads, "processes": processes, "tune": tune}
        workers = (whole("threads", threads, 1), whole("processes", processes, 1))
        asked = self._asked.with_engine(engine, *workers, assignments(tune or {}))
        return Cut(asked, how, self._saved, self.so_far, self._outputs, self._what)

    def finish(
        self,
        *,
        until: str | timedelta | None = None,
        progress: Listener = None,
        save: Save = None,
        outputs: Outputs | None = None,
    ) -> Run:
        """Executes the rest of the run, and returns its results.

        Args:
            until: Another end than that of the run.
            progress: As in `run`.
            save: As in `run`.
            outputs: Files that begin here. Default: the files of the run so far go on.

        Raises:
            InputError: If the end has passed.
            SimulationError: If the run fails.
            Stopped: After Ctrl-C, with the results so far as its attribute `run`.
        """
        end = time("until", until)
        asked = self._how(end) if self._saved is not None or end is None else self._asked.with_until(end)
        files = outputs or self._outputs
        return Run(_parades.execute(asked, callback(progress), self._saved, saving(save), files))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the run into a file, from which `load` and `parades resume` go on.

        Raises:
            InputError: If the file cannot be written; at the start of a run, where nothing has happened.
        """
        if self._saved is None:
            raise InputError(
                "the run is at its start, so there is nothing to save; advance it first",
                help="advance it first",
            )
        self._save(os.fspath(path), self._saved.time, None)

    def __repr__(self) -> str:
        return f"<Cut at {self.time}: {self.events} events, digest {self.digest}>"


def start(
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
    set: Mapping[str, object] | None = None,
    outputs: Outputs | None = None,
    **parameters: object,
) -> Cut:
    """Returns a run at its start. The arguments are those of `run`.

    Files of `outputs` go on from cut to cut. They have the run of the cut that was advanced or finished last.

    Raises:
        InputError: If the input is wrong.
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
        set=set,
        parameters=parameters,
    )
    asked.check()
    how = {
        "engine": engine,
        "threads": threads,
        "processes": processes,
        "tune": tune,
        "memory_limit": memory_limit,
    }
    return Cut(asked, how, outputs=outputs, what=what)


def load(path: str | os.PathLike[str]) -> Cut:
    """Returns the run in a file that `Cut.save`, `run(…, save=…)` or `parades run --save` wrote.

    Raises:
        InputError: If the file cannot be read, is damaged, or was written by another version.
    """
    # The cut has the bytes, so the file may change.
    return Cut(request("", until=None), {}, _parades.Saved.read(os.fspath(path)))
