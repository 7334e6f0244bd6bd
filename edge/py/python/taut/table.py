# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Tables: columns for numpy, and for any library that speaks Arrow, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _taut

if TYPE_CHECKING:
    import numpy.typing as npt


class Table:
    """Rows of named columns. It speaks the Arrow PyCapsule interface, so that ``pyarrow.table(t)``,
    ``polars.DataFrame(t)`` and ``pandas.DataFrame.from_arrow(t)`` take it as it is, numbers without a copy."""

    def __init__(self, made: _taut.Table) -> None:
        self._made = made

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._made.names())

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._made)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A column as a numpy array; a masked one if values are missing. Raises ``KeyError``."""
        import numpy as np

        kind, data, there, words = self._made.column(name)
        if kind == "U":
            array: npt.NDArray[Any] = np.array([word or "" for word in words or ()])
        else:
            array = np.frombuffer(data, dtype=kind)
            if words is not None:
                # A missing value counts as the first word, and is masked.
                array = np.array([word or "" for word in words] or [""])[array]
        if there is None:
            return array
        masked: npt.NDArray[Any] = np.ma.masked_array(array, mask=np.frombuffer(there, dtype="u1") == 0)
        return masked

    def numpy(self) -> dict[str, npt.NDArray[Any]]:
        """All columns as numpy arrays."""
        return {name: self[name] for name in self.columns}

    def __arrow_c_schema__(self) -> object:
        """The schema, as the Arrow PyCapsule interface wants it."""
        return self._made.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """All rows as one array, as the Arrow PyCapsule interface wants them."""
        return self._made.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All rows as a stream, as the Arrow PyCapsule interface wants them."""
        return self._made.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<taut.Table: {len(self)} rows of {', '.join(self.columns)}>"
