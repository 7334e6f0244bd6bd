# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Writes that can touch one read. Exact. Source: Huang et al. 2002, section 2.2."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _taut
from ..time import Time, ns
from ..verdict import Verdict, same, verdict


@dataclass(frozen=True)
class Writer:
    """The writer: T, the least time between two arrivals; and the longest time from an arrival to the end of its write:
    a deadline that is met, or a response time."""

    period: Time
    within: Time

    def _row(self) -> tuple[int, int]:
        return ns(self.period), ns(self.within)


def most(read: Time, writer: Writer) -> Verdict[int]:
    """The writes that can touch a read that lasts ``read`` at most. Raises ``OverflowError``."""
    return verdict(_taut.writes_most(ns(read), writer._row(), False), same)


def printed(read: Time, writer: Writer) -> Verdict[int]:
    """The same as printed, never less than 2. Raises ``OverflowError``."""
    return verdict(_taut.writes_most(ns(read), writer._row(), True), same)


def longest_read(within: Time, elsewhere: Time) -> int:
    """The longest that a read can last, in ns, if the job ends within ``within`` of its arrival and executes at least
    ``elsewhere`` outside the read."""
    return _taut.longest_read(ns(within), ns(elsewhere))


def printed_longest_read(period: Time, cost: Time, read: Time) -> int | None:
    """The same as printed, for a job of cost C that reads for ``read`` of that time; ``None`` if ``read`` does not fit
    in C, or C in the period."""
    return _taut.printed_longest_read(ns(period), ns(cost), ns(read))
