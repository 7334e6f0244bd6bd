// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wakes a thread of this process from a sleep, so that the thread notices that it should stop; and parks threads for
//! good, so that the process can end although one of its threads does not.
//!
//! An enrolled thread has a [`ThreadSlot`]. There it records which job it runs, and there the signal's handler
//! records where the thread was.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::clock::timespec;
use crate::error::check;
use crate::{Result, futex, process, signals, thread};

/// Linux ignores this signal by default, so one that arrives before [`allow`] or after the end does no harm.
pub(crate) const SIGNAL: i32 = libc::SIGURG;
/// Places in one chunk.
const PLACES: usize = 512;
/// The most chunks beyond the first: more places than Linux gives a process threads by default.
const CHUNKS: usize = 64;
/// Addresses of the program that the handler records from a thread's stack.
const TRAIL: usize = 4;
/// How far up the stack the handler searches for these addresses, bytes.
const REACH: usize = 4096;
/// The limit of a job that has no limit.
pub const NEVER: u64 = u64::MAX;
/// The bit of [`Place::resource`] that marks a resource as requested and not yet held.
const AWAITED: u32 = 1 << 31;
/// Bits of a job's number.
const NUMBER_BITS: u32 = 48;

/// The record of a thread that may be parked.
struct Place {
    tid: AtomicI32,
    /// The address of the thread's own `errno`. The kernel may give the id of an ended thread to another thread; the
    /// ended thread may still have its place, and its stack is gone.
    own: AtomicUsize,
    /// 0: no job; else the task above the number of the job, plus 1.
    job: AtomicU64,
    /// 0: none; else the number of the resource that the job holds, plus 1, with [`AWAITED`] if the job has only
    /// requested it.
    resource: AtomicU32,
    /// This thread goes on when all others are parked.
    apart: AtomicBool,
    /// This thread is to be parked though others are not.
    alone: AtomicBool,
    /// The readable range of the thread's stack: from `low` to `high`.
    low: AtomicUsize,
    high: AtomicUsize,
    noted: AtomicBool,
    parked: AtomicBool,
    pc: AtomicUsize,
    in_call: AtomicBool,
    trail: [AtomicUsize; TRAIL],
}

/// Places, and beside each the instant by which its thread's job must be done.
struct Chunk {
    places: [Place; PLACES],
    limits: [AtomicU64; PLACES],
}

static FIRST: Chunk = Chunk::new();
/// Further chunks, made when the chunks before have no room. They are never freed, because handlers read them.
static MORE: [AtomicPtr<Chunk>; CHUNKS] = [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS];
/// Places from this number on have never been used.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Once set, the handler does not return.
static PARK: AtomicBool = AtomicBool::new(false);
/// No thread wakes this word.
static FOR_EVER: AtomicU32 = AtomicU32::new(0);
static TEXT: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

impl Chunk {
    const fn new() -> Self {
        Self { places: [const { Place::new() }; PLACES], limits: [const { AtomicU64::new(NEVER) }; PLACES] }
    }

    /// The chunk that holds place `at`, if it has been made.
    fn of(at: usize) -> Option<&'static Self> {
        let Some(more) = (at / PLACES).checked_sub(1) else { return Some(&FIRST) };
        // SAFETY: null, or leaked whole before it was stored with Release.
        unsafe { MORE.get(more)?.load(Ordering::Acquire).as_ref() }
    }

    /// As [`Chunk::of`], but makes the chunk if it is missing. For boot.
    fn made(at: usize) -> Option<&'static Self> {
        if let Some(there) = Self::of(at) {
            return Some(there);
        }
        // Made in place: the calling thread's stack may be no larger than a chunk.
        let new = Box::<Self>::new_zeroed();
        // SAFETY: atomic integers and booleans, for which zero is a value.
        let new = unsafe { new.assume_init() };
        for limit in &new.limits {
            limit.store(NEVER, Ordering::Relaxed);
        }
        let new = Box::into_raw(new);
        let more = MORE.get(at / PLACES - 1);
        let first = more.is_some_and(|more| {
            more.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire).is_ok()
        });
        if !first {
            // SAFETY: from `into_raw` above, and no other code has it.
            drop(unsafe { Box::from_raw(new) });
        }
        Self::of(at)
    }
}

