// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! DBP and TCCP by jobs, with a reader of lower priority and one of higher.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use taut_share::state::dbp::{self, NotActivated, Shape};
use taut_share::state::tccp;

use super::{Ground, Scene};
use crate::payload::{marked, number};

const W: u64 = 3;
type Value = [u64; W as usize];
const SHAPE: Shape = Shape::several_processors(1, 1);
/// The step bound of an attachment: two loads for each mailbox of the largest possible number, and a few.
const ATTACH_STEPS: u64 = 2 * 62 + 4;

/// What readers must read.
#[derive(Default)]
struct Expected {
    /// The last job of the writer that was activated.
    activated: Cell<u64>,
    /// Its last job that was completed.
    completed: Cell<u64>,
    /// Its jobs that have written.
    wrote: RefCell<Vec<u64>>,
    /// For each reader, while it runs: the job whose value it reads.
    reads: [Cell<Option<u64>>; 2],
}

impl Expected {
    fn activate_writer(&self, result: Result<u64, NotActivated>, alone: bool, was_running: bool) {
        match result {
            Ok(job) => {
                assert_eq!(job, self.activated.get() + 1);
                self.activated.set(job);
                assert!(!was_running || !alone, "activated while it runs");
            }
            Err(why) => {
                assert!(why != NotActivated::NoBuffer, "no buffer");
                assert!(why != NotActivated::Running || was_running, "it does not run");
            }
        }
    }

    fn activate_reader(&self, which: u8, result: Result<u64, NotActivated>, alone: bool, was_running: bool) {
        let version = self.activated.get().saturating_sub(u64::from(which));
        match result {
            Ok(job) => {
                assert_eq!(job, version);
                self.reads[usize::from(which)].set(Some(version));
                assert!(!was_running || !alone, "activated while it runs");
            }
            Err(why) => {
                assert!(matches!(why, NotActivated::OutOfOrder | NotActivated::Running));
                assert!(why != NotActivated::Running || was_running, "it does not run");
            }
        }
    }

    /// The job whose value a reader of job `version` gets; 0 for none.
    fn source(&self, version: u64) -> u64 {
        self.wrote.borrow().iter().rev().find(|job| **job <= version).copied().unwrap_or(0)
    }
}

