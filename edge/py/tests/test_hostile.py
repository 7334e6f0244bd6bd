# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Whatever is given, what comes back is an answer or an exception of ours or Python's: never a panic."""

import inspect
import random
from types import ModuleType

import pytest
import taut
from taut import _taut

LARGE = 2**64 - 1
NUMBERS = [0, 1, 2, 7, 1_000, 10**9, 2**32, 2**63, LARGE]
EXPECTED = (taut.TautError, ValueError, TypeError, OverflowError, IndexError, KeyError)


def drawn_set(draw: random.Random) -> taut.TaskSet | None:
    """Tasks with numbers of any size, if they are a set."""

    def number() -> int:
        return draw.choice(NUMBERS) if draw.random() < 0.5 else draw.randint(1, 10_000)

    def task(at: int) -> taut.Task:
        sections = [taut.Section(draw.choice("rs"), number() % 50 + 1, draw.choice([1, 2, 2**31])) for _ in range(2)]
        return taut.Task(
            f"t{at}",
            period=number(),
            deadline=number(),
            cost=number(),
            jitter=draw.choice([0, 0, number()]),
            priority=draw.choice([0, 1, 1, 2**32 - 1]),
            core=draw.randrange(3),
            sections=sections[: draw.randrange(3)],
            arrivals=draw.choice(["periodic", "sporadic"]),
            offset=draw.choice([None, None, number()]),
        )

    try:
        scheduler = draw.choice(["fixed-priority", "edf"])
        return taut.TaskSet([task(at) for at in range(draw.randrange(5))], ["r", "s"], scheduler=scheduler, cores=3)
    except taut.SetError:
        return None


def questions() -> list[tuple[str, object]]:
    """Every function of the package that a task set alone answers."""
    found: list[tuple[str, object]] = []
    open_: list[ModuleType] = [taut.uni, taut.multi]
    while open_:
        module = open_.pop()
        for name, each in vars(module).items():
            if isinstance(each, ModuleType) and each.__name__.startswith(module.__name__ + "."):
                open_.append(each)
            elif inspect.isfunction(each) and each.__module__ == module.__name__:
                first, *rest = [*inspect.signature(each).parameters.values(), None]
                alone = all(p is None or p.default is not inspect.Parameter.empty for p in rest)
                if first is not None and first.annotation == "TaskSet" and alone:
                    found.append((f"{module.__name__}.{name}", each))
    return found


def test_every_question_about_any_set() -> None:
    asked = questions()
    assert len(asked) > 15
    draw, sets = random.Random(1), 0
    while sets < 150:
        tasks = drawn_set(draw)
        if tasks is None:
            continue
        sets += 1
        for name, question in asked:
            try:
                answer = question(tasks)  # type: ignore[operator]
            except (OverflowError, IndexError):
                continue
            assert not isinstance(answer, taut.Verdict) or answer.kind, name
        try:
            taut.simulate(tasks, draw.choice([0, 1, 1_000]), seed=sets, steps_max=200)
        except EXPECTED:
            pass


ROW = (5, 100, 0, 0, 0)


@pytest.mark.parametrize("name", sorted(n for n in _taut.__all__ if n[0].islower() and n[0] != "_"))
def test_the_extension_given_nonsense(name: str) -> None:
    """Private as it is, the extension refuses what its functions cannot use."""
    function = getattr(_taut, name)
    draw = random.Random(name)
    tasks = taut.TaskSet([taut.Task("a", period=9, cost=1, priority=1)])._set
    values: list[object] = [
        *(0, 1, LARGE, LARGE + 1, -1, 1.5, None, True, "", "chen", "printed", "\0", b"x", [], (), {}, tasks, object()),
        *([1], [(1, 1)], [LARGE] * 3, (0, 0), (LARGE, LARGE), (1, 1, 1), (0, 0, 0), (LARGE,) * 4, ROW, [ROW]),
        *((ROW, 100, 0, True, True), ((0, 0, 0, 9, 0), 0, 0, False, False), ("exact", 0), [(5, True, [(1,) * 7])]),
        *([(1, 1, 1)], [(0, 0, 0, 0)], [(LARGE,) * 4], [(LARGE,) * 5], [(0,) * 5], lambda *_: 1 // 0),
        *(
            ["spinning"],
            ["hope"],
            [True],
            (True, 1, 1, 1),
            [("queue", (0, 0, True), (False, 0, 0, 0))],
            (1, 1, 1, True),
        ),
    ]
    for count in range(1, 9):
        for _ in range(40):
            try:
                function(*draw.choices(values, k=count))
            except (*EXPECTED, ZeroDivisionError):
                continue


def test_depth_is_limited() -> None:
    part: taut.Hold = taut.Hold("r", 1)
    for at in range(2_000):
        part = taut.Hold(f"r{at}", part)
    with pytest.raises(taut.SetError, match="inside each other"):
        taut.TaskSet([taut.Task("a", period=10**6, parts=[part], priority=1)])


def test_texts_of_any_kind() -> None:
    draw = random.Random(2)
    pieces = [
        "[",
        "]",
        "=",
        '"',
        "'",
        "\n",
        "manifest",
        "tasks",
        "1",
        "ms",
        "{",
        "}",
        "\u00e9",
        "\ud800",
        "\0",
        "#",
        ".",
    ]
    for _ in range(300):
        text = "".join(draw.choices(pieces, k=draw.randrange(40)))
        for read in (taut.Manifest.parse, taut.Generator.parse, taut.exchange.parse, taut.ns, taut.explain):
            try:
                read(text)  # type: ignore[operator]
            except EXPECTED:
                continue
