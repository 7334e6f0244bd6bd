// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use taut_plan::{ClassPlan, Plan};
use taut_sys::{machine, thread};

/// A guarantee that needs a privilege, or a machine that has what the plan asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// Real-time threads run before all other threads, by the plan's priorities.
    Priorities,
    /// Real-time threads run on the plan's cores.
    Cores,
    /// All other threads run on the plan's housekeeping cores.
    Housekeeping,
    /// Every page of the process is present.
    Memory,
    /// Idle cores wake at once.
    Wakeup,
    /// The kernel does not stop real-time threads that have work.
    Throttle,
    /// No other application has real-time threads on the plan's cores.
    Exclusive,
}

/// The highest priority that an application needs: that of the probe on each of its cores, above all tasks.
const HIGHEST: u8 = 99;

/// A guarantee that is missing: why, what it means, and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingGuarantee {
    /// The guarantee.
    pub guarantee: Guarantee,
    /// Why it is missing.
    pub why: String,
    /// What may happen now.
    pub means: &'static str,
    /// How to get it.
    pub remedy: &'static str,
}

impl fmt::Display for MissingGuarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} lost: {}\n  means: {}\n  to get it: {}",
            self.guarantee, self.why, self.means, self.remedy
        )
    }
}

/// The guarantees that the process has, as the runtime found them by trying.
#[derive(Clone, Debug, Default)]
pub struct Guarantees {
    /// The missing guarantees, in the order in which they were tried.
    pub lost: Vec<MissingGuarantee>,
}

impl Guarantee {
    /// All guarantees, each with its meaning.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Priorities, "real-time threads run before all others (SCHED_FIFO)"),
        (Self::Cores, "real-time threads run on the cores of the plan"),
        (Self::Housekeeping, "all other threads run on the housekeeping cores of the plan"),
        (Self::Memory, "all memory is locked"),
        (Self::Wakeup, "idle cores wake at once (/dev/cpu_dma_latency)"),
        (Self::Throttle, "the kernel stops no real-time thread that has work"),
        (Self::Exclusive, "no other application has real-time threads on the cores of the plan"),
    ];
}

impl Guarantees {
    /// The guarantees that do not depend on a plan: tries the highest priority, and reads the throttle.
    pub fn of_machine() -> Self {
        let mut guarantees = Self::default();
        guarantees.priority();
        guarantees.throttle(None);
        guarantees
    }

    /// Tries on the calling thread what the plan needs, and undoes it.
    pub fn find(plan: &Plan) -> Self {
        let mut guarantees = Self::default();
        guarantees.cores(plan);
        if !plan.cores.is_empty() {
            guarantees.priority();
        }
        guarantees.throttle(Some(plan));
        guarantees
    }

    /// Whether a guarantee holds so far.
    pub fn keeps(&self, guarantee: Guarantee) -> bool {
        self.lost.iter().all(|lost| lost.guarantee != guarantee)
    }

    /// How much a throttle leaves and how much of that the plan needs; `None` without a throttle, and if the throttle
    /// can stop a thread.
    pub fn throttle_left(&self, plan: &Plan) -> Option<String> {
        let (runtime_us, period_us) = machine::rt_throttle().ok()??;
        let most = (0..plan.cores.len()).map(|core| most_us(plan, core, period_us)).max()?;
        self.keeps(Guarantee::Throttle).then(|| {
            format!(
                "real-time threads may use {runtime_us}us of every {period_us}us (kernel.sched_rt_runtime_us); \
                 no core of this plan needs more than {most}us of that"
            )
        })
    }

    /// Whether a missing guarantee voids the proof. A slow wake-up, the throttle, or not to know of other applications
    /// alone does not.
    pub fn is_degraded(&self) -> bool {
        let grave = [Guarantee::Priorities, Guarantee::Cores, Guarantee::Housekeeping, Guarantee::Memory];
        grave.iter().any(|guarantee| !self.keeps(*guarantee))
    }

