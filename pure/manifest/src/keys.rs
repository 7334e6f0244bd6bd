// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The language of `taut.toml`, in one table that drives reading, suggestions and the schema.

use taut_model::{LockingProtocol, Mechanism};

use crate::spec::{By, Choice, Key, Need, Table, Type, Variant, Word};

const fn key(name: &'static str, kind: Type, need: Need, doc: &'static str) -> Key {
    Key { name, kind, need, doc }
}

const fn word(name: &'static str, doc: &'static str) -> Word {
    Word { name, doc, now: true }
}

const fn later(name: &'static str, doc: &'static str) -> Word {
    Word { name, doc, now: false }
}

/// The format that this version reads.
pub(crate) const FORMAT: i64 = 1;

/// The whole file.
pub(crate) static ROOT: Table = Table {
    noun: "manifest",
    doc: "A real-time application: its tasks, data flows, cores and bounds.",
    keys: &[
        key(
            "manifest",
            Type::Integer { min: FORMAT, max: FORMAT },
            Need::Required,
            "The format's version, not the application's.",
        ),
        key("app", Type::Table(&APP), Need::Required, "What the application is."),
        key("platform", Type::Table(&PLATFORM), Need::Optional, "The machine as the application uses it."),
        key(
            "payloads",
            Type::Map("payload", &Type::Choice(&PAYLOAD)),
            Need::Optional,
            "The types of values that channels carry: fixed layouts without padding.",
        ),
        key(
            "services",
            Type::Map("service", &Type::Table(&SERVICE)),
            Need::Optional,
            "Groups of tasks that start, pause, resume and stop together.",
        ),
        key(
            "modes",
            Type::Map("mode", &Type::List(&Type::Text)),
            Need::Optional,
            "The services that run together, by mode, as in `hearing = [\"sound\", \"slider\"]`. The application is in one mode at a \
             time, and in that named first at release 0; see `docs/modes.md`.",
        ),
        key(
            "resources",
            Type::Map("resource", &Type::Table(&RESOURCE)),
            Need::Optional,
            "What one job at a time may use.",
        ),
        key(
            "servers",
            Type::Map("server", &Type::Table(&SERVER)),
            Need::Optional,
            "Shares of cores: for tasks without a deadline, or for one task with a deadline.",
        ),
        key(
            "tasks",
            Type::Map("task", &Type::Choice(&TASK)),
            Need::Optional,
            "The application's recurring activities, each a thread.",
        ),
        key(
            "clients",
            Type::Map("client", &Type::Table(&CLIENT)),
            Need::Optional,
            "Processes of their own that attach by name; never real-time.",
        ),
        key(
            "channels",
            Type::Map("channel", &Type::Table(&CHANNEL)),
            Need::Optional,
            "Flows of data from one writer to its readers.",
        ),
        key(
            "chains",
            Type::List(&Type::Table(&CHAIN)),
            Need::Optional,
            "Bounds on the age of data from a first task to a last one.",
        ),
    ],
};

static APP: Table = Table {
    noun: "application",
    doc: "What the application is.",
    keys: &[
        key("name", Type::Text, Need::Required, "Lower-case letters, digits and `-`; names its segment."),
        key("description", Type::Text, Need::Default(""), "One line for people."),
        key(
            "exec",
            Type::Text,
            Need::Optional,
            "The program to run instead of the package beside the manifest.",
        ),
        key(
            "safe-state",
            Type::Duration,
            Need::Optional,
            "How long the code that brings outputs to rest may take, at most 1 s. It runs on a thread of its own before every end \
             of the application but SIGKILL; see `docs/ending.md`.",
        ),
        key(
            "on-failure",
            Type::Words(AFTER_FAILURE),
            Need::Optional,
            "What happens when a job panics, unless its service has `on-failure`. By default `stop-app` if the application \
             has `safe-state`, otherwise `stop-service`; see `docs/life-cycle.md`.",
        ),
        key("mode", Type::Text, Need::Optional, "The mode at release 0, if not the first of `[modes]`."),
        key(
            "heap",
            Type::Words(HEAP),
            Need::Default("deny"),
            "What it means if a job of a real-time task that does not state it uses the heap; see `docs/heap.md`.",
        ),
    ],
};