/// The place of a number below [`USED`].
fn place(at: usize) -> &'static Place {
    // The chunk is made before the number of one of its places is used.
    &Chunk::of(at).unwrap_or(&FIRST).places[at % PLACES]
}

/// All places that have been used.
fn places() -> impl Iterator<Item = &'static Place> {
    (0..USED.load(Ordering::Acquire)).map(place)
}

impl Place {
    const fn new() -> Self {
        Self {
            tid: AtomicI32::new(0),
            own: AtomicUsize::new(0),
            job: AtomicU64::new(0),
            resource: AtomicU32::new(0),
            apart: AtomicBool::new(false),
            alone: AtomicBool::new(false),
            low: AtomicUsize::new(0),
            high: AtomicUsize::new(0),
            noted: AtomicBool::new(false),
            parked: AtomicBool::new(false),
            pc: AtomicUsize::new(0),
            in_call: AtomicBool::new(false),
            trail: [const { AtomicUsize::new(0) }; TRAIL],
        }
    }
}

/// A thread's place among those that can be parked; dropping the slot frees it.
#[derive(Debug)]
pub struct ThreadSlot {
    held: Option<Held>,
    /// The stack on which its handlers run: a thread may crash because its own stack is used up. The standard
    /// library's handler stack is only as large as the processor's registers need.
    _stack: Option<HandlerStack>,
}

/// A place that a thread holds.
struct Held {
    at: usize,
    place: &'static Place,
    limit: &'static AtomicU64,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({})", self.at)
    }
}

impl Held {
    /// Takes the first free place for the thread `tid`.
    fn take(tid: i32) -> Option<Self> {
        (0..PLACES * (1 + CHUNKS)).find_map(|at| {
            let chunk = Chunk::made(at)?;
            let (place, limit) = (&chunk.places[at % PLACES], &chunk.limits[at % PLACES]);
            let taken = place.tid.compare_exchange(0, tid, Ordering::AcqRel, Ordering::Relaxed);
            taken.is_ok().then_some(Self { at, place, limit })
        })
    }
}

/// The size of a stack for handlers, bytes.
const HANDLER_STACK: usize = 64 << 10;

/// The calling thread's stack for handlers.
#[derive(Debug)]
struct HandlerStack(Box<[u8]>);

impl HandlerStack {
    fn take() -> Option<Self> {
        let mut stack = vec![0; HANDLER_STACK].into_boxed_slice();
        let to = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
        // SAFETY: the memory is as long as it says, and stays until `drop` has removed it from the thread.
        let set = unsafe { libc::sigaltstack(&to, std::ptr::null_mut()) };
        (set == 0).then_some(Self(stack))
    }
}

impl Drop for HandlerStack {
    fn drop(&mut self) {
        let mut now = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
        let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: the first call only queries. The second removes the memory if it is the stack of this thread, which
        // is not in a handler here. A slot that is dropped on another thread leaves the memory to the thread that took
        // it.
        let taken = unsafe {
            libc::sigaltstack(std::ptr::null(), &mut now) == 0
                && now.ss_sp == self.0.as_mut_ptr().cast()
                && libc::sigaltstack(&none, std::ptr::null_mut()) == 0
        };
        if !taken {
            std::mem::forget(std::mem::take(&mut self.0));
        }
    }
}

impl ThreadSlot {
    /// Enrols the calling thread, which receives the signal from now on. For boot. If more than 33,280 threads are
    /// enrolled at once, the slot has no place: the thread can receive signals, but it is not parked.
    pub fn take() -> Self {
        Self::of(false)
    }

    /// As [`ThreadSlot::take`], for the thread that goes on when all others are parked: see [`crate::safe_state`].
    pub fn apart() -> Self {
        Self::of(true)
    }

