// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the executor costs, in one run: `cargo bench -p taut-exec --bench exec`. Needs the privilege for SCHED_FIFO.
//!
//! Each row names the two events between which it measures. `--quick` takes a tenth of the samples; `locks`, `ready`,
//! `releases` and `switches` name parts. `calls` counts the locks in which a job makes a system call.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and may fail")]

use std::hint::black_box;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use taut_exec::{CoreResource, Job, LocalRule, Release, Setup, TaskId, TaskSetup, Wanted};
use taut_sys::usage::thread_usage;
use taut_sys::{clock, machine, thread};
use taut_time::Duration;

const RULES: [LocalRule; 4] = [LocalRule::Srp, LocalRule::Dfp, LocalRule::Immediate, LocalRule::Original];
const PERIOD_US: u64 = 700;

fn row(name: &str, unit: &str, values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    println!(
        "{name:<44} min {:8.2}  p50 {:8.2}  p99 {:8.2}  max {:9.2} {unit}  ({} samples)",
        at(0.0),
        at(0.5),
        at(0.99),
        at(1.0),
        values.len()
    );
    at(0.5)
}

/// Runs one job of the last task that `tasks` makes, on a core of its own, for `ms`. It should be done by then: who stops
/// earlier calls the dispatcher, which leaves it a note.
fn one_job<'w>(rule: LocalRule, ms: u64, tasks: impl FnOnce(&mut Setup<'w>, taut_exec::CoreId) -> TaskId) {
    let mut setup = Setup::new();
    let core = setup.core(cpu(), rule);
    let last = tasks(&mut setup, core);
    setup
        .run(Wanted::Strict, |exec| {
            exec.release(last).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(ms));
        })
        .unwrap();
}

fn cpu() -> u16 {
    thread::affinity().unwrap()[0]
}

fn hand(name: &str, priority: u32) -> TaskSetup {
    let deadline = Duration::from_ms(1_000_000 / u64::from(priority));
    TaskSetup::new(name, Release::ByHand).priority(priority).deadline(deadline)
}

const BATCH: u64 = 2_000;

fn batch(job: &mut Job<'_>, resource: &CoreResource<u64>) -> f64 {
    let begin = clock::monotonic_ns();
    for _ in 0..BATCH {
        job.lock(black_box(resource), |value, _| *value += 1).unwrap();
    }
    (clock::monotonic_ns() - begin) as f64 / BATCH as f64
}

/// Lock and unlock by a job, with `ready` others that wait for the core, in a loop.
fn locks(rule: LocalRule, ready: u32, rounds: usize) -> Vec<f64> {
    let costs = Mutex::new(Vec::with_capacity(rounds));
    one_job(rule, 30, |setup, core| {
        let resource = setup.resource(core, 0_u64);
        let others: Vec<_> =
            (0..ready).map(|at| setup.task(core, hand("waits", 1 + at), |_: &mut Job<'_>| {})).collect();
        let (costs, ours) = (&costs, resource.clone());
        setup.task(core, hand("locks", 1000).uses(&resource), move |job: &mut Job<'_>| {
            for other in &others {
                job.release(*other).unwrap();
            }
            for _ in 0..rounds {
                let cost = batch(job, &ours);
                costs.lock().unwrap().push(cost);
            }
        })
    });
    costs.into_inner().unwrap()
}

fn mutexes(rounds: usize) -> Vec<f64> {
    let mutex = Mutex::new(0_u64);
    let round = |_| {
        let begin = clock::monotonic_ns();
        for _ in 0..BATCH {
            *black_box(&mutex).lock().unwrap() += 1;
        }
        (clock::monotonic_ns() - begin) as f64 / BATCH as f64
    };
    (0..rounds).map(round).collect()
}

/// From a release to the first instruction of its job, ns; the machine idle otherwise.
fn releases(count: usize) -> Vec<f64> {
    let latencies = Mutex::new(Vec::with_capacity(count + 100));
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Srp);
    let period = Release::Periodic { period: Duration::from_us(PERIOD_US), offset: Duration::ZERO };
    let ours = &latencies;
    setup.task(core, TaskSetup::new("t", period), move |job: &mut Job<'_>| {
        let late = job.now().as_ns() - job.arrival().as_ns();
        ours.lock().unwrap().push(late as f64 / 1000.0);
    });
    let time = std::time::Duration::from_micros(PERIOD_US * count as u64);
    setup.run(Wanted::Strict, |exec| exec.wait(Some(time))).unwrap();
    latencies.into_inner().unwrap()
}

