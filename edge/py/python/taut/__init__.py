# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Proven timing: analyses, selection of mechanisms, plans, simulation and sweeps of real-time task sets.

Times are whole nanoseconds. Give a time as an ``int`` (ns), a text with a unit (``"1.5ms"``; units are ``ns``, ``us``,
``µs``, ``ms``, ``s``) or a ``datetime.timedelta``; results have times as an ``int`` in ns. Larger priority = more
urgent. Every analysis answers with a `Verdict`.
"""

from . import chain, errors, exchange, multi, queue, select, uni, wait_free
from ._taut import InternalError, __version__
from .errors import ImportFailed, ManifestError, NotProven, SetError, TautError
from .manifest import Diagnostic, Manifest, Span
from .model import Hold, Part, Section, Task, TaskSet, deadline_monotonic, rate_monotonic
from .planning import Plan, PlannedChannel, PlannedTask, PlannedTerm, check, explain, plan
from .simulation import Run, TaskRun, simulate
from .sweeps import Generator, sweep
from .table import Table
from .time import Time, ns, show
from .verdict import Verdict

__all__ = [
    "Diagnostic",
    "Generator",
    "Hold",
    "ImportFailed",
    "InternalError",
    "Manifest",
    "ManifestError",
    "NotProven",
    "Part",
    "Plan",
    "PlannedChannel",
    "PlannedTask",
    "PlannedTerm",
    "Run",
    "Section",
    "SetError",
    "Span",
    "Table",
    "Task",
    "TaskRun",
    "TaskSet",
    "TautError",
    "Time",
    "Verdict",
    "__version__",
    "chain",
    "check",
    "deadline_monotonic",
    "errors",
    "exchange",
    "explain",
    "multi",
    "ns",
    "plan",
    "queue",
    "rate_monotonic",
    "select",
    "show",
    "simulate",
    "sweep",
    "uni",
    "wait_free",
]
