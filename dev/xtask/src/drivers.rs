// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The drivers of `examples/sweep`, with two workers each: the file that a driver joins must be, byte for byte, the
//! file that one process writes.

use std::path::PathBuf;
use std::time::Duration;

use crate::command::Command;
use crate::step::{Outcome, Step};
use crate::toolchain;
use crate::tree::Tree;

/// The generator of the sweep: small systems.
const GENERATOR: &str = "edge/cli/tests/small.toml";

/// A step for each driver.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        Step::new("a sweep by GNU parallel", |tree| match toolchain::PARALLEL.ensure() {
            Ok(()) => {
                let driver = tree.join("examples/sweep/parallel_driver.sh");
                compare(tree, "parallel", Command::new("sh").args([driver]), &["2", "--jobs", "2"])
            }
            Err(why) => Outcome::skipped(why),
        }),
        Step::new("a sweep by Ray", |tree| match ray(tree) {
            Ok(python) => {
                let driver = Command::new(python).args([tree.join("examples/sweep/ray_driver.py")]);
                // Ray reports no usage statistics and leaves no token in the home folder.
                let driver = driver.env("RAY_USAGE_STATS_ENABLED", "0").env("RAY_AUTH_MODE", "disabled");
                compare(tree, "ray", driver, &["2"])
            }
            Err(why) => Outcome::skipped(why),
        }),
    ]
}

/// A Python with Ray, in a virtual environment below the target folder.
///
/// # Errors
/// Why there is none.
fn ray(tree: &Tree) -> Result<PathBuf, String> {
    let folder = tree.target().join("drivers/python");
    let python = folder.join("bin/python");
    if Command::new(&python).args(["-c", "import ray"]).run().success() {
        return Ok(python);
    }
    toolchain::from_pypi(&folder, "ray==2.60.0")?;
    Ok(python)
}

/// Compares a sweep by one process with a sweep by a driver. Both run the `taut` command as the tests build it.
fn compare(tree: &Tree, name: &str, driver: Command, arguments: &[&str]) -> Outcome {
    let build = Command::line(
        "cargo build --workspace --locked --features taut-cli/parquet,taut-cochlear/screen --bin taut",
    )
    .dir(tree.root())
    .run();
    if !build.success() {
        return Outcome::failed("no `taut` command to run", build.text);
    }
    let folder = tree.target().join("drivers").join(name);
    // A sweep goes on from existing rows: remove those of an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    if let Err(why) = std::fs::create_dir_all(&folder) {
        return Outcome::failed("no folder for rows", why.to_string());
    }
    let (one, driven) = (folder.join("one.parquet"), folder.join("driven.parquet"));
    let generator = tree.join(GENERATOR);
    let taut = Command::new(tree.target().join("debug/taut")).args(["sweep"]).args([&generator]);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", tree.target().join("debug").display());
    let driver = driver.args([&generator, &driven]).args(arguments).env("PATH", path);
    for command in [taut.args(["--jobs", "1", "--out"]).args([&one]), driver] {
        let output = command.limit(Duration::from_secs(180)).run();
        if !output.success() {
            return Outcome::failed(output.reason(), output.text);
        }
    }
    match (std::fs::read(one), std::fs::read(driven)) {
        (Ok(one), Ok(driven)) if one == driven && !one.is_empty() => Outcome::passed(),
        (Ok(_), Ok(_)) => {
            Outcome::failed("the rows differ from those of one process", folder.display().to_string())
        }
        (Err(why), _) | (_, Err(why)) => Outcome::failed("no rows", why.to_string()),
    }
}
