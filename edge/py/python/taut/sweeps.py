# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Sweeps: random systems from a generator file, and a row of results for each.

A row is a function of the file, the seed and its number: any part of a sweep may be made anywhere, in any order, and
gives the same rows as the command ``taut sweep``. See ``docs/sweep.md`` for the keys of the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import SupportsIndex

from . import _taut
from .errors import ManifestError
from .manifest import StrPath, diagnostics
from .model import TaskSet
from .table import Table
from .time import count


class Generator:
    """A generator file without faults. `read` and `parse` make one."""

    def __init__(self, made: _taut.Generator, text: str, name: str) -> None:
        self._made = made
        self._text = text
        self._name = name

    @classmethod
    def read(cls, path: StrPath) -> Generator:
        """Reads a file. Raises `ManifestError` with all faults, ``OSError`` and ``UnicodeDecodeError``."""
        return cls.parse(Path(path).read_bytes().decode("utf-8"), str(path))

    @classmethod
    def parse(cls, text: str, name: str = "sweep.toml") -> Generator:
        """Reads a text, which messages call ``name``. Raises `ManifestError` with all faults."""
        try:
            return cls(_taut.Generator(name, text), text, name)
        except ValueError as error:
            if len(error.args) != 2:
                raise
            rendered, found = error.args
            raise ManifestError(rendered, diagnostics(found)) from None

    def with_seed(self, seed: SupportsIndex) -> Generator:
        """The same with another seed, of 64 bits. Raises ``ValueError``."""
        return Generator(self._made.with_seed(count(seed, "the seed")), self._text, self._name)

    def __reduce__(self) -> tuple[object, ...]:
        return again, (self._text, self._name, self.seed)

    @property
    def seed(self) -> int:
        """The seed."""
        return self._made.seed()

    @property
    def rows(self) -> int:
        """How many rows there are; consecutive rows go round the points."""
        return self._made.rows()

    @property
    def points(self) -> tuple[tuple[str, int], ...]:
        """For each point, its scheme and its utilisation in parts per million."""
        return tuple(self._made.points())

    @property
    def columns(self) -> dict[str, str]:
        """The columns of a table of rows, with what they mean."""
        return dict(self._made.columns())

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods; the names of their columns begin with them."""
        return tuple(self._made.methods())

    def shard(self, part: SupportsIndex, of: SupportsIndex) -> range:
        """The rows of a part, counted from 1 as ``taut sweep --shard 1/4`` does. Raises ``ValueError``."""
        parts = count(of, "the number of parts", 1)
        return range(*self._made.shard(count(part, "a part", 1, parts) - 1, parts))

    def task_set(self, row: SupportsIndex) -> TaskSet:
        """The system of a row as a task set. Raises ``ValueError`` for a row that does not exist."""
        return TaskSet._of(self._made.set(count(row, "a row")))

    def __repr__(self) -> str:
        return f"<taut.Generator: {self.rows} rows at {len(self.points)} points, seed {self.seed}>"


def again(text: str, name: str, seed: int) -> Generator:
    """A generator from its parts: for copies in other processes."""
    return Generator.parse(text, name).with_seed(seed)


def sweep(
    generator: Generator | StrPath,
    rows: range | None = None,
    *,
    shard: tuple[SupportsIndex, SupportsIndex] | None = None,
    seed: SupportsIndex | None = None,
    jobs: SupportsIndex | None = None,
    progress: Callable[[int], bool | None] | None = None,
) -> Table:
    """Makes rows, in their order: all of them, those of a ``range``, or those of a part, as ``(1, 4)``. ``seed``
    replaces that of the file. ``jobs`` threads work, by default one per processor, while other threads of Python run.

    ``progress`` is called some twenty times a second with the number of rows made so far; if it returns ``False``, the
    table has only the rows up to there. Ctrl-C ends a sweep when the rows already begun are made.

    Raises what `Generator.read` raises, ``ValueError`` for rows that do not exist or a system that cannot be drawn, and
    whatever ``progress`` raises.
    """
    made = generator if isinstance(generator, Generator) else Generator.read(generator)
    made = made if seed is None else made.with_seed(seed)
    if rows is not None and shard is not None:
        raise ValueError("give either rows or a shard")
    wanted = range(made.rows) if rows is None else rows
    if shard is not None:
        part, of = shard
        wanted = made.shard(part, of)
    if not isinstance(wanted, range) or wanted.step != 1:
        raise ValueError(f"rows are a range with a step of 1, not {wanted!r}")
    if wanted.start < 0 or wanted.stop > made.rows:
        raise ValueError(f"rows are from 0 to {made.rows}, not {wanted!r}")
    threads = (os.cpu_count() or 1) if jobs is None else count(jobs, "jobs", 1, 1024)
    start = min(wanted.start, made.rows)
    return Table(made._made.run(start, max(start, wanted.stop), threads, progress))
