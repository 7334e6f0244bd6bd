// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How long the most urgent message waits while 300 other senders flood the receiver.
//!
//! The receiver handles each message for [`SERVICE_NS`] and looks for the next one: it never sleeps, so the figures contain
//! no wake-up by the kernel. On the other processor a thread sends the messages of 300 senders, one each, all at once,
//! again and again; a thread of higher priority there sends the urgent ones, at random instants. A queue that has no room
//! refuses a message of the 300; it has more room than the urgent ones need.

use std::collections::BinaryHeap;
use std::fmt::Write;
use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, fence};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crossbeam_queue::ArrayQueue;

use super::Named;
use super::calls::{self, Apart, Value};
use crate::clock::now;
use crate::figures::percentile;
use crate::surroundings::{Signals, Surroundings};

/// Senders that are not urgent.
const OTHERS: usize = 300;
/// Places of a lane; the other objects have as many in all.
const PLACES: usize = 8;
/// What a message costs the receiver.
const SERVICE_NS: u64 = 2_000;
/// The shares of the receiver's time that the 300 ask for.
pub(super) const SHARES: [f64; 4] = [0.1, 0.5, 0.9, 1.2];
/// The length of a trial, in ms.
const TRIAL_MS: u32 = 200;
/// The least gap between two urgent messages, in µs. Gaps are random, and less than twice as long.
const GAP_US: u64 = 60;

/// The first word of an urgent message, whose second word is its number. The first word of any other message is 0.
const URGENT: u64 = 1;

/// The urgent sender's end, those of the others, and the receiver's.
type Ends<C> = (<C as Carries>::Sender, Vec<<C as Carries>::Sender>, <C as Carries>::Receiver);

/// What carries messages: an end for the urgent sender, and one for each other.
trait Carries {
    const NAME: &'static str;
    type Sender: Send;
    type Receiver: Send;

    /// All ends.
    fn made() -> Result<Ends<Self>, String>
    where
        Self: Sized;
    /// Sends; returns whether there was room.
    fn send(sender: &mut Self::Sender, value: &Value) -> bool;
    /// Takes the next message.
    fn take(receiver: &mut Self::Receiver) -> Option<Value>;
}

struct Lanes;

impl Carries for Lanes {
    const NAME: &'static str = "lanes";
    type Sender = Apart<calls::Sender>;
    type Receiver = Box<Apart<calls::Receiver>>;

    fn made() -> Result<Ends<Self>, String> {
        let (mut senders, receiver) = calls::lanes_of(OTHERS + 1, PLACES as u32, true)?;
        let urgent = senders.remove(0);
        Ok((urgent, senders, Box::new(Apart(receiver))))
    }

    fn send(sender: &mut Self::Sender, value: &Value) -> bool {
        sender.0.send(value).is_ok()
    }

    fn take(receiver: &mut Self::Receiver) -> Option<Value> {
        receiver.0.next().ok().flatten().map(|taken| taken.value)
    }
}

/// A heap under a mutex: the most urgent message first, of equally urgent ones the first that was sent.
struct Heap;

/// The messages, and how many were sent.
type Ordered = Mutex<(BinaryHeap<(u64, std::cmp::Reverse<u64>, Value)>, u64)>;

impl Carries for Heap {
    const NAME: &'static str = "heap";
    type Sender = Arc<Ordered>;
    type Receiver = Arc<Ordered>;

    fn made() -> Result<Ends<Self>, String> {
        let heap = Arc::new(Mutex::new((BinaryHeap::with_capacity((OTHERS + 1) * PLACES), 0)));
        Ok((heap.clone(), vec![heap.clone(); OTHERS], heap))
    }

    fn send(sender: &mut Self::Sender, value: &Value) -> bool {
        let Ok(mut heap) = sender.lock() else { return false };
        // The last places are the urgent sender's.
        let room = (OTHERS + usize::from(value[0] == URGENT)) * PLACES;
        let fits = heap.0.len() < room;
        if fits {
            heap.1 += 1;
            let number = std::cmp::Reverse(heap.1);
            heap.0.push((value[0], number, *value));
        }
        fits
    }

