// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;

use taut_policy::{LockingProtocol, SchedulingPolicy};

use crate::{ClassPlan, CorePlan, Invalid, Plan, ResourcePlan, TaskPlan, ValidPlan};

/// The digest of a text, as [`crate::Input::hash`] holds it.
pub fn digest(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut text = String::from("sha256:");
    for byte in hmac_sha256::Hash::hash(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Why a text is not a plan of this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanTextError {
    /// It has another format version.
    Version(u32),
    /// It cannot be parsed. Holds the parser's message, with line and column.
    Malformed(String),
    /// Its digest is not that of its content: somebody changed it after it was written. Holds the content as it is
    /// now, which nothing has checked.
    Edited(Box<Plan>),
    /// Its digest fits, but it breaks a rule that every plan of `taut plan` keeps.
    Invalid(Invalid),
}

impl PlanTextError {
    /// The code under which `taut explain` describes it; none where the text is no plan at all.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Edited(_) | Self::Invalid(_) => Some("TAUT0602"),
            Self::Version(_) | Self::Malformed(_) => None,
        }
    }
}

impl fmt::Display for PlanTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(v) => {
                write!(f, "taut.lock is of format {v}; this version reads format {}", Plan::FORMAT)
            }
            Self::Malformed(message) => write!(f, "taut.lock is damaged: {message}"),
            Self::Edited(_) => {
                write!(f, "taut.lock was changed after `taut plan` wrote it; `taut plan` writes it anew")
            }
            Self::Invalid(what) => {
                write!(f, "taut.lock cannot have come from `taut plan`: {what}; `taut plan` writes it anew")
            }
        }
    }
}

impl std::error::Error for PlanTextError {}

/// Something that the plan proves and that this version cannot execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotExecuted {
    /// What it is, to follow "does not execute".
    pub what: String,
    /// What to do about it.
    pub help: String,
}

#[cfg(feature = "write")]
const HEAD: &str = "\
# Written by `taut plan` from taut.toml; `taut plan --check` says whether it is up to date.
# Edit the manifest, not this file: it is refused if it does not fit its digest.

";

/// The key of the digest, which covers everything else.
const DIGEST: &str = "digest";

