// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! \[Gutierrez13\]: what SRP and DFP cost. Figures 6 to 10 and Table 1.
//!
//! | figure | measured | shown |
//! |---|---|---|
//! | 6, 7, 8: Tests A, B, C | `rules`, `trials` in ns, `counts` in instructions; C also on threads, `threads` | `drawn`, `shapes` |
//! | 9, 10: Appendix A | `appendix`; on threads `recorded` | the same |
//! | Table 1 | `sizes` | the same |
//!
//! The published rules are in `unsound`: they break mutual exclusion for nested locks.

mod appendix;
mod counts;
mod drawn;
mod measured;
mod recorded;
mod rules;
mod shapes;
mod sizes;
mod threads;
mod trials;
#[allow(unreachable_pub, reason = "`sizes` counts the public functions of a rule")]
mod unsound;

pub(crate) use counts::{COMMAND, everything};

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use self::measured::Measured;
use self::rules::Variant;
use self::trials::{Effort, OTHERS, Test};
use crate::fit::spread;
use crate::output::Output;
use crate::page::{Values, table};

/// The template of the page.
const PAGE: &str = include_str!("../../pages/gutierrez13.md.in");
/// The effort of a run that is worth recording; tests use less.
const EFFORT: Effort = Effort { rounds: 21, pairs: 2_000, samples: 300 };

/// The same for Test C on threads.
const THREADS: threads::Effort = threads::Effort { rounds: 3, releases: 150 };

/// What is asked for.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Where the page and its figures go
    #[arg(long, required_unless_present = "json")]
    out: Option<PathBuf>,
    /// Only print times, of all rounds, as JSON
    #[arg(long)]
    json: bool,
    /// Only Appendix A on threads
    #[arg(long)]
    only: Option<Only>,
}

/// A part of it.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Only {
    Appendix,
}

/// Measures, and writes or prints the results.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let Some(folder) = options.out.as_ref().filter(|_| !options.json) else {
        println!("{}", times_told(&trials::times(&EFFORT)?));
        return Ok(());
    };
    let output = Output::new(folder.clone())?;
    if let Err(why) = recorded::written(&output) {
        // All other results need no privilege.
        if options.only.is_some() {
            return Err(why);
        }
        println!("Appendix A is not run on threads: {why}");
    }
    if options.only.is_some() {
        return Ok(());
    }
    let measured = Measured {
        times: trials::times(&EFFORT)?,
        counts: counts::counts(folder),
        threads: threads::activations(&THREADS),
    };
    written(&output, &measured, &EFFORT)
}

/// The times as JSON: by test and rule, a list of rounds for each number of others.
fn times_told(times: &trials::Times) -> Value {
    let rows = trials::cells().filter_map(|cell| {
        let (variant, test, others) = cell;
        let ns = times.get(&cell)?;
        Some(json!({ "test": test.word(), "rule": variant.word(), "others": others, "ns": ns }))
    });
    json!({ "rows": rows.collect::<Vec<_>>() })
}

/// Writes the page, its figures and its rows.
fn written(output: &Output, measured: &Measured, effort: &Effort) -> Result<(), String> {
    let mut values = Values::default();
    for (name, test) in [("fig6", Test::Pair), ("fig7", Test::Unlock), ("fig8", Test::Activation)] {
        output.figure(&format!("gutierrez13-{name}"), &drawn::figure(measured, test))?;
        values.set(&format!("table {name}"), numbers(measured, test));
    }
    values.set("threads", on_threads(&measured.threads));
    output.text("gutierrez13.csv", &measured.csv())?;
    output.figure("gutierrez13-fig9", &appendix::report(&mut values)?)?;
    let findings = shapes::findings(measured);
    values.set("findings", shapes::reported(&findings));
    values.set("rounds", effort.rounds);
    let counted = match &measured.counts {
        Ok(_) => format!(
            "Instructions are what `valgrind --tool=callgrind` counts in {} operations, with the call and the return, divided \
             by their number: the same in every run of one build.",
            counts::TIMES
        ),
        Err(why) => format!("Instructions could not be counted here: {}.", why.trim()),
    };
    values.set("counted", counted);
    sizes::report(&mut values);
    output.text("gutierrez13.md", &values.fill(PAGE)?)
}

/// Some of a test's figures: instructions, and ns with the spread over rounds.
fn numbers(measured: &Measured, test: Test) -> String {
    let mut head = vec!["other ready tasks".to_owned()];
    head.extend(Variant::ALL.iter().map(|variant| variant.name().to_owned()));
    let mut rows = vec![head];
    for others in OTHERS.into_iter().filter(|others| [0, 1, 3, 5, 7, 10, 50, 100].contains(others)) {
        let mut row = vec![others.to_string()];
        for variant in Variant::ALL {
            let cell = (variant, test, others);
            let [least, middle, most] = spread(measured.rounds(cell));
            let count = measured.at(measured::Unit::Instructions, cell);
            let count = if count.is_nan() { String::new() } else { format!("{count:.0}; ") };
            row.push(format!("{count}{middle:.1} [{least:.1}, {most:.1}]"));
        }
        rows.push(row);
    }
    table(&rows)
}

/// Test C on threads, in us.
fn on_threads(threads: &Result<threads::Activations, String>) -> String {
    let threads = match threads {
        Ok(threads) => threads,
        Err(why) => return format!("It could not be run here: {}.", why.trim()),
    };
    let reported = |rounds: &[f64]| {
        let [least, middle, most] = spread(rounds);
        format!("{middle:.1} [{least:.1}, {most:.1}]")
    };
    let mut rows = vec![["other ready tasks", "SRP, ours", "DFP, ours"].map(str::to_owned).to_vec()];
    for others in [0, 1, 3, 7, 10, 50, 89] {
        let of = |variant| {
            threads.dispatched.get(&(variant, others)).map_or("-".into(), |rounds| reported(rounds))
        };
        let times = threads::VARIANTS.map(of);
        rows.push(std::iter::once(others.to_string()).chain(times).collect());
    }
    format!(
        "us; a bare loop that sleeps until each release: {}.\n\n{}",
        reported(&threads.bare),
        table(&rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short form: everything once, without valgrind.
    #[test]
    fn the_page_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let output = Output::new(folder.path().to_owned()).expect("writable");
        let effort = Effort { rounds: 2, pairs: 20, samples: 8 };
        let times = trials::times(&effort).expect("rules do what they must");
        assert_eq!(times_told(&times)["rows"].as_array().map(Vec::len), Some(20 * 18));
        let threads = threads::Activations {
            dispatched: [((Variant::Srp, 3), vec![20.0, 21.5])].into(),
            bare: vec![15.0],
        };
        let measured = Measured { times, counts: Err("not asked for".into()), threads: Ok(threads) };
        written(&output, &measured, &effort).expect("every place has its value");
        let page = std::fs::read_to_string(folder.path().join("gutierrez13.md")).expect("written");
        assert!(page.contains("could not be counted here: not asked for.") && !page.contains("{{"), "{page}");
        assert!(page.contains("| 3 | 21.5 [20.0, 21.5] | - |"), "{page}");
        for name in ["gutierrez13-fig6.svg", "gutierrez13-fig9.svg", "gutierrez13.csv"] {
            assert!(folder.path().join(name).exists(), "{name}");
        }
    }
}
