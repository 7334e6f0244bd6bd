# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Response time without preemption, fixed priority, one core; a CAN bus is one.

Exact for free releases if B is attained, else sufficient. Source: Davis et al. 2007, which corrects the analysis used
for CAN since 1994.
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
    return verdict(_taut.fp_response("non-preemptive", subject._row(), rows, 0), Response._of)
