# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""The types of the extension's arguments and results: plain numbers, texts, lists and tuples. Private."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

_T = TypeVar("_T")

Answer: TypeAlias = tuple[str, _T | None, str | None, str | None]
"""A verdict: its kind, what the analysis found, and if it showed nothing, the reason as a word and as a sentence."""

Part: TypeAlias = "int | tuple[int, list[Part]]"
"""A part of a job: its length, or a resource with the parts inside."""
TaskRow: TypeAlias = tuple[
    str, int, int, tuple[str, int], int, int, int, tuple[int, list[tuple[int, int, int]]] | None, list[Part] | None
]
"""Name, core, priority, when it arrives (a word, and an offset), T, D, J; then C with its sections, each as resource,
count and length, or its parts."""
FpRow: TypeAlias = tuple[int, int, int, int, int]
"""C, T, J, when it is released (0 at any time, 1 at an offset, 2 driven), that offset."""
FpSubject: TypeAlias = tuple[FpRow, int, int, bool, bool]
"""The task, D, B, whether B is attained, whether it is preemptible."""
FpResponse: TypeAlias = tuple[int, int, int, list[int], int]
"""R from release and from arrival, the job that attains it, jobs that interfere, steps."""
Blocked: TypeAlias = tuple[tuple[int, int] | None, int]
"""The task and the resource of a section, and its length."""
LocalLocksRow: TypeAlias = tuple[int, Blocked, list[int], Answer[FpResponse]]
"""The task, the section that blocks it, the interfering tasks, its response."""
TransactionRow: TypeAlias = tuple[int, bool, list[tuple[int, int, int, int, int, int, int]]]
"""T, whether it is exact, and per activity C, least C, priority, O, J, B, D."""
DemandRow: TypeAlias = tuple[int, int, tuple[int, int, int, tuple[int, int] | None] | None]
"""Horizon, steps, and the window that is too short: length, demand, blocking, and the task and resource that block."""
ResponseRow: TypeAlias = tuple[int, int, int, tuple[int, int] | None, int, int]
"""From release, from arrival, blocking, the task and resource that block, before, candidates."""
TermsRow: TypeAlias = tuple[int, int, int, int, int, int]
"""Own, spin, local blocking, remote blocking, interference, jitter."""
WitnessRow: TypeAlias = tuple[int | None, int | None, int]
"""Task, resource, time."""
BoundRow: TypeAlias = tuple[int, int, str, TermsRow, tuple[WitnessRow, WitnessRow, WitnessRow, WitnessRow]]
"""From release, from arrival, status, terms, witnesses."""
BoundsRow: TypeAlias = tuple[list[BoundRow], int]
"""A row per task, and rounds."""
ClaimRow: TypeAlias = tuple[int, bool, TermsRow]
"""The claimed bound, whether the equations claim that the deadline is kept, terms."""
HopRow: TypeAlias = tuple[str, tuple[int, int, bool], tuple[bool, int, int, int]]
"""How a state is read, or ``"queue"``; values sent, values taken, whether the queue releases its reader; the reader:
periodic, T, R, J."""
OfferRow: TypeAlias = tuple[str, str, list[tuple[int, int]], int, int, tuple[int, int, list[int], bool] | None]
"""Name, guard, time added to jobs of tasks, time added to each section, bytes, and buffers: bytes of one, writer,
readers, whether they are counted by time alone."""
JudgedRow: TypeAlias = tuple[list[int], int, int, int]
"""Response times, bytes, Σ R / D and the largest R / D, both in millionths."""
AlternativeRow: TypeAlias = tuple[int, int | None, str, JudgedRow | None, tuple[int, int] | None]
"""An offer, the object's bytes with it, the result as a word, the judgement, and where a deadline is missed, the task
and the bound."""
ObjectRow: TypeAlias = tuple[str, int, list[OfferRow]]
"""Name, resource, offers."""
