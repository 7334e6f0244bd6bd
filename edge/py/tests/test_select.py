# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Selections: of least memory, told as they are found, and stopped."""

import random
from typing import Any

import pytest
import taut
from taut.select import Buffers, Object, Offer, Problem, Progress


def problem(seed: int, objects: int, tasks: int = 8, period: int = 400, **more: Any) -> Problem:
    """Tasks on two cores, and objects with two locks and two forms without."""
    draw = random.Random(seed)
    shared = []
    for at in range(objects):
        writer, *readers = draw.sample(range(tasks), draw.randint(2, 4))
        shared.append((f"r{at}", draw.randint(1, 200), writer, readers, draw.randint(1, 25)))
    made = []
    for at in range(tasks):
        sections = [taut.Section(name, w) for name, _, writer, readers, w in shared if at in (writer, *readers)]
        cost = draw.randint(20, 60) + sum(section.longest for section in sections)
        between = draw.randint(period, 3 * period)
        made.append(taut.Task(f"t{at}", period=between, cost=cost, core=at % 2, sections=sections))
    tasks_ = taut.TaskSet(taut.rate_monotonic(made), [name for name, *_ in shared])

    def offers(size: int, writer: int, readers: list[int]) -> tuple[Offer, ...]:
        users = [f"t{at}" for at in (writer, *readers)]
        timed = Buffers(size, users[0], tuple(users[1:]))
        return (
            Offer("spin", "spinning", size + 4, added=dict.fromkeys(users, 1)),
            Offer("suspend", "suspending", size + 4, added=dict.fromkeys(users, 2)),
            Offer("copies", "absent", (len(readers) + 2) * size + len(readers), added=dict.fromkeys(users, 3)),
            Offer("timed", "absent", 1, timed, added=dict.fromkeys(users, 4)),
        )

    return Problem(tasks_, [Object(name, offers(size, w, r)) for name, size, w, r, _ in shared], **more)


@pytest.mark.parametrize("printed", [False, True])
def test_the_best_is_the_least_of_all(printed: bool) -> None:
    found = 0
    for seed in range(12):
        made = problem(seed, 4, printed=printed)
        best, least = made.best(), made.exhaustive()
        assert best.proven and least.proven
        assert (best.best and best.best.bytes) == (least.best and least.best.bytes)
        if best.best is None:
            continue
        found += 1
        # From the selection alone it comes to the same, by names and by positions.
        assert made.judge(best.best.offers) == made.judge(best.best.positions) == best.best
        assert best.gap == 0 and best.at_least == best.best.bytes
        for other in (made.paper(), made.paper(3), made.backtracking(3)):
            assert other.best is None or other.best.bytes >= best.best.bytes
            assert other.at_least is None and not other.proven
    assert found > 3


def test_other_aims() -> None:
    for seed in range(6):
        found = {}
        for aim in ("memory", "response", "slack"):
            made = problem(seed, 4, aim=aim)
            found[aim] = made.best().best
            least = made.exhaustive().best
            assert (found[aim] is None) == (least is None)
        if (memory := found["memory"]) and (response := found["response"]) and (slack := found["slack"]):
            assert response.response_ppm == min(each.response_ppm for each in (memory, response, slack))
            assert slack.tightest_ppm == min(each.tightest_ppm for each in (memory, response, slack))
            assert memory.bytes == min(each.bytes for each in (memory, response, slack))
    with pytest.raises(ValueError, match="memory, response, slack"):
        problem(0, 2, aim="beauty")


def test_why_says_what_forbids_it() -> None:
    asked = set()
    for seed in range(12):
        made = problem(seed, 4)
        best = made.best().best
        if best is None:
            continue
        for resource, offer in best.offers.items():
            all_ = made.why(best, resource)
            assert [each.offer for each in all_ if each.outcome == "selected"] == [offer]
            for each in all_:
                asked.add(each.outcome)
                other = made.judge({**best.offers, resource: each.offer})
                assert other == each.selection and (other is None or other.bytes >= best.bytes)
                assert (each.outcome == "deadline") == (each.task is not None)
    assert asked == {"selected", "kept", "deadline"}
    with pytest.raises(KeyError):
        made.why(best, "no such")  # type: ignore[arg-type]


def test_response_times_of_a_selection_are_within_deadlines() -> None:
    made = problem(3, 4)
    best = made.best().best
    assert best is not None
    deadlines = {task.name: task.deadline for task in made._tasks}
    shares = [response / deadlines[name] for name, response in best.responses.items()]
    assert max(shares) <= best.tightest_ppm / 1e6 <= 1 and sum(shares) <= best.response_ppm / 1e6
    assert best.response_times().tolist() == list(best.responses.values())


def test_progress_is_told_and_may_end_it() -> None:
    made, told = problem(5, 30, tasks=20, period=2_000), []

    def tell(progress: Progress) -> bool:
        told.append(progress)
        return False

    found = made.best(progress=tell)
    assert len(told) == 1 and told[0].judged <= found.judged and found.best is not None
    assert found.at_least is not None and told[0].at_least <= found.at_least <= found.best.bytes
    # Nothing is known of a gap above nothing.
    assert found.gap == (found.best.bytes / found.at_least - 1 if found.at_least else None)
    early = made.best(budget="1ns")
    assert early.best is not None and early.best.bytes >= found.at_least
    assert made.best(judgements=10) == made.best(judgements=10)


def test_what_the_callback_raises_comes_through() -> None:
    def fail(progress: Progress) -> bool:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        problem(5, 30, tasks=20, period=2_000).best(progress=fail)


def test_what_is_no_problem() -> None:
    tasks = taut.TaskSet([taut.Task("a", period=9, cost=3, priority=1, sections=[taut.Section("r", 1)])])
    spin = Offer("spin", "spinning", 4)
    with pytest.raises(ValueError, match="no offer"):
        Problem(tasks, [Object("r", ())])
    with pytest.raises(ValueError, match="object `r`"):
        Problem(tasks, [Object("r", (spin,)), Object("r", (spin,))])
    with pytest.raises(ValueError, match="more than 64"):
        Problem(tasks, [Object("r", (spin,) * 65)])
    with pytest.raises(KeyError):
        Problem(tasks, [Object("q", (spin,))])
    with pytest.raises(KeyError):
        Problem(tasks, [Object("r", (Offer("x", "absent", 1, Buffers(1, "b", ())),))])
    with pytest.raises(ValueError, match="absent"):
        Problem(tasks, [Object("r", (Offer("x", "none", 1),))])  # type: ignore[arg-type]
    made = Problem(tasks, [Object("r", (spin,))])
    for wrong in ([1], [], [0, 0]):
        with pytest.raises(IndexError):
            made.judge(wrong)
    with pytest.raises(KeyError):
        made.judge({"r": "suspend"})
    for depth in (-1, 17):
        with pytest.raises(ValueError, match="depth"):
            made.paper(depth)
    huge = problem(1, 16)
    with pytest.raises(ValueError, match="combinations"):
        huge.exhaustive()
    late = taut.TaskSet([taut.Task("a", period=9, deadline=10, cost=3, priority=1)])
    with pytest.raises(ValueError, match="longer than the period"):
        Problem(late, [])
