# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Task sets of other tools: read as manifests, and written from them.

Both list, item by item, what they cannot carry over. ``docs/exchange.md`` says how they translate each item.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from . import _taut
from .errors import ImportFailed
from .manifest import Manifest, StrPath
from .model import TaskSet
from .time import Time, ns

Source: TypeAlias = Literal["cheddar", "schedcat", "amalthea", "mast", "rtdroid"]
"""The languages that `read` and `parse` read."""

Target: TypeAlias = Literal["mast", "simso", "rt-app", "cheddar"]
"""The languages that `export` writes."""


@dataclass(frozen=True)
class Lost:
    """Something that was not carried over, or not as it was; ``line`` and ``column`` count from 1, if it has a
    place."""

    line: int | None
    column: int | None
    what: str


@dataclass(frozen=True)
class Imported:
    """Another tool's task set as a manifest."""

    source: str
    """The language that was read."""
    text: str
    """The text of a ``taut.toml``."""
    lost: tuple[Lost, ...]
    """What was not carried over."""

    def manifest(self) -> Manifest:
        """Parses ``text``. Raises `ManifestError` if the source states something that a manifest must not."""
        return Manifest.parse(self.text)

    def task_set(self) -> TaskSet:
        """Its task set, as `Manifest.task_set`."""
        return self.manifest().task_set()


def read(path: StrPath, source: Source | None = None, *, unit: Time | None = None, name: str | None = None) -> Imported:
    """Reads another tool's file. Raises what `parse` raises, and ``OSError``."""
    file = Path(path)
    return parse(file.read_bytes().decode("utf-8"), source, unit=unit, name=file.stem if name is None else name)


def parse(text: str, source: Source | None = None, *, unit: Time | None = None, name: str = "imported") -> Imported:
    """Reads another tool's text; its language is guessed unless given. ``unit`` is the length of a time of 1, where the
    language does not say; ``name`` is the application's name, if the text has none.

    Raises `ImportFailed` for a text that cannot be read.
    """
    if unit is not None and ns(unit) == 0:
        raise ValueError("a unit is not zero")
    made, rows = _taut.import_text(text, source, None if unit is None else ns(unit), name)
    lost = [(place or (None, None), what) for place, what in rows]
    if made is None:
        (line, column), why = lost[0]
        raise ImportFailed(why, line, column)
    return Imported(made[0], made[1], tuple(Lost(line, column, what) for (line, column), what in lost))


def export(manifest: Manifest, target: Target) -> tuple[str, tuple[str, ...]]:
    """The task set of a manifest in another tool's language, and a sentence for each thing that was not carried over.

    Raises ``ValueError`` for a language that `export` does not write.
    """
    text, lost = manifest._read.export(target)
    return text, tuple(lost)
