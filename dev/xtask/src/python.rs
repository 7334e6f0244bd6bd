// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `edge/py`: builds the wheel, installs it into a separate environment and tests it there; checks types and notebook.
//!
//! The wheel is built in the profile of the workspace tests, so that little is compiled for it. The Python environments
//! stand below `target/python` and are kept.

use std::path::PathBuf;
use std::time::Duration;

use crate::command::{Command, Output};
use crate::step::{Outcome, Step};
use crate::tally::Tally;
use crate::tree::Tree;

/// The folder of the package.
const PACKAGE: &str = "edge/py";
/// The packages that build the wheel and check sources.
const TOOLS: &str = "maturin>=1.9,<2 ruff mypy";
/// The packages that the tests need besides the wheel.
const NEEDS: &str = "pytest numpy pyarrow polars pandas matplotlib nbformat nbclient ipykernel mypy";

/// All steps, in order: later steps need the results of earlier ones.
pub(crate) fn steps() -> Vec<Step> {
    vec![
        needing("python: sources", |tree| {
            let checks = [
                bin(tree, "tools", "ruff").args(["check", "."]),
                bin(tree, "tools", "ruff").args(["format", "--check", "."]),
            ];
            all(tree, &checks)
        }),
        needing("python: wheel", wheel),
        installed("python: tests", |tree| {
            let test =
                bin(tree, "elsewhere", "python").args(["-m", "pytest", "tests", "-p", "no:cacheprovider"]);
            let build = Command::line("cargo build --workspace --locked --bin taut").dir(tree.root()).run();
            let command = tree.target().join("debug/taut");
            // The tests compare rows with those of the `taut` command.
            counted(within(tree, if build.success() { test.env("TAUT", command) } else { test }).run())
        }),
        installed("python: examples in documentation", |tree| {
            let test = bin(tree, "elsewhere", "python").args(["-m", "pytest", "-p", "no:cacheprovider"]);
            let which =
                ["--doctest-modules", "--pyargs", "taut", "--doctest-glob=*.md", "../../docs/python.md"];
            counted(within(tree, test.args(which)).run())
        }),
        installed("python: types", |tree| {
            // This environment has pyarrow and numpy, so that mypy finds their types.
            let python = environment(tree, "elsewhere").join("bin/python");
            let mypy = bin(tree, "tools", "mypy").args(["--python-executable".as_ref(), python.as_os_str()]);
            let cache = tree.target().join("python/mypy");
            let stubs = bin(tree, "elsewhere", "python").args(["-m", "mypy.stubtest", "taut._taut"]);
            all(tree, &[mypy.args(["--cache-dir".as_ref(), cache.as_os_str()]), stubs])
        }),
        needing("python: pip install", |tree| {
            if let Err(why) = fresh(tree, "sources") {
                return Outcome::failed("no environment", why);
            }
            let pip = bin(tree, "sources", "python").args(["-m", "pip", "install", "--quiet", "."]);
            let pip = pip.args(["--config-settings=build-args=--profile dev --locked"]);
            let import = "import taut; assert taut.ns('1ms') == 1_000_000 and taut.__file__.count('sources')";
            // In the folder of the package, Python would import the sources instead.
            let import = bin(tree, "sources", "python").args(["-c", import]).dir(&tree.target());
            let installed = building(tree, pip).run();
            if installed.success() { Outcome::of(import.run()) } else { Outcome::of(installed) }
        }),
    ]
}

/// The folder of an environment.
fn environment(tree: &Tree, name: &str) -> PathBuf {
    tree.target().join("python").join(name)
}

/// A program of an environment.
fn bin(tree: &Tree, name: &str, program: &str) -> Command {
    Command::new(environment(tree, name).join("bin").join(program)).limit(Duration::from_secs(15 * 60))
}

/// Runs a command in the folder of the package.
fn within(tree: &Tree, command: Command) -> Command {
    command.dir(&tree.join(PACKAGE))
}

/// The same for a command that builds: it shares the target folder, to reuse results of other builds.
fn building(tree: &Tree, command: Command) -> Command {
    within(tree, command).env("CARGO_TARGET_DIR", tree.target())
}

/// Makes an environment if it does not exist.
fn present(tree: &Tree, name: &str) -> Result<(), String> {
    if environment(tree, name).join("bin/pip").exists() {
        return Ok(());
    }
    fresh(tree, name)
}

/// Makes an environment anew.
fn fresh(tree: &Tree, name: &str) -> Result<(), String> {
    let make = Command::line("python3 -m venv --clear").args([environment(tree, name)]).run();
    if make.success() { Ok(()) } else { Err(make.text) }
}

/// Installs missing packages into an environment, which is made if it does not exist.
fn install(tree: &Tree, name: &str, what: &[String]) -> Result<(), String> {
    present(tree, name).map_err(|why| format!("no environment of Python: {}", last_line(&why)))?;
    let install = bin(tree, name, "python").args(["-m", "pip", "install", "--quiet"]).args(what).run();
    if install.success() { Ok(()) } else { Err(format!("pip: {}", last_line(&install.text))) }
}

fn last_line(text: &str) -> String {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output").trim().to_owned()
}

fn words(list: &str) -> Vec<String> {
    list.split(' ').map(str::to_owned).collect()
}

