// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Draws an application: its manifest. What its tasks do follows from the plan ([`crate::code`]).

use std::fmt::Write;

/// A generator of random numbers: xorshift64*.
#[derive(Clone, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        // Seeds that are close give sequences that are not.
        let mut draw = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| _ = draw.next());
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number from `low` to `high`.
    pub(crate) fn pick(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.pick(1, 100) <= percent
    }

    /// A generator that is independent of this one.
    pub(crate) fn fork(&mut self) -> Self {
        Self::new(self.next())
    }

    /// One of these; none if there is none.
    pub(crate) fn one<'o, T>(&mut self, of: &'o [T]) -> Option<&'o T> {
        let last = of.len().checked_sub(1)?;
        Some(&of[self.pick(0, last as u64) as usize])
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.pick(0, of.len() as u64 - 1) as usize]
    }
}

/// The payloads of blocks, with their numbers of words: 4 KiB, 64 KiB, 256 KiB.
pub(crate) const SIZES: [(&str, usize); 3] = [("Small", SMALL), ("Middle", MIDDLE), ("Large", LARGE)];
pub(crate) const SMALL: usize = 512;
pub(crate) const MIDDLE: usize = 8 << 10;
pub(crate) const LARGE: usize = 32 << 10;
/// Periods in ms.
const PERIODS: [u64; 6] = [4, 5, 8, 10, 20, 40];
/// The payload of most channels, and a larger one.
const PAYLOADS: &str = "Value = { fields = { urgency = \"u32\", sender = \"u32\", number = \"u64\" } }\n\
     Long = { fields = { urgency = \"u32\", sender = \"u32\", number = \"u64\", low = \"u64\", high = \"u64\" } }";
/// Those who may ask.
pub(crate) const CALLERS: [&str; 2] = ["wonders", "queries"];

/// What the services of an application do while it runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    /// They run from release 0 to the end.
    Constant,
    /// One is paused, stopped and started, and restarts after jobs that panic.
    Services,
    /// Two take turns.
    Modes,
}

/// The manifest of an application: periodic tasks that send to others, a receiver of a message of one payload or several, one of
/// several triggers, one of alarms, devices, a state, a broadcast, requests, values that leave the real-time side, servers with a
/// periodic and an aperiodic task, services that come and go; a part of these.
pub(crate) fn manifest(draw: &mut Draw) -> String {
    let dispatched = draw.chance(40);
    let executor = if dispatched { "executor = \"dispatched\"\n" } else { "" };
    let cores = if draw.chance(30) { "[0, 1]" } else { "[0]\nhousekeeping = [1]" };
    let life = match draw.pick(0, 9) {
        0..6 => Life::Constant,
        6..8 => Life::Services,
        _ => Life::Modes,
    };
    let (services, modes) = match life {
        Life::Constant => ("", ""),
        Life::Services => {
            ("[services.part]\non-failure = { restart = 16, within = \"100ms\", then = \"stop-app\" }\n", "")
        }
        Life::Modes => {
            ("[services.day]\n[services.night]\n", "[modes]\nday = [\"day\"]\nnight = [\"night\"]\n")
        }
    };
    let mut text = format!(
        "manifest = 1\n[app]\nname = \"drawn\"\n[platform]\ncores = {cores}\nmemory = \"32MiB\"\n\
         on-missing-privilege = \"degrade\"\n{executor}\
         [platform.overheads]\nrelease = \"550us\"\ncontext-switch = \"10us\"\nkernel-blocking = \"50us\"\n\
         {services}{modes}[payloads]\n{PAYLOADS}\n"
    );
    let periodic = draw.pick(2, 4);
    let mut senders = Vec::new();
    for at in 0..periodic {
        let (period, wcet) = (draw.one_of(&PERIODS), draw.pick(80, 300));
        let name = format!("task{at}");
        let service = match life {
            Life::Services if draw.chance(50) => "service = \"part\"\n",
            Life::Modes if draw.chance(70) => draw.one_of(&["service = \"day\"\n", "service = \"night\"\n"]),
            _ => "",
        };
        task(&mut text, &name, &format!("{{ periodic = \"{period}ms\" }}"), period, wcet);
        text.push_str(service);
        senders.push(name);
    }
    if draw.chance(50) {
        let gap = draw.one_of(&[2, 4, 5]);
        task(&mut text, "senses", &format!("{{ sporadic = \"{gap}ms\", device = \"line\" }}"), gap, 80);
        senders.push("senses".to_owned());
    }
    text.push_str("[tasks.noise]\nclass = \"best-effort\"\n");
    channels(&mut text, draw, &senders);
    if draw.chance(60) {
        let service = match life {
            Life::Services if draw.chance(50) => "service = \"part\"\n",
            Life::Modes if draw.chance(50) => "service = \"day\"\n",
            _ => "",
        };
        bulk(&mut text, draw, service);
    }
    if draw.chance(50) { recorded(&text, draw) } else { text }
}

