// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sections IV and V of \[Han14\]: Figures 14 to 20.
//!
//! | figure | rows | what is shown |
//! |---|---|---|
//! | 14 | `generators`, `sweeps`, `rows` | `memory` |
//! | 15, 16, 17 | the same | `schedulable` |
//! | 18 | the same | `gap` |
//! | 19, 20 | `cases`, `scaled` | `loads` |

mod cases;
mod gap;
pub(crate) mod generators;
mod loads;
mod memory;
mod rows;
mod scaled;
mod schedulable;
pub(crate) mod speed;
mod sweeps;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use taut_planner::select::Equations;

use self::generators::Drawn;
use self::rows::Rows;
use self::schedulable::{DBP, LOCKS, MPCP, MSRP, Shown};
use self::sweeps::Sweeps;
use crate::output::Output;
use crate::page::Values;

/// The template of the page.
const PAGE: &str = include_str!("../../pages/han14.md.in");

/// What is asked for.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// As many systems as the paper, and all depths
    #[arg(long)]
    long: bool,
    /// Make only the rows of one part, as in 2/4; the page follows when all parts' files are in one folder
    #[arg(long, value_parser = shard)]
    shard: Option<(u64, u64)>,
    /// Only these figures, as in fig15,fig16; then there is no page
    #[arg(long, value_delimiter = ',', value_parser = drawn)]
    only: Vec<Drawn>,
    /// Instead of the generator files'
    #[arg(long)]
    seed: Option<u64>,
    /// Where rows are kept; a run goes on with what is there
    #[arg(long)]
    rows: PathBuf,
    /// Where the page and its figures go
    #[arg(long)]
    out: PathBuf,
    /// The program `taut`, which sweeps
    #[arg(long)]
    taut: PathBuf,
}

fn shard(text: &str) -> Result<(u64, u64), String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    let right = parts.filter(|(part, of)| (1..=*of).contains(part));
    right.ok_or_else(|| "write PART/PARTS, as in 2/4".into())
}

fn drawn(text: &str) -> Result<Drawn, String> {
    let found = Drawn::ALL.into_iter().find(|drawn| drawn.name() == text);
    found.ok_or_else(|| format!("one of {}", Drawn::ALL.map(Drawn::name).join(", ")))
}

/// Makes the rows, the figures and the page.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    fs::create_dir_all(&options.rows).map_err(|error| format!("{}: {error}", options.rows.display()))?;
    let sweeps = Sweeps {
        taut: options.taut.clone(),
        folder: options.rows.clone(),
        long: options.long,
        shard: options.shard,
        seed: options.seed,
    };
    let output = Output::new(options.out.clone())?;
    let mut values = Values::default();
    for drawn in
        Drawn::ALL.into_iter().filter(|drawn| options.only.is_empty() || options.only.contains(drawn))
    {
        let mut made: Vec<Rows> = Vec::new();
        for &equations in drawn.equations() {
            made.extend(sweeps.rows(drawn, equations)?);
        }
        show(drawn, &made, &output, &mut values)?;
    }
    if options.shard.is_some() || !options.only.is_empty() {
        return Ok(());
    }
    let found = cases::find(options.long, &options.rows.join("cases.csv"))?;
    show_cases(&found, &output, &mut values)?;
    values.set("form", if options.long { "long" } else { "short" });
    values.set("speed", speed::reported(&Drawn::Fig15.generator(true, Equations::Sound)?)?);
    output.text("han14.md", &values.fill(PAGE)?)
}

