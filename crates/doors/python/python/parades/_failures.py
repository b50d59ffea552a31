"""What ends a run of a program: exceptions of its processes, waits that nobody awaits, Ctrl-C."""

from __future__ import annotations

import ctypes
import glob
import inspect
import os
import signal
import sys
import sysconfig
import types
from collections.abc import Iterator
from contextlib import suppress

from . import _parades
from ._errors import Error

#: The exceptions that ended runs, by the sentences on them.
_RAISED: dict[str, BaseException] = {}


class Forgotten(RuntimeError):
    """A process goes on without the `await` that it has forgotten."""


def forgotten(method: str) -> None:
    """Ends the run: a process has dropped a wait before it awaited it. Called where it is dropped."""
    try:
        frame = sys._getframe(1)
    except ValueError:
        return
    word = "yield from" if frame.f_code.co_flags & inspect.CO_GENERATOR else "await"
    place = f"{os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno}"
    _parades.fail_here(f"`{method}` did nothing, since nobody awaits it: write `{word}` before it ({place})")

    def stop(*_: object) -> None:
        sys.settrace(None)
        raise Forgotten

    # A loop of such waits would never end. The next line of the process raises the exception.
    frame.f_trace = stop
    sys.settrace(lambda *_: None)


def told(error: BaseException, traceback: types.TracebackType | None) -> str:
    """Returns a sentence on an exception, with its line. Called where a process fails."""
    error.__traceback__ = traceback
    text = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
    if "event loop" in text:
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