    fn of(apart: bool) -> Self {
        // Miri has no signals.
        if cfg!(miri) {
            return Self::none();
        }
        let _ = signals::unblock(&[SIGNAL]);
        let tid = thread::tid();
        let held = Held::take(tid);
        if let Some(Held { at, place, .. }) = held {
            let (low, size) = thread::stack().unwrap_or_default();
            place.low.store(low, Ordering::Relaxed);
            place.high.store(low.saturating_add(size), Ordering::Relaxed);
            for unset in [&place.noted, &place.parked, &place.alone] {
                unset.store(false, Ordering::Relaxed);
            }
            place.apart.store(apart, Ordering::Relaxed);
            place.resource.store(0, Ordering::Relaxed);
            place.own.store(own(), Ordering::Release);
            USED.fetch_max(at + 1, Ordering::AcqRel);
        }
        Self { held, _stack: HandlerStack::take() }
    }

    /// A slot of no thread: it discards all records about jobs.
    pub const fn none() -> Self {
        Self { held: None, _stack: None }
    }

    /// Records that a job begins, and the instant by which it must be done, or [`NEVER`]. *Real-time*: two stores.
    #[inline]
    pub fn begin(&self, task: u16, number: u64, limit_ns: u64) {
        if let Some(Held { place, limit, .. }) = self.held {
            let number = (number + 1) & ((1 << NUMBER_BITS) - 1);
            place.job.store(u64::from(task) << NUMBER_BITS | number, Ordering::Relaxed);
            limit.store(limit_ns, Ordering::Release);
        }
    }

    /// Records that the job is done. A child of `fork` that returns here from its parent's job ends its process.
    /// *Real-time*: two stores and a load.
    #[inline]
    pub fn end(&self) {
        process::end_if_forked();
        if let Some(Held { place, limit, .. }) = self.held {
            limit.store(NEVER, Ordering::Relaxed);
            place.job.store(0, Ordering::Relaxed);
        }
    }

    /// Records that the job requests a resource; returns the previous record, for [`ThreadSlot::resource_as_before`].
    /// *Real-time*: a load and a store.
    #[inline]
    pub fn asks_for(&self, resource: u16) -> u32 {
        let Some(Held { place, .. }) = self.held else { return 0 };
        let before = place.resource.load(Ordering::Relaxed);
        place.resource.store(AWAITED | (u32::from(resource) + 1), Ordering::Relaxed);
        before
    }

    /// Records that the job holds a resource. *Real-time*: a store.
    #[inline]
    pub fn has(&self, resource: u16) {
        if let Some(Held { place, .. }) = self.held {
            place.resource.store(u32::from(resource) + 1, Ordering::Relaxed);
        }
    }

    /// Restores the record from before [`ThreadSlot::asks_for`]. *Real-time*: a store.
    #[inline]
    pub fn resource_as_before(&self, before: u32) {
        if let Some(Held { place, .. }) = self.held {
            place.resource.store(before, Ordering::Relaxed);
        }
    }
}

impl Drop for ThreadSlot {
    fn drop(&mut self) {
        if let Some(Held { place, limit, .. }) = self.held {
            limit.store(NEVER, Ordering::Relaxed);
            place.job.store(0, Ordering::Relaxed);
            place.own.store(0, Ordering::Release);
            place.tid.store(0, Ordering::Release);
        }
    }
}

/// A job that a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    place: usize,
    /// The task.
    pub task: u16,
    /// The number of the job within its task.
    pub number: u64,
}

impl Running {
    fn of(at: usize) -> Option<Self> {
        let job = place(at).job.load(Ordering::Relaxed);
        let number = job & ((1 << NUMBER_BITS) - 1);
        let task = u16::try_from(job >> NUMBER_BITS).unwrap_or(u16::MAX);
        (job != 0).then(|| Self { place: at, task, number: number.wrapping_sub(1) })
    }

    /// Whether the thread still runs this job.
    pub fn goes_on(&self) -> bool {
        Self::of(self.place) == Some(*self)
    }

    /// The innermost resource that the job holds or requested last, and whether it holds it.
    pub fn resource(&self) -> Option<(u16, bool)> {
        let word = place(self.place).resource.load(Ordering::Relaxed);
        let number = u16::try_from((word & !AWAITED).checked_sub(1)?).ok()?;
        Some((number, word & AWAITED == 0))
    }

    /// Interrupts the system call that the job's thread is in, if the thread is in a call.
    pub fn interrupt(&self) {
        send(place(self.place).tid.load(Ordering::Acquire));
    }

