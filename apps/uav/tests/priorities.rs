// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The priorities that jPapaBench publishes beside those that the plan assigns: how slow may a processor be?
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::Path;

use taut_manifest::{SourceText, load};
use taut_planner::Planned;

/// Cycles of each task's longest job in a flight of 10 s on Ibex, by "TACLeBench on Ibex"; `servo-transmit` as `check-mega128`.
const CYCLES: [(&str, u64); 13] = [
    ("test-ppm", 5_684),
    ("send-data", 1_599),
    ("check-mega128", 2_969),
    ("check-failsafe", 2_696),
    ("servo-transmit", 2_969),
    ("radio-control", 1_492),
    ("stabilization", 2_053),
    ("link-fbw-send", 453),
    ("reporting", 1_365),
    ("receive-gps", 12_881),
    ("navigation", 6_300),
    ("altitude-control", 416),
    ("climb-control", 1_668),
];

fn file(name: &str) -> SourceText {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    SourceText { name: name.to_owned(), text: std::fs::read_to_string(path).unwrap() }
}

/// What is wrong with the manifest under these overlays, each with its code; nothing if every deadline is proven.
fn faults(overlays: &[SourceText]) -> Vec<String> {
    let loaded = load(&file("taut.toml"), overlays);
    let Some(model) = &loaded.model else {
        return loaded.diagnostics.iter().map(|found| format!("{} {}", found.code, found.message)).collect();
    };
    let planned = Planned::make(model, Vec::new());
    assert_eq!(planned.plan.proven, planned.faults.is_empty());
    planned.faults.iter().map(|fault| format!("{} {}", fault.code, fault.message)).collect()
}

fn execution_times(khz: u64) -> SourceText {
    let row = |(task, cycles): &(&str, u64)| {
        let ns = (cycles * 1_000_000).div_ceil(khz);
        format!("[tasks.{task}]\nwcet = {{ value = \"{ns}ns\", source = \"guess\" }}\n")
    };
    SourceText { name: "times.toml".to_owned(), text: CYCLES.iter().map(row).collect() }
}

/// The lowest clock rate at which all deadlines are proven, in kHz.
fn lowest_khz(overlays: &[SourceText]) -> u64 {
    let (mut fails, mut passes) = (100, 10_000);
    while passes - fails > 1 {
        let khz = u64::midpoint(fails, passes);
        let found = faults(&[overlays, &[execution_times(khz)]].concat());
        if found.is_empty() { passes = khz } else { fails = khz }
    }
    passes
}

/// jPapaBench's priorities, but `receive-gps`, which only the C program has, below all.
fn positions_last() -> SourceText {
    let text = format!("{}\n", file("published.toml").text).replace("priority = 28", "priority = 18");
    SourceText { name: "positions-last.toml".to_owned(), text }
}

#[test]
fn with_the_manifests_execution_times_both_orders_pass() {
    let (one_core, published) = (file("one-core.toml"), file("published.toml"));
    for overlays in [vec![], vec![published.clone()], vec![one_core.clone()], vec![one_core, published]] {
        assert_eq!(faults(&overlays), [""; 0], "{overlays:?}");
    }
}

/// The figures of the README.
#[test]
fn the_published_order_needs_a_faster_processor() {
    let (one_core, published) = (file("one-core.toml"), file("published.toml"));
    let orders = [vec![], vec![published], vec![positions_last()]];
    let on_one = |order: &Vec<SourceText>| lowest_khz(&[vec![one_core.clone()], order.clone()].concat());
    assert_eq!(orders.each_ref().map(on_one), [703, 1_052, 781]);
    assert_eq!(orders.map(|order| lowest_khz(&order)), [487, 562, 487]);
}

#[test]
fn at_705_khz_the_plan_passes_and_the_published_order_does_not() {
    let (one_core, slow) = (file("one-core.toml"), file("slow.toml"));
    for (task, cycles) in CYCLES {
        let us = (cycles * 1_000).div_ceil(705);
        let row = format!(
            "[tasks.{task}]\nwcet = {{ value = \"{us}us\", source = \"guess\" }}   # {cycles} cycles\n"
        );
        assert!(slow.text.contains(&row), "{row}");
    }
    assert_eq!(faults(&[one_core.clone(), slow.clone()]), [""; 0]);
    for order in [file("published.toml"), positions_last()] {
        let found = faults(&[one_core.clone(), slow.clone(), order]);
        for late in ["check-mega128", "link-fbw-send"] {
            let says = format!("TAUT0201 task `{late}` can miss its deadline");
            assert!(found.iter().any(|fault| fault.starts_with(&says)), "{found:?}");
        }
    }
}

/// A flow that is synchronous is a precedence, and priorities that break it are refused: the link after stabilization, and the climb
/// after the altitude.
#[test]
fn an_order_that_breaks_a_precedence_is_refused() {
    for (first, then) in [("stabilization", "link-fbw-send"), ("altitude-control", "climb-control")] {
        let text = format!("[tasks.{first}]\npriority = 40\n[tasks.{then}]\npriority = 41\n");
        let found = faults(&[SourceText { name: "order.toml".to_owned(), text }]);
        assert!(found.iter().any(|fault| fault.starts_with("TAUT0417")), "{found:?}");
    }
}
