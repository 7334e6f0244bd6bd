# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Blocking by local critical sections under a ceiling protocol, fixed priority, one core.

B is the longest section of a less urgent task on a resource whose ceiling is at least as urgent as the task.
Sufficient; a supremum, since the section must have begun before the release. Source: Sha et al. 1990, theorem 12; Baker
1991.
"""

from __future__ import annotations

from dataclasses import dataclass

from ... import _taut, rows
from ...model import TaskSet


@dataclass(frozen=True)
class Blocked:
    """B in ns, and the task and the resource of the section, if there is one."""

    time: int
    task: str | None
    resource: str | None


def ceilings(tasks: TaskSet) -> dict[str, int | None]:
    """The ceiling of each resource: the priority of its most urgent user; ``None`` if no task uses it, or tasks on
    several cores do."""
    return dict(zip(tasks.resources, _taut.fp_ceilings(tasks._set), strict=True))


def blocking(tasks: TaskSet, task: str) -> Blocked:
    """B of a task. Raises ``KeyError``."""
    return blocked(tasks, _taut.fp_ceiling_blocking(tasks._set, tasks.index(task)))


def blocked(tasks: TaskSet, row: rows.Blocked) -> Blocked:
    """A section by its names."""
    of, time = row
    return Blocked(time, None, None) if of is None else Blocked(time, tasks.tasks[of[0]].name, tasks.resources[of[1]])