    /// Records a missing guarantee.
    pub fn lose(&mut self, guarantee: Guarantee, why: impl fmt::Display) {
        let (means, remedy) = match guarantee {
            Guarantee::Priorities => (
                "deadlines are not kept: any other program can delay the tasks",
                "for a user and all programs of that user: `@realtime - rtprio 99` in \
                 /etc/security/limits.d/realtime.conf, membership in that group, and a new login; for a service: \
                 LimitRTPRIO=99 in its unit; for one program: `setcap cap_sys_nice,cap_ipc_lock+ep` on the application \
                 itself, not on `taut`, after each build, because a build removes it; or run as root",
            ),
            Guarantee::Cores => (
                "tasks may run on other cores than the plan says, so the analysis does not cover their \
                 interference",
                "plan for the CPUs of this machine: `cores` in [platform], or in an overlay",
            ),
            Guarantee::Housekeeping => (
                "other threads may run where Linux puts them, also on real-time cores",
                "plan for the CPUs of this machine: `housekeeping` in [platform], or in an overlay",
            ),
            Guarantee::Memory => (
                "a page may be missing when a task needs it, which costs from microseconds to milliseconds",
                "for a user and all programs of that user: `@realtime - memlock unlimited` beside the rtprio line, and \
                 a new login; for a service: LimitMEMLOCK=infinity in its unit; for one program: cap_ipc_lock as \
                 above; or run as root",
            ),
            Guarantee::Wakeup => (
                "an idle core may sleep deeply: releases are some microseconds later",
                "give write access to /dev/cpu_dma_latency",
            ),
            Guarantee::Throttle => (
                "the kernel stops a real-time thread that exceeds this until the period ends, so the thread misses \
                 its deadline",
                "as root: `sysctl kernel.sched_rt_runtime_us=-1`, and if the kernel has it (Linux 6.12 or later) \
                 write 0 to /sys/kernel/debug/sched/fair_server/cpuN/runtime for each core N; a plan that needs less \
                 does not need this: see `taut doctor FOLDER`",
            ),
            Guarantee::Exclusive => (
                "another application may run real-time threads on the same cores, which no proof includes",
                "end the application that is named, or plan for other cores; if the folder cannot be used, let this user \
                 make and lock files there: TAUT_APPLICATIONS_DIR names another folder, which must be the same for all \
                 applications of the machine",
            ),
        };
        self.lost.push(MissingGuarantee { guarantee, why: why.to_string(), means, remedy });
    }

    fn cores(&mut self, plan: &Plan) {
        let online = thread::online_cpus();
        let before = thread::affinity();
        for core in &plan.cores {
            if let Err(error) = thread::set_affinity(&[core.cpu]) {
                if online.contains(&core.cpu) {
                    self.lose(Guarantee::Cores, format_args!("CPU {}: {error}", core.cpu));
                } else {
                    self.lose(Guarantee::Cores, missing("cores", core.cpu, &online));
                }
            }
        }
        if let Ok(before) = before {
            // These CPUs were allowed a moment ago.
            let _ = thread::set_affinity(&before);
        }
        for cpu in plan.housekeeping.iter().filter(|cpu| !online.contains(cpu)) {
            self.lose(Guarantee::Housekeeping, missing("housekeeping", *cpu, &online));
        }
    }

    fn priority(&mut self) {
        if let Err(error) = thread::set_fifo(HIGHEST) {
            self.lose(Guarantee::Priorities, error);
        }
        // A thread may always give up its priority.
        let _ = thread::set_other();
    }

    /// A throttle matters if the plan needs more of a core than the throttle leaves; without a plan it always does.
    fn throttle(&mut self, plan: Option<&Plan>) {
        match machine::rt_throttle() {
            Ok(Some(throttle)) => {
                if let Some(why) = stopped(throttle, plan) {
                    self.lose(Guarantee::Throttle, why);
                }
            }
            Ok(None) => {}
            Err(error) => {
                self.lose(Guarantee::Throttle, format_args!("not known ({error}): is /proc mounted?"));
            }
        }
    }
}

/// Says that a list of the manifest names a CPU that the machine does not have.
fn missing(list: &str, cpu: u16, online: &[u16]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for &cpu in online {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): &(u16, u16)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    let has = ranges.iter().map(range).collect::<Vec<_>>().join(", ");
    format!("this machine has no CPU {cpu}, which platform.{list} names; it has {has}")
}

/// Why a throttle that leaves `runtime_us` of each `period_us` can stop real-time threads, and on which core; `None` if
/// it cannot.
fn stopped((runtime_us, period_us): (u64, u64), plan: Option<&Plan>) -> Option<String> {
    let leaves = format!(
        "real-time threads may use {runtime_us}us of every {period_us}us (kernel.sched_rt_runtime_us)"
    );
    let Some(plan) = plan else { return Some(leaves) };
    let needs = plan.cores.iter().enumerate().map(|(core, of)| (most_us(plan, core, period_us), of.cpu));
    let (needs_us, cpu) = needs.max()?;
    (needs_us > runtime_us).then(|| format!("{leaves}, and core {cpu} can need {needs_us}us"))
}

