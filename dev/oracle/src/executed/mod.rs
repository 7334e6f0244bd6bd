// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Analysed = simulated = executed. Draws random sets that an analysis accepts with the overheads that were measured
//! on this machine in the same run; executes them on threads; and replays the records in the simulator.
//!
//! Each set contains what its kind is about: a resource of several tasks, or of several cores. Where cores share
//! resources, the campaign draws several accepted sets and takes the set whose jobs wait most for another core. Half
//! of the sets begin with all their tasks at once.
//!
//! A set fails if the recorded events are not those of the simulation, if a job is lost, if two jobs are in a section
//! at once, or if a response is above its bound by more than the observed stalls of the machine explain
//! ([`silence`]). A set that does not end has lost a wake-up.

mod charge;
mod evidence;
mod judge;
mod kind;
mod load;
mod measured;
mod others;
mod probe;
mod silence;
mod threads;

use std::path::Path;
use std::time::{Duration as Wall, Instant};

use serde::{Deserialize, Serialize};
use taut_event::Kind as Event;
use taut_exec::Enforcement;
use taut_model::TaskSet;
use taut_sim::replay::{Names, Replay};
use taut_sys::{clock, machine, memory, thread};
use taut_time::Duration;

use self::charge::Overheads;
use self::evidence::Evidence;
use self::judge::Judged;
use self::kind::{KINDS, Kind, Proven};
use self::load::{Load, Watchdog};
use self::others::Others;
use self::silence::Stall;
use self::threads::{Fault, Ran, Requirements};
use crate::draw::Draw;

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<'a> {
    /// How many schedulable sets to execute.
    pub(crate) sets: u64,
    /// The seed of the first set; each next set has the next seed.
    pub(crate) seed: u64,
    /// When to stop, even before all sets are done.
    pub(crate) limit: Option<Wall>,
    /// How long each set runs.
    pub(crate) time: Wall,
    /// How many ordinary threads keep the machine busy.
    pub(crate) load: usize,
    /// The file with the results so far; the run continues from it and writes to it.
    pub(crate) state: Option<&'a Path>,
    /// A deliberate mistake.
    pub(crate) canary: Option<&'a str>,
}

/// The deliberate mistakes.
pub(crate) const CANARIES: [&str; 3] = ["bounds", "ceilings", "exclusion"];

/// The results of one kind over all sets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Row {
    sets: u64,
    jobs: u64,
    events: u64,
    /// How often a job waited for a resource that another job held.
    #[serde(default)]
    waits: u64,
    /// Sets whose events equal those of the simulation.
    equal: u64,
    /// Sets that ran beside real-time threads of other processes.
    disturbed: u64,
    kept: u64,
    excused: u64,
    exceeded: u64,
    /// Sections in which two jobs were at once.
    beside: u64,
    /// Jobs that were released and did not complete.
    lost: u64,
    nearest: u64,
}

impl Row {
    /// Adds a set that ran; `events` is the number of its events that were compared with the simulation.
    fn add(&mut self, ran: &Ran, events: u64, judged: &Judged) {
        self.sets += 1;
        self.jobs += ran.completed;
        self.events += events;
        let waits = |record: &&taut_event::Record| matches!(record.kind, Event::Spin | Event::Suspend);
        self.waits += ran.records.iter().filter(waits).count() as u64;
        self.kept += judged.kept;
        self.excused += judged.excused;
        self.exceeded += judged.exceeded.len() as u64;
        self.beside += ran.beside;
        self.lost += ran.lost();
        self.nearest = self.nearest.max(judged.nearest);
    }
}

/// All results, and where to continue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Found {
    next_seed: u64,
    seconds: f64,
    /// Seeds that gave no schedulable set.
    refused: u64,
    /// Sets that did not end.
    stuck: u64,
    rows: Vec<Row>,
    reported: Vec<String>,
}

/// How many seeds the campaign tries for each set that the command line asks for.
const DRAWN_EACH: u64 = 30;
/// How a run of the campaign ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It executed sets; true if nothing failed or, with a canary, if the campaign caught the mistake.
    Ran(bool),
    /// It executed nothing: this user may not create real-time threads.
    NotExecuted,
}

impl End {
    /// The end of two runs.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Ran(one), Self::Ran(other)) => Self::Ran(one & other),
            _ => Self::NotExecuted,
        }
    }
}

/// What went wrong with a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The events differ from those of the simulation.
    NotAsSimulated,
    /// Jobs did not complete, or locks were refused.
    Lost,
    /// Two jobs were in a section at once.
    Beside,
    /// A response was above its bound.
    Exceeded,
}

