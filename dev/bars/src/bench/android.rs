// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The most urgent message while 300 others flood its receiver: our message beside Android's own Looper, Handler and
//! MessageQueue, in one run.
//!
//! Android's side is the unmodified bytecode of AOSP, which Robolectric publishes to Maven, on a plain JVM, with the native half
//! that `dev/bars/android/shim.c` gives it; `dev/bars/android/Flood.java` is the experiment of `dev/peers/src/messages/urgent.rs`: the same
//! senders, priorities, service time and gaps. Android sends the urgent message like any other (*plain*), or to the front of the
//! queue (*front*), which is all that it offers. The sides take turns, a process each.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xtask::{Command, Tree};

use crate::peers;
use crate::row::figure;
use crate::spread::Spread;

/// AOSP 14.
const VERSION: &str = "14-robolectric-10818077";
/// Turns of the sides, and repetitions of each share in a turn.
const TURNS: usize = 6;
const REPETITIONS: usize = 2;
/// The length of a repetition, in ms.
const LENGTH_MS: u32 = 500;
/// The shares of the receiver's time that the 300 ask for, in percent.
const SHARES: [u32; 5] = [10, 50, 90, 100, 120];
/// A queue has collapsed in a repetition if half of the urgent messages waited longer than this, or some were not handled two
/// seconds after the last was sent.
const COLLAPSED_NS: f64 = 1e8;

/// The sides.
const SIDES: [&str; 3] = ["taut", "Android 14, plain", "Android 14, front"];

/// What became of the urgent messages in a repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Repetition {
    sent: u64,
    handled: u64,
    /// How long they waited (ns).
    p50: f64,
    p99: f64,
    longest: f64,
    /// The largest number of others that started between the end of an urgent send and its start.
    low: f64,
}

impl Repetition {
    fn has_collapsed(&self) -> bool {
        self.handled < self.sent || self.p50 > COLLAPSED_NS
    }
}

/// Repetitions by side and share.
type Measured = BTreeMap<(usize, u32), Vec<Repetition>>;

/// Measures all turns, and returns the table.
///
/// # Errors
/// What is missing, or the output of a side that failed.
pub(crate) fn measured(tree: &Tree) -> Result<String, String> {
    xtask::jvm()?;
    let android = Android::built(tree)?;
    let ours = peers::flood_of_lanes(tree)?;
    let mut all = Measured::new();
    for turn in 0..TURNS {
        println!("turn {} of {TURNS}", turn + 1);
        for (side, way) in [(0, None), (1, Some("plain")), (2, Some("front"))] {
            let command = match way {
                None => ours(LENGTH_MS, REPETITIONS, &SHARES),
                Some(way) => android.command(way),
            };
            let output = command.limit(Duration::from_secs(300)).run();
            if !output.success() {
                return Err(format!("{}: {} {}", SIDES[side], output.reason(), output.text));
            }
            for line in output.text.lines() {
                let (share, repetition) =
                    repetition(line).ok_or_else(|| format!("{} says `{line}`", SIDES[side]))?;
                all.entry((side, share)).or_default().push(repetition);
            }
        }
    }
    Ok(table(&all))
}

fn repetition(line: &str) -> Option<(u32, Repetition)> {
    let mut words = line.split_whitespace();
    let share = words.next()?.parse().ok()?;
    let mut count = || words.next()?.parse().ok();
    let (sent, handled) = (count()?, count()?);
    let mut time = || words.next()?.parse().ok();
    let repetition = Repetition { sent, handled, p50: time()?, p99: time()?, longest: time()?, low: time()? };
    words.next().is_none().then_some((share, repetition))
}

/// Android's classes and what runs them.
struct Android {
    jar: PathBuf,
    folder: PathBuf,
}

