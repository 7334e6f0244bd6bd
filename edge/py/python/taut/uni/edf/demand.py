# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Processor demand, EDF, preemptive, one core; searched by QPA.

h(t) = Σ max(0, ⌊(t + J − D) / T⌋ + 1) · C ≤ t for all t. Exact for free arrivals, and for a common start without
jitter; sufficient otherwise. Source: Baruah et al. 1990, Spuri 1996 with jitter, Zhang & Burns 2009.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex

from ... import _taut, rows
from ...model import TaskSet
from ...time import Time, count, ns
from ...verdict import Verdict, verdict


@dataclass(frozen=True)
class Task:
    """A task: C, T, D from the arrival, of any length, J."""

    cost: Time
    period: Time
    deadline: Time
    jitter: Time = 0

    def _row(self) -> tuple[int, int, int, int]:
        return ns(self.cost), ns(self.period), ns(self.deadline), ns(self.jitter)


@dataclass(frozen=True)
class Window:
    """A window that is too short: ``demand`` + ``blocking`` > ``length``, in ns; and the task and the resource of the
    section that blocks, by position."""

    length: int
    demand: int
    blocking: int
    blocked_by: tuple[int, int] | None


@dataclass(frozen=True)
class Demand:
    """What the test found for a core."""

    horizon: int
    """Windows up to this length in ns can be too short; if none is, no longer window is."""
    steps: int
    """Windows that the search examined."""
    short: Window | None
    """The window that is too short, if one was found."""

    @classmethod
    def _of(cls, row: rows.DemandRow) -> Demand:
        return cls(row[0], row[1], None if row[2] is None else Window(*row[2]))


def demand(tasks: Iterable[Task], exact: bool = True) -> Verdict[Demand]:
    """Whether tasks that share nothing keep their deadlines. ``exact``: their arrivals are free, so that in some run
    all tasks arrive at once and then as often as they may.

    Raises ``OverflowError`` if a horizon or the demand of a window does not fit in 64 bits of ns.
    """
    return verdict(_taut.edf_demand([task._row() for task in tasks], exact), Demand._of)


def core(tasks: TaskSet, core: SupportsIndex = 0) -> Verdict[Demand]:
    """The same for a core of a set, as if its tasks shared nothing. Raises ``IndexError`` and ``OverflowError``."""
    return verdict(_taut.edf_core(tasks._set, count(core, "a core"), "none"), Demand._of)
