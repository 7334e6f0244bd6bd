# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Figures. Needs matplotlib: ``pip install 'taut[plot]'``.

Every function draws into ``axes``, or into new axes, and returns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .simulation import Run
from .table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def acceptance(
    table: Table,
    methods: Sequence[str] | Mapping[str, str] | None = None,
    scheme: str | None = None,
    *,
    axes: Any = None,
) -> Axes:
    """The share of systems that keep every deadline over their utilisation, a curve per method, from a table of
    `taut.sweep`. ``methods`` is a list of the names of methods, or a mapping from their names to labels; the default is
    all methods of the table.

    Raises ``KeyError`` for a method that the table does not have.
    """
    axes = made(axes)
    if methods is None:
        methods = [name.removesuffix(SCHEDULABLE) for name in table.columns if name.endswith(SCHEDULABLE)]
    titles = dict(methods) if isinstance(methods, Mapping) else {name: name for name in methods}
    there = np.ones(len(table), dtype=bool) if scheme is None else table["scheme"] == scheme
    share = table["utilisation_permille"][there]
    points = np.unique(share)
    for name, title in titles.items():
        kept = table[name + SCHEDULABLE][there]
        axes.plot(points / 10, [100 * np.ma.mean(kept[share == at]) for at in points], marker=".", label=title)
    axes.set(
        xlabel="utilisation of a core [%]", ylabel="every deadline is kept [%]", ylim=(-2, 102), title=scheme or ""
    )
    axes.legend()
    return found(axes)


SCHEDULABLE = "_schedulable"
"""The end of the names of columns that say whether every deadline is kept."""


def gaps(values: Mapping[str, Sequence[float]], *, axes: Any = None) -> Axes:
    """How far results are above the least, as a share of the least, sorted: a curve per name, over the share of
    systems."""
    axes = made(axes)
    for name, each in values.items():
        ordered = np.sort(np.asarray(each, dtype=float))
        axes.step(
            np.linspace(0, 100, len(ordered)) if len(ordered) > 1 else [100], 100 * ordered, where="post", label=name
        )
    axes.set(xlabel="systems [%]", ylabel="above the least [%]")
    axes.legend()
    return found(axes)


def schedule(run: Run, until_ns: int | None = None, *, axes: Any = None) -> Axes:
    """A run as a Gantt chart, a line per task: execution, spinning (hatched), held resources (a bar below), arrivals
    (up) and completions (red after the deadline). Raises ``ValueError`` for a run without events."""
    if run.events is None:
        raise ValueError("a run without events: simulate(..., events=True)")
    axes = made(axes)
    names = [task.name for task in run.tasks]
    end = (run.last if until_ns is None else until_ns) / 1e6
    since: dict[str, tuple[float, bool]] = {}
    held: dict[tuple[str, str], float] = {}
    columns = {name: run.events[name].tolist() for name in ("at_ns", "task", "kind", "resource", "arrival_ns")}
    for at_ns, task, kind, resource, arrival_ns in zip(*columns.values(), strict=True):
        at, line = at_ns / 1e6, names.index(task)
        if min(at, end) < at:
            break
        if task in since and kind in ("preempt", "suspend", "complete", "spin", "locked"):
            begin, spins = since.pop(task)
            look = {"facecolor": "none", "hatch": "////"} if spins else {"facecolor": f"C{line % 10}"}
            axes.broken_barh([(begin, at - begin)], (line - 0.3, 0.6), edgecolor=f"C{line % 10}", **look)
        if kind in ("start", "resume", "spin", "locked"):
            since[task] = at, kind == "spin"
        if kind == "locked":
            held[task, resource] = at
        if kind == "unlock" and (task, resource) in held:
            begin = held.pop((task, resource))
            axes.broken_barh([(begin, at - begin)], (line - 0.42, 0.1), facecolor="black")
        if kind == "release":
            axes.plot(arrival_ns / 1e6, line + 0.36, marker="^", color="black", markersize=4)
        if kind in ("complete", "miss"):
            colour = "red" if kind == "miss" else "black"
            axes.plot(
                at, line + 0.36, marker="v", color=colour, markersize=4, fillstyle="full" if kind == "miss" else "none"
            )
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="time [ms]", xlim=(0, end or 1))
    axes.invert_yaxis()
    return found(axes)


def made(axes: Any) -> Any:
    """The axes, or new ones."""
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def found(axes: Any) -> Axes:
    """The axes, with their type."""
    answer: Axes = axes
    return answer
