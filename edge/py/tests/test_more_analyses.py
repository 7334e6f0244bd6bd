# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""The analyses that stand on no task set: one figure each, worked out by hand from the equation in its file."""

import pytest
import taut
from taut import chain, queue
from taut.uni import server, utilisation
from taut.uni.fp import assignment, offsets
from taut.wait_free import buffers, flow, lifetime, reader_instances, retries, smallest


def test_servers() -> None:
    made = server.Server(budget=2, period=10, response=2)
    requests = server.Requests(cost=2, period=100, deadline=50)
    for kind in (server.polling, server.deferrable, server.sporadic):
        found = kind.response(made, requests).proven()
        assert found.request == 1 and 2 <= found.time <= 12
        assert kind.interference(made).cost == 2 and kind.interference(made).period == 10
    assert server.deferrable.interference(made).jitter == 8
    refused = server.polling.response(server.Server(0, 10, 2), requests)
    assert refused.reason == "served-in-period"


def test_utilisation() -> None:
    assert utilisation.of([("1ms", "2ms"), ("1ms", "3ms")]) == utilisation.Utilisation(833_334, True)
    assert utilisation.liu_layland.bound(2) == 828_427_124
    assert not utilisation.liu_layland.test([(1, 2), (1, 3)])
    assert utilisation.hyperbolic.test([(1, 2), (1, 3)]).proven() == 833_334
    with pytest.raises(ValueError, match="zero"):
        utilisation.of([(1, 0)])


def test_offsets() -> None:
    first = offsets.Activity(cost=2, priority=2, deadline=10)
    second = offsets.Activity(cost=3, priority=1, deadline=10, offset=2)
    transaction = offsets.Transaction(10, (first, second))
    for method in ("approximate", "slanted", "exact"):
        assert offsets.response([transaction], 0, 1, method).proven().from_event == 5
    # As if the other had no offset: 2 + 3 from the release at 2.
    assert offsets.response([transaction], 0, 1, "holistic").proven().from_event == 7
    assert offsets.chained([transaction]).proven() == [[2, 5]]
    with pytest.raises(IndexError):
        offsets.response([transaction], 0, 2)


def test_assignment() -> None:
    rows = [assignment.Candidate(30), assignment.Candidate(10), assignment.Candidate(20)]
    found = assignment.assign(rows)
    assert found is not None and found[1] > found[2] > found[0]
    fixed = assignment.assign([assignment.Candidate(30, 50), assignment.Candidate(10)])
    assert fixed is not None and fixed[0] == 50 < fixed[1]
    for numbers in ([5, 5], [0], [99]):
        with pytest.raises(ValueError, match="from 1 to 98"):
            assignment.assign([assignment.Candidate(1, number) for number in numbers])
    assert assignment.assign([assignment.Candidate(1)] * 99) is None


def test_buffers() -> None:
    assert buffers.temporal(3) == 4 and buffers.presence(3) == 5
    # M + max(2, N) and 2 M + N, with the N of 3 writes, 4.
    assert buffers.mixed("chen", 2, 3) == 2 + 4 and buffers.mixed("chen", 2) == 4
    assert buffers.printed("double-buffer", 1, 3) == 2 + 4
    writer = lifetime.Writer(10, 5)
    assert lifetime.buffers([25, 15], writer).proven() == 4
    assert lifetime.without_writer_response([25, 15], writer).proven() == 4
    readers = [reader_instances.Reader(10, 15), reader_instances.Reader(20, 5)]
    assert reader_instances.instances(readers).proven() == 3
    assert reader_instances.buffers(readers).proven() == 5
    assert reader_instances.buffers(readers, writer_above_on_one_core=True).proven() == 4
    sizes = smallest.buffers([smallest.Reader(10, 15, 15), smallest.Reader(20, 5, 5)], writer).proven()
    assert (sizes.instances, sizes.lifetime) == (5, 3) and sizes.least == min(5, 3, sizes.mixed)


def test_flows() -> None:
    writer, below = flow.Writer(10, 5), flow.Reader(20, 10, 10, above=False)
    above = flow.Reader(20, 10, 10, above=True)
    assert flow.dbp(writer, [below, below]).proven() == 3
    assert flow.dbp(writer, [below, above, above], one_core=True).proven() == 4
    assert flow.dbp(writer, [below, above, above]).proven() == 5
    assert flow.tccp(writer, [below]).proven() == 2 and flow.tccp(writer, []).proven() == 1
    late = flow.Reader(20, 30, 30, above=False)
    assert flow.dbp(writer, [late]).reason == "one-job-at-a-time"


def test_retries() -> None:
    attempt = retries.Attempt(10, 10)
    assert retries.per_write(attempt, 10) == 3
    writer = retries.Writer(period=1_000, response=20, jitter=0, write=10)
    assert retries.on_another_core(attempt, writer).proven().retries == 3
    assert retries.cost(100, 10, 3) == 140
    with pytest.raises(OverflowError):
        retries.per_write(retries.Attempt(0, 10), 10)


def test_queues() -> None:
    writer, reader = queue.Writer(10, 5), queue.Reader(10, 5)
    assert queue.capacity(writer, reader).proven() >= 1
    assert queue.latency(writer, reader).proven() >= queue.wait(writer, reader).proven()
    assert queue.capacity(writer, queue.Reader(20, 5)).reason == "rate"
    # A queue that is long enough is never full, which is a bound of no time.
    never = queue.overflows_not_before(writer, reader, 100)
    assert never.holds and never.proven() is None
    assert queue.overflows_certainly_by(writer, queue.Reader(20, 5), 3).proven() is not None
    with pytest.raises(ValueError, match="values sent"):
        queue.capacity(queue.Writer(10, 5, sends=-1), reader)


def test_chains() -> None:
    first, second = chain.Task("10ms", "3ms"), chain.Task("20ms", "8ms")
    hops = [chain.Hop(chain.State(), second)]
    reaction = chain.reaction(first, hops).proven()
    assert reaction.total == chain.davare07([first, second]) == taut.ns("41ms")
    assert reaction.total == reaction.sampling + sum(reaction.hops) + reaction.response
    age = chain.data_age(first, hops).proven()
    assert age.until_replaced is not None and age.until_output < age.until_replaced
    triggered = chain.Hop(chain.Queue(triggered=True), chain.Task("10ms", "8ms", periodic=False))
    assert chain.reaction(first, [triggered]).proven().total < reaction.total
    with pytest.raises(ValueError, match="not a kind of channel"):
        chain.reaction(first, [chain.Hop(chain.State("stale"), second)])  # type: ignore[arg-type]


def test_edf_msrp() -> None:
    lock = [taut.Section("r", 2)]
    tasks = taut.TaskSet(
        [
            taut.Task("a", period=20, cost=5, core=0, sections=lock),
            taut.Task("b", period=30, cost=5, core=1, sections=[taut.Section("r", 3)]),
        ],
        scheduler="edf",
    )
    multi = taut.multi.edf_msrp
    assert [time for time, _ in multi.spinning(tasks)] == [3, 2]
    assert multi.spinning(tasks)[0][1].resource == "r"
    assert len(multi.cores(tasks).proven()) == 2
    assert [r.from_arrival for r in multi.response_times(tasks).proven()] == [8, 7]
    assert taut.multi.msrp_gai01.response_times(tasks).reason == "fixed-priority"
    assert taut.uni.edf.demand.core(tasks, 1).holds
    assert taut.uni.edf.response.core(tasks).reason == "local-resources"
    with pytest.raises(IndexError):
        taut.uni.edf.demand.core(tasks, 2)
