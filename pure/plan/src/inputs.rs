// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::{Plan, digest};

/// How a text that a plan was made from has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputChange {
    /// Its content has changed.
    Changed(String),
    /// The plan was made from this text, and the caller does not give it now.
    Missing(String),
    /// The caller gives this text now, and the plan was not made from it.
    Added(String),
    /// The texts are the same, but in another order; a later overlay takes precedence.
    Reordered,
}

impl std::fmt::Display for InputChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Changed(path) => write!(f, "{path} has changed"),
            Self::Missing(path) => write!(f, "the plan was made from {path}, which is not given now"),
            Self::Added(path) => write!(f, "{path} is given now, but the plan was not made from it"),
            Self::Reordered => f.write_str("the overlays are given in another order"),
        }
    }
}

impl Plan {
    /// How the texts that the plan was made from differ from `inputs`, given as (path, bytes) in order; empty if the
    /// plan is up to date.
    pub fn changed_inputs<'a>(
        &self,
        inputs: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Vec<InputChange> {
        let now: Vec<(&str, String)> =
            inputs.into_iter().map(|(path, bytes)| (path, digest(bytes))).collect();
        let mut changes = Vec::new();
        for input in &self.inputs {
            match now.iter().find(|(path, _)| *path == input.path) {
                None => changes.push(InputChange::Missing(input.path.clone())),
                Some((_, hash)) if *hash != input.hash => {
                    changes.push(InputChange::Changed(input.path.clone()));
                }
                Some(_) => {}
            }
        }
        for (path, _) in &now {
            if self.inputs.iter().all(|input| input.path != *path) {
                changes.push(InputChange::Added((*path).to_owned()));
            }
        }
        let same_order = self.inputs.iter().map(|i| i.path.as_str()).eq(now.iter().map(|(path, _)| *path));
        if changes.is_empty() && !same_order {
            changes.push(InputChange::Reordered);
        }
        changes
    }
}
