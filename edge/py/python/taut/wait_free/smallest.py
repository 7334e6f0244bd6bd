# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""The fewest buffers: by readers' jobs, by time, or by jobs for some readers and by time for the others. Sufficient.

Source: Han et al. 2014 for the idea, Huang et al. 2002 for the count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import _taut
from ..time import Time, ns
from ..verdict import Verdict, verdict
from .writes_during_read import Writer

__all__ = ["Reader", "Sizes", "Writer", "buffers"]


@dataclass(frozen=True)
class Reader:
    """A reader: T, its response time from the arrival, and how long it uses a value at most."""

    period: Time
    response: Time
    used_for: Time


@dataclass(frozen=True)
class Sizes:
    """The three counts."""

    instances: int
    """By readers' jobs alone."""
    lifetime: int | None
    """By time alone; ``None`` if the count does not fit in 64 bits."""
    mixed: int
    """By both."""
    fast: tuple[int, ...]
    """The fast readers of the count by both, as positions in the list given."""
    least: int
    """The fewest."""


def buffers(readers: Iterable[Reader], writer: Writer) -> Verdict[Sizes]:
    """Computes all three. Raises ``OverflowError``."""
    rows = [(ns(each.period), ns(each.response), ns(each.used_for)) for each in readers]
    answer = _taut.buffers_smallest(rows, writer._row())
    return verdict(answer, lambda row: Sizes(row[0], row[1], row[2], tuple(row[3]), row[4]))