/// The same application, of which nearly all channels are recorded.
fn recorded(text: &str, draw: &mut Draw) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        let _ = writeln!(whole, "{line}");
        let is_payload = line == "payload = \"Value\"" || line.starts_with("payload = [");
        whole.push_str(if is_payload && draw.chance(90) { "record = true\n" } else { "" });
    }
    whole
}

/// A bulk channel from a task, or from outside, to a task that it releases, one that looks, or one that is best-effort.
fn bulk(text: &mut String, draw: &mut Draw, service: &str) {
    let (payload, words) = draw.one_of(&SIZES);
    let period = draw.one_of(&[5, 8, 10, 20]);
    let from_outside = draw.chance(25);
    if !from_outside {
        task(text, "films", &format!("{{ periodic = \"{period}ms\" }}"), period, 600);
        text.push_str(service);
    }
    let to = match draw.pick(0, if from_outside { 1 } else { 2 }) {
        0 => {
            let gap = draw.one_of(&[2, 4, 5]);
            task(text, "sees", &format!("{{ sporadic = \"{gap}ms\", trigger = \"images\" }}"), gap, 600);
            "sees"
        }
        1 => {
            task(text, "looks", &format!("{{ periodic = \"{period}ms\" }}"), period, 600);
            "looks"
        }
        _ => {
            text.push_str("[tasks.views]\nclass = \"best-effort\"\n");
            "views"
        }
    };
    let from = if from_outside { "noise" } else { "films" };
    let (sends, takes) = (draw.pick(1, 2), draw.pick(1, 3));
    let overflow = draw.one_of(&["reject", "recall"]);
    let _ = write!(
        text,
        "[payloads.{payload}]\ntype = \"u64\"\nlen = {words}\n[channels.images]\nkind = \"bulk\"\nfrom = \"{from}\"\n\
         to = \"{to}\"\npayload = \"{payload}\"\noverflow = \"{overflow}\"\nsends-per-release = {sends}\n"
    );
    match to {
        "views" => {
            let reception = draw.one_of(&["poll", "wait"]);
            let _ = writeln!(text, "reception = \"{reception}\"");
        }
        _ => _ = writeln!(text, "takes-per-release = {takes}"),
    }
    if draw.chance(40) {
        let _ = writeln!(text, "capacity = {}", draw.pick(sends + 1, 8));
    }
}

/// The channels among these tasks, and the receivers that they release.
fn channels(text: &mut String, draw: &mut Draw, senders: &[String]) {
    message(text, draw, senders);
    if draw.chance(60) {
        several_triggers(text, draw, senders);
    }
    if draw.chance(50) {
        alarms(text, draw, senders);
    }
    if draw.chance(60) {
        let from = draw.one_of(&senders.iter().map(String::as_str).collect::<Vec<_>>());
        let overflow = draw.one_of(&["drop-oldest", "clear", "reject"]);
        let reception = draw.one_of(&["poll", "wait"]);
        let _ = write!(
            text,
            "[tasks.logger]\nclass = \"best-effort\"\n{}reception = \"{reception}\"\ncapacity = 64\n\
             overflow = \"{overflow}\"\n",
            channel("log", "queue", &format!("\"{from}\""), "logger")
        );
    }
    if draw.chance(60) {
        broadcast(text, draw, senders);
    }
    if draw.chance(40) {
        aperiodic(text, draw, senders);
    }
    if draw.chance(30) {
        served(text, draw);
    }
    if draw.chance(50) {
        request(text, draw, senders);
    }
    if draw.chance(60) && senders.len() > 1 {
        let others = senders[2..].iter().map(String::as_str).chain(["noise"]).filter(|_| draw.chance(40));
        let from: Vec<&str> = std::iter::once(senders[0].as_str()).chain(others).collect();
        let _ = write!(text, "{}", channel("newest", "state", &list(&from), &senders[1]));
    }
}

/// A receiver of alarms that some of these tasks set.
fn alarms(text: &mut String, draw: &mut Draw, senders: &[String]) {
    let gap = draw.one_of(&[2, 3, 4]);
    task(text, "rings", &format!("{{ sporadic = \"{gap}ms\", trigger = \"due\" }}"), gap, 100);
    let mut from: Vec<&str> = senders.iter().map(String::as_str).filter(|_| draw.chance(40)).collect();
    if from.is_empty() {
        from.push(&senders[0]);
    }
    let (takes, most) = (draw.pick(1, 4), draw.pick(1, 5));
    let late = draw.one_of(&["deliver", "refuse"]);
    let _ = write!(
        text,
        "{}capacity = {most}\ntakes-per-release = {takes}\nlate = \"{late}\"\n",
        channel("due", "alarm", &list(&from), "rings")
    );
}

