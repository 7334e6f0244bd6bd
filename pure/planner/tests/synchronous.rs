// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Synchronous flows: how long readers wait, in how many buffers, and what the plan says about it. Bounds are
//! compared with runs of threads that really wait, tick by tick, on random systems.

mod drafts;

use drafts::{Edit, empty, model, payload, periodic, plan, shown, state, task, time};
use insta::assert_snapshot;
use taut_model::{ArrivalDraft, ChainDraft, ChannelDraft, Draft, Flow, Scalar, SchedulingPolicy, codes};
use taut_plan::{ClassPlan, Mechanism, Plan, explain_chain, explain_channel, explain_task};
use taut_planner::{Planned, why_channel};
use taut_time::Duration;

/// A channel with a synchronous flow.
fn flow(name: &str, from: &str, to: &[&str], delayed: &[&str]) -> ChannelDraft {
    ChannelDraft {
        flow: Flow::Synchronous,
        to: to.iter().map(ToString::to_string).collect(),
        delayed: delayed.iter().map(ToString::to_string).collect(),
        ..state(name, from, "", "Word")
    }
}

/// No overheads, so that figures can be added up by head.
fn bare(cores: &[u16]) -> Draft {
    let mut draft = empty(cores);
    let overheads = &mut draft.platform.overheads;
    (overheads.release, overheads.context_switch, overheads.kernel_blocking) =
        (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    draft.payloads = vec![payload("Word", &[("", Scalar::U64, 1)])];
    draft
}

fn on(draft: &mut Draft, core: u16, name: &str, period: &str, wcet: &str) {
    draft.tasks.push(periodic(name, period, period, wcet).with(|task| task.core = Some(core)));
}

fn response(planned: &Planned, name: &str) -> Option<Duration> {
    let ClassPlan::RealTime { response, .. } = planned.plan.tasks[planned.plan.task(name)?].class else {
        return None;
    };
    response
}

fn priority(planned: &Planned, name: &str) -> u8 {
    match planned.plan.tasks[planned.plan.task(name).expect("a task")].class {
        ClassPlan::RealTime { priority, .. } => priority,
        ClassPlan::BestEffort {} => panic!("best-effort"),
    }
}

fn proven(draft: &Draft) -> Planned {
    let planned = plan(draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    planned
}

/// A sensor on core 0, a filter on core 1 and an actuator on core 0 again.
fn there_and_back() -> Draft {
    let mut draft = bare(&[0, 1]);
    on(&mut draft, 0, "sensor", "10ms", "1ms");
    on(&mut draft, 1, "filter", "10ms", "2ms");
    on(&mut draft, 0, "actuator", "20ms", "1ms");
    draft.channels = vec![
        flow("measured", "sensor", &["filter"], &[]),
        flow("wanted", "filter", &["actuator", "sensor"], &["sensor"]),
    ];
    draft
}

#[test]
fn a_reader_waits_for_who_it_reads() {
    let planned = proven(&there_and_back());
    let of = |name| response(&planned, name).expect("proven");
    // The platform probe comes on top of each.
    let probe = of("sensor").saturating_sub(time("1ms"));
    assert!(probe > Duration::ZERO && probe < time("100us"), "{probe}");
    assert!(of("filter") >= time("3ms") && of("filter") < time("3200us"), "{}", of("filter"));
    assert!(of("actuator") >= time("5ms") && of("actuator") < time("5300us"), "{}", of("actuator"));
    let plan = &planned.plan;
    assert_snapshot!(explain_task(plan, "actuator").expect("a task"));
    assert_snapshot!(explain_channel(plan, "wanted").expect("a channel"));
    assert_eq!(Plan::from_lock(&plan.to_lock().expect("text")).as_ref(), Ok(plan));
    assert_eq!(plan.not_executed(), None);
}

#[test]
fn offsets_are_waited_out() {
    let mut draft = there_and_back();
    let at = |draft: &mut Draft, offset: &str| {
        task(draft, "filter").arrival = ArrivalDraft::Periodic { period: time("10ms"), offset: time(offset) };
        response(&proven(draft), "filter").expect("proven")
    };
    let (none, some, all) = (at(&mut draft, "0ms"), at(&mut draft, "400us"), at(&mut draft, "3ms"));
    assert_eq!(none.saturating_sub(some), time("400us"));
    assert!(all >= time("2ms") && all < time("2100us"), "{all}: it finds everything there");
}

#[test]
fn on_one_core_the_writer_goes_first() {
    let mut draft = bare(&[0]);
    // The reader's deadline is shorter.
    draft.tasks.push(periodic("writer", "10ms", "10ms", "1ms"));
    draft.tasks.push(periodic("reader", "10ms", "5ms", "1ms"));
    draft.tasks.push(periodic("other", "10ms", "7ms", "1ms"));
    draft.channels = vec![flow("x", "writer", &["reader"], &[])];
    let planned = proven(&draft);
    let of = |name| priority(&planned, name);
    assert!(of("writer") > of("reader") && of("reader") > of("other"));
    assert!(response(&planned, "reader").expect("proven") < time("2100us"), "it waits for nobody else");
    let reader = explain_task(&planned.plan, "reader").expect("a task");
    assert!(!reader.contains("waits"), "{reader}");
    draft.channels[0].flow = Flow::Newest;
    let planned = proven(&draft);
    assert!(priority(&planned, "writer") < priority(&planned, "reader"));
}

#[test]
fn numbers_of_the_manifest_can_forbid_it() {
    let mut draft = bare(&[0]);
    for (name, priority) in [("a", Some(50)), ("b", None), ("c", Some(60))] {
        draft.tasks.push(periodic(name, "10ms", "10ms", "1ms").with(|task| task.priority = priority));
    }
    draft.channels = vec![flow("x", "a", &["b"], &[]), flow("y", "b", &["c"], &[])];
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert!(planned.faults.iter().all(|fault| fault.code == codes::FLOW_ORDER));
    assert_snapshot!(shown(&planned.faults));
}

#[test]
fn waits_that_grow_past_a_deadline_are_said() {
    let mut draft = there_and_back();
    task(&mut draft, "actuator").deadline = time("4ms");
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
}

#[test]
fn edf_waits_too() {
    let mut draft = there_and_back();
    draft.platform.scheduler = SchedulingPolicy::Edf;
    let planned = proven(&draft);
    assert!(response(&planned, "filter").expect("proven") >= time("3ms"));
    draft.channels.clear();
    assert!(response(&proven(&draft), "filter").expect("proven") < time("3ms"));
}

#[test]
fn the_smaller_of_two() {
    let mut draft = bare(&[0]);
    for (name, period) in
        [("faster", "1ms"), ("fast", "2ms"), ("writer", "5ms"), ("slow", "50ms"), ("slower", "100ms")]
    {
        on(&mut draft, 0, name, period, "100us");
    }
    draft.channels = vec![flow("x", "writer", &["slow", "fast", "slower", "faster"], &["fast", "faster"])];
    let mut reported = String::new();
    let mut report = |draft: &Draft| {
        let planned = proven(draft);
        let channel = &planned.plan.channels[0];
        let bytes = channel.mechanism.bytes(channel.size + 16, channel.buffers.expect("some"), 4);
        assert_eq!(Some(channel.region.size), bytes);
        assert_eq!((channel.flow_readers(), channel.claims()), ((2, 2), 4));
        assert_eq!(
            ["slow", "slower", "fast"].map(|name| channel.flow_reader(name)),
            [Some(0), Some(1), Some(2)]
        );
        assert_eq!(channel.flow_reader("writer"), None);
        reported += &format!("{}: {}\n", channel.mechanism.paper_name(), channel.reason);
    };
    report(&draft);
    // Pinned.
    draft.channels[0].mechanism = Some(Mechanism::Dbp);
    report(&draft);
    // A task is released late, so the readers above may not be done when the writer runs.
    task(&mut draft, "fast").jitter = time("100us");
    report(&draft);
    assert_snapshot!(reported);
    assert_snapshot!(why_channel(&model(&draft), &taut_plan::Overrides::default(), "x").expect("a channel"));
}

#[test]
fn tccp_has_no_end_of_buffers() {
    let mut draft = bare(&[0]);
    on(&mut draft, 0, "writer", "100us", "10us");
    on(&mut draft, 0, "reader", "100ms", "25ms");
    draft.channels = vec![flow("x", "writer", &["reader"], &[])];
    let planned = proven(&draft);
    assert_eq!(planned.plan.channels[0].mechanism, Mechanism::Dbp);
    draft.channels[0].mechanism = Some(Mechanism::Tccp);
    let planned = plan(&draft);
    assert_eq!(planned.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [codes::MECHANISM_MISFIT]);
    assert_snapshot!(shown(&planned.faults));
}

#[test]
fn chains_go_by_activations() {
    let mut draft = there_and_back();
    let path = ["sensor", "measured", "filter", "wanted", "sensor"].map(String::from);
    let chain = |name: &str, path: &[String]| ChainDraft {
        name: name.into(),
        path: path.to_vec(),
        max_latency: time("100ms"),
        max_reaction: Some(time("100ms")),
    };
    draft.chains = vec![chain("straight", &path[..3]), chain("delayed", &path[2..])];
    let planned = proven(&draft);
    // Without a delay, the value is of the same instant and read until the next; with one, of the instant before, and
    // read until the next but one.
    let latency = |at: usize| planned.plan.chains[at].latency.expect("shown");
    assert_eq!(
        latency(0),
        time("10ms").checked_add(response(&planned, "filter").expect("proven")).expect("small")
    );
    assert_eq!(
        latency(1),
        time("20ms").checked_add(response(&planned, "sensor").expect("proven")).expect("small")
    );
    assert_snapshot!(explain_chain(&planned.plan, "delayed").expect("a chain"));
}

/// xorshift64
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// A task of a run, in ticks of 100 µs.
struct Ticking {
    core: usize,
    priority: u8,
    period: u64,
    offset: u64,
    cost: u64,
    /// The tasks that it waits for.
    writers: Vec<usize>,
    /// Jobs that are complete.
    done: u64,
    left: u64,
    longest: u64,
}

impl Ticking {
    /// Jobs that have arrived by an instant.
    fn arrived(&self, at: u64) -> u64 {
        if at < self.offset { 0 } else { (at - self.offset) / self.period + 1 }
    }
}

/// Runs threads under fixed priorities, which begin once what they read is written. Returns the longest responses.
fn run(mut tasks: Vec<Ticking>, until: u64) -> Vec<u64> {
    for now in 0..until {
        // What is written at the beginning of the tick, for both cores.
        let done: Vec<u64> = tasks.iter().map(|task| task.done).collect();
        for core in 0..2 {
            let ready = |at: &usize| {
                let task = &tasks[*at];
                let arrival = task.offset + task.done * task.period;
                let begun = task.left < task.cost;
                let there = |&writer: &usize| done[writer] >= tasks[writer].arrived(arrival);
                task.core == core && arrival <= now && (begun || task.writers.iter().all(there))
            };
            let chosen = (0..tasks.len()).filter(ready).max_by_key(|at| tasks[*at].priority);
            let Some(at) = chosen else { continue };
            let task = &mut tasks[at];
            task.left -= 1;
            if task.left == 0 {
                let arrival = task.offset + task.done * task.period;
                task.longest = task.longest.max(now + 1 - arrival);
                (task.done, task.left) = (task.done + 1, task.cost);
            }
        }
    }
    tasks.into_iter().map(|task| task.longest).collect()
}

#[test]
fn nobody_waits_longer_than_was_said() {
    let mut random = Random(0x0f10_0d0f_1234_5678);
    let (mut shown_tasks, mut attained, mut broken) = (0_u64, 0_u64, 0_u64);
    for _ in 0..250 {
        let mut draft = bare(&[0, 1]);
        let count = 3 + random.below(4) as usize;
        let names: Vec<String> = (0..count).map(|at| format!("t{at}")).collect();
        for name in &names {
            let period = [50, 100, 200, 400][random.below(4) as usize];
            let cost = 1 + random.below(period / 6);
            let offset = if random.below(2) == 0 { 0 } else { random.below(period) };
            let ticks = |ticks: u64| Duration::from_us(ticks * 100);
            let core = random.below(2) as u16;
            draft.tasks.push(periodic(name, "1ms", "1ms", "1us").with(|task| {
                task.arrival = ArrivalDraft::Periodic { period: ticks(period), offset: ticks(offset) };
                task.deadline = ticks(period);
                task.wcet.value = ticks(cost);
                task.core = Some(core);
            }));
        }
        // From a task to later ones, so there is no cycle.
        for writer in 0..count - 1 {
            let to: Vec<&str> =
                names[writer + 1..].iter().filter(|_| random.below(3) == 0).map(String::as_str).collect();
            if !to.is_empty() {
                draft.channels.push(flow(&format!("c{writer}"), &names[writer], &to, &[]));
            }
        }
        let planned = plan(&draft);
        if planned.faults.iter().any(|fault| fault.code == codes::CORE_OVERLOADED) {
            continue;
        }
        let position = |name: &str| names.iter().position(|known| known == name).expect("a task");
        let ticking = |(at, task): (usize, &taut_plan::TaskPlan)| {
            let ClassPlan::RealTime { cpu, priority, ref arrival, wcet, .. } = task.class else { panic!() };
            let taut_plan::Arrival::Periodic { period, offset } = arrival else { panic!() };
            let ticks = |time: Duration| time.as_ns() / 100_000;
            let writers = draft.channels.iter().filter(|channel| channel.to.contains(&names[at]));
            Ticking {
                core: usize::from(cpu),
                priority,
                period: ticks(*period),
                offset: ticks(*offset),
                cost: ticks(wcet),
                writers: writers.map(|channel| position(&channel.from[0])).collect(),
                done: 0,
                left: ticks(wcet),
                longest: 0,
            }
        };
        let tasks: Vec<Ticking> = planned.plan.tasks.iter().enumerate().map(ticking).collect();
        // Jobs of a task that is not proven may pile up, so such a system says nothing about other tasks.
        if !planned.plan.proven {
            continue;
        }
        let mut free = draft.clone();
        free.channels.iter_mut().for_each(|channel| channel.flow = Flow::Newest);
        // The same priorities, without the waits.
        for (at, task) in planned.plan.tasks.iter().enumerate() {
            let ClassPlan::RealTime { priority, .. } = task.class else { panic!() };
            drafts::real_time(&mut free.tasks[at]).priority = Some(priority.into());
        }
        let free = plan(&free);
        for ((at, longest), name) in run(tasks, 2_000).into_iter().enumerate().zip(&names) {
            let bound = response(&planned, name).expect("proven");
            let longest = Duration::from_us(longest * 100);
            assert!(longest <= bound, "{name} takes {longest}, bound {bound}: {:#?}", draft.tasks[at]);
            shown_tasks += 1;
            // The probe comes on top.
            attained +=
                u64::from(longest.checked_add(Duration::from_us(200)).is_some_and(|near| near >= bound));
            broken += u64::from(response(&free, name).is_some_and(|bound| longest > bound));
        }
    }
    // The bounds are not far off, and those without waits do not hold.
    assert!(
        shown_tasks > 300 && attained * 4 > shown_tasks && broken > 20,
        "{shown_tasks} {attained} {broken}"
    );
}

#[test]
fn readers_of_each_kind_are_counted() {
    let mut draft = bare(&[0]);
    for (name, period) in [("sends", "10ms"), ("now", "10ms"), ("later", "10ms"), ("last", "10ms")] {
        on(&mut draft, 0, name, period, "100us");
    }
    draft.channels = vec![flow("words", "sends", &["now", "later", "last"], &["later", "last"])];
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let channel = &planned.plan.channels[0];
    assert_eq!(channel.flow_readers(), (1, 2));
    assert_eq!(["now", "later", "last"].map(|name| channel.flow_reader(name)), [Some(0), Some(1), Some(2)]);
}

/// Readers with a delay hold one old value together only if they are done when the writer runs: above it on its
/// core. Readers on another core may hold one each.
#[test]
fn buffers_of_readers_elsewhere() {
    let buffers = |core: u16| {
        let mut draft = bare(&[0, 1]);
        for (name, period) in [("one", "1ms"), ("two", "2ms"), ("three", "2500us")] {
            on(&mut draft, core, name, period, "100us");
        }
        on(&mut draft, 0, "writer", "5ms", "100us");
        on(&mut draft, 0, "slow", "50ms", "100us");
        draft.channels =
            vec![flow("x", "writer", &["one", "two", "three", "slow"], &["one", "two", "three"])];
        draft.channels[0].mechanism = Some(Mechanism::Dbp);
        proven(&draft).plan.channels[0].buffers
    };
    assert_eq!(buffers(0), Some(4));
    assert_eq!(buffers(1), Some(6));
}

/// 256 buffers and no more.
#[test]
fn tccp_up_to_its_most() {
    let mut most = None;
    for reader in 250..270_u64 {
        let mut draft = bare(&[0, 1]);
        on(&mut draft, 0, "writer", "100us", "10us");
        on(&mut draft, 1, "reader", "100ms", &format!("{}us", reader * 100 - 350));
        draft.channels = vec![flow("x", "writer", &["reader"], &[])];
        draft.channels[0].mechanism = Some(Mechanism::Tccp);
        let planned = plan(&draft);
        if !planned.plan.proven {
            assert_eq!(planned.faults[0].code, codes::MECHANISM_MISFIT);
            break;
        }
        most = planned.plan.channels[0].buffers;
    }
    assert_eq!(most, Some(256));
}

/// Going to sleep and waking up take two more switches, however many writers a job waits for; each reader that it
/// wakes costs a writer one.
#[test]
fn waiting_takes_switches() {
    let planned = |flows: bool| {
        let mut draft = bare(&[0, 1]);
        draft.platform.overheads.context_switch = time("10us");
        on(&mut draft, 0, "one", "10ms", "1ms");
        on(&mut draft, 0, "two", "20ms", "1ms");
        on(&mut draft, 1, "first", "10ms", "1ms");
        on(&mut draft, 1, "last", "20ms", "1ms");
        // Everything is written when they arrive.
        for name in ["first", "last"] {
            let period = if name == "first" { time("10ms") } else { time("20ms") };
            task(&mut draft, name).arrival = ArrivalDraft::Periodic { period, offset: time("5ms") };
        }
        draft.channels = vec![flow("x", "one", &["first", "last"], &[]), flow("y", "two", &["last"], &[])];
        if !flows {
            draft.channels.iter_mut().for_each(|channel| channel.flow = Flow::Newest);
        }
        proven(&draft)
    };
    let responses = |flows: bool| {
        let planned = planned(flows);
        ["one", "two", "first", "last"].map(|name| response(&planned, name).expect("proven").as_ns() / 1_000)
    };
    let (with, without) = (responses(true), responses(false));
    let more: Vec<u64> = with.iter().zip(without).map(|(with, without)| with - without).collect();
    // The second task on each core is delayed by what the first one takes more.
    assert_eq!(more, [20, 20 + 10, 20, 20 + 20]);
    let said = |name: &str| {
        let text = explain_task(&planned(true).plan, name).expect("a task");
        let row = |what: &str| {
            text.lines()
                .find(|line| line.contains(what))
                .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        [row("own"), row("waiting and waking")].map(Option::unwrap_or_default)
    };
    assert_eq!(said("first"), ["own 1.00 ms", "overhead waiting and waking 20.0 µs"]);
}

/// A writer that locks may stop after it has begun: then the order of priorities does not show that the value is
/// written.
#[test]
fn beside_locks_a_reader_waits() {
    let waits = |locks: bool| {
        let mut draft = bare(&[0]);
        draft.tasks.push(periodic("writer", "10ms", "10ms", "1ms"));
        draft.tasks.push(periodic("reader", "20ms", "20ms", "1ms"));
        draft.tasks.push(periodic("other", "40ms", "40ms", "1ms"));
        draft.channels = vec![flow("x", "writer", &["reader"], &[])];
        if locks {
            draft.resources.push(taut_model::Shared { name: "bus".into(), protocol: None });
            for name in ["writer", "other"] {
                let section =
                    taut_model::SectionDraft { resource: "bus".into(), longest: time("100us"), count: 1 };
                task(&mut draft, name).sections = vec![section];
            }
        }
        explain_task(&proven(&draft).plan, "reader").expect("a task").contains("waits for `x`")
    };
    assert!(!waits(false));
    assert!(waits(true));
}

/// Writers come before their readers, in whatever order the manifest names them and however short the readers'
/// deadlines are.
#[test]
fn writers_of_writers_go_first() {
    let order = |names: [&str; 4], deadline: &str| {
        let mut draft = bare(&[0]);
        for name in names {
            let due = if name == "c" { deadline } else { "10ms" };
            draft.tasks.push(periodic(name, "10ms", due, "1ms"));
        }
        draft.channels =
            vec![flow("x", "a", &["b"], &[]), flow("y", "b", &["c"], &[]), flow("z", "a", &["c"], &[])];
        let planned = proven(&draft);
        let mut order = names;
        order.sort_by_key(|name| std::cmp::Reverse(priority(&planned, name)));
        order.join(" ")
    };
    for names in [["a", "b", "c", "d"], ["d", "c", "b", "a"], ["c", "a", "d", "b"], ["b", "d", "c", "a"]] {
        assert_eq!(order(names, "5ms"), "a b c d", "{names:?}");
        let equal = order(names, "10ms");
        assert_eq!(
            equal.replace("d", "").split_whitespace().collect::<Vec<_>>(),
            ["a", "b", "c"],
            "{names:?}"
        );
    }
}

/// The longer of a wait and a release jitter counts as the delay; of equals, the jitter is reported.
#[test]
fn a_jitter_as_long_as_the_wait() {
    let mut draft = there_and_back();
    let wait = response(&proven(&draft), "sensor").expect("proven");
    let mut says = |jitter: Duration| {
        task(&mut draft, "filter").jitter = jitter;
        explain_task(&proven(&draft).plan, "filter").expect("a task").contains("waits for `measured`")
    };
    assert!(says(wait.saturating_sub(Duration::from_ns(1))));
    assert!(!says(wait));
}
