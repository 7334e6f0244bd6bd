// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A bench records values as a run does: those of tasks, and those of the parties that the test plays. A replay of the code finds
//! the same.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::path::Path;

use app::{each, plan};
use taut_boot::LoadedPlan;
use taut_event::Interaction;
use taut_event::values::{RecordedValues, VALUES_FILE};
use taut_plan::ValidPlan;
use taut_run::bench::{Bench, ExecutionTime};
use taut_run::{App, Context, Error, Failure, ReplayConfig};
use taut_time::Duration;

/// `adds` sums up what two best-effort tasks and a client say; `hears` gets the sums.
const TABLES: &str = "[payloads]\nWord = { type = \"u64\" }\n[clients.ui]\n\
    [tasks.first]\nclass = \"best-effort\"\n[tasks.second]\nclass = \"best-effort\"\n\
    [tasks.adds]\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\n\
    wcet = { value = \"1ms\", source = \"guess\" }\ncore = 0\npriority = 40\n\
    [tasks.hears]\narrival = { periodic = \"10ms\" }\ndeadline = \"10ms\"\n\
    wcet = { value = \"1ms\", source = \"guess\" }\ncore = 0\npriority = 30\n\
    [channels.one]\nkind = \"queue\"\nfrom = \"first\"\nto = \"adds\"\npayload = \"Word\"\nrecord = true\ncapacity = 8\n\
    [channels.two]\nkind = \"queue\"\nfrom = \"second\"\nto = \"adds\"\npayload = \"Word\"\nrecord = true\ncapacity = 8\n\
    [channels.gain]\nkind = \"state\"\nfrom = \"ui\"\nto = \"adds\"\npayload = \"Word\"\nrecord = true\n\
    [channels.sum]\nkind = \"state\"\nfrom = \"adds\"\nto = \"hears\"\npayload = \"Word\"\nrecord = true\n";

fn set_up(app: &mut App<'_>) -> Result<(), Error> {
    for (task, channel) in [("first", "one"), ("second", "two")] {
        app.best_effort(task, |create| {
            let mut queue = create.queue_writer::<u64>(channel)?;
            Ok(move |context: &mut Context<'_>| _ = queue.send(context, 0))
        })?;
    }
    app.task("adds", |create| {
        let (mut one, mut two) = (create.queue_reader::<u64>("one")?, create.queue_reader::<u64>("two")?);
        let (mut gain, mut writer) = (create.state_reader::<u64>("gain")?, create.state_writer("sum")?);
        let mut sum = 0_u64;
        Ok(each(move |job| {
            let gain = gain.latest(job).unwrap_or(1);
            while let Some(word) = one.receive(job).or_else(|| two.receive(job)) {
                sum = sum.wrapping_mul(31).wrapping_add(word * gain);
            }
            sum ^= job.now().as_ns() ^ job.used().as_ns();
            writer.publish(job, sum).map_err(|_| Failure::Code(1))
        }))
    })?;
    app.task("hears", |create| {
        let mut sum = create.state_reader::<u64>("sum")?;
        Ok(each(move |job| sum.latest(job).map(drop).ok_or(Failure::Code(2))))
    })
}

fn bench(folder: &Path) -> Bench {
    let (plan, manifest) = plan(TABLES);
    std::fs::write(folder.join("taut.toml"), manifest).unwrap();
    let text = plan.to_lock().unwrap();
    std::fs::write(folder.join("taut.lock"), &text).unwrap();
    Bench::with_plan(LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text }, set_up).unwrap().seed(3)
}

/// Half a second in which all parties act in turns.
fn recorded(folder: &Path) -> Vec<u8> {
    let mut bench = bench(folder);
    let time = Duration::from_us(100)..=Duration::from_ms(1);
    bench.execution("adds", ExecutionTime::uniform(time)).unwrap();
    bench.record_values().unwrap();
    let mut number = 0_u64;
    bench
        .every(Duration::from_ms(3), move |parties| {
            number += 1;
            parties.task("first").send("one", number)?;
            parties.client("ui").publish("gain", number % 5)?;
            parties.task("second").send("two", number * 100)?;
            parties.task("first").send("one", number * 1_000)
        })
        .unwrap();
    bench.run_for(Duration::from_ms(500)).unwrap();
    bench.recorded_values().unwrap()
}

#[test]
fn a_bench_records_what_a_replay_needs() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = recorded(folder.path());
    assert_eq!(bytes, recorded(folder.path()), "one seed, one file");
    let values = folder.path().join(VALUES_FILE);
    std::fs::write(&values, &bytes).unwrap();
    let config = ReplayConfig {
        lock: folder.path().join("taut.lock"),
        recorded: values,
        replayed: folder.path().join("replayed.mcap"),
    };
    taut_run::replay(&config, set_up).unwrap();
    let was = RecordedValues::from_bytes(&bytes).unwrap();
    let again = std::fs::read(&config.replayed).unwrap();
    let is = RecordedValues::from_bytes(&again).unwrap();
    // `hears` sends nothing.
    let tasks: Vec<u16> = was.tasks.iter().map(|task| task.task).collect();
    assert_eq!((was.lost, tasks), (0, vec![2]));
    let sent = |values: &RecordedValues<'_>| -> Vec<(u64, Vec<u8>)> {
        let all = values.tasks[0].jobs.iter().flat_map(|job| &job.interactions);
        let sent = all.filter_map(|of| match of.interaction {
            Interaction::Sent { number, .. } => Some((number, of.value?.to_vec())),
            _ => None,
        });
        sent.collect()
    };
    assert_eq!((sent(&was).len(), sent(&was)), (100, sent(&is)));
}

#[test]
fn values_count_from_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = bench(folder.path());
    let refused = bench.recorded_values().unwrap_err().to_string();
    assert!(refused.contains("no values are recorded"), "{refused}");
    assert!(bench.task("first").send("one", 1_u64).unwrap());
    let refused = bench.record_values().unwrap_err().to_string();
    assert!(refused.contains("from the beginning of a run"), "{refused}");
}