static AFTER_FAILURE: &[Word] = &[
    word(
        "stop-service",
        "The task's service stops, or the task alone if it belongs to none. The others continue.",
    ),
    word("stop-app", "The application stops in order."),
];

static HEAP: &[Word] = &[
    word(
        "deny",
        "The job has failed, and the report calls the run broken. The heap serves the job nevertheless.",
    ),
    word("count", "It is counted, and the report says how often."),
];

/// Any size.
const SIZE: Type = Type::Size { min: 0, max: u64::MAX };

const CPU: Type = Type::Integer { min: 0, max: 1023 };

pub(crate) static PLATFORM: Table = Table {
    noun: "platform",
    doc: "The machine as the application uses it.",
    keys: &[
        key("cores", Type::List(&CPU), Need::Default("[]"), "CPUs that the real-time tasks own, by number."),
        key("housekeeping", Type::List(&CPU), Need::Default("[]"), "CPUs for everything else."),
        key("scheduler", Type::Words(SCHEDULERS), Need::Default("fp"), "The scheduling policy of the cores."),
        key(
            "memory",
            SIZE,
            Need::Default("64MiB"),
            "What the application may lock; all of it is prefaulted before release 0.",
        ),
        key(
            "on-missing-privilege",
            Type::Words(PRIVILEGE),
            Need::Default("degrade"),
            "What to do without the privilege to be real-time.",
        ),
        key(
            "group",
            Type::Text,
            Need::Optional,
            "A group: clients of another user may attach if they belong to it.",
        ),
        key(
            "minimise",
            Type::Words(AIMS),
            Need::Default("memory"),
            "The objective in choosing mechanisms of states, among those that keep every deadline and chain.",
        ),
        key(
            "executor",
            Type::Words(EXECUTORS),
            Need::Default("auto"),
            "What decides which job of a core runs: Linux or a dispatcher.",
        ),
        key("overheads", Type::Table(&OVERHEADS), Need::Optional, "What the machine adds to every job."),
    ],
};

pub(crate) static OVERHEADS: Table = Table {
    noun: "platform's overheads",
    doc: "What the machine adds to every job. The defaults are guesses for an ordinary kernel: `taut bench` measures yours.",
    keys: &[
        key(
            "release",
            Type::Duration,
            Need::Default("100us"),
            "From the timer's expiry to the job's first instruction; adds to release jitter.",
        ),
        key(
            "context-switch",
            Type::Duration,
            Need::Default("10us"),
            "One context switch; a job is charged two.",
        ),
        key(
            "kernel-blocking",
            Type::Duration,
            Need::Default("100us"),
            "The longest time for which the kernel keeps a core from its most urgent thread; adds to blocking.",
        ),
        key(
            "lock",
            Type::Duration,
            Need::Default("2us"),
            "Acquiring and releasing an uncontended lock; charged to every critical section. If you state it, \
             states between real-time tasks may get locks: `\"auto\"` never trusts a guess.",
        ),
        key(
            "copy",
            Type::Duration,
            Need::Default("500ns"),
            "Copying 1 KiB of a value, from a cache of another core; gives the time for which a state is locked.",
        ),
        key(
            "device",
            Type::Duration,
            Need::Default("20us"),
            "What the device thread of a core executes each time that it wakes; charged twice in each least gap of a task \
             whose device it watches.",
        ),
        key(
            "source",
            Type::Words(EVIDENCE),
            Need::Default("guess"),
            "The source of the values that are stated here. Values that are left out are guesses, whatever this key \
             says.",
        ),
    ],
};

static AIMS: &[Word] = &[
    word("memory", "Least memory."),
    word("response", "The least sum of response times, each as a part of its deadline."),
    word("slack", "The most slack for the task that has the least, as a part of its deadline."),
];

