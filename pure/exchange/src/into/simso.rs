// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! SimSo, XML. Times are in milliseconds, a cycle is a nanosecond: SimSo's response times are in cycles.

use taut_model::SchedulingPolicy;
use taut_time::Duration;

use super::{Export, number, offset};

const MS: u32 = 6;

/// Milliseconds that become exactly these nanoseconds when a reader parses them as a floating-point number, multiplies
/// by a million and truncates. If the reader would get one nanosecond less, the result is half a nanosecond larger.
fn exactly(time: Duration) -> String {
    let text = number(time, MS);
    let read = text.parse::<f64>().map_or(0.0, |ms| ms * 1e6);
    if read >= time.as_ns() as f64 {
        return text;
    }
    let (whole, segment) = (time.as_ns() / 1_000_000, time.as_ns() % 1_000_000);
    format!("{whole}.{segment:06}5")
}

/// Writes the whole file.
pub(crate) fn write(export: &mut Export<'_>) {
    let set = export.set;
    let edf = set.cores().first() == Some(&SchedulingPolicy::Edf);
    let class = if edf { "simso.schedulers.EDF" } else { "simso.schedulers.FP" };
    if set.cores().len() > 1 {
        let what =
            format!("`{class}` moves tasks between cores; write each core alone, or use the field `core`");
        export.lose("platform.cores", what);
    }
    for (_, name) in export.resources() {
        export.lose(format!("resources.{name}"), "critical sections are left out, their time is not");
    }
    export.plain_periods();
    let longest = set.tasks().iter().map(|task| task.period).max().unwrap_or_default();
    let start = set.tasks().iter().map(offset).max().unwrap_or_default();
    let whole = longest.checked_mul(20).and_then(|time| time.checked_add(start)).unwrap_or(Duration::MAX);
    let horizon = export.options.duration.unwrap_or(whole);
    export.line("<?xml version=\"1.0\" ?>");
    export.line(format!(
        "<simulation duration=\"{}\" cycles_per_ms=\"1000000\" etm=\"wcet\">",
        horizon.as_ns()
    ));
    export.line(format!(
        "\t<sched class=\"{class}\" overhead=\"0\" overhead_activate=\"0\" overhead_terminate=\"0\"/>"
    ));
    export.line("\t<caches memory_access_time=\"100\"/>");
    export.line("\t<processors>");
    for core in 0..set.cores().len() {
        export.line(format!("\t\t<processor name=\"core {core}\" id=\"{}\" cl_overhead=\"0\" cs_overhead=\"0\" speed=\"1.0\"/>", core + 1));
    }
    export.line("\t</processors>");
    export.line("\t<tasks>");
    export.line("\t\t<field name=\"priority\" type=\"int\"/>");
    export.line("\t\t<field name=\"core\" type=\"int\"/>");
    for (at, task) in export.tasks() {
        let (period, start, cost, deadline) =
            (exactly(task.period), exactly(offset(task)), exactly(set.cost(at)), exactly(task.deadline));
        export.line(format!(
            "\t\t<task name=\"{}\" id=\"{}\" task_type=\"Periodic\" abort_on_miss=\"no\" period=\"{period}\" \
             activationDate=\"{start}\" instructions=\"0\" mix=\"0.5\" WCET=\"{cost}\" ACET=\"{cost}\" et_stddev=\"0\" \
             deadline=\"{deadline}\" base_cpi=\"1.0\" preemption_cost=\"0\" priority=\"{}\" core=\"{}\"/>",
            export.name(at),
            at + 1,
            task.priority,
            task.core + 1
        ));
    }
    export.line("\t</tasks>");
    export.line("</simulation>");
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are() {
        let mut half = 0;
        for ns in (0..2_000).chain((1..2_000).map(|ms| ms * 999_983)).chain([17_466_000, 1_866_000]) {
            let text = exactly(Duration::from_ns(ns));
            assert_eq!((text.parse::<f64>().unwrap() * 1e6) as u64, ns, "{text}");
            half += u32::from(text.ends_with('5') && text.len() > number(Duration::from_ns(ns), MS).len());
        }
        assert!(half > 0);
    }
}