/// The text below the digest, in the form in which the digest covers it: `\n` ends a line; no line is a comment or ends
/// with a space; a blank line stands above each section, and nowhere else. The writer writes this form.
fn canonical(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    for line in body.lines().map(str::trim_end) {
        if line.is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Takes the digest out of the text of a `taut.lock` and leaves spaces, so that the parser's columns are those of the
/// file.
fn without_digest(text: &str) -> (String, Option<String>) {
    let (mut rest, mut found) = (String::with_capacity(text.len()), None);
    let mut above = true;
    for line in text.split_inclusive('\n') {
        above &= !line.starts_with('[');
        let value = line.split_once('=').filter(|(key, _)| above && found.is_none() && key.trim() == DIGEST);
        match value {
            Some((_, value)) => {
                found = Some(value.trim().trim_matches('"').to_owned());
                rest.extend(line.chars().map(|c| if c == '\n' { c } else { ' ' }));
            }
            None => rest.push_str(line),
        }
    }
    (rest, found)
}

impl Plan {
    /// The most tasks that may use one lock between cores.
    pub const LOCK_USERS_MAX: usize = 64;

    /// The most jobs of a dispatched core that may have begun at once.
    pub const BEGUN_MAX: usize = 90;

    /// What the plan proves and this version cannot execute; none if this version can execute all of the plan.
    pub fn not_executed(&self) -> Option<NotExecuted> {
        let locks = self.resources.iter().map(|of| ("resource", &of.name, of.protocol, of.users.len()));
        let states = self.channels.iter().filter_map(|channel| {
            let protocol = channel.mechanism.locking()?;
            Some(("state", &channel.name, protocol, channel.readers.len() + 1))
        });
        let many = |(.., protocol, users): &(_, _, LockingProtocol, usize)| {
            !protocol.is_local() && *users > Self::LOCK_USERS_MAX
        };
        if let Some((what, name, protocol, users)) = locks.chain(states).find(many) {
            let (most, protocol) = (Self::LOCK_USERS_MAX, protocol.paper_name());
            let what = format!("{protocol} for {what} `{name}` with {users} users, more than {most}");
            let help =
                format!("let at most {most} tasks use `{name}`, or let all of its users run on one core");
            return Some(NotExecuted { what, help });
        }
        self.cores.iter().filter(|core| core.dispatched.is_some()).find_map(|core| self.not_dispatched(core))
    }

    /// What the dispatcher of a core cannot do.
    fn not_dispatched(&self, core: &CorePlan) -> Option<NotExecuted> {
        let here =
            |task: &&TaskPlan| matches!(&task.class, ClassPlan::RealTime { cpu, .. } if *cpu == core.cpu);
        let users = |locking| {
            let of = move |resource: &&ResourcePlan| resource.protocol == locking;
            self.resources.iter().filter(of).flat_map(|resource| &resource.users)
        };
        let on = |mut users: Box<dyn Iterator<Item = &String> + '_>| {
            users.any(|user| self.tasks.iter().filter(here).any(|task| task.name == *user))
        };
        let both = on(Box::new(users(LockingProtocol::Srp))) && on(Box::new(users(LockingProtocol::Dfp)));
        if both && core.scheduler == SchedulingPolicy::Edf {
            return Some(NotExecuted {
                what: format!("SRP and DFP on core {}", core.cpu),
                help: "give the resources of that core one `protocol`".to_owned(),
            });
        }
        let (begun, most) = (self.begun_at_once(core), Self::BEGUN_MAX);
        (begun > most).then(|| NotExecuted {
            what: format!("{begun} jobs of core {} in progress at once, more than {most}", core.cpu),
            help: "move tasks to another core".to_owned(),
        })
    }

    /// The text of `taut.lock`, with the digest of its content. The same plan gives the same text.
    ///
    /// # Errors
    /// [`PlanTextError::Malformed`] if a value cannot be written as TOML.
    #[cfg(feature = "write")]
    pub fn to_lock(&self) -> Result<String, PlanTextError> {
        let table = toml::Table::try_from(self).map_err(|e| PlanTextError::Malformed(e.to_string()))?;
        let body = crate::text::write(&table);
        Ok(format!("{HEAD}{DIGEST} = \"{}\"\n{body}", digest(canonical(&body).as_bytes())))
    }

    /// Reads the text of a `taut.lock` as [`ValidPlan::from_lock`] does, for a caller that only shows the plan.
    ///
    /// # Errors
    /// Those of [`ValidPlan::from_lock`].
    pub fn from_lock(text: &str) -> Result<Self, PlanTextError> {
        ValidPlan::from_lock(text).map(ValidPlan::into_plan)
    }

    /// Parses a text without its digest, whatever its source. Checks the version of its format alone.
    fn read(text: &str) -> Result<Self, PlanTextError> {
        #[derive(serde::Deserialize)]
        struct Version {
            lock: u32,
        }
        let read = toml::from_str::<Self>(text);
        // A text of another version may parse or not; either way its key `lock` says which version it is.
        let version = match &read {
            Ok(plan) => Some(plan.lock),
            Err(_) => toml::from_str::<Version>(text).ok().map(|v| v.lock),
        };
        match version {
            Some(version) if version != Self::FORMAT => Err(PlanTextError::Version(version)),
            _ => read.map_err(|e| PlanTextError::Malformed(e.to_string())),
        }
    }
}

impl ValidPlan {
    /// Reads the text of a `taut.lock`. The digest covers all of the text but comments, blank lines, spaces at the end of
    /// a line and the way lines end. A digest that fits shows that nobody changed the text by mistake. Anyone who
    /// changes it on purpose can compute another digest, so the rules of a valid plan are checked as well.
    ///
    /// # Errors
    /// [`PlanTextError`] if it is of another format, damaged, changed, or invalid.
    pub fn from_lock(text: &str) -> Result<Self, PlanTextError> {
        let (rest, claimed) = without_digest(text);
        let plan = Plan::read(&rest)?;
        if claimed.is_none_or(|claimed| claimed != digest(canonical(&rest).as_bytes())) {
            return Err(PlanTextError::Edited(Box::new(plan)));
        }
        Self::new(plan).map_err(PlanTextError::Invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_sha256() {
        assert_eq!(digest(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    /// The digest is the first key of that name above all tables; its line becomes spaces, and all other lines stay.
    #[test]
    fn the_digest_is_one_line_above_all_tables() {
        let of = |text: &str| {
            let (rest, digest) = without_digest(text);
            assert_eq!((rest.len(), rest.lines().count()), (text.len(), text.lines().count()));
            (rest.split_whitespace().collect::<Vec<_>>().join(" "), digest)
        };
        let found = |rest: &str, digest: &str| (rest.to_owned(), Some(digest.to_owned()));
        assert_eq!(of("lock = 1\n digest = \"ab\"\nx = 2\n"), found("lock = 1 x = 2", "ab"));
        assert_eq!(of("digest = \"a\"\ndigest = \"b\"\n"), found("digest = \"b\"", "a"));
        assert_eq!(of("lock = 1\n[x]\ndigest = \"a\"\n"), ("lock = 1 [x] digest = \"a\"".to_owned(), None));
        assert_eq!(of("other = \"a\"\n"), ("other = \"a\"".to_owned(), None));
    }
}
