// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The thread that brings outputs to rest before the application ends: docs/decisions/0026.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread::{Builder, Scope};

use taut_event::Record;
use taut_plan::STACK_BYTES;
use taut_sys::interrupt::ThreadSlot;
use taut_sys::safe_state::{self, ThreadEnd, ThreadReport};
use taut_sys::{process, signals, terminal, thread};
use taut_time::{Duration, Instant};

use crate::control::Control;
use crate::{Error, heap_uses};

/// The application's code for the safe state.
pub(crate) struct Hook<'p>(pub(crate) Box<dyn FnMut() + Send + 'p>);

impl fmt::Debug for Hook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// The exit code of an application whose safe state does not return.
const EXIT: i32 = 4;
/// Below the guardian, above all tasks.
const PRIORITY: u8 = 98;

/// The thread of the safe state, until this value is dropped; after that, outputs are at rest.
pub(crate) struct SafeState<'c>(&'c Control);

impl<'c> SafeState<'c> {
    /// Starts the thread, and waits until it is ready.
    pub(crate) fn start<'scope, 'p>(
        threads: &'scope Scope<'scope, '_>,
        control: &'c Control,
        budget: Duration,
        mut hook: Hook<'p>,
    ) -> Result<Self, Error>
    where
        'p: 'scope,
        'c: 'scope,
    {
        let (ready, is_ready) = mpsc::channel();
        let builder = Builder::new().name("safe-state".to_owned()).stack_size(STACK_BYTES);
        let spawned = builder.spawn_scoped(threads, move || {
            let _ = signals::block_all();
            let _thread_slot = ThreadSlot::apart();
            // If the system refuses every priority, the thread stays ordinary.
            let _ = (1..=PRIORITY).rev().any(|priority| thread::set_fifo(priority).is_ok());
            thread::prefault_stack(STACK_BYTES - (64 << 10));
            safe_state::prepare(budget.as_ns());
            let _ = ready.send(());
            drop(ready);
            if !safe_state::wait() {
                return;
            }
            let before = heap_uses();
            // The payload of a panic is leaked: dropping it might panic again.
            let well = catch_unwind(AssertUnwindSafe(|| (hook.0)())).map_err(std::mem::forget).is_ok();
            if let Some((after, before)) = heap_uses().zip(before) {
                control.set_rest_heap(after.saturating_sub(before));
            }
            safe_state::end(well);
        });
        spawned
            .map_err(|error| Error::Thread(format!("cannot start the thread of the safe state: {error}")))?;
        let gone = |_| Error::Thread("the thread of the safe state did not become ready".to_owned());
        is_ready.recv().map_err(gone)?;
        Ok(Self(control))
    }
}

impl Drop for SafeState<'_> {
    /// Runs however the scope is left. A thread that does not return cannot be joined, so the process ends here.
    fn drop(&mut self) {
        if let Some(rest) = safe_state::bring_to_rest().filter(|_| !safe_state::has_returned()) {
            let _ = terminal::write_error(&format!("taut: {}\n", Said { rest, heap: self.0.rest_heap() }));
            process::exit_now(EXIT);
        }
        safe_state::send_home();
    }
}

/// The outcome as a record.
pub(crate) fn record(rest: ThreadReport, heap: Option<u64>) -> Record {
    let outcome = match rest.outcome {
        ThreadEnd::Done => taut_event::SafeStateOutcome::Reached,
        ThreadEnd::Failed => taut_event::SafeStateOutcome::Panicked,
        ThreadEnd::Crashed(signal) => taut_event::SafeStateOutcome::Crashed(signal.unsigned_abs()),
        ThreadEnd::Late => taut_event::SafeStateOutcome::Late,
        ThreadEnd::NotStarted => taut_event::SafeStateOutcome::NotStarted,
    };
    outcome.to_record(Instant::from_ns(rest.asked_ns), rest.ended_ns.saturating_sub(rest.asked_ns), heap)
}

/// The outcome as text for a person.
pub(crate) struct Said {
    pub(crate) rest: ThreadReport,
    pub(crate) heap: Option<u64>,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took_us = self.rest.ended_ns.saturating_sub(self.rest.asked_ns).div_ceil(1_000);
        match self.rest.outcome {
            ThreadEnd::Done => write!(f, "outputs were brought to rest in {took_us} us")?,
            ThreadEnd::Failed => f.write_str("outputs may not be at rest: the safe state panicked")?,
            ThreadEnd::Crashed(signal) => {
                write!(f, "outputs may not be at rest: signal {signal} in the safe state")?;
            }
            ThreadEnd::Late => write!(
                f,
                "outputs may not be at rest: the safe state did not return within its budget ({took_us} us)"
            )?,
            ThreadEnd::NotStarted => {
                f.write_str("outputs may not be at rest: the safe state did not get a processor")?;
            }
        }
        match self.heap {
            Some(uses) if uses > 0 => write!(f, "; it used the heap {uses} times, which may block"),
            _ => Ok(()),
        }
    }
}
