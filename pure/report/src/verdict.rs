// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::Serialize;
use taut_event::Ending;
use taut_plan::Plan;

/// What the records say about the proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything recorded stayed within its bound.
    Kept,
    /// So it did, but for this many responses, latencies or ages, each of which the platform probe accounts for
    /// in full.
    KeptButMachine(u64),
    /// Something exceeded its bound and it was ours, or the run did not come to its own end, or what was recorded cannot
    /// show that all was kept.
    Broken(Vec<Breach>),
}

impl Verdict {
    /// Whether nothing of ours broke a bound.
    pub fn holds(&self) -> bool {
        !matches!(self, Self::Broken(_))
    }

    /// `kept`, `kept-but-machine` or `broken`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::KeptButMachine(_) => "kept-but-machine",
            Self::Broken(_) => "broken",
        }
    }
}

/// Why a response was late, as far as the records tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    /// A job in the same busy window used more processor time than its WCET.
    Wcet {
        /// Whose WCET was too small.
        of: String,
        /// The WCET of the plan, margin included.
        wcet_ns: u64,
        /// What the job used.
        used_ns: u64,
    },
    /// The plan has no bound for it, or one beyond its deadline.
    NotProven,
    /// The core stood free for the job for longer than the plan allows from a release to the first instruction.
    Release {
        /// How long it stood free.
        late_ns: u64,
        /// The plan's overhead of a release.
        planned_ns: u64,
    },
    /// A real-time thread that is none of the application's had the core, for at least as long as is not explained otherwise.
    ForeignThread {
        /// Its name.
        thread: String,
        /// Its number.
        tid: u32,
        /// What it used around this job.
        ran_ns: u64,
    },
    /// All threads of the application were stopped from outside.
    Stopped,
    /// A tracer (a debugger, `strace`) was attached.
    Traced {
        /// Its process.
        pid: u32,
    },
    /// It had not ended when the records did.
    Unfinished {
        /// When it began, after its release; none if it did not.
        began_ns: Option<u64>,
        /// What it can have run since then at most: that time less what jobs used that began and ended in it.
        ran_ns: u64,
        /// The WCET of the plan, margin included.
        wcet_ns: u64,
        /// Where it stood, if that was recorded.
        stood: Option<Place>,
    },
    /// No job exceeded its WCET: an overhead or a blocking is larger than the plan's, or the machine stood
    /// still without its probe noticing.
    Unknown,
}

/// Where a job stood when the application was ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Whether in a call of the kernel; none if nobody knows.
    pub in_call: Option<bool>,
    /// Which instruction of the program, from its beginning; none in a library.
    pub offset: Option<u64>,
    /// The resource that it held or waited for.
    pub resource: Option<String>,
    /// Whether it held that.
    pub held: bool,
}

/// What ended a run that did not come to its own end; tasks by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum Ended {
    /// A task with `on-overrun = "stop-app"` overran.
    Overrun {
        /// Which.
        task: String,
    },
    /// A job panicked.
    Panic {
        /// Of which task.
        task: String,
    },
    /// A signal ended the process.
    Killed {
        /// Its number.
        signal: u32,
    },
    /// The process ended before its run did, or not in order.
    Exited {
        /// With this code.
        code: u32,
    },
    /// A job did not end after its limit; the application was ended where it stood, as in those that follow.
    Limit {
        /// Of which task.
        task: String,
    },
    /// The jobs that ran did not end in the time that they have when the application is asked to end.
    Jobs,
    /// What follows the last job took too long.
    Finish,
    /// Release 0 did not come in time.
    Start,
    /// A second signal.
    Again {
        /// Its number.
        signal: u32,
    },
    /// A thread called `exit`.
    Left,
    /// A best-effort task did not return.
    BestEffort {
        /// Which.
        task: String,
    },
    /// The rest of its recording could not be written.
    Unwritten,
    /// The records just end: the application was killed, or still runs.
    Unrecorded,
}

