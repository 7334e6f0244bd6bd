// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The lists of steps: what `test`, `ci` and `soak` run.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::bars;
use crate::command::Command;
use crate::step::{Outcome, Step};
use crate::tally::Tally;
use crate::toolchain::{self, Component};
use crate::tree::Tree;
use crate::{absence, document, names, orderings, spdx, step};

/// Crates whose tests Miri can run: they call nothing of Linux.
const MIRI: &[&str] = &["taut-time", "taut-event", "taut-atomic", "taut-share", "taut-scope"];

/// What a contributor must see pass.
pub(crate) fn test() -> Vec<Step> {
    let mut steps = rules();
    steps.extend(tests());
    steps
}

/// Everything.
pub(crate) fn ci() -> Vec<Step> {
    let mut steps = vec![set_up()];
    steps.push(Step::command("formatting", Command::line("cargo fmt --all --check")));
    steps.push(Step::command(
        "clippy",
        Command::line("cargo clippy --workspace --all-targets --locked -- -D warnings"),
    ));
    steps.extend(rules());
    steps.extend(tests());
    steps.extend(documentation());
    steps.extend(applications());
    steps.extend(loom());
    steps.extend([miri(), thread_sanitizer()]);
    steps
}

fn set_up() -> Step {
    Step::new("set-up", |_| {
        let missing: Vec<_> =
            toolchain::LINTS.iter().filter_map(|component| component.ensure().err()).collect();
        if missing.is_empty() {
            Outcome::passed()
        } else {
            Outcome::failed("cannot lint", missing.join("\n"))
        }
    })
}

/// Rules about sources and documents: no build needed.
fn rules() -> Vec<Step> {
    let mut steps = absence::steps();
    steps.extend([orderings(), links(), spdx(), dependencies(), commands(), citations()]);
    steps
}

pub(crate) fn orderings() -> Step {
    Step::new("orderings", |tree| Outcome::of_findings(&orderings::check(tree)))
}

pub(crate) fn links() -> Step {
    Step::new("links", |tree| Outcome::of_findings(&document::links::check(tree)))
}

pub(crate) fn spdx() -> Step {
    Step::new("spdx", |tree| Outcome::of_findings(&spdx::check(tree)))
}

pub(crate) fn dependencies() -> Step {
    Step::new("deps", |tree| match document::dependencies::check(tree) {
        Ok(findings) => Outcome::of_findings(&findings),
        Err(why) => Outcome::failed("no dependency graph", why),
    })
}

pub(crate) fn commands() -> Step {
    Step::new("commands", |tree| Outcome::of_findings(&document::commands::check(tree, &names())))
}

pub(crate) fn citations() -> Step {
    Step::new("citations", |tree| Outcome::of_findings(&document::citations::check(tree)))
}

fn tests() -> Vec<Step> {
    let tests = |what: &str| Command::line(what).limit(Duration::from_secs(25 * 60));
    vec![
        Step::tests(
            "unit and integration tests",
            tests("cargo test --workspace --locked --no-fail-fast --lib --bins --tests"),
        ),
        Step::tests(
            "examples in documentation",
            tests("cargo test --workspace --locked --no-fail-fast --doc"),
        ),
        Step::new("steps of the protocols", |tree| Outcome::of_tests(bars::step_tests(tree).run())),
    ]
}

/// The documentation builds without a warning. The command and the library are both called `taut`, so the
/// command's pages go to a folder of their own.
pub(crate) fn documentation() -> Vec<Step> {
    let strict = |what: &str| Command::line(what).env("RUSTDOCFLAGS", "-D warnings");
    vec![
        Step::command("documentation", strict("cargo doc --workspace --no-deps --locked --exclude taut-cli")),
        Step::new("documentation of the command", move |tree| {
            let target = tree.target().join("doc-cli");
            let build = strict("cargo doc --no-deps --locked -p taut-cli --target-dir").args([target]);
            Outcome::of(build.dir(tree.root()).run())
        }),
    ]
}

