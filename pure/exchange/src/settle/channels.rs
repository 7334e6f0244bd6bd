// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Keeps channels whose ends are carried over, and chains over them.

use taut_model::{BLOCK_BYTES_MAX, PAYLOAD_BYTES_MAX};

use crate::sketch::{Arrival, Carries, Chain, Party, Sketch, Task};
use crate::xml::shown;

/// The most values that a reader takes per activation.
const COUNT_MAX: u32 = 1 << 16;

/// The largest value of a channel.
fn bytes_max(carries: Carries) -> u32 {
    match carries {
        Carries::Latest | Carries::Every | Carries::Message | Carries::Broadcast => PAYLOAD_BYTES_MAX,
        Carries::Blocks => BLOCK_BYTES_MAX,
    }
}

pub(super) fn channels(sketch: &mut Sketch) {
    // A task whose releasing channel is left out counts as released by an unknown source.
    let mut channels = Vec::new();
    let mut places = Vec::with_capacity(sketch.channels.len());
    for mut channel in std::mem::take(&mut sketch.channels) {
        let is_sender = |party: &Party| channel.from.iter().any(|sender| sender.party == *party);
        channel.to.retain(|reader| !is_sender(reader));
        channel.to.sort_unstable();
        channel.to.dedup();
        let name = channel.named.name.clone();
        let fault = match () {
            () if channel.to.is_empty() || channel.from.is_empty() => {
                Some("no task that is carried over reads it from another".to_owned())
            }
            () if matches!(channel.carries, Carries::Every | Carries::Message) && channel.to.len() > 1 => {
                Some("a queue has one reader".to_owned())
            }
            () if channel.bytes == 0 => Some("it has no size".to_owned()),
            () if channel.takes > COUNT_MAX => {
                Some(format!("its reader would have to take more than {COUNT_MAX} values per release"))
            }
            () if channel.bytes > bytes_max(channel.carries) => Some(format!(
                "{} bytes are more than the {} that a value can have",
                channel.bytes,
                bytes_max(channel.carries)
            )),
            () => None,
        };
        match fault {
            Some(why) => {
                sketch.lose(channel.at, format!("`{name}` is left out: {why}"));
                places.push(None);
            }
            None => {
                places.push(Some(channels.len()));
                channels.push(channel);
            }
        }
    }
    sketch.channels = channels;
    for chain in std::mem::take(&mut sketch.chains) {
        let kept: Option<Vec<_>> = chain.channels.iter().map(|at| *places.get(*at)?).collect();
        match kept.filter(|kept| !kept.is_empty() && kept.len() + 1 == chain.tasks.len()) {
            Some(channels) => sketch.chains.push(Chain { channels, ..chain }),
            None => {
                let name = shown(&chain.named.name);
                sketch
                    .lose(chain.at, format!("the deadline {} of all of `{name}` is left out", chain.latency));
            }
        }
    }
    for task in &mut sketch.tasks {
        if let Arrival::Sporadic(by) = &mut task.arrival {
            *by = by.iter().filter_map(|at| places.get(*at).copied().flatten()).collect();
        }
    }
    circles(sketch);
}

/// Tasks that release each other in a circle, and that nothing else releases, would never start: an event from outside
/// releases one of them, too.
fn circles(sketch: &mut Sketch) {
    let releasing = |task: &Task| match &task.arrival {
        Arrival::Sporadic(by) => by.clone(),
        _ => Vec::new(),
    };
    let mut releases = vec![Vec::new(); sketch.tasks.len()];
    let mut starting = Vec::new();
    for (at, task) in sketch.tasks.iter().enumerate() {
        let by = releasing(task);
        let senders = by.iter().flat_map(|channel| &sketch.channels[*channel].from);
        let mut starts = by.is_empty();
        for sender in senders {
            match sender.party {
                Party::Task(sender) => releases[sender].push(at),
                Party::Client(_) => starts = true,
            }
        }
        starting.extend(starts.then_some(at));
    }
    let mut starts = vec![false; sketch.tasks.len()];
    for at in 0..sketch.tasks.len() {
        while let Some(task) = starting.pop() {
            if !std::mem::replace(&mut starts[task], true) {
                starting.extend(&releases[task]);
            }
        }
        if !starts[at] {
            let task = &mut sketch.tasks[at];
            task.needs_outside = true;
            let (place, name) = (task.at, shown(&task.named.name));
            let what = format!(
                "`{name}` is released only by tasks that wait for it: a best-effort task that starts them is written"
            );
            sketch.lose(place, what);
            starting.push(at);
        }
    }
}
