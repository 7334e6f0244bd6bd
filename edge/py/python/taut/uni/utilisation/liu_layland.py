# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Utilisation bound for rate-monotonic order: a quick answer. Sufficient.

Source: Liu & Layland 1973, theorem 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

from ... import _taut
from ...time import Time, count, ns
from ...verdict import Verdict, same, verdict


def test(tasks: Iterable[tuple[Time, Time]]) -> Verdict[int]:
    """Whether U of tasks, as pairs of C and T with the most urgent first, is below the bound; U in parts per million,
    rounded up, either way."""
    return verdict(_taut.utilisation_test("liu-layland", [(ns(c), ns(t)) for c, t in tasks]), same)


def bound(tasks: SupportsIndex) -> int:
    """n · (2^(1/n) − 1) in billionths, rounded down; 10⁹ for no tasks."""
    return _taut.liu_layland_bound(count(tasks, "the number of tasks", 0, 2**32 - 1))
