// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use taut_plan::Size;
use taut_sweep::Shard;
use taut_time::Duration;

use crate::claims::Analysis;

/// Real-time applications, proven before they run.
///
/// Exit codes: 0 yes, 1 the answer is no (unschedulable, a bound broken, a plan out of date), 2 usage or
/// manifest, 3 privilege or environment, 4 internal, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "taut", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Examples:\n  \
    taut new arm                      make the application `arm`\n  \
    taut run apps/cochlear            check, plan, build, boot, run for 10s, report\n  \
    taut run . --synthetic            the same for a manifest without its code\n  \
    taut check                        is the manifest of this folder sound, and does every deadline hold?\n  \
    taut explain --task processing    what its response time is made of")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to colour what is shown.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Makes a small application: a manifest, and a program that Cargo builds.
    #[command(after_help = "Examples:\n  \
        taut new arm                          a control loop, and a logger\n  \
        taut new arm --template pipeline      tasks that pass values on, with a bound on the age of data\n  \
        taut new arm --template sporadic      a task that reacts to what another process sends")]
    New(New),
    /// Writes the Rust types, the ends of channels and the builder of an application from its manifest.
    ///
    /// The application is then `mod manifest;` and the code of its tasks. What stands above the line `@generated` of an
    /// existing file stays.
    #[command(after_help = "Examples:\n  \
        taut generate                                  writes src/manifest.rs beside the manifest\n  \
        taut generate --check                          is that file up to date?\n  \
        taut generate --out ../panel/src/manifest.rs   for a client that is a package of its own")]
    Generate(Generate),
    /// Proves every rule and every deadline of a manifest, or shows the line that breaks one.
    Check(Check),
    /// Decides cores, priorities, mechanisms and the memory map, and writes taut.lock.
    ///
    /// A choice made with --minimise or --pin holds until the manifest changes, or until `taut plan` runs without it.
    #[command(after_help = "Examples:\n  \
        taut plan                                  decide, prove, write taut.lock\n  \
        taut plan --why position                   which mechanisms can carry it, and what does each cost?\n  \
        taut plan --minimise slack                 maximise slack instead of minimising memory\n  \
        taut plan --pin position=msrp --check      what would change with this mechanism?")]
    Plan(Plan),
    /// Simulates the plan in virtual time, many times, and prints the longest responses beside the bounds.
    #[command(after_help = "Examples:\n  \
        taut sim apps/cochlear                                  101 runs of 10s: what took longest?\n  \
        taut sim apps/cochlear --trace near.perfetto-trace      and write the run closest to a bound\n  \
        taut sim apps/cochlear --runs 10000 --for 1s --seed 7   more runs, shorter, from another seed")]
    Sim(Sim),
    /// Searches for a run that exceeds a claimed bound, and shows it.
    #[command(after_help = "Examples:\n  \
        taut refute apps/cochlear                                        is a bound of the plan too short?\n  \
        taut refute examples/suspension --analysis mpcp-lnr09-paper      one that was published and is wrong\n  \
        taut refute . --analysis deadlines --for 600s                    can a deadline be missed at all?")]
    Refute(Refute),
    /// Checks, plans, builds, boots and reports an application.
    #[command(after_help = "Examples:\n  \
        taut run apps/cochlear --for 2s                            an application\n  \
        taut run apps/cochlear -- --wav FILE                       with arguments for it\n  \
        taut run examples/rosace --synthetic --execution drawn     a manifest without its code")]
    Run(Run),
    /// Prints what a recorded run measured beside the bounds.
    Report(Report),
    /// Simulates a recorded run of dispatched cores, and compares each decision with the machine's.
    ///
    /// Exit codes: 0 every decision is the same, 1 a decision differs or could not be compared, 2 there is nothing to
    /// compare.
    #[command(after_help = "Examples:\n  \
        taut replay apps/cochlear                 the last run of this folder\n  \
        taut replay run.taut --format json        and the first difference for programs")]
    Replay(Replay),
    /// Explains a code (TAUT0201), or splits a bound into its terms.
    Explain(Explain),
    /// Reads a task set of another tool, and writes it as a manifest.
    ///
    /// Stderr lists each item that a manifest cannot state as the other tool does, with its line and column.
    #[command(after_help = "Examples:\n  \
        taut import flight.xmlv3                              as a manifest on stdout\n  \
        taut import flight.xmlv3 --unit 100us -o taut.toml    where a time of 1 is 100us\n  \
        unzip -p sets.zip 7.xml | taut import - -o taut.toml  from another command")]
    Import(Import),
    /// Writes the cores, priorities and tasks of a plan in another tool's language.
    ///
    /// Stderr lists each item that the other language cannot state, with its place in the manifest.
    #[command(after_help = "Examples:\n  \
        taut export apps/cochlear --to mast -o cochlear.txt        to have its response times computed there\n  \
        taut export . --to rt-app --for 2s -o load.json            to have its load run by `rt-app load.json`\n  \
        taut export . --to simso --core 1 -o one.xml               one core, for a simulator that has no others")]
    Export(Export),
    /// Draws random systems as a generator file says, and computes for each which mechanisms keep its deadlines and how
    /// many bytes they take.
    #[command(after_help = "Examples:\n  \
        taut sweep examples/sweep/han14.toml                             the table of all points\n  \
        taut sweep examples/sweep/han14.toml --out rows.csv              and a row for each system\n  \
        taut sweep examples/sweep/han14.toml --out 2.csv --shard 2/3     the second third of the rows")]
    Sweep(Sweep),
    /// Measures what this machine adds to every job, and prints it as an overlay for its manifests.
    #[command(after_help = "Examples:\n  \
        taut bench -o board.toml                     and then: taut check --overlay board.toml\n  \
        taut bench --core 1 --for 60s --quantile 100 one core, longer, and the largest of all")]
    Bench(Bench),
    /// Measures execution times in recorded runs, and prints them as an overlay for the application's manifest.
    ///
    /// A value is the largest time of a complete job, and the margin comes on top. With --fit it is a bound that an
    /// extreme-value distribution gives, where one fits; docs/calibration.md says when.
    #[command(after_help = "Examples:\n  \
        taut calibrate apps/cochlear                               the last run of this folder\n  \
        taut calibrate night/run.taut day/run.taut -o board.toml   and then: taut check --overlay board.toml\n  \
        taut calibrate night/run.taut --margin 50                  half as much again as was measured")]
    Calibrate(Calibrate),
    /// Prints the JSON schema of taut.toml.
    Schema,
    /// Lists the applications that run on this machine, of all users: processes, CPUs and memory.
    Ps(Ps),
    /// Lists what this machine and this user can guarantee, and how to get the rest.
    Doctor(Doctor),
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The folder to make. The last part of the path is the application's name.
    #[arg(value_name = "NAME")]
    pub(crate) path: PathBuf,
    /// What the application begins as.
    #[arg(long, value_enum, value_name = "TEMPLATE", default_value_t = Template::Control)]
    pub(crate) template: Template,
}