macro_rules! flow {
    ($build:ident, $object:ident, $protocol:ident, $read_steps:expr, $not_yet:pat) => {
        struct $object {
            dispatcher: RefCell<Option<$protocol::Dispatcher<'static>>>,
            writer: RefCell<Option<$protocol::Writer<'static, Value>>>,
            readers: [RefCell<Option<$protocol::Reader<'static, Value>>>; 2],
            now_ns: Cell<u64>,
            reported: Expected,
            /// After the ends, so that it is dropped after them.
            ground: Ground,
        }

        pub(super) fn $build(ground: Ground) -> Rc<dyn Scene> {
            ground.take($protocol::bytes::<Value>(SHAPE).unwrap());
            // SAFETY: the only ends, each once, in one thread, dropped before the ground.
            let (dispatcher, writer, readers) = unsafe {
                let reader =
                    |which| RefCell::new(Some($protocol::reader(ground.memory(), SHAPE, which).unwrap()));
                (
                    $protocol::dispatcher::<Value>(ground.memory(), SHAPE).unwrap(),
                    $protocol::writer(ground.memory(), SHAPE).unwrap(),
                    [reader(0), reader(1)],
                )
            };
            Rc::new($object {
                dispatcher: RefCell::new(Some(dispatcher)),
                writer: RefCell::new(Some(writer)),
                readers,
                now_ns: Cell::new(0),
                reported: Expected::default(),
                ground,
            })
        }

        impl $object {
            fn activate(&self, how: u8) {
                let Some(mut dispatcher) = self.dispatcher.take() else { return };
                let (ground, reported) = (&self.ground, &self.reported);
                self.now_ns.set(self.now_ns.get() + u64::from(how / 3 % 2));
                let now_ns = self.now_ns.get();
                match how % 3 {
                    0 => {
                        let was_running = reported.activated.get() != reported.completed.get();
                        let done = ground.run(4, || dispatcher.activate_writer(now_ns));
                        if ground.is_honest() {
                            reported.activate_writer(done.result, done.alone, was_running);
                        }
                    }
                    which => {
                        let which = which - 1;
                        let was_running = reported.reads[usize::from(which)].get().is_some();
                        let done = ground.run(3, || dispatcher.activate_reader(which.into(), now_ns));
                        if ground.is_honest() {
                            reported.activate_reader(which, done.result, done.alone, was_running);
                        }
                    }
                }
                self.dispatcher.replace(Some(dispatcher));
            }

            fn write(&self, writer: &mut $protocol::Writer<'static, Value>, how: u8) {
                let (ground, reported) = (&self.ground, &self.reported);
                let runs = reported.activated.get() != reported.completed.get();
                let begun = ground.run(2, || writer.job());
                let honest = ground.is_honest();
                if honest && begun.alone {
                    assert_eq!(begun.result.is_some(), runs, "the writer's job");
                }
                if let Some(mut job) = begun.result {
                    let number = job.number();
                    let writes = how % 4 < 2;
                    if writes {
                        ground.run(W, || job.write(&marked(number)));
                    }
                    if how % 4 == 3 {
                        // As if the end had died there.
                        std::mem::forget(job);
                    } else {
                        ground.run(2 + 2 * W, || job.complete());
                        if ground.is_honest() {
                            assert_eq!(number, reported.activated.get(), "the writer's job");
                            reported.completed.set(number);
                            if writes {
                                reported.wrote.borrow_mut().push(number);
                            }
                        }
                    }
                }
            }

            fn read(&self, reader: &mut $protocol::Reader<'static, Value>, which: usize, how: u8) {
                let (ground, reported) = (&self.ground, &self.reported);
                let reads = reported.reads[which].get();
                let begun = ground.run(2, || reader.job());
                if ground.is_honest() && begun.alone {
                    let version = begun.result.as_ref().map(|job| job.version());
                    assert_eq!(version, reads, "the job of reader {which}");
                }
                if let Some(mut job) = begun.result {
                    let version = job.version();
                    if how % 8 == 7 {
                        ground.run(2, || job.is_ready());
                    }
                    for _ in 0..how % 3 {
                        let complete = reported.completed.get() >= version;
                        let done = ground.run($read_steps, || job.read());
                        if !ground.is_honest() {
                            if let (Ok(Some(value)), true) = (done.result, done.alone)
                                && !ground.is_garbage(&value)
                                && value != [0; W as usize]
                            {
                                number(&value);
                            }
                            continue;
                        }
                        let complete_now = reported.completed.get() >= version;
                        match done.result {
                            Ok(value) => {
                                assert!(complete_now, "job {version} is not complete");
                                let source = value.as_ref().map_or(0, number);
                                assert_eq!(source, reported.source(version), "the value of {version}");
                            }
                            Err($not_yet) => assert!(!complete, "job {version} is complete"),
                            #[allow(unreachable_patterns, reason = "one of the two has no more")]
                            Err(_) => assert!(reported.activated.get() > version, "nobody overtakes"),
                        }
                    }
                    if how & 8 != 0 {
                        std::mem::forget(job);
                    } else {
                        ground.run(1, || job.complete());
                        reported.reads[which].set(None);
                    }
                }
            }
        }

        impl Scene for $object {
            fn ground(&self) -> &Ground {
                &self.ground
            }

            fn ends(&self) -> u8 {
                4
            }

            fn operate(&self, end: u8, how: u8) {
                match end {
                    0 => self.activate(how),
                    1 => {
                        if let Some(mut writer) = self.writer.take() {
                            self.write(&mut writer, how);
                            self.writer.replace(Some(writer));
                        }
                    }
                    which => {
                        let which = usize::from(which) - 2;
                        if let Some(mut reader) = self.readers[which].take() {
                            self.read(&mut reader, which, how / 4);
                            self.readers[which].replace(Some(reader));
                        }
                    }
                }
            }

            fn succeed(&self, end: u8) {
                let memory = self.ground.memory();
                match end {
                    0 => {
                        if self.dispatcher.take().is_some() {
                            // SAFETY: the previous end is gone.
                            let attach = || unsafe { $protocol::dispatcher::<Value>(memory, SHAPE) };
                            self.dispatcher.replace(self.ground.run(ATTACH_STEPS, attach).result.ok());
                        }
                    }
                    1 => {
                        if self.writer.take().is_some() {
                            // SAFETY: the previous end is gone.
                            let attach = || unsafe { $protocol::writer(memory, SHAPE) };
                            self.writer.replace(self.ground.run(ATTACH_STEPS, attach).result.ok());
                        }
                    }
                    which => {
                        let which = u32::from(which) - 2;
                        let end = &self.readers[which as usize];
                        if end.take().is_some() {
                            // SAFETY: the previous end is gone.
                            let attach = || unsafe { $protocol::reader(memory, SHAPE, which) };
                            end.replace(self.ground.run(ATTACH_STEPS, attach).result.ok());
                        }
                    }
                }
            }
        }
    };
}
flow!(dbp, Dbp, dbp, 2 + W, dbp::NotYet);
flow!(tccp, Tccp, tccp, 4 + W, tccp::NotRead::NotYet);
