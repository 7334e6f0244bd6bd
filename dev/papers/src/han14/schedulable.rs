// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How many systems meet all deadlines: Figures 15, 16 and 17.

use std::collections::BTreeMap;

use super::rows::Rows;
use crate::figure::{Axis, Body, Figure, Line, Marker, Panel, Stroke, line};
use crate::page::{Values, table};

pub(super) const SCHEMES: [&str; 3] = ["light", "medium", "heavy"];

/// A mechanism or a choice of mechanisms, for all objects: its name, its columns, its colour and its marker.
pub(super) type Way = (&'static str, &'static str, usize, Marker);
pub(super) const MSRP: Way = ("MSRP", "msrp", 1, Marker::Square);
pub(super) const MPCP: Way = ("MPCP", "mpcp", 2, Marker::Triangle);
pub(super) const DBP: Way = ("WF-DBP", "dbp", 0, Marker::Dot);
pub(super) const LOCKS: Way = ("both, at the best split", "locks", 3, Marker::None);

/// Two sweeps of the same systems, one for each set of equations.
pub(super) struct Shown<'r> {
    pub(super) sound: &'r Rows,
    pub(super) printed: &'r Rows,
    pub(super) ways: &'r [Way],
    /// If set, only systems that are schedulable this way count.
    pub(super) among: Option<Way>,
}

/// By load, in permille: systems that meet all deadlines, and all systems that count.
type Counts = BTreeMap<u64, (u64, u64)>;

impl Shown<'_> {
    fn counts(&self, rows: &Rows, scheme: &str, way: Way) -> Counts {
        let mut counts = Counts::new();
        let column = |way: Way| format!("{}_schedulable", way.1);
        let counted = rows.iter().filter(|row| row.text("scheme") == scheme);
        for row in counted.filter(|row| self.among.is_none_or(|among| row.truth(&column(among)))) {
            let (kept, all) = counts.entry(row.number("utilisation_permille").unwrap_or(0)).or_default();
            *kept += u64::from(row.truth(&column(way)));
            *all += 1;
        }
        counts
    }

    fn both(&self) -> [(&Rows, Stroke, &'static str); 2] {
        [(self.sound, Stroke::Solid, "sound"), (self.printed, Stroke::Dashed, "printed")]
    }

    pub(super) fn figure(&self, title: &str, caption: Vec<String>) -> Figure {
        let panels = SCHEMES.map(|scheme| {
            let mut lines = Vec::new();
            for (rows, stroke, _) in self.both() {
                for &way in self.ways {
                    let points = self.counts(rows, scheme, way).into_iter();
                    let points = points.map(|(load, counts)| (load as f64 / 10.0, percent(counts))).collect();
                    let mark = if stroke == Stroke::Solid { way.3 } else { Marker::None };
                    lines.push(Line { style: line(way.2, stroke, mark), points });
                }
            }
            Panel {
                title: format!("{scheme} communication"),
                x: Axis::linear("load of a core [%]", 40.0, 100.0, 10.0),
                y: Axis::linear("schedulable [%]", 0.0, 100.0, 20.0),
                body: Body::Lines(lines),
            }
        });
        let mut legend: Vec<_> =
            self.ways.iter().map(|way| (way.0.to_owned(), line(way.2, Stroke::Solid, way.3))).collect();
        legend.push(("sound equations".into(), line(5, Stroke::Solid, Marker::None)));
        legend.push(("printed equations, which are unsound".into(), line(5, Stroke::Dashed, Marker::None)));
        Figure { title: title.into(), caption, panels: panels.into(), columns: 3, legend }
    }

    pub(super) fn csv(&self) -> String {
        let mut text = String::from("scheme,utilisation_percent,way,equations,systems,schedulable\n");
        for scheme in SCHEMES {
            for (rows, _, equations) in self.both() {
                for &way in self.ways {
                    for (load, (kept, all)) in self.counts(rows, scheme, way) {
                        let (name, load) = (way.1, load as f64 / 10.0);
                        text += &format!("{scheme},{load},{name},{equations},{all},{kept}\n");
                    }
                }
            }
        }
        text
    }

    /// Fills in a table of one scheme, a table of the means over loads of all schemes, and where MPCP overtakes MSRP.
    pub(super) fn report(&self, prefix: &str, values: &mut Values) {
        let mut head = vec!["load".to_owned()];
        for (_, _, equations) in self.both() {
            head.extend(self.ways.iter().map(|way| format!("{}, {equations}", way.0)));
        }
        let mut rows = vec![head];
        for load in self.counts(self.sound, SCHEMES[1], self.ways[0]).into_keys() {
            let mut row = vec![format!("{} %", load as f64 / 10.0)];
            for (of, ..) in self.both() {
                for &way in self.ways {
                    let counts = self.counts(of, SCHEMES[1], way);
                    row.push(
                        counts.get(&load).map_or("–".into(), |counts| format!("{:.1}", percent(*counts))),
                    );
                }
            }
            rows.push(row);
        }
        values.set(&format!("{prefix} medium"), table(&rows));
        let mut head = vec!["scheme".to_owned()];
        for (_, _, equations) in self.both() {
            head.extend(self.ways.iter().map(|way| format!("{}, {equations}", way.0)));
        }
        let mut rows = vec![head];
        for scheme in SCHEMES {
            let mut row = vec![scheme.to_owned()];
            for (of, ..) in self.both() {
                row.extend(
                    self.ways.iter().map(|&way| format!("{:.1}", mean(&self.counts(of, scheme, way)))),
                );
            }
            rows.push(row);
        }
        values.set(&format!("{prefix} means"), table(&rows));
        if self.among.is_none() {
            let mut rows = vec![["scheme", "sound", "printed"].map(str::to_owned).to_vec()];
            for scheme in SCHEMES {
                let of = |rows| overtakes(&self.counts(rows, scheme, MSRP), &self.counts(rows, scheme, MPCP));
                rows.push(vec![scheme.to_owned(), of(self.sound), of(self.printed)]);
            }
            values.set(&format!("{prefix} overtakes"), table(&rows));
        }
        let fewest = self.counts(self.sound, SCHEMES[1], self.ways[0]).values().map(|(_, all)| *all).min();
        values.set(&format!("{prefix} systems"), fewest.unwrap_or(0));
    }
}

