# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Task sets: made, refused, and given back."""

import pytest
import taut
from taut import Hold, Section, Task, TaskSet


def test_bodies_of_both_kinds() -> None:
    parts = Task("p", period="9ms", parts=["1ms", Hold("a", "100us", Hold("b", "50us")), "1ms"], priority=2)
    anywhere = Task("q", period="9ms", cost="1ms", sections=[Section("a", "20us", 3)], priority=1)
    tasks = TaskSet([parts, anywhere])
    assert parts.cost == 2_150_000 and parts.deadline == 9_000_000
    assert tasks.resources == ("a", "b") and tasks.users("a") == ("p", "q") and tasks.is_local("b")
    # Through the extension and back nothing is lost.
    again = TaskSet._of(tasks._set)
    assert again.tasks == tasks.tasks and again.resources == tasks.resources and again.schedulers == tasks.schedulers


def test_but_changes_one_thing() -> None:
    task = Task("a", period="5ms", cost="1ms", priority=1, sections=[Section("r", 5)], offset="1ms")
    assert task.but(priority=3).priority == 3 and task.but(priority=3).but(priority=1) == task
    assert task.but(parts=["2ms"]).cost == 2_000_000 and task.but(name="b").name == "b"
    with pytest.raises(TypeError):
        task.but(colour="red")


def test_orders() -> None:
    tasks = [Task("a", period=9, deadline=3, cost=1), Task("b", period=5, cost=1), Task("c", period=5, cost=1)]
    assert [task.priority for task in taut.deadline_monotonic(tasks)] == [3, 2, 1]
    assert [task.priority for task in taut.rate_monotonic(tasks)] == [1, 3, 2]


def test_every_fault_is_told() -> None:
    tasks = [
        Task("long", period=10, cost=20, sections=[Section("r", 30)], priority=1),
        Task("none", period=0, cost=1, priority=1),
        Task("idle", period=10, cost=0, priority=1),
        Task("late", period=10, cost=1, offset=10, priority=1),
    ]
    with pytest.raises(taut.SetError) as caught:
        TaskSet(tasks)
    assert {at for at, _ in caught.value.faults} == {0, 1, 2, 3}
    assert "task `none`: a period of zero" in str(caught.value)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, taut.TautError)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TaskSet([Task("a", period=5, cost=1)]), "no priority"),
        (lambda: TaskSet([Task("a", period=5, cost=1, priority=1)] * 2), "another task"),
        (lambda: TaskSet([Task("a", period=5, cost=1, priority=1, core=3)], cores=2), "no such core"),
        (lambda: TaskSet([], ["r", "r"]), "two resources"),
        (lambda: TaskSet([Task("a", period=5, cost=2, priority=1, sections=[Section("r", 1)])], []), "no resource"),
        (lambda: TaskSet([Task("a", period=5, parts=[Hold("r", Hold("r", 1))], priority=1)]), "while it is held"),
        (lambda: TaskSet([], scheduler="best"), "fixed-priority"),  # type: ignore[arg-type]
        (lambda: TaskSet([], cores=1 << 40), "from 0 to"),
        (lambda: Task("a", period=5), "cost or its parts"),
        (lambda: Task("a", period=5, cost=1, parts=[1]), "cost or its parts"),
        (lambda: Task("", period=5, cost=1), "empty"),
        (lambda: Task("a", period=5, cost=1, priority=-1), "from 0 to"),
        (lambda: Task("a", period=5, cost=1, priority=2**32), "from 0 to"),
        (lambda: Task("a", period=5, cost=1, arrivals="often"), "periodic"),  # type: ignore[arg-type]
        (lambda: Section("r", 1, -1), "from 0 to"),
    ],
)
def test_what_is_no_set(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]


def test_names_that_there_are_not() -> None:
    tasks = TaskSet([Task("a", period=5, cost=1, priority=1)])
    for ask in (tasks.index, tasks.users, tasks.is_local, lambda name: taut.uni.fp.ceiling.blocking(tasks, name)):
        with pytest.raises(KeyError):
            ask("b")  # type: ignore[operator]
