// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applies overrides of the manifest.

use std::fmt;

use taut_model::{ChannelId, Mechanism, Model, nearest};
use taut_plan::{Overrides, Pin};

/// Why overrides cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverrideError {
    /// The manifest has no channel of this name; then the nearest name that it has, if any.
    Channel(String, Option<String>),
    /// A channel is pinned twice.
    Twice(String),
    /// The mechanism does not serve the channel's parties; then the mechanisms that do.
    Misfit(Pin, Vec<Mechanism>),
}

impl fmt::Display for OverrideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channel(name, None) => write!(f, "the manifest has no channel `{name}`"),
            Self::Channel(name, Some(near)) => {
                write!(f, "the manifest has no channel `{name}`; did you mean `{near}`?")
            }
            Self::Twice(name) => write!(f, "channel `{name}` is pinned twice"),
            Self::Misfit(Pin { channel, mechanism }, fit) => {
                let words: Vec<&str> = fit.iter().map(|mechanism| mechanism.word()).collect();
                let (name, words) = (mechanism.paper_name(), words.join(", "));
                write!(f, "{name} does not fit the parties of channel `{channel}`; these do: {words}")
            }
        }
    }
}

impl std::error::Error for OverrideError {}

/// The model with the pins applied.
pub(crate) fn overridden(overrides: &Overrides, model: &Model) -> Result<Model, OverrideError> {
    let mut overridden = model.clone();
    for (at, pin) in overrides.pins.iter().enumerate() {
        let id = channel(model, &pin.channel)?;
        if overrides.pins[..at].iter().any(|other| other.channel == pin.channel) {
            return Err(OverrideError::Twice(pin.channel.clone()));
        }
        overridden = overridden.with_mechanism(id, pin.mechanism).ok_or_else(|| {
            let fit = Mechanism::ALL.into_iter();
            let serves = |mechanism: &Mechanism| mechanism.serves(model.channel(id).kind, &model.parties(id));
            OverrideError::Misfit(pin.clone(), fit.filter(serves).collect())
        })?;
    }
    Ok(overridden)
}

/// A channel by its name.
pub(crate) fn channel(model: &Model, name: &str) -> Result<ChannelId, OverrideError> {
    model.channel_ids().find(|id| model.channel(*id).name == name).ok_or_else(|| {
        let names = model.channels().iter().map(|channel| channel.name.as_str());
        OverrideError::Channel(name.to_owned(), nearest(name, names).map(str::to_owned))
    })
}