fn percent((kept, all): (u64, u64)) -> f64 {
    100.0 * kept as f64 / all.max(1) as f64
}

/// The mean of the shares over all loads.
fn mean(counts: &Counts) -> f64 {
    counts.values().map(|counts| percent(*counts)).sum::<f64>() / counts.len().max(1) as f64
}

/// The load from which on MPCP schedules at least as many systems as MSRP, and more at some load.
fn overtakes(msrp: &Counts, mpcp: &Counts) -> String {
    let ahead = |load: &u64| mpcp[load].0.cmp(&msrp[load].0);
    let loads: Vec<u64> = msrp.keys().copied().filter(|load| mpcp.contains_key(load)).collect();
    let behind = loads.iter().rposition(|load| ahead(load).is_lt());
    let from = &loads[behind.map_or(0, |at| at + 1)..];
    match from.iter().find(|load| ahead(load).is_gt()) {
        Some(load) => format!("from {} %", *load as f64 / 10.0),
        None => {
            let most = loads.iter().map(|load| percent(msrp[load]) - percent(mpcp[load])).fold(0.0, f64::max);
            format!("nowhere; MSRP is ahead by up to {most:.1}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(mpcp_at_90: bool) -> Rows {
        let mut text =
            String::from("scheme,utilisation_permille,msrp_schedulable,mpcp_schedulable,dbp_schedulable\n");
        for (load, msrp, mpcp, dbp) in [
            (500, true, true, true),
            (500, true, false, true),
            (900, false, mpcp_at_90, true),
            (900, true, true, false),
        ] {
            text += &format!("medium,{load},{msrp},{mpcp},{dbp}\n");
        }
        Rows::parse(&text).expect("in order")
    }

    #[test]
    fn shares_are_of_those_that_count() {
        let rows = rows(true);
        let shown = |among| Shown { sound: &rows, printed: &rows, ways: &[MSRP, MPCP], among };
        assert_eq!(shown(None).counts(&rows, "medium", MSRP), Counts::from([(500, (2, 2)), (900, (1, 2))]));
        assert_eq!(
            shown(Some(DBP)).counts(&rows, "medium", MSRP),
            Counts::from([(500, (2, 2)), (900, (0, 1))])
        );
        assert!(shown(None).csv().contains("medium,90,mpcp,printed,2,2\n"));
    }

    #[test]
    fn an_overtaking_mechanism_stays_ahead() {
        let of = |rows: &Rows| {
            let shown = Shown { sound: rows, printed: rows, ways: &[MSRP, MPCP], among: None };
            overtakes(&shown.counts(rows, "medium", MSRP), &shown.counts(rows, "medium", MPCP))
        };
        assert_eq!(of(&rows(true)), "from 90 %");
        assert_eq!(of(&rows(false)), "nowhere; MSRP is ahead by up to 50.0");
    }
}
