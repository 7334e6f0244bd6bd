// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which rule a core or a resource follows: the words of manifests and plans, and the rules that simulations and
//! executors run.

use taut_time::Duration;

/// The scheduling policy of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SchedulingPolicy {
    /// Fixed priority, preemptive.
    #[cfg_attr(feature = "serde", serde(rename = "fp"))]
    FixedPriority,
    /// Earliest deadline first, preemptive.
    Edf,
}

/// Makes a type from a table, with all its values in the order of the rows, and the facts of each. A row is a value with
/// all its facts.
macro_rules! table {
    ($(#[$attribute:meta])* $type:ident, $facts:ident: $($(#[$doc:meta])* $name:ident $row:tt)*) => {
        $(#[$attribute])*
        pub enum $type {
            $($(#[$doc])* $name,)*
        }

        impl $type {
            /// All of them, in the order of their table.
            pub const ALL: [Self; [$(Self::$name),*].len()] = [$(Self::$name),*];

            const fn facts(self) -> &'static $facts {
                match self {
                    $(Self::$name => &$facts $row,)*
                }
            }
        }
    };
}

/// What manifest, planner and people must know of a protocol.
struct ProtocolFacts {
    /// Its word in a manifest and in a plan.
    word: &'static str,
    /// The name as its paper prints it.
    paper: &'static str,
    /// The line on it in the manual of the manifest.
    manual: &'static str,
    /// The rule of a resource of several cores.
    global: Option<GlobalRule>,
    /// The only policy of cores under which it is defined, or analysed here.
    scheduler: Option<SchedulingPolicy>,
}

table! {
    /// A locking protocol. The planner tries those for several cores in the order of the table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(
        feature = "serde",
        derive(serde::Serialize, serde::Deserialize),
        serde(rename_all = "kebab-case")
    )]
    LockingProtocol, ProtocolFacts:
    /// A job takes the resource's ceiling at once: the immediate ceiling protocol under fixed priority, the stack
    /// resource policy under EDF. Tasks of one core.
    Srp {
        word: "srp",
        paper: "SRP",
        manual: "A lock raises the system ceiling at once; tasks of one core.",
        global: None,
        scheduler: None,
    }
    /// The deadline floor protocol. Tasks of one core, under EDF.
    Dfp {
        word: "dfp",
        paper: "DFP",
        manual: "The deadline floor protocol; tasks of one core, under EDF.",
        global: None,
        scheduler: Some(SchedulingPolicy::Edf),
    }
    /// Waiters spin in FIFO order, without preemption. Tasks of several cores.
    Msrp {
        word: "msrp",
        paper: "MSRP",
        manual: "Waiters spin, in order of arrival; tasks of several cores.",
        global: Some(GlobalRule::Msrp),
        scheduler: None,
    }
    /// Waiters suspend in priority order; holders run above all other jobs. Tasks of several cores, under fixed
    /// priority.
    Mpcp {
        word: "mpcp",
        paper: "MPCP",
        manual: "Waiters are suspended, in order of priority; tasks of several cores, under fixed priority.",
        global: Some(GlobalRule::Mpcp),
        scheduler: Some(SchedulingPolicy::FixedPriority),
    }
    /// Waiters suspend in FIFO order; holders run above all other jobs. Tasks of several cores, under fixed priority.
    FmlpPlus {
        word: "fmlp-plus",
        paper: "FMLP+",
        manual: "Waiters are suspended, in order of arrival; tasks of several cores, under fixed priority.",
        global: Some(GlobalRule::FmlpLong),
        scheduler: Some(SchedulingPolicy::FixedPriority),
    }
}

impl LockingProtocol {
    /// Its word in a manifest and in a plan.
    pub const fn word(self) -> &'static str {
        self.facts().word
    }

    /// The protocol with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.word() == word)
    }

    /// The name as its paper prints it.
    pub const fn paper_name(self) -> &'static str {
        self.facts().paper
    }

    /// The line on it in the manual of the manifest.
    pub const fn manual(self) -> &'static str {
        self.facts().manual
    }

    /// The rule for a resource of several cores; `None` if the protocol is for resources of one core.
    pub const fn global(self) -> Option<GlobalRule> {
        self.facts().global
    }

    /// Whether it is for resources of one core.
    pub const fn is_local(self) -> bool {
        self.global().is_none()
    }

    /// How jobs wait for a holder on another core; `None` if the protocol is for resources of one core.
    pub const fn waiting(self) -> Option<Waiting> {
        match self.global() {
            Some(rule) => Some(rule.waiting()),
            None => None,
        }
    }

    /// Whether jobs are suspended while they wait for a holder on another core.
    pub const fn suspends(self) -> bool {
        match self.waiting() {
            Some(Waiting::Suspended) => true,
            Some(Waiting::Spinning) | None => false,
        }
    }

    /// Whether it is for cores under this policy.
    pub fn fits(self, scheduler: SchedulingPolicy) -> bool {
        self.facts().scheduler.is_none_or(|only| only == scheduler)
    }
}