/// The same of a thread that sleeps until then.
fn bare(count: usize) -> Vec<f64> {
    let sleeper = std::thread::spawn(move || {
        thread::set_affinity(&[cpu()]).unwrap();
        thread::set_fifo(96).unwrap();
        let mut latencies = Vec::with_capacity(count);
        let mut due = clock::monotonic_ns() + 5_000_000;
        for _ in 0..count {
            clock::sleep_until(due);
            let now = clock::monotonic_ns();
            latencies.push((now - due) as f64 / 1000.0);
            while due <= now {
                due += PERIOD_US * 1000;
            }
        }
        latencies
    });
    sleeper.join().unwrap()
}

/// Wake of a thread of a higher priority on the same CPU: from the call to its first instruction.
fn wakes(count: usize) -> Vec<f64> {
    use std::sync::atomic::AtomicU32;
    let (word, at) = (AtomicU32::new(0), AtomicU64::new(0));
    std::thread::scope(|threads| {
        let upper = threads.spawn(|| {
            thread::set_affinity(&[cpu()]).unwrap();
            thread::set_fifo(90).unwrap();
            let mut costs = Vec::with_capacity(count);
            for round in 0..count as u32 {
                while word.load(Ordering::Acquire) == round {
                    let _ = taut_sys::futex::wait(&word, round, None, false);
                }
                costs.push((clock::monotonic_ns() - at.load(Ordering::Relaxed)) as f64 / 1000.0);
            }
            costs
        });
        let lower = threads.spawn(|| {
            thread::set_affinity(&[cpu()]).unwrap();
            thread::set_fifo(80).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5));
            for round in 1..=count as u32 {
                word.store(round, Ordering::Release);
                at.store(clock::monotonic_ns(), Ordering::Relaxed);
                let _ = taut_sys::futex::wake(&word, 1, false);
            }
        });
        lower.join().unwrap();
        upper.join().unwrap()
    })
}

/// What a job and one that it releases tell each other: the instant of the last event.
struct Baton {
    at: AtomicU64,
    costs: Mutex<Vec<f64>>,
}

impl Baton {
    fn new(count: usize) -> Self {
        Self { at: AtomicU64::new(0), costs: Mutex::new(Vec::with_capacity(count)) }
    }

    fn begin(&self) {
        self.at.store(clock::monotonic_ns(), Ordering::Relaxed);
    }

    fn end(&self) {
        let cost = clock::monotonic_ns() - self.at.load(Ordering::Relaxed);
        self.costs.lock().unwrap().push(cost as f64 / 1000.0);
    }

    fn costs(self) -> Vec<f64> {
        self.costs.into_inner().unwrap()
    }
}

/// From an unlock to the first instruction of the job that the ceiling kept out; and from its last one to the next of the
/// job that it preempted.
fn unlocks(count: usize) -> (Vec<f64>, Vec<f64>) {
    let (there, back) = (Baton::new(count), Baton::new(count));
    one_job(LocalRule::Srp, 30, |setup, core| {
        let resource = setup.resource(core, 0_u64);
        let (there, back, ours) = (&there, &back, resource.clone());
        let upper = setup.task(core, hand("upper", 10).uses(&resource), move |_: &mut Job<'_>| {
            there.end();
            back.begin();
        });
        setup.task(core, hand("lower", 1).uses(&resource), move |job: &mut Job<'_>| {
            for _ in 0..count {
                job.lock(&ours, |_, job| {
                    job.release(upper).unwrap();
                    there.begin();
                })
                .unwrap();
                back.end();
            }
        })
    });
    (there.costs(), back.costs())
}

