// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Any numbers at all: an answer, in a time that does not depend on them, and never a panic.

use proptest::prelude::*;
use taut_analysis::Verdict;
use taut_analysis::chain::data_age::data_age;
use taut_analysis::chain::end_to_end::{ChainChannel, ChainTask, Hop, Reading};
use taut_analysis::chain::reaction::{davare07, reaction};
use taut_analysis::delivery::phases::{DeliverySubject, PriorityLevel};
use taut_analysis::delivery::{alarm, message, sensor};
use taut_analysis::queue::{self, overflow};
use taut_analysis::wait_free::buffers::{self, Claim};
use taut_analysis::wait_free::{
    flow, lifetime, partition, reader_instances, retries, smallest, writes_during_read,
};
use taut_analysis::waiting::{m_d_1, m_g_1, m_m_1, m_m_s, m_p_1, p_p_1};
use taut_model::ArrivalPattern;
use taut_time::Duration;

/// Small and ordinary numbers, numbers around powers of two, and the extremes.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..4_u64,
        1..1_000_000_u64,
        (0..64_u32, 0..3_u64).prop_map(|(bit, off)| (1_u64 << bit).wrapping_add(off).wrapping_sub(1)),
        (0..3_u64).prop_map(|off| u64::MAX - off),
        any::<u64>(),
    ]
}

fn time() -> impl Strategy<Value = Duration> {
    number().prop_map(Duration::from_ns)
}

fn task() -> impl Strategy<Value = ChainTask> {
    (any::<bool>(), time(), time(), time()).prop_map(|(periodic, period, response, jitter)| ChainTask {
        arrivals: if periodic { ArrivalPattern::Periodic } else { ArrivalPattern::Sporadic },
        period,
        response,
        jitter,
    })
}

fn hop() -> impl Strategy<Value = Hop> {
    let channel = prop_oneof![
        Just(ChainChannel::State(Reading::Newest)),
        Just(ChainChannel::State(Reading::NewestBelowWriter)),
        Just(ChainChannel::State(Reading::Preserved)),
        Just(ChainChannel::State(Reading::PreservedDelayed)),
        (any::<u32>(), any::<u32>(), any::<bool>())
            .prop_map(|(sends, takes, triggered)| ChainChannel::Queue { sends, takes, triggered }),
        any::<bool>().prop_map(|triggered| ChainChannel::Queue { sends: 1, takes: 1, triggered }),
    ];
    (channel, task()).prop_map(|(channel, reader)| Hop { channel, reader })
}