static EXECUTORS: &[Word] = &[
    word(
        "auto",
        "Linux where it can enforce all that the analysis assumes of a core, and taut's dispatcher \
          elsewhere.",
    ),
    word("native", "Linux: a thread per task. For fixed priorities without locks, servers and budgets."),
    word("dispatched", "The dispatcher of taut, which runs the scheduling policy that was analysed."),
];

static SCHEDULERS: &[Word] = &[
    word("fp", "Fixed priority, preemptive."),
    word("edf", "Earliest deadline first, preemptive."),
    later("table", "A fixed table of slots."),
];

static PRIVILEGE: &[Word] = &[
    word("degrade", "Start without the guarantee, and say which one is missing."),
    word("fail", "Refuse to start."),
];

static PAYLOAD: Choice = Choice {
    by: By::Presence,
    variants: &[
        Variant { selector: "type", table: &ARRAY_PAYLOAD },
        Variant { selector: "fields", table: &FIELDS_PAYLOAD },
    ],
};

static ARRAY_PAYLOAD: Table = Table {
    noun: "payload of one array",
    doc: "One array of numbers.",
    keys: &[
        key(
            "type",
            Type::Element,
            Need::Required,
            "The type of an element: u8 i8 u16 i16 u32 i32 u64 i64 f32 f64.",
        ),
        key("len", LEN, Need::Default("1"), "How many elements."),
    ],
};

/// More than any payload can hold, so that the rule about its size reports the fault.
const LEN: Type = Type::Integer { min: 1, max: u32::MAX as i64 };

static FIELDS_PAYLOAD: Table = Table {
    noun: "payload of fields",
    doc: "Named fields in memory order, each aligned to its size, without padding.",
    keys: &[key(
        "fields",
        Type::Map("field", &Type::Scalar),
        Need::Required,
        "A field's name and its type, as in `levels = \"u8*176\"`.",
    )],
};

static SERVICE: Table = Table {
    noun: "service",
    doc: "Tasks that start, pause, resume and stop together and share a persistent scope.",
    keys: &[
        key("persistent", SIZE, Need::Default("0B"), "The scope that its tasks share."),
        key(
            "start",
            Type::Words(STARTS),
            Need::Default("boot"),
            "When it starts. With `[modes]` the mode says it.",
        ),
        key(
            "on-failure",
            Type::Table(&ON_FAILURE),
            Need::Optional,
            "What happens when a job of one of its tasks panics.",
        ),
    ],
};

static STARTS: &[Word] = &[
    word("boot", "At release 0."),
    word(
        "demand",
        "When the application calls `Control::start_service`. Until then its releases are skipped.",
    ),
];

static ON_FAILURE: Table = Table {
    noun: "rule for failures",
    doc: "How often the service restarts, and what happens then. At a restart each of its components runs `reset` in \
          place of its next job.",
    keys: &[
        key(
            "restart",
            Type::Integer { min: 1, max: taut_model::RESTARTS_MAX as i64 },
            Need::Optional,
            "How many restarts the window allows. Without it the service does not restart.",
        ),
        key("within", Type::Duration, Need::Optional, "The length of the window that slides with time."),
        key(
            "then",
            Type::Words(AFTER_FAILURE),
            Need::Optional,
            "What happens at a failure after which it does not restart. By default as `app.on-failure`.",
        ),
    ],
};

static RESOURCE: Table = Table {
    noun: "resource",
    doc: "A resource that one job at a time may use: a bus, a device, a table in memory.",
    keys: &[key(
        "protocol",
        Type::Words(PROTOCOLS),
        Need::Default("auto"),
        "The locking protocol: which jobs wait, how, and for how long.",
    )],
};

static SERVER: Table = Table {
    noun: "server",
    doc: "A share of a real-time core: a budget per period, at a priority.",
    keys: &[
        key(
            "policy",
            Type::Words(POLICIES),
            Need::Required,
            "How the server loses its budget and gets it back.",
        ),
        key("budget", Type::Duration, Need::Required, "The longest time for which its tasks run per period."),
        key("period", Type::Duration, Need::Required, "How often the server gets its budget back."),
        key("core", CORE, Need::Default("auto"), "The CPU's number."),
        key("priority", PRIORITY, Need::Default("auto"), "1 to 98, larger = more urgent."),
    ],
};

