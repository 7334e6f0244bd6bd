# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Figures are drawn; what is in them is looked at by their data."""

import pytest
import taut

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_acceptance(small: str) -> None:
    from taut import plot

    table = taut.sweep(taut.Generator.parse(small))
    axes = plot.acceptance(table, scheme="small")
    assert {line.get_label() for line in axes.get_lines()} >= {"msrp", "mpcp"}
    assert axes.get_lines()[0].get_xdata().tolist() == [40, 50, 60]
    named = plot.acceptance(table, {"msrp": "MSRP"})
    assert [line.get_label() for line in named.get_lines()] == ["MSRP"]
    with pytest.raises(KeyError):
        plot.acceptance(table, ["hope"])


def test_schedule() -> None:
    from taut import plot

    tasks = taut.TaskSet([taut.Task("a", period=10, cost=3, priority=2), taut.Task("b", period=20, cost=9, priority=1)])
    run = taut.simulate(tasks, 20)
    axes = plot.schedule(run)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    # a runs twice, b is cut in two by the second.
    assert len(axes.collections) == 4
    with pytest.raises(ValueError, match="without events"):
        plot.schedule(taut.simulate(tasks, 20, events=False))


def test_gaps() -> None:
    from taut import plot

    axes = plot.gaps({"ours": [0, 0, 0.01], "theirs": [0.2, 0, 0.1]})
    assert axes.get_lines()[1].get_ydata().tolist() == [0, 10, 20]
