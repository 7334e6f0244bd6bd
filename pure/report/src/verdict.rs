// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::Serialize;
use taut_event::Ending;
use taut_plan::Plan;

/// What the records say about the proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunVerdict {
    /// Everything recorded stayed within its bound.
    Kept,
    /// The same, except for this many responses, latencies or ages, for each of which the platform probe accounts in
    /// full.
    KeptButMachine(u64),
    /// Something exceeded its bound by our fault, or the run did not come to its own end, or the records cannot show
    /// that every bound was kept.
    Broken(Vec<Breach>),
}

impl RunVerdict {
    /// Whether no bound was broken by our fault.
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

/// Why a response was late, as far as the records show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Cause {
    /// A job in the same busy window used more processor time than its WCET.
    Wcet {
        /// The task whose WCET was too small.
        of: String,
        /// The WCET of the plan, margin included.
        wcet_ns: u64,
        /// The processor time that the job used.
        used_ns: u64,
    },
    /// The plan has no bound for it, or one beyond its deadline.
    NotProven,
    /// The core was free for the job for longer than the plan allows from a release to the first instruction.
    Release {
        /// How long it was free.
        late_ns: u64,
        /// The plan's overhead of a release.
        planned_ns: u64,
    },
    /// The same in a run without real-time priorities, in which any other program may have had the core.
    NoPriority {
        /// How long the core was free of other jobs.
        late_ns: u64,
    },
    /// Real-time threads outside of the application used the job's core, or a core for which the job waited, together
    /// for at least the time that has no other explanation; this thread used most.
    ForeignThread {
        /// Its name.
        thread: String,
        /// Its number.
        tid: u32,
        /// The time that it used around this job.
        ran_ns: u64,
    },
    /// All threads of the application were stopped from outside.
    Stopped,
    /// A tracer (a debugger, `strace`) was attached.
    Traced {
        /// Its process.
        pid: u32,
    },
    /// The job had not ended when the records did.
    Unfinished {
        /// Its start, after its release; none if it did not start.
        began_ns: Option<u64>,
        /// The most that it can have run since its start: the time until the records end, less the time used by jobs
        /// that started and ended meanwhile.
        ran_ns: u64,
        /// The WCET of the plan, margin included.
        wcet_ns: u64,
        /// Where it stood, if that was recorded.
        stood: Option<JobLocation>,
    },
    /// No job exceeded its WCET: an overhead or a blocking is larger than the plan's, or the machine stood still
    /// without its probe noticing.
    Unknown,
}

/// Where a job stood when the application was ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobLocation {
    /// Whether it was in a system call; none if that is not known.
    pub in_call: Option<bool>,
    /// The address of the instruction, relative to the program's load address; none in a library.
    pub offset: Option<u64>,
    /// The resource that it held or waited for.
    pub resource: Option<String>,
    /// Whether it held the resource.
    pub held: bool,
}

/// What ended a run that did not come to its own end; tasks by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "ended", rename_all = "kebab-case")]
pub enum Ended {
    /// A task with `on-overrun = "stop-app"` overran.
    Overrun {
        /// The task.
        task: String,
    },
    /// A job panicked.
    Panic {
        /// The job's task.
        task: String,
    },
    /// A signal ended the process.
    Killed {
        /// Its number.
        signal: u32,
    },
    /// The process ended before its run did, or not in order.
    Exited {
        /// Its exit code.
        code: u32,
    },
    /// A job did not end within its limit. The application was ended without waiting for it, here and in the next
    /// cases.
    Limit {
        /// The job's task.
        task: String,
    },
    /// The running jobs did not end within the time that they have after the application is asked to end.
    Jobs,
    /// The work after the last job took too long.
    Finish,
    /// Release 0 did not come in time.
    Start,
    /// A second signal came.
    Again {
        /// Its number.
        signal: u32,
    },
    /// A thread called `exit`.
    Left,
    /// A best-effort task did not return.
    BestEffort {
        /// The task.
        task: String,
    },
    /// The application could not write the rest of its recording.
    Unwritten,
    /// The records stop without an end record: the application was killed, or still runs.
    Unrecorded,
}

