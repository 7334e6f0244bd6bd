// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Servers beside tasks, unit by unit: published examples, and the effects of late drivers and of few places.

mod core_units;

use core_units::{AnyServer, Driver, Ran, Task, at, ns, run};
use taut_policy::Misuse;
use taut_policy::server::{
    Any, Deferrable, Polling, Replenishment, Served, ServerEntry, ServerRule, Sporadic, Turn, Unfit,
};
use taut_policy::{FixedPriority, Scheduler, Slot, queue};
use taut_time::Duration;

fn polling(budget: u64, period: u64, start: u64) -> AnyServer {
    Any::Polling(Polling::new(ns(budget), ns(period), at(start)).expect("fits"))
}

fn deferrable(budget: u64, period: u64, start: u64) -> AnyServer {
    Any::Deferrable(Deferrable::new(ns(budget), ns(period), at(start)).expect("fits"))
}

fn sporadic(budget: u64, period: u64, places: usize) -> AnyServer {
    let replenishments = vec![Replenishment::EMPTY; places];
    Any::Sporadic(Sporadic::new(ns(budget), ns(period), replenishments).expect("fits"))
}

fn task(priority: u32, cost: u64, period: u64) -> Task {
    Task { priority, cost, period, first: 0 }
}

/// To decide when [`Served::next`] says so is as good as to decide always.
fn both(tasks: &[Task], server: (u32, AnyServer), requests: &[(u64, u64)], units: u64) -> Ran {
    let ran = run(Driver::Due, tasks, server.clone(), requests, units);
    assert_eq!(ran, run(Driver::Always, tasks, server, requests, units));
    ran
}

/// [Buttazzo11, Figure 5.3]: C_s = 2, T_s = 5 between tasks of (1, 4) and (2, 6); requests of 2, 1, 2 and 1, the
/// first at 2. It waits until 5, as the server found nothing at 1. The second uses half of its budget, and the server
/// gives up the rest; the third is preempted at 16, and the server keeps the budget. It does not matter when the
/// later requests arrive in the period before they are served: all instants are tried.
#[test]
fn buttazzo11_figure_5_3() {
    let tasks = [task(3, 1, 4), task(1, 2, 6)];
    for (second, third, last) in (7..=10)
        .flat_map(|second| (12..=15).flat_map(move |third| (17..=20).map(move |last| (second, third, last))))
    {
        let requests = [(2, 2), (second, 1), (third, 2), (last, 1)];
        let ran = both(&tasks, (2, polling(2, 5, 0)), &requests, 24);
        assert_eq!(ran.schedule, "abb.assbabs.abbsasbbas..");
        assert_eq!(ran.ends, [7, 11, 18, 22].map(Some));
    }
}

/// [Buttazzo11, Figure 5.18]: C_s = 2, T_s = 8, the most urgent, above (3, 10) and (4, 15); two requests of 2, the
/// first at 2. The first uses up the budget, which comes back at 10. The second, which arrives meanwhile, is served
/// then, and what it uses comes back at 18.
#[test]
fn buttazzo11_figure_5_18() {
    let tasks = [task(2, 3, 10), task(1, 4, 15)];
    for second in 4..=10 {
        let requests = [(2, 2), (second, 2)];
        let early = both(&tasks, (3, sporadic(2, 8, 3)), &requests, 10);
        assert_eq!((early.replenishments, early.ends), (vec![(10, 2)], vec![Some(4), None]));
        let ran = both(&tasks, (3, sporadic(2, 8, 3)), &requests, 15);
        assert_eq!((ran.replenishments, ran.ends), (vec![(18, 2)], vec![Some(4), Some(12)]));
    }
}

/// [Buttazzo11, Figure 5.17], except for a request before 4 whose arrival our source does not give: C_s = 5, T_s = 10
/// between (1, 5) and (4, 15). A request of 2 at 4 is preempted at 5, continues at 6 and is done at 7: one
/// replenishment of 2, at 14. What a request of 2 at 8 uses comes back at 18.
#[test]
fn buttazzo11_figure_5_17() {
    let ran = both(&[task(3, 1, 5), task(1, 4, 15)], (2, sporadic(5, 10, 4)), &[(4, 2), (8, 2)], 11);
    assert_eq!((&*ran.schedule, ran.ends), ("abbbsasbssa", vec![Some(7), Some(10)]));
    assert_eq!(ran.replenishments, [(8, 1), (14, 2), (18, 2)]);
}

