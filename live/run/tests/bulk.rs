// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bulk channels: blocks arrive in order and whole where they lie; a sender without a free block gets none, or takes the oldest
//! back; what safe code leaks harms nobody.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use app::{Outcome, each, run};
use taut_event::{Counter, Kind};
use taut_run::{App, BlockLoan, BlockReceiver, Context, Error, Job, LoanRefused};
use taut_time::Duration;

/// An image of 64 KiB.
const PIXELS: usize = 8 << 10;
type Image = [u64; PIXELS];

/// The number of an image, in every pixel.
fn fill(image: &mut Image, number: u64) {
    image.fill(number);
}

/// The number of an image that is not torn.
fn number(image: &Image) -> u64 {
    assert!(image.iter().all(|pixel| *pixel == image[0]), "torn");
    image[0]
}

/// `detect` is task 0 and `camera` task 1. A channel of another sender or receiver names `other`.
fn tables(executor: &str, arrival: &str, from: &str, to: &str, keys: &str) -> String {
    format!(
        "{executor}\n[payloads]\nImage = {{ type = \"u64\", len = {PIXELS} }}\n[services.seeing]\n\
         [tasks.detect]\narrival = {{ {arrival} }}\ndeadline = \"5ms\"\nservice = \"seeing\"\n\
         wcet = {{ value = \"1ms\", source = \"guess\" }}\ncore = 0\npriority = 40\n\
         [tasks.camera]\narrival = {{ periodic = \"10ms\" }}\ndeadline = \"10ms\"\n\
         wcet = {{ value = \"1ms\", source = \"guess\" }}\ncore = 0\npriority = 20\n\
         [tasks.other]\nclass = \"best-effort\"\n\
         [channels.images]\nkind = \"bulk\"\nfrom = \"{from}\"\nto = \"{to}\"\npayload = \"Image\"\n{keys}"
    )
}

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"")];
const PERIODIC: &str = "periodic = \"5ms\"";
const TRIGGERED: &str = "sporadic = \"5ms\", trigger = \"images\"";

type Numbers = &'static Mutex<Vec<u64>>;

/// Room for as many as a run sends: jobs use no heap.
fn numbers() -> Numbers {
    Box::leak(Box::new(Mutex::new(Vec::with_capacity(64))))
}

/// Takes all blocks that a job may, and notes their numbers, which their content says as well.
fn take_all(images: &mut BlockReceiver<'_, Image>, job: &mut Job<'_>, taken: Numbers) {
    while let Some(image) = images.next(job) {
        assert_eq!(number(&image), image.number());
        taken.lock().unwrap().push(image.number());
    }
}

fn detect(app: &mut App<'_>, taken: Numbers, lost: &'static AtomicU64) -> Result<(), Error> {
    app.service("seeing", |service| {
        service.task("detect", |create| {
            let mut images = create.block_receiver::<Image>("images")?;
            Ok(each(move |job| {
                take_all(&mut images, job, taken);
                lost.store(images.lost(), Ordering::Release);
                Ok(())
            }))
        })
    })
}

fn count() -> &'static AtomicU64 {
    Box::leak(Box::default())
}

/// The most blocks that a job of `detect` took.
fn most_in_a_job(outcome: &Outcome) -> usize {
    let jobs = outcome.of_task(Kind::Release, 0);
    let job = |at| jobs.iter().filter(|job| job.at <= at).count();
    let takes: Vec<usize> = outcome.of_task(Kind::Receive, 0).iter().map(|take| job(take.at)).collect();
    takes.iter().map(|job| takes.iter().filter(|other| *other == job).count()).max().unwrap_or(0)
}

fn send(mut loan: BlockLoan<'_, '_, Image>, next: &mut u64, job: &mut Job<'_>) {
    fill(&mut loan, *next);
    assert_eq!(loan.send(job), *next);
    *next += 1;
}

/// Waits until `camera` has sent what it sends, and stops.
fn stops_after(app: &mut App<'_>, ms: u64) -> Result<(), Error> {
    app.best_effort("other", move |_| {
        Ok(move |context: &mut Context<'_>| {
            context.sleep(Duration::from_ms(ms));
            context.control().stop();
        })
    })
}

