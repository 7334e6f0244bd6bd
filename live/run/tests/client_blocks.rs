// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Blocks to clients, in processes of their own: clients that receive, die, stop, lie, and try to write what they read. The
//! sender has a block in each job, and no correct client reads a block that is being written.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;
mod processes;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{each, run};
use processes::{Process, attach, folder, made_folder, start_of_kind, until};
use taut_event::Kind;
use taut_run::{Attachment, ClientBlockReceiver, Context, EndError, Failure};
use taut_segment::Role;
use taut_time::Duration;

/// A block of 16 KiB, which shows tearing.
const WORDS: usize = 2 << 10;
type Block = [u64; WORDS];

/// Three blocks: one that the client has, one that the sender fills, one that waits.
fn tables(reception: &str) -> String {
    format!(
        "[payloads]\nBlock = {{ type = \"u64\", len = {WORDS} }}\nValue = {{ type = \"u64\" }}\n[clients.panel]\n\
         [tasks.camera]\narrival = {{ periodic = \"1ms\" }}\ndeadline = \"1ms\"\n\
         wcet = {{ value = \"200us\", source = \"guess\" }}\n[tasks.watch]\nclass = \"best-effort\"\n\
         [channels.blocks]\nkind = \"bulk\"\nfrom = \"camera\"\nto = \"panel\"\npayload = \"Block\"\n\
         overflow = \"recall\"\nreception = \"{reception}\"\n\
         [channels.values]\nkind = \"queue\"\nfrom = \"camera\"\nto = \"panel\"\npayload = \"Value\"\n\
         overflow = \"drop-oldest\"\n"
    )
}

/// The number of a block, if it is whole.
fn number(block: &Block) -> u64 {
    assert!(block.iter().all(|word| *word == block[0]), "torn: {} and others", block[0]);
    block[0]
}

