# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Queues between two tasks: capacity, waiting, latency, and when a queue that is too short is full. Sufficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex

from . import _taut
from .time import Time, count, ns
from .verdict import Verdict, same, verdict


@dataclass(frozen=True)
class Writer:
    """The writing task: T, its response time from the arrival, and how many values a job sends."""

    period: Time
    response: Time
    sends: SupportsIndex = 1

    def _row(self) -> tuple[int, int, int]:
        return ns(self.period), ns(self.response), count(self.sends, "values sent", 0, 2**32 - 1)


@dataclass(frozen=True)
class Reader:
    """The reading task: T, its period or the least time between two of its arrivals; its response time from the
    arrival; how many values a job takes; whether the queue releases it."""

    period: Time
    response: Time
    takes: SupportsIndex = 1
    triggered: bool = False

    def _row(self) -> tuple[int, int, int, bool]:
        takes = count(self.takes, "values taken", 0, 2**32 - 1)
        return ns(self.period), ns(self.response), takes, bool(self.triggered)


def capacity(writer: Writer, reader: Reader) -> Verdict[int]:
    """Values that can wait at most: a queue of that capacity is never found full. Raises ``OverflowError``."""
    return verdict(_taut.queue_capacity(writer._row(), reader._row()), same)


def wait(writer: Writer, reader: Reader) -> Verdict[int]:
    """From the arrival of the writer's job plus its response time to the arrival of the reader's job that takes the
    value, in ns. Raises ``OverflowError``."""
    return verdict(_taut.queue_time("wait", writer._row(), reader._row()), same)


def latency(writer: Writer, reader: Reader) -> Verdict[int]:
    """From a send to the end of the job that takes the value, in ns. Raises ``OverflowError``."""
    return verdict(_taut.queue_time("latency", writer._row(), reader._row()), same)


def overflows_not_before(writer: Writer, reader: Reader, values: SupportsIndex) -> Verdict[int | None]:
    """A lower bound, in ns, on the time from a send to the empty queue of ``values`` places to a send that finds the
    queue full; ``None`` if no send ever does. Raises ``OverflowError``."""
    row = writer._row(), reader._row(), count(values, "values")
    return verdict(_taut.queue_overflow("not-before", *row), same)


def overflows_certainly_by(writer: Writer, reader: Reader, values: SupportsIndex) -> Verdict[int | None]:
    """An upper bound, in ns, on the time from an arrival of a periodic writer to a send that finds the queue of
    ``values`` places full; not shown if the rates allow that no send ever does. Raises ``OverflowError``."""
    row = writer._row(), reader._row(), count(values, "values")
    return verdict(_taut.queue_overflow("certainly-by", *row), same)
