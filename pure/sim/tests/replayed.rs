// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Records of a machine under the rules, replayed: equal, and not once something in them is changed.

mod machine;
mod random;

use machine::{Machine, case};
use random::Random;
use taut_sim::replay::{Names, Replay, Replayed};
use taut_time::Instant;

/// Cases of the test; the long form asks for more.
fn cases(of: u64) -> u64 {
    std::env::var("REPLAY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(of)
}

/// A replay for a person.
fn told(replayed: &Replayed) -> String {
    let names = |what: &str| (0..16).map(|at| format!("{what}{at}")).collect::<Vec<_>>();
    let (tasks, resources) = (names("t"), names("r"));
    let names = Names { tasks: &tasks, resources: &resources, begin: Instant::from_ns(0) };
    let table = replayed.difference.as_ref().map(|found| found.table(&names));
    format!("{}{:?} {:?}", table.unwrap_or_default(), replayed.cores, replayed.pending)
}

#[test]
fn what_a_machine_records_is_what_is_simulated() {
    let (mut events, mut jobs, mut preempted, mut waited) = (0, 0, 0, 0);
    for seed in 1..=cases(2_000) {
        let case = case(&mut Random(seed * 7919));
        let mut machine = Machine::new(&case, seed);
        let records = machine.run(400);
        let replayed = Replay::of(&case.set, &case.rules, &records).expect("well-formed");
        assert!(replayed.is_equal(), "seed {seed}, {:?}:\n{}", case.rules, told(&replayed));
        let decided = records.iter().filter(|record| !matches!(record.kind, taut_event::Kind::Begin | taut_event::Kind::Skip));
        assert_eq!(replayed.events(), decided.count() as u64);
        events += replayed.events();
        jobs += replayed.cores.iter().map(|core| core.jobs).sum::<u64>();
        (preempted, waited) = (preempted + machine.preempted, waited + machine.waited);
    }
    println!("{events} events, {jobs} jobs, {preempted} preemptions, {waited} waits");
    assert!(jobs > 1_000 && preempted > 1_000 && waited > 1_000);
}
