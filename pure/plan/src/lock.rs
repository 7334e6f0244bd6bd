// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use sha2::{Digest, Sha256};

use taut_model::Scheduler;

use crate::{Plan, text};

/// The digest of a text, as [`crate::Input::hash`] holds it.
pub fn digest(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Why a text is not a plan of this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockError {
    /// It is of another format.
    Version(u32),
    /// It does not say what it should; the reader's message with line and column.
    Malformed(String),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(v) => {
                write!(f, "taut.lock is of format {v}; this version reads format {}", Plan::FORMAT)
            }
            Self::Malformed(message) => write!(f, "taut.lock is damaged: {message}"),
        }
    }
}

impl std::error::Error for LockError {}

const HEAD: &str = "\
# Written by `taut plan` from taut.toml; `taut plan --check` says whether it is up to date.
# Edit the manifest, not this file.

";

impl Plan {
    /// What is proven in it and cannot be executed by this version; none if all of it can.
    pub fn not_executed(&self) -> Option<String> {
        let edf = self.cores.iter().find(|core| core.scheduler == Scheduler::Edf);
        let dispatched = self.cores.iter().find(|core| core.dispatched.is_some());
        if let Some(server) = self.servers.first() {
            return Some(format!("server `{}`", server.name));
        }
        let locked = self.channels.iter().find(|channel| channel.mechanism.locking().is_some());
        match (edf, self.resources.first(), locked) {
            (Some(core), ..) => Some(format!("EDF on core {}", core.cpu)),
            (None, Some(resource), _) => {
                Some(format!("{} for resource `{}`", resource.protocol.paper_name(), resource.name))
            }
            (None, None, Some(channel)) => {
                Some(format!("{} for channel `{}`", channel.mechanism.paper_name(), channel.name))
            }
            (None, None, None) => {
                dispatched.map(|core| format!("a dispatcher, which core {} needs", core.cpu))
            }
        }
    }

    /// The text of `taut.lock`. The same plan gives the same text.
    ///
    /// # Errors
    /// [`LockError::Malformed`] if a value cannot be written as TOML.
    pub fn to_lock(&self) -> Result<String, LockError> {
        let table = toml::Table::try_from(self).map_err(|e| LockError::Malformed(e.to_string()))?;
        Ok(format!("{HEAD}{}", text::write(&table)))
    }

    /// Reads the text of a `taut.lock`.
    ///
    /// # Errors
    /// [`LockError`] if it is of another format or damaged.
    pub fn from_lock(text: &str) -> Result<Self, LockError> {
        #[derive(serde::Deserialize)]
        struct Version {
            lock: u32,
        }
        let read = toml::from_str::<Self>(text);
        // Another format may have the same shape or another one; which it is, it says itself.
        let version = match &read {
            Ok(plan) => Some(plan.lock),
            Err(_) => toml::from_str::<Version>(text).ok().map(|v| v.lock),
        };
        match version {
            Some(version) if version != Self::FORMAT => Err(LockError::Version(version)),
            _ => read.map_err(|e| LockError::Malformed(e.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_sha256() {
        assert_eq!(digest(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