/// A failure, and its description.
type Failure = (What, String);

/// The most responses above their bound that stalls of the machine may excuse, in thousandths of all judged
/// responses. On a virtual machine with two processors, stalls excused 16 of 26,508. With more than this limit, the
/// machine hardly runs, and a comparison with the bounds says nothing.
const EXCUSED_MAX: u64 = 20;
/// The most sets that may run beside real-time threads of other processes, in hundredths. Such a set is judged by its
/// decisions alone.
const DISTURBED_MAX: u64 = 50;
/// The fewest sets that must be schedulable on this machine, in hundredths of the sets asked for.
const EXECUTED_MIN: u64 = 50;

/// How many failures the campaign prints; it only counts the rest.
const PRINTED_MAX: usize = 40;
/// How many of the printed failures may come from one set.
const PRINTED_MAX_OF_SET: usize = 2;

/// Runs the campaign and prints the results.
pub(crate) fn run(settings: &Settings<'_>) -> Result<End, String> {
    let begin = Instant::now();
    if let Err(why) = may_be_real_time()? {
        println!("skipped: nothing was executed: {why}\n  to get it: run as root, or with CAP_SYS_NICE");
        return Ok(End::NotExecuted);
    }
    // As in a run of an application.
    let _ = memory::lock_all();
    let _awake = machine::dma_latency_hold();
    let mut cpus = thread::affinity().map_err(|error| error.to_string())?;
    cpus.truncate(2);
    let cores = cpus.len();
    let add = measured::overheads(cores)?;
    print_circumstances(cores, &add);
    let mut found = settings.state.map(read).transpose()?.flatten().unwrap_or_default();
    found.next_seed = found.next_seed.max(settings.seed);
    found.rows.resize(KINDS.len(), Row::default());
    let before = found.seconds;
    let load = Load::new(&cpus, settings.load);
    let (watchdog, others) = (Watchdog::new(), Others::new());
    let mut campaign = Campaign { settings, add, load, watchdog, others, found, executed: 0, caught: false };
    // A limit on the seeds: a machine may add so much overhead that hardly any set is schedulable.
    for _ in 0..settings.sets.saturating_mul(DRAWN_EACH) {
        let is_late = settings.limit.is_some_and(|limit| begin.elapsed() >= limit);
        if campaign.executed >= settings.sets || campaign.caught || is_late {
            break;
        }
        if campaign.next(cores)? {
            campaign.found.seconds = before + begin.elapsed().as_secs_f64();
            keep(settings, &campaign.found)?;
        }
    }
    Ok(End::Ran(campaign.concluded()))
}

/// Prints the overheads that were measured on this machine, and the kinds that the machine cannot run.
fn print_circumstances(cores: usize, add: &Overheads) {
    let missing: Vec<&str> = KINDS.iter().filter(|kind| kind.cores() > cores).map(|kind| kind.name).collect();
    if !missing.is_empty() {
        println!("skipped: no second processor for {}", missing.join("; "));
    }
    println!(
        "overheads: release {}, kernel {}, context switch {}, lock {}, look at the clock {}, dispatcher {}, probe {}",
        time(add.release_ns),
        time(add.kernel_ns),
        time(add.switch_ns),
        time(add.lock_ns),
        time(add.read_ns),
        time(add.visit_ns),
        time(add.look_ns)
    );
}

/// The campaign while it runs.
struct Campaign<'s> {
    settings: &'s Settings<'s>,
    add: Overheads,
    load: Load,
    watchdog: Watchdog,
    others: Others,
    found: Found,
    /// How many sets were executed in this run.
    executed: u64,
    /// Whether the deliberate mistake was found.
    caught: bool,
}

