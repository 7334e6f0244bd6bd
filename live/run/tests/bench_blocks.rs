// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bulk channels in virtual time: the same ends, both rules for a sender without a free block, and ends that a test plays.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::mem;
use std::sync::{Arc, Mutex};

use app::{each, plan};
use taut_boot::LoadedPlan;
use taut_event::{Kind, Record};
use taut_plan::ValidPlan;
use taut_run::bench::{Bench, PartyCaller};
use taut_run::{App, BlockReceiver, BlockSender, Caller, Context, Error, LoanRefused};
use taut_time::Duration;

/// A block of 16 KiB.
const WORDS: usize = 2 << 10;
type Block = [u64; WORDS];

fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

/// `camera` sends at 1, 11, 21 ms and so on, when its job ends, or `other` does; `detect` or `other` receives.
fn tables(detect: &str, from: &str, to: &str, keys: &str) -> String {
    format!(
        "[payloads]\nBlock = {{ type = \"u64\", len = {WORDS} }}\n\
         [tasks.camera]\narrival = {{ periodic = \"10ms\" }}\ndeadline = \"10ms\"\n\
         wcet = {{ value = \"1ms\", source = \"guess\" }}\ncore = 0\npriority = 30\n\
         [tasks.detect]\narrival = {{ {detect} }}\ndeadline = \"5ms\"\n\
         wcet = {{ value = \"2ms\", source = \"guess\" }}\ncore = 0\npriority = 20\n\
         [tasks.other]\nclass = \"best-effort\"\n\
         [channels.blocks]\nkind = \"bulk\"\nfrom = \"{from}\"\nto = \"{to}\"\npayload = \"Block\"\n{keys}"
    )
}

const PERIODIC: &str = "periodic = \"10ms\"";
const TRIGGERED: &str = "sporadic = \"5ms\", trigger = \"blocks\"";

fn bench(tables: &str, setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> Bench {
    let plan = plan(tables).0;
    let text = plan.to_lock().unwrap();
    Bench::with_plan(LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text }, setup).unwrap()
}

/// What the jobs of a task note: room for all of it, as jobs use no heap.
type Noted<T> = Arc<Mutex<Vec<T>>>;

fn noted<T>() -> Noted<T> {
    Arc::new(Mutex::new(Vec::with_capacity(256)))
}

fn all<T: Clone>(of: &Noted<T>) -> Vec<T> {
    of.lock().unwrap().clone()
}

/// Fills the next block and sends it, if there is one; returns which one was taken back for it, or why there is none.
fn send(
    blocks: &mut BlockSender<'_, Block>,
    next: &mut u64,
    by: &mut impl Caller,
) -> Result<Option<u64>, LoanRefused> {
    let mut block = blocks.loan(by)?;
    let recalled = block.recalled();
    block.fill(*next);
    assert_eq!(block.send(by), *next);
    *next += 1;
    Ok(recalled)
}

/// Takes all blocks that there are for `by`, each whole, and notes their numbers.
fn take(blocks: &mut BlockReceiver<'_, Block>, by: &mut impl Caller, mut note: impl FnMut(u64)) {
    while let Some(block) = blocks.next(by) {
        assert!(block.iter().all(|word| *word == block.number()), "torn: {}", block[0]);
        note(block.number());
    }
}

/// A sender of one block a job, which notes what became of each request.
fn camera(app: &mut App<'_>, said: &Noted<Result<Option<u64>, LoanRefused>>) -> Result<(), Error> {
    let said = Arc::clone(said);
    app.task("camera", |create| {
        let (mut blocks, mut next) = (create.block_sender::<Block>("blocks")?, 1);
        Ok(each(move |job| {
            said.lock().unwrap().push(send(&mut blocks, &mut next, job));
            Ok(())
        }))
    })
}

fn detect(app: &mut App<'_>, taken: &Noted<(u64, u64)>) -> Result<(), Error> {
    let taken = Arc::clone(taken);
    app.task("detect", |create| {
        let mut blocks = create.block_receiver::<Block>("blocks")?;
        Ok(each(move |job| {
            let number = job.number();
            take(&mut blocks, job, |block| taken.lock().unwrap().push((number, block)));
            Ok(())
        }))
    })
}

fn idle(app: &mut App<'_>, task: &str) -> Result<(), Error> {
    app.task(task, |_| Ok(each(|_| Ok(()))))
}

/// What `other` does with the channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Sends,
    Receives,
    Nothing,
}

/// The code of a best-effort task does not run in a bench, but it makes its ends.
fn played(app: &mut App<'_>, role: Role) -> Result<(), Error> {
    app.best_effort("other", |create| {
        if role == Role::Sends {
            create.block_sender::<Block>("blocks")?;
        }
        if role == Role::Receives {
            create.block_receiver::<Block>("blocks")?;
        }
        Ok(|_: &mut Context<'_>| panic!("it does not run"))
    })
}

/// The events of a channel: the only one of the plan.
fn of(bench: &Bench, kind: Kind) -> Vec<Record> {
    bench.records().iter().copied().filter(|record| record.kind == kind).collect()
}

/// What `other` takes now.
fn received(bench: &mut Bench) -> Vec<u64> {
    let mut numbers = Vec::new();
    let taken = |blocks: &mut BlockReceiver<'_, Block>, by: &mut PartyCaller| {
        take(blocks, by, |number| numbers.push(number));
    };
    bench.task("other").receive_blocks("blocks", taken).unwrap();
    numbers
}

