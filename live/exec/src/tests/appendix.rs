// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The example of [Gutierrez13, Appendix A] on threads. As printed, only one task uses the resource, which excludes
//! nobody. What its text describes needs the second task to be a user as well, so here it is one.

use std::sync::Mutex;

use taut_time::Duration;

use super::{alone, cpu, postures};
use crate::{Job, LocalRule, Release, Setup, TaskSetup};

/// So long that no stall of the machine reaches the second unit: no release may arrive before a scan of the dispatcher
/// that comes before it (see `crate::ready::rule`), and these arrive when the job says.
const UNIT: u64 = 1_000_000_000_000;

/// A unit of a job: its letter, with a star inside the section.
fn unit(shown: &Mutex<Vec<String>>, letter: &str) {
    shown.lock().unwrap().push(letter.to_owned());
}

#[test]
fn the_example_runs_as_its_text_says() {
    let _alone = alone();
    for rule in [LocalRule::Srp, LocalRule::Dfp] {
        for wanted in postures() {
            let shown = Mutex::new(Vec::new());
            let (shown_a, shown_b, shown_c) = (&shown, &shown, &shown);
            let mut setup = Setup::new();
            let core = setup.core(cpu(), rule);
            let r1 = setup.resource(core, ());
            let due = |name: &str, units: u64| {
                TaskSetup::new(name, Release::ByHand).deadline(Duration::from_ns(units * UNIT))
            };
            let c = setup.task(core, due("C", 7), move |_: &mut Job<'_>| {
                unit(shown_c, "C");
                unit(shown_c, "C");
            });
            let theirs = r1.clone();
            let b = setup.task(core, due("B", 8).uses(&r1), move |job: &mut Job<'_>| {
                unit(shown_b, "B");
                job.lock(&theirs, |(), _| unit(shown_b, "B*")).unwrap();
            });
            let ours = r1.clone();
            let a = setup.task(core, due("A", 20).uses(&r1), move |job: &mut Job<'_>| {
                // Time here counts in units from the arrival, so no machine disturbs it.
                let zero = job.arrival().as_ns();
                unit(shown_a, "A");
                job.lock(&ours, |(), job| {
                    for now in 1..7 {
                        if now == 2 {
                            job.release_as(b, Some(zero + 2 * UNIT)).unwrap();
                        }
                        if now == 4 {
                            job.release_as(c, Some(zero + 4 * UNIT)).unwrap();
                        }
                        unit(shown_a, "A*");
                    }
                })
                .unwrap();
                unit(shown_a, "A");
                unit(shown_a, "A");
            });
            setup
                .run(wanted, |exec| {
                    exec.release(a).unwrap();
                    while shown.lock().unwrap().len() < 13 {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                })
                .unwrap();
            let shown = shown.lock().unwrap().join(" ");
            assert_eq!(shown, "A A* A* A* A* A* A* B B* C C A A", "{rule:?} {wanted:?}");
        }
    }
}
