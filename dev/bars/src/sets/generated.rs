// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A manifest of any size that `taut check` must accept: the input for the bar on its speed.

use std::fmt::Write;

/// Tasks on one core. Their priorities are distinct, so that all tasks of a core interfere in the exact analysis.
const PER_CORE: usize = 25;

/// Periods, the most urgent first; each core has five tasks of each period.
const PERIODS_MS: [u64; 5] = [5, 10, 20, 40, 80];

/// A manifest of `count` tasks and `count` channels; `count` is a multiple of 4.
///
/// Priorities are rate-monotonic and periods harmonic; with overheads, the load of each core is about 60 %. Half of
/// the channels are queues between neighbours of one period, a quarter are states to clients, a quarter states from
/// clients, so that each protocol is chosen.
pub(crate) fn manifest(count: usize) -> String {
    let cores = count.div_ceil(PER_CORE);
    let list: Vec<_> = (0..cores).map(|core| core.to_string()).collect();
    let mut text = format!(
        "manifest = 1\n\n[app]\nname = \"generated\"\n\n\
         [platform]\ncores = [{}]\nhousekeeping = [{cores}]\nscheduler = \"fp\"\nmemory = \"256MiB\"\n\
         on-missing-privilege = \"degrade\"\n\n\
         [platform.overheads]\nrelease = \"20us\"\ncontext-switch = \"2us\"\nkernel-blocking = \"20us\"\n\n\
         [payloads]\nSample = {{ type = \"f32\", len = 16 }}\nOrder = {{ fields = {{ gain = \"f32\", mode = \"u32\" }} }}\n",
        list.join(", ")
    );
    for task in 0..count {
        let (core, rank) = (task / PER_CORE, task % PER_CORE);
        let period = PERIODS_MS[rank / (PER_CORE / PERIODS_MS.len())];
        let wcet_us = period * 20 + (task % 3) as u64 * 10;
        let priority = 90 - rank;
        let _ = write!(
            text,
            "\n[tasks.t{task}]\narrival = {{ periodic = \"{period}ms\" }}\ndeadline = \"{period}ms\"\n\
             wcet = {{ value = \"{wcet_us}us\", source = \"guess\", margin = \"10%\" }}\n\
             core = {core}\npriority = {priority}\nmemory = {{ release = \"4KiB\" }}\non-overrun = \"skip-next\"\n"
        );
    }
    text += "\n[clients.screen]\n\n[clients.panel]\n";
    for channel in 0..count {
        // In each group of five, the tasks 0 to 4 have the same period: 0 -> 1 and 2 -> 3 are pairs of one rate.
        let (kind, from, to, payload, more) = match channel % 4 {
            0 | 1 => {
                let sender = (channel / 2 * 5 + channel % 2 * 2) % count;
                (
                    "queue",
                    format!("t{sender}"),
                    format!("t{}", sender + 1),
                    "Sample",
                    "capacity = \"auto\"\noverflow = \"reject\"\n",
                )
            }
            2 => ("state", format!("t{channel}"), "screen".to_owned(), "Sample", ""),
            _ => ("state", "panel".to_owned(), format!("t{channel}"), "Order", ""),
        };
        let _ = write!(
            text,
            "\n[channels.c{channel}]\nkind = \"{kind}\"\nfrom = \"{from}\"\nto = \"{to}\"\npayload = \"{payload}\"\n{more}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_asked() {
        let text = manifest(100);
        assert_eq!(text.matches("\n[tasks.").count(), 100);
        assert_eq!(text.matches("\n[channels.").count(), 100);
        assert_eq!(text.matches("kind = \"queue\"").count(), 50);
        assert!(text.contains("cores = [0, 1, 2, 3]"));
        assert_eq!(manifest(100), text);
    }

    #[test]
    fn every_party_is_there_and_of_one_rate() {
        let text = manifest(100);
        let period = |name: &str| {
            let task = text.split(&format!("[tasks.{name}]\n")).nth(1).unwrap();
            task.split('"').nth(1).unwrap().to_owned()
        };
        for queue in text.split("kind = \"queue\"\n").skip(1) {
            let mut quoted = queue.split('"').skip(1).step_by(2);
            let (from, to) = (quoted.next().unwrap(), quoted.next().unwrap());
            assert_eq!(period(from), period(to), "{from} -> {to}");
        }
    }

    #[test]
    fn no_core_is_overloaded() {
        let mut load = [0.0; 4];
        for task in manifest(100).split("[tasks.").skip(1) {
            let number = |after: &str, unit: &str| -> f64 {
                let text = task.split(after).nth(1).unwrap();
                text.split(unit).next().unwrap().parse().unwrap()
            };
            let overhead_us = 20.0 + 2.0 * 2.0;
            let cost = number("value = \"", "us\"") * 1.1 + overhead_us;
            load[number("core = ", "\n") as usize] += cost / 1000.0 / number("periodic = \"", "ms\"");
        }
        assert!(load.iter().all(|load| (0.6..0.8).contains(load)), "{load:?}");
    }
}
