// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Rows are reproducible, in any order and split, and their results are consistent.

use taut_model::{Body, Mechanism};
use taut_planner::select::Equations;
use taut_sweep::{Cell, CellKind, Generator, Method, NoRow, Row, Shard, Summary, System};

const HAN14: &str = include_str!("../../../examples/sweep/han14.toml");

fn parse(text: &str) -> Generator {
    Generator::parse(text).unwrap_or_else(|faults| panic!("{text}\n{faults:#?}"))
}

/// The paper's file with pieces replaced, all of which must occur in it.
fn paper(changes: &[(&str, &str)]) -> Generator {
    let text = changes.iter().fold(HAN14.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    parse(&text)
}

const SMALL: [(&str, &str); 2] = [("[4, 20]", "[2, 5]"), ("rows-per-point = 100", "rows-per-point = 3")];

/// A hash of everything that was drawn.
fn fold(system: &System) -> u64 {
    let mut sum = 0u64;
    let mut add = |number: u64| sum = sum.wrapping_mul(1_000_003).wrapping_add(number);
    for (at, task) in system.set.tasks().iter().enumerate() {
        add(task.core as u64);
        add(task.priority.into());
        [task.period, task.deadline, system.set.cost(at)].into_iter().for_each(|time| add(time.as_ns()));
        system.set.requests(at).iter().for_each(|request| add(request.length.as_ns()));
    }
    for object in &system.objects {
        add(object.bytes);
        add(object.writer as u64);
        object.readers.iter().for_each(|reader| add(*reader as u64));
    }
    sum
}

/// What is drawn is part of what a file means: a change here changes every sweep that was ever made.
#[test]
fn a_row_is_what_it_was() {
    let generator = paper(&[]);
    let drawn = [0, 17, 3_599].map(|row| {
        let system = generator.system(row).unwrap();
        (system.set.tasks().len(), system.objects.len(), fold(&system))
    });
    assert_eq!(
        drawn,
        [
            (22, 15, 15_143_762_377_419_746_317),
            (23, 19, 4_824_578_719_884_143_177),
            (24, 14, 17_031_299_689_373_900_934)
        ]
    );
}

#[test]
fn any_order_and_any_sharding_give_the_same() {
    let generator = paper(&SMALL);
    let whole: Vec<Row> = (0..generator.rows()).map(|row| generator.row(row).unwrap()).collect();
    assert_eq!(whole.len(), 108);
    for of in [1, 2, 3, 7, 108, 200] {
        let shards = (0..of).map(|index| Shard::new(index, of).unwrap().rows(&generator));
        let rows: Vec<u64> = shards.clone().flatten().collect();
        assert_eq!(rows, (0..108).collect::<Vec<_>>(), "{of}");
        let lengths: Vec<u64> = shards.map(|rows| rows.end - rows.start).collect();
        assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1, "{of}");
    }
    assert_eq!((Shard::new(2, 2), Shard::new(0, 0)), (None, None));
    // In reverse order, with a second generator read from the same file.
    let other = paper(&SMALL);
    let mut back: Vec<Row> = (0..108).rev().map(|row| other.row(row).unwrap()).collect();
    back.reverse();
    assert_eq!(back, whole);
    // A longer sweep begins with the rows of a shorter one.
    let longer = paper(&[SMALL[0], ("rows-per-point = 100", "rows-per-point = 4")]);
    assert_eq!(longer.row(107), generator.row(107));
    let reseeded = paper(&SMALL).with_seed(2);
    assert_ne!(reseeded.row(107), generator.row(107));
}

#[test]
fn methods_keep_their_order() {
    let methods = "locks = true\nheuristic = [0, 3]\nbacktracking = 3\nbest = 100000\nexhaustive = 6";
    let asked = [SMALL[0], SMALL[1], ("heuristic = 0", methods), ("[1%", "[1%")];
    let generator = paper(&asked[..3]);
    let place = |method| generator.methods().iter().position(|asked| *asked == method).unwrap();
    let (mut searched, mut proven) = (0, 0);
    for row in 0..60 {
        let row = generator.row(row).unwrap();
        let bytes = |method| row.answers[place(method)].bytes;
        let best = row.answers[place(Method::Best(100_000))];
        proven += u32::from(best.proven == Some(true));
        let others = [
            Method::Only(Mechanism::Msrp),
            Method::Only(Mechanism::Mpcp),
            Method::Only(Mechanism::Dbp),
            Method::Only(Mechanism::Tccp),
            Method::Locks,
        ];
        let published = [Method::Heuristic(0), Method::Heuristic(3), Method::Backtracking(3)];
        for method in others.into_iter().chain(published) {
            // No other method finds a selection that needs less memory than ours.
            assert!(bytes(method).is_none_or(|bytes| Some(bytes) >= best.bytes), "{method:?} {row:?}");
        }
        assert!(bytes(Method::Heuristic(3)) <= bytes(Method::Heuristic(0)), "{row:?}");
        assert!(
            bytes(Method::Locks).is_some()
                || (bytes(Method::Only(Mechanism::Msrp)).is_none()
                    && bytes(Method::Only(Mechanism::Mpcp)).is_none()),
            "{row:?}"
        );
        let every = row.answers[place(Method::Exhaustive(6))];
        if every.schedulable.is_some() {
            assert!(row.objects <= 6);
            assert_eq!(every.bytes, best.bytes, "{row:?}");
            searched += 1;
        }
    }
    assert!(searched > 20 && proven > 55, "{searched} {proven}");
}

