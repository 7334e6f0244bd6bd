// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! States with a real-time reader: which mechanism the plan chooses, in how many buffers, and what it says about
//! it.

mod drafts;

use drafts::{Edit, empty, payload, periodic, plan, shown, state, task};
use insta::assert_snapshot;
use proptest::prelude::*;
use taut_model::{BestEffort, ClassDraft, ClientDraft, ClientKind, Draft, Scalar, TaskDraft, codes};
use taut_plan::{ChannelPlan, Mechanism, MemoryMap, Plan, Way, explain_channel};
use taut_planner::Planned;

/// `writer` every 4 ms, and readers at other rates on two cores.
fn readers(periods: &[(&str, &str)], words: u32) -> Draft {
    let mut draft = empty(&[0, 1]);
    draft.payloads = vec![payload("Pose", &[("", Scalar::U64, words)])];
    draft.tasks = vec![periodic("writer", "4ms", "4ms", "100us").with(|task| task.core = Some(0))];
    for (name, period) in periods {
        draft.tasks.push(periodic(name, period, period, "100us").with(|task| task.core = Some(1)));
    }
    let mut channel = state("pose", "writer", "", "Pose");
    channel.to = periods.iter().map(|(name, _)| (*name).to_owned()).collect();
    draft.channels = vec![channel];
    draft.clients = ["ui", "web"]
        .map(|name| ClientDraft {
            name: name.into(),
            kind: ClientKind::Process,
            max_attached: 1,
            min_gap: None,
        })
        .to_vec();
    draft
}

fn best_effort(draft: &mut Draft, name: &str) {
    let class = ClassDraft::BestEffort(BestEffort::default());
    draft.tasks.push(TaskDraft { name: name.into(), service: None, class });
}

fn channel(plan: &Plan) -> &ChannelPlan {
    &plan.channels[0]
}

/// Every object is in its region: the mechanism's own formula fits into it.
fn consistent(channel: &ChannelPlan) {
    let value = channel.size + taut_plan::STAMP_BYTES;
    let slots = channel.buffers.unwrap_or(channel.capacity);
    let bytes = channel.mechanism.bytes(value, slots, channel.claims()).expect("a size");
    assert_eq!(channel.region.size, bytes);
    for (at, reader) in channel.readers.iter().enumerate() {
        let before = channel.readers[..at].iter().filter(|r| r.way == Some(Way::Claims)).count();
        let claim = (reader.way == Some(Way::Claims)).then_some(before as u32);
        assert_eq!(channel.claim(&reader.name), claim);
    }
}

