# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Priorities that keep all deadlines, fixed priority, preemptive, one core: by D − J.

Exact for the preemptive test without blocking: if any order keeps all deadlines, this one does. Source: Leung &
Whitehead 1982; Zuhily & Burns 2007 with jitter; Audsley 1991 for fixed numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ... import _taut
from ...time import Time, ns

HIGHEST = 98
"""The largest number that `assign` gives."""


@dataclass(frozen=True)
class Candidate:
    """A task that needs a priority: D − J, and its number from 1 to `HIGHEST` if it came with one."""

    laxity: Time
    fixed: int | None = None


def assign(tasks: Iterable[Candidate]) -> list[int] | None:
    """A number for each task, in the order given; larger = more urgent, no two equal. Among tasks with the same D − J
    the earlier one is more urgent. ``None`` if there are more tasks than numbers.

    Raises ``ValueError`` for fixed numbers that are equal or out of range.
    """
    rows = [(task.fixed, ns(task.laxity)) for task in tasks]
    if any(fixed is not None and not 1 <= fixed <= HIGHEST for fixed, _ in rows):
        raise ValueError(f"fixed priorities are from 1 to {HIGHEST}")
    return _taut.fp_assign(rows)