fn task(text: &mut String, name: &str, arrival: &str, deadline_ms: u64, wcet_us: u64) {
    let _ = write!(
        text,
        "[tasks.{name}]\narrival = {arrival}\ndeadline = \"{deadline_ms}ms\"\n\
         wcet = {{ value = \"{wcet_us}us\", source = \"guess\" }}\non-overrun = \"run-on\"\n"
    );
}

/// The head of a channel's table.
fn channel(name: &str, kind: &str, from: &str, to: &str) -> String {
    format!("[channels.{name}]\nkind = \"{kind}\"\nfrom = {from}\nto = \"{to}\"\npayload = \"Value\"\n")
}

fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", names.join(", "))
}

fn message(text: &mut String, draw: &mut Draw, senders: &[String]) {
    let gap = draw.one_of(&[2, 3, 4]);
    task(text, "serves", &format!("{{ sporadic = \"{gap}ms\", trigger = \"asks\" }}"), gap, 100);
    let mut from: Vec<&str> = senders.iter().map(String::as_str).filter(|_| draw.chance(70)).collect();
    if from.is_empty() {
        from.push(&senders[0]);
    }
    if draw.chance(60) {
        from.insert(draw.pick(0, from.len() as u64) as usize, "noise");
    }
    let order = match draw.pick(0, 2) {
        0 => "order = \"sender\"\n",
        1 => "order = \"fifo\"\n",
        _ => "order = \"specified\"\norder-by = \"urgency\"\n",
    };
    let takes = draw.pick(1, 4);
    let sends = draw.pick(1, 2);
    let mut head = channel("asks", "message", &list(&from), "serves");
    if draw.chance(40) {
        head = head.replace("\"Value\"", "[\"Value\", \"Long\"]");
    }
    // Those who lose nothing drop nothing.
    let drops = from.contains(&"noise") && draw.chance(50);
    let overflow = if drops { "overflow = \"drop-oldest\"\n" } else { "" };
    let _ = write!(text, "{head}{order}takes-per-release = {takes}\nsends-per-release = {sends}\n{overflow}");
    if draw.chance(20) {
        let _ = writeln!(text, "capacity = {}", draw.pick(1, 8));
    }
}

/// A request to a task that it releases, to an aperiodic one, or to one that looks at its releases.
fn request(text: &mut String, draw: &mut Draw, senders: &[String]) {
    let to = match draw.pick(0, 9) {
        0..4 => {
            let gap = draw.one_of(&[2, 4, 5]);
            task(text, "informs", &format!("{{ sporadic = \"{gap}ms\", trigger = \"info\" }}"), gap, 120);
            "informs"
        }
        4..6 => {
            server(text, draw, "desk");
            let wcet = draw.pick(60, 900);
            let _ = write!(
                text,
                "[tasks.tells]\narrival = {{ aperiodic = \"info\" }}\nserver = \"desk\"\n\
                 wcet = {{ value = \"{wcet}us\", source = \"guess\" }}\n"
            );
            "tells"
        }
        _ => draw.one(senders).map_or("", String::as_str),
    };
    let callers = &CALLERS[..draw.pick(1, 2) as usize];
    for caller in callers {
        let _ = write!(text, "[tasks.{caller}]\nclass = \"best-effort\"\n");
    }
    let order = draw.one_of(&["sender", "fifo", "specified\"\norder-by = \"urgency"]);
    let reception = draw.one_of(&["poll", "wait"]);
    let (takes, capacity) = (draw.pick(1, 4), draw.pick(1, 6));
    let _ = write!(
        text,
        "{}reply = \"Long\"\norder = \"{order}\"\nreception = \"{reception}\"\ntakes-per-release = {takes}\n\
         capacity = {capacity}\n",
        channel("info", "request", &list(callers), to)
    );
}

/// A broadcast to a task that it releases, to some that look at their releases, and to an observer.
fn broadcast(text: &mut String, draw: &mut Draw, senders: &[String]) {
    let (from, others) = (&senders[0], &senders[1..]);
    let sends = draw.pick(1, 2);
    // A task that each value releases keeps up with two values in the shortest period, 4 ms.
    task(text, "hears", "{ sporadic = \"2ms\", trigger = \"all\" }", 2, 60);
    text.push_str("[tasks.watches]\nclass = \"best-effort\"\n");
    let mut to = vec!["hears", "watches"];
    // The device's task is left out: it looks only when its device releases it, which may be too seldom.
    to.extend(others.iter().map(String::as_str).filter(|name| *name != "senses" && draw.chance(60)));
    let reception = draw.one_of(&["poll", "wait"]);
    let _ = write!(
        text,
        "[channels.all]\nkind = \"broadcast\"\nfrom = \"{from}\"\nto = {}\npayload = \"Value\"\n\
         reception = \"{reception}\"\nsends-per-release = {sends}\ntakes-per-release = 24\n",
        list(&to)
    );
}

