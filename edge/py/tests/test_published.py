# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Published examples by name, with the figures that the tests in Rust have: `pure/analysis/tests/published.rs` and others
say where they were seen."""

import numpy as np
import pytest
import taut
from taut import Section, Task, TaskSet
from taut.uni.edf import demand
from taut.uni.fp import arbitrary, audsley, limited_preemption, local_locks, non_preemptive, preemptive, sweep


def free(cost: int, period: int, deadline: int, jitter: int = 0, blocking: int = 0) -> preemptive.Subject:
    return preemptive.Subject(preemptive.Task(cost, period, jitter), deadline, blocking)


def responses(rows: list[tuple[int, ...]]) -> list[int | None]:
    """R of rows by urgency."""
    subjects = [free(*row) for row in rows]
    answers = [preemptive.response(each, [s.task for s in subjects[:at]]) for at, each in enumerate(subjects)]
    return [answer.bound and answer.bound.from_arrival for answer in answers]


def test_liu_layland73_two_tasks() -> None:
    assert responses([(1_000, 2_000, 2_000), (1_000, 5_000, 5_000)]) == [1_000, 2_000]
    assert responses([(1_000, 2_000, 2_000), (2_001, 5_000, 5_000)]) == [1_000, None]


def test_burns_wellings_task_sets() -> None:
    assert responses([(5, 20, 20), (10, 40, 40), (40, 80, 80)]) == [5, 15, 80]
    assert responses([(3, 7, 7), (3, 12, 12), (5, 20, 20)]) == [3, 6, 20]


def test_sha90_example() -> None:
    def rows(*b: int) -> list[tuple[int, ...]]:
        return [(40, 100, 100, 0, b[0]), (40, 150, 150, 0, b[1]), (100, 350, 350, 0, b[2])]

    assert responses(rows(20, 30, 0)) == [60, 150, 300]
    assert responses(rows(20, 31, 0))[1] is None


AUDSLEY93 = [
    # C, T, D, B, J, w
    (51, 1_000, 1_000, 0, 0, 51),
    (3_000, 2_000_000, 5_000, 300, 0, 3_504),
    (2_000, 25_000, 25_000, 600, 0, 5_906),
    (5_000, 25_000, 25_000, 900, 0, 11_512),
    (1_000, 40_000, 40_000, 1_350, 0, 13_064),
    (3_000, 50_000, 50_000, 1_350, 0, 16_217),
    (5_000, 50_000, 50_000, 750, 0, 20_821),
    (8_000, 59_000, 59_000, 750, 0, 36_637),
    (9_000, 80_000, 80_000, 1_350, 0, 47_798),
    (2_000, 80_000, 80_000, 450, 0, 48_949),
    (5_000, 100_000, 100_000, 1_050, 0, 99_150),
    (1_000, 200_000, 200_000, 450, 1_000, 99_550),
    (3_000, 200_000, 200_000, 450, 0, 140_641),
    (1_000, 200_000, 200_000, 450, 0, 141_692),
    (1_000, 200_000, 200_000, 1_350, 0, 143_694),
    (3_000, 1_000_000, 1_000_000, 0, 0, 145_446),
    (1_000, 1_000_000, 1_000_000, 0, 0, 146_497),
    (1_000, 1_000_000, 1_000_000, 0, 0, 147_548),
]


def test_audsley93_table_3() -> None:
    found = responses([(c, t, d, j, b) for c, t, d, b, j, _ in AUDSLEY93])
    assert found == [w + j for *_, j, w in AUDSLEY93]


def test_audsley93_in_one_sweep() -> None:
    # Deadlines are not in order of urgency; the second's is the shortest.
    verdict, found = sweep.responses([sweep.Task(c, t, d, j, b) for c, t, d, b, j, _ in AUDSLEY93])
    assert verdict.proven() == len(AUDSLEY93) and found.dtype == np.uint64
    assert all(w + j <= r for r, (*_, j, w) in zip(found.tolist(), AUDSLEY93, strict=True))


def test_lehoczky90_example() -> None:
    first, second = free(26, 70, 70), free(62, 100, 100)
    past = preemptive.response(second, [first.task])
    assert past.kind == "unschedulable" and past.found is not None and past.found.from_arrival == 114
    with pytest.raises(taut.NotProven):
        past.proven()
    refused = preemptive.response(free(62, 100, 118), [first.task])
    assert (refused.kind, refused.reason) == ("not applicable", "constrained-deadline")
    bound = arbitrary.response(free(62, 100, 118), [first.task]).proven()
    assert (bound.from_arrival, bound.job, bound.jobs) == (118, 5, (8,))


def test_audsley91_finds_what_monotonic_orders_miss() -> None:
    rows = [(52, 100, 110), (52, 140, 154)]

    def passes(task: int, above: list[int], below: list[int]) -> bool:
        return arbitrary.response(free(*rows[task]), [free(*rows[j]).task for j in above]).holds

    assert audsley.assign(2, passes) == [1, 0]


def test_davis07_example() -> None:
    last = free(1_000, 3_500, 3_500)
    higher = [preemptive.Task(1_000, 2_500), preemptive.Task(1_000, 3_500)]
    assert non_preemptive.response(last, higher).proven().from_arrival == 3_500


def test_bril09_example() -> None:
    higher, subject = [preemptive.Task(2_000, 5_000)], free(4_200, 7_000, 7_000)
    bound = limited_preemption.response(subject, 3_000, higher).proven()
    assert (bound.from_arrival, bound.job) == (7_000, 5)
    assert limited_preemption.burns94_first_job(subject, 3_000, higher) == 6_200


def test_buttazzo11_example() -> None:
    def test(last: int) -> taut.Verdict[demand.Demand]:
        rows = [(2, 6, 4), (2, 8, 5), (3, 9, last)]
        return demand.demand([demand.Task(*row) for row in rows])

    assert test(7).proven().horizon == 16
    found = test(6).found
    assert found is not None and found.short is not None and (found.short.length, found.short.demand) == (6, 7)


def test_gutierrez13_appendix_a() -> None:
    def tasks(section: int) -> TaskSet:
        lock = [Section("r", section)], [Section("r", 1)]
        rows = [("a", 9, 20, lock[0]), ("b", 2, 8, lock[1]), ("c", 2, 7, [])]
        return TaskSet([Task(n, cost=c, period=100, deadline=d, sections=s) for n, c, d, s in rows], scheduler="edf")

    for protocol in (taut.uni.edf.srp.core, taut.uni.edf.dfp.core):
        verdict = protocol(tasks(6))
        assert (verdict.kind, verdict.reason) == ("not shown", "passes") and verdict.found is not None
        short = verdict.found.short
        assert short is not None and (short.length, short.demand, short.blocking) == (8, 4, 6)
        assert short.blocked_by == (0, 0)
        assert protocol(tasks(4)).holds


def shared(rows: list[tuple[int, int, list[Section]]]) -> TaskSet:
    made = [
        Task(f"t{at}", core=core, priority=priority, cost=10, period=1000, sections=sections)
        for at, (core, priority, sections) in enumerate(rows)
    ]
    return TaskSet(made, ["first", "second"])


def test_fmlp07_short_and_long() -> None:
    one, other = (lambda n, w: [Section("first", w, n)]), (lambda n, w: [Section("second", w, n)])
    tasks = shared([(0, 4, one(1, 2)), (0, 3, other(2, 3)), (1, 2, one(1, 4)), (1, 1, other(1, 5))])
    bounds = taut.multi.fmlp07.response_times(tasks, long=["first"]).proven()
    parts = [(t.own, t.spin, t.local_blocking, t.remote_blocking, t.interference) for t in (b.terms for b in bounds)]
    assert parts == [(10, 0, 16, 12, 0), (10, 10, 0, 0, 10), (10, 0, 16, 10, 0), (10, 3, 0, 0, 10)]
    mixed = taut.multi.mixed.response_times(tasks, {"first": "suspending"}).proven()
    assert [b.terms.spin for b in mixed] == [0, 5, 0, 3]
    assert [b.terms.remote_blocking for b in mixed] == [12, 0, 20, 0]


def test_mpcp_counterexample() -> None:
    """The published equation claims 12000 of task t2; a legal run takes 21960, and the sound bound is 22000."""
    tasks = TaskSet(
        [
            Task("t0", core=0, priority=4, period=2_000, cost=1_000),
            Task("t1", core=0, priority=3, period=20_000, cost=5_000, sections=[Section("r", 10, 5)]),
            Task("t2", core=0, priority=2, period=100_000, cost=1_000),
            Task("t3", core=1, priority=1, period=2_000, cost=1_000, sections=[Section("r", 1_000)]),
        ]
    )
    claims = taut.multi.mpcp_lnr09_paper.claims(tasks)
    assert (claims.kind, claims.reason) == ("not shown", "unsound") and not claims
    assert claims.found is not None and claims.found[2].claimed == 12_000 and claims.found[2].claimed_to_fit
    assert taut.multi.mpcp_lnr09_sound.response_times(tasks).proven()["t2"].from_arrival == 22_000


def test_huang02_figure_10() -> None:
    writes, part = [2, 2, 2, 3, 3, 14, 49], taut.wait_free.partition
    chen = part.best("chen", writes)
    assert chen.by_fast == (9, 9, 8, 7, 7, 6, 16, 50) and chen.buffers == 6
    double = part.best("double-buffer", writes)
    assert double.by_fast == (16, 16, 14, 12, 10, 8, 18, 50) and double.fast == (0, 1, 2, 3, 4)
    assert part.printed("double-buffer", writes).by_fast == (16, 15, 13, 11, 10, 8, 17, 50)
    assert part.printed_prose(writes).buffers == 10
    writer = taut.wait_free.writes_during_read.Writer(10, 7)
    reads = [4, 5, 9, 14, 20, 125, 475]
    assert [taut.wait_free.writes_during_read.printed(read, writer).proven() for read in reads] == writes


def test_local_locks_are_named() -> None:
    tasks = TaskSet(
        [
            Task("high", period=100, cost=10, priority=3, sections=[Section("r", 1)]),
            Task("mid", period=100, cost=20, priority=2),
            Task("low", period=200, cost=30, priority=1, sections=[Section("r", 5)]),
        ]
    )
    high, mid, low = local_locks.responses(tasks)
    assert (high.blocking.task, high.blocking.resource, high.blocking.time) == ("low", "r", 5)
    assert mid.higher == ("high",) and mid.blocking.time == 5
    assert [f.verdict.proven().from_arrival for f in (high, mid, low)] == [15, 35, 60]
    assert taut.uni.fp.ceiling.ceilings(tasks) == {"r": 3}


def test_terms_sum_to_the_bound_by_every_theorem() -> None:
    tasks = shared([(0, 4, [Section("first", 2)]), (0, 3, []), (1, 2, [Section("first", 4)]), (1, 1, [])])
    names = ["msrp_gai01", "msrp_holistic", "msrp_joint", "mpcp_lnr09_sound", "fmlp_plus", "fmlp07", "mixed"]
    for name in names:
        bounds = getattr(taut.multi, name).response_times(tasks).proven()
        assert [b.terms.sum() for b in bounds] == bounds.response_times().tolist()
        assert all(b.status == "proven" and b.name == t.name for b, t in zip(bounds, tasks, strict=True))