/// From the last instruction of a job to the first of the next that has not begun.
fn completions(count: usize) -> Vec<f64> {
    let baton = Baton::new(count);
    let left = AtomicU64::new(0);
    one_job(LocalRule::Srp, 30, |setup, core| {
        let (baton, left) = (&baton, &left);
        let tasks: Vec<_> = (0..20)
            .map(|at| {
                setup.task(core, hand("next", 2 + at), move |_: &mut Job<'_>| {
                    if left.fetch_sub(1, Ordering::Relaxed) < 20 {
                        baton.end();
                    }
                    baton.begin();
                })
            })
            .collect();
        let resource = setup.resource(core, 0_u64);
        // Keeps all out until all are released.
        let all = setup.task(core, hand("keeps out", 1000).uses(&resource), |_: &mut Job<'_>| {});
        let _ = all;
        let ours = resource.clone();
        setup.task(core, hand("first", 1).uses(&resource), move |job: &mut Job<'_>| {
            for _ in 0..count / 20 {
                left.store(20, Ordering::Relaxed);
                job.lock(&ours, |_, job| tasks.iter().for_each(|task| job.release(*task).unwrap())).unwrap();
            }
        })
    });
    baton.costs()
}

const COUNTED: u32 = 1_000_000;

/// Of locks that nobody else wants, how many make a system call, and how often the job was switched out meanwhile, behind which
/// the next lock reads the thread's clock; and whether one is counted that has a system call inside.
#[cfg(target_arch = "x86_64")]
fn calls(rule: LocalRule) {
    let reported = Mutex::new(None);
    one_job(rule, 1_000, |setup, core| {
        let resource = setup.resource(core, 0_u64);
        let (ours, reported) = (resource.clone(), &reported);
        setup.task(core, hand("locks", 1).uses(&resource), move |job: &mut Job<'_>| {
            dispatch::begin();
            let before = thread_usage();
            // Behind a switch that came before the count, this lock makes its call.
            job.lock(&ours, |_, _| ()).unwrap();
            for _ in 0..COUNTED {
                dispatch::counted(|| job.lock(black_box(&ours), |value, _| *value += 1).unwrap());
            }
            let switched = thread_usage().since(before);
            let switches = switched.voluntary_switches + switched.involuntary_switches;
            let locks = dispatch::taken();
            dispatch::counted(|| {
                job.lock(&ours, |_, _| black_box(thread::affinity()).map(drop)).unwrap().unwrap()
            });
            let inside = dispatch::taken();
            dispatch::end();
            *reported.lock().unwrap() = Some((locks, switches, inside));
        })
    });
    let (locks, switches, inside) = reported.into_inner().unwrap().expect("the job is done");
    println!(
        "{COUNTED} {rule:?}: {locks} with a call, {switches} switches; {inside} of 1 with a call inside"
    );
}

#[cfg(not(target_arch = "x86_64"))]
fn calls(_: LocalRule) {
    println!("not counted: this processor's system calls cannot be handed to their caller");
}

/// Counts stretches of a thread's code in which it makes a system call. Linux hands the first one of each to a handler
/// (*syscall user dispatch*), which lets it and all further ones pass. Who traces would switch the thread out at each, and a lock
/// behind that makes another.
#[cfg(target_arch = "x86_64")]
mod dispatch {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

    use taut_sys::switched::SwitchMark;

    /// The kernel reads it at each system call of the thread.
    static PASS: AtomicU8 = AtomicU8::new(LET_PASS);
    // <linux/prctl.h>
    const LET_PASS: u8 = 0;
    const HAND_OVER: u8 = 1;
    const SET: libc::c_int = 59;
    const OFF: usize = 0;
    const ON: usize = 1;
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static MARK: OnceLock<SwitchMark> = OnceLock::new();
    /// `syscall`, in bytes.
    const INSTRUCTION: i64 = 2;

