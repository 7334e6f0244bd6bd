# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Bounds with named terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .. import rows as row_types
from ..model import TaskSet
from ..verdict import Verdict, verdict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Guard: TypeAlias = Literal["absent", "spinning", "suspending"]
"""Wait-free: no job waits. MSRP: a waiting job spins. MPCP: a waiting job is suspended."""


@dataclass(frozen=True)
class Terms:
    """A response time in terms, in ns; they sum to it exactly."""

    own: int
    """C: its own execution, critical sections included."""
    spin: int
    """Waiting for resources while spinning on its core."""
    local_blocking: int
    """Blocking by less urgent tasks of its core."""
    remote_blocking: int
    """Waiting for resources while suspended."""
    interference: int
    """Interference by tasks of its core that are at least as urgent, with their spinning."""
    jitter: int
    """J: from the arrival to the release."""

    def sum(self) -> int:
        """The sum of all terms."""
        parts = self.own, self.spin, self.local_blocking, self.remote_blocking, self.interference, self.jitter
        return sum(parts)


@dataclass(frozen=True)
class Witness:
    """The largest contribution to a term: the task and the resource that cause it, and its length in ns. Empty if the
    term is zero."""

    task: str | None
    resource: str | None
    time: int


@dataclass(frozen=True)
class Witnesses:
    """The largest contribution to each term."""

    spin: Witness
    local_blocking: Witness
    remote_blocking: Witness
    interference: Witness


@dataclass(frozen=True)
class TaskBound:
    """How long a task takes at most, in ns."""

    name: str
    from_release: int
    """w: from the release to the completion."""
    from_arrival: int
    """R = w + J: from the arrival to the completion."""
    status: Literal["proven", "passes", "depends"]
    """``"proven"``: no job takes longer, and the deadline is kept. ``"passes"``: the bound passes the deadline; the
    number is the first found past it. ``"depends"``: the number would be a bound if all other tasks kept their
    deadlines, or the iteration stopped before it was one."""
    terms: Terms
    """R in terms."""
    witnesses: Witnesses
    """The largest contribution to each term."""


@dataclass(frozen=True)
class Bounds:
    """Bounds of all tasks of a set, in its order."""

    tasks: tuple[TaskBound, ...]
    rounds: int
    """Rounds of the outer iteration."""

    def __getitem__(self, task: str) -> TaskBound:
        """The bound of the task of this name. Raises ``KeyError``."""
        for each in self.tasks:
            if each.name == task:
                return each
        raise KeyError(task)

    def __iter__(self) -> Iterator[TaskBound]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def response_times(self) -> npt.NDArray[np.uint64]:
        """R of all tasks from the arrival, in ns."""
        import numpy as np

        return np.array([task.from_arrival for task in self.tasks], dtype=np.uint64)


@dataclass(frozen=True)
class Claim:
    """What published equations claim of a task, in ns. **No proof of anything.**"""

    name: str
    claimed: int
    """From the arrival; the value means nothing if the equations do not claim that the deadline is kept."""
    claimed_to_fit: bool
    terms: Terms


def witness(tasks: TaskSet, row: row_types.WitnessRow) -> Witness:
    """A witness by its names."""
    task, resource, time = row
    whose = None if task is None else tasks.tasks[task].name
    return Witness(whose, None if resource is None else tasks.resources[resource], time)


def bounds(tasks: TaskSet, answer: row_types.Answer[row_types.BoundsRow]) -> Verdict[Bounds]:
    """Bounds by their names."""

    def one(name: str, row: row_types.BoundRow) -> TaskBound:
        release, arrival, status, terms, witnesses = row
        named = Witnesses(*(witness(tasks, each) for each in witnesses))
        # The extension says one of the three.
        return TaskBound(name, release, arrival, status, Terms(*terms), named)  # type: ignore[arg-type]

    def made(found: row_types.BoundsRow) -> Bounds:
        rows, rounds = found
        return Bounds(tuple(one(task.name, row) for task, row in zip(tasks, rows, strict=True)), rounds)

    return verdict(answer, made)


def claims(tasks: TaskSet, answer: row_types.Answer[list[row_types.ClaimRow]]) -> Verdict[list[Claim]]:
    """Claims by their names."""

    def made(rows: list[row_types.ClaimRow]) -> list[Claim]:
        return [Claim(t.name, row[0], row[1], Terms(*row[2])) for t, row in zip(tasks, rows, strict=True)]

    return verdict(answer, made)


def guards(tasks: TaskSet, guard: Guard | Mapping[str, Guard]) -> list[str]:
    """For each resource, what guards it: one guard for all, or guards by name, with spinning for the rest. Raises
    ``KeyError``."""
    if isinstance(guard, str):
        return [guard] * len(tasks.resources)
    for name in guard:
        tasks.resource(name)
    return [guard.get(name, "spinning") for name in tasks.resources]