fn line(draft: &Draft) -> String {
    let planned = plan(draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    consistent(channel(&planned.plan));
    let channel = channel(&planned.plan);
    format!("{}: {}\n", channel.mechanism.paper_name(), channel.reason)
}

#[test]
fn chosen() {
    let mut text = String::new();
    // One reader, of whose reads at most two writes can touch one.
    text += &line(&readers(&[("fast", "2ms")], 4));
    // Readers at many rates that all respond soon.
    text += &line(&readers(&[("fast", "2ms"), ("middle", "8ms"), ("slow", "400ms")], 4));
    // One of them takes long: it claims.
    let mut draft = readers(&[("fast", "2ms"), ("middle", "8ms"), ("slow", "400ms")], 4);
    task(&mut draft, "slow").wcet = drafts::cost("100ms", 0);
    text += &line(&draft);
    // The same reader alone: time saves nothing.
    draft.channels[0].to = vec!["slow".into()];
    text += &line(&draft);
    // A large value: each buffer counts.
    text += &line(&readers(&[("fast", "2ms"), ("slow", "400ms")], 2_000));
    // A client looks on; the object is then in the segment.
    let mut draft = readers(&[("fast", "2ms"), ("slow", "400ms")], 4);
    draft.channels[0].to.push("ui".into());
    assert_eq!(plan(&draft).plan.channels[0].place, MemoryMap::Segment);
    text += &line(&draft);
    // A writer that is not real-time has no bounds on its times.
    let mut draft = readers(&[("fast", "2ms"), ("slow", "400ms")], 4);
    best_effort(&mut draft, "shell");
    draft.channels[0].from = vec!["shell".into()];
    text += &line(&draft);
    draft.channels[0].from = vec!["ui".into()];
    draft.channels[0].to.push("web".into());
    text += &line(&draft);
    // A single reader again.
    draft.channels[0].to = vec!["fast".into()];
    text += &line(&draft);
    assert_snapshot!(text);
}

#[test]
fn pinned() {
    let mut text = String::new();
    let mut draft = readers(&[("fast", "2ms"), ("slow", "400ms")], 4);
    best_effort(&mut draft, "log");
    draft.channels[0].to.push("log".into());
    use Mechanism::{Chen, DoubleBuffer, Hybrid, ImprovedChen, Nbw, Peterson, Presence};
    for mechanism in [Chen, DoubleBuffer, Presence, Peterson, Hybrid, ImprovedChen, Nbw] {
        draft.channels[0].mechanism = Some(mechanism);
        text += &line(&draft);
    }
    assert_snapshot!(text);
    assert_snapshot!("explained", explain_channel(&plan(&draft).plan, "pose").expect("a channel"));
}

/// More writes can touch a read than there are buffers.
#[test]
fn times_that_do_not_fit() {
    let mut draft = readers(&[("fast", "2ms"), ("slow", "4s")], 4);
    task(&mut draft, "slow").wcet = drafts::cost("3s", 0);
    draft.channels[0].mechanism = Some(Mechanism::Nbw);
    let planned = plan(&draft);
    assert_eq!(planned.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [codes::MECHANISM_MISFIT]);
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
    // The two readers may differ: the slow one claims.
    draft.channels[0].mechanism = Some(Mechanism::ImprovedChen);
    let planned = plan(&draft);
    let ways: Vec<_> = channel(&planned.plan).readers.iter().map(|reader| reader.way).collect();
    assert_eq!(ways, [Some(Way::ByTime), Some(Way::Claims)]);
}

#[test]
fn several_values_per_job() {
    let mut draft = readers(&[("fast", "2ms")], 4);
    draft.channels[0].mechanism = Some(Mechanism::Nbw);
    let one = plan(&draft).plan.channels[0].buffers.expect("counted");
    draft.channels[0].sends_per_release = 10;
    let ten = plan(&draft).plan.channels[0].buffers.expect("counted");
    assert_eq!((one, ten), (4, 12));
}

/// The lock is read back as it was written.
#[test]
fn in_the_lock() {
    let plan = plan(&readers(&[("fast", "2ms"), ("slow", "400ms")], 200)).plan;
    let text = plan.to_lock().expect("text");
    assert_eq!(Plan::from_lock(&text), Ok(plan));
    assert!(text.contains("buffers = ") && text.contains("way = \"by-time\""), "{text}");
}

/// The only reader would have to be fast: a pinned mechanism is refused, and one that is not pinned is passed over
/// in silence.
#[test]
fn a_reader_that_is_too_slow_alone() {
    let mut draft = readers(&[("slow", "4s")], 4);
    task(&mut draft, "slow").wcet = drafts::cost("3s", 0);
    let open = plan(&draft);
    assert!(open.plan.proven, "{}", shown(&open.faults));
    draft.channels[0].mechanism = Some(Mechanism::ImprovedChen);
    let planned = plan(&draft);
    assert_eq!(planned.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [codes::MECHANISM_MISFIT]);
}

/// A writer that does not pause must not keep readers of a large value from ever reading it.
#[test]
fn readers_that_all_look_on() {
    let buffers = |words| {
        let mut draft = readers(&[], words);
        draft.channels[0].to = vec!["ui".into()];
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        let channel = &planned.plan.channels[0];
        assert_eq!(channel.size + taut_plan::STAMP_BYTES, 8 * words + 16);
        (channel.mechanism, channel.buffers)
    };
    // With the stamp of 16 bytes: 1,024 and 1,032.
    assert_eq!(buffers(126), (Mechanism::Hybrid, Some(2)));
    assert_eq!(buffers(127), (Mechanism::Hybrid, Some(4)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The chosen mechanism is never larger than any that can be pinned instead, and rests on time only for real-time
    /// readers of a real-time writer.
    #[test]
    fn nothing_smaller_fits(
        periods in prop::collection::vec(1u32..400, 1..6),
        words in 1u32..300,
        sends in 1u32..4,
        others in prop::collection::vec(any::<bool>(), 0..3),
    ) {
        let names: Vec<_> = periods.iter().enumerate().map(|(i, p)| (format!("r{i}"), format!("{p}ms"))).collect();
        let names: Vec<_> = names.iter().map(|(name, period)| (name.as_str(), period.as_str())).collect();
        let mut draft = readers(&names, words);
        for task in &mut draft.tasks {
            drafts::real_time(task).wcet = drafts::cost("1us", 0);
            drafts::real_time(task).core = None;
        }
        draft.channels[0].sends_per_release = sends;
        for (i, client) in others.iter().enumerate() {
            let name = if *client && i < 2 { ["ui", "web"][i].to_owned() } else { format!("log{i}") };
            if !(*client && i < 2) {
                best_effort(&mut draft, &name);
            }
            draft.channels[0].to.push(name);
        }
        let chosen = plan(&draft).plan;
        let chosen = channel(&chosen);
        consistent(chosen);
        for reader in &chosen.readers {
            prop_assert!(reader.way != Some(Way::ByTime) || reader.name.starts_with('r'));
            prop_assert!(reader.way != Some(Way::LooksOn) || !reader.name.starts_with('r'));
            prop_assert!(reader.way != Some(Way::Claims) || !reader.client);
        }
        for mechanism in Mechanism::ALL.into_iter().filter(|mechanism| mechanism.has_ways()) {
            draft.channels[0].mechanism = Some(mechanism);
            let (Some(model), _) = draft.clone().build() else { continue };
            let pinned = Planned::make(&model, Vec::new());
            if pinned.faults.iter().all(|fault| fault.code != codes::MECHANISM_MISFIT) {
                consistent(channel(&pinned.plan));
                prop_assert!(channel(&pinned.plan).region.size >= chosen.region.size, "{mechanism:?}");
            }
        }
    }
}

/// For a mechanism without ways, the reason names the parties.
#[test]
fn parties_in_words() {
    let said = |from: &str, to: &str, kind: &dyn Fn(&str, &str) -> taut_model::ChannelDraft, mechanism| {
        let mut draft = readers(&[("reader", "4ms")], 8);
        best_effort(&mut draft, "free");
        draft.channels = vec![kind(from, to)];
        draft.channels[0].mechanism = mechanism;
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        planned.plan.channels[0].reason.clone()
    };
    let state = |from: &str, to: &str| state("pose", from, to, "Pose");
    let queue = |from: &str, to: &str| drafts::queue("pose", from, to, "Pose", Some(8));
    let sdrtr = "state of a writer that is not real-time, one real-time reader";
    assert_eq!(said("free", "reader", &state, Some(Mechanism::Sdrtr)), format!("pinned; {sdrtr}"));
    assert_eq!(said("free", "reader", &state, None), sdrtr);
    let sdrtw = "pinned; state of a real-time writer, no real-time reader";
    assert_eq!(said("writer", "free", &state, Some(Mechanism::Sdrtw)), sdrtw);
    let queued = said("free", "reader", &queue, None);
    assert!(
        queued.starts_with("queue from a writer that is not real-time to a real-time reader"),
        "{queued}"
    );
    let queued = said("writer", "reader", &queue, None);
    assert!(queued.starts_with("queue between real-time tasks"), "{queued}");
}

/// The reason says what a lock does to its waiters, and a suspended waiter has an entry of its own.
#[test]
fn locks_in_words() {
    let said = |mechanism, core| {
        let mut draft = readers(&[("reader", "8ms")], 8);
        task(&mut draft, "reader").core = Some(core);
        draft.channels[0].mechanism = Some(mechanism);
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        let channel = channel(&planned.plan);
        (channel.reason.clone(), channel.readers[0].way)
    };
    let words = |waits: &str| format!("pinned; state of real-time tasks {waits}; one copy, held for 1 ns");
    let ceiling = words("on one core, under a ceiling: no task that uses the state preempts its holder");
    assert_eq!(said(Mechanism::Srp, 0), (ceiling, None));
    assert_eq!(said(Mechanism::Msrp, 1), (words("on several cores: a waiting job spins"), None));
    let suspended = words("on several cores: a waiting job is suspended");
    assert_eq!(said(Mechanism::Mpcp, 1), (suspended, Some(Way::Claims)));
}

/// Memory is enough to the last byte; if it is not, the fault names the scopes that there are.
#[test]
fn memory_to_the_byte() {
    let mut draft = readers(&[("reader", "8ms")], 8);
    task(&mut draft, "reader").persistent = drafts::size("3KiB");
    let total = plan(&draft).plan.memory.total.as_bytes();
    draft.platform.memory = taut_model::Size::from_bytes(total);
    assert!(plan(&draft).plan.proven);
    draft.platform.memory = taut_model::Size::from_bytes(total - 1);
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_eq!(planned.faults[0].code, codes::MEMORY_EXCEEDED);
    let scopes: Vec<_> =
        planned.faults[0].secondary.iter().map(|label| label.place.path().to_owned()).collect();
    assert_eq!(scopes, ["tasks.reader.memory.persistent"]);
}

/// The bound of a set-up is a part of the memory, and of nothing that boot maps.
#[test]
fn bounds_of_set_ups_count() {
    let mut draft = readers(&[("reader", "8ms"), ("other", "16ms")], 8);
    let without = plan(&draft).plan.memory;
    assert_eq!(without.set_up, taut_model::Size::ZERO);
    task(&mut draft, "reader").set_up = Some(drafts::size("3000B"));
    task(&mut draft, "other").set_up = Some(drafts::size("5KiB"));
    let with = plan(&draft).plan;
    assert_eq!(with.memory.set_up, drafts::size("8120B"));
    let maps = [with.memory.process, with.memory.segment, with.memory.runtime];
    assert_eq!(maps, [without.process, without.segment, without.runtime]);
    assert_eq!(with.memory.total.as_bytes(), without.total.as_bytes() + 8_120);
    assert_eq!(Plan::from_lock(&with.to_lock().unwrap()).as_ref(), Ok(&with));
    draft.platform.memory = with.memory.total;
    assert!(plan(&draft).plan.proven);
    draft.platform.memory = taut_model::Size::from_bytes(with.memory.total.as_bytes() - 1);
    let fault = &plan(&draft).faults[0];
    assert_eq!(fault.code, codes::MEMORY_EXCEEDED);
    let places: Vec<_> = fault.secondary.iter().map(|label| label.place.path().to_owned()).collect();
    assert_eq!(places, ["tasks.other.memory.set-up", "tasks.reader.memory.set-up"]);
    assert!(fault.notes[0].ends_with(", heap of set-ups 8120B"), "{:?}", fault.notes);
}