static POLICIES: &[Word] = &[
    word("polling", "Gets its budget when its period begins, and loses it as soon as no request is pending."),
    word("deferrable", "Keeps its budget until its period ends; delays less urgent tasks by more."),
    word("sporadic", "Gets each used part of its budget back one period later."),
];

static PROTOCOLS: &[Word] = &protocols();

/// `auto`, all protocols in the order of their table, and one of a later version.
const fn protocols() -> [Word; 2 + LockingProtocol::ALL.len()] {
    let mut words = [AUTO; 2 + LockingProtocol::ALL.len()];
    let mut at = 0;
    while at < LockingProtocol::ALL.len() {
        let protocol = LockingProtocol::ALL[at];
        at += 1;
        words[at] = word(protocol.word(), protocol.manual());
    }
    words[1 + at] = later("fmlp", "FMLP of 2007: short requests spin, long ones suspend.");
    words
}

const AUTO: Word = word("auto", "The plan chooses and says why.");

static TASK: Choice = Choice {
    by: By::Word("class"),
    variants: &[
        Variant { selector: "real-time", table: &REAL_TIME },
        Variant { selector: "best-effort", table: &BEST_EFFORT },
    ],
};

static CLASSES: &[Word] = &[
    word("real-time", "Its response time is bounded and its deadline proven."),
    word("best-effort", "An ordinary thread on a housekeeping core."),
];

static REAL_TIME: Table = Table {
    noun: "real-time task",
    doc: "A task whose deadline is proven.",
    keys: &[
        key("class", Type::Words(CLASSES), Need::Default("real-time"), "Whether the task has a deadline."),
        key("service", Type::Text, Need::Optional, "The service that it starts, pauses and stops with."),
        key("arrival", Type::Choice(&ARRIVAL), Need::Required, "When jobs arrive."),
        key(
            "deadline",
            Type::Duration,
            Need::Unless("arrival", "aperiodic"),
            "From a job's arrival; at most the period, unless jobs run on.",
        ),
        key("wcet", Type::Table(&WCET), Need::Required, "A job's execution time and where it comes from."),
        key("core", CORE, Need::Default("auto"), "The CPU's number."),
        key("priority", PRIORITY, Need::Default("auto"), "1 to 98, larger = more urgent."),
        key("memory", Type::Table(&MEMORY), Need::Optional, "Its scopes."),
        key(
            "run-at",
            Type::Words(RUN_ATS),
            Need::Default("receiver"),
            "At whose priority a job executes that receives a message.",
        ),
        key(
            "on-overrun",
            Type::Words(OVERRUNS),
            Need::Default("skip-next"),
            "What happens when a release falls due while the previous job still runs, or when a job exhausts its \
             budget.",
        ),
        key(
            "budget",
            Type::Duration,
            Need::Optional,
            "How long a job may have its core before it overruns, overheads included; at least its execution time \
             with its margin. Where `on-overrun` is `kill-job`, `demote` or `stop-app`, the analysis charges other \
             tasks this budget and one section, not the execution time.",
        ),
        key(
            "heap",
            Type::Words(HEAP),
            Need::Optional,
            "What it means if a job uses the heap: if it allocates, reallocates or frees. As `app.heap` says by default.",
        ),
        key(
            "jitter",
            Type::Duration,
            Need::Default("0ns"),
            "The longest time from an arrival to its release.",
        ),
        key(
            "non-preemptive",
            Type::Duration,
            Need::Default("0ns"),
            "The longest time for which a more urgent task must wait for this one.",
        ),
        key(
            "sections",
            Type::List(&Type::Table(&SECTION)),
            Need::Default("[]"),
            "Its critical sections, one entry per resource; parts of its execution time.",
        ),
        key(
            "segments",
            Type::List(&Type::Nested(&SEGMENT)),
            Need::Default("[]"),
            "Instead of `sections`: the segments of a job, in order. The rest of its execution time comes last.",
        ),
        key(
            "server",
            Type::Text,
            Need::Optional,
            "The server that it runs in, alone, instead of `core` and `priority`.",
        ),
    ],
};

