// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The paper's statements about its figures, checked against ours.

use super::campaign::Mode::{self, Dispatched, Native};
use super::counts::Counts;
use super::gathered::{Gathered, Period, at};
use super::mechanism::Mechanism::{self, Dbp, FlowDbp, FlowTccp, Mpcp, Msrp, Tccp};
use super::meter::Call;
use super::system::Scheme;
use crate::fit::{fit, spread};
use crate::page::table;

/// A statement, and whether it holds.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    said: &'static str,
    pub(super) found: bool,
    numbers: String,
}

/// The mechanisms that guarantee whole values, and no more.
const CONSISTENT: [Mechanism; 4] = [Mpcp, Msrp, Dbp, Tccp];

fn average(period: &Period) -> f64 {
    period.average_us
}

fn largest(period: &Period) -> f64 {
    period.largest_us
}

/// The mean over all numbers of objects and both schemes.
fn overall(gathered: &Gathered, mode: Mode, mechanism: Mechanism, of: fn(&Period) -> f64) -> f64 {
    let numbers = gathered.numbers();
    let each =
        Scheme::ALL.into_iter().flat_map(|scheme| numbers.iter().map(move |objects| (scheme, *objects)));
    let values: Vec<f64> =
        each.map(|(scheme, objects)| gathered.mean((mode, mechanism, scheme, objects), of)).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The mechanisms of [`CONSISTENT`], the cheapest first, each with its mean.
fn ranked(gathered: &Gathered, mode: Mode, of: fn(&Period) -> f64) -> Vec<(Mechanism, f64)> {
    let mut all = CONSISTENT.map(|mechanism| (mechanism, overall(gathered, mode, mechanism, of)));
    all.sort_by(|one, other| one.1.total_cmp(&other.1));
    all.into()
}

fn format_ranks(ranks: &[(Mechanism, f64)]) -> String {
    let each: Vec<_> = ranks.iter().map(|(mechanism, us)| format!("{} {us:.2}", mechanism.word())).collect();
    format!("us: {}", each.join(", "))
}

/// All findings.
pub(super) fn findings(gathered: &Gathered, counts: Option<&Counts>) -> Vec<Finding> {
    vec![
        schemes(gathered),
        smallest(gathered),
        linear(gathered),
        largest_period(gathered),
        preserved(gathered),
        system_calls(gathered),
        same_order(gathered),
        constant(gathered, counts),
        two_values(gathered),
        by_readers(gathered, counts),
    ]
}

fn schemes(gathered: &Gathered) -> Finding {
    let of = |mode, mechanism, scheme| {
        let numbers = gathered.numbers();
        let sum = numbers.iter().map(|&objects| gathered.mean((mode, mechanism, scheme, objects), average));
        sum.sum::<f64>()
    };
    let times: Vec<f64> = Mode::ALL
        .into_iter()
        .flat_map(|mode| Mechanism::ALL.map(|mechanism| (mode, mechanism)))
        .map(|(mode, mechanism)| of(mode, mechanism, Scheme::Heavy) / of(mode, mechanism, Scheme::Light))
        .collect();
    let [least, _, most] = spread(&times);
    Finding {
        said: "the light communication always leads to a smaller overhead while the heavy communication leads to a larger one",
        found: least > 1.0,
        numbers: format!("heavy over light: {least:.2} to {most:.2}, by mechanism and mode"),
    }
}

fn smallest(gathered: &Gathered) -> Finding {
    let ranks = ranked(gathered, Dispatched, average);
    Finding {
        said: "WF-TCCP has the smallest average overhead while MPCP has the largest (Fig. 6)",
        found: ranks[0].0 == Tccp && ranks[3].0 == Mpcp,
        numbers: format_ranks(&ranks),
    }
}

fn linear(gathered: &Gathered) -> Finding {
    let mut least = f64::INFINITY;
    for mechanism in CONSISTENT {
        for scheme in Scheme::ALL {
            let at = |objects: usize| {
                (objects as f64, gathered.mean((Dispatched, mechanism, scheme, objects), average))
            };
            let points: Vec<_> = gathered.numbers().into_iter().map(at).collect();
            least = least.min(fit(&points).explains);
        }
    }
    Finding {
        said: "the average overhead is approximately linear to the number of shared resources",
        found: least >= 0.8,
        numbers: format!("a line explains {:.0} % or more, by mechanism and scheme", 100.0 * least),
    }
}

fn largest_period(gathered: &Gathered) -> Finding {
    let ranks = ranked(gathered, Dispatched, largest);
    Finding {
        said: "largest: WF-TCCP performs best, while WF-DBP has greater maximum overhead than the ones of MPCP and MSRP (Fig. 7)",
        found: ranks[0].0 == Tccp && ranks[3].0 == Dbp,
        numbers: format_ranks(&ranks),
    }
}

fn preserved(gathered: &Gathered) -> Finding {
    let most = gathered.numbers().last().copied().unwrap_or(0);
    let ratios = |of: fn(&Period) -> f64| {
        let each = Mode::ALL.into_iter().flat_map(|mode| {
            let pairs = [(Dbp, FlowDbp), (Tccp, FlowTccp)].into_iter();
            pairs.flat_map(move |pair| Scheme::ALL.map(|scheme| (mode, pair, scheme)))
        });
        let ratio = |(mode, (plain, flow), scheme)| {
            gathered.mean((mode, flow, scheme, most), of)
                / gathered.mean((mode, plain, scheme, most), average)
        };
        spread(&each.map(ratio).collect::<Vec<_>>())
    };
    let [least, _, largest] = ratios(average);
    let [least_alone, _, largest_alone] = ratios(|period| period.activations_us);
    let [least_without, _, largest_without] = ratios(|period| period.average_us - period.events_us);
    Finding {
        said: "WFFP is slightly larger than WF: the increased overhead is less than 20 % for 30 resources (Figs. 8, 12)",
        found: least >= 1.0 && largest < 1.2,
        numbers: format!(
            "WFFP over WF with {most}: {least:.2} to {largest:.2}; without waiting and telling {least_without:.2} to \
             {largest_without:.2}; its activations alone {least_alone:.2} to {largest_alone:.2}"
        ),
    }
}

fn system_calls(gathered: &Gathered) -> Finding {
    let ratio = |mechanism| {
        overall(gathered, Native, mechanism, average) / overall(gathered, Dispatched, mechanism, average)
    };
    let ratios = CONSISTENT.map(ratio);
    let reported: Vec<_> = CONSISTENT
        .iter()
        .zip(ratios)
        .map(|(mechanism, times)| format!("{} {times:.2}", mechanism.word()))
        .collect();
    Finding {
        said: "with calls of the kernel MPCP is noticeably larger; the other mechanisms are approximately the same (Fig. 10)",
        found: ratios[0] > 1.5 && ratios[1..].iter().all(|times| (0.67..1.5).contains(times)),
        numbers: format!("native over dispatched: {}", reported.join(", ")),
    }
}

fn same_order(gathered: &Gathered) -> Finding {
    let order = |mode| ranked(gathered, mode, average).iter().map(|rank| rank.0).collect::<Vec<_>>();
    Finding {
        said: "the relative comparison on the overheads of these mechanisms remains the same",
        found: order(Dispatched) == order(Native),
        numbers: format!("native, {}", format_ranks(&ranked(gathered, Native, average))),
    }
}

/// The distance from the 5th percentile to the 95th.
fn range(gathered: &Gathered, mechanism: Mechanism, call: Call) -> f64 {
    let times = gathered.calls.get(&(Dispatched, mechanism, call)).map_or(&[][..], Vec::as_slice);
    at(times, 0.95) - at(times, 0.05)
}

/// Instructions of calls with 1 reader and with 5.
fn counted(counts: Option<&Counts>, names: [&str; 2]) -> Option<[f64; 2]> {
    let counts = counts?;
    Some([*counts.get(names[0])?, *counts.get(names[1])?])
}

fn constant(gathered: &Gathered, counts: Option<&Counts>) -> Finding {
    let pairs = [
        (Dbp, Tccp, Call::Write),
        (Dbp, Tccp, Call::Read),
        (FlowDbp, FlowTccp, Call::ActivateWriter),
        (FlowDbp, FlowTccp, Call::ActivateReader),
    ];
    let reported = |&(dbp, tccp, call): &(Mechanism, Mechanism, Call)| {
        let (dbp, tccp) = (range(gathered, dbp, call), range(gathered, tccp, call));
        (tccp < dbp, format!("{} {tccp:.0} and {dbp:.0}", call.word()))
    };
    let all: Vec<_> = pairs.iter().map(reported).collect();
    let numbers: Vec<_> = all.iter().map(|(_, numbers)| numbers.as_str()).collect();
    let writes = [["WF-TCCP, write, 1 reader", "WF-TCCP, write, 5 readers"], ACTIVATIONS_BY_TIME];
    let steady = writes.iter().all(|names| counted(counts, *names).is_none_or(|[one, more]| one == more));
    Finding {
        said: "the execution time is almost constant for WF-TCCP and WFFP-TCCP, with more variability for DBP (Fig. 5)",
        found: all.iter().all(|(is, _)| *is) && steady,
        numbers: format!("ns from the 5th to the 95th percentile, TCCP and DBP: {}", numbers.join(", ")),
    }
}

const ACTIVATIONS_BY_TIME: [&str; 2] =
    ["WFFP-TCCP, activation of the writer, 1 reader", "WFFP-TCCP, activation of the writer, 5 readers"];

fn two_values(gathered: &Gathered) -> Finding {
    let middle = |mechanism, call| {
        at(gathered.calls.get(&(Dispatched, mechanism, call)).map_or(&[][..], Vec::as_slice), 0.5)
    };
    let mut found = true;
    let mut numbers = Vec::new();
    for mechanism in [Msrp, Mpcp] {
        let both = |get, give| middle(mechanism, get) + middle(mechanism, give);
        let (local, global) =
            (both(Call::GetLocal, Call::GiveLocal), both(Call::GetGlobal, Call::GiveGlobal));
        found &= local < global;
        numbers.push(format!("{} {local:.0} and {global:.0}", mechanism.word()));
    }
    Finding {
        said: "the overhead is clustered around two values, because local and global resources are treated in different ways (Table III)",
        found,
        numbers: format!("ns of both calls at the median, local and global: {}", numbers.join(", ")),
    }
}

fn by_readers(gathered: &Gathered, counts: Option<&Counts>) -> Finding {
    let middle = |mechanism, few: bool| {
        let all: Vec<&Vec<f64>> = gathered
            .by_readers
            .iter()
            .filter(|((mode, other, readers), _)| {
                *mode == Dispatched && *other == mechanism && (*readers == 1) == few
            })
            .map(|(_, times)| times)
            .collect();
        let mut all: Vec<f64> = all.into_iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        at(&all, 0.5)
    };
    let all = [Dbp, FlowDbp, Tccp, FlowTccp]
        .map(|mechanism| (mechanism, middle(mechanism, true), middle(mechanism, false)));
    let reported = all.map(|(mechanism, one, more)| format!("{} {one:.0} and {more:.0}", mechanism.word()));
    let writes = [
        ("WF-DBP", ["WF-DBP, write, 1 reader", "WF-DBP, write, 5 readers"]),
        (
            "WFFP-DBP",
            ["WFFP-DBP, activation of the writer, 1 reader", "WFFP-DBP, activation of the writer, 5 readers"],
        ),
        ("WF-TCCP", ["WF-TCCP, write, 1 reader", "WF-TCCP, write, 5 readers"]),
        ("WFFP-TCCP", ACTIVATIONS_BY_TIME),
    ];
    let of = |(word, names): (&str, [&str; 2])| {
        counted(counts, names).map(|[one, more]| format!("{word} {one:.0} and {more:.0}"))
    };
    let instructions: Vec<_> = writes.into_iter().filter_map(of).collect();
    let instructions = if instructions.is_empty() {
        String::new()
    } else {
        format!("; instructions, 1 and 5: {}", instructions.join(", "))
    };
    Finding {
        said: "the time by DBP to find a free buffer depends on the number of buffers and readers",
        found: all[..2].iter().all(|(_, one, more)| more > one),
        numbers: format!("ns of a writer with 1 reader and with more: {}{instructions}", reported.join(", ")),
    }
}

/// The findings as a table.
pub(super) fn reported(findings: &[Finding]) -> String {
    let mut rows = vec![["what the paper says", "found", "numbers"].map(str::to_owned).to_vec()];
    for finding in findings {
        let found = if finding.found { "yes" } else { "**no**" };
        rows.push([finding.said, found, &finding.numbers].map(str::to_owned).to_vec());
    }
    // Text is aligned to the left.
    table(&rows).replace("---:", "---")
}

#[cfg(test)]
mod tests {
    use super::super::gathered::tests::by;
    use super::*;

    /// Costs with the shapes that the paper's text describes.
    fn paper() -> Gathered {
        let mut gathered = by(|mode, mechanism, scheme, objects| {
            let (average, largest) = match mechanism {
                Mpcp if mode == Native => (2.5, 5.0),
                Mpcp => (1.0, 5.0),
                Msrp => (0.7, 4.0),
                Dbp => (0.5, 8.0),
                Tccp => (0.3, 3.0),
                FlowDbp => (0.55, 8.5),
                FlowTccp => (0.35, 3.5),
            };
            let times = objects * if scheme == Scheme::Heavy { 1.5 } else { 1.0 };
            Period {
                average_us: average * times,
                largest_us: largest * times,
                activations_us: 0.0,
                events_us: 0.0,
            }
        });
        for mechanism in Mechanism::ALL {
            let wide = if matches!(mechanism, Dbp | FlowDbp) { 100.0 } else { 10.0 };
            for call in Call::ALL {
                let more = if matches!(call, Call::GetGlobal | Call::GiveGlobal) { 50.0 } else { 0.0 };
                gathered.calls.insert(
                    (Dispatched, mechanism, call),
                    vec![50.0 + more, 50.0 + more, 50.0 + more + wide],
                );
            }
            gathered.by_readers.insert((Dispatched, mechanism, 1), vec![40.0]);
            gathered.by_readers.insert((Dispatched, mechanism, 4), vec![60.0]);
        }
        gathered
    }

    #[test]
    fn the_papers_shapes_are_found() {
        let findings = findings(&paper(), None);
        assert!(findings.iter().all(|finding| finding.found), "{findings:?}");
        assert_eq!(reported(&findings).lines().count(), 2 + 10);
    }

    #[test]
    fn missing_shapes_are_not_found() {
        let level =
            by(|_, _, _, _| Period { average_us: 1.0, largest_us: 1.0, activations_us: 1.0, events_us: 0.0 });
        let found: Vec<_> = findings(&level, None).iter().map(|finding| finding.found).collect();
        // A level line is a line too, and the order of equal values is the same in both modes.
        assert_eq!(found, [false, false, true, false, true, false, true, false, false, false]);
    }
}
