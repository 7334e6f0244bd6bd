# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Response time with deadlines of any length, fixed priority, preemptive, one core.

The largest over all jobs of the busy window. Exact as `taut.uni.fp.preemptive` is. Source: Lehoczky 1990; Tindell et
al. 1994 for B and J.
"""

from __future__ import annotations

from collections.abc import Iterable

from ... import _taut
from ...verdict import Verdict, verdict
from .preemptive import Response, Subject, Task

__all__ = ["Response", "Subject", "Task", "response"]


def response(subject: Subject, higher: Iterable[Task] = ()) -> Verdict[Response]:
    """Bounds the response time of a task below ``higher``.

    Raises ``OverflowError`` if a window does not fit in 64 bits of ns.
    """
    rows = [task._row() for task in higher]
    return verdict(_taut.fp_response("arbitrary", subject._row(), rows, 0), Response._of)
