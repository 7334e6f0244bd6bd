# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Hyperbolic bound for rate-monotonic order: a quick answer, less pessimistic than `liu_layland`. Sufficient.

Source: Bini et al. 2003.
"""

from __future__ import annotations

from collections.abc import Iterable

from ... import _taut
from ...time import Time, ns
from ...verdict import Verdict, same, verdict


def test(tasks: Iterable[tuple[Time, Time]]) -> Verdict[int]:
    """Whether U of tasks, as pairs of C and T with the most urgent first, is below the bound; U in parts per million,
    rounded up, either way."""
    return verdict(_taut.utilisation_test("hyperbolic", [(ns(c), ns(t)) for c, t in tasks]), same)
