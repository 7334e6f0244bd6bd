// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Miri and the sanitizers: tests that run under a tool that checks each of their steps.

use std::time::{Duration, Instant};

use crate::covered;
use crate::nightly;
use crate::step::{Outcome, Step};
use crate::toolchain::{self, Component};
use crate::tree::{Finding, Tree};

/// Miri with both aliasing models, Stacked and Tree Borrows: CI's step, and the tests that are too long for CI.
pub(crate) fn miri_steps() -> Vec<Step> {
    let hour = Duration::from_secs(60 * 60);
    let left_out = |_: &Tree| LEFT_OUT.iter().map(|(target, why)| (String::from(*target), *why)).collect();
    vec![
        miri("miri", LANES, left_out, hour),
        miri("miri, what is too long for CI", LONG, |_| Vec::new(), hour),
    ]
}

/// Miri and the thread sanitizer.
pub(crate) fn steps() -> Vec<Step> {
    let mut steps = vec![miri("miri", LANES, left_out_in_ci, Duration::from_secs(15 * 60))];
    steps.extend(thread_sanitizer());
    steps
}

const EXEC: &str = "-p taut-exec --lib";
// The ignored tests of the library that finish under Miri, in about a minute each.
const EXEC_LONG: &str =
    "-p taut-exec --lib -- --ignored a_backlog_is_a_queue two_hundred_tasks looks_are_recorded";
const ATTACK: &str = "-p taut-exec --test attack";
const LOCK: &str = "-p taut-lock --lib";
const PARTS: &str = "-p taut-atomic -p taut-scope -p taut-trace --lib --test attack";
const LINUX: &str = "-p taut-sys -p taut-segment -p taut-run --lib";
// With `HOST`, time is that of the machine. With `VIRTUAL`, time is virtual: sleeping costs nothing, and time
// advances with the steps of the program.
const HOST: &str = "-Zmiri-disable-isolation";
const VIRTUAL: &str = "-Zmiri-env-forward=TAUT_LOOSE";
const TREE: &str = "-Zmiri-disable-isolation -Zmiri-tree-borrows";
// Miri of May 2026 itself fails at words that were written in several sizes (rust-lang/miri#5185), except without
// weak-memory emulation.
const STRONG_TREE: &str = "-Zmiri-disable-isolation -Zmiri-tree-borrows -Zmiri-disable-weak-memory-emulation";
// Tests that simulate a death forget or leak what the dead party owned.
const LEAKS: &str = "-Zmiri-disable-isolation -Zmiri-ignore-leaks";
const LEAKS_TREE: &str = "-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows";
const VIRTUAL_TREE: &str = "-Zmiri-env-forward=TAUT_LOOSE -Zmiri-tree-borrows";
const SHARE: &str = "-p taut-share --lib --test conformance --test attack --test behaviour";
const OWNED: &str = "-p taut-share --test owned --test layout";
const SMALL: &str = "-p taut-boot -p taut-gauge --lib --test attack";
const DOCS: &str =
    "-p taut-atomic -p taut-scope -p taut-lock -p taut-gauge -p taut-trace -p taut-share --doc";
const LANES: [&[(&str, &str)]; 2] = [
    &[
        (SHARE, HOST),
        ("-p taut-share --test printed*", HOST),
        (OWNED, HOST),
        (OWNED, TREE),
        ("-p taut-scope --test attack", TREE),
        (SMALL, HOST),
        (SMALL, TREE),
        (DOCS, HOST),
        (DOCS, TREE),
        (LOCK, LEAKS),
    ],
    &[
        (PARTS, HOST),
        (LINUX, HOST),
        ("-p taut-lock --test conformance --test stress* --test attack", HOST),
        (EXEC, VIRTUAL),
        (ATTACK, VIRTUAL),
        (ATTACK, VIRTUAL_TREE),
        ("-p taut-share -p taut-lock --test attack", TREE),
    ],
];

/// Too long for CI. `cargo xtask miri` runs these in addition to [`LANES`]: the other aliasing model, and more tests.
const LONG: [&[(&str, &str)]; 2] = [
    &[
        ("-p taut-share --test behaviour_claims", HOST),
        ("-p taut-share --lib --test conformance --test behaviour*", TREE),
        ("-p taut-share --test stress*", HOST),
        ("-p taut-share --test printed* --test stress*", TREE),
        ("-p taut-share --test flow_reference", HOST),
        ("-p taut-trace --test writer", HOST),
    ],
    &[
        (PARTS, STRONG_TREE),
        (LINUX, TREE),
        (LOCK, LEAKS_TREE),
        (EXEC, VIRTUAL_TREE),
        ("-p taut-lock --test conformance --test stress*", TREE),
        (EXEC_LONG, VIRTUAL),
    ],
];

