// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Systems at growing loads: Figures 19 and 20 on surrogates, and the same on two published systems.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use taut_planner::select::Equations;

use super::scaled::{Needed, needed};
use super::sweeps::word;
use crate::surrogate::{Case, allocation, from_manifest, fuel_injection};

/// The depth of the published refinement.
pub(super) const DEPTH: usize = 5;
/// The number of judgements after which our search stops.
pub(super) const JUDGEMENTS: u64 = 50_000;

/// All cases, with their names.
pub(super) fn all() -> Result<Vec<(&'static str, Case)>, String> {
    Ok(vec![
        ("fuel-injection", fuel_injection()),
        ("allocation-42", allocation()),
        ("mobstr", from_manifest("mobstr", include_str!("../../../../examples/mobstr/taut.toml"))?),
        ("rosace", from_manifest("rosace", include_str!("../../../../examples/rosace/taut.toml"))?),
    ])
}

/// The results, by case, equations and load in permille.
pub(super) type Found = BTreeMap<(String, String, u64), Needed>;

/// Examines every case at every load with both sets of equations. Takes over what an earlier run has left in
/// `journal`.
pub(super) fn find(long: bool, journal: &Path) -> Result<Found, String> {
    let cases = all()?;
    let found = left_by_earlier_runs(journal)?;
    let step = if long { 10 } else { 50 };
    let mut open = Vec::new();
    eprintln!("{}", journal.display());
    for (name, case) in &cases {
        for equations in [Equations::Sound, Equations::Printed] {
            for load in (500..=950).step_by(step) {
                if !found.contains_key(&((*name).to_owned(), word(equations).to_owned(), load)) {
                    open.push((*name, case, equations, load));
                }
            }
        }
    }
    let file = OpenOptions::new().append(true).open(journal);
    let file = file.map_err(|error| format!("{}: {error}", journal.display()))?;
    let shared = Mutex::new(Shared { file, found, wrong: None });
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(&(name, case, equations, load)) =
                    open.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let answer = case
                        .system(load)
                        .map_err(|_| format!("{name}: not a set at a load of {load}"))
                        .and_then(|system| needed(&system, equations, DEPTH, JUDGEMENTS));
                    let Ok(mut shared) = shared.lock() else { return };
                    shared.add((name.to_owned(), word(equations).to_owned(), load), answer);
                    if shared.wrong.is_some() {
                        next.store(open.len(), Ordering::Relaxed);
                        return;
                    }
                    let done = next.load(Ordering::Relaxed).min(open.len());
                    let left = start.elapsed().as_secs_f64() / done as f64 * (open.len() - done) as f64;
                    if std::io::stderr().is_terminal() {
                        eprint!("\r{}: {done} of {}, {left:.0} s left   ", journal.display(), open.len());
                    }
                }
            });
        }
    });
    if std::io::stderr().is_terminal() && !open.is_empty() {
        eprintln!();
    }
    let Shared { found, wrong, .. } = shared.into_inner().map_err(|_| "a thread ended early")?;
    wrong.map_or(Ok(found), Err)
}

/// The results in the journal; begins a new one if it is of another form.
fn left_by_earlier_runs(journal: &Path) -> Result<Found, String> {
    let head = Needed::head();
    let kept = fs::read_to_string(journal).unwrap_or_default();
    let mut found = Found::new();
    if kept.lines().next() == Some(&head) {
        found.extend(kept.lines().skip(1).filter_map(Needed::read));
    } else {
        fs::write(journal, format!("{head}\n")).map_err(|error| format!("{}: {error}", journal.display()))?;
    }
    Ok(found)
}

/// What the threads add to.
struct Shared {
    /// The journal.
    file: File,
    found: Found,
    wrong: Option<String>,
}

impl Shared {
    fn add(&mut self, key: (String, String, u64), answer: Result<Needed, String>) {
        match answer {
            Ok(answer) => {
                if let Err(error) = writeln!(self.file, "{}", answer.line(&key)) {
                    self.wrong = Some(error.to_string());
                }
                self.found.insert(key, answer);
            }
            Err(why) => self.wrong = Some(why),
        }
    }
}
