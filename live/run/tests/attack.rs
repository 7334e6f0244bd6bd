// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the safe code of an application can try: ends that it takes twice, forgets or hands to another task, and
//! panics whose payload panics. The runtime refuses each attempt, or the attempt is harmless. The applications are
//! booted, as those of `application.rs`.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Mutex;

use app::{STOP_APP, each, run, run_of};
use taut_run::{Error, Failure, Reason};
use taut_time::Duration;

const EXECUTORS: [&str; 2] = ["native", "dispatched"];

const TWO: &str = r#"
[tasks.tick]
arrival = { periodic = "2ms" }
deadline = "2ms"
wcet = { value = "100us", source = "guess" }
core = 0
priority = 50
on-overrun = "skip-next"
[tasks.other]
arrival = { periodic = "2ms" }
deadline = "2ms"
wcet = { value = "100us", source = "guess" }
core = 0
priority = 40
on-overrun = "skip-next"
[payloads]
Number = { type = "u64" }
[channels.pose]
kind = "state"
from = "tick"
to = ["other"]
payload = "Number"
[channels.words]
kind = "queue"
from = "tick"
to = ["other"]
payload = "Number"
capacity = 4
"#;

/// A value that panics again when it is dropped.
struct Again;

impl Drop for Again {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

/// A job panics with such a payload: the application ends as after any other panic.
#[test]
fn a_panic_that_carries_a_panic_ends_the_application() {
    for executor in EXECUTORS {
        let tables = format!("executor = \"{executor}\"\n{TWO}");
        let outcome = run_of(STOP_APP, &tables, Some(Duration::from_s(10)), |app| {
            app.task("tick", |create| {
                let _ = (create.state_writer::<u64>("pose")?, create.queue_writer::<u64>("words")?);
                Ok(each(|job| if job.number() < 3 { Ok(()) } else { panic_any(Again) }))
            })?;
            app.task("other", |create| {
                let _ = (create.state_reader::<u64>("pose")?, create.queue_reader::<u64>("words")?);
                Ok(each(|_| Ok(())))
            })
        });
        assert!(matches!(taut_event::Ending::of(&outcome.records), taut_event::Ending::Panic(_)));
        let ending = outcome.ending.unwrap();
        assert!(matches!(ending.reason, Reason::Panic(_)) && !ending.orderly, "{ending:?}");
        assert_eq!(outcome.reported.unfinished, ["tick: it panicked"]);
    }
}

/// An end is taken once, even if the task forgot it, handed it to another task, or took it in a `create` that
/// panicked or failed; and the end works for its holder.
#[test]
fn each_end_is_taken_once() {
    for executor in EXECUTORS {
        let outcome =
            run(&format!("executor = \"{executor}\"\n{TWO}"), Some(Duration::from_ms(100)), |app| {
                let (ours, theirs) = (Mutex::new(None), Mutex::new(None));
                let panics = catch_unwind(AssertUnwindSafe(|| {
                    app.task("tick", |create| {
                        *ours.lock().unwrap() = Some(create.state_writer::<u64>("pose")?);
                        std::mem::forget(create.queue_writer::<u64>("words")?);
                        panic_any(()) as Result<app::Each<fn(&mut taut_run::Job<'_>) -> _>, Error>
                    })
                }));
                assert!(panics.is_err());
                let fails = app.task("other", |create| {
                    *theirs.lock().unwrap() = Some(create.state_reader::<u64>("pose")?);
                    let _ = create.queue_reader::<u64>("words")?;
                    Err::<app::Each<fn(&mut taut_run::Job<'_>) -> _>, _>(Error::Thread(
                        "as asked for".to_owned(),
                    ))
                });
                assert!(matches!(fails, Err(Error::Thread(_))));
                let mut reader = theirs.into_inner().unwrap().unwrap();
                let mut writer = ours.into_inner().unwrap().unwrap();
                app.task("tick", |create| {
                    let refused =
                        [create.state_writer::<u64>("pose").err(), create.queue_writer::<u64>("words").err()];
                    assert!(
                        refused.iter().all(|error| matches!(error, Some(Error::Twice(_)))),
                        "{refused:?}"
                    );
                    // The end of another task, which that task handed on.
                    Ok(each(move |job| {
                        let _ = reader.latest(job);
                        Ok(())
                    }))
                })?;
                app.task("other", |create| {
                    assert!(matches!(create.state_reader::<u64>("pose"), Err(Error::Twice(_))));
                    assert!(matches!(create.queue_reader::<u64>("words"), Err(Error::Twice(_))));
                    assert!(matches!(create.state_writer::<u64>("pose"), Err(Error::NotYours { .. })));
                    Ok(each(move |job| writer.publish(job, 7).map_err(|_| Failure::Code(7))))
                })
            });
        assert!(outcome.ending.unwrap().orderly);
    }
}
