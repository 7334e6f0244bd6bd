# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Buffers where flows are preserved: a job's activation fixes what it reads. Exact.

Source: Han et al. 2014; Sofronis et al. 2006 for the idea.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import _taut
from ..time import Time, ns
from ..verdict import Verdict, same, verdict


@dataclass(frozen=True)
class Writer:
    """The writer: T, its response time, and the longest time from an arrival to its activation."""

    period: Time
    response: Time
    jitter: Time = 0

    def _row(self) -> tuple[int, int, int]:
        return ns(self.period), ns(self.response), ns(self.jitter)


@dataclass(frozen=True)
class Reader:
    """A reader: T, its response times from the arrival and from the activation, and whether its priority is higher than
    the writer's."""

    period: Time
    response: Time
    from_activation: Time
    above: bool


def dbp(writer: Writer, readers: Iterable[Reader], one_core: bool = False) -> Verdict[int]:
    """Buffers of the dynamic buffering protocol, with writer and readers on one core by fixed priorities, or on
    several. Raises ``OverflowError``."""
    form = "dbp-one" if one_core else "dbp-several"
    return verdict(_taut.buffers_flow(form, writer._row(), rows(readers)), same)


def tccp(writer: Writer, readers: Iterable[Reader]) -> Verdict[int]:
    """Buffers of the temporal concurrency control protocol; 1 without readers. Raises ``OverflowError``."""
    return verdict(_taut.buffers_flow("tccp", writer._row(), rows(readers)), same)


def rows(readers: Iterable[Reader]) -> list[tuple[int, int, int, bool]]:
    """Readers as the extension takes them."""
    return [(ns(r.period), ns(r.response), ns(r.from_activation), bool(r.above)) for r in readers]