static SECTION: Table = Table {
    noun: "critical section",
    doc: "The part of a job that holds a resource; at any place of the job, none inside another.",
    keys: &[
        key(
            "resource",
            Type::Text,
            Need::Required,
            "The resource that the job holds: a name of `[resources]`.",
        ),
        key(
            "longest",
            Type::Duration,
            Need::Required,
            "How long the longest lasts; the margin of the execution time comes on top.",
        ),
        key("count", COUNT, Need::Default("1"), "The most sections of a job."),
    ],
};

/// A table that may contain tables of the same kind.
pub(crate) static SEGMENT: Table = Table {
    noun: "segment",
    doc: "A part of a job: plain execution, or a critical section, which may have segments of its own.",
    keys: &[
        key(
            "hold",
            Type::Text,
            Need::Optional,
            "The resource that the job holds meanwhile: a name of `[resources]`.",
        ),
        key(
            "run",
            Type::Duration,
            Need::Optional,
            "How long it lasts; the margin of the execution time comes on top.",
        ),
        key(
            "segments",
            Type::List(&Type::Nested(&SEGMENT)),
            Need::Default("[]"),
            "Instead of `run`: the segments inside the critical section.",
        ),
    ],
};

const CORE: Type = Type::Auto(&CPU);
const PRIORITY: Type = Type::Auto(&Type::Ruled { min: 1, max: taut_model::PRIORITY_MAX as i64 });

static BEST_EFFORT: Table = Table {
    noun: "best-effort task",
    doc: "An ordinary thread; it may allocate and block.",
    keys: &[
        key("class", Type::Words(CLASSES), Need::Required, "Whether the task has a deadline."),
        key("service", Type::Text, Need::Optional, "The service with which it stops."),
        key(
            "min-gap",
            Type::Duration,
            Need::Optional,
            "The least time between two activations, if the task guarantees one.",
        ),
        key(
            "server",
            Type::Text,
            Need::Optional,
            "The server in which the task runs, on a real-time core: a name of `[servers]`. While the server has no \
             budget, the task runs only when no other job of that core runs.",
        ),
    ],
};

static ARRIVAL: Choice = Choice {
    by: By::Presence,
    variants: &[
        Variant { selector: "periodic", table: &PERIODIC },
        Variant { selector: "sporadic", table: &SPORADIC },
        Variant { selector: "aperiodic", table: &APERIODIC },
    ],
};

static PERIODIC: Table = Table {
    noun: "periodic arrival",
    doc: "At offset + k * period after release 0, or at the offset after each tick of a device's clock.",
    keys: &[
        key("periodic", Type::Duration, Need::Required, "The period."),
        key(
            "offset",
            Type::Duration,
            Need::Default("0ns"),
            "The first arrival; with `clock`, from a tick to a release.",
        ),
        key(
            "clock",
            Type::Text,
            Need::Optional,
            "The device's clock that the task follows. The application reports its ticks by this name. See `docs/clocks.md`.",
        ),
        key(
            "drift-ppm",
            Type::Integer { min: 0, max: taut_model::DRIFT_PPM_MAX as i64 },
            Need::Optional,
            "With `clock`: the most that a period of the device differs from `periodic`, in millionths.",
        ),
        key(
            "jitter",
            Type::Duration,
            Need::Optional,
            "With `clock`: how late, at most, the instant is with which a tick is reported.",
        ),
    ],
};

static SPORADIC: Table = Table {
    noun: "sporadic arrival",
    doc: "While values of its triggers wait, or its device can be read.",
    keys: &[
        key(
            "sporadic",
            Type::Duration,
            Need::Required,
            "The least time between two releases, which the runtime enforces.",
        ),
        key("trigger", Type::Text, Need::Optional, "The queue or message whose values release it."),
        key(
            "triggers",
            Type::List(&Type::Text),
            Need::Optional,
            "Instead of `trigger`: several queues and messages. A value in any of them releases a job, and each job takes \
             from all of them.",
        ),
        key(
            "device",
            Type::Text,
            Need::Optional,
            "Instead of `trigger`, or beside it: a file descriptor that the application gives by this name. A job is \
             released while it can be read.",
        ),
    ],
};

