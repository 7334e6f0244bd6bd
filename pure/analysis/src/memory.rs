// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bytes per component.
//!
//! ```text
//! Equation    service   persistent scope + Σ tasks of it
//!             task      persistent scope + release scope
//!             channel   Mechanism::bytes(payload + stamp, slots, claims) + a line if it releases a task; blocks of a bulk
//!                       channel have their stamps beside them
//!             runtime   (tasks + cores) · (stack + ring), dispatched cores · (stack + 4 rings), a stack and one for
//!                       its signal handlers if there is a safe state, locks between cores, and synchronous flows
//!             values    of a task with an end of a recorded channel: what its jobs record in a quarter of a second, as a power
//!                       of two between 64 KiB and 16 MiB; in the runtime
//!             set-up    what the manifest lets the set-ups of components leave in use of the heap
//!             lock      a line, and one for each party: each core that spins for it, each task that suspends for it
//!             flow      what activates its object's instances, and its calendar: 2304 bytes, and 256 for each member
//! Assumes     A1 nothing is allocated after boot: a scope and a channel are as large as they ever get
//! Verdict     exact: the bytes that are mapped, alignment included; for flows an upper bound on bytes of the heap
//! Cost        one pass
//! Source      scopes and their bounds: [Yan18] RTDroid, chapter 5; sizes of objects: taut-share's own formulas
//! ```
//!
//! Every object starts at a multiple of [`LINE_BYTES`], so sizes are rounded up to it.

use taut_model::{
    ChannelKind, Class, LINE_BYTES, Mechanism, Model, PartyId, STACK_BYTES, Service, ServiceId, Size, Task,
    TaskId, VALUE_RECORDS_OF_JOB, VALUE_RING_BYTES_MAX, VALUE_RING_BYTES_MIN, VALUE_SLOT_BYTES, value_slots,
};

use crate::Overflow;

/// Stack of a real-time thread.
const STACK: u64 = STACK_BYTES as u64;
/// Trace ring of a real-time thread.
pub const RING_BYTES: u64 = 64 << 10;
/// What a core with a dispatcher needs in addition: the stack of the dispatcher's thread, and a ring of four times
/// the size.
pub const DISPATCHER_BYTES: u64 = STACK + 4 * RING_BYTES;
/// What the thread that brings outputs to rest needs: its stack, and the stack of its signal handlers.
pub const SAFE_STATE_BYTES: u64 = STACK + (64 << 10);

/// Rounds up to where the next object may start.
///
/// # Errors
/// [`Overflow`].
pub fn aligned(bytes: u64) -> Result<u64, Overflow> {
    bytes.checked_next_multiple_of(LINE_BYTES).ok_or(Overflow)
}

/// A task's own scopes; none for a best-effort task, which uses the heap.
///
/// # Errors
/// [`Overflow`].
pub fn task(task: &Task) -> Result<u64, Overflow> {
    match &task.class {
        Class::RealTime(rt) => sum([aligned(rt.persistent.as_bytes())?, aligned(rt.release.as_bytes())?]),
        Class::BestEffort(_) => Ok(0),
    }
}

/// A service's persistent scope and its tasks' scopes.
///
/// # Errors
/// [`Overflow`].
pub fn service(model: &Model, id: ServiceId, service: &Service) -> Result<u64, Overflow> {
    let mut bytes = aligned(service.persistent.as_bytes())?;
    for member in model.tasks().iter().filter(|member| member.service == Some(id)) {
        bytes = sum([bytes, task(member)?])?;
    }
    Ok(bytes)
}

/// A channel's object: slots for values of `value` bytes, their stamps included, a place for each reader that claims, and
/// the line that wakes a receiver.
///
/// # Errors
/// [`Overflow`].
pub fn channel(
    value: u32,
    mechanism: Mechanism,
    slots: u32,
    claims: u32,
    triggers: bool,
) -> Result<u64, Overflow> {
    let object = mechanism.bytes(value, slots, claims).ok_or(Overflow)?;
    sum([aligned(object)?, if triggers { LINE_BYTES } else { 0 }])
}

/// Stacks and trace rings: one of each per real-time task, per best-effort task in a server, and per core for its
/// platform probe. Adds [`DISPATCHER_BYTES`] for each of `dispatched` cores, a stack for the device thread of each of
/// `watching` cores, and [`SAFE_STATE_BYTES`] if the application has a safe state.
///
/// # Errors
/// [`Overflow`].
pub fn runtime(model: &Model, dispatched: usize, watching: usize) -> Result<Size, Overflow> {
    let served = |task: &&Task| matches!(&task.class, Class::BestEffort(task) if task.server.is_some());
    let served = model.tasks().iter().filter(served).count();
    let threads = model.real_time().count() + served + model.platform().cores.len();
    let threads = u64::try_from(threads).map_err(|_| Overflow)?;
    let dispatchers = u64::try_from(dispatched).map_err(|_| Overflow)?;
    let threads = threads.checked_mul(STACK + RING_BYTES).ok_or(Overflow)?;
    let dispatchers = dispatchers.checked_mul(DISPATCHER_BYTES).ok_or(Overflow)?;
    let watching = u64::try_from(watching).map_err(|_| Overflow)?;
    let watching = watching.checked_mul(STACK).ok_or(Overflow)?;
    let safe_state = if model.app().safe_state.is_some() { SAFE_STATE_BYTES } else { 0 };
    sum([threads, dispatchers, watching, safe_state]).map(Size::from_bytes)
}

