// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut bench`: what this machine adds to every job, as an overlay.

use std::fmt::Write;

use taut_gauge::{NotMeasured, Samples, copies, device_wakes, releases, releases_beside_calls, switches};
use taut_plan::DEVICES_MAX;
use taut_sys::{EPERM, machine, memory, thread};

use crate::arguments::{Bench, Format};
use crate::others::{Had, Others};
use crate::outcome::{Failure, Outcome};
use crate::say::{err, out, outln};

/// The version of the JSON format.
const SCHEMA_VERSION: u32 = 1;
/// How many samples to take of what lasts microseconds.
const MANY: usize = 20_000;
/// Wakes of a device thread to measure: half a second.
const DEVICE_WAKES: usize = 2_000;
/// A release is measured about every millisecond.
const RELEASES_PER_SECOND: u64 = 970;

/// One figure of `platform.overheads`: that of the worst core.
struct Figure {
    key: &'static str,
    what: &'static str,
    /// The core on which it was measured.
    core: u16,
    spread: Samples,
    /// Time to subtract, because another figure already includes it.
    less_ns: u64,
}

impl Figure {
    /// The quantile; `None` if there are too few samples to distinguish it from the maximum, unless the maximum is
    /// requested.
    fn quantile(&self, permille: u32) -> Option<u64> {
        let shown = permille >= 1_000 || self.spread.count() >= least_samples(permille);
        shown.then(|| self.spread.quantile(permille))
    }

    /// The measured value: the quantile, or the largest sample.
    fn taken_ns(&self, permille: u32) -> u64 {
        self.quantile(permille).unwrap_or_else(|| self.spread.max())
    }

    /// The value for the overlay: a multiple of 100 ns, rounded up.
    fn value_ns(&self, permille: u32) -> u64 {
        self.taken_ns(permille).saturating_sub(self.less_ns).div_ceil(100).max(1) * 100
    }
}

/// The least number of samples of which one exceeds a quantile: 1,000 for 99.9 %.
fn least_samples(permille: u32) -> usize {
    1_000_usize.div_ceil(1_000_u32.saturating_sub(permille).max(1) as usize)
}

pub(crate) fn bench(arguments: &Bench) -> Result<Outcome, Failure> {
    let online = thread::online_cpus();
    let cores = if arguments.core.is_empty() { online.clone() } else { arguments.core.clone() };
    if let Some(absent) = cores.iter().find(|core| !online.contains(core)) {
        let online: Vec<String> = online.iter().map(u16::to_string).collect();
        return Err(Failure::Usage(format!(
            "this machine has no CPU {absent}; it has {}",
            online.join(", ")
        )));
    }
    if arguments.duration.is_zero() {
        return Err(Failure::Usage("--for 0s: the measurement needs a duration above 0".into()));
    }
    // Memory lock and wake-up latency are as in a run. Without them the figures are worse, and hold for a run without
    // them.
    let _ = memory::lock_all();
    let _awake = machine::dma_latency_hold();
    let permille = arguments.quantile;
    let Measured { figures, beside } = measure(&cores, &online, arguments.duration.as_ns(), permille)?;
    let overlay = overlay(&figures, &beside, permille);
    match arguments.format {
        Format::Json => outln!("{}", json(&figures, &beside, permille)),
        Format::Human => out!("{overlay}"),
    }
    if let Some(path) = &arguments.out {
        std::fs::write(path, &overlay).map_err(Failure::write(path))?;
    }
    err!("{}", table(&figures, &beside, permille));
    Ok(Outcome::Yes)
}

/// The figures, and the real-time threads of other processes that used the CPUs meanwhile.
struct Measured {
    figures: Vec<Figure>,
    beside: Vec<Had>,
}