fn lost(bench: &mut Bench) -> u64 {
    let lost = |blocks: &mut BlockReceiver<'_, Block>, _: &mut PartyCaller| blocks.lost();
    bench.task("other").receive_blocks("blocks", lost).unwrap()
}

/// A block releases its receiver at the instant at which it was sent, and is whole; a test watches what is sent.
#[test]
fn blocks_move_between_real_time_tasks() {
    for (arrival, first) in [(TRIGGERED, 3), (PERIODIC, 3)] {
        let (said, taken) = (noted(), noted());
        let mut bench = bench(&tables(arrival, "camera", "detect", ""), |app| {
            camera(app, &said)?;
            detect(app, &taken)?;
            played(app, Role::Nothing)
        });
        bench.watch("blocks").unwrap();
        bench.run_for(ms(100)).unwrap();
        assert_eq!(all(&said), vec![Ok(None); 10], "{arrival}");
        assert_eq!(all(&taken), (0..10).map(|job| (job, job + 1)).collect::<Vec<_>>(), "{arrival}");
        let sent = bench.sent::<Block>("blocks").unwrap();
        assert!(sent.iter().all(|sent| sent.value == [sent.number; WORDS]));
        let sent: Vec<_> = sent.iter().map(|sent| (sent.at, sent.number)).collect();
        assert_eq!(sent, (0..10).map(|job| (ms(job * 10 + 1), job + 1)).collect::<Vec<_>>());
        let receives = of(&bench, Kind::Receive);
        assert_eq!(receives.len(), 10);
        // The receiver's job ends 2 ms after the send, and there its code runs.
        assert!(receives.iter().all(|record| record.value == (first - 1) * 1_000_000), "{receives:?}");
        bench.end().unwrap();
    }
}

/// A sender that recalls takes the oldest block back each time, is told which, and never the one that its receiver has.
#[test]
fn the_oldest_is_recalled_and_told() {
    let said = noted();
    let keys = "overflow = \"recall\"\ncapacity = 3\n";
    let mut bench = bench(&tables(PERIODIC, "camera", "other", keys), |app| {
        camera(app, &said)?;
        idle(app, "detect")?;
        played(app, Role::Receives)
    });
    bench.run_for(ms(80)).unwrap();
    let recalled = |numbers: std::ops::RangeInclusive<u64>| numbers.map(|number| Ok(Some(number)));
    let expected = [Ok(None); 3].into_iter().chain(recalled(1..=5)).collect::<Vec<_>>();
    assert_eq!(all(&said), expected);
    assert_eq!((received(&mut bench), lost(&mut bench)), (vec![6, 7, 8], 5));
    assert_eq!(of(&bench, Kind::Drop).iter().map(|record| record.value).sum::<u64>(), 5);

    // Blocks 9 to 11 wait, and the party keeps the first.
    bench.run_for(ms(30)).unwrap();
    let keep = |blocks: &mut BlockReceiver<'_, Block>, by: &mut PartyCaller| {
        let block = blocks.next(by).unwrap();
        let number = block.number();
        mem::forget(block);
        number
    };
    assert_eq!(bench.task("other").receive_blocks("blocks", keep).unwrap(), 9);
    bench.run_for(ms(30)).unwrap();
    assert_eq!(all(&said)[11..], [Ok(Some(10)), Ok(Some(11)), Ok(Some(12))]);
    assert_eq!((received(&mut bench), lost(&mut bench)), (vec![13, 14], 8));
    // All three are back.
    bench.run_for(ms(40)).unwrap();
    assert_eq!(all(&said)[14..], [Ok(None), Ok(None), Ok(None), Ok(Some(15))]);
}

/// A sender that may not recall gets no block, loses none that it has sent, and gets one again once its receiver has taken.
#[test]
fn a_sender_without_a_block_is_refused() {
    let said = noted();
    let mut bench = bench(&tables(PERIODIC, "camera", "other", "capacity = 3\n"), |app| {
        camera(app, &said)?;
        idle(app, "detect")?;
        played(app, Role::Receives)
    });
    bench.run_for(ms(50)).unwrap();
    assert_eq!(all(&said)[3..], [Err(LoanRefused::NoBlock); 2]);
    assert_eq!(received(&mut bench), [1, 2, 3]);
    bench.run_for(ms(30)).unwrap();
    assert_eq!(all(&said)[5..], [Ok(None); 3]);
    assert_eq!((received(&mut bench), lost(&mut bench)), (vec![4, 5, 6], 0));
    assert_eq!(of(&bench, Kind::Drop).len(), 2);
}

