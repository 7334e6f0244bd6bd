// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! \[Han14, section IV-A\]: what the mechanisms cost in time. Tables I to III and Figures 5 to 13.
//!
//! | module | what it holds |
//! |---|---|
//! | `system` | the systems that run, drawn as the paper draws them |
//! | `mechanism`, `flows`, `task_code` | what a job does, under either scheduler |
//! | `dispatched`, `native` | the two schedulers |
//! | `meter`, `campaign` | the times of calls, run by run |
//! | `counts` | the same calls in instructions |
//! | `gathered` | the results of all runs together |
//! | `per_call`, `per_period`, `findings` | tables and figures |

mod campaign;
mod counts;
mod dispatched;
mod findings;
mod flows;
mod gathered;
mod mechanism;
mod meter;
mod native;
mod per_call;
mod per_period;
mod system;
mod task_code;

pub(crate) use counts::{COMMAND, everything};

use std::path::PathBuf;

use clap::Args;
use taut_exec::Wanted;

use self::campaign::{Effort, Mode};
use self::gathered::Gathered;
use self::mechanism::Mechanism;
use self::system::{Scheme, TICKS};
use crate::output::Output;
use crate::page::Values;

/// The template of the page.
const PAGE: &str = include_str!("../../pages/han14-overheads.md.in");

/// What is asked for.
#[derive(Clone, Debug, Args)]
pub(crate) struct Options {
    /// Where the page and its figures go
    #[arg(long)]
    out: PathBuf,
    /// Systems of each number of resources and scheme
    #[arg(long, default_value_t = 4)]
    systems: u64,
}

/// Measures, and writes the results.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let output = Output::new(options.out.clone())?;
    let effort = Effort {
        objects: vec![1, 5, 10, 15, 20, 25, 30],
        systems: options.systems,
        ticks: TICKS,
        wanted: Wanted::Strict,
    };
    let gathered = Gathered::new(&campaign::runs(&effort)?);
    written(&output, &gathered, &counts::counts(&options.out), &effort)
}

/// Writes the page, its figures and its rows.
fn written(
    output: &Output,
    gathered: &Gathered,
    counts: &Result<counts::Counts, String>,
    effort: &Effort,
) -> Result<(), String> {
    let mut values = Values::default();
    let consistent = [Mechanism::Mpcp, Mechanism::Msrp, Mechanism::Dbp, Mechanism::Tccp];
    let flows = [Mechanism::Dbp, Mechanism::Tccp, Mechanism::FlowDbp, Mechanism::FlowTccp];
    for (name, mode, which, title) in [
        ("fig6-7", Mode::Dispatched, consistent, "Overhead in a timer period, dispatched (Figs. 6, 7)"),
        ("fig8-9", Mode::Dispatched, flows, "The same of flows that are preserved, dispatched (Figs. 8, 9)"),
        ("fig10-11", Mode::Native, consistent, "Overhead in a timer period, native (Figs. 10, 11)"),
        ("fig12-13", Mode::Native, flows, "The same of flows that are preserved, native (Figs. 12, 13)"),
    ] {
        output
            .figure(&format!("han14-overheads-{name}"), &per_period::figure(gathered, mode, &which, title))?;
        values.set(name, per_period::table(gathered, mode, &which));
    }
    output.figure("han14-overheads-fig5", &per_call::figure(gathered, Mode::Dispatched))?;
    output.text("han14-overheads.csv", &gathered.csv())?;
    output.text("han14-overheads-calls.csv", &per_call::csv(gathered))?;
    values.set("findings", findings::reported(&findings::findings(gathered, counts.as_ref().ok())));
    values.set("table 1", per_call::accesses(gathered, Mode::Dispatched));
    values.set("table 2", per_call::calls(gathered));
    values.set("table 3 dispatched", per_call::likely(gathered, Mode::Dispatched));
    values.set("table 3 native", per_call::likely(gathered, Mode::Native));
    values.set("counted", counted(counts));
    values.set("most dispatched", most(gathered, &consistent, Mode::Dispatched));
    values.set("most native", most(gathered, &consistent, Mode::Native));
    values.set("systems", effort.systems);
    values.set("runs", gathered.periods.values().map(Vec::len).sum::<usize>());
    let (refused, calls) = gathered.refused;
    values.set("refused", format!("{refused} of {calls}"));
    let facts = taut_sys::machine::machine_facts();
    let fact = |(name, value): &(String, String)| format!("{name} {value}");
    values.set("machine", facts.iter().map(fact).collect::<Vec<_>>().join("; "));
    output.text("han14-overheads.md", &values.fill(PAGE)?)
}

/// The counts of instructions as a table, or why there are none.
fn counted(counts: &Result<counts::Counts, String>) -> String {
    match counts {
        Ok(counts) => format!(
            "What `valgrind --tool=callgrind` counts in {} calls, with the call and the return and a value of 4 B, divided by \
             their number: the same in every run of one build.\n\n{}",
            counts::TIMES,
            per_call::counted(counts)
        ),
        Err(why) => format!("They could not be counted here: {}.", why.trim()),
    }
}

/// The largest overhead in a timer period with the most resources, in words.
fn most(gathered: &Gathered, mechanisms: &[Mechanism], mode: Mode) -> String {
    let most = gathered.numbers().last().copied().unwrap_or(0);
    let all = mechanisms.iter().flat_map(|&mechanism| Scheme::ALL.map(|scheme| (mechanism, scheme)));
    let largest = all.map(|(mechanism, scheme)| {
        let us = gathered.mean((mode, mechanism, scheme, most), |period| period.average_us);
        (us, format!("{}, {}", mechanism.word(), scheme.word()))
    });
    let largest = largest.max_by(|one, other| one.0.total_cmp(&other.0));
    let (us, whose) = largest.unwrap_or_default();
    // The percentage is of the paper's timer period, because one of ours does the work of one of the paper's.
    format!("{us:.1} us ({:.2} % of 5 ms; {whose})", us / 50.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The short form: two numbers of resources, for 20 timer periods, without valgrind.
    #[test]
    fn the_page_is_made_or_the_privilege_is_missing() {
        let effort = Effort { objects: vec![1, 5], systems: 1, ticks: 20, wanted: Wanted::Strict };
        let runs = match campaign::runs(&effort) {
            Ok(runs) => runs,
            Err(why) => {
                assert!(why.contains("sched") || why.contains("one processor"), "{why}");
                return println!("skipped: {why}");
            }
        };
        assert_eq!(runs.len(), 2 * 2 * 6 * 2);
        for run in &runs {
            assert!(!run.samples.is_empty(), "{:?}: nothing was measured", run.key);
        }
        let folder = tempfile::tempdir().expect("a folder");
        let output = Output::new(folder.path().to_owned()).expect("writable");
        written(&output, &Gathered::new(&runs), &Err("not asked for".into()), &effort)
            .expect("every place has its value");
        let page = std::fs::read_to_string(folder.path().join("han14-overheads.md")).expect("written");
        assert!(page.contains("could not be counted here: not asked for.") && !page.contains("{{"), "{page}");
        for name in ["fig5.svg", "fig6-7.svg", "fig8-9.svg", "fig10-11.svg", "fig12-13.svg", "calls.csv"] {
            assert!(folder.path().join(format!("han14-overheads-{name}")).exists(), "{name}");
        }
    }
}
