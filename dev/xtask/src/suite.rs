// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The lists of steps that `test`, `ci` and `soak` run.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::checkers::{self, with};
use crate::command::Command;
use crate::step::{Outcome, Step};
use crate::tally::Tally;
use crate::toolchain;
use crate::tree::Tree;
use crate::{
    absence, applications, counts, deny, document, drivers, exchange, names, nightly, oracle, orderings,
    peers, python, skips, spdx, step, uav,
};

/// The steps of `cargo xtask test`, which must pass on the machine of a contributor.
pub(crate) fn test() -> Vec<Step> {
    let mut steps = rules();
    steps.extend(tests());
    steps
}

/// The steps of `cargo xtask ci`: everything.
pub(crate) fn ci() -> Vec<Step> {
    let mut steps = vec![set_up()];
    steps.push(Step::command("formatting", Command::line("cargo fmt --all --check")));
    steps.push(Step::command(
        "clippy",
        Command::line(
            "cargo clippy --workspace --all-targets --locked --features taut-cli/parquet,taut-cochlear/screen -- -D warnings",
        ),
    ));
    steps.extend(rules());
    steps.extend(deny::steps());
    steps.extend(tests());
    steps.extend(documentation());
    steps.extend(applications());
    steps.extend(python::steps());
    steps.extend(oracle::steps());
    steps.push(applications::step());
    steps.extend(drivers::steps());
    steps.extend(exchange::steps());
    steps.push(uav::step(10));
    steps.extend(beside_others());
    steps.extend(interleavings());
    steps.extend(checkers::steps());
    steps.extend(other_targets());
    steps.push(checkers::address_sanitizer());
    steps
}

fn set_up() -> Step {
    Step::new("set-up", |_| {
        // Tests that trace system calls skip themselves without strace.
        let _ = toolchain::STRACE.ensure();
        let missing: Vec<_> =
            toolchain::LINTS.iter().filter_map(|component| component.ensure().err()).collect();
        if missing.is_empty() {
            Outcome::passed()
        } else {
            Outcome::failed("cannot lint", missing.join("\n"))
        }
    })
}

/// The rules about sources and documents, which need no build.
fn rules() -> Vec<Step> {
    let mut steps = absence::steps();
    steps.extend([orderings(), links(), spdx(), dependencies(), commands(), citations(), skips()]);
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

pub(crate) fn skips() -> Step {
    Step::new("skips", |tree| Outcome::of_findings(&skips::check(tree)))
}

fn tests() -> Vec<Step> {
    // 9 to 25 minutes, as fast as the machine is.
    let tests = |what: &str| Command::line(what).limit(Duration::from_secs(40 * 60));
    vec![
        Step::tests(
            "unit and integration tests",
            tests(
                "cargo test --workspace --locked --no-fail-fast --features taut-cli/parquet,taut-cochlear/screen --lib --bins --tests",
            ),
        ),
        Step::tests(
            "examples in documentation",
            tests(
                "cargo test --workspace --locked --no-fail-fast --features taut-cli/parquet,taut-cochlear/screen --doc",
            ),
        ),
        Step::tests(
            "a command without Parquet",
            tests("cargo test --workspace --locked --bin taut without_parquet"),
        ),
        Step::tests(
            "linear programs",
            tests("cargo test --locked -p taut-analysis --features linear-programming --lib --test linear"),
        ),
        Step::command(
            "linear programs: clippy",
            Command::line(
                "cargo clippy --locked -p taut-analysis -p taut-oracle --all-targets --features taut-oracle/linear-programming -- -D warnings",
            ),
        ),
        built_with("steps", "taut-share", "--test steps* --test deaths* --test hostile* --test fuzzed"),
        built_with("steps", "taut-lock", "--test steps* --test deaths* --test hostile*"),
        built_with("steps", "taut-exec", "--test deaths*"),
        built_with("steps", "taut-trace", "--test steps*"),
    ]
}

/// The documentation must build without a warning. A command and a library are both called `taut`, so the pages of
/// commands go to a separate folder. Both builds share the build folder, so that crates are compiled once.
pub(crate) fn documentation() -> Vec<Step> {
    let strict = |what: &str| Command::line(what).env("RUSTDOCFLAGS", "-D warnings");
    vec![
        Step::command(
            "documentation",
            strict(
                "cargo doc --workspace --no-deps --locked --features taut-cli/parquet,taut-cochlear/screen --lib",
            ),
        ),
        Step::new("documentation of commands", move |tree| {
            let build = strict(
                "cargo doc --workspace --no-deps --locked --features taut-cli/parquet,taut-cochlear/screen --bins --target-dir",
            )
            .args([tree.target().join("doc-commands")])
            .env("CARGO_BUILD_BUILD_DIR", tree.target());
            Outcome::of(build.dir(tree.root()).run())
        }),
    ]
}

/// `taut check` must accept each application below `apps/` and `dev/`, and its plan must be up to date with its
/// manifest. The `taut` command is built with the flags of the tests, so that their build results serve it.
fn applications() -> Vec<Step> {
    let ask = |name: &str, question: &'static [&'static str]| {
        Step::new(name, move |tree| {
            let build =
                Command::line("cargo build --workspace --locked --features taut-cli/parquet,taut-cochlear/screen --bin taut")
                    .dir(tree.root())
                    .run();
            if !build.success() {
                return Outcome::failed("no `taut` command to run", build.text);
            }
            let ours = |path: &str| path.starts_with("apps/") || path.starts_with("dev/");
            let manifests = tree.files(|path| ours(path) && path.ends_with("/taut.toml"));
            let mut all = Outcome::default();
            for manifest in manifests {
                let folder = manifest.trim_end_matches("/taut.toml");
                let ask = Command::new(tree.target().join("debug/taut")).args(question).args([folder]);
                let one = Outcome::of(ask.dir(tree.root()).run());
                all.tally += one.tally;
                all.log += &one.log;
            }
            all
        })
    };
    vec![ask("applications are proven", &["check"]), ask("plans are up to date", &["plan", "--check"])]
}