/// Each figure of the core that is worst at the quantile. `time_ns` is the time per core.
fn measure(cores: &[u16], online: &[u16], time_ns: u64, permille: u32) -> Result<Measured, Failure> {
    // Two figures are measured by sleeping, and share all of the time.
    let count = (time_ns / 2).saturating_mul(RELEASES_PER_SECOND) / 1_000_000_000;
    let count = usize::try_from(count).unwrap_or(usize::MAX).max(100);
    let mut worst: Vec<Figure> = Vec::new();
    let mut others = Others::look();
    for &core in cores {
        let mut found = |spread: Result<Samples, NotMeasured>, cpus: &[u16]| {
            let new = others.since(cpus);
            spread.map_err(|why| refused(why, cpus, &new))
        };
        let idle = found(releases(core, count), &[core])?;
        let beside = found(releases_beside_calls(core, count), &[core])?;
        let less_ns = idle.median();
        let writer = online.iter().copied().find(|cpu| *cpu != core).unwrap_or(core);
        let switched = found(switches(core, MANY), &[core])?;
        let copied = found(copies(core, writer, MANY), &[core, writer])?;
        let woken = found(device_wakes(core, DEVICES_MAX, DEVICE_WAKES), &[core])?;
        let rows = [
            ("release", "timer to first instruction", idle, 0),
            ("context-switch", "wake to first instruction", switched, 0),
            ("kernel-blocking", "timer to first instruction beside system calls, less", beside, less_ns),
            ("copy", "1 KiB that another core wrote", copied, 0),
            ("device", "a wake of the device thread", woken, 0),
        ];
        for (at, (key, what, spread, less_ns)) in rows.into_iter().enumerate() {
            let figure = Figure { key, what, core, spread, less_ns };
            match worst.get_mut(at) {
                None => worst.push(figure),
                Some(before) if before.value_ns(permille) < figure.value_ns(permille) => *before = figure,
                Some(_) => {}
            }
        }
    }
    Ok(Measured { figures: worst, beside: others.had() })
}

fn refused(why: NotMeasured, cpus: &[u16], others: &[Had]) -> Failure {
    let error = match why {
        NotMeasured::System(error) => error,
        NotMeasured::Starved => {
            let cpus: Vec<String> = cpus.iter().map(u16::to_string).collect();
            let cpus = cpus.join(" or ");
            let mut text =
                format!("cannot measure: other threads keep CPU {cpus} busy, so the measurement gave up");
            for had in others {
                let _ = write!(text, "\n  {had}");
            }
            text += match others {
                [] => {
                    "\n  this command cannot see which thread that is; outside of any container, `ps -eLo \
                     pid,tid,cls,rtprio,psr,comm` shows it"
                }
                _ => {
                    "\n  help: end that thread, move it to another CPU, or measure another CPU with `--core`"
                }
            };
            return Failure::Environment(text);
        }
    };
    let help = match error.errno {
        EPERM => {
            "\n  to get it: run as root; or put `@realtime - rtprio 99` and `@realtime - memlock unlimited` \
             into /etc/security/limits.d/realtime.conf, add the user to that group, and log in again"
        }
        _ => "",
    };
    Failure::Environment(format!("cannot measure: {error}{help}"))
}

/// A duration in the syntax of a manifest.
fn time(ns: u64) -> String {
    taut_time::Duration::from_ns(ns).to_string()
}

fn percent(permille: u32) -> String {
    match permille % 10 {
        0 => format!("{} %", permille / 10),
        tenth => format!("{}.{tenth} %", permille / 10),
    }
}

fn overlay(figures: &[Figure], beside: &[Had], permille: u32) -> String {
    let facts = machine::machine_facts();
    let fact = |key: &str| facts.iter().find(|(name, _)| name == key).map_or("unknown", |(_, value)| value);
    let mut text = format!(
        "# Measured by `taut bench`: {}, kernel {}.\n# {} of the samples are at most these values.\n",
        fact("cpu"),
        fact("kernel"),
        percent(permille)
    );
    if let Some(why) = too_few(figures, permille) {
        let _ = writeln!(text, "# {why}");
    }
    for had in beside {
        let _ = writeln!(text, "# Beside {had}.");
    }
    text.push_str("\n[platform.overheads]\n");
    for figure in figures {
        let _ = writeln!(text, "{} = \"{}\"", figure.key, time(figure.value_ns(permille)));
    }
    text.push_str("source = \"measured\"\n");
    text
}

/// The text for figures with too few samples for the requested quantile.
fn too_few(figures: &[Figure], permille: u32) -> Option<String> {
    let few: Vec<&Figure> = figures.iter().filter(|figure| figure.quantile(permille).is_none()).collect();
    let fewest = few.iter().map(|figure| figure.spread.count()).min()?;
    let keys: Vec<&str> = few.iter().map(|figure| figure.key).collect();
    Some(format!(
        "For {} it is the largest of {fewest} samples: {} needs {} samples; use a longer `--for`.",
        keys.join(", "),
        percent(permille),
        least_samples(permille)
    ))
}