/// Requests of half a budget, so that the budget comes back piece by piece: a polling server looks once a period, a
/// deferrable one serves two budgets back to back, a sporadic one serves what it used a period ago.
#[test]
fn three_servers_by_hand() {
    let requests = [(1, 1), (7, 3)];
    let schedule = |server| both(&[], (1, server), &requests, 14).schedule;
    assert_eq!(schedule(polling(2, 5, 0)), ".....s....ss..");
    assert_eq!(schedule(deferrable(2, 5, 0)), ".s.....ss.s...");
    assert_eq!(schedule(sporadic(2, 5, 3)), ".s.....ss...s.");
}

/// The budgets before the start: a polling server has none, a deferrable one a whole one.
#[test]
fn before_the_first_period() {
    assert_eq!(both(&[], (1, polling(1, 5, 3)), &[(0, 2)], 10).schedule, "...s....s.");
    assert_eq!(both(&[], (1, deferrable(1, 5, 3)), &[(0, 3)], 10).schedule, "s..s....s.");
}

/// Every server, with a driver that is up to `late` units late: a server that runs for longer than it may gets that
/// much less later. Without this, as in POSIX \[Stanovich10\], a server of 1 in 8 would get 4 of 8 from a driver that
/// is 3 late.
#[test]
fn what_is_used_too_much_is_kept_back() {
    let busy = [(0, 10_000)];
    for server in [polling(1, 8, 0), deferrable(1, 8, 0), sporadic(1, 8, 2)] {
        for late in [2, 3, 4, 7, 40] {
            let ran = run(Driver::Late(late), &[], (1, server.clone()), &busy, 800);
            for units in 1..=800_usize {
                let most = (units as u64).div_ceil(8) + late;
                assert!(ran.used(0..units) <= most, "{late}: {}", ran.schedule);
            }
            assert!(ran.used(0..800) + late > 100, "and it gets all of its share: {}", ran.used(0..800));
        }
    }
}

/// A driver that sleeps for many periods. A server that did not run has one budget after it; a server that ran all
/// the time owes its overrun.
#[test]
fn long_after() {
    for mut server in [polling(2, 5, 0), deferrable(2, 5, 0), sporadic(2, 5, 3)] {
        server.pass(at(0), false);
        server.wake();
        let mut ran = server.clone();
        server.pass(at(1_002), false);
        assert_eq!(server.left(), ns(2));
        assert!(ran.pass(at(20), true), "its turn is over");
        assert_eq!(ran.left(), Duration::ZERO);
        // It has used the budgets of 0, 5, and so on up to 45.
        assert_eq!(ran.next(true), Some(at(50)), "{ran:?}");
        ran.pass(at(50), false);
        assert_eq!(ran.left(), ns(2));
    }
}

/// Waits begin more often than there are places: no server gets more by it, none loses its budget for longer than a
/// period, and with one place more than waits can begin within a period nothing changes.
#[test]
fn few_places() {
    let mut fewer = 0;
    for pattern in 0_u32..1 << 12 {
        let requests: Vec<_> = (0_u32..12)
            .filter(|unit| pattern >> unit & 1 == 1)
            .map(|unit| (u64::from(unit) * 2, 1))
            .collect();
        let (budget, period) = (4, 11);
        let free = both(&[], (1, sporadic(budget, period, 30)), &requests, 60);
        let begins: Vec<_> = (0..24_u64).filter(|unit| requests.iter().any(|r| r.0 == *unit)).collect();
        let within = |begin: u64| begins.iter().filter(|unit| (begin..begin + period).contains(unit)).count();
        let most = begins.iter().map(|begin| within(*begin)).max().unwrap_or(0);
        assert_eq!(both(&[], (1, sporadic(budget, period, most + 1)), &requests, 60).ends, free.ends);
        for places in 1..=3 {
            let ran = both(&[], (1, sporadic(budget, period, places)), &requests, 60);
            for from in 0..49 {
                assert!(ran.used(from..from + period as usize) <= budget);
            }
            assert_eq!(ran.replenishments.iter().map(|part| part.1).sum::<u64>(), budget);
            assert!(ran.replenishments.len() <= places + 1);
            fewer += u32::from(ran.ends != free.ends);
            // Every request is served within a period after the one before it.
            let mut free_at = 0;
            for (request, end) in requests.iter().zip(&ran.ends) {
                let end = end.expect("served in the end");
                assert!(end <= request.0.max(free_at) + period + 1, "{places} {requests:?} {:?}", ran.ends);
                free_at = end;
            }
        }
    }
    assert!(fewer > 1000, "few places do change some: {fewer}");
}