#[test]
fn systems_are_what_the_file_says() {
    let generator = paper(&[("share = [\"1%\", \"10%\"]", "share = [\"2%\", \"2%\"]")]);
    for row in 0..72 {
        let system = generator.system(row).unwrap();
        let set = &system.set;
        let point = &generator.points()[generator.point_of(row)];
        for core in 0..2 {
            assert!((4..=20).contains(&set.on_core(core).count()));
            let load: u128 = set
                .on_core(core)
                .map(|task| u128::from(set.cost(task).as_ns()) * 1_000_000_000)
                .zip(set.on_core(core))
                .map(|(cost, task)| cost / u128::from(set.tasks()[task].period.as_ns()))
                .sum();
            // No task takes less than a ten-thousandth of its period, and costs are whole.
            let wanted = u128::from(point.utilisation) * 1_000;
            assert!(load + 1_000 >= wanted && load <= wanted + 20 * 101_000, "{row}: {load} {wanted}");
        }
        for (at, object) in system.objects.iter().enumerate() {
            let mut parties = object.readers.clone();
            parties.push(object.writer);
            parties.sort_unstable();
            assert!(set.users(at).eq(parties.iter().copied()), "each party has its section");
            assert!(!set.is_local(at));
        }
        for (at, task) in set.tasks().iter().enumerate() {
            let Body::Anywhere { cost, requests } = &task.body else { panic!("no other is drawn") };
            let sections: u64 = requests.iter().map(|request| request.length.as_ns()).sum();
            let wanted = if requests.is_empty() { 0 } else { cost.as_ns() / 50 };
            assert!(sections.abs_diff(wanted) <= 20, "{row} {at}: {sections} {wanted}");
            let more_urgent = |other: &&taut_model::SetTask| other.deadline < task.deadline;
            assert!(set.tasks().iter().filter(more_urgent).all(|other| other.priority > task.priority));
        }
    }
}

#[test]
fn every_key_is_heard() {
    let generator = paper(&[
        SMALL[0],
        (
            "periods = [\"5ms\", \"10ms\", \"20ms\", \"50ms\", \"100ms\", \"200ms\", \"500ms\", \"1s\"]",
            "periods = { from = \"3ms\", to = \"40ms\", step = \"1ms\" }\ndeadlines = [\"50%\", \"80%\"]\ncut = \"even\"",
        ),
        (
            "[sections]\nshare = [\"1%\", \"10%\"]",
            "[objects]\ncount = 3\nsame-core = true\n[sections]\naccess = { fixed = \"200ns\", per-byte = \"10ns\" }",
        ),
        ("\"sound\"", "\"printed\""),
    ]);
    assert_eq!(generator.equations(), Equations::Printed);
    let (mut local, mut few) = (0, 0);
    for row in 0..100 {
        let Ok(system) = generator.system(row) else {
            few += 1;
            continue;
        };
        assert_eq!(system.objects.len(), 3);
        let set = &system.set;
        local += (0..3).filter(|&object| set.is_local(object)).count();
        for core in 0..2 {
            let shares: Vec<u64> = set
                .on_core(core)
                .map(|task| set.cost(task).as_ns() * 1_000 / set.tasks()[task].period.as_ns())
                .collect();
            assert!(shares.iter().all(|share| share.abs_diff(shares[0]) <= 1), "{shares:?}");
        }
        for (at, task) in set.tasks().iter().enumerate() {
            let (period, deadline) = (task.period.as_ns(), task.deadline.as_ns());
            assert!(period % 1_000_000 == 0 && (3..=40).contains(&(period / 1_000_000)));
            assert!(deadline >= period / 2 && deadline <= period * 8 / 10 + 1);
            for request in set.requests(at) {
                assert_eq!(request.length.as_ns(), 200 + 10 * system.objects[request.resource].bytes);
            }
        }
        assert_eq!(generator.row(row).unwrap().objects, 3, "objects of one core are judged too");
    }
    assert!(local > 20 && few == 0, "{local} {few}");
}