/// How a core schedules its jobs, and guards the resources that only they use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalRule {
    /// Fixed priorities, immediate ceilings: [`Immediate`](crate::ceiling::Immediate). Without resources: fixed
    /// priorities.
    Immediate,
    /// Fixed priorities, the priority ceiling protocol with inheritance: [`Original`](crate::ceiling::Original). A
    /// job may wait at each lock.
    Original,
    /// Earliest deadline first, the stack resource policy: [`Srp`](crate::Srp). Without resources: earliest deadline
    /// first.
    Srp,
    /// Earliest deadline first, deadline floors that count from the next arrival that the caller has not reported:
    /// [`Dfp`](crate::Dfp). So the floors hold however late releases are reported. For a sporadic task, the next
    /// arrival is the earliest possible one.
    Dfp,
    /// As `Dfp`, but the floors count from the clock, as published. They hold only if no release is reported later
    /// than a known time after its arrival: in simulations, not on a machine.
    DfpByClock {
        /// That time; `None` takes [`Attributes::jitter`](crate::Attributes::jitter).
        jitter: Option<Duration>,
    },
}

impl LocalRule {
    /// The rule of a core under `scheduling`; under EDF with deadline floors if `floors`.
    pub const fn of(scheduling: SchedulingPolicy, floors: bool) -> Self {
        match scheduling {
            SchedulingPolicy::FixedPriority => Self::Immediate,
            SchedulingPolicy::Edf if floors => Self::Dfp,
            SchedulingPolicy::Edf => Self::Srp,
        }
    }

    /// Whether its guarantee holds on a machine, where no bound is known on how late a release is reported.
    pub const fn is_for_machines(self) -> bool {
        !matches!(self, Self::DfpByClock { .. })
    }
}

/// How jobs on other cores wait for the holder of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// They spin, and no job of their core preempts them until they release the resource: so at most one job of a core
    /// asks for it at a time.
    Spinning,
    /// They are suspended. A holder runs before the jobs of its core that hold nothing.
    Suspended,
}

/// Which of the waiting jobs gets a resource next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// The one that asked first.
    Request,
    /// The most urgent one; among equals, the one that asked first.
    Priority,
}

/// The order in which the holders of resources of several cores run on their core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderRank {
    /// By the ceiling: the largest priority among the users on other cores. Without meaning where waiters spin, since
    /// then nothing preempts a holder.
    Ceiling,
    /// By the instant of the request.
    Request,
}

/// What simulator, executor and runtime must know of a rule.
struct RuleFacts {
    /// Its word in Python.
    word: &'static str,
    waiting: Waiting,
    order: QueueOrder,
    holder: HolderRank,
}

