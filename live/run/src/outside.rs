// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What outsiders do to a running application: they move its threads, trace them, stop them, or run real-time
//! threads of their own on its cores. The main thread, which is not real-time, looks for this and records it: no
//! job pays for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use taut_event::{Foreign, Kind, Record};
use taut_exec::{Exec, Outside, Violation, Who};
use taut_plan::Plan;
use taut_sys::outside::{real_time_threads, tracer_of};
use taut_sys::thread::ThreadPolicy;
use taut_sys::{clock, process, thread};
use taut_time::Instant;

use crate::heapless::Text;
use crate::names::position;

/// How often the main thread checks the placements of threads: three short system calls for each thread, two for
/// itself.
const PLACES_NS: u64 = 200_000_000;
/// The least time between two looks for foreign real-time threads; these looks also take at most a fiftieth of the
/// main thread's time.
const FOREIGN_NS: u64 = 20_000_000;
const FOREIGN_SHARE: u64 = 50;
/// A foreign thread that used less processor time between two looks is not recorded.
const FOREIGN_LEAST_NS: u64 = 100_000;
/// Time to a second look, which confirms a finding that may be a change in progress.
const CONFIRM_NS: u64 = 2_000_000;
/// For this long after a tracer or a stop, whatever dispatched threads find still counts as its consequence: a
/// disturbed order of threads shows only when each of them has run again.
const AFTERMATH_NS: u64 = 250_000_000;
/// An outsider may have stopped a core that stood still for this long.
const GAP_NS: u64 = 5_000_000;

/// When the main thread last saw a tracer, and the tracer's process.
static TRACED_NS: AtomicU64 = AtomicU64::new(0);
static TRACED_BY: AtomicU64 = AtomicU64::new(0);
/// When the process last continued after a stop.
static CONTINUED_NS: AtomicU64 = AtomicU64::new(0);
/// When a probe last found that its core had stood still for at least [`GAP_NS`], and for how long.
static GAP_AT_NS: AtomicU64 = AtomicU64::new(0);
static GAP_NS_LONG: AtomicU64 = AtomicU64::new(0);
/// The external cause of the end of the process, for the last lines of its recording: kind, CPU, job and value.
/// Kind 0: there is no external cause.
static CAUSE: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// Notes that the process has received SIGCONT.
pub(crate) fn continued(now_ns: u64) {
    CONTINUED_NS.store(now_ns, Ordering::Release);
}

/// Notes how late a probe was. *Real-time*: usually one comparison.
pub(crate) fn stood_still(now_ns: u64, late_ns: u64) {
    if late_ns >= GAP_NS {
        GAP_NS_LONG.store(late_ns, Ordering::Relaxed);
        GAP_AT_NS.store(now_ns, Ordering::Release);
    }
}

/// Prints a violation, and leaves its cause for the main thread, before a dispatched core ends the process.
pub(crate) fn violated(violation: &Violation<'_>) {
    let now_ns = clock::monotonic_ns();
    let lately = |ns: &AtomicU64| {
        let at_ns = ns.load(Ordering::Acquire);
        at_ns != 0 && now_ns.saturating_sub(at_ns) < AFTERMATH_NS
    };
    let before = || {
        if lately(&TRACED_NS) {
            return Some(Outside::Traced { by: TRACED_BY.load(Ordering::Relaxed) as u32 });
        }
        lately(&CONTINUED_NS).then_some(Outside::Stopped)
    };
    let outside = violation.outside.or_else(before);
    Violation { outside, ..*violation }.report();
    if let Some(outside) = outside {
        let (kind, job, value) = encode(outside);
        for (word, value) in CAUSE.iter().zip([0, u64::from(violation.cpu), job, value]) {
            word.store(value, Ordering::Relaxed);
        }
        CAUSE[0].store(kind as u64, Ordering::Release);
    } else if lately(&GAP_AT_NS) {
        // Nothing shows which of the two caused the violation.
        let stood_ms = GAP_NS_LONG.load(Ordering::Relaxed) / 1_000_000;
        let mut words = Text::new();
        let _ = writeln!(
            words,
            "  note: shortly before, all threads stood still for {stood_ms} ms: the machine stalled, or \
             another program (a debugger) had stopped the threads, which may be the cause"
        );
        let _ = taut_sys::terminal::write_error(words.text());
    }
}

