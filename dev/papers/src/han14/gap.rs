// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How far the published selection is above the least memory: Figure 18.

use super::rows::Rows;
use crate::figure::{Axis, Body, Figure, Panel, Style, part};
use crate::page::{Values, table};

/// Upper limits of the gap classes, in percent: the least memory itself, and the printed classes; the last takes the
/// rest.
const CLASSES: [(f64, &str, Style); 5] = [
    (0.0, "the least", part(0)),
    (1.0, "to 1 % above", part(2)),
    (5.0, "1 to 5 %", part(4)),
    (10.0, "5 to 10 %", part(1)),
    (f64::INFINITY, "more", part(3)),
];
/// The printed shares for 20 objects. The paper does not say for which depth.
const PRINTED: [f64; 5] = [55.9, 22.9, 16.0, 3.6, 1.6];
/// The same for backtracking over 10 decisions.
const PRINTED_BACK: [f64; 5] = [49.9, 21.8, 18.8, 5.4, 4.1];

/// The gaps of one way to select.
struct Gaps {
    name: String,
    /// The percentage of systems in each class.
    classes: [f64; 5],
    mean: f64,
    most: f64,
}

fn gaps(rows: &Rows, name: String, column: &str) -> Gaps {
    // Count only systems whose least memory is known.
    let known = rows.iter().filter(|row| row.truth("best_proven"));
    let gap = |row: super::rows::Row<'_>| {
        let [found, least] = [column, "best_bytes"].map(|column| row.number(column));
        // Without any feasible selection a system has no gap. If only this way fails, its gap is infinite.
        least.map(|least| found.map_or(f64::INFINITY, |found| 100.0 * (found as f64 / least as f64 - 1.0)))
    };
    let all: Vec<f64> = known.filter_map(gap).collect();
    let count = all.len().max(1) as f64;
    let class = |gap: &f64| CLASSES.iter().position(|(to, ..)| *gap <= *to + 1e-9).unwrap_or(4);
    let mut classes = [0.0; 5];
    for gap in &all {
        classes[class(gap)] += 100.0 / count;
    }
    let finite = || all.iter().copied().filter(|gap| gap.is_finite());
    let mean = finite().sum::<f64>() / finite().count().max(1) as f64;
    Gaps { name, classes, mean, most: finite().fold(0.0, f64::max) }
}

fn ways(rows: &Rows) -> Vec<Gaps> {
    let of = |method: &str, prefix: &str| {
        let depths = rows.depths(method).into_iter();
        let gaps = |depth| gaps(rows, format!("{prefix}{depth}"), &format!("{method}_{depth}_bytes"));
        depths.map(gaps).collect::<Vec<_>>()
    };
    of("heuristic", "").into_iter().chain(of("backtracking", "b")).collect()
}

pub(super) fn figure(sound: &Rows, printed: &Rows, caption: Vec<String>) -> Figure {
    let panels = [(sound, "sound equations"), (printed, "printed equations")].map(|(rows, title)| {
        let bar = |classes: [f64; 5]| {
            classes.into_iter().zip(CLASSES).map(|(share, (.., style))| (share, style)).collect()
        };
        let mut bars: Vec<(String, Vec<(f64, Style)>)> =
            ways(rows).into_iter().map(|gaps| (gaps.name, bar(gaps.classes))).collect();
        bars.push(("P".into(), bar(PRINTED)));
        bars.push(("Pb10".into(), bar(PRINTED_BACK)));
        Panel {
            title: title.into(),
            x: Axis::names("depth of the refinement (b: of backtracking); P: as printed", bars.len()),
            y: Axis::linear("systems [%]", 0.0, 100.0, 20.0),
            body: Body::Stacks(bars),
        }
    });
    Figure {
        title: "How far Algorithm 6 is above the least memory, 20 resources (Fig. 18)".into(),
        caption,
        panels: panels.into(),
        columns: 2,
        legend: CLASSES.iter().map(|(_, name, style)| ((*name).to_owned(), *style)).collect(),
    }
}

pub(super) fn csv(sound: &Rows, printed: &Rows) -> String {
    let mut text = String::from(
        "equations,way,least_percent,to_1_percent,to_5_percent,to_10_percent,more_percent,mean_percent,most_percent\n",
    );
    for (rows, equations) in [(sound, "sound"), (printed, "printed")] {
        for gaps in ways(rows) {
            let classes = gaps.classes.map(|share| format!("{share:.2}")).join(",");
            text += &format!("{equations},{},{classes},{:.3},{:.3}\n", gaps.name, gaps.mean, gaps.most);
        }
    }
    text
}

pub(super) fn report(sound: &Rows, printed: &Rows, values: &mut Values) {
    let head = ["", "the least", "to 1 %", "1 to 5 %", "5 to 10 %", "more", "mean", "most"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let mut add = |name: String, classes: [f64; 5], rest: [String; 2]| {
        let mut line = vec![name];
        line.extend(classes.map(|share| format!("{share:.1} %")));
        line.extend(rest);
        lines.push(line);
    };
    add("**paper**".into(), PRINTED, ["0.96 %".into(), "47.1 %".into()]);
    add("**paper**, backtracking over 10".into(), PRINTED_BACK, ["–".into(), "–".into()]);
    for (rows, equations) in [(sound, "sound"), (printed, "printed")] {
        for gaps in ways(rows) {
            let name = match gaps.name.strip_prefix('b') {
                Some(depth) => format!("{equations}, backtracking over {depth}"),
                None => format!("{equations}, depth {}", gaps.name),
            };
            add(name, gaps.classes, [format!("{:.2} %", gaps.mean), format!("{:.1} %", gaps.most)]);
        }
    }
    values.set("fig18", table(&lines));
    for (rows, equations) in [(sound, "sound"), (printed, "printed")] {
        let unproven = rows.iter().filter(|row| !row.truth("best_proven")).count();
        let without =
            rows.iter().filter(|row| row.truth("best_proven") && row.number("best_bytes").is_none()).count();
        let text = format!(
            "{} drawn, {without} keep their deadlines by no selection, of {unproven} the least is not known",
            rows.len()
        );
        values.set(&format!("fig18 {equations}"), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_put_into_their_classes() {
        let text = "best_proven,best_bytes,heuristic_3_bytes\ntrue,100,100\ntrue,100,101\ntrue,100,104\ntrue,100,147\nfalse,100,900\ntrue,,\n";
        let rows = Rows::parse(text).expect("in order");
        let found = &ways(&rows)[0];
        assert_eq!((found.name.as_str(), found.classes), ("3", [25.0, 25.0, 25.0, 0.0, 25.0]));
        assert!((found.mean - 13.0).abs() < 1e-9 && (found.most - 47.0).abs() < 1e-9);
    }
}