fn without_heap(outcome: &Outcome, name: &str) {
    for task in [0, 1] {
        for counter in [Counter::HeapUse, Counter::MinorFaults] {
            let counted = outcome.of_task(Kind::Counted, task);
            let counted = counted.into_iter().find(|record| record.job == counter as u64);
            // A dispatched core counts faults for all of its threads.
            let counted = counted.map_or(0, |record| record.value);
            assert_eq!(counted, 0, "{name}: {counter:?} of task {task}");
        }
    }
}

#[test]
fn blocks_arrive_in_order_and_whole() {
    const SENT: u64 = 20;
    for (executor, keys) in EXECUTORS {
        for arrival in [PERIODIC, TRIGGERED] {
            let name = format!("{executor}, {arrival}");
            let taken = numbers();
            let outcome = run(&tables(keys, arrival, "camera", "detect", ""), None, |app| {
                detect(app, taken, count())?;
                app.task("camera", |create| {
                    let mut images = create.block_sender::<Image>("images")?;
                    let mut next = 1;
                    Ok(each(move |job| {
                        if next > SENT {
                            return Ok(());
                        }
                        // Dropped, a loan costs nothing.
                        drop(images.loan(job)?);
                        send(images.loan(job)?, &mut next, job);
                        assert_eq!(images.loan(job).map(drop), Err(LoanRefused::TooMany));
                        Ok(())
                    }))
                })?;
                stops_after(app, 350)
            });
            assert!(outcome.ending.as_ref().unwrap().orderly, "{name}");
            assert_eq!(*taken.lock().unwrap(), (1..=SENT).collect::<Vec<_>>(), "{name}");
            assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty(), "{name}");
            assert_eq!(outcome.of(Kind::TooMany).len() as u64, SENT, "{name}");
            let sent: Vec<u64> = outcome.of_task(Kind::Send, 0).iter().map(|record| record.value).collect();
            let received: Vec<u64> =
                outcome.of_task(Kind::Receive, 0).iter().map(|record| record.job).collect();
            assert_eq!((&sent, &received), (&(1..=SENT).collect(), &(1..=SENT).collect()), "{name}");
            without_heap(&outcome, &name);
            if arrival == TRIGGERED {
                let jobs = outcome.of_task(Kind::Release, 0);
                assert_eq!(jobs.len() as u64, SENT, "{name}: a job for each block");
                // The release of a job is the instant of the send.
                let sends = outcome.of_task(Kind::Send, 0);
                let same = sends.iter().zip(&jobs).filter(|(send, job)| send.at == job.at).count();
                assert!(same > 10, "{name}: {same} of {SENT}");
            }
        }
    }
}