    extern "C" fn handed_over(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        PASS.store(LET_PASS, Ordering::Relaxed);
        COUNT.fetch_add(1, Ordering::Relaxed);
        // A signal is no switch, though it clears the mark of one.
        if let Some(mark) = MARK.get() {
            mark.set();
        }
        // SAFETY: of a handler with SA_SIGINFO the third argument is the context of the thread that it interrupts, which nothing
        // else touches meanwhile. The thread stands behind the instruction, all registers as they were before it: it goes there
        // again.
        unsafe {
            (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] -= INSTRUCTION
        };
    }

    /// From now on, of the calling thread.
    pub(super) fn begin() {
        MARK.get_or_init(SwitchMark::new);
        // SAFETY: all zeros are a `sigaction`; the handler is one with SA_SIGINFO, and does only what a handler may. The word that
        // the kernel reads lives for ever.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handed_over as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()), 0);
            let done = libc::prctl(SET, ON, 0_usize, 0_usize, PASS.as_ptr());
            assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        }
    }

    pub(super) fn end() {
        // SAFETY: by value; nothing is read any more.
        let done = unsafe { libc::prctl(SET, OFF, 0_usize, 0_usize, 0_usize) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }

    /// A stretch. Calls of a handler of another signal count as well.
    pub(super) fn counted<R>(stretch: impl FnOnce() -> R) -> R {
        PASS.store(HAND_OVER, Ordering::Relaxed);
        let result = stretch();
        PASS.store(LET_PASS, Ordering::Relaxed);
        result
    }

    /// How many there were with a call; counts from 0 again.
    pub(super) fn taken() -> u32 {
        COUNT.swap(0, Ordering::Relaxed)
    }
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let names: Vec<_> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let asked = |name: &str| names.is_empty() || names.iter().any(|asked| *asked == name);
    let scale = if quick { 1 } else { 10 };
    if names.iter().any(|name| *name == "calls") {
        RULES.into_iter().for_each(calls);
        return;
    }
    let _awake = machine::dma_latency_hold().ok();
    for (name, value) in machine::machine_facts() {
        println!("{name} = {value}");
    }
    if asked("locks") {
        println!("\nlock + unlock, one job, nothing else ready (ns)");
        row("std's mutex", "ns", &mut mutexes(20 * scale));
        for rule in RULES {
            row(&format!("{rule:?}"), "ns", &mut locks(rule, 0, 20 * scale));
        }
    }
    if asked("ready") {
        println!("\nthe same, with others that wait for the core");
        for rule in [LocalRule::Srp, LocalRule::Dfp] {
            for ready in [0, 1, 3, 10, 50, 89] {
                row(&format!("{rule:?}, {ready} ready"), "ns", &mut locks(rule, ready, 10 * scale));
            }
        }
    }
    if asked("releases") {
        println!("\nrelease to first instruction, every {PERIOD_US} us (us)");
        let mut ratios = Vec::new();
        for _ in 0..8 {
            let one = row("a thread that sleeps until then", "us", &mut bare(70 * scale));
            let ours = row("dispatched", "us", &mut releases(70 * scale));
            ratios.push(ours / one);
        }
        row("dispatched / bare, p50 of a round", "", &mut ratios);
    }
    if asked("switches") {
        println!("\nswitches on one CPU (us)");
        row("futex wake to a higher thread's first", "us", &mut wakes(200 * scale));
        let (mut there, mut back) = unlocks(200 * scale);
        row("unlock to first instruction of another", "us", &mut there);
        row("completion to the job it had preempted", "us", &mut back);
        row("completion to a job not yet begun", "us", &mut completions(200 * scale));
        println!("(a clock read, which each of these has once, takes about 0.02 us)");
    }
}