static APERIODIC: Table = Table {
    noun: "aperiodic arrival",
    doc: "While values wait, without a least time between two jobs; the task needs a server.",
    keys: &[key(
        "aperiodic",
        PARTIES,
        Need::Required,
        "The queues and messages whose values release it. The task's `deadline` is optional: it holds from the send of each \
         value that they take. See `docs/servers.md`.",
    )],
};

static WCET: Table = Table {
    noun: "execution time",
    doc: "An execution time with its evidence.",
    keys: &[
        key("value", Type::Duration, Need::Required, "As measured, analysed or guessed."),
        key("source", Type::Words(EVIDENCE), Need::Required, "The source of the value."),
        key("margin", Type::Percent, Need::Default("0%"), "A safety margin on top of the value."),
        key(
            "evidence",
            Type::List(&Type::Table(&RECORDING)),
            Need::Default("[]"),
            "The recordings that it was measured in. `taut calibrate` writes them, `taut check` names them, and no command \
             opens them.",
        ),
    ],
};

static RECORDING: Table = Table {
    noun: "recording",
    doc: "A recorded run that an execution time was measured in.",
    keys: &[
        key("file", Type::Text, Need::Required, "Its name."),
        key(
            "hash",
            Type::Text,
            Need::Required,
            "The digest of its bytes: `sha256:` and 64 hexadecimal digits.",
        ),
        key(
            "jobs",
            Type::Integer { min: 1, max: i64::MAX },
            Need::Optional,
            "How many jobs of the task were measured in it.",
        ),
    ],
};

static EVIDENCE: &[Word] = &[
    word("measured", "The largest of many measured runs."),
    word("static", "A static analysis."),
    word("guess", "Not measured."),
];

static MEMORY: Table = Table {
    noun: "task's memory",
    doc: "Scopes: fixed regions that the task allocates from.",
    keys: &[
        key("persistent", SIZE, Need::Default("0B"), "Lives as long as the task."),
        key("release", SIZE, Need::Default("0B"), "Empty again at each job."),
        key(
            "set-up",
            SIZE,
            Need::Optional,
            "The most of the heap that the set-up of its component may leave in use; counted into the memory of the \
             application. No bound without it; see `docs/heap.md`.",
        ),
    ],
};

static OVERRUNS: &[Word] = &[
    word(
        "run-on",
        "The late job goes on; the next starts right after it. A deadline may be longer than the period.",
    ),
    word("skip-next", "The late job goes on; releases that fell due meanwhile are dropped."),
    word(
        "kill-job",
        "The late job ends at a safe point: where it locks, or where its code checks whether it should \
          end.",
    ),
    word(
        "demote",
        "The late job runs in the background, when no other job of its core runs; releases meanwhile are dropped.",
    ),
    word("stop-app", "The application stops."),
];

static CLIENT: Table = Table {
    noun: "client",
    doc: "A process of its own that attaches by name; never real-time.",
    keys: &[
        key("kind", Type::Words(CLIENT_KINDS), Need::Default("process"), "What it is."),
        key(
            "min-gap",
            Type::Duration,
            Need::Optional,
            "The least time between two sends, if the client guarantees one.",
        ),
        key(
            "max-attached",
            Type::Integer { min: 1, max: taut_model::ATTACHED_MAX as i64 },
            Need::Default("1"),
            "How many processes may be attached under this name at a time. Of several, each only reads, and nothing wakes them.",
        ),
    ],
};

static CLIENT_KINDS: &[Word] =
    &[word("process", "A process on the same machine."), later("host", "A program on another machine.")];

