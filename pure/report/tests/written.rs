// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The outputs, as text for a person to review. `TAUT_REPORT_DIR=DIR` also writes them as files.

mod recorded;

use recorded::{MS, PROCESSING, RECORDING, Script, plan, run};
use taut_plan::{ClassPlan, Evidence, OverheadPlan};
use taut_report::{About, Report};
use taut_time::Duration;

fn eventful() -> Report {
    let stalls =
        vec![(1_502 * MS + 300_000, 700_000), (3_999 * MS + 900_000, 9 * MS), (7_234 * MS + 100_000, 2 * MS)];
    Report::new(&plan(), &run(Script { stalls, ..Script::quiet() }))
}

fn broken() -> Report {
    let slow = vec![(PROCESSING, 400, 5_200_000), (RECORDING, 700, 900_000)];
    Report::new(&plan(), &run(Script { slow, ..Script::quiet() }))
}

fn show(name: &str, bytes: &[u8]) {
    if let Ok(folder) = std::env::var("TAUT_REPORT_DIR") {
        std::fs::write(std::path::Path::new(&folder).join(name), bytes)
            .expect("the folder should take files");
    }
}

#[test]
fn text() {
    let report = eventful();
    for width in [80, 100, 140] {
        let text = report.text(width, false);
        assert!(text.lines().all(|line| line.chars().count() <= width), "wider than {width}:\n{text}");
        assert!(!text.contains('\x1b'));
        insta::assert_snapshot!(format!("text_{width}"), text);
    }
    insta::assert_snapshot!("text_broken_100", broken().text(100, false));
    let killed = Report::new(&plan(), &run(Script { killed: true, releases: 100, ..Script::quiet() }));
    insta::assert_snapshot!("text_killed_80", killed.text(80, false));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let report = eventful();
    let coloured = report.text(100, true);
    show("text.ansi", coloured.as_bytes());
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').expect("every escape should be a colour").1;
    }
    plain.push_str(rest);
    // A space at a line's end may be inside a colour.
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, report.text(100, false).lines().collect::<Vec<_>>());
}

#[test]
fn json() {
    insta::assert_snapshot!("json_broken", broken().json());
    let text = eventful().json();
    show("report.json", text.as_bytes());
    insta::assert_snapshot!("json_machine", text);
}

#[test]
fn guesses_that_the_bounds_rest_on_are_said() {
    let mut guessed = plan();
    let ClassPlan::RealTime { wcet_source, .. } = &mut guessed.tasks[usize::from(PROCESSING)].class else {
        panic!("processing is real-time")
    };
    *wcet_source = Evidence::Guess;
    let overhead =
        |name: &str, source| OverheadPlan { name: name.into(), time: Duration::from_us(5), source };
    guessed.overheads =
        vec![overhead("release", Some(Evidence::Measured)), overhead("kernel-blocking", None)];
    let report = Report::new(&guessed, &run(Script::quiet()));
    let text: String = report.text(160, false).split_whitespace().collect::<Vec<_>>().join(" ");
    let says = "the bounds rest on guesses: execution times: 2 measured (in how many jobs is not \
                stated), 1 guess (processing); costs of the machine: release measured; kernel-blocking default";
    assert!(text.contains(says), "{text}");
    assert!(report.json().contains("\"guesses\": 2"), "{}", report.json());
    assert!(report.html(&ABOUT).contains("\"guesses\":2"));
    assert!(!Report::new(&plan(), &run(Script::quiet())).text(160, false).contains("guess"));
}

const ABOUT: About<'_> =
    About { generated: "2026-11-21 08:00:00 UTC", command: "taut run apps/cochlear --for 10s" };

#[test]
fn html_stands_alone() {
    let html = eventful().html(&ABOUT);
    show("report.html", html.as_bytes());
    show("broken.html", broken().html(&ABOUT).as_bytes());
    show("report.pftrace", &eventful().perfetto());
    assert!(html.len() < 300_000, "{} bytes", html.len());
    // The namespace of SVG is an address that is never loaded.
    let html_but_svg = html.replacen("http://www.w3.org/2000/svg", "", 1);
    for load in ["http:", "https:", " src=", "url(", "@import", "fetch(", "XMLHttpRequest", "<link"] {
        assert!(!html_but_svg.contains(load), "loads by {load}");
    }
    assert!(html.contains("default-src 'none'"));
    assert_eq!(html.matches("</script").count(), 2, "the data and the code");
}

#[test]
fn html_is_safe_against_names() {
    let mut plan = plan();
    let evil = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>&\u{2028}";
    plan.app = evil.to_owned();
    plan.description = evil.to_owned();
    plan.tasks[0].name = evil.to_owned();
    plan.channels[0].reason = evil.to_owned();
    let report = Report::new(&plan, &run(Script { releases: 5, ..Script::quiet() }));
    let html = report.html(&About { generated: evil, command: evil });
    show("evil.html", html.as_bytes());
    assert_eq!(html.matches("</script").count(), 2);
    assert!(!html.contains("<img") && !html.contains("<!--"));
    assert_eq!(html.matches("<script").count(), 2);
}