table! {
    /// How jobs wait for a resource that tasks of several cores use.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    GlobalRule, RuleFacts:
    /// Jobs spin in order of request, and no job of their core preempts one that asks for or holds the resource. Also
    /// FMLP for short resources.
    Msrp {
        word: "msrp",
        waiting: Waiting::Spinning,
        order: QueueOrder::Request,
        holder: HolderRank::Ceiling,
    }
    /// Jobs are suspended while they wait; the most urgent waiter is next. A holder runs before all jobs of its core,
    /// by its ceiling.
    Mpcp {
        word: "mpcp",
        waiting: Waiting::Suspended,
        order: QueueOrder::Priority,
        holder: HolderRank::Ceiling,
    }
    /// Jobs are suspended while they wait, in order of request. A holder runs before all jobs of its core. FMLP for
    /// long resources; FMLP+.
    FmlpLong {
        word: "fmlp-long",
        waiting: Waiting::Suspended,
        order: QueueOrder::Request,
        holder: HolderRank::Request,
    }
}

impl GlobalRule {
    /// Its word in Python.
    pub const fn word(self) -> &'static str {
        self.facts().word
    }

    /// The rule with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.word() == word)
    }

    /// How jobs wait.
    pub const fn waiting(self) -> Waiting {
        self.facts().waiting
    }

    /// Which of the waiting jobs is next.
    pub const fn order(self) -> QueueOrder {
        self.facts().order
    }

    /// The order of holders on a core.
    pub const fn holder(self) -> HolderRank {
        self.facts().holder
    }
}

#[cfg(test)]
mod tests {
    use taut_time::Instant;

    use super::*;
    use crate::{FmlpLong, Global, LockParty, Mpcp, Msrp, Waiter};

    /// Manifests, plans and Python name them so. Plans rely on the order: the first that keeps all deadlines is taken.
    #[test]
    fn words_stay() {
        let words = LockingProtocol::ALL.map(LockingProtocol::word);
        assert_eq!(words, ["srp", "dfp", "msrp", "mpcp", "fmlp-plus"]);
        assert_eq!(words.map(LockingProtocol::from_word), LockingProtocol::ALL.map(Some));
        let words = GlobalRule::ALL.map(GlobalRule::word);
        assert_eq!(words, ["msrp", "mpcp", "fmlp-long"]);
        assert_eq!(words.map(GlobalRule::from_word), GlobalRule::ALL.map(Some));
        assert_eq!((LockingProtocol::from_word("fmlp"), GlobalRule::from_word("fmlp")), (None, None));
    }

    /// What the row of a rule says is what its state machine does. The users' ceilings are 7 on each core.
    fn agrees<G: Global>(rule: GlobalRule, mut resource: G) {
        let party = |core| LockParty { core, task: 0 };
        let asks = [(0, 10, 3), (1, 11, 1), (2, 12, 5)];
        for (core, at, priority) in asks {
            resource.request(Instant::from_ns(at), party(core), priority).unwrap();
        }
        let next = resource.release(party(0)).unwrap().unwrap();
        let core = match rule.order() {
            QueueOrder::Request => 1,
            QueueOrder::Priority => 2,
        };
        assert_eq!(next.party, party(core), "{rule:?}");
        assert_eq!(G::SPINS, rule.waiting() == Waiting::Spinning, "{rule:?}");
        let rank = match rule.holder() {
            HolderRank::Ceiling => u64::from(u32::MAX - 7),
            HolderRank::Request => asks[core].1,
        };
        assert!(G::SPINS || next.rank == rank, "{rule:?}: {next:?}");
    }

    #[test]
    fn rows_agree_with_rules() {
        let places = [Waiter::EMPTY; 2];
        for rule in GlobalRule::ALL {
            match rule {
                GlobalRule::Msrp => agrees(rule, Msrp::new(places)),
                GlobalRule::Mpcp => agrees(rule, Mpcp::new(places, [7; 3])),
                GlobalRule::FmlpLong => agrees(rule, FmlpLong::new(places)),
            }
        }
    }

    /// A spin lock has one party per core, so it cannot ask for jobs by priority.
    #[test]
    fn spinning_is_in_order_of_request() {
        for rule in GlobalRule::ALL {
            assert!(rule.waiting() == Waiting::Suspended || rule.order() == QueueOrder::Request, "{rule:?}");
        }
    }
}