fn table(figures: &[Figure], beside: &[Had], permille: u32) -> String {
    let mut text = format!(
        "{:<16} {:>4} {:>10} {:>10} {:>10} {:>8}  of\n",
        "",
        "core",
        "median",
        percent(permille),
        "largest",
        "above"
    );
    for figure in figures {
        let taken_ns = figure.taken_ns(permille);
        let quantile = figure.quantile(permille).map_or_else(|| "-".to_owned(), time);
        let columns = [time(figure.spread.median()), quantile, time(figure.spread.max())];
        let _ = writeln!(
            text,
            "{:<16} {:>4} {:>10} {:>10} {:>10} {:>8}  {}",
            figure.key,
            figure.core,
            columns[0],
            columns[1],
            columns[2],
            figure.spread.above(taken_ns),
            figure.what_less()
        );
    }
    if let Some(why) = too_few(figures, permille) {
        let _ = writeln!(text, "{why}");
    }
    for had in beside {
        let _ = writeln!(
            text,
            "measured beside {had}: the figures hold only if that thread uses as much in each run"
        );
    }
    text.push_str(
        "above: samples over the value; the probe of a run attributes such a delay to the machine if it \
         observes the stall\n",
    );
    text
}

impl Figure {
    fn what_less(&self) -> String {
        let less = if self.less_ns == 0 { String::new() } else { format!(" {}", time(self.less_ns)) };
        format!("{}{less} ({} samples)", self.what, self.spread.count())
    }
}

fn json(figures: &[Figure], beside: &[Had], permille: u32) -> serde_json::Value {
    let figure = |figure: &Figure| {
        serde_json::json!({
            "key": figure.key,
            "core": figure.core,
            "samples": figure.spread.count(),
            "less_ns": figure.less_ns,
            "median_ns": figure.spread.median(),
            "quantile_ns": figure.quantile(permille),
            "max_ns": figure.spread.max(),
            "above": figure.spread.above(figure.taken_ns(permille)),
            "value_ns": figure.value_ns(permille),
        })
    };
    let machine: serde_json::Map<String, serde_json::Value> =
        machine::machine_facts().into_iter().map(|(key, value)| (key, value.into())).collect();
    serde_json::json!({
        "schema_version": SCHEMA_VERSION,
        "quantile_permille": permille,
        "machine": machine,
        "overheads": figures.iter().map(figure).collect::<Vec<_>>(),
        "beside": beside.iter().map(Had::json).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<Figure> {
        let spread =
            |last: u64| Samples::of((1..=999).map(|i| i * 10).chain([last]).collect()).expect("samples");
        let figure =
            |key, less_ns| Figure { key, what: "a thing", core: 1, spread: spread(5_000_000), less_ns };
        vec![figure("release", 0), figure("kernel-blocking", 4_000)]
    }

    #[test]
    fn rounded_up_and_never_nothing() {
        let figures = figures();
        assert_eq!(figures.iter().map(|figure| figure.value_ns(999)).collect::<Vec<_>>(), [10_000, 6_000]);
        assert_eq!(figures[1].value_ns(10), 100);
        assert_eq!(figures[0].value_ns(1_000), 5_000_000);
    }

    /// 485 samples have none that exceeds 99.9 % of them.
    #[test]
    fn the_largest_is_not_sold_as_a_quantile() {
        let of = |samples: u64| {
            let spread = Samples::of((1..=samples).map(|i| i * 100).collect()).expect("samples");
            [Figure { key: "release", what: "a thing", core: 1, spread, less_ns: 0 }]
        };
        for (samples, permille, quantile) in [
            (999, 999, None),
            (1_000, 999, Some(99_900)),
            (99, 990, None),
            (100, 990, Some(9_900)),
            (485, 999, None),
            (2, 500, Some(100)),
            (1, 500, None),
            (1, 1_000, Some(100)),
        ] {
            let figures = of(samples);
            assert_eq!(figures[0].quantile(permille), quantile, "{samples} {permille}");
            assert_eq!(json(&figures, &[], permille)["overheads"][0]["quantile_ns"].as_u64(), quantile);
            let said = format!("largest of {samples} samples: {} needs", percent(permille));
            for text in [overlay(&figures, &[], permille), table(&figures, &[], permille)] {
                assert_eq!(text.contains(&said), quantile.is_none(), "{text}");
            }
            assert_eq!(
                figures[0].value_ns(permille),
                quantile.unwrap_or(samples * 100),
                "the largest is safe"
            );
        }
        let text = table(&of(485), &[], 999);
        assert!(
            text.contains(" - ") && text.contains("99.9 % needs 1000 samples; use a longer `--for`"),
            "{text}"
        );
    }

    #[test]
    fn an_overlay_that_the_manifest_reads() {
        let text = overlay(&figures(), &[], 999);
        assert!(
            text.ends_with(
                "[platform.overheads]\nrelease = \"10us\"\nkernel-blocking = \"6us\"\nsource = \"measured\"\n"
            ),
            "{text}"
        );
        assert!(text.contains("# 99.9 % of the samples are at most these values."));
        assert!(table(&figures(), &[], 990).contains("5ms"));
        assert_eq!(json(&figures(), &[], 500)["overheads"][0]["above"], 500);
    }
}
