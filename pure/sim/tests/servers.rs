// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers of aperiodic requests: by hand, and never above the bounds of `taut_analysis::uni::server`.

mod random;

use random::Random;
use taut_analysis::uni::fp::preemptive::{self, Subject};
use taut_analysis::uni::server as bounds;
use taut_model::{ArrivalPattern, Body, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::ServerPolicy;
use taut_sim::server::{ServerFault, ServerRequest, SimServer, run};
use taut_sim::{Execution, Scenario, Start};
use taut_time::Duration;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

fn task(priority: u32, cost: u64, period: u64) -> SetTask {
    SetTask {
        name: format!("t{priority}"),
        core: 0,
        priority,
        arrivals: ArrivalPattern::Periodic,
        period: ns(period),
        deadline: ns(period),
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost: ns(cost), requests: Vec::new() },
    }
}

fn set(tasks: Vec<SetTask>) -> TaskSet {
    TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![], tasks).expect("valid")
}

fn server(policy: ServerPolicy, priority: u32, budget: u64, period: u64) -> SimServer {
    SimServer { policy, priority, budget: ns(budget), period: ns(period), start: Duration::ZERO }
}

const POLICIES: [ServerPolicy; 3] = [ServerPolicy::Polling, ServerPolicy::Deferrable, ServerPolicy::Sporadic];

/// C_s = 2, T_s = 5, the most urgent; requests of 1 at 1 and of 3 at 7. The polling server looks at 5, 10, 15. The
/// deferrable one serves at once: 1 at 1, and from 7 on 2, and the rest at 10. The sporadic one has used 1 at 1,
/// which comes back at 6; so it has 2 at 7, and again at 12.
#[test]
fn three_servers_by_hand() {
    let requests = [(1, 1), (7, 3)].map(|(at, cost)| ServerRequest { arrival: ns(at), cost: ns(cost) });
    let set = set(vec![task(1, 1, 100)]);
    let expected = [[5, 9], [1, 4], [1, 6]];
    for (policy, expected) in POLICIES.into_iter().zip(expected) {
        let served =
            run(&set, 0, &server(policy, 9, 2, 5), &requests, &Scenario::worst(ns(100))).expect("fits");
        assert_eq!(served.requests, expected.map(ns), "{policy:?}");
        assert_eq!(served.tasks, [ns(1)]);
    }
}

/// Two budgets follow each other: 2 at the end of a period, 2 at the start of the next. Only a deferrable server does
/// this to less urgent tasks.
#[test]
fn a_deferrable_server_serves_back_to_back() {
    let requests = [ServerRequest { arrival: ns(3), cost: ns(4) }];
    let mut scenario = Scenario::worst(ns(50));
    scenario.start = Start::At(vec![ns(3)]);
    let tasks = |policy| {
        let served = run(&set(vec![task(1, 1, 50)]), 0, &server(policy, 9, 2, 5), &requests, &scenario);
        served.expect("fits").tasks
    };
    assert_eq!(POLICIES.map(tasks), [[1], [5], [3]].map(|of| of.map(ns).to_vec()));
}

fn response(own: preemptive::FpTask, higher: &[preemptive::FpTask]) -> Option<Duration> {
    let subject = Subject {
        task: own,
        deadline: own.period,
        blocking: Duration::ZERO,
        blocking_attained: true,
        preemptible: true,
    };
    let verdict = preemptive::response(&subject, higher).expect("small");
    verdict.holds().then(|| verdict.bound().map(|bound| bound.from_arrival)).flatten()
}