/// A step that needs [`TOOLS`]: skipped, with the reason, if they cannot be installed.
fn needing(name: &str, work: impl Fn(&Tree) -> Outcome + 'static) -> Step {
    Step::new(name, move |tree| match install(tree, "tools", &words(TOOLS)) {
        Ok(()) => work(tree),
        Err(why) => Outcome::skipped(why),
    })
}

/// A step that needs the wheel in the environment `elsewhere`: skipped if it is not installed.
fn installed(name: &str, work: impl Fn(&Tree) -> Outcome + 'static) -> Step {
    Step::new(name, move |tree| {
        if environment(tree, "elsewhere").join("bin/pytest").exists() {
            work(tree)
        } else {
            Outcome::skipped("the wheel is not installed")
        }
    })
}

/// Measures what Python adds to a sweep: the output of `benches/sweep.py`, with the wheel and the `taut` command
/// built for release.
///
/// # Errors
/// The output of what failed.
pub fn beside_the_command(tree: &Tree) -> Result<String, String> {
    let reported = |output: Output| if output.success() { Ok(output.stdout) } else { Err(output.text) };
    install(tree, "tools", &words(TOOLS))?;
    let wheels = tree.target().join("python/released");
    // It is fine if the folder does not exist.
    let _ = std::fs::remove_dir_all(&wheels);
    let build =
        bin(tree, "tools", "maturin").args(["build", "--locked", "--release", "--out"]).args([&wheels]);
    reported(building(tree, build).run())?;
    let made = std::fs::read_dir(&wheels).into_iter().flatten().flatten().map(|entry| entry.path());
    let made: Vec<String> = made.map(|path| path.display().to_string()).collect();
    present(tree, "measured")?;
    install(tree, "measured", &[words("--force-reinstall"), made].concat())?;
    reported(Command::line("cargo build --release --locked --bin taut").dir(tree.root()).run())?;
    let generator = tree.join("examples/sweep/han14.toml");
    let command = tree.target().join("release/taut");
    let measure = bin(tree, "measured", "python").args(["benches/sweep.py", "--command"]);
    reported(within(tree, measure.args([command, generator])).run())
}

/// Builds the wheel and installs it into an environment without the sources.
fn wheel(tree: &Tree) -> Outcome {
    let wheels = tree.target().join("python/wheels");
    // Remove older wheels, so that none is taken for the new one. It is fine if the folder does not exist.
    let _ = std::fs::remove_dir_all(&wheels);
    let build = bin(tree, "tools", "maturin")
        .args(["build", "--locked", "--profile", "dev", "--out"])
        .args([&wheels]);
    let built = building(tree, build).run();
    if !built.success() {
        return Outcome::of(built);
    }
    let made = std::fs::read_dir(&wheels).into_iter().flatten().flatten().map(|entry| entry.path());
    let made: Vec<_> = made.map(|path| path.display().to_string()).collect();
    let [wheel] = &made[..] else { return Outcome::failed("not one wheel", made.join("\n")) };
    if let Err(why) = install(tree, "elsewhere", &words(NEEDS)) {
        return Outcome::skipped(why);
    }
    let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel];
    Outcome::of(bin(tree, "elsewhere", "python").args(pip).run())
}

/// Runs commands in the folder of the package; each is a check.
fn all(tree: &Tree, commands: &[Command]) -> Outcome {
    let mut sum = Outcome::default();
    for command in commands {
        let one = Outcome::of(within(tree, command.clone()).run());
        sum.tally += one.tally;
        sum.log += &one.log;
    }
    sum
}

/// The outcome of a run of pytest.
fn counted(output: Output) -> Outcome {
    let mut tally = tally(&output.text);
    let mut note = String::new();
    if !output.success() && tally.failed == 0 {
        tally.failed = 1;
        note = output.reason();
    } else if tally.passed + tally.failed == 0 {
        tally.failed = 1;
        note = "no test ran".into();
    }
    Outcome { tally, note, log: output.text }
}

/// The counts in the closing line of pytest, such as `1 failed, 97 passed, 2 skipped in 9.81s`.
fn tally(text: &str) -> Tally {
    let mut sum = Tally::default();
    let closing = text.lines().rev().find(|line| line.contains(" in ") && line.contains("s"));
    let counts = closing.and_then(|line| line.split(" in ").next()).unwrap_or_default();
    for part in counts.trim_matches(|c| c == '=' || c == ' ').split(", ") {
        let Some((count, word)) = part.split_once(' ') else { continue };
        let count = count.parse().unwrap_or(0);
        match word {
            "passed" => sum.passed += count,
            "failed" | "error" | "errors" => sum.failed += count,
            "skipped" => sum.skipped += count,
            _ => {}
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pytest_is_counted() {
        let closing = "..F.s\nFAILED tests/a.py::b in c\n1 failed, 97 passed, 2 skipped, 1 error in 9.81s\n";
        assert_eq!(tally(closing), Tally { passed: 97, failed: 2, skipped: 2 });
        assert_eq!(tally("==== 3 passed in 0.02s ====\n"), Tally { passed: 3, failed: 0, skipped: 0 });
        assert_eq!(tally("no tests ran in 0.01s\n"), Tally::default());
        assert_eq!(tally("ImportError\n"), Tally::default());
    }
}
