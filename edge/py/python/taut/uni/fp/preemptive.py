# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Response time, fixed priority, preemptive, one core, D ≤ T.

w = C + B + Σ ⌈(w + J_j) / T_j⌉ · C_j over more urgent tasks; R = w + J. Exact for free releases, else sufficient.
Source: Joseph & Pandya 1986, Audsley et al. 1993.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ... import _taut
from ... import rows as row_types
from ...time import Time, ns
from ...verdict import Verdict, verdict


@dataclass(frozen=True)
class Task:
    """A task as the theorem needs it: C, T, J. Its jobs arrive at any time, T or more apart; with a ``phase``, at that
    offset after a start that all such tasks share, then every T; if ``driven``, when another task of the system
    triggers them."""

    cost: Time
    period: Time
    jitter: Time = 0
    phase: Time | None = None
    driven: bool = False

    def _row(self) -> row_types.FpRow:
        kind = 2 if self.driven else 0 if self.phase is None else 1
        return ns(self.cost), ns(self.period), ns(self.jitter), kind, ns(self.phase or 0)


@dataclass(frozen=True)
class Subject:
    """The task under analysis; D, from the arrival; B; whether some run attains B while everything else is at its
    worst; and whether the task is preemptible throughout, without which no answer is ``"unschedulable"``."""

    task: Task
    deadline: Time
    blocking: Time = 0
    blocking_attained: bool = True
    preemptible: bool = True

    def _row(self) -> row_types.FpSubject:
        deadline, blocking = ns(self.deadline), ns(self.blocking)
        return self.task._row(), deadline, blocking, self.blocking_attained, self.preemptible


@dataclass(frozen=True)
class Response:
    """How long a job takes at most, in ns."""

    from_release: int
    """w: from the release to the completion. The job that attains it may be another one than ``job``."""
    from_arrival: int
    """R: from the arrival to the completion."""
    job: int
    """Which job of the busy window attains R, from 1."""
    jobs: tuple[int, ...]
    """How many jobs of each more urgent task interfere with it, in the order given."""
    steps: int
    """Steps of the iteration."""

    @classmethod
    def _of(cls, row: row_types.FpResponse) -> Response:
        return cls(row[0], row[1], row[2], tuple(row[3]), row[4])


def response(subject: Subject, higher: Iterable[Task] = ()) -> Verdict[Response]:
    """Bounds the response time of a task below ``higher``: all other tasks of the core that are at least as urgent.

    Raises ``OverflowError`` if the first value past the deadline does not fit in 64 bits of ns.
    """
    rows = [task._row() for task in higher]
    return verdict(_taut.fp_response("preemptive", subject._row(), rows, 0), Response._of)


def is_exact(subject: Subject, higher: Iterable[Task] = ()) -> bool:
    """Whether some run attains the equation's value."""
    return _taut.fp_is_exact(subject._row(), [task._row() for task in higher])