/// The same lock time costs more within a section than outside.
#[test]
fn who_waits_waits_for_what_is_held() {
    let kept = |costs: &str| {
        let generator = paper(&[("time = \"2.5us\"", costs), ("heuristic = 0", "")]);
        (0..150).filter(|row| generator.row(*row).unwrap().answers[1].bytes.is_some()).count()
    };
    let (held, outside) = (kept("time = \"0us\", held = \"2.5us\""), kept("time = \"2.5us\""));
    assert!(held < outside, "{held} {outside}");
}

#[test]
fn what_cannot_be_drawn_is_an_error_of_its_row() {
    let generator = paper(&[SMALL[0], ("[sections]", "[objects]\ncount = 11\n[sections]")]);
    assert_eq!(generator.row(0), Err(NoRow::FewObjects { row: 0, wanted: 11 }));
    let rows = generator.rows();
    assert_eq!(generator.row(rows), Err(NoRow::NotThere { row: rows, rows }));
    let one = parse(&HAN14.replace("cores = 2", "cores = 1").replace("[4, 20]", "1"));
    assert_eq!(one.row(0).unwrap().objects, 0, "a task alone has nobody to write for");
}

#[test]
fn columns_and_cells_go_together_and_a_summary_adds_up() {
    let generator = paper(&[SMALL[0], SMALL[1], ("heuristic = 0", "best = 10\nexhaustive = 2")]);
    let columns = generator.columns();
    let mut summary = Summary::new(&generator);
    let mut schedulable = 0;
    for row in 0..generator.rows() {
        let row = generator.row(row).unwrap();
        let cells = generator.cells(&row);
        assert_eq!(cells.len(), columns.len());
        for (cell, column) in cells.iter().zip(&columns) {
            let fits = match cell {
                Cell::Number(_) => column.kind == CellKind::Number,
                Cell::Truth(_) => column.kind == CellKind::Truth,
                Cell::Text(_) => column.kind == CellKind::Text,
                Cell::Nothing => column.optional,
            };
            assert!(fits, "{column:?}: {cell:?}");
        }
        assert_eq!(generator.read(&cells).as_ref(), Some(&row));
        assert_eq!(generator.read(&cells[1..]), None);
        schedulable += u64::from(row.answers[0].schedulable == Some(true));
        summary.add(&row);
    }
    let points = 0..generator.points().len();
    assert!(points.clone().all(|point| summary.rows(point) == 3));
    assert_eq!(points.clone().map(|point| summary.of(point)[0].schedulable).sum::<u64>(), schedulable);
    let exhaustive: u64 = points.map(|point| summary.of(point)[5].asked).sum();
    assert!(exhaustive < generator.rows(), "systems of more than two objects were not asked");
    assert_eq!(Summary::new(&generator).of(0)[0].schedulable_permille(), None);
}

/// The largest and the smallest values that a file can have: each gives a result or an error.
#[test]
fn extremes_are_answers_or_errors() {
    let listed = "[\"5ms\", \"10ms\", \"20ms\", \"50ms\", \"100ms\", \"200ms\", \"500ms\", \"1s\"]";
    let light = "{ \"1B\" = 30, \"4B\" = 30, \"24B\" = 20, \"48B\" = 20 }";
    let share = "share = [\"1%\", \"10%\"]";
    let utilisation = "{ from = \"40%\", to = \"95%\", step = \"5%\" }";
    let cases: [&[(&str, &str)]; 9] = [
        &[(listed, "\"1us\"")],
        &[(listed, "[\"1us\", \"1h\"]")],
        &[(listed, "{ from = \"1us\", to = \"1h\" }")],
        &[(utilisation, "\"0.1%\"")],
        &[(utilisation, "\"100%\"")],
        &[(share, "share = [\"0%\", \"100%\"]")],
        &[(share, "length = [\"0ns\", \"1h\"]")],
        &[(light, "\"4GiB\""), (share, "access = { fixed = \"1h\", per-byte = \"1h\" }")],
        &[(light, "\"4GiB\""), ("index = \"1B\" }\ntccp", "per-byte = \"1h\", index = \"4GiB\" }\ntccp")],
    ];
    let mut overflows = 0;
    for changes in cases {
        let changes: Vec<_> = [SMALL[0]].iter().chain(changes).copied().collect();
        let generator = paper(&changes);
        for row in 0..6 {
            match generator.row(row) {
                Ok(made) => assert_eq!(made.row, row),
                Err(NoRow::Overflow { row: of }) => {
                    assert_eq!(of, row);
                    overflows += 1;
                }
                Err(other) => panic!("{changes:?}: {other}"),
            }
        }
    }
    assert!(overflows > 0, "4 GiB at an hour a byte are not 64 bits of nanoseconds");
}
