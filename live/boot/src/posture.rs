// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use taut_plan::{ClassPlan, Plan};
use taut_sys::{machine, thread};

/// A guarantee that needs a privilege or a machine that has what the plan asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// Real-time threads run before all others, by the plan's priorities.
    Priorities,
    /// Real-time threads run on the plan's cores.
    Cores,
    /// No page of ours is ever missing.
    Memory,
    /// Idle cores wake at once.
    Wakeup,
    /// Real-time threads get all of their core.
    Throttle,
}

/// The most urgent that a task may be.
const HIGHEST: u8 = 99;
/// Of a thread that decides for its core.
const DISPATCHER: u8 = 98;

/// A guarantee that is missing: why, what it means, and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Which.
    pub guarantee: Guarantee,
    /// What the system said.
    pub why: String,
    /// What may happen now.
    pub means: &'static str,
    /// What would give it.
    pub remedy: &'static str,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} lost: {}\n  means: {}\n  to get it: {}",
            self.guarantee, self.why, self.means, self.remedy
        )
    }
}

/// What the process may do, found out by trying.
#[derive(Clone, Debug, Default)]
pub struct Posture {
    /// What is missing, in the order it was tried.
    pub lost: Vec<Lost>,
}

impl Guarantee {
    /// All of them, each with what it gives.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Priorities, "real-time threads run before all others (SCHED_FIFO)"),
        (Self::Cores, "real-time threads run on the cores of the plan"),
        (Self::Memory, "all memory is locked"),
        (Self::Wakeup, "idle cores wake at once (/dev/cpu_dma_latency)"),
        (Self::Throttle, "real-time threads may use all of a core"),
    ];
}

impl Posture {
    /// What can be said without a plan: tries the highest priority a task may have.
    pub fn of_machine() -> Self {
        let mut posture = Self::default();
        posture.priority(HIGHEST);
        posture.throttle(1_000_000);
        posture
    }

    /// Tries what the plan needs on the calling thread, and undoes it.
    pub fn find(plan: &Plan) -> Self {
        let mut posture = Self::default();
        posture.cores(plan);
        posture.priorities(plan);
        let most = plan.cores.iter().map(|core| core.utilisation_ppm).max();
        posture.throttle(most.unwrap_or(0));
        posture
    }

    /// Whether a guarantee holds so far.
    pub fn keeps(&self, guarantee: Guarantee) -> bool {
        self.lost.iter().all(|lost| lost.guarantee != guarantee)
    }

    /// Whether what is missing voids the proof. A slow wake-up or the throttle do not by themselves.
    pub fn is_degraded(&self) -> bool {
        let grave = [Guarantee::Priorities, Guarantee::Cores, Guarantee::Memory];
        grave.iter().any(|guarantee| !self.keeps(*guarantee))
    }

    /// Notes a missing guarantee.
    pub fn lose(&mut self, guarantee: Guarantee, why: impl fmt::Display) {
        let (means, remedy) = match guarantee {
            Guarantee::Priorities => (
                "deadlines are not kept: any other program can delay the tasks",
                "run as root, or with `setcap cap_sys_nice,cap_ipc_lock+ep` on the program, or set \
                 `@realtime - rtprio 98` in /etc/security/limits.d and join that group",
            ),
            Guarantee::Cores => (
                "tasks may run elsewhere than the plan says, so their interference is not what was analysed",
                "plan for the cores of this machine: [platform] cores, or an overlay",
            ),
            Guarantee::Memory => (
                "a page may be missing when a task needs it, which costs from microseconds to milliseconds",
                "raise the limit of locked memory: run as root, or `setcap cap_ipc_lock+ep`, or \
                 `@realtime - memlock unlimited` in /etc/security/limits.d",
            ),
            Guarantee::Wakeup => (
                "an idle core may sleep deeply: releases are some microseconds later",
                "give write access to /dev/cpu_dma_latency",
            ),
            Guarantee::Throttle => (
                "the kernel stops real-time threads that use more than that share of a core",
                "as root: `sysctl kernel.sched_rt_runtime_us=-1`; unnecessary while a core's utilisation stays below it",
            ),
        };
        self.lost.push(Lost { guarantee, why: why.to_string(), means, remedy });
    }

    fn cores(&mut self, plan: &Plan) {
        let before = thread::affinity();
        for core in &plan.cores {
            if let Err(error) = thread::set_affinity(&[core.cpu]) {
                let online = thread::online_cpus();
                if online.contains(&core.cpu) {
                    self.lose(Guarantee::Cores, format_args!("CPU {}: {error}", core.cpu));
                } else {
                    self.lose(Guarantee::Cores, format_args!("this machine has no CPU {}", core.cpu));
                }
            }
        }
        if let Ok(before) = before {
            // They were allowed a moment ago.
            let _ = thread::set_affinity(&before);
        }
    }

    fn priorities(&mut self, plan: &Plan) {
        let highest = plan.tasks.iter().filter_map(|task| match &task.class {
            ClassPlan::RealTime { priority, .. } => Some(*priority),
            ClassPlan::BestEffort {} => None,
        });
        let dispatchers = plan.cores.iter().filter(|core| core.dispatched.is_some());
        let highest = highest.filter(|priority| *priority > 0).chain(dispatchers.map(|_| DISPATCHER));
        if let Some(highest) = highest.max() {
            self.priority(highest);
        }
    }

    fn priority(&mut self, priority: u8) {
        if let Err(error) = thread::set_fifo(priority) {
            self.lose(Guarantee::Priorities, error);
        }
        // A thread may always give its priority up.
        let _ = thread::set_other();
    }

    /// The throttle matters to who needs more of a core than it leaves.
    fn throttle(&mut self, utilisation_ppm: u64) {
        match machine::rt_throttle() {
            Ok(Some((runtime_us, period_us)))
                if u128::from(runtime_us) * 1_000_000
                    < u128::from(period_us) * u128::from(utilisation_ppm) =>
            {
                self.lose(
                    Guarantee::Throttle,
                    format_args!("real-time threads may use {runtime_us}us of every {period_us}us"),
                );
            }
            Ok(_) => {}
            Err(error) => {
                self.lose(Guarantee::Throttle, format_args!("not known ({error}): is /proc mounted?"));
            }
        }
    }
}
