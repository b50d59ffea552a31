"""The exceptions of this package: one class for each exit status of the command."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ._questions import Comparison
    from ._run import Run
    from ._sweep import Sweep

#: What a program file needs that other processes import.
GUARD = 'put the runs of the file under `if __name__ == "__main__":`'

#: Parts of messages for users of the command, and what they are for users of Python.
_WORDS = [
    (r"; reproduce it with `[^`]*(<locals>|the session:|over=network\.toml)[^`]*`", ""),
    (r"(a saved run in )?\S*/parades-\w+/run\.save", "the run"),
    (r"^--([a-z]+): ", r"\1: "),
    (r"^--set ", ""),
    (r"^--(seeds|table|tune) ", r"\1="),
    (r"name another folder for `--out`", "name another folder"),
    (r"add `--overwrite`", "pass `overwrite=True`"),
    (r"with `--overwrite`", "with `overwrite=True`"),
    (r"call `parades_session::ranks::serve` at the start of the program", GUARD),
]

#: The options of a run that are part of its request, and no parameters of its scenario.
REQUEST_OPTIONS = tuple("until seed tie_seed engine threads processes tune memory_limit set".split())

#: The options of runs, which a mistyped name may mean.
RUN_OPTIONS = (*REQUEST_OPTIONS, "digest", "progress", "save", "outputs")


def _in_python(message: str) -> str:
    """Returns a message in words of Python.

    >>> _in_python("the network has no key `thread`; it has none")
    'the network has no key `thread`; did you mean the option `threads`?'
    """
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    unknown = re.search(r"has no key `(\w+)`; (?!did you mean)", message)
    near = difflib.get_close_matches(unknown[1], RUN_OPTIONS, 1, 0.7) if unknown else []
    return f"{message[: unknown.end()]}did you mean the option `{near[0]}`?" if unknown and near else message


class Error(Exception):
    """A simulation has no result. `str()` is one sentence: what is wrong, where, and what to do.

    Attributes:
        exit_status: The exit status of the command for this error.
    """

    exit_status: ClassVar[int] = 1

    def __init__(self, message: str) -> None:
        super().__init__(_in_python(message))


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