/// What the set-ups of components may leave in use of the heap, where the manifest states a bound; nothing where it does
/// not.
///
/// # Errors
/// [`Overflow`].
pub fn set_up(model: &Model) -> Result<Size, Overflow> {
    let bounds = model.real_time().filter_map(|(_, _, task)| task.set_up);
    sum(bounds.map(Size::as_bytes)).map(Size::from_bytes)
}

/// The words of a lock between cores, without the data that it guards.
///
/// # Errors
/// [`Overflow`].
pub fn lock(parties: u64) -> Result<u64, Overflow> {
    parties.checked_add(1).and_then(|lines| lines.checked_mul(LINE_BYTES)).ok_or(Overflow)
}

/// What activates the members of a synchronous flow, one writer and `readers` readers, in addition to the channel's
/// object. No less than boot takes, which a test of `taut-run` checks.
///
/// # Errors
/// [`Overflow`].
pub fn flow(readers: u64) -> Result<u64, Overflow> {
    let members = readers.checked_add(1).and_then(|members| members.checked_mul(256)).ok_or(Overflow)?;
    sum([2304, members])
}

/// The order in which a receiver keeps the instants of `slots` alarms, in addition to the channel's object. No less than
/// boot takes, which a test of `taut-run` checks.
///
/// # Errors
/// [`Overflow`].
pub fn alarms(slots: u64) -> Result<u64, Overflow> {
    slots.checked_mul(72).and_then(|slots| slots.checked_add(512)).ok_or(Overflow)
}

/// How long the main thread may leave a ring of recorded values alone before one is lost, at the rates of the manifest (ns).
const VALUES_FOR_NS: u64 = 250_000_000;
/// The supposed time between two turns of a best-effort task, for which the manifest states none (ns).
const TURN_NS: u64 = 1_000_000;
/// The ring into which a task records the values of its ends, and what its jobs read; `None` if no channel of the task is
/// recorded. A state counts as read once in a release. What does not fit is lost and counted, so this is no bound.
///
/// # Errors
/// [`Overflow`].
pub fn value_ring(model: &Model, id: TaskId) -> Result<Option<u64>, Overflow> {
    let me = PartyId::Task(id);
    let (mut bytes, mut any) = (VALUE_RECORDS_OF_JOB * VALUE_SLOT_BYTES, false);
    for channel in model.channels().iter().filter(|channel| channel.record) {
        let size = model.payloads()[channel.payload].size().ok_or(Overflow)?;
        let with_value = value_slots(size).checked_mul(VALUE_SLOT_BYTES).ok_or(Overflow)?;
        let of_client = matches!(channel.writer, PartyId::Client(_));
        let sent = if channel.writer == me { u64::from(channel.sends_per_release) } else { 0 };
        let taken = if channel.readers.contains(&me) { u64::from(channel.takes_per_release) } else { 0 };
        let read = if of_client { with_value } else { VALUE_SLOT_BYTES };
        // What a setter asks for, whether it is repeated, and what it cancels; when what a receiver takes was due.
        let (asked, due) = if channel.is_timed() { (3 * VALUE_SLOT_BYTES, VALUE_SLOT_BYTES) } else { (0, 0) };
        // Each loan of a block has a record of its own.
        let lent = if channel.kind == ChannelKind::Bulk { VALUE_SLOT_BYTES } else { 0 };
        let (with_value, read) = (sum([with_value, asked, lent])?, sum([read, due])?);
        let own = [sent.checked_mul(with_value), taken.checked_mul(read)];
        bytes = sum([bytes, own[0].ok_or(Overflow)?, own[1].ok_or(Overflow)?])?;
        any |= sent + taken > 0;
    }
    let gap_ns = match &model.task(id).class {
        // Its jobs come as often as its server lets them.
        Class::RealTime(task) if task.arrival.is_aperiodic() => TURN_NS,
        Class::RealTime(task) => task.arrival.period().as_ns().max(1),
        Class::BestEffort(_) => TURN_NS,
    };
    let jobs = VALUES_FOR_NS.div_ceil(gap_ns).max(4);
    let ring = bytes.checked_mul(jobs).and_then(u64::checked_next_power_of_two).ok_or(Overflow)?;
    Ok(any.then(|| ring.clamp(VALUE_RING_BYTES_MIN, VALUE_RING_BYTES_MAX)))
}

/// A sum of bytes.
///
/// # Errors
/// [`Overflow`].
pub fn sum(parts: impl IntoIterator<Item = u64>) -> Result<u64, Overflow> {
    parts.into_iter().try_fold(0u64, u64::checked_add).ok_or(Overflow)
}
