# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Which readers to treat as fast, so that buffers are fewest. Exact. Source: Huang et al. 2002, section 3.4."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex

from .. import _taut
from ..time import count
from .buffers import Protocol


@dataclass(frozen=True)
class Partition:
    """A division of the readers, by their positions."""

    fast: tuple[int, ...]
    """Fast readers, in order of their writes."""
    slow: tuple[int, ...]
    buffers: int
    """Buffers in all."""
    by_fast: tuple[int, ...]
    """Buffers with the first 0, 1, .. readers fast."""


def best(protocol: Protocol, writes: Iterable[SupportsIndex]) -> Partition:
    """The best division of readers; ``writes`` is, for each, how many writes can touch one of its reads. Raises
    ``ValueError``, ``OverflowError``."""
    return divided(protocol, writes, "best")


def printed(protocol: Protocol, writes: Iterable[SupportsIndex]) -> Partition:
    """What the printed algorithm finds, by its own count: **unsound**. Raises as `best`."""
    return divided(protocol, writes, "printed")


def printed_prose(writes: Iterable[SupportsIndex]) -> Partition:
    """What the text of section 3.4 finds for Double Buffer, where slow readers keep one more row. Raises as `best`."""
    return divided("double-buffer", writes, "prose")


def divided(protocol: Protocol, writes: Iterable[SupportsIndex], form: str) -> Partition:
    """A division by a form of the algorithm."""
    rows = [count(each, "writes") for each in writes]
    fast, slow, buffers, by_fast = _taut.buffers_partition(protocol, rows, form)
    return Partition(tuple(fast), tuple(slow), buffers, tuple(by_fast))
