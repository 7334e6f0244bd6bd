# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Share of a core."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ... import _taut
from ...time import Time, ns
from . import hyperbolic, liu_layland

__all__ = ["Tasks", "Utilisation", "hyperbolic", "liu_layland", "of"]

Tasks: TypeAlias = Iterable[tuple[Time, Time]]
"""Tasks as pairs of C and T."""


@dataclass(frozen=True)
class Utilisation:
    """U = Σ C / T: in parts per million, rounded up, and whether U ≤ 1, exactly."""

    ppm: int
    fits: bool


def of(tasks: Tasks) -> Utilisation:
    """U of tasks. Raises ``ValueError`` if a T is zero."""
    return Utilisation(*_taut.utilisation([(ns(cost), ns(period)) for cost, period in tasks]))