    /// Where the job's thread was when the last signal arrived.
    pub fn stood(&self) -> Option<ThreadLocation> {
        let place = place(self.place);
        let offset = |address: usize| {
            address.checked_sub(TEXT[0].load(Ordering::Relaxed)).filter(|_| is_text(address))
        };
        let at = || ThreadLocation {
            in_call: place.in_call.load(Ordering::Relaxed),
            offset: offset(place.pc.load(Ordering::Relaxed)),
            trail: std::array::from_fn(|at| offset(place.trail[at].load(Ordering::Relaxed))),
        };
        place.noted.load(Ordering::Acquire).then(at)
    }
}

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLocation {
    /// Whether the thread waited in a call of the kernel.
    pub in_call: bool,
    /// The program counter, relative to the address that the program is loaded at; `None` in a library.
    pub offset: Option<usize>,
    /// Addresses of the program near the top of the thread's stack, the innermost first: mostly return addresses.
    pub trail: [Option<usize>; TRAIL],
}

/// The jobs that are running. *Real-time*: a load for each place that has been used.
pub fn running() -> impl Iterator<Item = Running> {
    (0..USED.load(Ordering::Acquire)).filter_map(Running::of)
}

/// A job that is not done at its limit, if there is one. *Real-time*: as [`running`].
pub fn over_limit(now_ns: u64) -> Option<Running> {
    let used = USED.load(Ordering::Acquire);
    (0..used).step_by(PLACES).find_map(|first| {
        let limits = &Chunk::of(first)?.limits[..PLACES.min(used - first)];
        let at = limits.iter().position(|limit| limit.load(Ordering::Acquire) <= now_ns)?;
        Running::of(first + at)
    })
}

/// Parks every enrolled thread except the one that is `apart`: a parked thread stays in the signal's handler for ever,
/// since the process is about to end. Returns whether all are parked; the caller repeats the call until then.
pub fn park() -> bool {
    PARK.store(true, Ordering::SeqCst);
    let mut all = true;
    for place in places() {
        let tid = place.tid.load(Ordering::Acquire);
        let stays = place.parked.load(Ordering::Acquire) || place.apart.load(Ordering::Relaxed);
        if tid != 0 && !stays {
            all = false;
            send(tid);
        }
    }
    all
}

/// Parks one enrolled thread, which stays in the signal's handler for ever.
pub(crate) fn park_one(tid: i32) {
    if let Some(place) = places().find(|place| place.tid.load(Ordering::Acquire) == tid) {
        place.alone.store(true, Ordering::SeqCst);
        send(tid);
    }
}

/// Whether threads are parked.
pub fn is_parking() -> bool {
    PARK.load(Ordering::Acquire)
}

/// Puts the calling thread to sleep until the process has ended.
pub fn stay() -> ! {
    loop {
        let _ = futex::wait(&FOR_EVER, 0, None, false);
    }
}

fn is_text(address: usize) -> bool {
    (TEXT[0].load(Ordering::Relaxed)..TEXT[1].load(Ordering::Relaxed)).contains(&address)
}

extern "C" fn on_signal(_signal: i32, _about: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the C library's word of the calling thread.
    let errno = unsafe { *libc::__errno_location() };
    if let Some(place) = mine() {
        note(place, context);
        let with_all = PARK.load(Ordering::SeqCst) && !place.apart.load(Ordering::Relaxed);
        if with_all || place.alone.load(Ordering::SeqCst) {
            place.parked.store(true, Ordering::Release);
            stay();
        }
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Records, in the handler of a crash, where the calling thread was; the thread does not resume there.
pub(crate) fn note_own(context: *mut libc::c_void) {
    if let Some(place) = mine() {
        note(place, context);
        place.parked.store(true, Ordering::Release);
    }
}

/// The address of the calling thread's `errno`, which is unique among living threads. It lies at the end of the
/// memory that holds the thread's stack, so a thread with this address and the same id has that stack.
fn own() -> usize {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::__errno_location().addr() }
}

/// The calling thread's place, if it has one. Handlers may call it too.
fn mine() -> Option<&'static Place> {
    let (tid, own) = (thread::tid(), own());
    let is_mine =
        |place: &&Place| place.own.load(Ordering::Acquire) == own && place.tid.load(Ordering::Relaxed) == tid;
    places().find(is_mine)
}