/// Pauses the receiver while `camera` asks for a block ten times; returns what was taken, and how many the
/// receiver lost.
fn paused(
    overflow: &str,
    capacity: u32,
    job: fn(&mut taut_run::BlockSender<'_, Image>, &mut Job<'_>, &mut u64),
) -> (Outcome, Vec<u64>, u64) {
    let (taken, go, lost) = (numbers(), count(), count());
    let keys = format!("overflow = \"{overflow}\"\ncapacity = {capacity}\ntakes-per-release = 3\n");
    let outcome = run(&tables("", PERIODIC, "camera", "detect", &keys), None, |app| {
        detect(app, taken, lost)?;
        app.task("camera", |create| {
            let mut images = create.block_sender::<Image>("images")?;
            let mut next = 1;
            Ok(each(move |of| {
                if go.load(Ordering::Acquire) > 0 {
                    go.fetch_sub(1, Ordering::AcqRel);
                    job(&mut images, of, &mut next);
                }
                Ok(())
            }))
        })?;
        app.best_effort("other", |_| {
            Ok(move |context: &mut Context<'_>| {
                context.sleep(Duration::from_ms(30));
                context.control().pause("seeing").unwrap();
                context.sleep(Duration::from_ms(30));
                go.store(10, Ordering::Release);
                context.sleep(Duration::from_ms(200));
                context.control().resume("seeing").unwrap();
                context.sleep(Duration::from_ms(60));
                context.control().stop();
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert_eq!(most_in_a_job(&outcome), 3, "no job takes more than it may, whatever waits");
    let taken = taken.lock().unwrap().clone();
    (outcome, taken, lost.load(Ordering::Acquire))
}

/// The sender takes the oldest back each time, is told which, and the receiver gets the newest, in order.
#[test]
fn the_oldest_is_recalled_and_counted() {
    let (outcome, taken, lost) = paused("recall", 4, |images, job, next| {
        let loan = images.loan(job).unwrap();
        let oldest = next.checked_sub(4).filter(|oldest| *oldest > 0);
        assert_eq!(loan.recalled(), oldest, "for {next}");
        send(loan, next, job);
    });
    assert_eq!((taken, lost), (vec![7, 8, 9, 10], 6));
    let drops = outcome.of(Kind::Drop);
    assert_eq!(drops.iter().map(|record| record.value).sum::<u64>(), 6);
    // The sender counts them, as its own.
    assert!(drops.iter().all(|record| record.subject == 0 && record.job > 0));
}

/// A sender that may not recall gets no block, learns so, and loses none that it has sent.
#[test]
fn a_sender_without_a_block_is_refused() {
    let (outcome, taken, lost) = paused("reject", 4, |images, job, next| match images.loan(job) {
        Ok(loan) => send(loan, next, job),
        Err(refused) => assert_eq!((refused, *next), (LoanRefused::NoBlock, 5)),
    });
    assert_eq!((taken, lost), (vec![1, 2, 3, 4], 0));
    assert_eq!(outcome.of(Kind::Drop).len(), 6);
}

/// Loans and received blocks that are forgotten come back when their ends are used again.
#[test]
fn forgotten_blocks_come_back() {
    for overflow in ["reject", "recall"] {
        let (taken, keys) = (numbers(), format!("overflow = \"{overflow}\"\ncapacity = 3\n"));
        let outcome = run(&tables("", PERIODIC, "camera", "detect", &keys), None, |app| {
            app.service("seeing", |service| {
                service.task("detect", |create| {
                    let mut images = create.block_receiver::<Image>("images")?;
                    Ok(each(move |job| {
                        if let Some(image) = images.next(job) {
                            taken.lock().unwrap().push(number(&image));
                            mem::forget(image);
                        }
                        Ok(())
                    }))
                })
            })?;
            app.task("camera", |create| {
                let mut images = create.block_sender::<Image>("images")?;
                let mut next = 1;
                Ok(each(move |job| {
                    if next <= 20 {
                        mem::forget(images.loan(job)?);
                        send(images.loan(job)?, &mut next, job);
                    }
                    Ok(())
                }))
            })?;
            stops_after(app, 350)
        });
        assert_eq!(*taken.lock().unwrap(), (1..=20).collect::<Vec<_>>(), "{overflow}");
        assert!(outcome.of(Kind::Drop).is_empty() && outcome.of(Kind::Failed).is_empty(), "{overflow}");
    }
}

/// A best-effort task receives, asleep or not, until the application stops; and loses only what was taken back.
#[test]
fn blocks_leave_the_real_time_side() {
    for (overflow, reception) in [("reject", "wait"), ("recall", "poll")] {
        let taken = numbers();
        let lost: &'static AtomicU64 = Box::leak(Box::default());
        let keys = format!("overflow = \"{overflow}\"\nreception = \"{reception}\"\ncapacity = 3\n");
        let outcome =
            run(&tables("", PERIODIC, "camera", "other", &keys), Some(Duration::from_ms(400)), |app| {
                app.service("seeing", |service| service.task("detect", |_| Ok(each(|_| Ok(())))))?;
                app.task("camera", |create| {
                    let mut images = create.block_sender::<Image>("images")?;
                    let mut next = 1;
                    Ok(each(move |job| {
                        // The receiver may be late: then a block is refused, or the oldest is taken back.
                        if next <= 20
                            && let Ok(loan) = images.loan(job)
                        {
                            send(loan, &mut next, job);
                        }
                        Ok(())
                    }))
                })?;
                app.best_effort("other", |create| {
                    let mut images = create.block_receiver::<Image>("images")?;
                    Ok(move |context: &mut Context<'_>| {
                        assert!(
                            images
                                .next_within(context, Duration::from_ms(1))
                                .is_none_or(|image| number(&image) == image.number())
                        );
                        while let Some(image) = images.next_until_stop(context) {
                            assert_eq!(number(&image), image.number());
                            taken.lock().unwrap().push(image.number());
                        }
                        lost.store(images.lost(), Ordering::Release);
                    })
                })
            });
        let taken = taken.lock().unwrap().clone();
        assert!(taken.is_sorted() && taken.last() == Some(&20), "{overflow}: {taken:?}");
        let drops = outcome.of(Kind::Drop).iter().map(|record| record.value).sum::<u64>();
        if overflow == "recall" {
            assert_eq!(lost.load(Ordering::Acquire), drops);
            assert_eq!(outcome.of(Kind::Receive).len() as u64 + drops, 20);
        } else {
            assert_eq!(outcome.of(Kind::Receive).len(), 20);
        }
    }
}

/// A best-effort task sends as fast as blocks come back, and no faster.
#[test]
fn blocks_come_to_the_real_time_side() {
    for (executor, keys) in EXECUTORS {
        let taken = numbers();
        let outcome = run(&tables(keys, TRIGGERED, "other", "detect", "capacity = 2\n"), None, |app| {
            detect(app, taken, count())?;
            app.task("camera", |_| Ok(each(|_| Ok(()))))?;
            app.best_effort("other", |create| {
                let mut images = create.block_sender::<Image>("images")?;
                Ok(move |context: &mut Context<'_>| {
                    for next in 1..=20 {
                        let mut loan = images.loan_until_stop(context).expect("the application runs");
                        fill(&mut loan, next);
                        assert_eq!(loan.send(context), next);
                    }
                    context.sleep(Duration::from_ms(50));
                    context.control().stop();
                    assert!(
                        (0..3).any(|_| images.loan_until_stop(context).map(mem::forget).is_none())
                            || context.stopping()
                    );
                })
            })
        });
        assert_eq!(*taken.lock().unwrap(), (1..=20).collect::<Vec<_>>(), "{executor}");
        assert!(outcome.of(Kind::Drop).is_empty(), "{executor}: a task that can wait loses nothing");
        let releases: Vec<u64> = outcome.of_task(Kind::Release, 0).iter().map(|r| r.at.as_ns()).collect();
        assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 5_000_000), "{executor}: {releases:?}");
    }
}

/// A sender that waits for a block learns which one it took back, as one does that does not wait.
#[test]
fn what_a_sender_that_waits_took_back_is_told() {
    let (taken, lost, recalled) = (numbers(), count(), numbers());
    let keys = "overflow = \"recall\"\ncapacity = 4\ntakes-per-release = 3\n";
    let outcome = run(&tables("", PERIODIC, "other", "detect", keys), None, |app| {
        detect(app, taken, lost)?;
        app.task("camera", |_| Ok(each(|_| Ok(()))))?;
        app.best_effort("other", |create| {
            let mut images = create.block_sender::<Image>("images")?;
            Ok(move |context: &mut Context<'_>| {
                context.sleep(Duration::from_ms(30));
                context.control().pause("seeing").unwrap();
                context.sleep(Duration::from_ms(30));
                for next in 1..=10 {
                    let mut loan = images.loan_until_stop(context).expect("the application runs");
                    recalled.lock().unwrap().extend(loan.recalled());
                    fill(&mut loan, next);
                    loan.send(context);
                }
                context.control().resume("seeing").unwrap();
                context.sleep(Duration::from_ms(60));
                context.control().stop();
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert_eq!(*recalled.lock().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!((taken.lock().unwrap().clone(), lost.load(Ordering::Acquire)), (vec![7, 8, 9, 10], 6));
    assert_eq!(outcome.of(Kind::Drop).iter().map(|record| record.value).sum::<u64>(), 6);
}

/// The blocks of a real-time receiver are for its jobs, which are counted: to anybody else its end has none.
#[test]
fn blocks_of_a_real_time_receiver_are_for_its_jobs() {
    let (taken, by_other) = (numbers(), count());
    let outcome = run(&tables("", PERIODIC, "camera", "detect", "overflow = \"recall\"\n"), None, |app| {
        let end = Arc::new(Mutex::new(None));
        let (in_job, in_other) = (Arc::clone(&end), end);
        app.service("seeing", |service| {
            service.task("detect", |create| {
                *in_job.lock().unwrap() = Some(create.block_receiver::<Image>("images")?);
                Ok(each(move |job| {
                    if job.number() >= 20
                        && let Some(images) = &mut *in_job.lock().unwrap()
                    {
                        take_all(images, job, taken);
                    }
                    Ok(())
                }))
            })
        })?;
        app.task("camera", |create| {
            let (mut images, mut next) = (create.block_sender::<Image>("images")?, 1);
            Ok(each(move |job| {
                send(images.loan(job)?, &mut next, job);
                Ok(())
            }))
        })?;
        app.best_effort("other", |_| {
            Ok(move |context: &mut Context<'_>| {
                context.sleep(Duration::from_ms(50));
                for _ in 0..3 {
                    if let Some(images) = &mut *in_other.lock().unwrap() {
                        let first = images.next(context).is_some();
                        let second = images.next_within(context, Duration::from_ms(1)).is_some();
                        by_other.fetch_add(u64::from(first || second), Ordering::AcqRel);
                    }
                }
                context.sleep(Duration::from_ms(150));
                context.control().stop();
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert_eq!(by_other.load(Ordering::Acquire), 0);
    assert!(taken.lock().unwrap().len() > 5, "its own jobs get them");
}

/// The example is proven, and the page shows what `taut check` prints for its manifest.
#[test]
fn the_page_and_the_example_tell_the_truth() {
    let example = app::plain::planned(include_str!("../../../examples/bulk/taut.toml"));
    let proven = example.bulk().iter().map(|bulk| bulk.delivery.is_some()).collect::<Vec<_>>();
    assert!(example.proven && proven == [true, false, false, false], "{proven:?}");
    let page = include_str!("../../../docs/bulk.md");
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let plan = app::plain::planned(block("toml"));
    let lines: Vec<String> = plan.bulk().iter().map(|bulk| format!("  {}\n", bulk.line())).collect();
    assert_eq!(lines.concat(), block("text"));
}

/// The ends of a bulk channel are of a bulk channel, and there is one of each.
#[test]
fn ends_fit_or_are_refused() {
    let said: &'static Mutex<Vec<String>> = Box::leak(Box::default());
    let outcome = run(&tables("", TRIGGERED, "camera", "detect", ""), None, |app| {
        let receiver = app.service("seeing", |service| {
            struct Takes;
            impl taut_run::Component for Takes {}
            impl taut_run::Receiver<Image> for Takes {
                fn receive(&mut self, _: &mut Job<'_>, _: Image) -> Result<(), taut_run::Failure> {
                    Ok(())
                }
            }
            service.receiver::<Image, _>("detect", |_| Ok(Takes))
        });
        said.lock().unwrap().push(receiver.unwrap_err().to_string());
        app.task("camera", |create| {
            let mut all = said.lock().unwrap();
            all.extend(create.queue_writer::<Image>("images").err().map(|error| error.to_string()));
            all.extend(create.block_receiver::<Image>("images").err().map(|error| error.to_string()));
            all.extend(create.block_sender::<[u64; 3]>("images").err().map(|error| error.to_string()));
            let end = create.block_sender::<Image>("images")?;
            all.extend(create.block_sender::<Image>("images").err().map(|error| error.to_string()));
            drop(end);
            Ok(each(|_| Ok(())))
        })?;
        stops_after(app, 1)
    });
    assert!(outcome.ending.is_err(), "two ends are missing");
    let said = said.lock().unwrap();
    let expected = ["receiver of one queue", "queue", "belongs", "u64*3", "end of channel"];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    for (text, part) in said.iter().zip(expected) {
        assert!(text.contains(part), "{part}: {text}");
    }
}
