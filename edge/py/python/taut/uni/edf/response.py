# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Response times, EDF, preemptive, one core; jitter, deadlines of any length, and blocking.

Exact for free arrivals without blocking, ties counted against the task; sufficient otherwise. Source: Spuri 1996,
George et al. 1996.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, SupportsIndex, TypeAlias

from ... import _taut
from ...model import TaskSet
from ...time import Time, count, ns
from ...verdict import Verdict, verdict
from .demand import Task

Locks: TypeAlias = Literal["srp", "srp-latest-release", "dfp", "dfp-own"]
"""What guards local resources: see `taut.uni.edf.srp` and `taut.uni.edf.dfp`."""


@dataclass(frozen=True)
class Blocker:
    """Execution of length ``time`` that may come first although it is due later, in busy periods that end with a
    deadline d, ``since`` ≤ d < ``until``."""

    time: Time
    since: Time
    until: Time


@dataclass(frozen=True)
class Response:
    """How long jobs of a task take at most, in ns."""

    from_release: int
    from_arrival: int
    blocking: int
    """Blocking in the busy period that attains R."""
    blocked_by: tuple[int, int] | None
    """The task and the resource of the blocking section, by position."""
    before: int
    """How long before that busy period the job arrives."""
    candidates: int
    """Arrivals that the search examined."""


def response(
    tasks: Iterable[Task], which: SupportsIndex, blockers: Iterable[Blocker] = (), exact: bool = True
) -> Verdict[Response]:
    """Bounds the response time of the task at position ``which``; a value past its deadline is still a bound.
    ``exact``: arrivals are free.

    Raises ``IndexError``, and ``OverflowError`` if a busy period does not fit in 64 bits of ns.
    """
    rows = [(ns(b.time), ns(b.since), ns(b.until)) for b in blockers]
    answer = _taut.edf_response([task._row() for task in tasks], count(which, "a task"), rows, exact)
    return verdict(answer, lambda row: Response(*row))


def core(tasks: TaskSet, core: SupportsIndex = 0, locks: Locks = "srp") -> Verdict[list[Response]]:
    """Bounds the response times of all tasks of a core, in the set's order. Raises ``IndexError``, ``ValueError`` and
    ``OverflowError``."""
    answer = _taut.edf_response_core(tasks._set, count(core, "a core"), locks)
    return verdict(answer, lambda rows: [Response(*row) for row in rows])