static CHANNEL: Table = Table {
    noun: "channel",
    doc: "A flow of data from one writer to its readers; the classes of the writer and the readers determine its \
          protocol. A message may have several writers, and so may a state and alarms.",
    keys: &[
        key(
            "kind",
            Type::Words(KINDS),
            Need::Required,
            "Whether readers get the latest value or every value.",
        ),
        key(
            "from",
            PARTIES,
            Need::Ruled,
            "The task or client that writes; of a state, one or several, of which readers get the newest value; of a message, those \
             that send; of alarms, the tasks that set them.",
        ),
        key("to", PARTIES, Need::Ruled, "The tasks or clients that read."),
        key(
            "payload",
            Type::OneOrMany(&Type::Text),
            Need::Required,
            "The type of a value: a name of `[payloads]`; of a message also a list, of which each value is one.",
        ),
        key("reply", Type::Text, Need::Optional, "The type of a reply to a request: a name of `[payloads]`."),
        key(
            "capacity",
            CAPACITY,
            Need::Default("auto"),
            "How many values of a queue can wait; how many alarms each setter may have pending, which must be stated; how \
             many blocks a bulk channel has, 2 to 64.",
        ),
        key(
            "overflow",
            Type::Words(OVERFLOWS),
            Need::Default("reject"),
            "What happens to a value that does not fit.",
        ),
        key(
            "reception",
            Type::Words(RECEPTIONS),
            Need::Default("poll"),
            "How readers that are not real-time learn of a value; of a queue from a real-time task, and of replies to a request.",
        ),
        key(
            "flow",
            Type::Words(FLOWS),
            Need::Default("newest"),
            "Which of its writer's values a job reads; of a state of periodic real-time tasks.",
        ),
        key(
            "delayed",
            PARTIES,
            Need::Optional,
            "Readers with a unit delay, in a synchronous flow: they read the value of the previous instant.",
        ),
        key("mechanism", Type::Words(MECHANISMS), Need::Default("auto"), "The mechanism that implements it."),
        key(
            "sends-per-release",
            COUNT,
            Need::Default("1"),
            "The most values the writer sends per activation.",
        ),
        key(
            "takes-per-release",
            COUNT,
            Need::Default("1"),
            "The most values each reader takes per activation; of a message, from all its senders together.",
        ),
        key(
            "order",
            Type::Words(ORDERS),
            Need::Default("sender"),
            "Which waiting value the receiver of a message takes first. Values of senders that are not real-time come last. Of a \
             request the default is `fifo`.",
        ),
        key(
            "order-by",
            Type::Text,
            Need::Optional,
            "The field of a message's payload, a whole number, that says how urgent a value is under `order = \"specified\"`; \
             several payloads have it at one place.",
        ),
        key(
            "sends-by-sender",
            Type::Map("sender", &COUNT),
            Need::Optional,
            "Senders of a message, or sources of a state, whose `sends-per-release` is another: a table of counts by name.",
        ),
        key(
            "late",
            Type::Words(LATES),
            Need::Default("deliver"),
            "What happens to an alarm whose instant has passed when it is set.",
        ),
        key(
            "record",
            Type::Truth,
            Need::Default("false"),
            "Whether a run records its values, for other tools and for `taut replay --code`; not of bulk channels.",
        ),
        key(
            "history",
            Type::Integer { min: 0, max: taut_model::CAPACITY_MAX as i64 },
            Need::Default("0"),
            "With how many of the values that were sent before a client's new reading end begins; of a broadcast, or a queue that \
             drops values.",
        ),
    ],
};

const PARTIES: Type = Type::OneOrMany(&Type::Text);
const CAPACITY: Type = Type::Auto(&Type::Ruled { min: 1, max: taut_model::CAPACITY_MAX as i64 });
const COUNT: Type = Type::Integer { min: 1, max: taut_model::CAPACITY_MAX as i64 };

static KINDS: &[Word] = &[
    word("state", "The latest value."),
    word("queue", "Every value, in order, to one reader; to several if none of them is real-time."),
    word("message", "Every value, from several senders to one real-time task."),
    word(
        "request",
        "A message whose receiver answers each value; its senders, the callers, are not real-time.",
    ),
    word(
        "broadcast",
        "Every value, in one copy, to several readers: each real-time reader gets all of them, any other loses the oldest.",
    ),
    word(
        "alarm",
        "Every value, at an instant that its setter chooses, from several tasks to one real-time task.",
    ),
    word(
        "bulk",
        "Every value, in order, in blocks that move from one task to another, or to a client, without a copy.",
    ),
];

