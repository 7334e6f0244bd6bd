// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bulk channels: how many blocks they have, where these lie, and what is promised of them.

mod drafts;

use drafts::{cost, empty, payload, periodic, plan, proven, queue, shown, size, task, time};
use insta::assert_snapshot;
use taut_model::{
    ArrivalDraft, BestEffort, ChannelDraft, ChannelKind, ClassDraft, ClientDraft, ClientKind, Draft,
    Mechanism, OverflowPolicy, Reception, Scalar, TaskDraft, TriggerDraft, codes,
};
use taut_plan::{MemoryMap, Plan, ValidPlan, explain_channel};

const MIB: u64 = 1 << 20;

/// `camera` sends an image of 10 MiB every 10 ms to `detect`.
fn draft(overflow: OverflowPolicy) -> Draft {
    let mut draft = empty(&[0, 1]);
    draft.platform.memory = size("700MiB");
    draft.payloads = vec![payload("Image", &[("pixels", Scalar::U8, 10 << 20)])];
    draft.tasks = vec![
        periodic("camera", "10ms", "10ms", "4ms"),
        periodic("detect", "10ms", "10ms", "8ms"),
        TaskDraft {
            name: "recorder".into(),
            service: None,
            class: ClassDraft::BestEffort(BestEffort::default()),
        },
    ];
    let images = queue("images", "camera", "detect", "Image", None);
    draft.channels = vec![ChannelDraft { kind: ChannelKind::Bulk, overflow, ..images }];
    draft
}

fn triggered(draft: &mut Draft, gap: &str) {
    let triggers = TriggerDraft::only("images");
    task(draft, "detect").arrival = ArrivalDraft::Sporadic { min_gap: time(gap), triggers, device: None };
    task(draft, "detect").deadline = time(gap);
    task(draft, "detect").wcet = cost("2ms", 0);
}

#[test]
fn blocks_follow_from_rates() {
    let plan = proven(&draft(OverflowPolicy::Reject));
    let images = &plan.channels[0];
    assert_eq!((images.kind, images.capacity, images.place), (ChannelKind::Bulk, 3, MemoryMap::Process));
    assert!(images.latency.is_some());
    // Three words for each block, and the blocks; no stamp in front of them.
    assert_eq!(images.region.size, 3 * 128 + 30 * MIB);
    assert!(plan.memory.process.as_bytes() >= 30 * MIB);
    assert_snapshot!(explain_channel(&plan, "images").expect("a channel"));
    // A receiver that the channel releases follows at once, and needs no third one.
    let mut released = draft(OverflowPolicy::Reject);
    triggered(&mut released, "5ms");
    released.channels[0].takes_per_release = 2;
    let plan = proven(&released);
    let images = &plan.channels[0];
    assert_eq!((images.capacity, images.takes_per_release), (2, 2));
    assert!(images.readers[0].triggered);
    assert_eq!(images.region.size, 3 * 128 + 20 * MIB + 128, "and the line that wakes the receiver");
}

/// With too few blocks a loan can be refused, and so the plan is; a channel that recalls may have any number.
#[test]
fn too_few_blocks_are_refused_or_recalled() {
    let mut few = draft(OverflowPolicy::Reject);
    few.channels[0].capacity = Some(2);
    let refused = plan(&few);
    assert!(!refused.plan.proven);
    assert_snapshot!(shown(&refused.faults));
    few.channels[0].overflow = OverflowPolicy::Recall;
    let recalls = proven(&few);
    assert_eq!((recalls.channels[0].capacity, recalls.channels[0].latency), (2, None));
    // As many as rates ask for: then none is recalled, and each has a bound.
    few.channels[0].capacity = Some(3);
    assert!(proven(&few).channels[0].latency.is_some());
    let auto = proven(&draft(OverflowPolicy::Recall));
    assert_eq!(auto.channels[0].capacity, 3);
    assert_eq!(auto.channels[0].latency, proven(&draft(OverflowPolicy::Reject)).channels[0].latency);
}