/// The program that compares our objects with other libraries must build, and its tests must pass: each object returns
/// the values that were put in. The largest of the other libraries is left out: it takes as long to build as all the
/// rest.
fn beside_others() -> Vec<Step> {
    let formatting = format!("cargo fmt --check --manifest-path {}/Cargo.toml", absence::PEERS);
    vec![
        Step::command("peers: formatting", Command::line(&formatting)),
        Step::new("peers: clippy", |tree| {
            let lint = peers::cargo("clippy --all-targets --no-default-features", tree);
            Outcome::of(lint.args(["--", "-D", "warnings"]).run())
        }),
        Step::new("peers", |tree| Outcome::of_tests(peers::cargo("test --no-default-features", tree))),
    ]
}

/// Tests of a crate that is built with `--cfg flag`. The target folder is a separate one, because other flags rebuild
/// everything.
fn built_with(flag: &'static str, package: &'static str, which: &'static str) -> Step {
    Step::new(format!("{flag} {package}"), move |tree| tested_with(tree, flag, package, which))
}

fn tested_with(tree: &Tree, flag: &str, package: &str, which: &str) -> Outcome {
    let test = Command::line("cargo test --locked --release -p")
        .args([package])
        .args(which.split(' '))
        .args(["--target-dir".as_ref(), tree.target().join(flag).as_os_str()])
        .env("RUSTFLAGS", format!("--cfg {flag}"))
        .limit(Duration::from_secs(15 * 60));
    Outcome::of_tests(test.dir(tree.root()))
}

/// The loom tests of a crate. The execution counts in its protocol files must be those that these tests print.
fn explored(package: &'static str, which: &'static str) -> Step {
    Step::new(format!("loom {package}"), move |tree| {
        let mut outcome = tested_with(tree, "loom", package, which);
        let sources = format!("{}/src/", package.replace("taut-", "live/"));
        let quoted = match &counts::check(tree, &sources, &outcome.log)[..] {
            // On a busy machine the time limit of a model may stop its exploration.
            [_, ..] if outcome.log.contains(": STOPPED after ") => Outcome::skipped(""),
            findings => Outcome::of_findings(findings),
        };
        outcome.tally += quoted.tally;
        outcome.log += &quoted.log;
        outcome
    })
}

/// Model checking of the real code: loom explores every interleaving of small configurations, shuttle explores random
/// interleavings of longer runs.
fn interleavings() -> Vec<Step> {
    vec![
        explored("taut-share", "--test loom*"),
        built_with("shuttle", "taut-share", "--test shuttle*"),
        explored("taut-lock", "--lib --test loom*"),
        built_with("shuttle", "taut-lock", "--lib --test shuttle*"),
    ]
}

