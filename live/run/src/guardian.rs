// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The thread that ends the application, whatever the application's code does: docs/decisions/0020.
//!
//! It runs above all other threads of the process, and sleeps until the next instant or a signal. Once it ends the
//! application where it stands, it takes no lock and does not use the heap.

use std::fmt::{self, Write};

use taut_event::{Ending, Record};
use taut_plan::Plan;
use taut_sys::interrupt::{self, Running};
use taut_sys::safe_state::{self, ThreadReport};
use taut_sys::{clock, crash, process, signals, terminal, thread};
use taut_time::Instant;

use crate::control::{Control, RESORT_NS, Reason};
use crate::heapless::Text;
use crate::outside;
use crate::safe_state::{Said, record};

/// Time from one stage to the next in ending a job over its limit.
const GRACE_NS: u64 = 1_000_000;
/// Time limit for everything before release 0.
const START_NS: u64 = 60_000_000_000;
/// How long threads may take to park.
const PARK_NS: u64 = 50_000_000;
/// How long the safe state waits for the jobs to park: a job that goes on may undo the safe state, and a job that
/// cannot be parked must not delay the safe state.
const REST_NS: u64 = 1_000_000;
/// How long the writing of what was recorded may take.
const WRITE_NS: u64 = 250_000_000;
/// Signals that are less than this apart count as one: a signal to a process group arrives several times if the
/// parent hands it on too.
const SAME_NS: u64 = 100_000_000;
/// Time between two checks of jobs' limits without the privilege for priorities.
const LOOK_NS: u64 = 1_000_000;
/// The exit code of an application that the guardian ends where it stands.
const EXIT: i32 = 4;

/// Why the guardian ends an application where it stands.
#[derive(Clone, Copy)]
enum Cause {
    /// A job did not end after its limit.
    Job(Running),
    /// The end of an application took too long: its jobs, or what follows them.
    Late { jobs: bool },
    /// Release 0 did not come.
    Start,
    /// A second signal.
    Second(i32),
    /// A thread crashed or called `exit`, or a signal came that ends the process.
    Crash(crash::Crash),
}

/// Termination signals that the guardian has taken.
#[derive(Default)]
struct Asked {
    first_ns: Option<u64>,
    /// Signals that the parent has sent; the parent hands on the signals that it receives.
    handed_on: u32,
    direct: u32,
}

/// Watches the application until [`Home`] is dropped.
pub(crate) struct Guardian<'c> {
    plan: &'c Plan,
    control: &'c Control,
}

/// Ends the guardian's watch when dropped.
pub(crate) struct Home<'c>(pub(crate) &'c Control);

impl Drop for Home<'_> {
    fn drop(&mut self) {
        self.0.stop();
        self.0.limit(u64::MAX);
    }
}

impl<'c> Guardian<'c> {
    pub(crate) fn new(plan: &'c Plan, control: &'c Control) -> Self {
        Self { plan, control }
    }

    /// Makes the calling thread the guardian, which calls `ready` once it watches.
    pub(crate) fn guard(&self, ready: impl FnOnce()) {
        let _ = signals::block_all();
        // At the highest priority that the system allows; without the privilege it is an ordinary thread.
        let high = (90..=99).rev().any(|priority| thread::set_fifo(priority).is_ok());
        let _ = crash::enrol_guardian(PARK_NS + WRITE_NS + RESORT_NS / 2);
        let _ = crash::take_sent();
        self.control.set_guardian(thread::tid());
        ready();
        let mut awaited = signals::termination().to_vec();
        awaited.push(interrupt::signal());
        awaited.push(signals::SIGCONT);
        let begun_ns = clock::monotonic_ns();
        let (mut asked, mut suspect) = (Asked::default(), None);
        loop {
            let now_ns = clock::monotonic_ns();
            self.control.looks(now_ns);
            if let Some(crash) = crash::seen() {
                self.end(Cause::Crash(crash));
            }
            let Some(until_ns) = self.look(now_ns, begun_ns, high, &mut suspect) else {
                break;
            };
            let left = std::time::Duration::from_nanos(until_ns.saturating_sub(now_ns));
            let timeout = (until_ns != u64::MAX).then_some(left);
            match signals::take(&awaited, timeout) {
                Ok(Some(taken)) if taken.number == signals::SIGCONT => {
                    outside::continued(clock::monotonic_ns())
                }
                Ok(Some(taken)) if taken.number != interrupt::signal() => {
                    if asked.is_second(taken) {
                        self.end(Cause::Second(taken.number));
                    }
                    self.control.stop_because(Reason::Signal(taken.number.unsigned_abs()));
                }
                Ok(_) => {}
                // No such error is known; the sleep only prevents spinning.
                Err(_) => clock::sleep_until(now_ns.saturating_add(LOOK_NS)),
            }
        }
        self.control.set_guardian(0);
        crash::dismiss_guardian();
    }

