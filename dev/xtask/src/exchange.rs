// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs the files that `taut export` writes in the tools that it exports to, and compares the results with our own runs
//! and bounds.

use std::path::PathBuf;
use std::time::Duration;

use crate::command::Command;
use crate::step::{Outcome, Step};
use crate::toolchain;
use crate::tree::Tree;

/// The version of SimSo, and the import that fails if Python is too new for it ([`NEEDS`]).
const SIMSO: &str = "simso==0.8.5";
const NEEDS: &str = "import simso.core";

/// A step for each tool. A step without its tool is skipped.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("exchange: SimSo", |tree| match simso(tree) {
            Ok(python) => compare(tree, "simso", "TAUT_SIMSO_PYTHON", python),
            Err(why) => Outcome::skipped(why),
        }),
        Step::new("exchange: rt-app", |tree| {
            if !Command::line("chrt -f 1 true").run().success() {
                return Outcome::skipped("no real-time priorities for this user");
            }
            if let Err(why) = toolchain::RT_APP.ensure() {
                return Outcome::skipped(why);
            }
            match on_path("rt-app") {
                Some(program) => compare(tree, "rt_app", "TAUT_RT_APP", program),
                None => Outcome::skipped("rt-app is not on the PATH"),
            }
        }),
        Step::new("exchange: MAST", |tree| match on_path("mast_analysis") {
            Some(program) => compare(tree, "mast", "TAUT_MAST", program),
            None => Outcome::skipped("no mast_analysis on the PATH: https://mast.unican.es"),
        }),
    ]
}

/// Runs the tests that need a tool; the environment variable `variable` names its program to them.
fn compare(tree: &Tree, tests: &str, variable: &str, program: PathBuf) -> Outcome {
    let test = Command::line("cargo test --locked -p taut-cli --test others --")
        .args(["--ignored", "--nocapture", tests])
        .env(variable, program)
        .limit(Duration::from_secs(10 * 60));
    Outcome::of_tests(test.dir(tree.root()))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A Python with SimSo, in a virtual environment below the target folder.
///
/// # Errors
/// Why there is none.
pub fn simso(tree: &Tree) -> Result<PathBuf, String> {
    let too_new = |why| format!("{why}; the last Python for SimSo is 3.11");
    with_package(tree, "exchange/simso", "SimSo", SIMSO, NEEDS).map_err(too_new)
}

/// A Python that has a package, in a virtual environment in this folder below the target folder. It has the package if
/// `import` runs.
///
/// # Errors
/// Why there is none.
pub(crate) fn with_package(
    tree: &Tree,
    folder: &str,
    name: &str,
    package: &str,
    import: &str,
) -> Result<PathBuf, String> {
    let folder = tree.target().join(folder);
    let python = folder.join("bin/python");
    let works = || Command::new(&python).args(["-c", import]).run().success();
    if python.is_file() && works() {
        return Ok(python);
    }
    let make = Command::line("python3 -m venv --clear").args([&folder]).run();
    if !make.success() {
        return Err(format!("no virtual environment for {name}: {}", make.reason()));
    }
    let install = Command::new(&python).args(["-m", "pip", "install", "--quiet", package]);
    let install = install.limit(Duration::from_secs(5 * 60)).run();
    if !install.success() {
        return Err(format!("{name} cannot be installed: {}", install.reason()));
    }
    if works() { Ok(python) } else { Err(format!("{name} does not run on this Python")) }
}