fn server(text: &mut String, draw: &mut Draw, name: &str) {
    let policy = draw.one_of(&["polling", "deferrable", "sporadic"]);
    let (budget, period) = (draw.pick(400, 1_200), draw.one_of(&[6, 8, 12]));
    let _ = write!(
        text,
        "[servers.{name}]\npolicy = \"{policy}\"\nbudget = \"{budget}us\"\nperiod = \"{period}ms\"\n"
    );
}

/// A task without a least gap, which values of any rate release.
fn aperiodic(text: &mut String, draw: &mut Draw, senders: &[String]) {
    server(text, draw, "any");
    let wcet = draw.pick(60, 900);
    let of_message = draw.chance(50);
    let triggers = if of_message { "[\"wishes\", \"orders\"]" } else { "\"orders\"" };
    let _ = write!(
        text,
        "[tasks.obeys]\narrival = {{ aperiodic = {triggers} }}\nserver = \"any\"\n\
         wcet = {{ value = \"{wcet}us\", source = \"guess\" }}\n[tasks.asker]\nclass = \"best-effort\"\n"
    );
    let capacity = draw.pick(1, 8);
    let _ = writeln!(text, "{}capacity = {capacity}", channel("orders", "queue", "\"asker\"", "obeys"));
    if of_message {
        let mut from: Vec<&str> = senders.iter().map(String::as_str).filter(|_| draw.chance(50)).collect();
        if from.is_empty() {
            from.push(&senders[0]);
        }
        let order = draw.one_of(&["sender", "fifo"]);
        let (takes, capacity) = (draw.pick(1, 3), draw.pick(1, 5));
        let _ = writeln!(
            text,
            "{}order = \"{order}\"\ntakes-per-release = {takes}\ncapacity = {capacity}",
            channel("wishes", "message", &list(&from), "obeys")
        );
    }
    if draw.chance(50) {
        let _ = write!(
            text,
            "[tasks.listens]\nclass = \"best-effort\"\n{}overflow = \"drop-oldest\"\n",
            channel("answers", "queue", "\"obeys\"", "listens")
        );
    }
}

/// A periodic task in a server.
fn served(text: &mut String, draw: &mut Draw) {
    server(text, draw, "own");
    task(text, "saves", "{ periodic = \"60ms\" }", 60, draw.pick(100, 1_500));
    text.push_str("server = \"own\"\n");
}

fn several_triggers(text: &mut String, draw: &mut Draw, senders: &[String]) {
    let gap = draw.one_of(&[3, 4]);
    let device = if draw.chance(40) { ", device = \"pen\"" } else { "" };
    let triggers = format!("triggers = [\"left\", \"right\"]{device}");
    task(text, "mixes", &format!("{{ sporadic = \"{gap}ms\", {triggers} }}"), gap, 100);
    let from = |at: u64| format!("\"{}\"", senders[at as usize % senders.len()]);
    let (left, right) = (from(draw.pick(0, 9)), from(draw.pick(0, 9)));
    for (name, from) in [("left", left), ("right", right)] {
        let takes = draw.pick(1, 3);
        let _ = writeln!(text, "{}takes-per-release = {takes}", channel(name, "queue", &from, "mixes"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_application() {
        let of = |seed| manifest(&mut Draw::new(seed));
        assert_eq!(of(7), of(7));
        let all: std::collections::HashSet<String> = (0..100).map(of).collect();
        assert!(all.len() > 95, "{}", all.len());
        for part in [
            "fifo",
            "specified",
            "device = \"line\"",
            "device = \"pen\"",
            "triggers",
            "clear",
            "dispatched",
            "to = \"task1\"",
            "\"noise\"]\nto = \"task1\"",
            "alarm",
            "[modes]",
            "restart",
            "[0, 1]",
            "broadcast",
            "record",
            "bulk",
            "recall",
            "Large",
            "views",
            "aperiodic = \"orders\"",
            "\"wishes\"",
            "server = \"own\"",
            "polling",
            "reply = \"Long\"",
            "to = \"informs\"",
            "to = \"tells\"",
            "[\"Value\", \"Long\"]",
            "sends-per-release = 2\noverflow = \"drop-oldest\"",
            "\"queries\"]",
        ] {
            assert!(all.iter().any(|text| text.contains(part)), "{part}");
        }
    }
}