/// Why the outputs may not be in their safe state: the safe-state code did not return within its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Unrest {
    /// It panicked.
    Panicked,
    /// It raised a signal.
    Crashed {
        /// Its number.
        signal: u32,
    },
    /// It did not return within its budget.
    Late,
    /// It did not get a processor.
    NotStarted,
    /// The record is of another version.
    Unknown,
}

impl Ended {
    /// The ending of a run; `None` if the run came to its own end.
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

/// The name of the main thread in [`Breach::Moved`].
pub(crate) const MAIN: &str = "main";

/// A bound or an assumption of the plan that the run did not keep, or is not shown to have kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "breach", rename_all = "kebab-case")]
pub enum Breach {
    /// A job took longer than its bound.
    Response {
        /// The job's task.
        task: String,
        /// The number of the job.
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
        /// The most that the machine took in its busy window; too little to explain the lateness.
        stolen_ns: u64,
        /// The cause.
        #[serde(flatten)]
        cause: Cause,
    },
    /// A value waited in a channel longer than its bound.
    Latency {
        /// The channel.
        channel: String,
        /// When the reader received it, after release 0.
        at_ns: u64,
        /// How long it waited.
        latency_ns: u64,
        /// The bound.
        limit_ns: u64,
    },
    /// The data at the end of a chain were older than its bound.
    Age {
        /// The chain.
        chain: String,
        /// When the data reached the end, after release 0.
        at_ns: u64,
        /// The age of the data.
        age_ns: u64,
        /// The bound, or the manifest's limit where that is shorter.
        limit_ns: u64,
    },
    /// A chain's output reflected an event later than the chain's bound on reactions.
    Reaction {
        /// The chain.
        chain: String,
        /// The instant of the output, after release 0.
        at_ns: u64,
        /// The longest time since such an event.
        reaction_ns: u64,
        /// The bound, or the manifest's limit where that is shorter.
        limit_ns: u64,
    },
    /// A value was lost in a queue between real-time tasks, whose capacity was proven to suffice.
    Drop {
        /// The channel.
        channel: String,
        /// When, after release 0.
        at_ns: u64,
        /// How many values.
        dropped: u64,
    },
    /// Releases of a task with `on-overrun = "run-on"` were dropped: while its core stood still or was late, more of
    /// them waited than fall due in the longest tolerated stall, 10 s. In a synchronous flow they count as jobs that
    /// do nothing.
    ReleasesDropped {
        /// The task.
        task: String,
        /// How many.
        releases: u64,
        /// When the first of them was due, after release 0.
        at_ns: u64,
    },
    /// A job panicked, and its task had no further job: its service stopped, as the manifest says. From then on the
    /// running system is not the one that was proven.
    Panicked {
        /// The task.
        task: String,
        /// The job.
        job: u64,
        /// The instant, after release 0.
        at_ns: u64,
    },
    /// Jobs of a task with `heap = "deny"` used the heap. It served them, in a time that no proof includes.
    HeapUsed {
        /// The task.
        task: String,
        /// How many jobs.
        jobs: u64,
        /// When the first of them completed, after release 0.
        at_ns: u64,
    },
    /// A task followed a change of mode later than the plan proves.
    ModeChange {
        /// The old mode.
        from: String,
        /// The new mode.
        to: String,
        /// The task: it stopped, or completed its first job.
        task: String,
        /// The instant at which it had followed, after release 0.
        at_ns: u64,
        /// Time since the request.
        took_ns: u64,
        /// The proven bound on it.
        limit_ns: u64,
    },
    /// Records of a real-time task were lost, so the run is not shown to have kept its bounds.
    Lost {
        /// The task.
        task: String,
        /// How many.
        records: u64,
    },
    /// Records of a core were lost, which concern the jobs of all its tasks.
    LostOnCore {
        /// Its CPU.
        cpu: u16,
        /// How many.
        records: u64,
    },
    /// Jobs slept, or waited for something unknown to their dispatcher, while they held a resource: other jobs of the
    /// core may have run meanwhile, against the locking protocol.
    Slept {
        /// The task of the jobs.
        task: String,
        /// How often.
        times: u64,
    },
    /// A real-time thread was moved from outside: it no longer has its placement from before release 0, so the proof
    /// does not hold from then on.
    Moved {
        /// The task; none for a thread of no task.
        task: Option<String>,
        /// The thread of its CPU, if it belongs to no task: `probe`, `dispatcher`, or `thread 1` and on, which take
        /// turns to run jobs; or `main`, which was kept off that CPU, usually together with all other threads outside
        /// of tasks.
        thread: Option<String>,
        /// The CPU to which the application had pinned it; for `main`, the CPU that it was kept off.
        cpu: u16,
        /// Linux's number of the policy that was observed: 0 `SCHED_OTHER`, 1 `SCHED_FIFO`.
        policy: u64,
        /// The priority that was observed.
        priority: u64,
        /// Whether it could run on other CPUs, or did.
        unpinned: bool,
        /// When that was observed, after release 0.
        at_ns: u64,
    },
    /// All threads of the application were stopped from outside (SIGSTOP, SIGCONT): meanwhile no bound was kept, and
    /// no job is at fault.
    Stopped {
        /// When they were stopped, after release 0.
        at_ns: u64,
        /// For how long, as the probes saw it.
        lasted_ns: u64,
    },
    /// A tracer (a debugger, `strace`) was attached to the application, which stops its threads: no measurement from
    /// then is the application's own.
    Traced {
        /// Its process.
        pid: u32,
        /// The earliest possible begin, after release 0.
        at_ns: u64,
        /// The time from then until the last sighting.
        lasted_ns: u64,
    },
    /// A real-time thread outside of the application used one of its cores and made jobs late.
    ForeignThread {
        /// Its name.
        thread: String,
        /// Its number.
        tid: u32,
        /// Linux's number of its policy: 1 `SCHED_FIFO`, 2 `SCHED_RR`, 6 `SCHED_DEADLINE`.
        policy: u64,
        /// Its priority.
        priority: u64,
        /// The CPU.
        cpu: u16,
        /// The processor time that it used on that CPU, as far as the runtime saw.
        ran_ns: u64,
        /// The earliest possible begin, after release 0.
        at_ns: u64,
        /// How many jobs it made late.
        jobs: u64,
    },
    /// The run did not come to its own end.
    Ended {
        /// What ended it.
        #[serde(flatten)]
        ending: Ended,
    },
    /// A job was running when the application was ended without waiting for it.
    Stood {
        /// The job's task.
        task: String,
        /// The number of the job.
        job: u64,
        /// Whether it was in a system call, if that is known.
        in_call: Option<bool>,
        /// The address in the program, relative to its load address; none in a library, or if it is not known.
        offset: Option<u64>,
        /// The resource that it held or had requested last.
        resource: Option<String>,
        /// Whether it held the resource.
        held: bool,
    },
    /// The outputs may not be in their safe state.
    NotAtRest {
        /// The reason.
        #[serde(flatten)]
        why: Unrest,
        /// How long the runtime waited for the safe-state code.
        took_ns: u64,
    },
    /// The recording is damaged: the reader read nothing after a place in the file.
    Damaged {
        /// The first damaged byte of the file.
        byte: u64,
        /// How many bytes were not read.
        bytes: u64,
        /// Whether the file simply ends inside a block, because it was cut or its writer was ended.
        cut: bool,
    },
    /// Records could not be written, for example because a disk was full.
    Unwritten {
        /// How many.
        records: u64,
        /// The system error.
        os_error: u32,
    },
    /// Jobs whose records are missing or contradict each other.
    Faulty {
        /// The task of the jobs.
        task: String,
        /// How many.
        jobs: u64,
    },
    /// Releases of a periodic task end long before those of others.
    Silent {
        /// The task.
        task: String,
        /// When the first of the missing releases was due, after release 0.
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

/// Jobs of a task that failed with one error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobFailures {
    /// Its name in the application.
    pub error: String,
    /// How many jobs.
    pub jobs: u64,
}

/// What a real-time thread must not do after release 0, as the kernel and the allocator count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Forbidden {
    /// Allocate or free memory.
    #[serde(rename = "heap use")]
    HeapUse,
    /// Access memory that is not present.
    #[serde(rename = "page faults")]
    PageFault,
    /// Block in the kernel within a job.
    #[serde(rename = "blocking calls")]
    BlockingCall,
}

/// A fact that qualifies the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "warning", rename_all = "kebab-case")]
pub enum Warning {
    /// Records are not in the file of recorded values.
    ValuesLost {
        /// How many.
        records: u64,
    },
    /// The plan does not prove every deadline and chain.
    NotProven,
    /// The process lacked what a guarantee needs, so the proof did not hold for this run.
    Degraded {
        /// The guarantee: `priorities`, `cores`, `memory`, …
        guarantee: String,
        /// The system's reason.
        why: String,
    },
    /// Threads were not notified of context switches, so every look at processor times read them anew.
    NoSwitchMark {
        /// The reason.
        why: String,
        /// The measured time of one look, before release 0; none if it was not measured.
        look_ns: Option<u64>,
    },
    /// Jobs used more processor time than their WCET, and no stall explains it.
    Wcet {
        /// The task of the jobs.
        task: String,
        /// The plan's WCET, margin included.
        wcet_ns: u64,
        /// The most that a job used.
        used_ns: u64,
        /// The number of such jobs.
        jobs: u64,
    },
    /// A real-time thread did something forbidden after release 0.
    Conduct {
        /// The thread's task.
        task: String,
        /// What.
        what: Forbidden,
        /// How often.
        count: u64,
    },
    /// The safe-state code used the heap.
    RestHeap {
        /// How often.
        times: u64,
    },
    /// The threads that take turns on a dispatched core had page faults after release 0.
    CoreFaults {
        /// Its CPU.
        cpu: u16,
        /// How many.
        count: u64,
    },
    /// Jobs stood still while they held a resource. Meanwhile the machine stood still too, or the application was
    /// stopped from outside, so it is not known whether the jobs slept as well.
    Stopped {
        /// The task of the jobs.
        task: String,
        /// How often.
        times: u64,
    },
    /// A real-time thread outside of the application used one of its cores; it made no job late.
    ForeignThread {
        /// Its name.
        thread: String,
        /// Its number.
        tid: u32,
        /// Linux's number of its policy: 1 `SCHED_FIFO`, 2 `SCHED_RR`, 6 `SCHED_DEADLINE`.
        policy: u64,
        /// Its priority.
        priority: u64,
        /// The CPU.
        cpu: u16,
        /// The processor time that it used on that CPU, as far as the runtime saw.
        ran_ns: u64,
    },
    /// Jobs returned an error.
    Failed {
        /// The task of the jobs.
        task: String,
        /// How many.
        jobs: u64,
        /// How many for each error that has a name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        errors: Vec<JobFailures>,
    },
    /// Jobs panicked, and the service restarted as the manifest allows.
    Restarted {
        /// The task of the jobs.
        task: String,
        /// How many.
        jobs: u64,
    },
    /// Jobs requested more from their release scope than it has.
    ScopeExceeded {
        /// The task of the jobs.
        task: String,
        /// How many times.
        times: u64,
    },
    /// Values were lost in a channel that may lose some.
    Dropped {
        /// The channel.
        channel: String,
        /// How many.
        values: u64,
    },
    /// A reader of a broadcast that may lose values has lost some.
    LostBy {
        /// The channel.
        channel: String,
        /// The reader.
        reader: String,
        /// How many.
        values: u64,
    },
    /// A task that follows a device's clock never came within the bound on its phase error.
    ClockNotLocked {
        /// The clock.
        clock: String,
    },
    /// A task that follows a device's clock lost it.
    ClockLost {
        /// The clock.
        clock: String,
        /// How often.
        times: u64,
    },
    /// A device's ticks were observed further from one another than its drift and its jitter allow.
    ClockBroken {
        /// The clock.
        clock: String,
        /// How often.
        times: u64,
    },
    /// Jobs tried to send more values than the manifest allows. Their end refused them.
    TooMany {
        /// The channel.
        channel: String,
        /// How many.
        values: u64,
    },
    /// Records of a thread without deadlines were lost.
    Lost {
        /// The task.
        task: String,
        /// How many.
        records: u64,
    },
    /// The recording has a limit and kept the newest records: the time before them is not judged.
    Since {
        /// The begin of the judged part, after release 0.
        at_ns: u64,
        /// How many records newer ones replaced.
        records: u64,
    },
    /// Jobs, values, ages or reactions beyond their bounds, values lost, or sleeps with a resource that count as
    /// nobody's fault: their cause may be before the recording begins.
    NotJudged {
        /// How many.
        findings: u64,
    },
    /// Values or ages beyond their bounds, or values lost, because a task on their way was paused by its service or
    /// had stopped.
    Paused {
        /// How many.
        findings: u64,
    },
}
