# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Buffers by how many jobs of readers can be under way: Σ ⌈R / T⌉ + 2. Sufficient. Source: Chen & Burns 1997, Han et
al. 2014."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .. import _taut
from ..time import Time, ns
from ..verdict import Verdict, same, verdict


@dataclass(frozen=True)
class Reader:
    """A reader: T, and its response time from the arrival."""

    period: Time
    response: Time


def instances(readers: Iterable[Reader]) -> Verdict[int]:
    """Jobs of readers that can be under way at once. Raises ``OverflowError``."""
    return verdict(_taut.buffers_instances(rows(readers), False)[0], same)


def buffers(readers: Iterable[Reader], writer_above_on_one_core: bool = False) -> Verdict[int]:
    """Buffers, with the writer anywhere, or with all on one core and the writer more urgent than every reader, which
    needs one buffer less. Raises ``OverflowError``."""
    return verdict(_taut.buffers_instances(rows(readers), writer_above_on_one_core)[1], same)


def rows(readers: Iterable[Reader]) -> list[tuple[int, int]]:
    """Readers as the extension takes them."""
    return [(ns(each.period), ns(each.response)) for each in readers]
