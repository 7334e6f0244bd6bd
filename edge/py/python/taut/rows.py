# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""The types of what the extension takes and gives: plain numbers, texts, lists and tuples. Private."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

_T = TypeVar("_T")

Answer: TypeAlias = tuple[str, _T | None, str | None, str | None]
"""A verdict: what it says, what was found, and why not, in a word and in a sentence."""

Part: TypeAlias = "int | tuple[int, list[Part]]"
"""A part of a job: its length, or a resource with what is inside."""
TaskRow: TypeAlias = tuple[
    str, int, int, tuple[str, int], int, int, int, tuple[int, list[tuple[int, int, int]]] | None, list[Part] | None
]
"""Name, core, priority, when it arrives (a word, and an offset), T, D, J; then C with its sections, each a resource, how
many and how long, or its parts."""
FpRow: TypeAlias = tuple[int, int, int, int, int]
"""C, T, J, when it is released (0 at any time, 1 at an offset, 2 driven), that offset."""
FpSubject: TypeAlias = tuple[FpRow, int, int, bool, bool]
"""The task, D, B, whether B is attained, whether it is preemptible."""
FpResponse: TypeAlias = tuple[int, int, int, list[int], int]
"""R from release and from arrival, the job that attains it, jobs that interfere, steps."""
Blocked: TypeAlias = tuple[tuple[int, int] | None, int]
"""The task and the resource of a section, and how long."""
LocalLocksRow: TypeAlias = tuple[int, Blocked, list[int], Answer[FpResponse]]
"""The task, what blocks it, who interferes, its response."""
TransactionRow: TypeAlias = tuple[int, bool, list[tuple[int, int, int, int, int, int, int]]]
"""T, whether it is exact, and per activity C, least C, priority, O, J, B, D."""
DemandRow: TypeAlias = tuple[int, int, tuple[int, int, int, tuple[int, int] | None] | None]
"""Horizon, steps, and the window that is too short: length, demand, blocking, whose."""
ResponseRow: TypeAlias = tuple[int, int, int, tuple[int, int] | None, int, int]
"""From release, from arrival, blocking, whose, before, candidates."""
TermsRow: TypeAlias = tuple[int, int, int, int, int, int]
"""Own, spin, local blocking, remote blocking, interference, jitter."""
WitnessRow: TypeAlias = tuple[int | None, int | None, int]
"""Task, resource, time."""
BoundRow: TypeAlias = tuple[int, int, str, TermsRow, tuple[WitnessRow, WitnessRow, WitnessRow, WitnessRow]]
"""From release, from arrival, status, terms, witnesses."""
BoundsRow: TypeAlias = tuple[list[BoundRow], int]
"""A row per task, and rounds."""
ClaimRow: TypeAlias = tuple[int, bool, TermsRow]
"""A claim, whether the deadline is claimed to be kept, terms."""
HopRow: TypeAlias = tuple[str, tuple[int, int, bool], tuple[bool, int, int, int]]
"""How a state is read, or ``"queue"``; values sent, taken, whether it releases; the reader: periodic, T, R, J."""
OfferRow: TypeAlias = tuple[str, str, list[tuple[int, int]], int, int, tuple[int, int, list[int], bool] | None]
"""Name, guard, what comes to tasks, what comes to each section, bytes, and buffers: bytes of one, writer, readers, whether
by time alone."""
JudgedRow: TypeAlias = tuple[list[int], int, int, int]
"""Response times, bytes, Σ R / D and the largest R / D, both in millionths."""
AlternativeRow: TypeAlias = tuple[int, int | None, str, JudgedRow | None, tuple[int, int] | None]
"""An offer, bytes of the object with it, what comes of it, what it comes to, and whose deadline is missed with which
bound."""
ObjectRow: TypeAlias = tuple[str, int, list[OfferRow]]
"""Name, resource, offers."""