#[test]
fn what_does_not_fit() {
    let refused = |budget, period| Polling::new(ns(budget), ns(period), at(0)).err();
    assert_eq!(
        [refused(0, 5), refused(6, 5), refused(5, 5)],
        [Some(Unfit::Budget), Some(Unfit::Budget), None]
    );
    assert_eq!(Sporadic::new(ns(1), ns(2), [Replenishment::EMPTY; 0]).err(), Some(Unfit::Replenishments));
    let list = queue::LinkedList::new([queue::Node::EMPTY; 2]);
    let rule = FixedPriority::new(list, [Slot::EMPTY; 2], &[1, 2]).expect("fits");
    // The server is not in the rule: `tasks` is one too many.
    let mut core = Served::new(rule, 2, [ServerEntry::new(deferrable(1, 5, 0))]);
    assert_eq!(core.request(1, at(0)), Err(Misuse::Task));
    assert_eq!(core.served(at(0)), Err(Misuse::State));
    assert_eq!(core.request(0, at(0)), Ok(()));
    assert_eq!(core.decide(at(0)), Err(Misuse::Task));
    core.rule_mut().release(1, at(0)).expect("idle");
    assert_eq!(core.rule_mut().decide(), Some(1));
    assert_eq!(core.served(at(0)), Err(Misuse::State), "a task runs");
}

/// Instants at the end of time: nothing wraps, and what would come later does not come.
#[test]
fn the_end_of_time() {
    let last = u64::MAX;
    for mut server in [polling(2, 5, 0), deferrable(2, 5, 0), sporadic(2, 5, 2)] {
        server.pass(at(last - 3), false);
        server.wake();
        server.pass(at(last - 1), true);
        server.pass(at(last), true);
        assert!(server.next(true).is_none_or(|next| next > at(last - 3)));
        server.pass(at(last), true);
        server.wake();
        assert!(server.left() <= ns(7));
    }
    for mut server in [polling(1, last, last), deferrable(last, last, 7), sporadic(last, last, 1)] {
        for now in [0, 7, last / 2, last - 1, last] {
            server.pass(at(now), true);
            server.wake();
            let _ = (server.left(), server.next(true), server.arrival());
        }
    }
}

/// Two servers and a task: a server that runs does not use another one's budget.
#[test]
fn two_servers_on_a_core() {
    let list = queue::LinkedList::new([queue::Node::EMPTY; 3]);
    let rule = FixedPriority::new(list, [Slot::EMPTY; 3], &[1, 2, 3]).expect("fits");
    let mut core =
        Served::new(rule, 1, [ServerEntry::new(deferrable(3, 10, 0)), ServerEntry::new(sporadic(2, 10, 2))]);
    core.rule_mut().release(0, at(0)).expect("idle");
    core.request(0, at(0)).expect("there is one");
    assert_eq!((core.decide(at(0)), core.next()), (Ok(Some(Turn::Server(0))), Some(at(3))));
    core.request(1, at(1)).expect("there is one");
    assert_eq!((core.decide(at(1)), core.next()), (Ok(Some(Turn::Server(1))), Some(at(3))));
    assert_eq!((core.decide(at(3)), core.next()), (Ok(Some(Turn::Server(0))), Some(at(5))));
    // The other server waits for 11, and this one for 10.
    assert_eq!((core.decide(at(5)), core.next()), (Ok(Some(Turn::Task(0))), Some(at(10))));
    assert_eq!(core.entry(0).map(ServerEntry::backlog), Some(1));
    assert_eq!((core.decide(at(10)), core.next()), (Ok(Some(Turn::Server(0))), Some(at(11))));
    assert_eq!(core.served(at(10)), Ok(0));
    assert_eq!((core.decide(at(10)), core.next()), (Ok(Some(Turn::Task(0))), Some(at(11))));
}

/// A request is served in the background, when its server has no budget, or withdrawn while a more urgent task runs.
#[test]
fn requests_that_go_away() {
    let list = queue::LinkedList::new([queue::Node::EMPTY; 2]);
    let rule = FixedPriority::new(list, [Slot::EMPTY; 2], &[2, 1]).expect("fits");
    let mut core = Served::new(rule, 1, [ServerEntry::new(sporadic(2, 10, 2))]);
    core.request(0, at(0)).expect("there is one");
    assert_eq!(core.decide(at(0)), Ok(Some(Turn::Server(0))));
    assert_eq!((core.decide(at(2)), core.next()), (Ok(None), Some(at(10))));
    assert_eq!((core.withdraw(0, at(4)), core.withdraw(0, at(4))), (Ok(()), Err(Misuse::State)));
    assert_eq!((core.decide(at(4)), core.next()), (Ok(None), None), "nothing to wait for");
    // Its turn waits below the task; its only request is withdrawn, and then another one arrives.
    core.request(0, at(12)).expect("there is one");
    core.rule_mut().release(0, at(12)).expect("idle");
    assert_eq!(core.decide(at(12)), Ok(Some(Turn::Task(0))));
    core.withdraw(0, at(13)).expect("it has one");
    core.rule_mut().complete().expect("it runs");
    let mut again = core.clone();
    assert_eq!((core.decide(at(14)), core.next()), (Ok(None), None));
    again.request(0, at(14)).expect("there is one");
    assert_eq!((again.decide(at(14)), again.next()), (Ok(Some(Turn::Server(0))), Some(at(16))));
    assert_eq!(again.decide(at(16)), Ok(None));
    assert_eq!(again.next(), Some(at(22)), "as if it had asked since 12");
}