proptest! {
    #[test]
    fn chains(first in task(), hops in prop::collection::vec(hop(), 0..6)) {
        let reacts = reaction(&first, &hops);
        if let Ok(Verdict::Schedulable(found)) = &reacts {
            prop_assert!(found.total >= found.response && found.total >= found.sampling);
        }
        let _ = data_age(&first, &hops);
        let _ = davare07(&[first, first]);
    }

    #[test]
    fn buffers_of_all_kinds(
        a in time(), b in time(), c in time(), d in time(),
        counts in prop::collection::vec(number(), 0..6),
        above in any::<bool>(),
    ) {
        let writer = writes_during_read::WriterTiming { period: a, within: b };
        let _ = writes_during_read::most(c, &writer);
        let _ = writes_during_read::printed(c, &writer);
        let _ = lifetime::buffers(&[c, d], &writer);
        let _ = lifetime::without_writer_response(&[c, d], &writer);
        for claim in Claim::ALL {
            let _ = partition::best(claim, &counts);
            let _ = partition::printed(claim, &counts);
            for &count in &counts {
                let _ = buffers::mixed(claim, count, counts.first().copied());
                let _ = buffers::printed(claim, count, counts.first().copied());
            }
        }
        let _ = partition::printed_prose(&counts);
        let jobs = reader_instances::ReaderTiming { period: c, response: d };
        let _ = reader_instances::buffers(&[jobs; 3], reader_instances::WriterPlacement::Any);
        let reader = smallest::ReaderUse { jobs, used_for: b };
        if let Ok(Verdict::Schedulable(found)) = smallest::buffers(&[reader; 3], &writer) {
            prop_assert!(found.least() <= found.instances);
        }
        let w = flow::FlowWriter { period: a, response: b, jitter: c };
        let r = flow::FlowReader { period: c, response: d, from_activation: d, above };
        let _ = flow::dbp(flow::Cores::Several, &w, &[r; 2]);
        let _ = flow::tccp(&w, &[r; 2]);
        let attempt = retries::Attempt { shortest: a, longest: b };
        let w = retries::OvertakingWriter { period: c, response: d, jitter: a, write: b.min(d) };
        let _ = retries::below_the_writer(d, &w);
        let _ = retries::cost(a, b, counts.first().copied().unwrap_or(1));
        let _ = retries::per_write(&attempt, c);
    }

    #[test]
    fn waiting(a in time(), b in time(), servers in 0..200_u32, variance in any::<u128>(), c in time()) {
        let all = [
            m_m_1::means(a, b),
            m_m_s::means(a, b, servers),
            m_d_1::means(a, b),
            m_g_1::means(a, b, variance),
            m_p_1::means(a, b),
        ];
        for means in all.into_iter().flatten() {
            let values = [means.waiting_ns, means.staying_ns, means.waiting, means.staying, means.utilisation];
            prop_assert!(values.iter().all(|mean| mean.as_f64() >= 0.0 && mean.as_f64().is_finite()));
            prop_assert!(means.waiting_ns.as_f64() <= means.staying_ns.as_f64());
        }
        let task = |period: Duration| p_p_1::FlowTask { period, response: period };
        for producers in [vec![], vec![task(a)], vec![task(a), task(c), task(a)]] {
            let _ = p_p_1::bound(&producers, &task(b));
            let _ = p_p_1::printed(&producers, &task(b));
        }
    }

    #[test]
    fn queues_of_a_capacity(
        periods in (time(), time()), responses in (time(), time()),
        counts in (any::<u32>(), any::<u32>()), triggered in any::<bool>(), values in number(),
    ) {
        let writer = queue::SendingTask { period: periods.0, response: responses.0, sends: counts.0 };
        let reader = queue::TakingTask {
            period: periods.1,
            response: responses.1,
            takes: counts.1,
            triggered,
        };
        let early = overflow::not_before(&writer, &reader, values);
        let late = overflow::certainly_by(&writer, &reader, values);
        if let (Ok(Verdict::Schedulable(early)), Ok(Verdict::Schedulable(late))) = (early, late) {
            // A certain overflow is not excluded, nor certain before it can happen: a job sends after the arrival
            // from which `late` counts.
            prop_assert!(early.is_some_and(|early| early <= late));
        }
        let _ = overflow::suffices(&writer, &reader, values);
    }

    #[test]
    fn deliveries(
        raw in prop::collection::vec((0..4_u32, number(), prop::option::of(time()), time(), time(), time()), 1..5),
        at in 0..6_usize, ahead in number(), deadline in 0..100_000_u64, poll in time(),
    ) {
        let level = |&(priority, waiting, gap, handle, take_out, put_in): &_| {
            PriorityLevel { priority, waiting, gap, handle, take_out, put_in }
        };
        let levels: Vec<PriorityLevel> = raw.iter().map(level).collect();
        let subject = DeliverySubject { level: at, ahead, deadline: Duration::from_ns(deadline) };
        let sensors = [(1, poll), (2, Duration::from_ns(1))];
        let polling = sensor::SensorPolling { period: poll, sensors: &sensors };
        let _ = message::printed(&levels, &subject);
        let _ = sensor::printed(&levels, &polling, &subject);
        for found in [
            message::bound(&levels, &subject, Duration::ZERO),
            alarm::bound(&levels, &subject, poll),
            sensor::bound(&levels, &polling, &subject, poll),
        ] {
            if let Ok(Verdict::Schedulable(window)) = found {
                prop_assert!(window.total <= subject.deadline);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Analyses that iterate: some take their full number of steps.
    #[test]
    fn retries_in_parallel(a in time(), b in time(), c in time(), d in time()) {
        let attempt = retries::Attempt { shortest: a.min(b), longest: a.max(b) };
        let writer = retries::OvertakingWriter { period: c, response: d, jitter: a, write: b.min(d) };
        let _ = retries::on_another_core(&attempt, &writer);
    }
}