    fn take(receiver: &mut Self::Receiver) -> Option<Value> {
        receiver.lock().ok()?.0.pop().map(|(.., value)| value)
    }
}

/// The standard library's bounded channel.
struct Channel;

impl Carries for Channel {
    const NAME: &'static str = "channel";
    type Sender = SyncSender<Value>;
    type Receiver = Receiver<Value>;

    fn made() -> Result<Ends<Self>, String> {
        let (sender, receiver) = sync_channel((OTHERS + 1) * PLACES);
        Ok((sender.clone(), vec![sender; OTHERS], receiver))
    }

    fn send(sender: &mut Self::Sender, value: &Value) -> bool {
        sender.try_send(*value).is_ok()
    }

    fn take(receiver: &mut Self::Receiver) -> Option<Value> {
        receiver.try_recv().ok()
    }
}

/// Crossbeam's bounded queue.
struct Array;

impl Carries for Array {
    const NAME: &'static str = "crossbeam";
    type Sender = Arc<ArrayQueue<Value>>;
    type Receiver = Arc<ArrayQueue<Value>>;

    fn made() -> Result<Ends<Self>, String> {
        let queue = Arc::new(ArrayQueue::new((OTHERS + 1) * PLACES));
        Ok((queue.clone(), vec![queue.clone(); OTHERS], queue))
    }

    fn send(sender: &mut Self::Sender, value: &Value) -> bool {
        sender.push(*value).is_ok()
    }

    fn take(receiver: &mut Self::Receiver) -> Option<Value> {
        receiver.pop()
    }
}

/// All figures of all objects.
pub(super) fn measured(surroundings: &Surroundings) -> Result<Vec<Named>, String> {
    let mut figures = Vec::new();
    for share in SHARES {
        figures.extend(named::<Lanes>(surroundings, share)?);
        figures.extend(named::<Heap>(surroundings, share)?);
        figures.extend(named::<Channel>(surroundings, share)?);
        figures.extend(named::<Array>(surroundings, share)?);
    }
    Ok(figures)
}

/// Repetitions of our lanes as `dev/bars/android/Flood.java` prints those of Android's: the share in percent, how many urgent
/// messages were sent and handled, p50, p99 and the largest of their waits (ns), and how many others went before one.
///
/// # Errors
/// The far side did not begin, or too few messages were taken.
pub(super) fn lines(
    surroundings: &Surroundings,
    ms: u32,
    times: u32,
    percents: &[u32],
) -> Result<String, String> {
    let mut lines = String::new();
    for percent in (0..times).flat_map(|_| percents) {
        let flood = flooded::<Lanes>(surroundings, f64::from(*percent) / 100.0, ms)?;
        let Flood { sent, handled, p50, p99, longest, low } = flood;
        let _ = writeln!(lines, "{percent} {sent} {handled} {p50:.0} {p99:.0} {longest:.0} {low}");
    }
    Ok(lines)
}

/// The figures of a trial that bars compare.
fn named<C: Carries>(surroundings: &Surroundings, share: f64) -> Result<[Named; 3], String> {
    let flood = flooded::<C>(surroundings, share, TRIAL_MS)?;
    let (name, percent) = (C::NAME, (100.0 * share).round());
    Ok([
        (format!("{name} p50 at {percent} %"), flood.p50),
        (format!("{name} p99 at {percent} %"), flood.p99),
        (format!("{name} low at {percent} %"), flood.low as f64),
    ])
}

/// What became of the urgent messages of a trial.
struct Flood {
    sent: usize,
    handled: usize,
    /// How long they waited (ns).
    p50: f64,
    p99: f64,
    longest: f64,
    /// The largest number of others that started between the end of an urgent send and its start.
    low: usize,
}

/// What the receiver saw of an urgent message.
struct Seen {
    number: usize,
    started: u64,
    /// How many other messages had started by then.
    others: usize,
}

