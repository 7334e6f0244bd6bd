// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the caller asks for instead of what the manifest says.

use serde::{Deserialize, Serialize};
use taut_policy::{Aim, Mechanism};

/// What the caller asks for instead of what the manifest says. A lock file holds the overrides of its plan.
/// `taut plan` plans with those of its command line; every other command takes them from the lock file, unless the
/// manifest has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Overrides {
    /// The aim of the choice of mechanisms, instead of the manifest's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimise: Option<Aim>,
    /// Mechanisms of channels, instead of the manifest's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
}

/// A mechanism for a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pin {
    /// The channel's name.
    pub channel: String,
    /// The mechanism that carries it.
    pub mechanism: Mechanism,
}

impl Overrides {
    /// Whether there are no overrides.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