/// Coverage-guided fuzzing with the driver of the test `fuzzed`. `live/share/fuzz/corpus` keeps the inputs that earlier
/// runs found.
fn fuzz() -> Step {
    Step::new("fuzz", |tree| {
        if let Err(why) = toolchain::NIGHTLY.ensure() {
            return Outcome::skipped(why);
        }
        if !nightly::command("cargo fuzz --version").run().success() {
            return Outcome::skipped("no cargo-fuzz: `cargo install cargo-fuzz`");
        }
        let fuzz = nightly::command("cargo fuzz run hostile")
            .args(["--target-dir".as_ref(), tree.target().join("fuzz").as_os_str()])
            .args(["--", "-max_total_time=120", "-max_len=600", "-timeout=20"])
            .env("RUSTFLAGS", "--cfg steps")
            .limit(Duration::from_secs(30 * 60));
        Outcome::of(fuzz.dir(&tree.join("live/share")).run())
    })
}

/// The shared objects on other targets: two targets are only checked by the compiler; AArch64 runs in an emulator. The
/// emulator orders memory as its host does, so these runs find wrong code for the processor, not wrong orderings.
fn other_targets() -> Vec<Step> {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    const EMULATOR: &str = "qemu-aarch64";
    let check = "cargo check --locked -p taut-share --no-default-features --target thumbv7em-none-eabihf --target aarch64-linux-android";
    vec![
        with(&[toolchain::THUMB, toolchain::ANDROID], "other targets", move |tree| {
            Outcome::of(Command::line(check).dir(tree.root()).run())
        }),
        // The crates that users build, in a separate folder, because another compiler rebuilds everything.
        with(&[toolchain::OLDEST_TOOLCHAIN], "oldest compiler", |tree| {
            let check = Command::line("rustup run").args([toolchain::OLDEST]);
            let check = check.args(["cargo", "check", "--locked", "-p", "taut", "-p", "taut-cli"]);
            let check = check.args(["--target-dir".as_ref(), tree.target().join("oldest").as_os_str()]);
            Outcome::of(check.dir(tree.root()).run())
        }),
        with(&toolchain::AARCH64, "aarch64 under qemu", |tree| {
            let which = "--lib --test conformance --test behaviour* --test stress* --test processes*";
            let test = Command::line("cargo test --locked --release -p taut-atomic -p taut-share")
                .args(which.split(' '))
                .args(["--target", TARGET])
                .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
                .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", EMULATOR)
                // Tests that start themselves as another process use this emulator.
                .env("TAUT_TEST_RUNNER", EMULATOR)
                .env("QEMU_LD_PREFIX", "/usr/aarch64-linux-gnu")
                .env("TAUT_STRESS_SECONDS", "0.1")
                .env("TAUT_STRESS_DEATHS", "2")
                .limit(Duration::from_secs(15 * 60));
            Outcome::of_tests(test.dir(tree.root()))
        }),
    ]
}

/// Runs the long forms of the tests in rounds until the time is over. A round that has begun runs to its end.
pub(crate) fn soak(tree: &Tree, minutes: u64) -> ExitCode {
    let end = Instant::now() + Duration::from_secs(minutes * 60);
    let mut total = Tally::default();
    let mut round = 0_u64;
    while Instant::now() < end {
        round += 1;
        println!("round {round}");
        // Random tests draw a new seed in each run; more cases reach further.
        let random = Command::line(
            "cargo test --workspace --locked --release --no-fail-fast --features taut-cli/parquet,taut-cochlear/screen --lib --tests",
        );
        let long = |what: &str, variable: &str, value: &str| {
            let test =
                Command::line("cargo test --locked -p taut-share -p taut-lock --release --test").args([what]);
            Step::tests(what, test.env(variable, value).limit(Duration::from_secs(3600)))
        };
        let steps = [
            long("stress*", "TAUT_STRESS_SECONDS", "5"),
            long("processes*", "TAUT_STRESS_DEATHS", "1000"),
            long("kills*", "TAUT_STRESS_DEATHS", "1000"),
            Step::tests("random", random.env("PROPTEST_CASES", "4096").limit(Duration::from_secs(3600))),
            fuzz(),
            Step::tests(
                "selections of 10,000 systems",
                Command::line(
                    "cargo test --locked --release -p taut-planner --test select --test locks -- --ignored",
                )
                .limit(Duration::from_secs(3600)),
            ),
            uav::step(90),
            oracle::long_campaign(round),
            oracle::long_hunt(round),
        ];
        total += step::run(tree, &steps);
        if total.failed > 0 {
            break;
        }
    }
    println!("{total}");
    total.exit()
}
