"""Columns of results."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _parades

if TYPE_CHECKING:
    import pandas
    import polars

#: The rows that are shown of a table.
_ROWS_SHOWN = 20

Cell = int | float | str | bool | None


class Table(Sequence[Mapping[str, Any]]):
    """A table of results: a sequence of rows, each a dictionary, and columns by name.

    The end of a column's name is its unit: `_s`, `_bytes`, `_bps`, `_per_s`. Pandas, polars, DuckDB and
    pyarrow read the columns without copies, by Arrow's PyCapsule interface: `polars.DataFrame(table)`,
    `pyarrow.table(table)`.

    >>> import parades as p
    >>> flows = p.run("network").table("flows")
    >>> flows.columns[:3], len(flows) > 0
    (['flow', 'app', 'source'], True)
    >>> flows[0]["app"] == flows["app"][0]
    True
    """

    def __init__(self, table: _parades.Table, name: str = "") -> None:
        self._table = table
        #: The name of the table.
        self.name = name
        #: The names of the columns.
        self.columns: list[str] = table.columns

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, which: Any) -> Any:
        """Returns a row by its number, rows by a slice, or a column by its name.

        Raises:
            KeyError: If there is no such column.
            IndexError: If there is no such row.
        """
        if isinstance(which, str):
            if which not in self.columns:
                raise KeyError(f"there is no column {which!r}; the columns are {', '.join(self.columns)}")
            return self._table.column(self.columns.index(which))
        if isinstance(which, slice):
            return [self[row] for row in range(*which.indices(len(self)))]
        row = which + len(self) if which < 0 else which
        if not 0 <= row < len(self):
            raise IndexError(f"there is no row {which} of {len(self)}")
        return dict(zip(self.columns, self._table.row(row), strict=True))

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return (self[row] for row in range(len(self)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def to_dict(self) -> dict[str, list[Cell]]:
        """Returns the columns as lists by name."""
        return {name: self._table.column(number) for number, name in enumerate(self.columns)}

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a data frame of pandas, by pyarrow where it is installed."""
        import pandas

        try:
            import pyarrow
        except ModuleNotFoundError:
            return pandas.DataFrame(self.to_dict())
        frame: pandas.DataFrame = pyarrow.table(self).to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Returns a data frame of polars."""
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        shown = (self._table.row(row) for row in range(min(len(self), _ROWS_SHOWN)))
        body = "".join("<tr>" + "".join(f"<td>{_cell(x)}</td>" for x in row) + "</tr>" for row in shown)
        left = len(self) - _ROWS_SHOWN
        more = f"<caption>{left} more rows</caption>" if left > 0 else ""
        return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(x: Cell) -> str:
    return "" if x is None else html.escape(f"{x:.6g}" if isinstance(x, float) else str(x))
