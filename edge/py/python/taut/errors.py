# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""What can go wrong, as exceptions. Every one of ours is a `TautError`.

Functions also raise Python's own exceptions: ``TypeError`` and ``ValueError`` for arguments that make no sense,
``IndexError`` for positions that do not exist, ``OverflowError`` where a time does not fit in 64 bits of ns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._taut import InternalError

if TYPE_CHECKING:
    from .manifest import Diagnostic

__all__ = ["ImportFailed", "InternalError", "ManifestError", "NotProven", "SetError", "TautError"]


class TautError(Exception):
    """Any error of this package's own."""


class SetError(TautError, ValueError):
    """Tasks that are no task set.

    ``faults`` holds every fault, as the task's position and a sentence.
    """

    def __init__(self, message: str, faults: tuple[tuple[int, str], ...]) -> None:
        super().__init__(message)
        self.faults = faults


class NotProven(TautError):
    """The caller asked a verdict for a bound, and it has none; the message says why."""


class ManifestError(TautError, ValueError):
    """A manifest with faults. Its text is what the command ``taut`` prints.

    ``diagnostics`` holds all of them, warnings included.
    """

    def __init__(self, rendered: str, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(rendered)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


class ImportFailed(TautError, ValueError):
    """Another tool's text cannot be read; ``line`` and ``column`` count from 1, if the fault has a place."""

    def __init__(self, why: str, line: int | None, column: int | None) -> None:
        place = "" if line is None else f"{line}:{column}: "
        super().__init__(place + why)
        self.line = line
        self.column = column
