// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that move blocks are recorded on real threads, and their code runs again with the same blocks: it sends the same, to the
//! last byte that it did not write. A change of the code shows at the first block that differs.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::path::Path;

use app::{Observed, TURN, each, plan};
use taut_event::file::Run;
use taut_event::values::{RecordedJob, RecordedTask, RecordedValues, VALUES_FILE};
use taut_event::{Counter, Interaction, Kind, Record, Refusal};
use taut_run::{
    App, BlockSender, Config, Context, Error, Failure, Job, LoanRefused, RECORDING, ReplayConfig,
};
use taut_time::Duration;

/// A block of 16 KiB.
const WORDS: usize = 2 << 10;
type Block = [u64; WORDS];

/// `camera` sends `images` to `detect`, which they release, `film` and `stills` to `other`, which takes one now and then; `detect`
/// publishes what it found.
fn tables(executor: &str) -> String {
    let task = |name: &str, arrival: &str, priority: u32| {
        format!(
            "[tasks.{name}]\narrival = {{ {arrival} }}\ndeadline = \"5ms\"\n\
             wcet = {{ value = \"200us\", source = \"guess\" }}\ncore = 0\npriority = {priority}\n"
        )
    };
    let bulk = |name: &str, to: &str, keys: &str| {
        format!(
            "[channels.{name}]\nkind = \"bulk\"\nfrom = \"camera\"\nto = \"{to}\"\npayload = \"Block\"\nrecord = true\n{keys}"
        )
    };
    [
        executor,
        &format!(
            "\n[payloads]\nBlock = {{ type = \"u64\", len = {WORDS} }}\nWord = {{ type = \"u64\", len = 1 }}\n"
        ),
        &task("camera", "periodic = \"5ms\"", 20),
        &task("detect", "sporadic = \"5ms\", trigger = \"images\"", 40),
        "[tasks.other]\nclass = \"best-effort\"\n",
        &bulk("images", "detect", "capacity = 4\n"),
        &bulk("film", "other", "overflow = \"recall\"\ncapacity = 3\n"),
        &bulk("stills", "other", "capacity = 3\nsends-per-release = 2\n"),
        "[channels.found]\nkind = \"state\"\nfrom = \"detect\"\nto = \"other\"\npayload = \"Word\"\nrecord = true\n",
    ]
    .concat()
}

const CAMERA: u16 = 0;
const DETECT: u16 = 1;
const IMAGES: u16 = 0;

/// Changes one word of a block, so that all others are what was left in it, and sends it.
fn send(
    end: &mut BlockSender<'_, Block>,
    job: &mut Job<'_>,
    (number, sum): (u64, u64),
) -> Result<u64, LoanRefused> {
    let mut block = end.loan(job)?;
    let recalled = block.recalled().unwrap_or(0);
    let at = number as usize % WORDS;
    block[at] = block[at].wrapping_mul(31).wrapping_add(sum ^ recalled);
    let number = block.send(job);
    Ok(sum.wrapping_mul(31) ^ recalled ^ number)
}

/// From job `off_from` on, the camera writes one too many.
fn set_up(app: &mut App<'_>, off_from: u64) -> Result<(), Error> {
    app.task("camera", |create| {
        let (mut images, mut film) = (create.block_sender::<Block>("images")?, create.block_sender("film")?);
        let mut stills = create.block_sender("stills")?;
        let mut sum = 0u64;
        Ok(each(move |job| {
            let number = job.number();
            // A loan that goes back unsent, with a word that the next one finds.
            images.loan(job).map_err(|_| Failure::Code(1))?[WORDS - 1] = number;
            let off = u64::from(number >= off_from);
            send(&mut images, job, (number, sum.wrapping_add(off))).map_err(|_| Failure::Code(2))?;
            sum = send(&mut film, job, (number, sum)).map_err(|_| Failure::Code(3))?;
            for _ in 0..3 {
                // Refused for want of a block, and the third time for the job's limit.
                sum = sum.wrapping_add(match send(&mut stills, job, (number, sum)) {
                    Ok(sum) => sum,
                    Err(LoanRefused::NoBlock) => 1,
                    Err(LoanRefused::TooMany) => 2,
                });
            }
            Ok(())
        }))
    })?;
    app.task("detect", |create| {
        let mut images = create.block_receiver::<Block>("images")?;
        let (mut found, mut sum) = (create.state_writer::<u64>("found")?, 0u64);
        Ok(each(move |job| {
            while let Some(image) = images.next(job) {
                sum = image.iter().fold(sum ^ image.number(), |sum, word| sum.wrapping_mul(31) ^ word);
            }
            found.publish(job, sum ^ images.lost()).map_err(|_| Failure::Code(4))
        }))
    })?;
    app.best_effort("other", |create| {
        let (mut film, mut stills) =
            (create.block_receiver::<Block>("film")?, create.block_receiver::<Block>("stills")?);
        let mut found = create.state_reader::<u64>("found")?;
        Ok(move |context: &mut Context<'_>| {
            while context.sleep(Duration::from_ms(23)) {
                drop(film.next(context));
                drop(stills.next(context));
                found.latest(context);
            }
        })
    })
}