fn encode(outside: Outside) -> (Kind, u64, u64) {
    match outside {
        Outside::Stopped => (Kind::Stopped, 0, 0),
        Outside::Traced { by } => (Kind::Stopped, 1, by.into()),
        Outside::Moved { who, policy, pinned, .. } => {
            let job = match who {
                Who::Dispatcher => 0,
                Who::Worker(number) => u64::from(number) + 1,
            };
            (Kind::CoreMoved, job, moved_value(policy, pinned))
        }
    }
}

/// The value of a record that says where a thread was moved.
pub(crate) fn moved_value(policy: ThreadPolicy, pinned: bool) -> u64 {
    let (number, priority) = match policy {
        ThreadPolicy::Other => (0, 0),
        ThreadPolicy::Fifo(priority) => (1, priority.into()),
        ThreadPolicy::Unknown(number) => (u64::from(number.unsigned_abs()) & 0xff, 0),
    };
    number | priority << 8 | u64::from(!pinned) << 16
}

/// What the main thread looks for, and what it has seen so far.
pub(crate) struct Lookout<'e> {
    plan: &'e Plan,
    executor: Option<&'e Exec<'e>>,
    own: i32,
    /// The CPUs to which the main thread and the threads that inherit from it were confined; `None` if unknown.
    house: Option<Vec<u16>>,
    places_ns: u64,
    /// Threads of dispatched cores that are already recorded as moved.
    moved: BTreeSet<(u32, u64)>,
    foreign_ns: u64,
    looked_ns: u64,
    /// When this process was started, in clock ticks since boot: a younger thread had used no processor time before
    /// that.
    started: u64,
    /// Processor time that each foreign thread had used when it was last seen, by its id and start.
    used: BTreeMap<(i32, u64), u64>,
    /// For each core, the priority from which on Linux may prefer a foreign thread to one of ours.
    least: Vec<u8>,
    continued_ns: u64,
}

impl<'e> Lookout<'e> {
    /// For the main thread, once all threads are placed: what foreign threads have used until now is not recorded.
    /// `natives` are the CPUs and priorities of threads that have tasks of their own.
    pub(crate) fn new(plan: &'e Plan, executor: Option<&'e Exec<'e>>, natives: &[(u16, u8)]) -> Self {
        let least = plan.cores.iter().map(|core| {
            let here = natives.iter().filter(|(cpu, _)| *cpu == core.cpu).map(|(_, priority)| *priority);
            let dispatched = executor.and_then(|executor| executor.least_priority(core.cpu.into()));
            here.chain(dispatched).min().unwrap_or(1)
        });
        let least = least.collect();
        let now_ns = clock::monotonic_ns();
        let mut lookout = Self {
            plan,
            executor,
            own: thread::tid(),
            house: thread::affinity().ok(),
            places_ns: now_ns,
            moved: BTreeSet::new(),
            foreign_ns: now_ns,
            looked_ns: now_ns,
            started: process::start_time_of(process::pid()).unwrap_or(u64::MAX),
            used: BTreeMap::new(),
            least,
            continued_ns: CONTINUED_NS.load(Ordering::Acquire),
        };
        lookout.foreign(now_ns, true, &mut |_| ());
        lookout
    }

    /// Does the checks that are due; `places` checks the threads with tasks of their own. At the end of a run every
    /// check is due.
    pub(crate) fn look(
        &mut self,
        now_ns: u64,
        at_end: bool,
        places: impl Fn() -> Vec<Record>,
        emit: &mut impl FnMut(Record),
    ) {
        let continued_ns = CONTINUED_NS.load(Ordering::Acquire);
        if continued_ns != self.continued_ns {
            self.continued_ns = continued_ns;
            emit(record(Kind::Stopped, continued_ns, 0, 0, 0));
        }
        let mut tracer = tracer_of(self.own);
        if at_end || now_ns >= self.places_ns.saturating_add(PLACES_NS) {
            self.places_ns = now_ns;
            places().into_iter().for_each(&mut *emit);
            self.core_places(emit);
            self.own_place(emit);
            tracer = tracer.or_else(|| self.executor.and_then(Exec::tracer));
        }
        if let Some(by) = tracer {
            TRACED_BY.store(by.into(), Ordering::Relaxed);
            TRACED_NS.store(now_ns, Ordering::Release);
            emit(record(Kind::Stopped, now_ns, 0, 1, by.into()));
        }
        if at_end || now_ns >= self.foreign_ns {
            self.foreign(now_ns, false, emit);
        }
    }

