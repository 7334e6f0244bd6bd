# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Buffers by how long a value is used: 1 + ⌈(max l + R_w) / T_w⌉. Exact.

Source: Kopetz & Reisinger 1993; Han et al. 2014; the form with the writer's response is ours.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import _taut
from ..time import Time, each_ns
from ..verdict import Verdict, same, verdict
from .writes_during_read import Writer

__all__ = ["Writer", "buffers", "without_writer_response"]


def buffers(used_for: Iterable[Time], writer: Writer) -> Verdict[int]:
    """Buffers for readers that use a value for ``used_for`` each; 1 if there are none. Raises ``OverflowError``."""
    return verdict(_taut.buffers_lifetime(each_ns(used_for), writer._row(), False), same)


def without_writer_response(used_for: Iterable[Time], writer: Writer) -> Verdict[int]:
    """The form that ignores how late within its response time the writer writes: **unsound**, for comparison."""
    return verdict(_taut.buffers_lifetime(each_ns(used_for), writer._row(), True), same)
