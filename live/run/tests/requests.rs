// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Requests: each gets its own reply, or its caller learns that there is none; and no caller holds up the receiver, not one that
//! is killed, one that takes no replies, or one that writes nonsense.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;
mod processes;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{each, plan, run};
use processes::{attach, folder, start, start_of_kind};
use taut_event::{Counter, Kind};
use taut_run::{
    Answer, App, Attachment, CallError, Component, Context, Error, Failure, Job, RequestReader,
    RequestWriter, SendError, Task,
};
use taut_segment::Role;
use taut_time::Duration;

/// What is asked: a mark of the caller and a number, twice.
type Ask = [u64; 4];
/// What is replied: the same, and a word of the receiver.
type Reply = [u64; 9];

const DOUBLED: u64 = 0x5a5a;

fn ask(mark: u64, number: u64) -> Ask {
    [mark, number, mark, number]
}

fn reply_to(ask: &Ask) -> Reply {
    let [mark, number, again_mark, again] = *ask;
    [mark, number, again_mark, again, number * 2, DOUBLED, mark, number, number]
}

const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"")];

/// `serves` answers an ordinary task and clients; `beside` shows that nothing holds up real-time tasks.
fn tables(executor: &str, clients: &[&str], keys: &str) -> String {
    let callers: String = clients.iter().map(|client| format!(", \"{client}\"")).collect();
    let clients: String = clients.iter().map(|client| format!("[clients.{client}]\n")).collect();
    let task = |name: &str, arrival: &str, priority: u32| {
        format!(
            "[tasks.{name}]\narrival = {arrival}\ndeadline = \"2ms\"\nwcet = {{ value = \"100us\", source = \"guess\" }}\n\
             core = 0\npriority = {priority}\n"
        )
    };
    format!(
        "{executor}\n[payloads]\nAsk = {{ type = \"u64\", len = 4 }}\nReply = {{ type = \"u64\", len = 9 }}\n{clients}{}{}\
         [tasks.asks]\nclass = \"best-effort\"\n\
         [channels.parameters]\nkind = \"request\"\nfrom = [\"asks\"{callers}]\nto = \"serves\"\npayload = \"Ask\"\n\
         reply = \"Reply\"\ntakes-per-release = 3\ncapacity = 4\n{keys}",
        task("serves", "{ sporadic = \"2ms\", trigger = \"parameters\" }", 40),
        task("beside", "{ periodic = \"2ms\" }", 30),
    )
}

/// Numbers that the receiver does not answer.
fn is_dropped(number: u64) -> bool {
    number.is_multiple_of(5)
}

struct Serves<'p> {
    parameters: RequestReader<'p, Ask, Reply>,
    /// Requests that the receiver forgets.
    forgets: bool,
}

impl Component for Serves<'_> {}

impl Task for Serves<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let mut taken = 0;
        while let Some(request) = self.parameters.next(job) {
            taken += 1;
            let value = *request.value();
            // A client that lies says what it likes.
            let reply = if request.caller() == "vandal" { [0; 9] } else { reply_to(&value) };
            if self.forgets && value[1].is_multiple_of(7) {
                std::mem::forget(request);
            } else if is_dropped(value[1]) {
                drop(request);
            } else {
                let _ = request.reply(job, reply);
            }
        }
        if taken > 3 { Err(Failure::Code(3)) } else { Ok(()) }
    }
}

fn serve(app: &mut App<'_>, forgets: bool) -> Result<(), Error> {
    app.task("serves", |create| {
        assert!(create.message_reader::<Ask>("parameters").is_err(), "a request is answered");
        assert!(create.queue_writer::<Reply>("parameters_reply/asks").is_err(), "by its own end");
        Ok(Serves { parameters: create.request_reader("parameters")?, forgets })
    })?;
    app.task("beside", |_| Ok(each(|_| Ok(()))))
}

