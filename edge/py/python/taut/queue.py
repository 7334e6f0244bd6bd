# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Queues between two tasks: capacity, waiting, latency, and when one that is too short is full. Sufficient."""

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
    """The reading task: T, its period or the least time between two of its arrivals; its response time from the arrival;
    how many values a job takes; whether the queue releases it."""

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
    """From the arrival of the writer's job plus its response time to the arrival of the reader's job that takes the value,
    in ns. Raises ``OverflowError``."""
    return verdict(_taut.queue_time("wait", writer._row(), reader._row()), same)


def latency(writer: Writer, reader: Reader) -> Verdict[int]:
    """From a send to the end of the job that takes the value, in ns. Raises ``OverflowError``."""
    return verdict(_taut.queue_time("latency", writer._row(), reader._row()), same)


def overflows_not_before(writer: Writer, reader: Reader, values: SupportsIndex) -> Verdict[int | None]:
    """How long at least after a send to the empty queue of so many values no send finds it full, in ns; a bound of ``None``
    if none ever does. Raises ``OverflowError``."""
    row = writer._row(), reader._row(), count(values, "values")
    return verdict(_taut.queue_overflow("not-before", *row), same)


def overflows_certainly_by(writer: Writer, reader: Reader, values: SupportsIndex) -> Verdict[int | None]:
    """How long at most after an arrival of a periodic writer a send has found the queue of so many values full, in ns; not
    shown if the rates allow that none ever does. Raises ``OverflowError``."""
    row = writer._row(), reader._row(), count(values, "values")
    return verdict(_taut.queue_overflow("certainly-by", *row), same)
