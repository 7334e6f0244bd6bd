// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The application and its screen as processes that are started, stopped and killed.
//!
//! Without the privilege for real-time scheduling the application runs degraded: then the tests do not judge its
//! timing, but everything else.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

mod clients;
mod support;
mod tone;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use support::{Chance, Place, Process, names};
use taut_event::{Ending, Kind, Record};
use taut_report::{Breach, Cause, Report, RunVerdict};
use tone::Tone;

/// This binary as a client's process: see [`clients`].
#[test]
fn role() {
    match std::env::var(support::ROLE).as_deref() {
        Ok("volume") => clients::change_volume(),
        Ok("writer") => clients::write_for_ever(),
        Ok(other) => panic!("no role {other}"),
        Err(_) => println!("no test: for processes that tests start"),
    }
}

/// A line of `cochlear-ui --headless`.
fn line(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn says(connection: &str) -> impl Fn(&str) -> bool {
    move |text| line(text).is_some_and(|line| line["connection"] == connection)
}

/// How many frames were sent before this screen attached, as its line tells: those of its telemetry that it neither
/// received nor lost. `None` before its first telemetry.
fn before_attached(line: &Value) -> Option<u64> {
    let of = |name: &str| line["telemetry"][name].as_u64().unwrap();
    (of("frames") > 0)
        .then(|| of("newest").checked_sub(of("frames") + of("lost")).expect("more than was sent"))
}

fn peaks(line: &Value) -> Vec<u8> {
    let levels = line["levels"].as_array().unwrap();
    levels.iter().map(|level| u8::try_from(level.as_u64().unwrap()).unwrap()).collect()
}

/// A place with a running application that processes the tone, once the whole tone is heard.
fn hearing(out: &str) -> (Place, Process) {
    let place = Place::new();
    tone::write(&place.path("tone.wav"));
    let application = hear(&place, out);
    (place, application)
}

fn hear(place: &Place, out: &str) -> Process {
    let application = place.application(out, &["--wav", place.path("tone.wav").to_str().unwrap()]);
    let tone = Tone::new();
    let heard = |text: &str| {
        line(text).is_some_and(|line| {
            line["connection"] == "attached" && tone.volume_of_peaks(&peaks(&line)).is_some()
        })
    };
    place.screen(&[]).until(heard);
    application
}

/// Responses that one stop of a processor can make late: those of the three tasks in two periods, and what follows.
const LATE_MAX: usize = 8;
/// How many runs are made if the first is late; all others must be in time.
const RUNS: usize = 3;

/// A machine whose probe saw it stand still for this part of a run cannot show that the run was in time.
const STOOD_STILL: u64 = 100;

/// A run that was late.
#[derive(Clone)]
struct Late {
    breaches: Vec<Breach>,
    /// Whether the machine stood still for too much of it.
    stood_still: bool,
}

/// Runs a scenario, which must be in time. Now and then a host stops a processor where no probe looks, and makes a
/// run late. So one late run is excused if it shows no more than one such stop, and if all others of [`RUNS`] are in
/// time. If the probe saw the machine stand still for a part of the run, as [`STOOD_STILL`] says, this is skipped.
fn in_time(play: impl Fn() -> Option<Report>) {
    let late = |report: Report| {
        println!("late:\n{}", report.text(120, false));
        let breaches = match report.verdict() {
            RunVerdict::Broken(breaches) => breaches.clone(),
            _ => Vec::new(),
        };
        let stood_ns = report.probes().iter().map(|probe| probe.total_ns).max().unwrap_or(0);
        Late { breaches, stood_still: stood_ns.saturating_mul(STOOD_STILL) >= report.judged() }
    };
    match judged(|| play().map(late)) {
        Ok(true) => {}
        Ok(false) => {
            println!("skipped: the check of deadlines: the machine stood still for 1 % of a run or more");
        }
        Err(why) => panic!("{why}"),
    }
}

/// Whether successive runs show that the scenario is in time; `false` if the machine stood still too much to tell.
///
/// # Errors
/// What is not excused.
fn judged(mut play: impl FnMut() -> Option<Late>) -> Result<bool, String> {
    let mut is_late = false;
    for _ in 0..RUNS {
        match play() {
            None if is_late => {}
            None => return Ok(true),
            Some(late) if is_one_stop(&late)? && is_late => {
                return Err(format!("two runs were late, the second by {:?}", late.breaches));
            }
            Some(late) if late.stood_still => return Ok(false),
            Some(_) => is_late = true,
        }
    }
    Ok(true)
}

/// Whether one stop of a processor explains that a run was late; `false` if the machine stood still too often to tell.
fn is_one_stop(late: &Late) -> Result<bool, String> {
    let by_a_stop = |breach: &Breach| match breach {
        Breach::Response { cause, .. } => *cause != Cause::NotProven,
        Breach::Latency { .. } | Breach::Age { .. } | Breach::Reaction { .. } => true,
        _ => false,
    };
    if let Some(other) = late.breaches.iter().find(|breach| !by_a_stop(breach)) {
        return Err(format!("no stop of a processor does this: {other:?}"));
    }
    if late.breaches.len() > LATE_MAX && !late.stood_still {
        return Err(format!("{} were late, which is more than one stop: {LATE_MAX}", late.breaches.len()));
    }
    Ok(!late.stood_still)
}

/// The excuse has limits: one run, one stop, and nothing that a stop does not cause.
#[test]
fn only_one_stop_of_the_machine_is_excused() {
    let response = |cause| Breach::Response {
        task: "processing".into(),
        job: 1,
        at_ns: 2,
        response_ns: 3,
        limit_ns: 2,
        missed: false,
        unfinished: false,
        stolen_ns: 0,
        cause,
    };
    let by = |breach: Breach, stood_still| Some(Late { breaches: vec![breach], stood_still });
    let late =
        |count: usize| Some(Late { breaches: vec![response(Cause::Unknown); count], stood_still: false });
    let of = |runs: &[Option<Late>]| {
        let mut runs = runs.iter().cloned();
        judged(|| runs.next().expect("no more runs than that"))
    };
    assert_eq!(of(&[None]), Ok(true));
    assert_eq!(of(&[late(LATE_MAX), None, None]), Ok(true));
    assert!(of(&[late(LATE_MAX + 1)]).is_err(), "more than a stop");
    assert!(of(&[late(1), None, late(1)]).is_err(), "now and then is not once");
    assert!(of(&[late(1), late(1)]).is_err());
    for stood_still in [false, true] {
        assert!(of(&[by(response(Cause::NotProven), stood_still)]).is_err(), "no bound");
        let lost = Breach::Lost { task: "output".into(), records: 1 };
        assert!(of(&[by(lost, stood_still)]).is_err(), "records lost");
        assert!(of(&[by(Breach::Nothing, stood_still)]).is_err());
    }
    let stood_still: Option<Late> = late(LATE_MAX + 1).map(|late| Late { stood_still: true, ..late });
    assert_eq!(of(std::slice::from_ref(&stood_still)), Ok(false), "the machine was not there");
    assert_eq!(of(&[late(1), stood_still]), Ok(false), "it was not there the second time");
}

/// Checks that every release happened and nothing was dropped. Returns the report if the run was real-time and late.
fn kept(place: &Place, out: &str) -> Option<Report> {
    let (run, report) = place.recorded(out);
    let at = |kind| run.records.iter().find(|record| record.kind == kind).unwrap().at.as_ns();
    for (task, offset_ns) in [(0, 0), (1, 2_000_000)] {
        let due = |job: u64| at(Kind::Begin) + offset_ns + job * 8_000_000;
        let released =
            |record: &&Record| record.subject == task && [Kind::Release, Kind::Skip].contains(&record.kind);
        let mut releases: Vec<_> =
            run.records.iter().filter(released).map(|record| (record.job, record.at.as_ns())).collect();
        releases.sort_unstable();
        let expected: Vec<_> = (0..releases.len() as u64).map(|job| (job, due(job))).collect();
        assert_eq!(releases, expected, "task {task}");
        // The main thread, which is not real-time, asks the threads to end some time before it records the end.
        let unseen_ns = at(Kind::End).saturating_sub(due(releases.len() as u64));
        assert!(unseen_ns < 1_000_000_000, "task {task}: no release in the last {unseen_ns} ns");
    }
    let (processing, output) = (&report.tasks()[1], &report.tasks()[2]);
    // The end may come between a frame's computation and its output; an output that is not real-time may lag.
    let real_time = !run.machine.contains("lost-");
    if !real_time {
        println!("skipped: the check of deadlines: the run was not real-time");
    }
    let underway = processing.completions - output.completions;
    assert!(underway <= if real_time { 1 } else { 8 }, "{underway} frames did not reach the electrodes");
    let telemetry = |name: &str| name == "telemetry";
    for channel in report.channels().iter().filter(|channel| !telemetry(&channel.name)) {
        assert_eq!(channel.dropped, 0, "{}", channel.name);
    }
    let sent = report.channels().iter().find(|channel| telemetry(&channel.name)).unwrap().sent;
    logged(&std::fs::read_to_string(place.path(out).join("telemetry.csv")).unwrap(), sent);
    (real_time && !report.verdict().holds()).then_some(report)
}

/// Checks the logger's table: each of the `sent` frames has a line, in order, or is counted as lost.
fn logged(table: &str, sent: u64) {
    let lines: Vec<&str> = table.lines().collect();
    let [head, rows @ .., foot] = lines.as_slice() else { panic!("{table}") };
    assert_eq!(*head, "frame,loudest,pulses");
    let lost: u64 = foot.strip_prefix("# ").unwrap().strip_suffix(" lost").unwrap().parse().unwrap();
    let frames: Vec<u64> = rows.iter().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(frames.is_sorted_by(|one, next| one < next), "{frames:?}");
    let newest = frames.last().map_or(0, |frame| frame + 1);
    assert_eq!(frames.len() as u64 + lost, newest, "neither logged nor counted");
    // The logger may stop a little before the others do.
    assert!(newest <= sent && sent - newest <= 125, "{newest} of {sent} frames");
}

#[test]
fn volume_is_heard_within_two_frames() {
    in_time(volume);
}

fn volume() -> Option<Report> {
    let (place, mut application) = hearing("out");
    let mut client = place.client("volume");
    let status = client.end();
    println!("{}", client.seen.join("\n"));
    assert!(status.success(), "{}", client.seen.join("\n"));
    application.stop();
    kept(&place, "out")
}

/// The screen, and a client that only writes and reads, are killed at any instruction.
#[test]
fn clients_die_a_hundred_times() {
    in_time(deaths);
}

fn deaths() -> Option<Report> {
    let tone = Tone::new();
    let mut chance = Chance(0x7461_7574);
    let ours = |name: &String| name.starts_with("taut") && !name.starts_with("taut-");
    let shared = || names(Path::new("/dev/shm")).into_iter().filter(ours).collect::<Vec<_>>();
    let before = shared();
    let (place, mut application) = hearing("out");
    let holdings = settled(&application);
    let (mut frames, mut written) = (0, 0);
    for round in 0..100 {
        if round % 2 == 0 {
            let mut screen = place.screen(&["--volume", "0.5"]);
            screen.until(says("attached"));
            std::thread::sleep(chance.below(Duration::from_millis(20)));
            assert_eq!(screen.kill().signal(), Some(libc::SIGKILL), "{}", screen.seen.join("\n"));
            let (mut last, mut before) = (None, None);
            for line in screen.seen.iter().filter_map(|text| line(text)) {
                let frame = line["frame"].as_u64();
                if line["connection"] == "attached" && frame.is_some() {
                    assert!(frame > last, "{line}");
                    assert!(tone.volume_of_peaks(&peaks(&line)).is_some(), "no frame of the tone: {line}");
                    (last, frames) = (frame, frames + 1);
                    // Whatever came between: each frame was received, or counted as lost.
                    assert_eq!(before.or(before_attached(&line)), before_attached(&line), "{line}");
                    before = before_attached(&line);
                }
            }
        } else {
            let mut client = place.client("writer");
            // After the test harness's text on the same line.
            client.until(|line| line.ends_with("writing"));
            std::thread::sleep(chance.below(Duration::from_millis(20)));
            assert_eq!(client.kill().signal(), Some(libc::SIGKILL), "{}", client.seen.join("\n"));
            written += 1;
        }
    }
    println!("{frames} frames seen by screens; {written} writers killed");
    assert!(frames >= 50, "{frames} frames");

    // A last screen finds everything as before, and no trace of the others.
    let mut screen = place.screen(&["--volume", "0.25"]);
    let quiet = |text: &str| {
        line(text).is_some_and(|line| {
            line["connection"] == "attached" && tone.volume_of_peaks(&peaks(&line)) == Some(0.25)
        })
    };
    screen.until(quiet);
    assert_eq!(place.sockets(), ["cochlear.sock"]);
    screen.kill();
    assert_eq!(settled(&application), holdings);
    application.stop();
    assert_eq!(place.sockets(), [""; 0]);
    assert_eq!(shared(), before);
    kept(&place, "out")
}

/// What an application holds that has no client. Its listener's thread needs a while to notice that the last client
/// is gone, so the least of several looks counts.
fn settled(application: &Process) -> (usize, usize) {
    let looks = (0..50).map(|_| {
        std::thread::sleep(Duration::from_millis(4));
        application.holdings()
    });
    looks.min().unwrap()
}

#[test]
fn the_screen_outlives_an_application_that_dies_and_one_that_ends() {
    in_time(outlives);
}

fn outlives() -> Option<Report> {
    let (place, mut first) = hearing("first");
    let tone = Tone::new();
    let half = |text: &str| {
        line(text).is_some_and(|line| {
            line["connection"] == "attached" && tone.volume_of_peaks(&peaks(&line)) == Some(0.5)
        })
    };
    let mut screen = place.screen(&["--volume", "0.5"]);
    screen.until(half);
    assert_eq!(first.kill().signal(), Some(libc::SIGKILL));
    assert_eq!(line(&screen.until(says("died"))).unwrap()["levels"], Value::from(vec![0; 22]));
    assert_eq!(place.sockets(), ["cochlear.sock"], "what a dead application leaves");

    let mut second = place.application("second", &["--wav", place.path("tone.wav").to_str().unwrap()]);
    assert!(second.seen.iter().any(|line| line.starts_with("note: removed")), "{:?}", second.seen);
    // The screen passes the settings on again, without the wearer.
    screen.until(half);
    second.stop();
    screen.until(says("ended"));
    assert_eq!(place.sockets(), [""; 0]);
    let mut third = hear_beside(&place);
    screen.until(half);
    third.stop();

    // What the first had recorded can still be read.
    let (run, _) = place.recorded("first");
    assert!(run.records.iter().all(|record| record.kind != Kind::End));
    kept(&place, "second")
}

fn hear_beside(place: &Place) -> Process {
    place.application("third", &["--wav", place.path("tone.wav").to_str().unwrap()])
}

/// A screen that is stopped for longer than the queue of telemetry lasts knows afterwards how many frames it missed; the
/// application notices nothing.
#[test]
fn a_screen_that_stands_still_counts_what_it_lost() {
    in_time(stands_still);
}

fn stands_still() -> Option<Report> {
    let (place, mut application) = hearing("out");
    let mut screen = place.screen(&[]);
    let heard = screen.until(|text| line(text).is_some_and(|line| before_attached(&line).is_some()));
    let before = before_attached(&line(&heard).unwrap());
    screen.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(1));
    screen.signal(libc::SIGCONT);
    let lost = |line: &Value| line["telemetry"]["lost"].as_u64().unwrap();
    let late = screen.until(|text| line(text).is_some_and(|line| lost(&line) > 0));
    let late = line(&late).unwrap();
    println!("{late}");
    // The queue holds 64 frames of the 125 of a second.
    assert!(lost(&late) >= 50, "{late}");
    assert_eq!(before_attached(&late), before, "{late}");
    screen.kill();
    application.stop();
    kept(&place, "out")
}