    /// The external cause of the end of the process, if there is one. Recorded when the process ends.
    pub(crate) fn cause(plan: &Plan) -> Option<Record> {
        let kind = Kind::from_number(u8::try_from(CAUSE[0].load(Ordering::Acquire)).ok()?)?;
        let [_, cpu, job, value] = [0, 1, 2, 3].map(|at: usize| CAUSE[at].load(Ordering::Relaxed));
        let core = plan.cores.iter().position(|core| u64::from(core.cpu) == cpu).map_or(0, position);
        let subject = if kind == Kind::CoreMoved { core } else { 0 };
        Some(record(kind, clock::monotonic_ns(), subject, job, value))
    }

    /// Checks the threads of dispatched cores. Records only what two checks find, some milliseconds apart: a single
    /// finding may be a change that the runtime itself was making.
    fn core_places(&mut self, emit: &mut impl FnMut(Record)) {
        let Some(executor) = self.executor else { return };
        let key = |(cpu, outside): &(u32, Outside)| (*cpu, encode(*outside).1);
        let mut found: Vec<(u32, Outside)> = executor.outside().collect();
        found.retain(|one| !self.moved.contains(&key(one)));
        if found.is_empty() {
            return;
        }
        clock::sleep_until(clock::monotonic_ns().saturating_add(CONFIRM_NS));
        let again: Vec<(u32, Outside)> = executor.outside().collect();
        for one in found.into_iter().filter(|one| again.contains(one)) {
            let Some(core) = self.plan.cores.iter().position(|core| u32::from(core.cpu) == one.0) else {
                continue;
            };
            self.moved.insert(key(&one));
            let (kind, job, value) = encode(one.1);
            emit(record(kind, clock::monotonic_ns(), position(core), job, value));
        }
    }

    /// Records if the main thread may now run on cores that it was kept off. An outsider who moves the main thread
    /// usually moves all threads beside the tasks, and some of those run before the tasks.
    fn own_place(&mut self, emit: &mut impl FnMut(Record)) {
        let (Some(house), Ok(now)) = (&mut self.house, thread::affinity()) else { return };
        let entered = |cpu: &u16| now.contains(cpu) && !house.contains(cpu);
        let policy = thread::current_policy().unwrap_or(ThreadPolicy::Other);
        for (core, _) in self.plan.cores.iter().enumerate().filter(|(_, core)| entered(&core.cpu)) {
            let value = moved_value(policy, now.len() == 1);
            emit(record(Kind::ProbeMoved, clock::monotonic_ns(), position(core), 1, value));
        }
        // Each core is recorded once.
        house.extend(now);
    }

    /// Records foreign real-time threads that ran on a core of ours since the last look.
    fn foreign(&mut self, now_ns: u64, first: bool, emit: &mut impl FnMut(Record)) {
        // Measures the look by its processor time: a thread that is not real-time also waits for others, and that wait
        // must not delay its next look.
        let begun_ns = clock::thread_cpu_ns();
        let Self { plan, used, least, looked_ns, started, .. } = self;
        let since = Instant::from_ns(std::mem::replace(looked_ns, now_ns));
        let mut there: BTreeMap<(i32, u64), u64> = BTreeMap::new();
        real_time_threads(|thread| {
            let key = (thread.tid, thread.started);
            there.insert(key, thread.ran_ns);
            let before = used.get(&key).copied();
            // A thread that existed before this process and is real-time only now did not use its processor time until
            // now as a real-time thread.
            let before_ns = before.unwrap_or(if thread.started >= *started { 0 } else { thread.ran_ns });
            let ran_ns = thread.ran_ns.saturating_sub(before_ns);
            let Some(core) = plan.cores.iter().position(|core| core.cpu == thread.cpu) else { return };
            // SCHED_DEADLINE threads run before all priorities.
            let above = thread.policy == 6 || thread.priority >= least[core];
            if first || !above || ran_ns < FOREIGN_LEAST_NS {
                return;
            }
            let foreign = Foreign {
                core: position(core),
                tid: thread.tid.unsigned_abs(),
                policy: thread.policy,
                priority: thread.priority,
                name: thread.name,
                since,
                until: Instant::from_ns(now_ns),
                ran_ns,
            };
            foreign.to_records().into_iter().for_each(&mut *emit);
        });
        *used = there;
        let took_ns = clock::thread_cpu_ns().saturating_sub(begun_ns);
        self.foreign_ns = now_ns.saturating_add(FOREIGN_NS.max(took_ns.saturating_mul(FOREIGN_SHARE)));
    }
}

fn record(kind: Kind, at_ns: u64, subject: u16, job: u64, value: u64) -> Record {
    Record { at: Instant::from_ns(at_ns), kind, cpu: 0, subject, job, value }
}
