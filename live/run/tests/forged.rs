// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications booted from plans that somebody changed, with a digest that fits: boot refuses the plan with an
//! error, or the application runs to its end. Nothing panics, and no two objects share memory.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use app::plain::{Quiet, planned};
use app::{TURN, each};
use taut_plan::{Mechanism, Plan, PlanTextError};
use taut_run::{App, Component, Config, Error, Failure, Job, Receiver};
use taut_time::Duration;

const WAIT_FREE: &str = r#"manifest = 1
app.name = "forged"
[platform]
cores = [0]
memory = "32MiB"
on-missing-privilege = "degrade"
[payloads]
Word = { type = "u64" }
[services.pair]
persistent = "4KiB"
[tasks.first]
service = "pair"
arrival = { periodic = "1ms" }
deadline = "1ms"
wcet = { value = "50us", source = "guess" }
memory = { persistent = "1KiB", release = "1KiB" }
[tasks.second]
arrival = { sporadic = "1ms", trigger = "words" }
deadline = "2ms"
wcet = { value = "50us", source = "guess" }
on-overrun = "run-on"
memory = { release = "1KiB" }
[tasks.third]
arrival = { periodic = "2ms" }
deadline = "2ms"
wcet = { value = "50us", source = "guess" }
[clients.screen]
[channels.words]
kind = "queue"
from = "first"
to = "second"
payload = "Word"
[channels.newest]
kind = "state"
from = "first"
to = "third"
payload = "Word"
[channels.shown]
kind = "state"
from = "third"
to = "screen"
payload = "Word"
"#;

/// The resource that makes the application dispatched.
const DISPATCHED: &str = "[resources.bus]\n";

fn manifest(dispatched: bool) -> String {
    if !dispatched {
        return WAIT_FREE.to_owned();
    }
    let section = "sections = [{ resource = \"bus\", longest = \"5us\" }]\n";
    let text = WAIT_FREE.replacen("[tasks.second]\n", &format!("{section}[tasks.second]\n"), 1);
    let text = text.replacen("[clients.screen]\n", &format!("{section}[clients.screen]\n"), 1);
    text.replacen("[services.pair]", &format!("{DISPATCHED}[services.pair]"), 1)
}

struct Take;

impl Component for Take {}

impl Receiver<u64> for Take {
    fn receive(&mut self, _: &mut Job<'_>, value: u64) -> Result<(), Failure> {
        // Only values from `first` come this way.
        assert_eq!(value >> 32, 7);
        Ok(())
    }
}

/// The task `first` fills its scopes with bytes of its own, and checks the persistent scopes in every job.
fn code(app: &mut App<'_>, dispatched: bool) -> Result<(), Error> {
    if dispatched {
        app.resource("bus", 0u64)?;
    }
    app.service("pair", |service| {
        let all = service.scope().slice(4_096, 1u8).map_err(|_| Error::Unused("scope".to_owned()))?;
        service.task("first", |create| {
            let own = create.scope().slice(1_024, 2u8).map_err(|_| Error::Unused("scope".to_owned()))?;
            let (mut words, mut newest) =
                (create.queue_writer::<u64>("words")?, create.state_writer::<u64>("newest")?);
            if dispatched {
                create.resource::<u64>("bus")?;
            }
            Ok(each(move |job| {
                job.scope().slice(1_024, 3u8)?.fill(3);
                assert!(all.iter().all(|byte| *byte == 1) && own.iter().all(|byte| *byte == 2));
                let value = 7 << 32 | job.number();
                let _ = words.send(job, value);
                let _ = newest.publish(job, value);
                Ok(())
            }))
        })
    })?;
    app.receiver::<u64, _>("second", |_| Ok(Take))?;
    app.task("third", |create| {
        if dispatched {
            create.resource::<u64>("bus")?;
        }
        let (mut newest, mut shown) =
            (create.state_reader::<u64>("newest")?, create.state_writer::<u64>("shown")?);
        Ok(each(move |job| {
            if let Some(value) = newest.latest(job) {
                assert_eq!(value >> 32, 7);
                let _ = shown.publish(job, value);
            }
            Ok(())
        }))
    })
}