#[test]
fn a_second_screen_waits_for_the_first_to_leave() {
    let (place, mut application) = hearing("out");
    let mut first = place.screen(&[]);
    first.until(says("attached"));
    let mut second = place.screen(&[]);
    second.until(says("taken"));
    first.kill();
    second.until(says("attached"));
    second.kill();
    application.stop();
}

#[test]
fn a_second_application_is_refused() {
    let (place, mut first) = hearing("first");
    let mut second = Process::start(&mut place.application_command("second", &[]));
    let status = second.end();
    assert_eq!(status.code(), Some(6));
    let said = second.seen.join("\n");
    assert!(said.contains("TAUT0603") && said.contains("has the same name"), "{said}");
    first.stop();
}

#[test]
fn signals_end_the_application_in_order() {
    let place = Place::new();
    for (signal, out) in [(libc::SIGTERM, "term"), (libc::SIGINT, "int")] {
        let mut application = place.application(out, &[]);
        std::thread::sleep(Duration::from_millis(300));
        application.signal(signal);
        assert_eq!(application.end().code(), Some(0), "{}", application.seen.join("\n"));
        let (run, _) = place.recorded(out);
        let end = run.records.iter().find(|record| record.kind == Kind::End).unwrap();
        assert_eq!(Ending::from_record(end), u32::try_from(signal).ok().map(Ending::Signal));
        assert_eq!(
            names(&place.path(out)),
            ["electrodogram.svg", "run.taut", "telemetry.csv", "vocoded.wav"]
        );
        let picture = std::fs::read_to_string(place.path(out).join("electrodogram.svg")).unwrap();
        assert!(picture.trim_end().ends_with("</svg>"));
        assert!(taut_cochlear::speech::Speech::open(place.path(out).join("vocoded.wav")).is_ok());
    }
}