/// The test targets of `live/` that Miri does not run, each with the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    ("atomic/threads", "constants: the compiler checks them"),
    ("boot/applications", "starts other processes"),
    ("boot/threads", "constants: the compiler checks them"),
    ("exec/attributes", "`sched_setscheduler`"),
    ("exec/between", "starts other processes"),
    ("exec/deaths", "built for steps: `--cfg steps`"),
    ("exec/replayed", "whole random runs: none ends in 20 minutes"),
    ("exec/threads", "constants: the compiler checks them"),
    ("gauge/machine", "`sched_setscheduler`"),
    ("gauge/starved", "`sched_setscheduler`"),
    ("gauge/threads", "constants: the compiler checks them"),
    ("lock/deaths", "built for steps: `--cfg steps`"),
    ("lock/hostile", "starts other processes"),
    ("lock/interleavings", "a model without `unsafe`, whose states take hours"),
    ("lock/kills", "starts other processes"),
    ("lock/loom_queued", "built for loom: `--cfg loom`"),
    ("lock/loom_spin", "built for loom: `--cfg loom`"),
    ("lock/processes", "starts other processes"),
    ("lock/shuttle", "built for shuttle: `--cfg shuttle`"),
    ("lock/steps", "built for steps: `--cfg steps`"),
    ("lock/threads", "constants: the compiler checks them"),
    ("run/across", "starts other processes"),
    ("run/alarms", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/application", "starts other processes"),
    ("run/attack", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/bench", "a plan and its memory: `mmap` with MAP_POPULATE"),
    ("run/bench_blocks", "a plan and its memory: `mmap` with MAP_POPULATE"),
    ("run/bench_events", "a plan and its memory: `mmap` with MAP_POPULATE"),
    ("run/bench_servers", "a plan and its memory: `mmap` with MAP_POPULATE"),
    ("run/bench_values", "a plan and its memory: `mmap` with MAP_POPULATE"),
    ("run/broadcasts", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/bulk", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/client_blocks", "starts other processes"),
    ("run/clients", "starts other processes"),
    ("run/clocks", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/devices", "opens sockets and timers"),
    ("run/dispatched", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/dropping", "starts other processes"),
    ("run/ends", "starts other processes"),
    ("run/failures", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/flows", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/forged", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/hostile", "starts other processes"),
    ("run/leaving", "starts other processes"),
    ("run/listings", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/memory", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/messages", "starts other processes"),
    ("run/modes", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/notified", "starts other processes"),
    ("run/outside", "starts other processes"),
    ("run/payloads", "starts other processes"),
    ("run/receivers", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/recorded_blocks", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/replayed", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/replayed_alarms", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/requests", "starts other processes"),
    ("run/rests", "starts other processes"),
    ("run/set_up", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/sources", "starts other processes"),
    ("run/states", "starts other processes"),
    ("run/threads", "constants: the compiler checks them"),
    ("run/triggers", "a booted application: `mmap` with MAP_POPULATE"),
    ("run/uncounted", "a booted application: `mmap` with MAP_POPULATE"),
    ("scope/threads", "constants: the compiler checks them"),
    ("segment/attack", "`memfd_create`"),
    ("segment/forged", "`memfd_create`"),
    ("segment/hostile", "`memfd_create`"),
    ("segment/listener", "starts other processes: `posix_spawn`"),
    ("segment/processes", "starts other processes"),
    ("segment/registry", "`memfd_create`"),
    ("segment/registry_kinds", "`memfd_create`"),
    ("segment/squatted", "`memfd_create`"),
    ("segment/threads", "constants: the compiler checks them"),
    ("segment/users", "`memfd_create`"),
    ("share/crashes_bulk", "a model without `unsafe`"),
    ("share/deaths", "built for steps: `--cfg steps`"),
    ("share/deaths_bulk", "built for steps: `--cfg steps`"),
    ("share/deaths_flow", "built for steps: `--cfg steps`"),
    ("share/deaths_nonblocking", "built for steps: `--cfg steps`"),
    ("share/fuzzed", "random garbage in every word, thousands of cases; the address sanitizer runs it"),
    ("share/hostile", "starts other processes"),
    ("share/hostile_bulk", "starts other processes"),
    ("share/hostile_nonblocking", "starts other processes"),
    ("share/loom", "built for loom: `--cfg loom`"),
    ("share/moves", "counts calls of the process's own `memcpy`"),
    ("share/processes", "starts other processes"),
    ("share/processes_bulk", "starts other processes"),
    ("share/shuttle", "built for shuttle: `--cfg shuttle`"),
    ("share/steps", "built for steps: `--cfg steps`"),
    ("share/threads", "constants: the compiler checks them"),
    ("sys/attack", "`sigaction`"),
    ("sys/locked", "`mallopt`"),
    ("sys/threads", "constants: the compiler checks them"),
    ("trace/steps", "built for steps: `--cfg steps`"),
    ("trace/threads", "constants: the compiler checks them"),
];

/// Searches for undefined behaviour in code that does not call Linux, or makes only system calls that Miri emulates.
/// An interpreter keeps one processor busy, so two interpreters run at a time, with lists of about the same length. The
/// `attack` tests, owned objects and examples in documentation run with both aliasing models. CI runs the rest with
/// Stacked Borrows only; `cargo xtask miri` runs the rest with both models ([`LONG`]).
///
/// Whole targets are left out by name ([`LEFT_OUT`]); a target that is neither run nor named fails the step. A single
/// test that is left out has an `ignore` attribute with the reason. [`DOCS`] leaves out the examples of exec and
/// segment, which call `sched_setscheduler` and `memfd_create`, and those of run, which compile and do not run. Left
/// out are
///
/// - tests that call parts of Linux that Miri does not emulate: mappings of files and `memfd_create`, so all of an
///   attached segment, a booted application and its plan's memory; Unix sockets; signals; `fork`, other processes and
///   what happens between them, deaths and kills included; scheduling policies and affinities of threads, so strict
///   runs; `getrusage`, `timerfd_create`, `prctl`; lists of robust mutexes; restartable sequences;
/// - code in assembly: under Miri a loop over words does the copies (`live/atomic/src/racy.rs`);
/// - tests without `unsafe` of their own that take long: random texts of directories and messages, files of recordings
///   (`taut-trace` forbids `unsafe`), replays;
/// - most repetitions: seconds of stress become a few rounds, thousands of random cases become a few.
fn miri<const N: usize>(
    name: &'static str,
    lanes: [&'static [(&'static str, &'static str)]; N],
    left_out: fn(&Tree) -> Vec<(String, &'static str)>,
    limit: Duration,
) -> Step {
    with(&[toolchain::MIRI], name, move |tree| {
        let run = |(which, flags): (&str, &str)| {
            let test = nightly::command("cargo miri test --locked")
                .args(which.split(' ').take_while(|word| *word != "--"))
                .args(["--target-dir".as_ref(), tree.target().join("miri").as_os_str()])
                .args(which.split(' ').skip_while(|word| *word != "--"))
                // Some tests need two processors. The stand-in for the kernel makes pointers of integer addresses.
                .env("MIRIFLAGS", format!("-Zmiri-num-cpus=2 -Zmiri-permissive-provenance {flags}"))
                .env("TAUT_LOOSE", "1")
                // A backtrace takes the interpreter seconds, and many panics are on purpose.
                .env("RUST_BACKTRACE", "0")
                .limit(limit);
            let begun = Instant::now();
            let outcome = Outcome::of_tests(test.dir(tree.root()));
            let took = begun.elapsed().as_secs();
            Outcome {
                log: format!("cargo miri test {which} ({flags}): {took} s\n{}", outcome.log),
                ..outcome
            }
        };
        let lane = |lane: &[(&str, &str)]| lane.iter().map(|which| run(*which)).collect::<Vec<_>>();
        let run = &lane;
        let all = std::thread::scope(|scope| {
            let lanes = lanes.map(|lane| scope.spawn(move || run(lane)));
            lanes.map(|lane| lane.join().unwrap_or_else(|_| vec![Outcome::failed("a lane panicked", "")]))
        });
        let mut all: Vec<_> = all.into_iter().flatten().collect();
        // The report of a failed step shows the end of the log: move failures there.
        all.sort_by_key(|one| one.tally.failed);
        let mut sum = Outcome::of_findings(&miri_findings(tree));
        for (target, why) in left_out(tree) {
            sum.tally.skipped += 1;
            sum.log += &format!("test {target} ... ignored, {why}\n");
        }
        for one in all {
            sum.tally += one.tally;
            sum.log += &one.log;
            sum.note += &one.note;
        }
        sum
    })
}

/// The targets of `live/` that CI's step does not run, each with the reason.
fn left_out_in_ci(tree: &Tree) -> Vec<(String, &'static str)> {
    let run = |target: &str| LANES.iter().copied().flatten().any(|(which, _)| covered::names(which, target));
    let why = |target: &str| LEFT_OUT.iter().find(|(name, _)| *name == target).map(|(_, why)| *why);
    let others = covered::targets(tree).into_keys().filter(|target| !run(target));
    let of = |target: String| {
        let why = why(&target).unwrap_or("too long: `cargo xtask miri` runs it");
        (target, why)
    };
    others.map(of).collect()
}

/// A finding for each target of `live/` that Miri neither runs nor leaves out by name, and for each wrong name.
fn miri_findings(tree: &Tree) -> Vec<Finding> {
    let run = |target: &str| {
        LANES.iter().chain(&LONG).copied().flatten().any(|(which, _)| covered::names(which, target))
    };
    covered::findings(&covered::targets(tree), run, LEFT_OUT)
}

/// Searches for data races with real threads. The standard library is instrumented too: otherwise its locks would be
/// invisible. The executor runs only with loose enforcement: in strict runs, exclusion comes from priorities, which the
/// sanitizer does not know.
fn thread_sanitizer() -> Vec<Step> {
    let of = |name: &str, which: &'static str| {
        with(&[toolchain::SOURCES], name, move |tree| {
            let host = match toolchain::host() {
                Ok(host) => host,
                Err(why) => return Outcome::failed("no target", why),
            };
            let test = nightly::command("cargo test --locked -Zbuild-std --release")
                .args(["--target", &host])
                .args(["--target-dir".as_ref(), tree.target().join("tsan").as_os_str()])
                .args(which.split(' '))
                .env("RUSTFLAGS", "-Zsanitizer=thread")
                .env("TSAN_OPTIONS", "halt_on_error=1")
                .env("TAUT_LOOSE", "1")
                .limit(Duration::from_secs(15 * 60));
            Outcome::of_tests(test.dir(tree.root()))
        })
    };
    vec![
        of("thread sanitizer", "-p taut-share -p taut-lock --test stress*"),
        of("thread sanitizer taut-lock", "-p taut-lock --lib -- request_slot parker futex_mutex"),
        of("thread sanitizer taut-exec", "-p taut-exec --lib -- tests::across tests::behaviour tests::late"),
    ]
}

/// Searches for accesses outside of an object while the tests write any content into the object.
pub(crate) fn address_sanitizer() -> Step {
    with(&[toolchain::NIGHTLY], "hostile under the address sanitizer", |tree| {
        let host = match toolchain::host() {
            Ok(host) => host,
            Err(why) => return Outcome::failed("no target", why),
        };
        let test =
            nightly::command("cargo test --locked -p taut-share --release --test fuzzed --test hostile*")
                // Debug assertions check that an index is within its range.
                .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
                .args(["--target", &host])
                .args(["--target-dir".as_ref(), tree.target().join("asan").as_os_str()])
                .env("RUSTFLAGS", "--cfg steps -Zsanitizer=address")
                .limit(Duration::from_secs(15 * 60));
        Outcome::of_tests(test.dir(tree.root()))
    })
}

/// A step that needs components: skipped, with the reason, if one cannot be installed.
pub(crate) fn with(
    needs: &'static [Component],
    name: &str,
    work: impl Fn(&Tree) -> Outcome + 'static,
) -> Step {
    Step::new(name, move |tree| match needs.iter().try_for_each(Component::ensure) {
        Ok(()) => work(tree),
        Err(why) => Outcome::skipped(why),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_runs_or_leaves_out_by_name_every_target_of_live() {
        let tree = Tree::here().unwrap();
        assert_eq!(miri_findings(&tree), []);
        assert!(covered::targets(&tree).len() > 50);
        let (long, never) = left_out_in_ci(&tree)
            .into_iter()
            .map(|(target, _)| target)
            .partition::<Vec<_>, _>(|target| LEFT_OUT.iter().all(|(name, _)| name != target));
        assert_eq!(never, LEFT_OUT.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let expected = "share/behaviour_claims share/flow_reference share/stress trace/writer";
        assert_eq!(long.join(" "), expected);
    }
}