/// Calls until the task is to stop, and checks each answer; counts replies and requests without one.
fn call(mut end: RequestWriter<'_, Ask, Reply>, context: &mut Context<'_>, counts: &[AtomicU64; 2]) {
    let mut number = 0;
    while context.sleep(Duration::from_us(200)) {
        number += 1;
        match end.call_within(context, ask(1, number), Duration::from_ms(5_000)) {
            Ok(reply) => {
                assert_eq!(reply, reply_to(&ask(1, number)));
                counts[0].fetch_add(1, Ordering::Relaxed);
            }
            Err(CallError::Unanswered) => {
                assert!(is_dropped(number), "{number}");
                counts[1].fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => assert!(context.stopping(), "{number}: {error:?}"),
        }
    }
}

#[test]
fn each_request_gets_its_reply_or_its_caller_learns_that_there_is_none() {
    for (name, executor) in EXECUTORS {
        for reception in ["", "reception = \"wait\"\n"] {
            let counts: &'static [AtomicU64; 2] = Box::leak(Box::default());
            let tables = tables(executor, &[], reception);
            let outcome = run(&tables, Some(Duration::from_ms(600)), |app| {
                serve(app, false)?;
                app.best_effort("asks", |create| {
                    assert!(create.queue_writer::<Ask>("parameters").is_err(), "it is a request");
                    let end = create.request_writer("parameters")?;
                    Ok(move |context: &mut Context<'_>| call(end, context, counts))
                })
            });
            assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
            assert!(outcome.of(Kind::Failed).is_empty(), "{name}");
            let counted = outcome.of(Kind::Counted);
            let heap = counted.iter().find(|record| record.job == Counter::HeapUse as u64);
            assert_eq!(heap.unwrap().value, 0, "heap uses of real-time tasks behind release 0");
            let [replies, none] = [0, 1].map(|at| counts[at].load(Ordering::Relaxed));
            assert!(replies > 20 && none > 4, "{name} {reception}: {replies} replies, {none} without");
            // The recording has each reply at both ends, and what was dropped.
            let (sent, received) = (outcome.of_task(Kind::Send, 1), outcome.of_task(Kind::Receive, 1));
            assert!(sent.len() as u64 >= replies && received.len() as u64 == replies, "{}", sent.len());
            let dropped: u64 = outcome.of_task(Kind::Drop, 1).iter().map(|record| record.value).sum();
            // The caller may not have seen the last.
            assert!((none..=none + 1).contains(&dropped), "{dropped} recorded, {none} without a reply");
        }
    }
}

/// As many requests as may be are open at once; answers come in the order of requests.
#[test]
fn no_more_than_the_capacity_is_open() {
    let answered: &'static AtomicU64 = Box::leak(Box::default());
    let outcome = run(&tables("", &[], ""), Some(Duration::from_ms(300)), |app| {
        serve(app, false)?;
        app.best_effort("asks", |create| {
            let mut end = create.request_writer::<Ask, Reply>("parameters")?;
            Ok(move |context: &mut Context<'_>| {
                let mut number = 0;
                while context.sleep(Duration::from_ms(1)) {
                    let mut open = Vec::new();
                    while let Ok(asked) = end.send(context, ask(1, number + 1)) {
                        number += 1;
                        open.push((asked, number));
                    }
                    assert_eq!(open.len(), 4);
                    assert_eq!(end.send(context, ask(9, 9)), Err(SendError::Full(ask(9, 9))));
                    for (asked, number) in open {
                        let answer = loop {
                            match end.answer(context) {
                                Some(answer) => break answer,
                                None if !context.sleep(Duration::from_us(100)) => return,
                                None => {}
                            }
                        };
                        let reply = if is_dropped(number) {
                            Answer::Unanswered
                        } else {
                            Answer::Reply(reply_to(&ask(1, number)))
                        };
                        assert_eq!(answer, (asked, reply));
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    assert_eq!(end.answer(context), None);
                }
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(answered.load(Ordering::Relaxed) > 40, "{answered:?}");
}

/// A receiver that forgets a request tells its caller nothing; the caller's patience ends, and the next reply makes room again.
#[test]
fn a_forgotten_request_times_out_and_takes_no_room_for_ever() {
    [4, 1].into_iter().for_each(forgotten);
}

fn forgotten(capacity: u32) {
    let answered: &'static AtomicU64 = Box::leak(Box::default());
    let tables = tables("", &[], "").replace("capacity = 4", &format!("capacity = {capacity}"));
    let outcome = run(&tables, Some(Duration::from_ms(600)), |app| {
        serve(app, true)?;
        app.best_effort("asks", |create| {
            let mut end = create.request_writer::<Ask, Reply>("parameters")?;
            Ok(move |context: &mut Context<'_>| {
                // The receiver forgets these: as many are open as may be, though none waits.
                for _ in 0..capacity {
                    end.send(context, ask(1, 7)).unwrap();
                    context.sleep(Duration::from_ms(10));
                }
                assert!(end.send(context, ask(1, 7)).is_err(), "{capacity} are open");
                for number in 1.. {
                    match end.call_within(context, ask(1, number), Duration::from_ms(30)) {
                        Err(CallError::TimedOut) => {
                            assert!(number.is_multiple_of(7) || context.stopping(), "{number}");
                        }
                        Err(CallError::Full(_)) => panic!("forgotten requests have taken all room"),
                        _ => drop(answered.fetch_add(1, Ordering::Relaxed)),
                    }
                    if context.stopping() {
                        return;
                    }
                }
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(answered.load(Ordering::Relaxed) > 28, "{answered:?}: more than forgotten ones have room");
}

/// A job that panics while it has a request drops it: its caller learns so.
#[test]
fn a_panic_leaves_nobody_waiting() {
    struct Panics<'p>(RequestReader<'p, Ask, Reply>);
    impl Component for Panics<'_> {}
    impl Task for Panics<'_> {
        fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
            let Some(_request) = self.0.next(job) else { return Ok(()) };
            std::panic::resume_unwind(Box::new(()));
        }
    }
    let seen: &'static AtomicU64 = Box::leak(Box::default());
    let outcome = run(&tables("", &[], ""), Some(Duration::from_ms(300)), |app| {
        app.task("serves", |create| Ok(Panics(create.request_reader("parameters")?)))?;
        app.task("beside", |_| Ok(each(|_| Ok(()))))?;
        app.best_effort("asks", |create| {
            let mut end = create.request_writer::<Ask, Reply>("parameters")?;
            Ok(move |context: &mut Context<'_>| {
                let answer = end.call_within(context, ask(1, 1), Duration::from_ms(200));
                assert_eq!(answer, Err(CallError::Unanswered));
                // The receiver's component has failed, and takes nothing any more.
                let answer = end.call_within(context, ask(1, 2), Duration::from_ms(20));
                assert_eq!(answer, Err(CallError::TimedOut));
                seen.store(1, Ordering::Relaxed);
            })
        })
    });
    assert!(outcome.ending.is_ok());
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    let dropped = outcome.of_task(Kind::Drop, 1);
    assert_eq!(dropped.len(), 1, "recorded, though the receiver never looks again");
}

/// The page shows what `taut check` prints for its manifest.
#[test]
fn the_page_tells_the_truth() {
    let page = include_str!("../../../docs/requests.md");
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let plan = app::plain::planned(block("toml"));
    let lines: Vec<String> =
        plan.message("parameters").unwrap().lines().iter().map(|line| format!("  {line}\n")).collect();
    assert_eq!(lines.concat(), block("text"));
}

/// The application, until the test is done.
fn application(folder: &Path) {
    let counts: &'static [AtomicU64; 2] = Box::leak(Box::default());
    let kind = processes::kind();
    let executor = EXECUTORS.iter().find(|(name, _)| *name == kind).unwrap().1;
    let tables = tables(executor, &["panel", "vandal"], "reception = \"wait\"\n");
    let outcome = run(&tables, Some(Duration::from_ms(60_000)), |app| {
        serve(app, false)?;
        app.best_effort("asks", |create| {
            let mut end = create.request_writer::<Ask, Reply>("parameters")?;
            let folder = folder.to_owned();
            Ok(move |context: &mut Context<'_>| {
                let mut number = 0;
                while context.sleep(Duration::from_ms(3)) {
                    number += 1;
                    // Whatever the others do.
                    match end.call_within(context, ask(1, number), Duration::from_ms(5_000)) {
                        Ok(reply) => assert_eq!(reply, reply_to(&ask(1, number))),
                        Err(error) => {
                            assert!(is_dropped(number) || context.stopping(), "{number}: {error}");
                        }
                    }
                    counts[0].fetch_add(1, Ordering::Relaxed);
                    if folder.join("done").exists() {
                        context.control().stop();
                    }
                }
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    assert!(outcome.of(Kind::Failed).is_empty(), "a check failed");
    assert!(counts[0].load(Ordering::Relaxed) > 20);
    let releases: Vec<u64> = outcome.of_task(Kind::Release, 0).iter().map(|r| r.at.as_ns()).collect();
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= 2_000_000), "the gap is kept");
}

/// The client that calls, until the test kills it, usually with requests open; it says when it has had some replies.
fn panel(folder: &Path, mark: u64) {
    let attachment = Attachment::new(attach(folder, "panel"));
    let mut end = attachment.requests::<Ask, Reply>("parameters").unwrap();
    assert!(attachment.requests::<Ask, Reply>("parameters").is_err(), "one at a time");
    let (mut number, mut open) = (0, std::collections::VecDeque::new());
    for answers in 0.. {
        while let Ok(asked) = end.send(ask(mark, number + 1)) {
            number += 1;
            open.push_back((asked, number));
        }
        let (of, answer) = end.answer_within(Duration::from_ms(10_000)).expect("an answer");
        let (asked, number) = open.pop_front().unwrap();
        assert_eq!(of, asked, "no answer to a predecessor's request");
        let reply =
            if is_dropped(number) { Answer::Unanswered } else { Answer::Reply(reply_to(&ask(mark, number))) };
        assert_eq!(answer, reply);
        if answers == 30 {
            std::fs::write(folder.join(format!("answered-{mark}")), "").unwrap();
        }
    }
}

/// A client that sends and takes no replies, or writes nonsense into all that it may write, without end.
fn vandal(folder: &Path, writes: bool) {
    let attached = attach(folder, "vandal");
    if !writes {
        let attachment = Attachment::new(attached);
        let mut end = attachment.end::<Ask>("parameters", Role::Writes).unwrap();
        loop {
            let _ = end.publish(ask(3, 1));
        }
    }
    let mut chance = 1u64;
    loop {
        for channel in ["parameters/vandal", "parameters_reply/vandal"] {
            let bytes = attached.region(channel).unwrap();
            for at in 0..bytes.len() / 8 {
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // SAFETY:
                // - inside a mapping of this process, aligned to 8, which stays mapped as long as `attached`
                // - others access these words atomically or as another program's memory; so does this store
                let word = unsafe { AtomicU64::from_ptr(bytes.cast::<u64>().as_ptr().add(at)) };
                word.store(chance, Ordering::Relaxed);
            }
        }
    }
}

/// The test in a process of [`start`]; in any other process it does nothing.
#[test]
fn role() {
    let Some(role) = processes::role() else { return println!("no test: for processes that tests start") };
    let folder = folder();
    match role.as_str() {
        "application" => application(&folder),
        "flood" => vandal(&folder, false),
        "vandal" => vandal(&folder, true),
        mark => panel(&folder, mark.parse().unwrap()),
    }
}

#[test]
fn callers_die_flood_and_lie() {
    EXECUTORS.iter().for_each(|(executor, _)| callers_of(executor));
}

fn callers_of(executor: &str) {
    let made = tempfile::tempdir().unwrap();
    let folder = made.path();
    let mut application = start_of_kind("application", folder, executor);
    let mut serve = |mark: u64| {
        let panel = start(&mark.to_string(), folder);
        let sign = folder.join(format!("answered-{mark}"));
        for _ in 0..4_000 {
            if sign.exists() {
                return drop(panel);
            }
            assert!(application.0.try_wait().unwrap().is_none(), "the {executor} application has ended");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!("caller {mark} of the {executor} application was not served in 20 s");
    };
    // Each is killed with requests open, and its successor gets no answers to them.
    (10..13).for_each(&mut serve);
    let flood = start("flood", folder);
    serve(13);
    drop(flood);
    let vandal = start("vandal", folder);
    (14..16).for_each(&mut serve);
    drop(vandal);
    std::fs::write(folder.join("done"), "").unwrap();
    assert!(application.0.wait().unwrap().success(), "the {executor} application");
}

#[test]
fn both_parties_have_one_end() {
    let (plan, _) = plan(&tables("", &["panel"], ""));
    let names: Vec<&str> = plan.channels.iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(
        names,
        ["parameters/asks", "parameters/panel", "parameters_reply/asks", "parameters_reply/panel"]
    );
    assert_eq!(plan.not_executed(), None);
}