/// The application, until the test says that it has seen enough. It notes how many blocks it has sent.
fn application(folder: &Path, reception: &str) {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let (over, noted) = (folder.join("over"), folder.join("sent"));
    let outcome = run(&tables(reception), Some(Duration::from_ms(60_000)), |app| {
        app.task("camera", |create| {
            let mut blocks = create.block_sender::<Block>("blocks")?;
            let mut values = create.queue_writer::<u64>("values")?;
            let mut next = 1;
            Ok(each(move |job| {
                // Whatever the client does, there is a block.
                let mut block = blocks.loan(job).map_err(|_| Failure::Code(1))?;
                block.fill(next);
                if block.send(job) != next {
                    return Err(Failure::Code(2));
                }
                SENT.store(next, Ordering::Relaxed);
                next += 1;
                values.send(job, next).map_err(|_| Failure::Code(3))
            }))
        })?;
        app.best_effort("watch", |_| {
            Ok(move |context: &mut Context<'_>| {
                while context.sleep(Duration::from_ms(2)) {
                    std::fs::write(&noted, SENT.load(Ordering::Relaxed).to_string()).unwrap();
                    if over.exists() {
                        context.control().stop();
                    }
                }
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(outcome.of(Kind::Failed).is_empty(), "a job got no block");
    assert!(!outcome.of(Kind::Drop).is_empty(), "nobody received all of it");
    assert!(outcome.of(Kind::Complete).len() > 20);
}

fn receiver(attachment: &Attachment) -> ClientBlockReceiver<Block> {
    attachment.block_receiver("blocks").unwrap()
}

/// Receives, and writes down how many blocks it got, until the test kills it. It reads each block twice, in the second half
/// after a while.
fn panel(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "panel"));
    let mut blocks = receiver(&attachment);
    let mut so_far: Option<(u64, u64)> = None;
    for received in 1_u64.. {
        let block = blocks.next_within(Duration::from_ms(10_000)).expect("the application sends");
        let first = number(&block);
        if received % 2 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!((number(&block), block.number()), (first, first), "written while it was held");
        drop(block);
        // What is missing is counted.
        let (last, lost) = so_far.unwrap_or((first - 1 - blocks.lost(), 0));
        assert_eq!(first - last - 1, blocks.lost() - lost, "{first} after {last}");
        so_far = Some((first, blocks.lost()));
        if received.is_multiple_of(20) {
            std::fs::write(folder.join("seen"), received.to_string()).unwrap();
        }
    }
}

/// Keeps a block until the test says so, and looks at it again.
fn keeper(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "panel"));
    let mut blocks = receiver(&attachment);
    {
        let block = blocks.next_within(Duration::from_ms(10_000)).unwrap();
        let kept = number(&block);
        std::fs::write(folder.join("kept"), b"").unwrap();
        while !folder.join("look").exists() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!((number(&block), block.number()), (kept, kept), "written while it was held");
    }
    let next = blocks.next_within(Duration::from_ms(10_000)).unwrap();
    assert!(next.number() > 100, "what waited was recalled");
}

/// Writes nonsense into every word that this client may write, without end.
fn vandal(folder: &Path) {
    let attached = attach(folder, "panel");
    let mut words = vec![attached.reservation("blocks").unwrap().unwrap()];
    words.extend(attached.event_count("blocks").unwrap());
    let mut chance = 1u64;
    loop {
        for bytes in &words {
            for at in 0..bytes.len() / 8 {
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Half of the values are near those of the protocol.
                let sent =
                    std::fs::read_to_string(folder.join("sent")).ok().and_then(|sent| sent.parse().ok());
                let near = sent.unwrap_or(0_u64) * 2 + (chance >> 60);
                let value = if chance >> 59 & 1 == 0 { chance } else { near };
                // SAFETY:
                // - inside a mapping of this process, aligned to 8, which stays mapped as long as `attached`
                // - others access these words atomically or as another program's memory; so does this store
                let word = unsafe { AtomicU64::from_ptr(bytes.cast::<u64>().as_ptr().add(at)) };
                word.store(value, Ordering::Relaxed);
            }
        }
        std::fs::write(folder.join("lied"), b"").unwrap();
    }
}

/// Writes into a block that it reads: the system ends this process.
fn writer(folder: &Path) {
    let attached = attach(folder, "panel");
    let blocks = attached.region("blocks").unwrap();
    // SAFETY: as above; the store is what the test is about.
    unsafe { AtomicU64::from_ptr(blocks.cast::<u64>().as_ptr()) }.store(0, Ordering::Relaxed);
}

/// Takes no end that is not its own.
fn asker(folder: &Path) {
    let attachment = Attachment::new(attach(folder, "panel"));
    let error = |end: Result<ClientBlockReceiver<Block>, EndError>| end.map(drop).unwrap_err();
    let first = receiver(&attachment);
    assert_eq!(error(attachment.block_receiver("blocks")), EndError::Twice("blocks".to_owned()));
    drop(first);
    drop(receiver(&attachment));
    let other = attachment.block_receiver::<u64>("blocks").map(drop).unwrap_err();
    assert!(matches!(other, EndError::Segment(taut_segment::Error::LayoutDiffers { .. })), "{other:?}");
    let queue = attachment.block_receiver::<u64>("values").map(drop).unwrap_err();
    assert_eq!(queue, EndError::Mechanism("values".to_owned()));
    for role in [Role::Reads, Role::Writes] {
        assert!(attachment.end::<Block>("blocks", role).is_err(), "blocks are no queue");
    }
}

/// The test in a process of [`start_of_kind`]; in any other process it does nothing.
#[test]
fn role() {
    let Some(role) = processes::role() else { return println!("no test: for processes that tests start") };
    match role.as_str() {
        "application" => application(&folder(), &processes::kind()),
        "panel" => panel(&folder()),
        "keeper" => keeper(&folder()),
        "vandal" => vandal(&folder()),
        "writer" => writer(&folder()),
        _ => asker(&folder()),
    }
}

/// Runs a client until it has received some, and `micros` longer, and kills it.
fn receives(application: &mut Process, folder: &Path, kind: &str, micros: u64) {
    let seen = folder.join("seen");
    let _ = std::fs::remove_file(&seen);
    let mut panel = start_of_kind("panel", folder, kind);
    until(&format!("{kind}: the client receives, killed {micros} us later"), || {
        panel.assert_alive(kind);
        application.assert_alive(kind);
        seen.exists()
    });
    std::thread::sleep(std::time::Duration::from_micros(micros));
    panel.assert_alive(kind);
}

fn end(application: &mut Process, folder: &Path, kind: &str) {
    application.assert_alive(kind);
    let over = folder.join("over");
    std::fs::write(&over, b"").unwrap();
    assert!(application.0.wait().unwrap().success(), "{kind}");
    std::fs::remove_file(over).unwrap();
}

/// Clients are killed in the middle of receiving, and others take their place; then one writes nonsense, and a correct one
/// follows. Two runs of the application, one after the other.
#[test]
fn clients_die_and_lie() {
    let folder = made_folder();
    for kind in ["poll", "wait"] {
        let mut application = start_of_kind("application", folder.path(), kind);
        for life in 0..8 {
            receives(&mut application, folder.path(), kind, life * 370);
        }
        for life in 0..3 {
            let lied = folder.path().join("lied");
            let _ = std::fs::remove_file(&lied);
            let mut vandal = start_of_kind("vandal", folder.path(), kind);
            until("the client lies", || lied.exists());
            std::thread::sleep(std::time::Duration::from_millis(60));
            vandal.assert_alive(kind);
            drop(vandal);
            receives(&mut application, folder.path(), kind, life * 510);
        }
        end(&mut application, folder.path(), kind);
    }
}

/// A client that stops while it has a block costs that block: the sender goes on, and does not write it.
#[test]
fn a_stopped_client_keeps_one_block() {
    let folder = made_folder();
    let mut application = start_of_kind("application", folder.path(), "wait");
    let sent = || std::fs::read_to_string(folder.path().join("sent")).ok().and_then(|sent| sent.parse().ok());
    let mut keeper = start_of_kind("keeper", folder.path(), "wait");
    until("the client has a block", || folder.path().join("kept").exists());
    let signal = |signal| {
        // SAFETY: it signals a process that this test has started and not waited for.
        assert_eq!(unsafe { libc::kill(keeper.0.id().cast_signed(), signal) }, 0);
    };
    signal(libc::SIGSTOP);
    let before = sent().unwrap_or(0_u64);
    until("the sender goes on", || sent().is_some_and(|sent: u64| sent > before + 100));
    std::fs::write(folder.path().join("look"), b"").unwrap();
    signal(libc::SIGCONT);
    assert!(keeper.0.wait().unwrap().success());
    end(&mut application, folder.path(), "stopped");
}

/// A client cannot write what it reads, and has no end of it but its own.
#[test]
fn blocks_are_mapped_read_only() {
    let folder = made_folder();
    let mut application = start_of_kind("application", folder.path(), "poll");
    let mut writer = start_of_kind("writer", folder.path(), "poll");
    assert_eq!(writer.0.wait().unwrap().signal(), Some(libc::SIGSEGV));
    let mut asker = start_of_kind("asker", folder.path(), "poll");
    assert!(asker.0.wait().unwrap().success());
    receives(&mut application, folder.path(), "poll", 0);
    end(&mut application, folder.path(), "written");
}