impl Campaign<'_> {
    /// Draws a set from the next seed, and executes it if it is schedulable. Returns whether this campaign uses the
    /// kind of set that the seed selects.
    fn next(&mut self, cores: usize) -> Result<bool, String> {
        let seed = self.found.next_seed;
        self.found.next_seed += 1;
        let at = (seed % KINDS.len() as u64) as usize;
        let kind = &KINDS[at];
        if kind.cores() > cores || !concerns(self.settings.canary, kind) {
            return Ok(false);
        }
        let mut draw = Draw::new(seed);
        match kind.proven(&mut draw, &self.add).map_err(|why| format!("seed {seed}: {why}"))? {
            None => self.found.refused += 1,
            Some(proven) => self.execute(seed, at, proven, &mut draw)?,
        }
        Ok(true)
    }

    /// Executes a set of the kind at a position, and keeps its failures.
    fn execute(&mut self, seed: u64, at: usize, mut proven: Proven, draw: &mut Draw) -> Result<(), String> {
        if self.settings.canary == Some("bounds") {
            let half = |bound: &mut Duration| *bound = Duration::from_ns(bound.as_ns() / 2);
            proven.bounds.iter_mut().for_each(half);
        }
        self.executed += 1;
        // The set counts as stuck, in the file too, until it ends.
        self.found.stuck += 1;
        keep(self.settings, &self.found)?;
        self.watchdog.begins(seed, self.settings.time);
        let failed = self.one(seed, at, &proven, draw);
        self.watchdog.ended();
        self.found.stuck -= 1;
        let name = KINDS[at].name;
        let failed = failed.map_err(|why| format!("seed {seed}, {name}: {why}"))?;
        self.caught = self.settings.canary.is_some_and(|canary| is_caught(canary, &failed));
        let more = failed.len().saturating_sub(PRINTED_MAX_OF_SET);
        let more = (more > 0).then(|| format!("and {more} more"));
        let reported = failed.into_iter().map(|(_, text)| text).take(PRINTED_MAX_OF_SET).chain(more);
        let reported = reported.map(|what| format!("seed {seed}, {name}: {what}"));
        let room = PRINTED_MAX.saturating_sub(self.found.reported.len());
        self.found.reported.extend(reported.take(room));
        Ok(())
    }

    /// Executes a set; describes each failure.
    fn one(
        &mut self,
        seed: u64,
        at: usize,
        proven: &Proven,
        draw: &mut Draw,
    ) -> Result<Vec<Failure>, String> {
        let (kind, row) = (&KINDS[at], &mut self.found.rows[at]);
        let fault = match self.settings.canary {
            Some("ceilings") => Fault::Split,
            Some("exclusion") => Fault::Unlocked,
            _ => Fault::None,
        };
        let requirements = Requirements { time: self.settings.time, fault };
        let begin_ns = clock::monotonic_ns();
        let ran = threads::run(&proven.set, &proven.rules, requirements, &self.load, draw)?;
        if ran.enforcement != Enforcement::Strict {
            return Err(format!("it ran {}", ran.enforcement));
        }
        let mut failed = Vec::new();
        // 1. The recorded decisions equal the simulated ones.
        let (events, difference) = compared(proven, &ran)?;
        row.equal += u64::from(difference.is_none());
        failed.extend(difference.map(|text| (What::NotAsSimulated, text)));
        // 2. No job was lost, and no two jobs were in a section at once.
        for (count, what, text) in [
            (ran.lost(), What::Lost, "jobs were lost"),
            (ran.beside, What::Beside, "sections overlapped"),
            (ran.refused, What::Lost, "locks were refused"),
        ] {
            if count > 0 {
                failed.push((what, format!("{count} {text}")));
            }
        }
        // 3. Responses stay within their bounds.
        let stalls = stalls(&proven.set, &ran, &self.add);
        let mut judged = judge::judge(proven, &ran.records, &stalls, kind.has_global());
        // While real-time threads of other processes run, no bound holds, so none is judged.
        if self.others.since(begin_ns) || (!judged.exceeded.is_empty() && self.others.about(begin_ns)) {
            judged = Judged::default();
            row.disturbed += 1;
        }
        if let Some(state) = self.settings.state.filter(|_| !judged.exceeded.is_empty()) {
            let evidence = Evidence { proven, records: &ran.records, signs: &ran.signs, stalls: &stalls };
            let path = evidence.write(state, seed)?;
            failed.push((What::Exceeded, format!("the evidence is in {}", path.display())));
        }
        row.add(&ran, events, &judged);
        failed.extend(judged.exceeded.into_iter().map(|text| (What::Exceeded, text)));
        Ok(failed)
    }

    /// Prints the results; returns whether nothing failed or, with a canary, whether the mistake was caught.
    fn concluded(&self) -> bool {
        let whole = print(&self.found);
        if let Some(name) = self.settings.canary {
            println!("{name}, a deliberate error, was {}", if self.caught { "caught" } else { "NOT caught" });
            return self.caught;
        }
        // With a time limit, any number of sets is enough.
        let asked = if self.settings.limit.is_some() { 0 } else { self.settings.sets };
        let wants = wants(&self.found.rows, self.executed, asked);
        for want in &wants {
            println!("{want}");
        }
        if self.found.rows.iter().any(|row| row.disturbed > 0) {
            println!("real-time threads of other processes that ran: {}", self.others.names().join(", "));
        }
        whole && wants.is_empty()
    }
}

