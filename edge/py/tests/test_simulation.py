# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Runs, and their events as tables."""

import numpy as np
import pytest
import taut
from taut import Hold, Section, Task, TaskSet


def pair() -> TaskSet:
    bus = [Section("bus", "100us", 2)]
    return TaskSet(
        [
            Task("a", period="5ms", cost="1ms", priority=2, core=0, sections=bus),
            Task("b", period="9ms", cost="3ms", priority=1, core=1, sections=bus, jitter="1us"),
        ]
    )


def test_a_run_is_within_its_bounds_and_the_same_again() -> None:
    tasks = pair()
    bounds = taut.multi.msrp_holistic.response_times(tasks).proven().response_times()
    for seed in range(20):
        how = {"start": "random", "jitter": "random", "execution": "random", "percent": 50, "placement": "random"}
        run = taut.simulate(tasks, "200ms", seed=seed, gaps=50, **how)  # type: ignore[arg-type]
        assert run.end == "complete" and not run.missed
        assert (run.responses() <= bounds).all()
        again = taut.simulate(tasks, "200ms", seed=seed, gaps=50, **how)  # type: ignore[arg-type]
        assert again.tasks == run.tasks and again.events is not None and run.events is not None
        assert all((again.events[name] == run.events[name]).all() for name in ("at_ns", "kind", "task"))


def test_events_are_columns() -> None:
    tasks = TaskSet([Task("a", period=10, parts=[1, Hold("r", 2), 1], priority=1)], cores=1)
    run = taut.simulate(tasks, 10)
    assert run.events is not None and len(run.events) == 5
    assert run.events["kind"].tolist() == ["release", "start", "locked", "unlock", "complete"]
    assert run.events["at_ns"].tolist() == [0, 0, 1, 3, 4] and run.events["at_ns"].dtype == np.uint64
    assert run.events["resource"].tolist() == [None, None, "r", "r", None]
    assert run.events["response_ns"].compressed().tolist() == [4]
    assert set(run.events.numpy()) == set(run.events.columns)
    with pytest.raises(KeyError):
        run.events["colour"]
    assert taut.simulate(tasks, 10, events=False).events is None
    assert len(taut.simulate(tasks, 0).events or ()) == 0


def test_tables_of_others() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    events = taut.simulate(pair(), "50ms").events
    assert events is not None
    table = pyarrow.table(events)
    assert table.column("at_ns").to_pylist() == events["at_ns"].tolist()
    assert table.column("kind").to_pylist() == events["kind"].tolist()
    assert pyarrow.record_batch(events).num_rows == len(events) == table.num_rows
    assert pyarrow.schema(events).names == list(events.columns)
    kept = pyarrow.table(events)
    del events
    assert kept.column("at_ns").to_pylist() == table.column("at_ns").to_pylist(), "who reads keeps it alive"


def test_polars_and_pandas() -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    events = taut.simulate(pair(), "50ms").events
    assert events is not None
    assert polars.DataFrame(events)["at_ns"].to_list() == events["at_ns"].tolist()
    if hasattr(pandas.DataFrame, "from_arrow"):
        assert pandas.DataFrame.from_arrow(events)["at_ns"].tolist() == events["at_ns"].tolist()


def test_other_rules() -> None:
    tasks = pair()
    kinds = {rule: set(taut.simulate(tasks, "100ms", resources=rule).events["kind"]) for rule in ("msrp", "mpcp")}  # type: ignore[index,arg-type]
    assert "spin" in kinds["msrp"] and "suspend" not in kinds["msrp"]
    assert "suspend" in kinds["mpcp"] and "spin" not in kinds["mpcp"]
    late = TaskSet([Task("a", period=10, cost=6, priority=2), Task("b", period=20, cost=11, priority=1)])
    run = taut.simulate(late, 200)
    assert run.missed and run.task("b").missed > 0 and "miss" in set(run.events["kind"])  # type: ignore[index]
    assert taut.simulate(late, 200, steps_max=5).end == "steps"
    edf = TaskSet([Task("a", period=10, cost=5), Task("b", period=14, cost=7)], scheduler="edf")
    assert not taut.simulate(edf, 700, cores="dfp").missed


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"cores": ["immediate"]}, ValueError),
        ({"cores": "round-robin"}, ValueError),
        ({"cores": "dfp", "resources": "mpcp"}, ValueError),
        ({"resources": {"disk": "msrp"}}, ValueError),
        ({"resources": "hope"}, ValueError),
        ({"start": "soon"}, ValueError),
        ({"start": [1.5]}, TypeError),
        ({"jitter": "some"}, ValueError),
        ({"execution": "some"}, ValueError),
        ({"placement": "some"}, ValueError),
        ({"percent": 101}, ValueError),
        ({"gaps": -1}, ValueError),
        ({"seed": -1}, ValueError),
        ({"seed": 2**64}, ValueError),
        ({"steps_max": 0}, ValueError),
    ],
)
def test_what_is_no_run(how: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        taut.simulate(pair(), "10ms", **how)  # type: ignore[arg-type]


def test_times_that_do_not_fit() -> None:
    with pytest.raises(OverflowError):
        taut.simulate(pair(), 2**64 - 1, steps_max=10)