fn note(place: &Place, context: *mut libc::c_void) {
    let (pc, sp, result) = registers(context);
    place.pc.store(pc, Ordering::Relaxed);
    // A system call that a signal interrupted returns EINTR; the call is the instruction before the program counter.
    place.in_call.store(result == -(libc::EINTR as isize), Ordering::Relaxed);
    let high = place.high.load(Ordering::Relaxed);
    let mut trail = place.trail.iter();
    // Memory below the stack's lowest address, where the stack pointer may be after an overflow, cannot be read.
    let mut at = sp.max(place.low.load(Ordering::Relaxed)).next_multiple_of(size_of::<usize>());
    let end = high.min(at.saturating_add(REACH));
    while at.saturating_add(size_of::<usize>()) <= end {
        // SAFETY: above the stack pointer and inside the calling thread's stack, which does not move, without the
        // guard page; aligned; a volatile read, since to the compiler it is memory of other frames.
        let word = unsafe { std::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        if is_text(word) {
            let Some(next) = trail.next() else { break };
            next.store(word, Ordering::Relaxed);
        }
        at += size_of::<usize>();
    }
    trail.for_each(|next| next.store(0, Ordering::Relaxed));
    place.noted.store(true, Ordering::Release);
}

/// The program counter, the stack pointer, and the result register of a system call.
fn registers(context: *mut libc::c_void) -> (usize, usize, isize) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes it to a handler with SA_SIGINFO; it lives as long as the handler runs.
    let machine = unsafe { &(*context).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    {
        let of = |register: i32| machine.gregs[register as usize];
        (of(libc::REG_RIP) as usize, of(libc::REG_RSP) as usize, of(libc::REG_RAX) as isize)
    }
    #[cfg(target_arch = "aarch64")]
    {
        (machine.pc as usize, machine.sp as usize, machine.regs[0] as isize)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = machine;
        (0, usize::MAX - REACH, 0)
    }
}

/// Installs the handler, so that [`send`] can end sleeps and waits of this process's threads, and [`park`] can park
/// them.
///
/// # Errors
/// None is expected.
pub fn allow() -> Result {
    process::notice_forks();
    let [low, high] = process::program_text();
    TEXT[0].store(low, Ordering::Relaxed);
    TEXT[1].store(high, Ordering::Relaxed);
    // SAFETY: zero is a value of all fields: an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    action.sa_sigaction = on_signal as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize;
    // SAFETY: `action` is ours and readable, the old one is not requested; the handler touches atomics and its own
    // thread's stack, calls only async-signal-safe functions, and restores the error number, so it may run at any
    // instruction of any thread.
    check("sigaction", unsafe { libc::sigaction(SIGNAL, &action, std::ptr::null_mut()) }).map(drop)
}

/// Ends the sleep or wait of a thread of this process, if it is in one; `tid` as in [`crate::thread::tid`]. A thread
/// that is about to sleep misses the signal: send again until the thread has reacted. Has no effect for 0 or a thread
/// that has ended.
pub fn send(tid: i32) {
    if tid > 0 {
        // SAFETY: plain integers; the thread group is this process, so no thread of another process receives it.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, SIGNAL) };
    }
}

/// The signal that [`send`] sends, for a thread that awaits it.
pub const fn signal() -> i32 {
    SIGNAL
}

/// Sleeps until [`crate::clock::monotonic_ns`] is at least `ns`, or until a signal arrives; returns `false` then.
///
/// *Real-time*: waits only for the instant or the signal; one system call. Returns at once if the instant has passed.
pub fn sleep_until(ns: u64) -> bool {
    let time = timespec(ns);
    // SAFETY: `time` is a valid timespec: its nanoseconds are below 10^9; the remainder is not requested. Returns the
    // error number: 0 or, with these arguments, EINTR.
    let result = unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
    };
    result == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;

    #[test]
    #[cfg_attr(miri, ignore = "calls sigaction")]
    fn a_sleeper_is_woken() {
        allow().unwrap();
        assert!(sleep_until(monotonic_ns() + 1_000_000));
        send(0);
        let (tid, awake) = (AtomicI32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                tid.store(thread::tid(), Ordering::Release);
                assert!(!sleep_until(monotonic_ns() + 3_600_000_000_000));
                awake.store(true, Ordering::Release);
            });
            while !awake.load(Ordering::Acquire) {
                send(tid.load(Ordering::Acquire));
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls sigaction")]
    fn a_job_over_its_limit_is_found_and_where_it_stands() {
        allow().unwrap();
        let (go, over) = (AtomicBool::new(true), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let thread_slot = ThreadSlot::take();
                thread_slot.begin(7, 41, monotonic_ns());
                while go.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                thread_slot.end();
                over.store(true, Ordering::Release);
            });
            let found = loop {
                if let Some(found) = over_limit(monotonic_ns()) {
                    break found;
                }
            };
            assert_eq!((found.task, found.number), (7, 41));
            assert!(running().any(|running| running == found));
            let stood = loop {
                found.interrupt();
                if let Some(stood) = found.stood() {
                    break stood;
                }
            };
            assert!(!stood.in_call && stood.offset.is_some() && stood.trail[0].is_some(), "{stood:?}");
            go.store(false, Ordering::Relaxed);
            while !over.load(Ordering::Acquire) {
                std::hint::spin_loop();
            }
            assert!(!found.goes_on() && over_limit(monotonic_ns()).is_none());
        });
    }

    /// The last thread has a place, and is parked, like the first ones.
    #[test]
    #[cfg_attr(miri, ignore = "calls sigaction")]
    fn a_thread_beyond_the_first_places_has_one_too() {
        allow().unwrap();
        let threads = PLACES + 1;
        let (taken, go_on) = (std::sync::Barrier::new(threads + 1), AtomicBool::new(true));
        std::thread::scope(|scope| {
            let mut last = None;
            for number in 0..threads {
                let (taken, go_on) = (&taken, &go_on);
                let work = move || {
                    let thread_slot = ThreadSlot::take();
                    let at = thread_slot.held.as_ref().unwrap().at;
                    if at >= PLACES {
                        thread_slot.begin(3, number as u64, 0);
                    }
                    taken.wait();
                    while go_on.load(Ordering::Acquire) {
                        // Five hundred threads that wake often would leave other tests no processor.
                        std::thread::sleep(std::time::Duration::from_millis(50));
                    }
                    at
                };
                let builder = std::thread::Builder::new().stack_size(64 << 10);
                last = Some(builder.spawn_scoped(scope, work).unwrap());
            }
            taken.wait();
            let over = running().find(|running| running.task == 3).unwrap();
            assert!(over.place >= PLACES);
            let stood = loop {
                over.interrupt();
                if let Some(stood) = over.stood() {
                    break stood;
                }
            };
            go_on.store(false, Ordering::Release);
            // While the thread is in the C library, its program counter lies outside this program; the program's code
            // is then further up its stack.
            let found = stood.offset.is_some() || stood.in_call || stood.trail.iter().any(Option::is_some);
            assert!(found, "{stood:?}");
            last.unwrap().join().unwrap();
        });
    }

    /// A thread to which the kernel gives the id of an ended thread does not use that thread's place.
    #[test]
    #[cfg_attr(miri, ignore = "calls sigaction")]
    fn a_stack_that_is_gone_is_not_looked_at() {
        allow().unwrap();
        let (place, reported) = (AtomicUsize::new(usize::MAX), AtomicBool::new(false));
        std::thread::scope(|scope| {
            // Started before the other thread, so that this thread does not get the other thread's stack.
            let next = scope.spawn(|| {
                while !reported.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                let place = super::place(place.load(Ordering::Relaxed));
                let tid = place.tid.swap(thread::tid(), Ordering::AcqRel);
                // The signal goes to this thread, and arrives before the call returns.
                send(thread::tid());
                place.tid.store(tid, Ordering::Release);
                place.noted.load(Ordering::Acquire)
            });
            let kept = scope.spawn(ThreadSlot::take).join().unwrap();
            place.store(kept.held.as_ref().unwrap().at, Ordering::Relaxed);
            reported.store(true, Ordering::Release);
            assert!(!next.join().unwrap(), "another thread's stack was looked at");
            drop(kept);
        });
    }
}