/// Each application is proven, and its plan is the one that its manifest gives.
fn applications() -> Vec<Step> {
    let ask = |name: &str, question: &'static [&'static str]| {
        Step::new(name, move |tree| {
            if let Err(why) = bars::build(tree) {
                return Outcome::failed("no command to ask", why);
            }
            let manifests = tree.files(|path| path.starts_with("apps/") && path.ends_with("/taut.toml"));
            let mut all = Outcome::default();
            for manifest in manifests {
                let folder = manifest.trim_end_matches("/taut.toml");
                let ask = Command::new(bars::taut(tree)).args(question).args([folder]);
                let one = Outcome::of(ask.dir(tree.root()).run());
                all.tally += one.tally;
                all.log += &one.log;
            }
            all
        })
    };
    vec![ask("applications are proven", &["check"]), ask("plans are up to date", &["plan", "--check"])]
}

/// Every interleaving of small configurations, on the real code.
fn loom() -> Vec<Step> {
    let of = |package: &'static str, which: &'static str| {
        Step::new(format!("loom {package}"), move |tree| {
            let test = Command::line("cargo test --locked --release -p")
                .args([package])
                .args(which.split(' '))
                .args(["--target-dir".as_ref(), tree.target().join("loom").as_os_str()])
                .env("RUSTFLAGS", "--cfg loom")
                .limit(Duration::from_secs(15 * 60));
            Outcome::of_tests(test.dir(tree.root()).run())
        })
    };
    vec![of("taut-share", "--test loom"), of("taut-trace", "--lib")]
}

/// Undefined behaviour, in what does not call Linux.
fn miri() -> Step {
    with(toolchain::MIRI, "miri", |tree| {
        let packages = MIRI.iter().flat_map(|name| ["-p", name]);
        let test = Command::line("cargo +nightly miri test --locked --lib")
            .args(packages)
            .args(["--target-dir".as_ref(), tree.target().join("miri").as_os_str()])
            .limit(Duration::from_secs(15 * 60));
        Outcome::of_tests(test.dir(tree.root()).run())
    })
}

/// Data races, with real threads. The standard library is instrumented too, or its locks would be invisible.
fn thread_sanitizer() -> Step {
    with(toolchain::SOURCES, "thread sanitizer", |tree| {
        let host = match toolchain::host() {
            Ok(host) => host,
            Err(why) => return Outcome::failed("no target", why),
        };
        let test =
            Command::line("cargo +nightly test --locked -Zbuild-std -p taut-share --release --test stress")
                .args(["--target", &host])
                .args(["--target-dir".as_ref(), tree.target().join("tsan").as_os_str()])
                .env("RUSTFLAGS", "-Zsanitizer=thread")
                .env("TSAN_OPTIONS", "halt_on_error=1")
                .limit(Duration::from_secs(15 * 60));
        Outcome::of_tests(test.dir(tree.root()).run())
    })
}

/// A step that needs a component: skipped with the reason if it cannot be had.
fn with(component: Component, name: &str, work: impl Fn(&Tree) -> Outcome + 'static) -> Step {
    Step::new(name, move |tree| match component.ensure() {
        Ok(()) => work(tree),
        Err(why) => Outcome::skipped(why),
    })
}

/// The long forms, round after round until the time is over; a round that has begun ends.
pub(crate) fn soak(tree: &Tree, minutes: u64) -> ExitCode {
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let mut total = Tally::default();
    let mut round = 0_u64;
    while Instant::now() < end {
        round += 1;
        println!("round {round}");
        // Random tests begin elsewhere each time by themselves; more cases reach further.
        let random = Command::line("cargo test --workspace --locked --release --no-fail-fast --lib --tests");
        let steps = [
            Step::tests("stress", Command::line("cargo test --locked -p taut-share --release --test stress")),
            Step::tests("random", random.env("PROPTEST_CASES", "4096").limit(Duration::from_secs(3600))),
        ];
        total += step::run(tree, &steps);
        if total.failed > 0 {
            break;
        }
    }
    println!("{total}");
    total.exit()
}
