// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processes that kill themselves with SIGKILL before the n-th shared step of what a dispatcher, a writer or a reader
//! of DBP and TCCP does, for every n. The tests check what the crash tables of the protocols' files say, and that a
//! successor continues. `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test deaths_flow`.
#![cfg(steps)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

#[path = "../payload/mod.rs"]
mod payload;
#[path = "../process/mod.rs"]
mod process;

use std::os::unix::process::ExitStatusExt;

use payload::marked;
use process::{Mapping, orders};
use taut_atomic::steps::strike_at;
use taut_share::state::dbp::{self, NotActivated, Shape};
use taut_share::state::tccp;

type Value = [u64; 3];
const W: u64 = 3;
const SHAPE: Shape = Shape { lower: 1, higher: 1, buffers: 4 };

fn die() {
    // SAFETY: it kills this process, on purpose.
    unsafe { libc::raise(libc::SIGKILL) };
}

/// The started processes: each attaches, does the work of its role, and dies before the n-th step of that.
#[test]
fn process() {
    let Some((role, mapping, n)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    macro_rules! roles {
        ($protocol:ident, $role:expr) => {
            match $role {
                "dispatcher" => {
                    // SAFETY: the test starts one at a time.
                    let attached = unsafe { $protocol::dispatcher::<Value>(mapping.memory(), SHAPE) };
                    let mut dispatcher = attached.unwrap();
                    strike_at(n, die);
                    dispatcher.activate_writer(2).unwrap();
                    dispatcher.activate_reader(0, 2).unwrap();
                    dispatcher.activate_reader(1, 2).unwrap();
                }
                "writer" => {
                    // SAFETY: the test starts one at a time.
                    let attached = unsafe { $protocol::writer::<Value>(mapping.memory(), SHAPE) };
                    let mut writer = attached.unwrap();
                    strike_at(n, die);
                    writer.job().unwrap().write(&marked(2));
                }
                "reader" => {
                    // SAFETY: the test starts one at a time.
                    let attached = unsafe { $protocol::reader::<Value>(mapping.memory(), SHAPE, 0) };
                    let mut reader = attached.unwrap();
                    strike_at(n, die);
                    assert_eq!(reader.job().unwrap().read(), Ok(Some(marked(1))));
                }
                other => unreachable!("no role {other}"),
            }
        };
    }
    match role.split_once('-').unwrap() {
        ("dbp", role) => roles!(dbp, role),
        ("tccp", role) => roles!(tccp, role),
        other => unreachable!("no role {other:?}"),
    }
}

/// Lets a process in `role` die before step `n` of `steps`; at `steps` + 1 it must complete them.
fn dies(mapping: &Mapping, role: &str, n: u64, steps: u64) {
    let status = mapping.start(role, n).wait();
    let expected = (n <= steps).then_some(libc::SIGKILL);
    assert_eq!(status.signal(), expected, "{role} at step {n}: {status}");
    assert!(n <= steps || status.success(), "{role}: {status}");
}

macro_rules! deaths {
    ($name:ident, $protocol:ident, $steps:expr) => {
        mod $name {
            use super::*;
            const STEPS: [u64; 3] = $steps;

            type Group<'m> =
                ($protocol::Dispatcher<'m>, $protocol::Writer<'m, Value>, Vec<$protocol::Reader<'m, Value>>);

            /// An object whose writer has written `marked(1)` in job 1.
            fn object(mapping: &Mapping) -> Group<'_> {
                let (mut dispatcher, mut writer, readers) =
                    $protocol::group::<Value>(mapping.memory(), SHAPE).unwrap();
                dispatcher.activate_writer(1).unwrap();
                writer.job().unwrap().write(&marked(1));
                (dispatcher, writer, readers.collect())
            }

            fn mapping() -> Mapping {
                Mapping::create($protocol::bytes::<Value>(SHAPE).unwrap())
            }

            /// Checks that everything continues as if nothing had happened.
            fn goes_on((dispatcher, writer, readers): &mut Group<'_>, mut last: u64) {
                for at in 10..15 {
                    let job = dispatcher.activate_writer(at).unwrap();
                    assert_eq!(dispatcher.activate_reader(0, at), Ok(job));
                    assert_eq!(dispatcher.activate_reader(1, at), Ok(job - 1));
                    assert_eq!(readers[1].job().unwrap().read(), Ok(Some(marked(last))));
                    writer.job().unwrap().write(&marked(at));
                    assert_eq!(readers[0].job().unwrap().read(), Ok(Some(marked(at))));
                    last = at;
                }
            }

            #[test]
            fn dispatcher() {
                for n in 1..=STEPS[0] + 1 {
                    let mapping = mapping();
                    let mut group = object(&mapping);
                    dies(&mapping, concat!(stringify!($protocol), "-dispatcher"), n, STEPS[0]);
                    // SAFETY: the previous dispatchers have ended or are not used again.
                    group.0 = unsafe { $protocol::dispatcher::<Value>(mapping.memory(), SHAPE) }.unwrap();
                    // Each activation has its job; nothing else has one.
                    let mut last = 1;
                    if let Some(mut job) = group.1.job() {
                        assert_eq!(job.number(), 2);
                        assert_eq!(group.0.activate_writer(2), Err(NotActivated::Running));
                        job.write(&marked(2));
                        last = 2;
                    }
                    for (which, expected) in [(0, last), (1, 1)] {
                        let Some(mut job) = group.2[which].job() else { continue };
                        assert_eq!((job.version(), job.read()), (expected, Ok(Some(marked(expected)))));
                        let again = group.0.activate_reader(which as u32, 2);
                        assert_eq!(again, Err(NotActivated::Running));
                    }
                    assert!(n <= STEPS[0] || last == 2);
                    goes_on(&mut group, last);
                }
            }

            #[test]
            fn writer() {
                for n in 1..=STEPS[1] + 1 {
                    let mapping = mapping();
                    let mut group = object(&mapping);
                    group.0.activate_writer(2).unwrap();
                    group.0.activate_reader(0, 2).unwrap();
                    dies(&mapping, concat!(stringify!($protocol), "-writer"), n, STEPS[1]);
                    // SAFETY: the previous writers have ended or are not used again.
                    group.1 = unsafe { $protocol::writer::<Value>(mapping.memory(), SHAPE) }.unwrap();
                    let complete = n > STEPS[1];
                    assert_eq!(group.2[0].job().unwrap().read().is_ok(), complete, "step {n}");
                    assert_eq!(
                        group.1.job().is_none(),
                        complete,
                        "the guard is dropped: the job is complete"
                    );
                    group.0.activate_reader(0, 3).unwrap();
                    let last = if complete { 2 } else { 1 };
                    assert_eq!(group.2[0].job().unwrap().read(), Ok(Some(marked(last))), "step {n}");
                    goes_on(&mut group, last);
                }
            }

            #[test]
            fn reader() {
                for n in 1..=STEPS[2] + 1 {
                    let mapping = mapping();
                    let mut group = object(&mapping);
                    group.0.activate_reader(0, 2).unwrap();
                    dies(&mapping, concat!(stringify!($protocol), "-reader"), n, STEPS[2]);
                    for at in 3..5 {
                        group.0.activate_writer(at).unwrap();
                        group.1.job().unwrap().write(&marked(at));
                    }
                    let complete = n > STEPS[2];
                    let again = group.0.activate_reader(0, 5);
                    assert_eq!(again, if complete { Ok(3) } else { Err(NotActivated::Running) }, "step {n}");
                    // SAFETY: the previous readers have ended or are not used again.
                    group.2[0] = unsafe { $protocol::reader::<Value>(mapping.memory(), SHAPE, 0) }.unwrap();
                    let value = marked(if complete { 4 } else { 1 });
                    assert_eq!(group.2[0].job().unwrap().read(), Ok(Some(value)), "step {n}");
                    goes_on(&mut group, 4);
                }
            }
        }
    };
}

// Dispatcher: a new one looks at each end before it activates it. Writer: its job, the words, its completion. Reader:
// 2 loads for its job, 2 or 3 and a fence for the value, its completion.
deaths!(of_dbp, dbp, [4 + 2 + 2, 1 + W + 1, 2 + 2 + W + 1]);
deaths!(of_tccp, tccp, [2 + 3 + 3, 2 + W + 1, 2 + 3 + 1 + W + 1]);