/// Writes the figure of these rows, or nothing if there are none.
fn show(drawn: Drawn, made: &[Rows], output: &Output, values: &mut Values) -> Result<(), String> {
    let name = format!("han14-{}", drawn.name());
    let (figure, csv) = match (drawn, made) {
        (Drawn::Fig14, [rows]) => {
            let caption = "All systems whose deadlines are kept without locks, by how many resources they share; means.";
            memory::report(rows, values);
            (memory::figure(rows, vec![caption.into()]), memory::csv(rows))
        }
        (Drawn::Fig18, [sound, printed]) => {
            let caption = "Systems of which the least memory is known. What is printed does not say of which depth it is.";
            gap::report(sound, printed, values);
            (gap::figure(sound, printed, vec![caption.into()]), gap::csv(sound, printed))
        }
        (_, [sound, printed]) => {
            let among = (drawn == Drawn::Fig17).then_some(DBP);
            let ways = if drawn == Drawn::Fig17 { [LOCKS, MSRP, MPCP] } else { [DBP, MSRP, MPCP] };
            let shown = Shown { sound, printed, ways: &ways, among };
            let (title, caption) = words(drawn);
            shown.report(drawn.name(), values);
            (shown.figure(title, vec![caption.into()]), shown.csv())
        }
        _ => return Ok(()),
    };
    output.figure(&name, &figure)?;
    output.text(&format!("{name}.csv"), &csv)
}

/// The title and the caption of a figure of schedulable systems.
fn words(drawn: Drawn) -> (&'static str, &'static str) {
    match drawn {
        Drawn::Fig16 => (
            "Schedulable systems, sections as long as an access takes (Fig. 16)",
            "Two cores with 4 to 20 tasks each; all resources under one mechanism. 0.5 us an access and 25 ns a byte, assumed.",
        ),
        Drawn::Fig17 => (
            "Systems that are schedulable with locks alone, of those that are without (Fig. 17)",
            "20 resources of both cores; sections of 1 to 10 % of a task's time.",
        ),
        Drawn::Fig15Narrow => (
            "The same with periods of 5 to 100 ms (Fig. 15)",
            "Two cores with 4 to 20 tasks each; all resources under one mechanism. Periods 5, 10, 20, 50 and 100 ms.",
        ),
        _ => (
            "Schedulable systems, sections of 1 to 10 % of a task's time (Fig. 15)",
            "Two cores with 4 to 20 tasks each; all resources under one mechanism. Periods of 5 ms to 1 s.",
        ),
    }
}

fn show_cases(found: &cases::Found, output: &Output, values: &mut Values) -> Result<(), String> {
    let sections = "Sections of a tenth of a task's time; both cores loaded alike.";
    let fig19 = loads::figure(
        found,
        &[("fuel-injection", "")],
        "Memory of the fuel injection's surrogate, by load (Fig. 19)",
        vec![format!("16 tasks, 46 resources. {sections} WF-TCCP for all is far above.")],
    );
    let fig20 = loads::figure(
        found,
        &[("allocation-42", "")],
        "Memory of the surrogate of the example for allocation, by load (Fig. 20)",
        vec![format!("42 tasks, 36 resources. {sections}")],
    );
    let channels = "State channels between tasks of examples/mobstr and examples/rosace; sections of 0.5 us and 1 ns a byte.";
    let others = loads::figure(
        found,
        &[("mobstr", "MobSTr, "), ("rosace", "ROSACE, ")],
        "The same of two published systems",
        vec![channels.into()],
    );
    for (name, figure) in [("fig19", fig19), ("fig20", fig20), ("others", others)] {
        output.figure(&format!("han14-{name}"), &figure)?;
    }
    let lines: Vec<_> = found.iter().map(|(key, needed)| needed.line(key)).collect();
    output.text("han14-loads.csv", &format!("{}\n{}\n", scaled::Needed::head(), lines.join("\n")))?;
    for case in ["fuel-injection", "allocation-42", "mobstr", "rosace"] {
        loads::report(found, case, values);
    }
    loads::tell_printed(found, values);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!(shard("2/4"), Ok((2, 4)));
        for wrong in ["0/4", "5/4", "2", "a/b"] {
            assert!(shard(wrong).is_err());
        }
    }

    #[test]
    fn figures_have_names() {
        assert_eq!(drawn("fig15-narrow"), Ok(Drawn::Fig15Narrow));
        assert!(drawn("fig19").is_err_and(|said| said.contains("fig18")));
    }
}
