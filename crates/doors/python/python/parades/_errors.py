"""The exceptions of this package: one class for each exit status of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._questions import Comparison
    from ._run import Run
    from ._sweep import Sweep


class Error(Exception):
    """A simulation has no result. `str()` is one sentence: what is wrong, where, and what to do.

    Attributes:
        exit_status: The exit status of the command for this error.
    """

    exit_status: ClassVar[int] = 1


class InputError(Error, ValueError):
    """The input is wrong: a value, a name, a file. The exit status of the command is 2.

    >>> import parades as p
    >>> try:
    ...     p.run("phold", until="1 parsec")
    ... except p.InputError as error:
    ...     print(error.argument)
    until=1 parsec

    Attributes:
        file: The file, as it was named; `network.toml` is a network that was built in Python.
        line: The line in the file, from 1.
        column: The column in the line, in characters, from 1.
        source_line: The text of the line.
        argument: The wrong argument, where it is not in a file.
        help: What to do.
    """

    exit_status: ClassVar[int] = 2

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        source_line: str | None = None,
        argument: str | None = None,
        help: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.source_line = source_line
        self.argument = argument
        self.help = help


class SimulationError(Error):
    """The simulation failed, or two runs differ. The exit status of the command is 1.

    >>> import parades as p
    >>> try:
    ...     p.run("faulty", fault="fail", engine="sequential")
    ... except p.SimulationError as error:
    ...     print(error.lp is not None, error.time_s > 0)
    True True

    Attributes:
        lp: The logical process whose event failed.
        time_s: The virtual time of that event, in seconds.
    """

    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, lp: int | None = None, time_s: float | None = None) -> None:
        super().__init__(message)
        self.lp = lp
        self.time_s = time_s


class Stopped(KeyboardInterrupt):
    """Ctrl-C has stopped a run. The exit status of the command is 130.

    It is a `KeyboardInterrupt`, and no `Error`.

    Attributes:
        run: The results up to then; `None` if there are none.
        sweep: The results of a sweep up to then; `None` if it was no sweep.
        comparison: The runs of a comparison that had ended; `None` if none had, or if it was no comparison.
    """

    exit_status: ClassVar[int] = 130

    def __init__(self, message: str, *, run: Any = None, sweep: Any = None, comparison: Any = None) -> None:
        super().__init__(message)
        self._run = run
        self._sweep = sweep
        self._comparison = comparison

    @property
    def run(self) -> Run | None:
        from ._run import Run

        return None if self._run is None else Run(self._run)

    @property
    def sweep(self) -> Sweep | None:
        from ._sweep import Sweep

        return None if self._sweep is None else Sweep(self._sweep)

    @property
    def comparison(self) -> Comparison | None:
        from ._questions import Comparison

        return None if self._comparison is None else Comparison(self._comparison)