    /// Ends jobs, or the application, over their limit. Returns the instant of the next look; `None` if the guardian
    /// may end.
    fn look(&self, now_ns: u64, begun_ns: u64, high: bool, suspect: &mut Option<Running>) -> Option<u64> {
        let control = self.control;
        let Some(stopped_ns) = control.stopped_ns() else {
            if !control.has_begun() {
                let limit_ns = begun_ns.saturating_add(START_NS);
                if now_ns >= limit_ns {
                    self.end(Cause::Start);
                }
                return Some(limit_ns);
            }
            if now_ns >= control.end_ns() {
                control.stop_because(Reason::Elapsed);
                return Some(now_ns);
            }
            // Otherwise the probes check the limits.
            if !high && let Some(over) = interrupt::over_limit(now_ns) {
                control.over_limit(over.task);
                return Some(now_ns);
            }
            let look_ns = if high { u64::MAX } else { now_ns.saturating_add(LOOK_NS) };
            return Some(control.end_ns().min(look_ns));
        };
        let limit_ns = control.limit_ns();
        if limit_ns == Some(u64::MAX) {
            return None;
        }
        let (jobs, limit_ns) =
            (limit_ns.is_none(), limit_ns.unwrap_or(stopped_ns.saturating_add(control.jobs_ns())));
        control.resort_at(limit_ns.saturating_add(RESORT_NS));
        if now_ns >= limit_ns {
            self.end(Cause::Late { jobs });
        }
        let Some(Reason::Overrun(task) | Reason::Limit(task)) = control.reason().filter(|_| jobs) else {
            return Some(limit_ns);
        };
        let of_task = |running: &Running| u32::from(running.task) == task;
        let (interrupt_ns, end_ns) =
            (stopped_ns.saturating_add(GRACE_NS), stopped_ns.saturating_add(2 * GRACE_NS));
        // Finds the right job even if this thread is late: no job of the task begins after the stop request.
        *suspect = suspect.or_else(|| interrupt::running().find(of_task));
        match suspect.filter(Running::goes_on) {
            None => Some(limit_ns),
            Some(job) if now_ns >= end_ns => self.end(Cause::Job(job)),
            Some(job) if now_ns >= interrupt_ns => {
                allow_again();
                job.interrupt();
                Some(end_ns)
            }
            Some(_) => Some(interrupt_ns),
        }
    }

    /// Ends the application where it stands.
    fn end(&self, cause: Cause) -> ! {
        let begun_ns = clock::monotonic_ns();
        let all_ns = PARK_NS + safe_state::patience_ns() + WRITE_NS + RESORT_NS;
        self.control.resort_at(begun_ns.saturating_add(all_ns));
        allow_again();
        let park = |until_ns: u64| {
            while !interrupt::park() && clock::monotonic_ns() < until_ns {
                clock::sleep_until(clock::monotonic_ns().saturating_add(50_000));
            }
        };
        park(begun_ns.saturating_add(REST_NS));
        let rest = safe_state::bring_to_rest();
        park(begun_ns.saturating_add(PARK_NS));
        let mut words = Text::new();
        // Text that does not fit is cut off; text that stderr does not take is lost.
        let _ = self.explain(&mut words, cause, rest);
        let _ = terminal::write_error(words.text());
        // The main thread, an ordinary thread, must be able to run.
        let _ = thread::set_other();
        // The records that the main thread would write, except those that say where jobs stand.
        let at = Instant::from_ns(clock::monotonic_ns());
        let rest = rest.map(|rest| record(rest, self.control.rest_heap()));
        let last: &[Record] = match (rest, cause.ending().to_record(at)) {
            (Some(rest), Some(end)) => &[rest, end],
            (None, Some(end)) => &[end],
            _ => &[],
        };
        self.control.end_here(cause.ending(), WRITE_NS, last);
        match cause {
            Cause::Crash(crash) if crash.is_of_thread() => {
                crash::release_crashed_thread();
                interrupt::stay()
            }
            Cause::Crash(crash) if crash.signal != 0 => crash::end_by(crash.signal, EXIT),
            _ => process::exit_now(EXIT),
        }
    }