/// Whether this user may create real-time threads; if not, the reason. An attempt that fails for another reason is an
/// error.
fn may_be_real_time() -> Result<Result<(), taut_sys::Error>, String> {
    let tried = std::thread::Builder::new().spawn(|| thread::set_fifo(1));
    let tried = tried.map_err(|error| format!("cannot start a thread: {error}"))?.join();
    match tried.map_err(|_| "a thread panicked")? {
        Err(error) if error.is_privilege() => Ok(Err(error)),
        other => other.map(Ok).map_err(|error| error.to_string()),
    }
}

/// Why the results are too few to conclude anything, in words; empty if they suffice.
fn wants(rows: &[Row], executed: u64, asked: u64) -> Vec<String> {
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
    let (sets, disturbed) = (sum(|row| row.sets), sum(|row| row.disturbed));
    let (kept, excused) = (sum(|row| row.kept), sum(|row| row.excused));
    let judged = kept + excused + sum(|row| row.exceeded);
    let mut wants = Vec::new();
    if executed * 100 < asked * EXECUTED_MIN {
        wants.push(format!(
            "too few sets: {executed} of {asked} were executed, and at least {EXECUTED_MIN} % are needed"
        ));
    }
    if disturbed * 100 > sets * DISTURBED_MAX {
        wants.push(format!(
            "too few undisturbed sets: {disturbed} of {sets} ran beside real-time threads of other \
             processes, and the limit is {DISTURBED_MAX} %"
        ));
    }
    if kept == 0 || excused * 1000 > judged * EXCUSED_MAX {
        wants.push(format!(
            "too many stalls: they put {excused} of {judged} responses above their bounds, and the limit is \
             {} %",
            EXCUSED_MAX / 10
        ));
    }
    wants
}

/// Whether one of the checks that must find this canary found it.
fn is_caught(canary: &str, failed: &[Failure]) -> bool {
    let finds: &[What] = match canary {
        "bounds" => &[What::Exceeded],
        // The simulation keeps the ceilings, so it decides differently. Or two jobs were in a section at once.
        "ceilings" => &[What::NotAsSimulated, What::Beside],
        _ => &[What::Beside],
    };
    failed.iter().any(|(what, _)| finds.contains(what))
}

fn concerns(canary: Option<&str>, kind: &Kind) -> bool {
    match canary {
        Some("ceilings") => kind.has_local(),
        Some("exclusion") => kind.has_global(),
        _ => true,
    }
}

/// Replays a run in the simulator. Returns how many events it has, and how it differs, in words.
fn compared(Proven { set, rules, .. }: &Proven, ran: &Ran) -> Result<(u64, Option<String>), String> {
    let slack = Duration::from_ms(100);
    let replay = Replay::new(set, rules).slack(slack).patience(Duration::from_s(1));
    let replayed = replay.run(&ran.records, &mut ()).map_err(|flaw| flaw.to_string())?;
    let jobs: u64 = replayed.cores.iter().map(|core| core.jobs).sum();
    let dispatched = ran.records.iter().any(|record| record.kind == Event::Complete);
    let is_equal =
        replayed.is_equal() && replayed.pending.is_empty() && (jobs == ran.completed || !dispatched);
    let text = match &replayed.difference {
        _ if is_equal => None,
        Some(difference) => {
            let tasks: Vec<String> = set.tasks().iter().map(|task| task.name.clone()).collect();
            let resources: Vec<String> =
                set.resources().iter().map(|resource| resource.name.clone()).collect();
            let names = Names { tasks: &tasks, resources: &resources, begin: ran.records[0].at };
            Some(format!("the recording differs from the simulation:\n{}", difference.table(&names)))
        }
        None => Some(format!(
            "{jobs} of {} jobs were compared: {:?} {:?}",
            ran.completed, replayed.cores, replayed.pending
        )),
    };
    Ok((replayed.events(), text))
}

/// The stalls of each core in a run.
fn stalls(set: &TaskSet, ran: &Ran, add: &Overheads) -> Vec<Vec<Stall>> {
    let records = &ran.records[1..];
    let of_core = |(core, signs): (usize, &Vec<_>)| {
        let here = |record: &&taut_event::Record| {
            set.tasks().get(usize::from(record.subject)).is_some_and(|task| task.core == core)
        };
        let handed = silence::handed(records, |record| here(&record));
        silence::stalls(records.iter().filter(here), signs, &handed, add)
    };
    ran.signs.iter().enumerate().map(of_core).collect()
}