impl Android {
    /// Fetches the classes, and compiles what runs them.
    fn built(tree: &Tree) -> Result<Self, String> {
        let folder = tree.target().join("android");
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let jar = folder.join(format!("android-all-{VERSION}.jar"));
        if !jar.exists() {
            let artifact = format!("-Dartifact=org.robolectric:android-all:{VERSION}");
            let local = format!("-Dmaven.repo.local={}", folder.join("maven").display());
            succeeds(
                &Command::line("mvn -q dependency:get -Dtransitive=false")
                    .args([artifact, local])
                    .dir(&folder),
            )?;
            let fetched =
                folder.join(format!("maven/org/robolectric/android-all/{VERSION}/android-all-{VERSION}.jar"));
            std::fs::rename(&fetched, &jar).map_err(|error| format!("{}: {error}", fetched.display()))?;
        }
        let sources = tree.join("dev/bars/android");
        let home = java_home()?;
        let includes = [home.join("include"), home.join("include/linux")];
        let shim = Command::line("cc -O2 -shared -fPIC -Wall -Wextra -Werror -o shim.so")
            .args(includes.map(|path| format!("-I{}", path.display())))
            .args([sources.join("shim.c")])
            .dir(&folder);
        succeeds(&shim)?;
        let flood = Command::line("javac -d .").args(["-cp".as_ref(), jar.as_os_str()]);
        succeeds(&flood.args([sources.join("Flood.java")]).dir(&folder))?;
        Ok(Self { jar, folder })
    }

    fn command(&self, way: &str) -> Command {
        let classes = format!(".:{}", self.jar.display());
        let shim = format!("-Dshim={}", self.folder.join("shim.so").display());
        Command::line("java")
            .args([shim, "-cp".to_owned(), classes, "Flood".to_owned(), way.to_owned()])
            .args([LENGTH_MS.to_string(), REPETITIONS.to_string()])
            .args(SHARES.map(|share| share.to_string()))
            .dir(&self.folder)
    }
}

fn succeeds(command: &Command) -> Result<(), String> {
    let output = command.run();
    if output.success() {
        return Ok(());
    }
    Err(format!("`{}` {}: {}", command.shown(), output.reason(), output.text))
}

/// Where the compiler of Java has its headers.
fn java_home() -> Result<PathBuf, String> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let javac = std::env::split_paths(&paths).map(|path| path.join("javac")).find(|path| path.exists());
    let javac = javac.and_then(|javac| javac.canonicalize().ok());
    let home = javac.as_deref().and_then(Path::parent).and_then(Path::parent);
    home.map(Path::to_owned).ok_or_else(|| "no `javac` on the path".to_owned())
}

/// A line for each share and side: medians over the repetitions, the largest wait of all, and how many collapsed.
fn table(all: &Measured) -> String {
    let mut text = format!(
        "the most urgent message under 300 others, {} repetitions of {LENGTH_MS} ms; medians of p50 and p99\n\n\
         | load | side | p50 us | p99 us | longest us | others before it, most | collapsed |\n|---|---|---|---|---|---|---|\n",
        TURNS * REPETITIONS
    );
    let mut keys: Vec<_> = all.keys().copied().collect();
    keys.sort_unstable_by_key(|(side, share)| (*share, *side));
    for key in keys {
        let repetitions = &all[&key];
        let us = |of: fn(&Repetition) -> f64| {
            Spread::of(&repetitions.iter().map(|one| of(one) / 1e3).collect::<Vec<_>>())
        };
        let median = |of| us(of).map_or_else(|| "-".to_owned(), |spread| figure(spread.median));
        let longest = us(|one| one.longest).map_or_else(|| "-".to_owned(), |spread| figure(spread.max));
        let low = repetitions.iter().map(|one| one.low).fold(0.0, f64::max);
        let collapsed = repetitions.iter().filter(|one| one.has_collapsed()).count();
        let (side, share) = (SIDES[key.0], key.1);
        let (p50, p99, of) = (median(|one| one.p50), median(|one| one.p99), repetitions.len());
        let _ = writeln!(
            text,
            "| {share} % | {side} | {p50} | {p99} | {longest} | {low} | {collapsed} of {of} |"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_summed_up() {
        let (share, one) = repetition("90 100 100 2000 3000.5 4000 1").unwrap();
        assert_eq!((share, one.sent, one.p99, one.low), (90, 100, 3000.5, 1.0));
        assert!(!one.has_collapsed());
        let lost = repetition("90 100 99 2000 3000 4000 1").unwrap().1;
        let slow = repetition("90 100 100 200000000 300000000 400000000 7").unwrap().1;
        assert!(lost.has_collapsed() && slow.has_collapsed());
        assert!(repetition("90 100 100 2000 3000 4000").is_none());
        assert!(repetition("90 100 100 2000 3000 4000 1 1").is_none());
        let all = Measured::from([((0, 90), vec![one]), ((1, 90), vec![lost, slow])]);
        let table = table(&all);
        assert!(table.contains("| 90 % | taut | 2 | 3.00 | 4 | 1 | 0 of 1 |"), "{table}");
        assert!(table.contains("| 2 of 2 |"), "{table}");
    }
}