/// What a new application begins as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Template {
    /// A periodic real-time task, and a logger.
    Control,
    /// A periodic task, a task that each of its values releases, and a logger.
    Pipeline,
    /// A task that the values of another process release, a logger, and that process.
    Sporadic,
}

/// Which manifest.
#[derive(Debug, Args)]
pub(crate) struct Manifest {
    /// A taut.toml, or a folder that has one.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// A file that changes cores, memory and WCETs for a machine, or which channels are recorded; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) overlay: Vec<PathBuf>,
}

/// What a proof may not rest on.
#[derive(Debug, Args)]
pub(crate) struct Denied {
    /// What the proof must not rest on: each such place gets a diagnostic, and makes the answer no; may be given several
    /// times.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) deny: Vec<Deny>,
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    #[command(flatten)]
    pub(crate) manifest: Manifest,
    /// The file to write, in the package that compiles it [default: src/manifest.rs beside the manifest].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write nothing; exit with 1 if the file is out of date.
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) manifest: Manifest,
    #[command(flatten)]
    pub(crate) denied: Denied,
    /// How to print the answer.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) manifest: Manifest,
    #[command(flatten)]
    pub(crate) denied: Denied,
    /// Write nothing; exit with 1 if taut.lock is out of date.
    #[arg(long)]
    pub(crate) check: bool,
    /// What the choice of mechanisms minimises, in place of what the manifest says.
    #[arg(long, value_enum, value_name = "AIM")]
    pub(crate) minimise: Option<Minimise>,
    /// Give a channel this mechanism; may be given several times.
    #[arg(long, value_name = "CHANNEL=MECHANISM", value_parser = pin)]
    pub(crate) pin: Vec<taut_plan::Pin>,
    /// Write nothing; print which mechanisms can carry a channel, what each costs, and why the others cannot.
    #[arg(long, value_name = "CHANNEL", conflicts_with = "check")]
    pub(crate) why: Option<String>,
}