/// Prints the table and the failures; returns whether there are none.
fn print(found: &Found) -> bool {
    println!(
        "{:<24} {:>6} {:>8} {:>9} {:>7} {:>6} {:>9} {:>9} {:>7} {:>8} {:>8}",
        "executed",
        "sets",
        "jobs",
        "events",
        "waits",
        "equal",
        "disturbed",
        "in bound",
        "excused",
        "exceeded",
        "nearest"
    );
    let mut all = Row::default();
    for (kind, row) in KINDS.iter().zip(&found.rows).filter(|(_, row)| row.sets > 0) {
        line(kind.name, row);
        all.sets += row.sets;
        all.jobs += row.jobs;
        all.events += row.events;
        all.waits += row.waits;
        all.equal += row.equal;
        all.disturbed += row.disturbed;
        all.kept += row.kept;
        all.excused += row.excused;
        all.exceeded += row.exceeded;
        all.beside += row.beside;
        all.lost += row.lost;
        all.nearest = all.nearest.max(row.nearest);
    }
    line("all", &all);
    for line in &found.reported {
        println!("{line}");
    }
    println!(
        "{} sets, {:.1} s, next seed {}: {} not as simulated, {} responses above their bound ({} more \
         because of observed stalls; none judged in {} sets beside real-time threads of other processes), {} \
         lost wake-ups, {} jobs lost, {} violations of mutual exclusion; {} times no set was schedulable",
        all.sets,
        found.seconds,
        found.next_seed,
        all.sets - all.equal,
        all.exceeded,
        all.excused,
        all.disturbed,
        found.stuck,
        all.lost,
        all.beside,
        found.refused,
    );
    all.sets > 0 && found.stuck == 0 && found.reported.is_empty()
}

fn line(name: &str, row: &Row) {
    println!(
        "{name:<24} {:>6} {:>8} {:>9} {:>7} {:>6} {:>9} {:>9} {:>7} {:>8} {:>6.1} %",
        row.sets,
        row.jobs,
        row.events,
        row.waits,
        row.equal,
        row.disturbed,
        row.kept,
        row.excused,
        row.exceeded,
        row.nearest as f64 / 10.0
    );
}

fn time(ns: u64) -> String {
    Duration::from_ns(ns).to_string()
}

fn read(path: &Path) -> Result<Option<Found>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            serde_json::from_str(&text).map(Some).map_err(|error| format!("{}: {error}", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Writes a new file first and renames it, so that the old file survives if the process is killed.
fn keep(settings: &Settings<'_>, found: &Found) -> Result<(), String> {
    let Some(path) = settings.state else { return Ok(()) };
    let reported = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = serde_json::to_string(found).map_err(|error| reported(&error))?;
    let new = path.with_extension("new");
    std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path)).map_err(|error| reported(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_caught_by_what_finds_it_alone() {
        let all = [What::NotAsSimulated, What::Lost, What::Beside, What::Exceeded];
        let by = |canary: &str| {
            let caught = |what: &&What| is_caught(canary, &[(**what, String::new())]);
            all.iter().filter(caught).copied().collect::<Vec<_>>()
        };
        assert_eq!(by("bounds"), [What::Exceeded]);
        assert_eq!(by("ceilings"), [What::NotAsSimulated, What::Beside]);
        assert_eq!(by("exclusion"), [What::Beside]);
        assert!(CANARIES.iter().all(|canary| !is_caught(canary, &[])), "a canary that found nothing");
    }

    #[test]
    fn excused_responses_are_limited() {
        let row = |sets, disturbed, kept, excused| Row { sets, disturbed, kept, excused, ..Row::default() };
        let count = |rows: &[Row], executed| wants(rows, executed, 200).len();
        assert_eq!(count(&[row(100, 0, 9_800, 0), row(100, 100, 0, 200)], 200), 0, "half of them, and 2 %");
        assert_eq!(count(&[row(100, 0, 9_799, 0), row(100, 100, 0, 201)], 200), 1);
        assert_eq!(count(&[row(100, 1, 9_800, 0), row(100, 100, 0, 200)], 200), 1);
        assert_eq!(count(&[row(200, 0, 0, 0)], 200), 1, "nothing was judged");
        assert_eq!(count(&[row(200, 200, 0, 0)], 200), 2);
        assert_eq!(count(&[row(200, 0, 0, 10_000)], 200), 1, "all was excused");
        assert_eq!(count(&[row(100, 0, 1, 0)], 100), 0, "half of what was asked for");
        assert_eq!(count(&[row(99, 0, 1, 0)], 99), 1);
        assert_eq!(wants(&[row(1, 0, 1, 0)], 1, 0), [""; 0], "there was no time for more");
    }
}