#[test]
fn sounds_of_another_kind_are_refused_before_anything_runs() {
    let place = Place::new();
    let wav = |name: &str, channels, sample_rate, bits_per_sample| {
        let sample_format = hound::SampleFormat::Int;
        let spec = hound::WavSpec { channels, sample_rate, bits_per_sample, sample_format };
        let mut writer = hound::WavWriter::create(place.path(name), spec).unwrap();
        (0..64 * i32::from(channels)).for_each(|_| writer.write_sample(0).unwrap());
        writer.finalize().unwrap();
    };
    wav("fast.wav", 1, 44_100, 16);
    wav("stereo.wav", 2, 16_000, 16);
    wav("coarse.wav", 1, 16_000, 8);
    std::fs::write(place.path("none.wav"), "no sound").unwrap();
    for (name, why) in [
        ("fast.wav", "44100"),
        ("stereo.wav", "2 channels"),
        ("coarse.wav", "8"),
        ("none.wav", "none.wav"),
        ("missing.wav", "missing.wav"),
    ] {
        let path = place.path(name);
        let arguments = ["--wav", path.to_str().unwrap()];
        let mut application = Process::start(&mut place.application_command("out", &arguments));
        assert_eq!(application.end().code(), Some(2), "{name}");
        let said = application.seen.join("\n");
        assert!(said.starts_with("error: ") && said.contains(why), "{name}: {said}");
        assert!(!place.path("out").exists() && place.sockets().is_empty());
    }
}