/// What the choice of mechanisms minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Minimise {
    /// Least memory.
    Memory,
    /// Least sum of response times, each divided by its deadline.
    Response,
    /// Largest slack of the task that has least, divided by its deadline.
    Slack,
}

fn pin(text: &str) -> Result<taut_plan::Pin, String> {
    let (channel, word) = text.split_once('=').ok_or("write CHANNEL=MECHANISM, as in position=msrp")?;
    let mechanism = taut_plan::Mechanism::from_word(word.trim()).ok_or_else(|| {
        let words: Vec<&str> = taut_plan::Mechanism::ALL.iter().map(|mechanism| mechanism.word()).collect();
        format!("unknown mechanism `{word}`: use one of {}", words.join(", "))
    })?;
    Ok(taut_plan::Pin { channel: channel.trim().to_owned(), mechanism })
}

#[derive(Debug, Args)]
pub(crate) struct Sim {
    #[command(flatten)]
    pub(crate) manifest: Manifest,
    /// Virtual time of each run, with a unit; no job arrives later.
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, default_value = "10s")]
    pub(crate) duration: Duration,
    /// Random runs, in addition to one in which every task is at its worst.
    #[arg(long, default_value_t = 100)]
    pub(crate) runs: u32,
    /// Seed of everything that is random; the same seed gives the same runs.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The mode in which the application runs [default: the mode at release 0].
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// Let jobs execute as long as they did in this recorded run, or in the last one of this folder.
    #[arg(long, value_name = "RUN")]
    pub(crate) like: Option<PathBuf>,
    /// Write the run that came closest to a bound, for the viewer at ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// The most virtual time that a trace shows, with a unit.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) trace_for: Duration,
    /// How to print the answer.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Refute {
    #[command(flatten)]
    pub(crate) manifest: Manifest,
    /// The mode in which the application runs [default: the mode at release 0].
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// Which claims to test.
    #[arg(long, value_enum, default_value_t = Analysis::Plan)]
    pub(crate) analysis: Analysis,
    /// How long to search, with a unit.
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, default_value = "30s")]
    pub(crate) duration: Duration,
    /// Seed of the search; the same seed searches in the same order.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Where to write the run that exceeds a claim, for the viewer at ui.perfetto.dev [default:
    /// target/taut/refuted.perfetto-trace beside the manifest].
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// The most virtual time that a trace shows, with a unit.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) trace_for: Duration,
    /// How to print the answer.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) manifest: Manifest,
    #[command(flatten)]
    pub(crate) denied: Denied,
    /// How long to run, with a unit: 10s, 500ms.
    #[arg(
        long = "for",
        value_name = "DURATION",
        allow_hyphen_values = true,
        default_value = "10s",
        conflicts_with = "forever"
    )]
    pub(crate) duration: Duration,
    /// Run until Ctrl-C.
    #[arg(long)]
    pub(crate) forever: bool,
    /// How long the application may take to end after it is asked to; after that `taut` kills it [default: 15s]. The longest
    /// deadline and 1ms for each MiB of memory are added.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) patience: Option<Duration>,
    /// The most bytes of the recording, as in 64MiB or 2GiB; it keeps the newest records, and the report judges those
    /// [default: 256MiB with --forever, else no limit].
    #[arg(long, value_name = "SIZE")]
    pub(crate) record_limit: Option<Size>,
    /// The folder for the recording and the report [default: target/taut beside the manifest].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Print every privileged action, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run a program that follows from the manifest in place of the application and its clients: each task executes for its
    /// execution time, and moves its values. The program, the recording and the report are in target/taut/synthetic beside
    /// the manifest.
    #[arg(long, conflicts_with = "arguments")]
    pub(crate) synthetic: bool,
    /// How long the jobs of a synthetic program execute.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Execution::Full, requires = "synthetic")]
    pub(crate) execution: Execution,
    /// Seed of the times that `--execution drawn` draws; the same seed draws the same times [default: 1].
    #[arg(long, requires = "synthetic")]
    pub(crate) seed: Option<u64>,
    /// Arguments for the application.
    #[arg(last = true)]
    pub(crate) arguments: Vec<std::ffi::OsString>,
}