/// What became of the code that brings outputs to rest, if it did not return within its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Unrest {
    /// It panicked.
    Panicked,
    /// A signal came of what it did.
    Crashed {
        /// Its number.
        signal: u32,
    },
    /// It was not done within its budget.
    Late,
    /// It did not get a processor.
    NotStarted,
    /// The record is of another version.
    Unknown,
}

impl Ended {
    /// Of a run that ended so; `None` if that was its own end.
    pub(crate) fn of(ending: Ending, plan: &Plan) -> Option<Self> {
        let name = |task: u32| plan.tasks.get(task as usize).map_or("?", |task| &task.name).to_owned();
        Some(match ending {
            ending if ending.is_own() => return None,
            Ending::Overrun(task) => Self::Overrun { task: name(task) },
            Ending::Panic(task) => Self::Panic { task: name(task) },
            Ending::Killed(signal) => Self::Killed { signal },
            Ending::Exited(code) => Self::Exited { code },
            Ending::Limit(task) => Self::Limit { task: name(task) },
            Ending::Jobs => Self::Jobs,
            Ending::Finish => Self::Finish,
            Ending::Start => Self::Start,
            Ending::Again(signal) => Self::Again { signal },
            Ending::Left => Self::Left,
            Ending::BestEffort(task) => Self::BestEffort { task: name(task) },
            Ending::Unwritten => Self::Unwritten,
            _ => Self::Unrecorded,
        })
    }
}

/// The name of the main thread among those that were moved.
pub(crate) const MAIN: &str = "main";