/// A server of 3 every 10 has the core from 0 to 8, but threads that no rule knows had it for 6 of those: it has 1
/// left, of the period that began last, if they had it until then. By the clock it has none.
#[test]
fn what_others_had_is_not_charged() {
    let core = |server: AnyServer| {
        let list = queue::LinkedList::new([queue::Node::EMPTY; 1]);
        let rule = FixedPriority::new(list, [Slot::EMPTY; 1], &[1]).unwrap();
        (rule, taut_policy::server::Servers::new(0, vec![ServerEntry::new(server)]))
    };
    for server in [polling(3, 10, 0), deferrable(3, 10, 0), sporadic(3, 10, 4)] {
        let begun = || {
            let (mut rule, mut servers) = core(server.clone());
            servers.request(&mut rule, 0, at(0)).unwrap();
            assert_eq!(servers.decide(&mut rule, at(0)), Ok(Some(Turn::Server(0))));
            (rule, servers)
        };
        let (mut rule, mut servers) = begun();
        servers.pass_beside(&mut rule, ns(6), at(8)).unwrap();
        assert_eq!(servers.decide(&mut rule, at(8)), Ok(Some(Turn::Server(0))));
        assert_eq!(servers.next(&rule), Some(at(9)));
        let (mut rule, mut servers) = begun();
        servers.pass_beside(&mut rule, ns(4), at(8)).unwrap();
        assert_eq!(servers.decide(&mut rule, at(8)), Ok(None), "1 more than it may");
        let (mut rule, mut servers) = begun();
        servers.pass_beside(&mut rule, ns(99), at(8)).unwrap();
        assert!(servers.entry(0).unwrap().server().left() >= ns(3));
        assert_eq!(servers.decide(&mut rule, at(8)), Ok(Some(Turn::Server(0))), "all of it, and no more");
        let (mut rule, mut servers) = core(server.clone());
        servers.pass_beside(&mut rule, ns(6), at(8)).unwrap();
        assert_eq!(servers.entry(0).unwrap().server().now(), at(0), "it has not the core");
    }
}

/// Across the beginning of a period: the server's share of the time counts as the last part.
#[test]
fn what_others_had_counts_as_the_first() {
    let list = queue::LinkedList::new([queue::Node::EMPTY; 1]);
    let mut rule = FixedPriority::new(list, [Slot::EMPTY; 1], &[1]).unwrap();
    let mut servers = taut_policy::server::Servers::new(0, vec![ServerEntry::new(deferrable(3, 10, 0))]);
    servers.request(&mut rule, 0, at(8)).unwrap();
    servers.decide(&mut rule, at(8)).unwrap();
    servers.pass_beside(&mut rule, ns(2), at(12)).unwrap();
    assert_eq!(servers.entry(0).unwrap().server().left(), ns(1), "2 of the budget that came at 10");
}

/// Requests that come one by one, each at the instant at which the last one is done: the server's turn goes on, and all that it
/// uses comes back together. One that comes later begins a wait of its own.
#[test]
fn a_request_at_the_end_of_another_continues_the_backlog() {
    let budget_back = |pause: u64| {
        let rule =
            FixedPriority::new(queue::LinkedList::new([queue::Node::EMPTY; 1]), [Slot::EMPTY; 1], &[1]);
        let server = Sporadic::new(ns(4), ns(20), [Replenishment::EMPTY; 8]).expect("fits");
        let mut core = Served::new(rule.expect("fits"), 0, [ServerEntry::new(server)]);
        let mut now = 0;
        for _ in 0..3 {
            core.request(0, at(now)).expect("a server");
            assert_eq!(core.decide(at(now)), Ok(Some(Turn::Server(0))));
            now += 1;
            core.served(at(now)).expect("it runs");
            if pause > 0 {
                assert_eq!(core.decide(at(now)), Ok(None));
            }
            now += pause;
        }
        let server = core.entry(0).expect("a server").server();
        let parts = server.replenishments().filter(|part| part.at > at(10));
        parts.map(|part| (part.at.as_ns(), part.amount.as_ns())).collect::<Vec<_>>()
    };
    assert_eq!(budget_back(0), [(20, 3)]);
    assert_eq!(budget_back(1), [(20, 1), (22, 1), (24, 1)]);
}
