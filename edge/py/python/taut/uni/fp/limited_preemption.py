# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Response time with limited preemption, fixed priority, one core: the last region of a job is not preempted.

Exact for free releases if B is attained, else sufficient. Source: Bril et al. 2009 for all jobs of the window; Burns
1994 for the equation, for the first job only.
"""

from __future__ import annotations

from collections.abc import Iterable

from ... import _taut
from ...time import Time, ns
from ...verdict import Verdict, verdict
from .preemptive import Response, Subject, Task

__all__ = ["Response", "Subject", "Task", "burns94_first_job", "response"]


def response(subject: Subject, last: Time, higher: Iterable[Task] = ()) -> Verdict[Response]:
    """Bounds the response time of a task whose last region, of length ``last`` with 0 < ``last`` ≤ C, nothing preempts.

    Raises ``OverflowError`` if a window does not fit in 64 bits of ns.
    """
    rows = [task._row() for task in higher]
    return verdict(_taut.fp_response("limited", subject._row(), rows, ns(last)), Response._of)


def burns94_first_job(subject: Subject, last: Time, higher: Iterable[Task] = ()) -> int | None:
    """**Unsound**: R in ns of the first job of the busy window only, as published; for comparison. ``None`` if there is
    no such bound up to the deadline. Raises ``OverflowError``."""
    return _taut.fp_burns94(subject._row(), [task._row() for task in higher], ns(last))
