"""Values of Python as the words of the command and as TOML."""

from __future__ import annotations

import json
import numbers
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ._errors import InputError


def duration(time: timedelta) -> str:
    """Returns a duration with its unit.

    >>> duration(timedelta(milliseconds=1.5))
    '1500us'
    """
    return f"{time // timedelta(microseconds=1)}us"


def time(name: str, value: str | timedelta | None) -> str | None:
    """Returns a virtual time that the argument `name` has.

    Raises:
        InputError: If it has no unit.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        return duration(value)
    raise refused(f"{name}={value!r}", "a time is a text with its unit", 'write for example "10s"')


def whole(name: str, value: object, least: int = 0) -> int | None:
    """Returns a whole number that the argument `name` has.

    >>> whole("seed", None), whole("seed", 3)
    (None, 3)

    Raises:
        InputError: If it is no such number, or below `least`.
    """
    if value is None:
        return None
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if least <= number < 1 << 64 and not isinstance(value, bool):
        return number
    raise refused(f"{name}={value!r}", "this is no such number", f"give a whole number from {least} on")


def merged(
    named: Mapping[str, object] | None, parameters: Mapping[str, object], name: str
) -> dict[str, object]:
    """Returns the values of the argument `name`, and those that stand as arguments of their own.

    >>> merged({"link.gw.rate": "5Mbps"}, {"seed": 1}, "set")
    {'link.gw.rate': '5Mbps', 'seed': 1}

    Raises:
        InputError: If a parameter stands in both.
    """
    for parameter in parameters:
        if named and parameter in named:
            raise refused(parameter, f"it has a value here and one in `{name}`", "give one of them")
    return {**(named or {}), **parameters}


def refused(argument: str, message: str, help: str) -> InputError:
    """Returns the exception of a wrong argument."""
    return InputError(f"{argument}: {message}; {help}", argument=argument, help=help)


def word(value: object) -> str:
    """Returns a value as the command reads it.

    >>> word(True), word(0.5), word(timedelta(seconds=2)), word("10Mbps")
    ('true', '0.5', '2000000us', '10Mbps')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, timedelta):
        return duration(value)
    # A comma in a value would separate two values, and quotes hold it together.
    return toml(value)


def words(values: object) -> str:
    """Returns several values of a parameter, separated by commas.

    >>> words(["5Mbps", "10Mbps"]), words(range(3)), words('a, "b" c')
    ('5Mbps,10Mbps', '0,1,2', '"a, ""b"" c"')
    """
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        values = [values]
    return ",".join(_quoted(text) if "," in text or '"' in text else text for text in map(word, values))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def assignments(values: Mapping[str, object], *, several: bool = False) -> list[str]:
    """Returns values by name as the command reads them: `KEY=VALUE`."""
    of = words if several else word
    return [f"{key}={of(value)}" for key, value in values.items()]


def toml(value: object) -> str:
    """Returns a value as TOML.

    >>> toml({"kind": "codel", "limit": 50}), toml([1, 2.5, "a"])
    ('{ kind = "codel", limit = 50 }', '[1, 2.5, "a"]')
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, timedelta):
        return _text(duration(value))
    if isinstance(value, os.PathLike):
        return _text(str(os.fspath(value)))
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{key_of(key)} = {toml(one)}" for key, one in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, Sequence) or (
        isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray))
    ):
        return "[" + ", ".join(map(toml, value)) + "]"
    if hasattr(value, "item"):
        # A scalar of numpy.
        return toml(value.item())
    help = "use a text, a number, `True`, a list or a dictionary"
    raise InputError(
        f"a value of the type `{type(value).__name__}` cannot stand in a network; {help}", help=help
    )


def key_of(name: object) -> str:
    """Returns a key as TOML."""
    text = str(name)
    is_bare = text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    return text if is_bare else _text(text)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{text!r} is no text in UTF-8; leave out its surrogates", help="leave out its surrogates"
        ) from None
    # The escapes of JSON are escapes of TOML too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def table(pairs: Mapping[str, Any]) -> str:
    """Returns the lines of a table, without its heading."""
    return "".join(f"{key_of(key)} = {toml(value)}\n" for key, value in pairs.items())
