# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Priorities that pass a test, if any do, fixed priority, one core.

Exact for the test, if whether a task passes depends on which tasks are above and below it and not on their order.
Source: Audsley 1991; Davis & Burns 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import SupportsIndex

from ... import _taut
from ...time import count

TASKS_MAX = 65_536
"""The most tasks."""


def assign(tasks: SupportsIndex, passes: Callable[[int, list[int], list[int]], bool]) -> list[int] | None:
    """An order of so many tasks in which each task passes, the most urgent first; ``None`` if there is no such order.

    ``passes(task, above, below)`` returns whether a task passes below ``above`` and above ``below``, both in no order;
    an exception in it ends the search.
    """
    return _taut.fp_audsley(count(tasks, "the number of tasks", 0, TASKS_MAX), passes)
