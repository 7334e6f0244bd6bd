# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Manifests: ``taut.toml`` with its overlays, read and checked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from . import _taut
from .errors import ManifestError, SetError
from .model import TaskSet

StrPath: TypeAlias = str | os.PathLike[str]
"""A path."""

WIDTH = 100
"""Columns of rendered diagnostics."""


@dataclass(frozen=True)
class Span:
    """A stretch of a file, and the message for it. Lines and columns count from 1, columns in characters."""

    file: str | None
    line: int
    column: int
    end_line: int
    end_column: int
    label: str


@dataclass(frozen=True)
class Diagnostic:
    """A fault, or a warning, with its places."""

    code: str
    """Stable, as ``"TAUT0201"``; `taut.explain` says more."""
    severity: Literal["error", "warning"]
    message: str
    """One line."""
    primary: Span
    """The guilty value."""
    secondary: tuple[Span, ...]
    """What conflicts with it."""
    notes: tuple[str, ...]
    """How it was found."""
    help: str | None
    """What would be right."""


class Manifest:
    """A manifest without faults. `read` and `parse` make one."""

    def __init__(self, made: _taut.Read) -> None:
        self._read = made
        self._app, names, self._cores = made.names()
        self._tasks, self._channels, self._chains, self._resources, self._clients = map(tuple, names)

    @classmethod
    def read(cls, path: StrPath, overlays: Iterable[StrPath] = ()) -> Manifest:
        """Reads a file, or the ``taut.toml`` of a folder, and applies overlays to it in order.

        Raises `ManifestError` with all faults, ``OSError`` for files that cannot be read, and ``UnicodeDecodeError``
        for files that are not UTF-8.
        """
        file = Path(path)
        file = file / "taut.toml" if file.is_dir() else file
        folder = file.parent.resolve()

        def inside(path: Path) -> str:
            full = path.resolve()
            return str(full.relative_to(folder)) if full.is_relative_to(folder) else str(full)

        files = [file, *map(Path, overlays)]
        return cls._of([(str(each), inside(each), each.read_bytes().decode("utf-8")) for each in files])

    @classmethod
    def parse(cls, text: str, overlays: Iterable[str] = (), name: str = "taut.toml") -> Manifest:
        """Reads a text, and applies the overlays' texts to it in order; messages call the text ``name``.

        Raises `ManifestError` with all faults.
        """
        texts = [(name, text), *((f"overlay-{at}.toml", each) for at, each in enumerate(overlays, 1))]
        return cls._of([(name, name, text) for name, text in texts])

    @classmethod
    def _of(cls, texts: list[tuple[str, str, str]]) -> Manifest:
        made = _taut.Read(texts)
        if not made.is_valid():
            raise ManifestError(made.render(None, False, WIDTH), diagnostics(made.diagnostics()))
        return cls(made)

    @property
    def app(self) -> str:
        """The application's name."""
        return self._app

    @property
    def cores(self) -> tuple[int, ...]:
        """The CPUs of its real-time cores, in the order of the cores of its task set."""
        return tuple(self._cores)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of its tasks, best-effort ones included."""
        return self._tasks

    @property
    def channels(self) -> tuple[str, ...]:
        """The names of its channels."""
        return self._channels

    @property
    def chains(self) -> tuple[str, ...]:
        """The names of its chains."""
        return self._chains

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of its resources."""
        return self._resources

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of its clients."""
        return self._clients

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Its diagnostics, all of them warnings, because it has no faults."""
        return diagnostics(self._read.diagnostics())

    def task_set(self) -> TaskSet:
        """Its real-time tasks on the cores and with the priorities that its plan gives them: for analyses and
        simulation. Costs include margins and two context switches, and jitter includes the release latency; other
        overheads that the plan's bounds contain are not in the set. A receiver is sporadic; servers come last, as
        tasks.

        Raises `SetError` for tasks that a set cannot hold.
        """
        try:
            return TaskSet._of(self._read.set())
        except ValueError as error:
            if len(error.args) != 2:
                raise
            text, found = error.args
            raise SetError(text, tuple(found)) from None

    def __repr__(self) -> str:
        return f"<taut.Manifest: {self._app}, {len(self._tasks)} tasks on cores {list(self._cores)}>"


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """Diagnostics from JSON."""

    def span(given: dict[str, Any]) -> Span:
        keys = ("file", "line", "column", "end_line", "end_column", "label")
        return Span(**{key: given[key] for key in keys})

    def one(given: dict[str, Any]) -> Diagnostic:
        return Diagnostic(
            code=given["code"],
            severity=given["severity"],
            message=given["message"],
            primary=span(given["primary"]),
            secondary=tuple(map(span, given["secondary"])),
            notes=tuple(given["notes"]),
            help=given["help"],
        )

    return tuple(map(one, json.loads(text)["diagnostics"]))