/// A receiver that is too slow for every block needs none of them if they may be recalled.
#[test]
fn a_receiver_that_is_too_slow_loses_blocks() {
    let mut slow = draft(OverflowPolicy::Recall);
    let arrival = ArrivalDraft::Periodic { period: time("100ms"), offset: time("0ms") };
    task(&mut slow, "detect").arrival = arrival;
    let plan = proven(&slow);
    assert_eq!((plan.channels[0].capacity, plan.channels[0].latency), (3, None));
    let why = plan.channels[0].capacity_reason.as_deref().expect("chosen");
    assert!(why.starts_with("nothing bounds how many are away"), "{why}");
    slow.channels[0].overflow = OverflowPolicy::Reject;
    let (_, faults) = slow.build();
    assert!(faults.iter().any(|fault| fault.code == codes::RATE_OVERFLOW), "{}", shown(&faults));
}

/// No channel has more than 64 blocks, whatever its rates ask for.
#[test]
fn too_many_blocks_are_refused() {
    let mut bursts = draft(OverflowPolicy::Reject);
    bursts.payloads = vec![payload("Image", &[("pixels", Scalar::U8, 128)])];
    (bursts.channels[0].sends_per_release, bursts.channels[0].takes_per_release) = (64, 64);
    let planned = plan(&bursts);
    assert!(!planned.plan.proven);
    let fault = planned.faults.iter().find(|fault| fault.code == codes::BAD_CAPACITY).expect("refused");
    assert!(fault.message.starts_with("bulk channel `images` would need "), "{}", fault.message);
    assert_eq!(planned.plan.channels[0].capacity, 64);
    bursts.channels[0].overflow = OverflowPolicy::Recall;
    assert_eq!(proven(&bursts).channels[0].capacity, 64);
}

#[test]
fn one_end_may_be_best_effort() {
    let mut leaves = draft(OverflowPolicy::Reject);
    leaves.channels[0].to = vec!["recorder".into()];
    leaves.channels[0].reception = Reception::Wait;
    let plan = proven(&leaves);
    assert_eq!((plan.channels[0].capacity, plan.channels[0].latency), (3, None));
    assert!(plan.channels[0].readers[0].event_count.is_some());
    let mut comes = draft(OverflowPolicy::Reject);
    comes.channels[0].from = vec!["recorder".into()];
    assert_eq!(proven(&comes).channels[0].capacity, 3);
}

#[test]
fn memory_that_is_not_there_is_refused() {
    let mut small = draft(OverflowPolicy::Reject);
    small.platform.memory = size("16MiB");
    let planned = plan(&small);
    let fault = planned.faults.iter().find(|fault| fault.code == codes::MEMORY_EXCEEDED).expect("refused");
    let place = fault.secondary.iter().map(|label| label.place.path()).collect::<Vec<_>>();
    assert_eq!(place, ["channels.images"]);
    assert!(fault.help.as_deref().is_some_and(|help| help.ends_with("or shrink a scope or a bulk channel")));
}

type Forge = fn(&mut Plan);