/// The most that real-time threads of a core can execute in any window of `window_us`, in microseconds.
fn most_us(plan: &Plan, core: usize, window_us: u64) -> u64 {
    let core = &plan.cores[core];
    let tasks = plan.tasks.iter().filter_map(|task| match &task.class {
        ClassPlan::RealTime { cpu, arrival, deadline, wcet, response, .. }
            if *cpu == core.cpu && plan.server_of(&task.name).is_none() =>
        {
            Some([wcet.as_ns(), arrival.period().as_ns(), response.unwrap_or(*deadline).as_ns()])
        }
        _ => None,
    });
    let servers = plan.servers.iter().filter(|server| server.cpu == core.cpu);
    let servers = servers.map(|server| [server.budget.as_ns(), server.period.as_ns(), server.period.as_ns()]);
    most_of(core.utilisation_ppm, window_us, tasks.chain(servers))
}

/// The core's share of a window by its utilisation, which includes the machine's overheads, plus what jobs execute
/// beyond their share because they begin before the window or end after it. `jobs`: cost, period and response time
/// of each, in ns.
fn most_of(utilisation_ppm: u64, window_us: u64, jobs: impl Iterator<Item = [u64; 3]>) -> u64 {
    let window = u128::from(window_us) * 1_000;
    let share = (window * u128::from(utilisation_ppm)).div_ceil(1_000_000);
    let beyond = jobs.map(|[cost, period, response]| {
        let (cost, period) = (u128::from(cost), u128::from(period.max(1)));
        let released = (window + u128::from(response)).div_ceil(period);
        cost.saturating_mul(released).saturating_sub(cost * window / period)
    });
    let all = beyond.fold(share, u128::saturating_add).min(window);
    u64::try_from(all.div_ceil(1_000)).unwrap_or(window_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cpu_is_named_beside_the_cpus_of_the_machine() {
        let said = missing("housekeeping", 900, &[0, 1, 3, 5, 6, 7]);
        assert_eq!(
            said,
            "this machine has no CPU 900, which platform.housekeeping names; it has 0, 1, 3, 5 to 7"
        );
    }

    /// A core that is half used: by jobs of which one can run for most of a second, or by short jobs.
    #[test]
    fn long_jobs_need_all_of_a_window() {
        const MS: u64 = 1_000_000;
        let most = |jobs: &[[u64; 3]]| most_of(530_000, 1_000_000, jobs.iter().copied());
        assert_eq!(most(&[[5_000 * MS, 10_000 * MS, 5_200 * MS]]), 1_000_000);
        // 101 jobs of 5 ms, where the share counts 100.
        assert_eq!(most(&[[5 * MS, 10 * MS, 6 * MS]]), 535_000);
        assert_eq!(most(&[]), 530_000);
        assert_eq!(most(&[[u64::MAX, 1, u64::MAX]]), 1_000_000);
    }

    const MANIFEST: &str = r#"manifest = 1
app.name = "boot-guarantees"
[platform]
cores = [0, 1]
memory = "32MiB"
[servers.s]
policy = "polling"
budget = "2ms"
period = "20ms"
core = 0
[tasks.alpha]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "3ms", source = "guess" }
core = 0
[tasks.beta]
arrival = { periodic = "100ms" }
deadline = "100ms"
wcet = { value = "1ms", source = "guess" }
server = "s"
[tasks.gamma]
arrival = { periodic = "40ms" }
deadline = "40ms"
wcet = { value = "4ms", source = "guess" }
core = 1
"#;

    fn planned() -> Plan {
        let source = taut_manifest::SourceText { name: "taut.toml".to_owned(), text: MANIFEST.to_owned() };
        let loaded = taut_manifest::load(&source, &[]);
        let shown = taut_manifest::render(&loaded.diagnostics, &[&source], false, 100);
        let model = loaded.model.unwrap_or_else(|| panic!("{shown}"));
        taut_planner::Planned::make(&model, Vec::new()).plan
    }

    /// A task in a server counts within the server. To the share the bound adds one job of each task or server that
    /// runs on the core.
    #[test]
    #[cfg_attr(miri, ignore = "slow: a plan is made; nothing in it is unsafe")]
    fn a_throttle_stops_a_plan_that_needs_more_than_it_leaves() {
        let plan = planned();
        let most = [0, 1].map(|core| most_us(&plan, core, 1_000_000));
        let beyond = [3_000 + 2_000, 4_000];
        assert_eq!(most, [0, 1].map(|core| plan.cores[core].utilisation_ppm + beyond[core]));
        let (needs, period) = (most[0], 1_000_000);
        assert!(needs > most[1], "{most:?}");
        assert_eq!(stopped((needs, period), Some(&plan)), None);
        assert_eq!(stopped((needs + 1, period), Some(&plan)), None);
        let leaves = |us: u64| {
            format!("real-time threads may use {us}us of every 1000000us (kernel.sched_rt_runtime_us)")
        };
        let less = needs - 1;
        let why = format!("{}, and core 0 can need {needs}us", leaves(less));
        assert_eq!(stopped((less, period), Some(&plan)), Some(why));
        assert_eq!(
            stopped((needs, period), None),
            Some(leaves(needs)),
            "without a plan, any throttle is reported"
        );
    }

    /// The lost guarantees agree with what the machine says.
    #[test]
    #[cfg_attr(miri, ignore = "reads /proc and calls sched_setscheduler")]
    fn throttle_and_priority_match_the_machine() {
        let throttle = machine::rt_throttle().unwrap();
        let machine = Guarantees::of_machine();
        let throttles = machine.lost.iter().filter(|lost| lost.guarantee == Guarantee::Throttle);
        let said = throttles.map(|lost| lost.why.clone()).collect::<Vec<_>>();
        assert_eq!(said, Vec::from_iter(throttle.and_then(|throttle| stopped(throttle, None))));
        let fifo = thread::set_fifo(HIGHEST).is_ok();
        let _ = thread::set_other();
        assert_eq!(machine.keeps(Guarantee::Priorities), fifo);

        let plan = planned();
        let found = Guarantees::find(&plan);
        assert_eq!(found.keeps(Guarantee::Priorities), fifo);
        let stops = throttle.is_some_and(|throttle| stopped(throttle, Some(&plan)).is_some());
        assert_eq!(found.keeps(Guarantee::Throttle), !stops);
        let left = throttle.filter(|_| !stops).map(|(runtime, period)| {
            let most = most_us(&plan, 0, period).max(most_us(&plan, 1, period));
            format!(
                "real-time threads may use {runtime}us of every {period}us (kernel.sched_rt_runtime_us); \
                 no core of this plan needs more than {most}us of that"
            )
        });
        assert_eq!(found.throttle_left(&plan), left);
        let mut lost = Guarantees::default();
        lost.lose(Guarantee::Throttle, "taken away");
        assert_eq!(lost.throttle_left(&plan), None);
        // A thread with a priority loses that priority when `find` tries a higher one; for a plan without real-time
        // cores `find` tries no priority.
        let none = Plan { cores: Vec::new(), ..plan.clone() };
        assert!(Guarantees::find(&none).keeps(Guarantee::Priorities));
        // Where the system allows no priority, the lost guarantee was checked above.
        for (plan, left) in [(none, thread::ThreadPolicy::Fifo(1)), (plan, thread::ThreadPolicy::Other)] {
            if !fifo {
                break;
            }
            thread::set_fifo(1).unwrap();
            let _ = Guarantees::find(&plan);
            let policy = thread::current_policy();
            let _ = thread::set_other();
            assert_eq!(policy, Ok(left));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls sched_setaffinity")]
    fn missing_processors_lose_a_guarantee() {
        let mut plan = planned();
        let before = thread::affinity().unwrap();
        let online = thread::online_cpus();
        plan.cores.truncate(1);
        plan.cores[0].cpu = 1_023;
        plan.housekeeping = vec![online[0], 1_022];
        let guarantees = Guarantees::find(&plan);
        let why = |guarantee| {
            let of = guarantees.lost.iter().filter(|lost| lost.guarantee == guarantee);
            of.map(|lost| lost.why.clone()).collect::<Vec<_>>()
        };
        assert_eq!(why(Guarantee::Cores), [missing("cores", 1_023, &online)]);
        assert_eq!(why(Guarantee::Housekeeping), [missing("housekeeping", 1_022, &online)]);
        assert_eq!(thread::affinity().unwrap(), before);
    }

    /// Each guarantee alone: only this one is lost, and four of them void the proof.
    #[test]
    fn some_guarantees_void_the_proof() {
        assert!(!Guarantees::default().is_degraded());
        for (lost, _) in Guarantee::ALL {
            let mut guarantees = Guarantees::default();
            guarantees.lose(lost, "taken away");
            for (other, _) in Guarantee::ALL {
                assert_eq!(guarantees.keeps(other), other != lost, "{lost:?} {other:?}");
            }
            let mild = matches!(lost, Guarantee::Wakeup | Guarantee::Throttle | Guarantee::Exclusive);
            assert_eq!(guarantees.is_degraded(), !mild, "{lost:?}");
            let MissingGuarantee { means, remedy, .. } = guarantees.lost[0];
            let text = format!("{lost:?} lost: taken away\n  means: {means}\n  to get it: {remedy}");
            assert_eq!(guarantees.lost[0].to_string(), text);
        }
    }
}