/// Records a run of the application on real threads into `folder`.
fn record(folder: &Path, executor: &str) -> Vec<u8> {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (plan, manifest) = plan(&tables(executor));
    std::fs::write(folder.join("taut.toml"), manifest).unwrap();
    let lock = folder.join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let config = Config {
        lock,
        out: Some(folder.to_owned()),
        duration: Some(Duration::from_ms(300)),
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let ending = taut_run::run(&config, &mut Observed::default(), |app| set_up(app, u64::MAX)).unwrap();
    assert!(ending.orderly);
    // Recording uses no heap and takes no page fault on a real-time thread.
    let run = Run::from_bytes(&std::fs::read(folder.join(RECORDING)).unwrap()).unwrap();
    let used = |record: &&Record| {
        let counted =
            [Counter::HeapUse, Counter::MajorFaults, Counter::MinorFaults].map(|count| count as u64);
        let of_task = record.kind == Kind::Counted && [CAMERA, DETECT].contains(&record.subject);
        record.kind == Kind::HeapUsed || of_task && counted.contains(&record.job) && record.value > 0
    };
    assert_eq!(run.records.iter().filter(used).collect::<Vec<_>>(), Vec::<&Record>::new());
    std::fs::read(folder.join(VALUES_FILE)).unwrap()
}

/// Replays the code, and returns the file that the replay writes.
fn replay(folder: &Path, off_from: u64) -> Vec<u8> {
    let config = ReplayConfig {
        lock: folder.join("taut.lock"),
        recorded: folder.join(VALUES_FILE),
        replayed: folder.join("replayed.mcap"),
    };
    taut_run::replay(&config, |app| set_up(app, off_from)).unwrap();
    std::fs::read(&config.replayed).unwrap()
}

/// What the jobs of a task did: each block that they got and sent, with its bytes, and how they ended.
fn done(task: &RecordedTask<'_>) -> Vec<String> {
    let of_job = |job: &RecordedJob<'_>| {
        let of: Vec<String> = job
            .interactions
            .iter()
            .map(|of| match of.interaction {
                // A replay counts what it reads.
                Interaction::Received { channel, lost, .. } => format!("received {channel} {lost}"),
                Interaction::Sent { .. } => format!("{:?} {:?}", of.interaction, of.value),
                other => format!("{other:?}"),
            })
            .collect();
        format!("job {}: {of:?} {:?}", job.job, job.outcome)
    };
    task.jobs.iter().map(of_job).collect()
}

fn count(task: &RecordedTask<'_>, wanted: fn(&Interaction) -> bool) -> usize {
    task.jobs.iter().flat_map(|job| &job.interactions).filter(|of| wanted(&of.interaction)).count()
}

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"\n")];

#[test]
fn the_same_code_fills_the_same_blocks() {
    for (name, executor) in EXECUTORS {
        let folder = tempfile::tempdir().unwrap();
        let recorded = record(folder.path(), executor);
        let recorded = RecordedValues::from_bytes(&recorded).unwrap();
        let replayed = replay(folder.path(), u64::MAX);
        let replayed = RecordedValues::from_bytes(&replayed).unwrap();
        let tasks: Vec<u16> = recorded.tasks.iter().map(|task| task.task).collect();
        assert_eq!((recorded.lost, tasks), (0, vec![CAMERA, DETECT]), "{name}");
        for (was, is) in recorded.tasks.iter().zip(&replayed.tasks) {
            assert!(was.jobs.len() > 40, "{name}: {} jobs", was.jobs.len());
            let (was, is) = (done(was), done(is));
            let differs = was.iter().zip(&is).find(|(was, is)| was != is);
            assert!(differs.is_none() && was.len() == is.len(), "{name}: {:?}", differs.map(|of| of.0));
        }
        let camera = &recorded.tasks[0];
        let recalls = count(camera, |of| matches!(of, Interaction::Lent { recalled: 1.., .. }));
        let refused = |too_many| match too_many {
            true => count(camera, |of| matches!(of, Interaction::Refused { why: Refusal::TooMany, .. })),
            false => count(camera, |of| matches!(of, Interaction::Refused { why: Refusal::Full, .. })),
        };
        assert!(recalls > 10 && refused(false) > 10 && refused(true) > 0, "{name}: {recalls}");
        // Blocks that were lent are not always the same, and what was left in them is seen again.
        let blocks: std::collections::BTreeSet<u8> = camera
            .jobs
            .iter()
            .flat_map(|job| &job.interactions)
            .filter_map(|of| match of.interaction {
                Interaction::Lent { block, .. } => Some(block),
                _ => None,
            })
            .collect();
        assert!(blocks.len() > 1, "{name}: {blocks:?}");
        let got = |task: &RecordedTask<'_>| count(task, |of| matches!(of, Interaction::Received { .. }));
        assert!(got(&recorded.tasks[1]) > 40, "{name}");
    }
}

/// One too many from job 20 on: the first blocks are equal, the 21st differs in one word, and what `detect` did with the recorded
/// ones stays as it was.
#[test]
fn an_off_by_one_shows_at_its_first_block() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = record(folder.path(), "");
    let recorded = RecordedValues::from_bytes(&recorded).unwrap();
    let replayed = replay(folder.path(), 20);
    let replayed = RecordedValues::from_bytes(&replayed).unwrap();
    assert_eq!(done(&recorded.tasks[1]), done(&replayed.tasks[1]));
    let images = |values: &RecordedValues<'_>| -> Vec<Vec<u64>> {
        let of = values.tasks[0].jobs.iter().flat_map(|job| &job.interactions);
        of.filter(|of| matches!(of.interaction, Interaction::Sent { channel: IMAGES, .. }))
            .map(|of| {
                let (words, _) = of.value.unwrap().as_chunks::<8>();
                words.iter().map(|word| u64::from_le_bytes(*word)).collect()
            })
            .collect()
    };
    let (was, is) = (images(&recorded), images(&replayed));
    let first = was.iter().zip(&is).position(|(was, is)| was != is);
    assert_eq!((was.len(), first), (is.len(), Some(20)));
    let words: Vec<usize> = (0..WORDS).filter(|at| was[20][*at] != is[20][*at]).collect();
    assert_eq!(words, [20]);
}