/// Floods the receiver for a trial.
fn flooded<C: Carries>(surroundings: &Surroundings, share: f64, ms: u32) -> Result<Flood, String> {
    let (mut urgent, mut others, mut receiver) = C::made()?;
    let service = surroundings.clock.ticks(Duration::from_nanos(SERVICE_NS));
    let trial = surroundings.ticks(ms);
    let near = |_: &Signals| take_for::<C>(&mut receiver, trial, service);
    // When each urgent send began and ended.
    let (sends, above) = (Mutex::new(Vec::with_capacity(1 << 14)), AtomicBool::new(false));
    let far = |signals: &Signals| {
        thread::scope(|scope| {
            scope.spawn(|| {
                surroundings.above();
                above.store(true, Relaxed);
                let mine = urgent_sends::<C>(&mut urgent, signals);
                surroundings.leave();
                if let Ok(mut sends) = sends.lock() {
                    *sends = mine;
                }
            });
            // The new thread starts at this one's priority, so it runs only while this one sleeps.
            while !above.load(Relaxed) {
                thread::sleep(Duration::from_micros(20));
            }
            let period = (OTHERS as f64 * service as f64 / share) as u64;
            let mut next = now();
            while !signals.stopped() {
                others.iter_mut().for_each(|sender| {
                    C::send(sender, &[0; 8]);
                });
                next = (next + period).max(now());
                while now() < next && !signals.stopped() {
                    spin_loop();
                }
            }
        });
    };
    let (Taken { seen, starts, looked }, _) = surroundings.both(near, far)?;
    let sends = sends.into_inner().map_err(|_| "a sender panicked")?;
    let (mut waits, most) = waits(&sends, &seen, &starts);
    if waits.len() < 20 / surroundings.haste as usize {
        return Err(format!("{}: {} urgent messages were taken, too few", C::NAME, waits.len()));
    }
    let handled = waits.len();
    // The receiver did not look for what was sent after that.
    let sent = sends.iter().filter(|(_, ended)| *ended < looked).count().max(handled);
    let mut of = |part: f64| surroundings.clock.ns(percentile(&mut waits, part));
    Ok(Flood { sent, handled, p50: of(0.5), p99: of(0.99), longest: of(1.0), low: most })
}

/// What the receiver took: the urgent messages, when each of the others started, and when it last looked for one (ticks).
struct Taken {
    seen: Vec<Seen>,
    starts: Vec<u64>,
    looked: u64,
}

/// Takes and handles messages for the length of a trial.
fn take_for<C: Carries>(receiver: &mut C::Receiver, trial: u64, service: u64) -> Taken {
    // Room for more than can come, so that nothing is allocated meanwhile.
    let (mut seen, mut starts) = (Vec::with_capacity(1 << 14), Vec::with_capacity(1 << 18));
    let mut looked = now();
    let end = looked + trial;
    loop {
        let before = now();
        if before > end {
            return Taken { seen, starts, looked };
        }
        looked = before;
        let Some(value) = C::take(receiver) else { continue };
        let started = now();
        if value[0] == URGENT {
            seen.push(Seen { number: value[1] as usize, started, others: starts.len() });
        } else {
            starts.push(started);
        }
        while now() - started < service {
            spin_loop();
        }
    }
}

/// Sends urgent messages at random gaps until the trial is over. Returns when each send began and ended (ticks).
fn urgent_sends<C: Carries>(sender: &mut C::Sender, signals: &Signals) -> Vec<(u64, u64)> {
    let (mut random, mut sends) = (0x9e37_79b9_u64, Vec::with_capacity(1 << 14));
    while !signals.stopped() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thread::sleep(Duration::from_micros(GAP_US + random % GAP_US));
        let begun = now();
        if C::send(sender, &[URGENT, sends.len() as u64, 0, 0, 0, 0, 0, 0]) {
            // The send is over once its stores have left the processor.
            fence(SeqCst);
            sends.push((begun, now()));
        }
    }
    sends
}

/// How long each urgent message waited (ticks), and the largest number of others that started between the end of an urgent
/// send and the start of its message.
fn waits(sends: &[(u64, u64)], seen: &[Seen], starts: &[u64]) -> (Vec<u64>, usize) {
    let (mut waits, mut most) = (Vec::new(), 0);
    for seen in seen {
        let Some((begun, ended)) = sends.get(seen.number) else { continue };
        waits.push(seen.started.saturating_sub(*begun));
        let between = starts[..seen.others].iter().rev().take_while(|started| **started > *ended);
        most = between.count().max(most);
    }
    (waits, most)
}