/// How long the jobs of a synthetic program execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Execution {
    /// As long as the manifest states, without the margin.
    Full,
    /// Between half of that and all of it.
    Drawn,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// A recorded run (run.taut), the folder that has it, or an application's folder.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A recorded run (run.taut), the folder that has it, or an application's folder.
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Two cores' requests for a resource, or a request and an unlock, that are closer than this (with a unit) may have come
    /// in either order. A run without real-time privilege needs more.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, default_value_t = taut_sim::replay::Replay::SLACK)]
    pub(crate) slack: Duration,
    /// Run the code of the tasks again, with the recorded values of their inputs, and compare each value that they send. The
    /// code may have changed, the manifest must not.
    #[arg(long)]
    pub(crate) code: bool,
    /// With --code: the application's taut.toml, or a folder that has one [default: the path, if it is such a folder, else the
    /// working folder].
    #[arg(long, value_name = "PATH", requires = "code")]
    pub(crate) manifest: Option<PathBuf>,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
    /// With --code: arguments for the application's program.
    #[arg(last = true, value_name = "ARGUMENT", requires = "code")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A code, as in TAUT0201.
    #[arg(required_unless_present_any = ["task", "channel", "chain", "mode"])]
    pub(crate) code: Option<String>,
    /// Split the response time of a task into its terms; print what other tests find, and what would fit.
    #[arg(long, value_name = "NAME")]
    pub(crate) task: Option<String>,
    /// Print how a channel is realised, and why.
    #[arg(long, value_name = "NAME")]
    pub(crate) channel: Option<String>,
    /// Split the latency of a chain into its steps.
    #[arg(long, value_name = "NAME")]
    pub(crate) chain: Option<String>,
    /// Print the bounds of a mode, and the changes from it and to it.
    #[arg(long, value_name = "NAME")]
    pub(crate) mode: Option<String>,
    /// The taut.toml, or a folder that has one.
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub(crate) manifest: PathBuf,
    /// A file that changes cores, memory and WCETs for a machine, or which channels are recorded; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) overlay: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file to read; `-` is standard input.
    pub(crate) file: PathBuf,
    /// Its language [default: auto, what it looks like]: cheddar, schedcat, amalthea, mast, rtdroid.
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) from: Option<String>,
    /// What a time of 1 is, with a unit, where the language does not say.
    #[arg(long, value_name = "DURATION")]
    pub(crate) unit: Option<Duration>,
    /// Where to write the manifest [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// How to print what was read and what was not carried over.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) manifest: Manifest,
    /// The language: mast, simso, rt-app, cheddar.
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) to: String,
    /// The tasks of this CPU alone.
    #[arg(long, value_name = "CPU")]
    pub(crate) core: Option<u16>,
    /// How long the other tool runs them, if its files say so: simso, rt-app.
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Where to write it [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that exists.
    #[arg(long)]
    pub(crate) force: bool,
    /// How to print what was not carried over.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// A CPU to measure; may be given several times [default: all that are online].
    #[arg(long, value_name = "CPU")]
    pub(crate) core: Vec<u16>,
    /// How long to measure each CPU; above 0. If others occupy a CPU, the measurement gives up after at most 15s more.
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, default_value = "10s")]
    pub(crate) duration: Duration,
    /// The share of samples, in percent, that a figure must cover; 100 takes the largest.
    #[arg(long, value_name = "PERCENT", default_value = "99.9", value_parser = permille)]
    pub(crate) quantile: u32,
    /// Also write the overlay to a file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// How to print the figures.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// Recorded runs (run.taut) of one application, folders that have one, or the application's folder.
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Safety margin on top of each value, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "20", allow_hyphen_values = true, value_parser = margin)]
    pub(crate) margin: u32,
    /// Where a distribution fits, write the upper end of its bound's confidence interval in place of the largest time.
    #[arg(long)]
    pub(crate) fit: bool,
    /// The probability with which a job exceeds a fitted bound, at most 0.01.
    #[arg(long, value_name = "PROBABILITY", default_value = "1e-9", allow_hyphen_values = true, value_parser = exceedance)]
    pub(crate) exceedance: f64,
    /// Also write the overlay to a file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// How to print the times.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// A margin in percent with at most one digit after the point, in thousandths of the value.
fn margin(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    // The largest margin of a manifest.
    let permille = tenths(number).filter(|permille| *permille <= 100_000);
    permille.ok_or_else(|| "write 0 to 10000, as in 20 or 12.5".to_owned())
}

/// The probability of an event that is rare, and not too rare to be a number of this size.
fn exceedance(text: &str) -> Result<f64, String> {
    let probability = text.parse().ok().filter(|probability| (1e-15..=0.01).contains(probability));
    probability.ok_or_else(|| "write 1e-15 to 0.01, as in 1e-9".to_owned())
}

/// A percentage with at most one digit after the point, in thousandths of the whole.
fn permille(text: &str) -> Result<u32, String> {
    let permille = tenths(text).filter(|permille| (1..=1_000).contains(permille));
    permille.ok_or_else(|| "write 0.1 to 100, as in 99.9".to_owned())
}

