# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Times: the caller gives numbers, texts or ``timedelta``; results are whole nanoseconds."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from datetime import timedelta
from typing import SupportsIndex, TypeAlias

from . import _taut

Time: TypeAlias = SupportsIndex | str | timedelta
"""A time: an ``int`` (or numpy integer) of ns, a text with a unit as ``"1.5ms"``, or a ``timedelta``."""

NS_MAX = 2**64 - 1
"""The longest time there is, in ns: about 584 years."""


def ns(value: Time) -> int:
    """A time in whole nanoseconds.

    >>> ns("1.5ms"), ns(250), ns(timedelta(seconds=1))
    (1500000, 250, 1000000000)

    Raises ``TypeError`` for anything else (a ``float`` has no unit and is not exact), ``ValueError`` for a text that is
    no time or a negative one, ``OverflowError`` past 64 bits.
    """
    if isinstance(value, str):
        return _taut.parse_time(value)
    if isinstance(value, timedelta):
        micros = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        # pandas' own kind of timedelta is finer.
        number = micros * 1_000 + int(getattr(value, "nanoseconds", 0))
    elif isinstance(value, bool) or not hasattr(value, "__index__"):
        kind = type(value).__name__
        raise TypeError(f"a time is an int in ns, a text as '1.5ms', or a timedelta; not {kind} {value!r}")
    else:
        number = operator.index(value)
    if number < 0:
        raise ValueError(f"a time is not negative: {value!r}")
    if number > NS_MAX:
        raise OverflowError(f"a time has at most 64 bits of ns: {value!r}")
    return number


def each_ns(values: Iterable[Time]) -> list[int]:
    """Times in whole nanoseconds, as `ns`."""
    return [ns(value) for value in values]


def show(value: Time) -> str:
    """A time as text with a unit.

    >>> show(1_500_000)
    '1.5ms'
    """
    return _taut.show_time(ns(value))


def count(value: SupportsIndex, name: str, least: int = 0, most: int = NS_MAX) -> int:
    """A whole number between two others. Raises ``TypeError`` and ``ValueError``."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {type(value).__name__} {value!r}")
    number = operator.index(value)
    if not least <= number <= most:
        raise ValueError(f"{name} is from {least} to {most}, not {number}")
    return number