/// A test plays the sender: blocks release the receiver at the gap that its plan says, and the test is refused more.
#[test]
fn a_test_plays_a_sender() {
    let taken = noted();
    let mut bench = bench(&tables(TRIGGERED, "other", "detect", "capacity = 3\n"), |app| {
        idle(app, "camera")?;
        detect(app, &taken)?;
        played(app, Role::Sends)
    });
    let mut next = 1;
    let mut fill = |blocks: &mut BlockSender<'_, Block>, by: &mut PartyCaller| {
        // A loan that is dropped costs nothing.
        drop(blocks.loan(by).unwrap());
        let mut sent = Vec::new();
        while sent.len() < 10 && send(blocks, &mut next, by).is_ok() {
            sent.push(next - 1);
        }
        sent
    };
    assert_eq!(bench.task("other").send_blocks("blocks", &mut fill).unwrap(), [1, 2, 3]);
    bench.run_for(ms(4)).unwrap();
    assert_eq!(bench.task("other").send_blocks("blocks", &mut fill).unwrap(), [4]);
    bench.run_for(ms(30)).unwrap();
    assert_eq!(all(&taken), [(0, 1), (1, 2), (2, 3), (3, 4)]);
    let releases: Vec<u64> = of(&bench, Kind::Release)
        .iter()
        .filter(|record| record.subject == 1)
        .map(|record| record.at.as_ns() / 1_000_000 - 1_000)
        .collect();
    assert_eq!(releases, [0, 5, 10, 15]);
    // A party that finds none free loses nothing: it may ask again.
    assert!(of(&bench, Kind::Drop).is_empty());
}

/// A test plays a client: it has one block at a time, which the sender does without, and loses what is taken back.
#[test]
fn a_test_plays_a_client() {
    let said = noted();
    let clients = "[clients.panel]\n[channels.blocks]";
    let tables = tables(PERIODIC, "camera", "panel", "overflow = \"recall\"\n");
    let mut bench = bench(&tables.replace("[channels.blocks]", clients), |app| {
        camera(app, &said)?;
        idle(app, "detect")?;
        app.best_effort("other", |_| Ok(|_: &mut Context<'_>| ()))
    });
    let numbers = |blocks: &mut BlockReceiver<'_, Block>, by: &mut PartyCaller| {
        let mut numbers = Vec::new();
        take(blocks, by, |number| numbers.push(number));
        (numbers, blocks.lost())
    };
    bench.run_for(ms(50)).unwrap();
    assert_eq!(all(&said), [Ok(None), Ok(None), Ok(None), Ok(Some(1)), Ok(Some(2))]);
    assert_eq!(bench.client("panel").receive_blocks("blocks", numbers).unwrap(), (vec![3, 4, 5], 2));
    bench.run_for(ms(10)).unwrap();
    // It keeps a block.
    let keep = |blocks: &mut BlockReceiver<'_, Block>, by: &mut PartyCaller| {
        let block = blocks.next(by).unwrap();
        let number = block.number();
        mem::forget(block);
        number
    };
    assert_eq!(bench.client("panel").receive_blocks("blocks", keep).unwrap(), 6);
    bench.run_for(ms(40)).unwrap();
    assert_eq!(all(&said)[5..], [Ok(None), Ok(None), Ok(None), Ok(Some(7)), Ok(Some(8))]);
    assert_eq!(bench.client("panel").receive_blocks("blocks", numbers).unwrap(), (vec![9, 10], 4));
    assert_eq!(of(&bench, Kind::Drop).len(), 4);
}

/// What a bench refuses, with its reason.
#[test]
fn ends_fit_or_are_refused() {
    let said = noted();
    let mut bench = bench(&tables(PERIODIC, "camera", "other", ""), |app| {
        camera(app, &said)?;
        idle(app, "detect")?;
        played(app, Role::Receives)
    });
    let nothing = |_: &mut BlockReceiver<'_, Block>, _: &mut PartyCaller| ();
    let other = |_: &mut BlockReceiver<'_, [u64; 3]>, _: &mut PartyCaller| ();
    let fills = |_: &mut BlockSender<'_, Block>, _: &mut PartyCaller| ();
    let mut said = vec![
        bench.lose("blocks", 1).unwrap_err(),
        bench.task("camera").send_blocks("blocks", fills).unwrap_err(),
        bench.task("other").send_blocks("blocks", fills).unwrap_err(),
        bench.task("other").receive_blocks("films", nothing).unwrap_err(),
        bench.task("other").receive_blocks("blocks", other).unwrap_err(),
        bench.task("other").receive::<Block>("blocks").unwrap_err(),
    ];
    bench.task("other").receive_blocks("blocks", nothing).unwrap();
    said.push(bench.task("other").receive_blocks("blocks", other).unwrap_err());
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    let parts = ["never lost", "best-effort task", "belongs", "films", "u64*3", "queue", "u64*3"];
    for (text, part) in said.iter().zip(parts) {
        assert!(text.contains(part), "{part}: {text}");
    }
}
