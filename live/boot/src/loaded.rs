// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;
use std::path::{Path, PathBuf};

use taut_plan::{NotExecuted, PlanTextError, ValidPlan, digest};

/// A plan that may be booted: valid, up to date and proven.
#[derive(Clone, Debug)]
pub struct LoadedPlan {
    /// The plan.
    pub plan: ValidPlan,
    /// The text of `taut.lock`.
    pub text: String,
}

/// Why a plan may not be booted.
#[derive(Debug)]
pub enum LoadError {
    /// A file cannot be read.
    Read(PathBuf, std::io::Error),
    /// The lock is not a plan of this version, was changed, or is not valid.
    Lock(PathBuf, PlanTextError),
    /// A text from which the plan was made has changed since.
    Stale {
        /// The lock.
        lock: PathBuf,
        /// The text that changed.
        input: PathBuf,
    },
    /// The plan does not keep every deadline.
    Unproven(PathBuf),
    /// The plan is proven, but asks for something that this version does not execute.
    NotExecuted(PathBuf, NotExecuted),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "cannot read {}: {error}", path.display()),
            Self::Lock(path, error) => {
                if let Some(code) = error.code() {
                    write!(f, "{code}: ")?;
                }
                write!(f, "{}: {error}", path.display())
            }
            Self::Stale { lock, input } => write!(
                f,
                "TAUT0601: {} is out of date: {} has changed since it was planned; run `taut plan`",
                lock.display(),
                input.display()
            ),
            Self::Unproven(path) => write!(
                f,
                "{} does not keep every deadline, so it is not run; `taut check` shows the guilty line",
                path.display()
            ),
            Self::NotExecuted(path, NotExecuted { what, help }) => write!(
                f,
                "{} uses {what}, which this version proves but does not run; {help}",
                path.display()
            ),
        }
    }
}

impl std::error::Error for LoadError {}

/// Reads a regular file. Refuses anything else: reading it might never end, or wait for a writer.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    match std::fs::metadata(path)?.is_file() {
        true => std::fs::read(path),
        false => Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

impl LoadedPlan {
    /// Reads a `taut.lock`, and compares it with the texts from which it was made, as far as they are there: an
    /// application may be shipped as a program and a `taut.lock`.
    ///
    /// # Errors
    /// [`LoadError`] if a file cannot be read or has changed since the plan was made; if the plan itself was
    /// changed, is not valid or not proven; or if it asks for something that this version does not execute.
    pub fn from_file(lock: &Path) -> Result<Self, LoadError> {
        let read = |path: &Path| read(path).map_err(|e| LoadError::Read(path.to_owned(), e));
        let damaged = |e: PlanTextError| LoadError::Lock(lock.to_owned(), e);
        let text = String::from_utf8(read(lock)?)
            .map_err(|e| damaged(PlanTextError::Malformed(e.utf8_error().to_string())))?;
        let plan = ValidPlan::from_lock(&text).map_err(damaged)?;
        for input in &plan.inputs {
            let path = lock.parent().unwrap_or(Path::new("")).join(&input.path);
            let text = match read(&path) {
                Err(LoadError::Read(_, error)) if error.kind() == std::io::ErrorKind::NotFound => continue,
                read => read?,
            };
            if digest(&text) != input.hash {
                return Err(LoadError::Stale { lock: lock.to_owned(), input: path });
            }
        }
        if !plan.proven {
            return Err(LoadError::Unproven(lock.to_owned()));
        }
        if let Some(what) = plan.not_executed() {
            return Err(LoadError::NotExecuted(lock.to_owned(), what));
        }
        Ok(Self { plan, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_which_file_and_why() {
        let lock = || PathBuf::from("some/taut.lock");
        let edited = PlanTextError::Version(7);
        let what = || NotExecuted { what: "a thing".to_owned(), help: "leave it out".to_owned() };
        let said = [
            LoadError::Read(lock(), std::io::Error::other("no such thing")),
            LoadError::Lock(lock(), edited.clone()),
            LoadError::Stale { lock: lock(), input: PathBuf::from("some/taut.toml") },
            LoadError::Unproven(lock()),
            LoadError::NotExecuted(lock(), what()),
        ]
        .map(|error| error.to_string());
        assert_eq!(
            said,
            [
                "cannot read some/taut.lock: no such thing".to_owned(),
                format!("some/taut.lock: {edited}"),
                "TAUT0601: some/taut.lock is out of date: some/taut.toml has changed since it was planned; run `taut plan`"
                    .to_owned(),
                "some/taut.lock does not keep every deadline, so it is not run; `taut check` shows the guilty line"
                    .to_owned(),
                "some/taut.lock uses a thing, which this version proves but does not run; leave it \
                 out".to_owned(),
            ]
        );
    }
}