static RUN_ATS: &[Word] = &[
    word("receiver", "At the priority of the task itself."),
    later("sender", "At the priority of the task that sent the value."),
];

static OVERFLOWS: &[Word] = &[
    word("reject", "The new value is refused and given back."),
    word(
        "drop-oldest",
        "The oldest value is dropped; where no reader is real-time, and of a message in the lanes of senders that are not.",
    ),
    word("clear", "All waiting values are dropped; where no reader is real-time."),
    word("recall", "The writer takes the oldest block back that waits; of a bulk channel."),
    later("steal-lowest", "The oldest value of the least urgent sender gives way."),
];

static ORDERS: &[Word] = &[
    word("sender", "A value of the most urgent sender; of one sender, in the order of sending."),
    word("fifo", "The value that was sent first."),
    word(
        "specified",
        "The value whose field `order-by` has the largest number; of equals, the one that was sent first.",
    ),
];

static LATES: &[Word] =
    &[word("deliver", "It is due at once."), word("refuse", "It is refused and given back.")];

static RECEPTIONS: &[Word] = &[
    word("poll", "A reader looks from time to time. A send makes no system call."),
    word("wait", "A reader may sleep until a value comes. The plan charges each send a wake of each reader."),
];

static FLOWS: &[Word] = &[
    word("newest", "The value that is newest when the job reads."),
    word(
        "synchronous",
        "The value of the synchronous model: its writer's value of the same instant, in whatever order jobs run.",
    ),
];

static MECHANISMS: &[Word] = &mechanisms();

const LATER_MECHANISMS: [Word; 1] = [later("fmlp", "A lock with queues.")];

/// `auto`, all mechanisms in the order in which their type has them, and those of later versions.
const fn mechanisms() -> [Word; 1 + Mechanism::ALL.len() + LATER_MECHANISMS.len()] {
    let mut words = [AUTO; 1 + Mechanism::ALL.len() + LATER_MECHANISMS.len()];
    let mut at = 0;
    while at < Mechanism::ALL.len() {
        let mechanism = Mechanism::ALL[at];
        words[1 + mechanism as usize] = word(mechanism.word(), mechanism.manual());
        at += 1;
    }
    let mut at = 0;
    while at < LATER_MECHANISMS.len() {
        words[1 + Mechanism::ALL.len() + at] = LATER_MECHANISMS[at];
        at += 1;
    }
    words
}

static CHAIN: Table = Table {
    noun: "chain",
    doc: "A path of data, with a bound on the age of data at its end and one on the reaction to an event at its \
          beginning.",
    keys: &[
        key("name", Type::Text, Need::Required, "For people and reports."),
        key("path", Type::List(&Type::Text), Need::Required, "task, channel, task, …, task."),
        key(
            "max-latency",
            Type::Duration,
            Need::Required,
            "The oldest that data may be when the last task completes.",
        ),
        key(
            "max-reaction",
            Type::Duration,
            Need::Optional,
            "The longest time from an external event until an output of the last task reflects it or a newer one.",
        ),
    ],
};

/// The keys of a task that an overlay may change.
pub(crate) const OVERLAY_TASK_KEYS: [&str; 4] = ["wcet", "core", "priority", "memory"];

/// The keys of a channel that an overlay may change.
pub(crate) const OVERLAY_CHANNEL_KEYS: [&str; 1] = ["record"];

/// Whether any kind of task has this key.
pub(crate) fn is_task_key(name: &str) -> bool {
    TASK.variants.iter().flat_map(|variant| variant.table.keys).any(|key| key.name == name)
}

/// Whether any kind of channel has this key.
pub(crate) fn is_channel_key(name: &str) -> bool {
    CHANNEL.keys.iter().any(|key| key.name == name)
}