#[test]
fn requests_and_tasks_never_exceed_their_bounds() {
    let mut random = Random(0x0123_4567_89ab_cdef);
    let mut nearest = [[0; 2]; 3];
    let mut checked = [0; 3];
    for round in 0..3000_u64 {
        let which = (round % 3) as usize;
        let tasks: Vec<_> = [3, 1]
            .into_iter()
            .map(|priority| {
                let period = 8 + random.below(30);
                task(priority, 1 + random.below(period / 3), period)
            })
            .collect();
        let set = set(tasks);
        let of = |at: usize| preemptive::FpTask {
            cost: set.cost(at),
            period: set.tasks()[at].period,
            jitter: Duration::ZERO,
            arrivals: ArrivalPattern::Periodic,
        };
        let period = 6 + random.below(20);
        let mut server = server(POLICIES[which], 2, 1 + random.below(period / 3), period);
        server.start = ns(random.below(period));
        let own = preemptive::FpTask {
            cost: server.budget,
            period: server.period,
            jitter: Duration::ZERO,
            arrivals: ArrivalPattern::Driven,
        };
        let Some(of_budget) = response(own, &[of(0)]) else { continue };
        let bounded =
            bounds::ServerSupply { budget: server.budget, period: server.period, response: of_budget };
        let (cost, between) = (1 + random.below(8), 5 + random.below(60));
        let jitter = between * random.below(4);
        let asked = bounds::Requests {
            cost: ns(cost),
            period: ns(between),
            jitter: ns(jitter),
            deadline: ns(1_000_000),
        };
        let (bound, interference) = match server.policy {
            ServerPolicy::Polling => {
                (bounds::polling::response(bounded, asked), bounds::polling::interference(bounded))
            }
            ServerPolicy::Deferrable => {
                (bounds::deferrable::response(bounded, asked), bounds::deferrable::interference(bounded))
            }
            ServerPolicy::Sporadic => {
                (bounds::sporadic::response(bounded, asked), bounds::sporadic::interference(bounded))
            }
        };
        let bound = bound.expect("small");
        let Some(bound) = bound.bound().filter(|_| bound.holds()).map(|bound| bound.time) else { continue };
        let below = response(of(1), &[of(0), interference]);
        for _ in 0..4 {
            let mut scenario = Scenario::random(ns(1500), random.below(1 << 40));
            scenario.execution =
                Execution::Random { least_percent: if random.below(2) == 0 { 100 } else { 10 } };
            // Every request arrives up to its jitter early, sometimes a whole burst at once, none before an earlier
            // one.
            let offset = jitter + random.below(between);
            let early = random.below(3);
            let mut last = 0;
            let requests: Vec<_> = (0..1200 / between)
                .map(|at| {
                    let by = match early {
                        0 => random.below(jitter + 1),
                        1 if at < 1 => 0,
                        _ if at % 8 < 4 => jitter.min(at % 8 * between),
                        _ => 0,
                    };
                    last = (offset + at * between - by).max(last);
                    let cost = if early == 0 { 1 + random.below(cost) } else { cost };
                    ServerRequest { arrival: ns(last), cost: ns(cost) }
                })
                .collect();
            let served = run(&set, 0, &server, &requests, &scenario).expect("fits");
            assert_eq!(served.requests.len(), requests.len());
            let seen = served.requests.iter().max().copied().unwrap_or(Duration::ZERO);
            assert!(seen <= bound, "{seen:?} of {bound:?}: {server:?} {asked:?} {:?}", set.tasks());
            nearest[which][0] = nearest[which][0].max(seen.as_ns() * 100 / bound.as_ns());
            checked[which] += 1;
            if let Some(below) = below {
                let seen = served.tasks[1];
                assert!(seen <= below, "{seen:?} of {below:?} below: {server:?} {asked:?} {:?}", set.tasks());
                nearest[which][1] = nearest[which][1].max(seen.as_ns() * 100 / below.as_ns());
            }
        }
    }
    println!("runs {checked:?}, percent of requests and of tasks below {nearest:?}");
    assert!(checked.iter().all(|count| *count > 300));
    assert!(nearest.iter().flatten().all(|percent| *percent > 80), "{nearest:?}");
}

#[test]
fn what_does_not_fit() {
    let set = set(vec![task(1, 1, 100)]);
    let good = server(ServerPolicy::Sporadic, 2, 1, 5);
    let at = |arrival, cost| ServerRequest { arrival: ns(arrival), cost: ns(cost) };
    let fault = |core, server: &SimServer, requests: &[ServerRequest]| {
        run(&set, core, server, requests, &Scenario::worst(ns(10))).expect_err("does not fit")
    };
    assert_eq!(fault(1, &good, &[]), ServerFault::Core);
    assert_eq!(fault(0, &server(ServerPolicy::Polling, 1, 1, 5), &[]), ServerFault::Priority);
    assert_eq!(fault(0, &server(ServerPolicy::Polling, 2, 0, 5), &[]), ServerFault::Budget);
    assert_eq!(fault(0, &server(ServerPolicy::Polling, 2, 6, 5), &[]), ServerFault::Budget);
    assert_eq!(fault(0, &SimServer { start: ns(6), ..good }, &[]), ServerFault::Budget);
    assert_eq!(fault(0, &good, &[at(1, 0)]), ServerFault::Requests);
    assert_eq!(fault(0, &good, &[at(2, 1), at(1, 1)]), ServerFault::Requests);
    assert_eq!(fault(0, &good, &[at(u64::MAX - 1, 3)]), ServerFault::Overflow);
}
