# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Response times of the tasks of a core that share local resources, fixed priority, preemptive.

Sufficient; exact for a task that no section blocks, that has no section, and that shares its priority with no task.
Source: Sha et al. 1990, Audsley et al. 1993.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex

from ... import _taut, rows
from ...model import TaskSet
from ...time import count
from ...verdict import Verdict, verdict
from .ceiling import Blocked, blocked
from .preemptive import Response


@dataclass(frozen=True)
class Found:
    """What was found for a task."""

    task: str
    blocking: Blocked
    """The section that blocks it."""
    higher: tuple[str, ...]
    """The tasks that interfere, in the order of the response's ``jobs``."""
    verdict: Verdict[Response]


def responses(tasks: TaskSet, core: SupportsIndex = 0) -> list[Found]:
    """Bounds the response time of each task of a core, in the order of the set. Tasks of equal priority count against
    each other.

    Raises ``IndexError`` for a core that does not exist, and ``OverflowError``.
    """

    def found(row: rows.LocalLocksRow) -> Found:
        at, section, higher, answer = row
        names = tuple(tasks.tasks[each].name for each in higher)
        return Found(tasks.tasks[at].name, blocked(tasks, section), names, verdict(answer, Response._of))

    return [found(row) for row in _taut.fp_local_locks(tasks._set, count(core, "a core"))]