/// A number with at most one digit after the point, in tenths.
fn tenths(text: &str) -> Option<u32> {
    let (whole, tenth) = text.split_once('.').unwrap_or((text, "0"));
    let digits =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let whole: Option<u32> = digits(whole);
    let tenth: Option<u32> = digits(tenth).filter(|_| tenth.len() == 1);
    whole.zip(tenth).and_then(|(whole, tenth)| whole.checked_mul(10)?.checked_add(tenth))
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// A taut.toml, or a folder that has one: check what it needs, too.
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// List also what the applications of this user offer to clients: channels, their values, and how many processes are attached.
    #[arg(long)]
    pub(crate) channels: bool,
    /// How to print the list.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// For programs; has a schema_version.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

/// What a proof may not rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    /// Execution times with `source = "guess"`, and costs of the machine that nobody measured, defaults included.
    Guesses,
    /// Costs of the machine that the manifest and its overlays do not state, so that defaults apply.
    Defaults,
}

/// How to show output, on stdout and on stderr.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) color_out: bool,
    pub(crate) color_err: bool,
    /// Whether a line on stderr can be erased again.
    pub(crate) rewrites: bool,
    pub(crate) width: usize,
}

impl Arguments {
    pub(crate) fn screen(&self) -> Screen {
        let wants = |terminal: bool| match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => by_environment(terminal, |name| std::env::var(name).ok()),
        };
        let width = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let width = width.or_else(taut_sys::terminal::width).unwrap_or(100);
        Screen {
            color_out: wants(std::io::stdout().is_terminal()),
            color_err: wants(std::io::stderr().is_terminal()),
            rewrites: std::io::stderr().is_terminal()
                && std::env::var("TERM").is_ok_and(|term| term != "dumb"),
            width: width.clamp(60, 160),
        }
    }
}

/// Whether to colour, by the conventions of terminals: `NO_COLOR` forbids colour, `CLICOLOR_FORCE` forces it for any
/// output, and `CLICOLOR=0` and a `dumb` terminal disable it.
fn by_environment(terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
    let is = |name, text| variable(name).is_some_and(|value| value == text);
    if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return false;
    }
    set("CLICOLOR_FORCE") || terminal && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_environment() {
        let with = |terminal, pairs: &[(&str, &str)]| {
            let found =
                |name: &str| pairs.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
            by_environment(terminal, found)
        };
        assert!(with(true, &[]) && with(true, &[("TERM", "xterm")]) && with(true, &[("CLICOLOR", "1")]));
        assert!(!with(false, &[]) && !with(true, &[("TERM", "dumb")]) && !with(true, &[("CLICOLOR", "0")]));
        assert!(!with(true, &[("NO_COLOR", "1")]) && !with(true, &[("NO_COLOR", "0")]));
        assert!(with(false, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]));
        assert!(!with(false, &[("CLICOLOR_FORCE", "0")]) && with(true, &[("NO_COLOR", "")]));
        assert!(!with(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
    }
}

#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// The generator file; docs/sweep.md has its keys.
    pub(crate) generator: PathBuf,
    /// Where to write the rows: a .csv or .jsonl, or a .parquet if built with that feature [default: nowhere, only the table is shown].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Which part of the rows, counted from 1.
    #[arg(long, value_name = "PART/PARTS", default_value = "1/1", value_parser = shard)]
    pub(crate) shard: Shard,
    /// The seed, in place of the file's.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Threads that make rows [default: one per processor].
    #[arg(short, long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Continue an interrupted run, if there was one.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Draw nothing: join these Parquet files, one for each part, into the file that a single run would have written.
    #[arg(long, value_name = "FILES", num_args = 1.., requires = "out", conflicts_with_all = ["shard", "resume", "jobs"])]
    pub(crate) merge: Vec<PathBuf>,
    /// Replace files that exist.
    #[arg(long)]
    pub(crate) force: bool,
    /// How to print the table.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// `2/3`: the second of three parts.
fn shard(text: &str) -> Result<Shard, String> {
    let wrong = || "write PART/PARTS, as in 1/2".to_owned();
    let (part, of) = text.split_once('/').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let (part, of) = (number(part)?, number(of)?);
    let shard = part.checked_sub(1).and_then(|index| Shard::new(index, of));
    shard.ok_or_else(|| match part {
        0 => format!("parts are counted from 1: 1/{of} is the first"),
        _ => format!("there are {of} parts"),
    })
}