/// Something that was promised and not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "breach", rename_all = "kebab-case")]
pub enum Breach {
    /// A job took longer than its bound.
    Response {
        /// Whose job.
        task: String,
        /// Which job.
        job: u64,
        /// Its release, after release 0.
        at_ns: u64,
        /// Its response time; of an unfinished job, until the records end.
        response_ns: u64,
        /// The bound, or the deadline where that is shorter.
        limit_ns: u64,
        /// Whether it missed its deadline as well.
        missed: bool,
        /// Whether the records end before it completed.
        unfinished: bool,
        /// What the machine took at most in its busy window; less than what would explain it.
        stolen_ns: u64,
        /// Why.
        #[serde(flatten)]
        cause: Cause,
    },
    /// A value waited in a channel longer than its bound.
    Latency {
        /// Which channel.
        channel: String,
        /// When it was received, after release 0.
        at_ns: u64,
        /// How long it waited.
        latency_ns: u64,
        /// The bound.
        limit_ns: u64,
    },
    /// The data at the end of a chain were older than its bound.
    Age {
        /// Which chain.
        chain: String,
        /// When they reached the end, after release 0.
        at_ns: u64,
        /// How old they were.
        age_ns: u64,
        /// The bound, or the manifest's limit where that is shorter.
        limit_ns: u64,
    },
    /// A chain showed something later than its bound on reactions.
    Reaction {
        /// Which chain.
        chain: String,
        /// When it showed at the end, after release 0.
        at_ns: u64,
        /// How long before that it can have happened.
        reaction_ns: u64,
        /// The bound, or the manifest's limit where that is shorter.
        limit_ns: u64,
    },
    /// A value was lost in a queue between real-time tasks, whose capacity was proven to suffice.
    Drop {
        /// Which channel.
        channel: String,
        /// When, after release 0.
        at_ns: u64,
        /// How many values.
        dropped: u64,
    },
    /// Releases of a task with `on-overrun = "run-on"` were dropped: more waited, while its core stood still or was late, than fall due in the
    /// longest stall that is tolerated, 10 s. In a synchronous flow they count as jobs that do nothing.
    ReleasesDropped {
        /// Whose.
        task: String,
        /// How many.
        releases: u64,
        /// When the first of them was due, after release 0.
        at_ns: u64,
    },
    /// Records of a real-time task were lost: what is not recorded cannot be shown to be kept.
    Lost {
        /// Whose records.
        task: String,
        /// How many.
        records: u64,
    },
    /// Records of a core were lost: of the jobs of all its tasks.
    LostOnCore {
        /// Its CPU.
        cpu: u16,
        /// How many.
        records: u64,
    },
    /// Jobs slept, or waited for something that their dispatcher does not know, while they held a resource: others of the
    /// core may have run meanwhile, against the rule.
    Slept {
        /// Whose.
        task: String,
        /// How often.
        times: u64,
    },
    /// A real-time thread was moved from outside: it was no longer scheduled as it was put before release 0, so that the
    /// proof does not hold from then on.
    Moved {
        /// The task; none if the thread is no task's.
        task: Option<String>,
        /// Which thread of its CPU, if it is no task's: `probe`, `dispatcher`, or `thread 1` and on, which take turns with jobs; or
        /// `main`, which had been kept off that CPU, with all that is beside the tasks as a rule.
        thread: Option<String>,
        /// Where it was put.
        cpu: u16,
        /// Linux' number of its policy when that was seen: 0 `SCHED_OTHER`, 1 `SCHED_FIFO`.
        policy: u64,
        /// Its priority then.
        priority: u64,
        /// Whether it might run on other CPUs, or did.
        unpinned: bool,
        /// When that was seen, after release 0.
        at_ns: u64,
    },
    /// All threads of the application were stopped from outside (SIGSTOP, SIGCONT): what was promised was not kept meanwhile, and
    /// no job is to blame.
    Stopped {
        /// From when on, after release 0.
        at_ns: u64,
        /// For how long, as the probes saw it.
        lasted_ns: u64,
    },
    /// A tracer (a debugger, `strace`) was attached to the application, which stops its threads: nothing that was measured
    /// then is its own.
    Traced {
        /// Its process.
        pid: u32,
        /// From when on at the earliest, after release 0.
        at_ns: u64,
        /// From then until it was seen last.
        lasted_ns: u64,
    },
    /// A real-time thread that is none of the application's had a core of it, and jobs were late by that.
    ForeignThread {
        /// Its name.
        thread: String,
        /// Its number.
        tid: u32,
        /// Linux' number of its policy: 1 `SCHED_FIFO`, 2 `SCHED_RR`, 6 `SCHED_DEADLINE`.
        policy: u64,
        /// Its priority.
        priority: u64,
        /// The CPU.
        cpu: u16,
        /// What it used of that, as far as was seen.
        ran_ns: u64,
        /// From when on at the earliest, after release 0.
        at_ns: u64,
        /// How many jobs were late by it.
        jobs: u64,
    },
    /// The run did not come to its own end.
    Ended {
        /// What ended it.
        #[serde(flatten)]
        ending: Ended,
    },
    /// A job ran when the application was ended where it stood.
    Stood {
        /// Whose.
        task: String,
        /// Which job.
        job: u64,
        /// Whether it was in a call of the kernel, if that is known.
        in_call: Option<bool>,
        /// The address in the program, from where that is loaded; none in a library, or if it is not known.
        offset: Option<u64>,
        /// The resource that it had or had asked for last.
        resource: Option<String>,
        /// Whether it had that.
        held: bool,
    },
    /// Outputs may not be at rest.
    NotAtRest {
        /// Why.
        #[serde(flatten)]
        why: Unrest,
        /// How long it was waited for.
        took_ns: u64,
    },
    /// The recording is not whole: nothing behind a place of the file was read.
    Damaged {
        /// From this byte of the file on.
        byte: u64,
        /// How many bytes were not read.
        bytes: u64,
        /// Whether the file just ends inside of a block, as one that was cut or whose writer was ended.
        cut: bool,
    },
    /// Records could not be written, as a disk was full, say.
    Unwritten {
        /// How many.
        records: u64,
        /// The system's error.
        os_error: u32,
    },
    /// Jobs whose records are missing or contradict each other.
    Faulty {
        /// Of which task.
        task: String,
        /// How many.
        jobs: u64,
    },
    /// Releases of a periodic task end long before those of others.
    Silent {
        /// Whose.
        task: String,
        /// When the first of those that are missing was due, after release 0.
        at_ns: u64,
    },
    /// Records of kinds that this version does not know, or of tasks that the plan does not have.
    Unknown {
        /// How many.
        records: u64,
    },
    /// There are real-time tasks, and no job of any of them completed.
    Nothing,
}