/// The text of a plan with one to three values replaced, and a digest that fits; `None` if the text cannot be
/// parsed.
fn forged(text: &str, random: &mut impl FnMut(usize) -> usize) -> Option<String> {
    const OTHERS: [&str; 10] = [
        "0",
        "1",
        "128",
        "4294967295",
        "9223372036854775807",
        "\"1ns\"",
        "\"18446744073709551615ns\"",
        "\"0ns\"",
        "true",
        "false",
    ];
    let mut text = text.to_owned();
    for _ in 0..=random(3) {
        // The places of the values, each behind a `=`.
        let values: Vec<(usize, usize)> = text
            .match_indices(" = ")
            .map(|(at, _)| at + 3)
            .map(|at| {
                let rest = &text[at..];
                let end = match rest.strip_prefix('"') {
                    Some(rest) => rest.find('"').unwrap_or(0) + 2,
                    None => rest.find([',', ' ', '\n', ']', '}']).unwrap_or(rest.len()),
                };
                (at, at + end)
            })
            .collect();
        let (from, to) = values[random(values.len())];
        let other = match random(3) {
            0 => OTHERS[random(OTHERS.len())].to_owned(),
            _ => {
                let (from, to) = values[random(values.len())];
                text[from..to].to_owned()
            }
        };
        text.replace_range(from..to, &other);
    }
    match Plan::from_lock(&text) {
        Ok(plan) => plan.to_lock().ok(),
        Err(PlanTextError::Edited(plan)) => plan.to_lock().ok(),
        Err(_) => None,
    }
}

#[test]
fn plans_that_were_changed_are_refused_or_harmless() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for dispatched in [false, true] {
        let manifest = manifest(dispatched);
        let text = planned(&manifest).to_lock().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("taut.toml"), &manifest).unwrap();
        let lock = folder.path().join("taut.lock");
        let (mut run, mut refused) = (0, 0);
        while run + refused < 60 {
            let Some(text) = forged(&text, &mut random) else { continue };
            std::fs::write(&lock, &text).unwrap();
            let config = Config {
                lock: lock.clone(),
                out: None,
                duration: Some(Duration::from_ms(4)),
                spawned_ns: None,
                record_limit: None,
                applications: None,
            };
            match taut_run::run(&config, &mut Quiet, |app| code(app, dispatched)) {
                Ok(_) => run += 1,
                Err(_) => refused += 1,
            }
        }
        assert!(run > 5 && refused > 10, "{run} run, {refused} refused");
    }
}

/// A directory that lies: it names, for a client that reads, mechanisms whose readers store words. The client maps the
/// region read-only, so it refuses to make an end, and does not fault.
#[test]
fn a_client_reads_no_mechanism_whose_readers_store() {
    use taut_plan::ClientReads;
    use taut_run::{Attachment, EndError};
    use taut_segment::{ChannelEntry, Owner, Role, attach_in};

    let folder = tempfile::Builder::new().prefix("taut").tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o711);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    let entry = |(at, mechanism): (u64, Mechanism)| ChannelEntry {
        channel: mechanism.word().to_owned(),
        role: Role::Reads,
        mechanism: mechanism.word().to_owned(),
        layout: <u64 as taut_run::Payload>::layout(),
        value_size: 8,
        capacity: 4,
        readers: 1,
        offset: 8192 * (at + 1),
        size: 8192,
        triggered: false,
        event_count: None,
        history: 0,
        service: None,
        reservation: None,
    };
    let entries: Vec<_> = (0..).zip(Mechanism::ALL).map(entry).collect();
    let size = 8192 * (Mechanism::ALL.len() as u64 + 1);
    let owner =
        Owner::create_in(folder.path(), "liar", size, vec![("ui".to_owned(), entries)], None).unwrap();
    let attachment = Attachment::new(attach_in(folder.path(), "liar", "ui").unwrap());
    for mechanism in Mechanism::ALL {
        let word = mechanism.word();
        let end = attachment.end::<u64>(word, Role::Reads);
        // Blocks have an end of their own, which needs a reservation.
        let blocks = attachment.block_receiver::<u64>(word).map(drop);
        assert_eq!(blocks, Err(EndError::Mechanism(word.to_owned())), "{word}");
        if mechanism.clients_read() == ClientReads::StoringNothing && mechanism != Mechanism::ReservedBulk {
            let mut end = end.unwrap();
            assert!(end.latest().is_ok() && end.receive().is_none(), "{word}");
        } else {
            assert_eq!(end.unwrap_err(), EndError::Mechanism(word.to_owned()));
        }
    }
    owner.end().unwrap();
}
