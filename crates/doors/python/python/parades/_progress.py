"""The progress of runs: for a function of the user, on a terminal, or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ._words import refused


class Progress(NamedTuple):
    """The progress of a run, or of the runs of a sweep."""

    #: The share that is done, from 0 to 1: of the virtual time, or of the runs.
    share: float
    #: The virtual time in seconds; `None` for a sweep.
    time_s: float | None
    #: The virtual time at which the run ends, in seconds; `None` for a sweep.
    until_s: float | None
    #: The events in a second of wall time; `None` for a sweep.
    events_per_s: float | None
    #: The number of runs that are over; `None` for a single run.
    runs: int | None
    #: The number of all runs of the sweep, as far as it is known; `None` for a single run.
    runs_total: int | None


#: A function that hears of the progress, ten times a second; or `True` for a line on the terminal or in the
#: notebook.
Listener = Callable[[Progress], object] | bool | None


def callback(listener: Listener) -> Callable[[str, Any], None] | None:
    """Returns the function that hears of the run for a listener of the user."""
    if listener is None or listener is False:
        return None
    if listener is not True and not callable(listener):
        raise refused(f"progress={listener!r}", "nobody hears of the progress", "give a function, or `True`")
    tell = _Line() if listener is True else listener

    def hear(what: str, facts: Any) -> None:
        if what == "progress":
            now, until, speed = facts
            tell(Progress(now / until if until else 0.0, now, until, speed, None, None))
        elif what == "runs":
            finished, total = facts
            tell(Progress(finished / total if total else 0.0, None, None, None, finished, total))

    return hear


class _Line:
    """A line that is drawn again: in a notebook, or on standard error if that is a terminal."""

    def __init__(self) -> None:
        self._display: Any = None
        self._begin = time.monotonic()
        try:
            from IPython import get_ipython
            from IPython.display import display

            show: Any = display

            if get_ipython() is not None and "IPKernelApp" in get_ipython().config:
                self._display = show({"text/plain": ""}, raw=True, display_id=True)
        except ModuleNotFoundError:
            pass

    def __call__(self, now: Progress) -> None:
        passed = time.monotonic() - self._begin
        if now.runs is None:
            speed = (now.events_per_s or 0.0) / 1e6
            text = f"{now.share:4.0%}  t = {now.time_s:.3f} s  {speed:.1f} M events/s  {passed:.0f} s"
        else:
            text = f"{now.share:4.0%}  {now.runs}/{now.runs_total} runs  {passed:.0f} s"
        if self._display is not None:
            self._display.update({"text/plain": text}, raw=True)
        elif sys.stderr.isatty():
            print(f"\r{text}\x1b[K", end="\r" if now.share < 1 else "\n", file=sys.stderr, flush=True)