/// Something that a reader must know beside the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "warning", rename_all = "kebab-case")]
pub enum Warning {
    /// The plan does not prove every deadline and chain.
    NotProven,
    /// The process lacked what a guarantee needs, so the proof did not hold for this run.
    Degraded {
        /// Which: `priorities`, `cores`, `memory`, …
        guarantee: String,
        /// What the system said.
        why: String,
    },
    /// Nothing told threads that they were switched out, so processor times were read anew at each look.
    NoSwitchMark {
        /// Why not.
        why: String,
        /// What a look took, measured before release 0; none if nobody did.
        look_ns: Option<u64>,
    },
    /// Jobs used more processor time than their WCET, and no stall explains it.
    Wcet {
        /// Whose.
        task: String,
        /// The plan's WCET, margin included.
        wcet_ns: u64,
        /// The most that a job used.
        used_ns: u64,
        /// In how many jobs.
        jobs: u64,
    },
    /// A real-time thread did after release 0 what it must not.
    Conduct {
        /// Which thread.
        task: String,
        /// Heap use, page faults, or blocking.
        what: &'static str,
        /// How often.
        count: u64,
    },
    /// What brings outputs to rest used the heap.
    RestHeap {
        /// How often.
        times: u64,
    },
    /// Threads that take turns on a dispatched core took page faults after release 0.
    CoreFaults {
        /// Its CPU.
        cpu: u16,
        /// How many.
        count: u64,
    },
    /// Jobs stood still while they held a resource, and so did the machine, or somebody had stopped the application: whether
    /// they slept as well, nobody knows.
    Stopped {
        /// Whose.
        task: String,
        /// How often.
        times: u64,
    },
    /// A real-time thread that is none of the application's had a core of it; no job was late by that.
    ForeignThread {
        /// Its name.
        thread: String,
        /// Its number.
        tid: u32,
        /// Linux' number of its policy: 1 `SCHED_FIFO`, 2 `SCHED_RR`, 6 `SCHED_DEADLINE`.
        policy: u64,
        /// Its priority.
        priority: u64,
        /// The CPU.
        cpu: u16,
        /// What it used of that, as far as was seen.
        ran_ns: u64,
    },
    /// Jobs returned an error.
    Failed {
        /// Whose.
        task: String,
        /// How many.
        jobs: u64,
    },
    /// Jobs asked their release scope for more than it has.
    ScopeExceeded {
        /// Whose.
        task: String,
        /// How many times.
        times: u64,
    },
    /// Values were lost in a channel that may lose some.
    Dropped {
        /// Which.
        channel: String,
        /// How many.
        values: u64,
    },
    /// Records of a thread without deadlines were lost.
    Lost {
        /// Whose.
        task: String,
        /// How many.
        records: u64,
    },
    /// The recording has a limit and kept the newest: what came before is not judged.
    Since {
        /// From here on it is, after release 0.
        at_ns: u64,
        /// How many records made room.
        records: u64,
    },
    /// Jobs, values, ages or reactions beyond their bounds, values lost, or sleeps with a resource that are laid to nobody:
    /// what led to them began before the recording does.
    NotJudged {
        /// How many.
        findings: u64,
    },
    /// Values or ages beyond their bounds, or values lost, as somebody on their way was paused by its service or had stopped.
    Paused {
        /// How many.
        findings: u64,
    },
}