/// What a plan may not say of a bulk channel, and of others.
#[test]
fn forged_plans_are_refused() {
    let mut of = draft(OverflowPolicy::Reject);
    of.channels.push(queue("figures", "camera", "detect", "Figures", None));
    of.payloads.push(payload("Figures", &[("sum", Scalar::U64, 1)]));
    let good = proven(&of);
    let forged: [(&str, Forge); 9] = [
        ("cannot have a capacity of 1", |plan| plan.channels[0].capacity = 1),
        ("cannot have a capacity of 65", |plan| plan.channels[0].capacity = 65),
        ("needs another size", |plan| plan.channels[0].capacity = 4),
        ("Bulk does not serve", |plan| plan.channels[0].overflow = OverflowPolicy::Clear),
        ("Bulk does not serve", |plan| plan.channels[0].kind = ChannelKind::Queue),
        ("QrtR does not serve", |plan| plan.channels[1].kind = ChannelKind::Bulk),
        ("QrtR does not serve", |plan| plan.channels[1].overflow = OverflowPolicy::Recall),
        ("or takes none", |plan| plan.channels[0].takes_per_release = 0),
        ("and is no bulk channel", |plan| plan.channels[1].takes_per_release = 2),
    ];
    for (said, forge) in forged {
        let mut plan = good.clone();
        forge(&mut plan);
        let error = ValidPlan::new(plan).expect_err(said).to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    of.clients = vec![ClientDraft {
        name: "viewer".into(),
        kind: ClientKind::Process,
        max_attached: 1,
        min_gap: None,
    }];
    of.channels.push(queue("orders", "viewer", "detect", "Figures", None));
    let mut plan = proven(&of);
    (plan.channels[2].kind, plan.channels[2].mechanism) = (ChannelKind::Bulk, Mechanism::Bulk);
    let error = ValidPlan::new(plan).expect_err("a client").to_string();
    assert!(error.contains("a client fills blocks of bulk channel `orders`"), "{error}");
}

/// `camera` sends to a client, which maps the blocks read-only and has a line of its own.
#[test]
fn a_client_receives_blocks() {
    let mut leaves = draft(OverflowPolicy::Recall);
    leaves.clients = vec![ClientDraft {
        name: "viewer".into(),
        kind: ClientKind::Process,
        min_gap: None,
        max_attached: 1,
    }];
    leaves.channels[0].to = vec!["viewer".into()];
    leaves.channels[0].reception = Reception::Wait;
    let plan = proven(&leaves);
    let images = &plan.channels[0];
    let expected = (Mechanism::ReservedBulk, 3, None, MemoryMap::Segment);
    assert_eq!((images.mechanism, images.capacity, images.latency, images.place), expected);
    // Four lines of words, in the file of the segment that no client writes.
    assert_eq!((images.region.offset, images.region.size), (128, 4 * 128 + 30 * MIB));
    let (reader, page) = (&images.readers[0], |region: taut_plan::Region| region.offset / 4096);
    let (line, event_count) = (reader.reservation.expect("a line"), reader.event_count.expect("it waits"));
    assert_eq!(line.size, 128);
    // Its private file, and the one in which the sender wakes it.
    let last = (images.region.offset + images.region.size - 1) / 4096;
    assert!(last < page(line) && page(line) < page(event_count));
    assert_snapshot!(explain_channel(&plan, "images").expect("a channel"));
    let forged: [(&str, Forge); 5] = [
        ("reserves blocks of channel `images`", |plan| plan.channels[0].readers[0].reservation = None),
        ("is not a line", |plan| {
            plan.channels[0].readers[0].reservation.as_mut().expect("a line").size = 64;
        }),
        ("share a page", |plan| {
            let event_count = plan.channels[0].readers[0].event_count.expect("it waits");
            plan.channels[0].readers[0].reservation.as_mut().expect("a line").offset =
                event_count.offset + 128;
        }),
        ("Reserved Bulk does not serve", |plan| plan.channels[0].overflow = OverflowPolicy::Reject),
        ("Bulk does not serve", |plan| plan.channels[0].mechanism = Mechanism::Bulk),
    ];
    for (said, forge) in forged {
        let mut plan = plan.clone();
        forge(&mut plan);
        let error = ValidPlan::new(plan).expect_err(said).to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    // A task that is not real-time may send, too; it wakes nobody.
    leaves.channels[0].from = vec!["recorder".into()];
    leaves.channels[0].reception = Reception::Poll;
    let images = proven(&leaves).channels.remove(0);
    assert_eq!((images.mechanism, images.capacity), (Mechanism::ReservedBulk, 3));
    assert_eq!(images.readers[0].event_count, None);
}