    fn explain(&self, words: &mut Text, cause: Cause, rest: Option<ThreadReport>) -> fmt::Result {
        write!(words, "taut: {} ends at once: ", self.plan.app)?;
        match cause {
            Cause::Job(job) => write!(words, "task `{}` did not end within its limit", self.name(job.task))?,
            Cause::Late { jobs: true } => write!(
                words,
                "jobs did not end within {} ms of the request",
                self.control.jobs_ns() / 1_000_000
            )?,
            Cause::Late { jobs: false } => write!(words, "the steps after the last job took too long")?,
            Cause::Start => write!(words, "release 0 did not come within {} s", START_NS / 1_000_000_000)?,
            Cause::Second(signal) => write!(words, "signal {signal}, after an earlier signal")?,
            Cause::Crash(crash) if crash.signal == 0 => write!(words, "thread {} called exit", crash.who)?,
            Cause::Crash(crash) if !crash.sent => {
                write!(words, "signal {} in thread {}", crash.signal, crash.who)?
            }
            Cause::Crash(crash) if crash.who == 0 => {
                write!(words, "signal {} from the kernel", crash.signal)?
            }
            Cause::Crash(crash) => write!(words, "signal {} from process {}", crash.signal, crash.who)?,
        }
        words.write_str("\n")?;
        if let Some(rest) = rest {
            writeln!(words, "  {}", Said { rest, heap: self.control.rest_heap() })?;
        }
        for job in interrupt::running() {
            let (name, number) = (self.name(job.task), job.number);
            write!(words, "  task `{name}`, job {number}: ")?;
            match job.resource() {
                Some((resource, true)) => write!(words, "holds `{}`, ", resource_name(self.plan, resource))?,
                Some((resource, false)) => {
                    write!(words, "requests `{}`, ", resource_name(self.plan, resource))?
                }
                None => {}
            }
            match job.stood() {
                None => words.write_str("its position is not known")?,
                Some(stood) => {
                    words.write_str(if stood.in_call { "in a system call" } else { "computing" })?;
                    match stood.offset {
                        Some(offset) => write!(words, " at {offset:#x} of the program")?,
                        None => words.write_str(" in a library")?,
                    }
                    for (at, offset) in stood.trail.into_iter().flatten().enumerate() {
                        write!(words, "{} {offset:#x}", if at == 0 { ", called from" } else { "," })?;
                    }
                }
            }
            words.write_str("\n")?;
        }
        Ok(())
    }

    fn name(&self, task: u16) -> &str {
        self.plan.tasks.get(usize::from(task)).map_or("?", |task| task.name.as_str())
    }
}

/// Takes back the signal that interrupts and parks threads: a library may have taken it for itself meanwhile.
fn allow_again() {
    let _ = interrupt::allow();
}

impl Cause {
    fn ending(self) -> Ending {
        match self {
            Self::Job(job) => Ending::Limit(job.task.into()),
            Self::Late { jobs: true } => Ending::Jobs,
            Self::Late { jobs: false } => Ending::Finish,
            Self::Start => Ending::Start,
            Self::Second(signal) => Ending::Again(signal.unsigned_abs()),
            Self::Crash(crash) if crash.signal == 0 => Ending::Left,
            Self::Crash(crash) => Ending::Killed(crash.signal.unsigned_abs()),
        }
    }
}

/// The name of a resource by its number: the manifest's resources come first, then states under locks, in the order
/// of the channels.
fn resource_name(plan: &Plan, number: u16) -> &str {
    let states = plan.channels.iter().filter(|channel| channel.mechanism.locking().is_some());
    let names = plan.resources.iter().map(|resource| &resource.name).chain(states.map(|state| &state.name));
    names.into_iter().nth(number.into()).map_or("?", String::as_str)
}

impl Asked {
    /// Whether this is the second request to end.
    fn is_second(&mut self, taken: signals::Taken) -> bool {
        let now_ns = clock::monotonic_ns();
        let first_ns = *self.first_ns.get_or_insert(now_ns);
        if now_ns != first_ns && now_ns.saturating_sub(first_ns) < SAME_NS {
            return false;
        }
        let handed_on = taken.sender == process::parent();
        *(if handed_on { &mut self.handed_on } else { &mut self.direct }) += 1;
        self.handed_on.max(self.direct) > 1
    }
}
