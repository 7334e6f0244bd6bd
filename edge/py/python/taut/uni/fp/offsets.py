# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Response time of activities with offsets: transactions, each released by an event.

| method | counts | verdict |
|---|---|---|
| ``"holistic"`` | as if all others had no offsets | sufficient |
| ``"approximate"`` | the worst candidate of each transaction at every instant | sufficient |
| ``"slanted"`` | the same, as it runs | sufficient, never above ``"approximate"`` |
| ``"exact"`` | all combinations of candidates, up to a limit | exact if B is attained and no other is as urgent |

Source: Tindell & Clark 1994, Tindell 1994, Palencia & González Harbour 1998, Mäki-Turja & Nolin 2004 and 2008.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, SupportsIndex, TypeAlias

from ... import _taut
from ... import rows as row_types
from ...time import Time, count, ns
from ...verdict import Verdict, verdict

Method: TypeAlias = Literal["holistic", "approximate", "slanted", "exact"]
"""Which theorem."""


@dataclass(frozen=True)
class Activity:
    """A part of a transaction: C; its priority (larger = more urgent; equal priorities count against both); D, from the
    event; O, the least time from the event to the release; J, how much later the release may be; B; and the least time
    that it executes, which only `chained` uses."""

    cost: Time
    priority: int
    deadline: Time
    offset: Time = 0
    jitter: Time = 0
    blocking: Time = 0
    cost_least: Time = 0


@dataclass(frozen=True)
class Transaction:
    """Activities that one event releases. The event comes exactly every T, or if not ``periodic``, T or more apart."""

    period: Time
    activities: tuple[Activity, ...]
    periodic: bool = True


@dataclass(frozen=True)
class Response:
    """How long an activity takes at most, from the event, in ns; and the steps of all iterations."""

    from_event: int
    steps: int


def response(
    transactions: Iterable[Transaction],
    transaction: SupportsIndex,
    activity: SupportsIndex,
    method: Method = "slanted",
    limit: SupportsIndex = 100_000,
) -> Verdict[Response]:
    """Bounds the response time of an activity, by positions. ``limit`` is the most scenarios of ``"exact"``.

    Raises ``IndexError``, and ``OverflowError`` if a window does not fit in 64 bits of ns.
    """
    of = count(transaction, "a transaction"), count(activity, "an activity")
    answer = _taut.fp_offsets((method, count(limit, "the limit")), rows(transactions), of)
    return verdict(answer, lambda row: Response(*row))


def chained(
    transactions: Iterable[Transaction], method: Method = "slanted", limit: SupportsIndex = 100_000
) -> Verdict[list[list[int]]]:
    """Bounds the response times of all activities, in ns from the event. Each activity is released when its offset has
    passed *and* the activity before it in its transaction has ended, or up to its jitter later.

    Raises ``OverflowError``.
    """
    answer = _taut.fp_offsets_chained((method, count(limit, "the limit")), rows(transactions))
    return verdict(answer, list)


def rows(transactions: Iterable[Transaction]) -> list[row_types.TransactionRow]:
    """Transactions as the extension takes them."""

    def row(a: Activity) -> tuple[int, int, int, int, int, int, int]:
        priority = count(a.priority, "a priority", 0, 2**32 - 1)
        times = ns(a.offset), ns(a.jitter), ns(a.blocking), ns(a.deadline)
        return ns(a.cost), ns(a.cost_least), priority, *times

    return [(ns(t.period), bool(t.periodic), [row(a) for a in t.activities]) for t in transactions]
