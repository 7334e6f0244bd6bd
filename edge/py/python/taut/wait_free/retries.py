# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""How often a reader repeats a read of one buffer, because the writer wrote meanwhile. Sufficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex

from .. import _taut
from ..time import Time, count, ns
from ..verdict import Verdict, same, verdict


@dataclass(frozen=True)
class Writer:
    """The writer: T, the longest time from an arrival to the end of the write, the longest to the release, and how long
    a write lasts."""

    period: Time
    response: Time
    jitter: Time
    write: Time

    def _row(self) -> tuple[int, int, int, int]:
        return ns(self.period), ns(self.response), ns(self.jitter), ns(self.write)


@dataclass(frozen=True)
class Attempt:
    """One attempt to read, from the shortest to the longest."""

    shortest: Time
    longest: Time

    def _row(self) -> tuple[int, int]:
        return ns(self.shortest), ns(self.longest)


@dataclass(frozen=True)
class Retries:
    """Bounds of a read: attempts that fail, and the time in ns from the start of the first attempt to the end of the
    last."""

    retries: int
    within: int


def per_write(attempt: Attempt, write: Time) -> int:
    """Attempts that one write can fail. Raises ``OverflowError`` if an attempt may take no time: there is no bound."""
    return _taut.retries_per_write(attempt._row(), ns(write))


def on_another_core(attempt: Attempt, writer: Writer) -> Verdict[Retries]:
    """Retries of a reader that runs in parallel to the writer. Raises ``OverflowError``."""
    return verdict(_taut.retries_elsewhere(attempt._row(), writer._row()), lambda row: Retries(*row))


def below_the_writer(deadline: Time, writer: Writer) -> Verdict[int]:
    """Retries of a job of a less urgent reader on the writer's core, within ``deadline`` of its release. Raises
    ``OverflowError``."""
    return verdict(_taut.retries_below(ns(deadline), writer._row()), same)


def cost(other: Time, attempt: Time, retries: SupportsIndex) -> int:
    """C in ns of a job that reads once, executes ``other`` outside the read, and one attempt in ``attempt``. Raises
    ``OverflowError``."""
    return _taut.retries_cost(ns(other), ns(attempt), count(retries, "retries"))
