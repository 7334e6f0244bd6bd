# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Chains of tasks: the age of data, and the time until an event has had an effect. Sufficient.

Source: Davare et al. 2007; Feiertag et al. 2009 for the names; Dürr et al. 2019 for a more urgent writer on the same
core; the forms for queues, preserved flows and jitter are ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, SupportsIndex, TypeAlias

from . import _taut, rows
from .time import Time, count, ns
from .verdict import Verdict, verdict

Reading: TypeAlias = Literal["newest", "newest-below-writer", "preserved", "preserved-delayed"]
"""Which value of a state a job reads: the newest while it runs; the same, with a more urgent writer on the same core
that never suspends; the value of the writer's job that was activated last when the reader's job was activated; the
value of the job before that job."""


@dataclass(frozen=True)
class Task:
    """A task of a chain: T, its response time from the arrival, all waiting included, its jitter, and whether its jobs
    arrive exactly every T, or T or more apart."""

    period: Time
    response: Time
    jitter: Time = 0
    periodic: bool = True

    def _row(self) -> tuple[bool, int, int, int]:
        return bool(self.periodic), ns(self.period), ns(self.response), ns(self.jitter)


@dataclass(frozen=True)
class State:
    """A channel that holds the latest value."""

    reading: Reading = "newest"


@dataclass(frozen=True)
class Queue:
    """A channel that holds every value, in order, and is never found full: values sent and taken per job, and whether
    it releases its reader."""

    sends: SupportsIndex = 1
    takes: SupportsIndex = 1
    triggered: bool = False


@dataclass(frozen=True)
class Hop:
    """A channel and the task that reads it."""

    channel: State | Queue
    reader: Task

    def _row(self) -> rows.HopRow:
        if isinstance(self.channel, State):
            return self.channel.reading, (1, 1, False), self.reader._row()
        sends, takes = (count(n, "values", 0, 2**32 - 1) for n in (self.channel.sends, self.channel.takes))
        return "queue", (sends, takes, bool(self.channel.triggered)), self.reader._row()


@dataclass(frozen=True)
class DataAge:
    """The age of data in parts, in ns."""

    until_output: int
    """Until the last output that is made from the data."""
    until_replaced: int | None
    """Until that output is replaced; ``None`` if nothing bounds when."""
    hops: tuple[int, ...]
    """Of each hop: from an arrival to the next task's."""
    response: int
    """Of the last task."""


@dataclass(frozen=True)
class Reaction:
    """A reaction in parts, in ns, which sum to ``total``."""

    total: int
    sampling: int
    """Until a job arrives that samples the event."""
    hops: tuple[int, ...]
    """Of each hop: from an arrival to the next task's."""
    response: int
    """Of the last task."""


def data_age(first: Task, hops: Iterable[Hop] = ()) -> Verdict[DataAge]:
    """Bounds the age of data behind a chain. Raises ``ValueError`` and ``OverflowError``."""
    answer = _taut.chain_data_age(first._row(), [hop._row() for hop in hops])
    return verdict(answer, lambda row: DataAge(row[0], row[1], tuple(row[2]), row[3]))


def reaction(first: Task, hops: Iterable[Hop] = ()) -> Verdict[Reaction]:
    """Bounds the time from an event to the end of the first job of the last task that shows it. Raises ``ValueError``
    and ``OverflowError``."""
    answer = _taut.chain_reaction(first._row(), [hop._row() for hop in hops])
    return verdict(answer, lambda row: Reaction(row[0], row[1], tuple(row[2]), row[3]))


def davare07(tasks: Iterable[Task]) -> int:
    """Σ (T + R) in ns, however jobs read states. For periodic tasks and states. Raises ``OverflowError``."""
    return _taut.chain_davare07([task._row() for task in tasks])
