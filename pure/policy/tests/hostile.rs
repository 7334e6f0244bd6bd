// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers that get any call at any instant: nothing wraps, and the invariants hold.

mod core_units;

use core_units::{AnyServer, at, ns};
use proptest::prelude::*;
use taut_policy::queue::{LinkedList, Node};
use taut_policy::server::{
    Any, ConstantBandwidth, Deferrable, Polling, Replenishment, Served, ServerEntry, ServerRule, Sporadic,
    Turn,
};
use taut_policy::{FixedPriority, Scheduler, Slot};

/// Small, or any value, or close to the end of time.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..60, 1 => any::<u64>(), 1 => (0_u64..60).prop_map(|less| u64::MAX - less)]
}

fn any_server() -> impl Strategy<Value = AnyServer> {
    let figures = (1_u64..9, 0_u64..20, 0_u64..20, any::<bool>(), 1_usize..5, 0..4);
    figures.prop_map(|(budget, more, start, huge, places, kind)| {
        let (budget, period) = (ns(budget), ns(if huge { u64::MAX - more } else { budget + more }));
        match kind {
            0 => Any::Polling(Polling::new(budget, period, at(start)).expect("fits")),
            1 => Any::Deferrable(Deferrable::new(budget, period, at(start)).expect("fits")),
            2 => Any::Sporadic(
                Sporadic::new(budget, period, vec![Replenishment::EMPTY; places]).expect("fits"),
            ),
            _ => Any::ConstantBandwidth(ConstantBandwidth::new(budget, period).expect("fits")),
        }
    })
}

fn check(server: &AnyServer, now: u64) {
    let _ = (server.left(), server.arrival(), server.is_ready(true));
    assert!(server.now() >= at(0));
    // A server whose driver has not reported its beginning begins at 0.
    if let Some(next) = server.next(true).filter(|_| !server.is_ready(true) && now > 0) {
        assert!(next > server.now(), "{server:?} at {now}");
    }
    if let Any::Sporadic(sporadic) = server {
        let replenishments: Vec<_> = sporadic.replenishments().collect();
        let all = replenishments.iter().map(|part| part.amount.as_ns()).sum::<u64>();
        let mut fresh = replenishments.clone();
        fresh.sort_by_key(|part| part.at);
        assert_eq!(replenishments, fresh, "in order, what is used of the first last");
        assert!((1..9).contains(&all) && replenishments.iter().all(|part| !part.amount.is_zero()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_server_told_anything(
        mut server in any_server(),
        steps in prop::collection::vec((time(), any::<bool>(), 0..4), 1..40),
    ) {
        for (now, ran, what) in steps {
            server.pass(at(now), ran);
            match what {
                0 => server.wake(),
                1 => server.find_none(),
                _ => {}
            }
            check(&server, now);
        }
    }

    /// Three servers and two tasks on a core, with arbitrary time steps, drivers that forget to decide, and calls
    /// that are refused.
    #[test]
    fn a_core_told_anything(
        servers in prop::collection::vec(any_server(), 3),
        steps in prop::collection::vec((time(), 0..6, 0_usize..4), 1..60),
    ) {
        let ready = LinkedList::new([Node::EMPTY; 5]);
        let rule = FixedPriority::new(ready, [Slot::EMPTY; 5], &[2, 4, 1, 3, 5]).expect("fits");
        let entries: Vec<_> = servers.into_iter().map(ServerEntry::new).collect();
        let mut core = Served::new(rule, 2, entries);
        let mut now = 0_u64;
        let mut waiting = [0_u64; 3];
        for (by, what, whom) in steps {
            now = now.saturating_add(by);
            let has = match core.rule().running() {
                Some(task) if task < 2 => Some(Turn::Task(task)),
                Some(task) => Some(Turn::Server(task - 2)),
                None => None,
            };
            match what {
                0 => {
                    let known = whom < 3;
                    prop_assert_eq!(core.request(whom, at(now)).is_ok(), known);
                    if known {
                        waiting[whom] += 1;
                    }
                }
                1 => {
                    let served = core.served(at(now));
                    let can = matches!(has, Some(Turn::Server(server)) if waiting[server] > 0);
                    prop_assert_eq!(served.is_ok(), can);
                    if let Ok(server) = served {
                        waiting[server] -= 1;
                    }
                }
                5 => {
                    let can = whom < 3 && waiting[whom] > 0;
                    prop_assert_eq!(core.withdraw(whom, at(now)).is_ok(), can);
                    if can {
                        waiting[whom] -= 1;
                    }
                }
                2 if whom < 2 => drop(core.rule_mut().release(whom, at(now))),
                3 if matches!(has, Some(Turn::Task(_))) => drop(core.rule_mut().complete()),
                _ => {
                    let turn = core.decide(at(now)).expect("nobody touched the servers");
                    if let Some(Turn::Server(server)) = turn {
                        prop_assert!(waiting[server] > 0);
                    }
                    let next = core.next();
                    prop_assert!(next.is_none_or(|next| next > at(now) || now == u64::MAX), "{next:?}");
                }
            }
            for (server, waiting) in waiting.iter().enumerate() {
                let entry = core.entry(server).expect("there are three");
                prop_assert_eq!(entry.backlog(), *waiting);
                if entry.server().now() == at(now) {
                    check(entry.server(), now);
                }
            }
        }
    }
}
