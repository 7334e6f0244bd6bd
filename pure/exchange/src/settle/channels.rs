// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Keeps channels whose ends are carried over, and chains over them.

use taut_model::PAYLOAD_BYTES_MAX;

use crate::sketch::{Arrival, Chain, Sketch};
use crate::xml::shown;

pub(super) fn channels(sketch: &mut Sketch) {
    // A task whose releasing channel is left out counts as released by an unknown source.
    let mut channels = Vec::new();
    let mut places = Vec::with_capacity(sketch.channels.len());
    for mut channel in std::mem::take(&mut sketch.channels) {
        let writer = channel.from;
        channel.to.retain(|reader| Some(*reader) != writer);
        channel.to.sort_unstable();
        channel.to.dedup();
        let name = channel.named.name.clone();
        let fault = match () {
            () if channel.to.is_empty() => {
                Some("no task that is carried over reads it from another".to_owned())
            }
            () if channel.queue && channel.to.len() > 1 => Some("a queue has one reader".to_owned()),
            () if channel.bytes == 0 => Some("it has no size".to_owned()),
            () if channel.bytes > PAYLOAD_BYTES_MAX => Some(format!(
                "{} bytes are more than the {PAYLOAD_BYTES_MAX} that a value can have",
                channel.bytes
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
        if let Arrival::Sporadic(Some(by)) = task.arrival {
            task.arrival = Arrival::Sporadic(places.get(by).copied().flatten());
        }
    }
}
