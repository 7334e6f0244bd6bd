// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The threads of an application that have a task or a core of their own: how they start, and how the main thread sees
//! them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{Builder, Scope as ThreadScope, ScopedJoinHandle};

use taut_boot::thread::{ThreadPlacement, place_thread};
use taut_boot::{Guarantee, Guarantees, StartBarrier};
use taut_event::{Kind, Record};
use taut_plan::{Plan, STACK_BYTES, TaskPlan};
use taut_sys::account::Account;
use taut_sys::switched::SwitchMark;
use taut_sys::thread::ThreadPolicy;
use taut_sys::{clock, interrupt, process, thread};
use taut_time::Instant;

use crate::best_effort::Context;
use crate::body::Body;
use crate::control::Control;
use crate::device_thread::DeviceThread;
use crate::job::EventRecorder;
use crate::lifecycle::{JobContext, drop_panic};
use crate::names::position;
use crate::native::TaskThread;
use crate::outside::moved_value;
use crate::set_up::SetUpHeap;
use crate::{Error, probe};

/// A thread as the main thread sees it.
pub(crate) struct ThreadHandle {
    /// The kind and the subject of the record that says that somebody moved the thread.
    moved_record: (Kind, u16),
    tid: AtomicI32,
    done: AtomicBool,
    /// Linux's id of a best-effort task's thread, once it is on its server's processor; 0 before.
    donee: AtomicI32,
    /// What the system refused when the thread was placed.
    refused: OnceLock<taut_sys::Error>,
    /// Where the thread was placed.
    placed: OnceLock<ThreadPlacement>,
    /// Whether the thread gives up its placement itself, because its work is done.
    leaves: AtomicBool,
    /// Whether a record says already that somebody moved the thread.
    moved: AtomicBool,
    /// Whether the thread's best-effort task panicked.
    failed: AtomicBool,
}

impl ThreadHandle {
    /// The handle of a task's thread, before it starts.
    fn of_task(task: usize) -> Self {
        Self::new(Kind::Moved, task)
    }

    /// The handle of a core's probe, before it starts.
    fn of_probe(core: usize) -> Self {
        Self::new(Kind::ProbeMoved, core)
    }

    fn new(kind: Kind, subject: usize) -> Self {
        Self {
            moved_record: (kind, position(subject)),
            tid: AtomicI32::new(0),
            done: AtomicBool::new(false),
            donee: AtomicI32::new(0),
            refused: OnceLock::new(),
            placed: OnceLock::new(),
            leaves: AtomicBool::new(false),
            moved: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Whether the thread has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Whether the thread's best-effort task panicked.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Interrupts a sleep of the thread.
    pub(crate) fn interrupt(&self) {
        interrupt::send(self.tid.load(Ordering::Acquire));
    }

    /// What the system refused when the thread was placed.
    fn refused(&self) -> Option<taut_sys::Error> {
        self.refused.get().copied()
    }

    /// Linux's id of a best-effort task's thread, once it is on its server's processor; 0 before.
    pub(crate) fn donee(&self) -> &AtomicI32 {
        &self.donee
    }

    /// The record of a thread that somebody else has moved from its placement; `None` after the first time.
    fn moved(&self, guarantees: &Guarantees) -> Option<Record> {
        let placement = self.placed.get().filter(|_| !self.moved.load(Ordering::Relaxed))?;
        let tid = self.tid.load(Ordering::Acquire);
        // The system does not find a thread that has just ended.
        let policy = thread::policy_of(tid).ok()?;
        let pinned = thread::is_pinned(tid, placement.cpu).ok()? || !guarantees.keeps(Guarantee::Cores);
        let stays =
            policy == ThreadPolicy::Fifo(placement.priority) || !guarantees.keeps(Guarantee::Priorities);
        if stays && pinned || self.leaves.load(Ordering::Acquire) || self.is_done() {
            return None;
        }
        self.moved.store(true, Ordering::Relaxed);
        let (at, value) = (Instant::from_ns(clock::monotonic_ns()), moved_value(policy, pinned));
        let (kind, subject) = self.moved_record;
        Some(Record { at, kind, cpu: 0, subject, job: 0, value })
    }
}

/// All threads as the main thread sees them, and where they wait for it.
pub(crate) struct ThreadHandles {
    /// Those of native tasks, then the probes, then the device threads.
    real_time: Vec<ThreadHandle>,
    /// Each with its task.
    best_effort: Vec<(usize, ThreadHandle)>,
    /// Where real-time threads wait for release 0.
    pub(crate) barrier: StartBarrier,
    /// Where threads that may receive a donation stay until the executor is over.
    over: StartBarrier,
}

impl ThreadHandles {
    /// Handles for threads that will be started in this order. That of a device thread is of the first task that it releases.
    pub(crate) fn new(
        native: impl Iterator<Item = usize>,
        probes: impl Iterator<Item = usize>,
        watching: impl Iterator<Item = usize>,
        best_effort: impl Iterator<Item = usize>,
    ) -> Self {
        Self {
            real_time: native
                .map(ThreadHandle::of_task)
                .chain(probes.map(ThreadHandle::of_probe))
                .chain(watching.map(ThreadHandle::of_task))
                .collect(),
            best_effort: best_effort.map(|task| (task, ThreadHandle::of_task(task))).collect(),
            barrier: StartBarrier::default(),
            over: StartBarrier::default(),
        }
    }

    pub(crate) fn real_time(&self) -> impl Iterator<Item = &ThreadHandle> + Clone {
        self.real_time.iter()
    }

    /// The threads of best-effort tasks, each with its task.
    pub(crate) fn best_effort(&self) -> impl Iterator<Item = (usize, &ThreadHandle)> + Clone {
        self.best_effort.iter().map(|(task, handle)| (*task, handle))
    }

    /// The first refusal of the system to place a thread.
    pub(crate) fn refused(&self) -> Option<taut_sys::Error> {
        self.real_time().find_map(ThreadHandle::refused)
    }

    /// Records of the real-time threads that somebody has moved since the last call.
    pub(crate) fn moved(&self, guarantees: &Guarantees) -> Vec<Record> {
        self.real_time().filter_map(|handle| handle.moved(guarantees)).collect()
    }

    /// Until the result is dropped, threads that may receive a donation do not end.
    pub(crate) fn keep_donees(&self) -> Over<'_> {
        Over(&self.over)
    }
}

/// What the thread of a native task starts with.
pub(crate) struct NativeTask<'p> {
    pub(crate) task: usize,
    pub(crate) body: Box<dyn Body + 'p>,
    pub(crate) context: JobContext<'p>,
    pub(crate) placement: ThreadPlacement,
}

/// A core's probe.
pub(crate) struct Probe {
    /// The core's position in the plan.
    pub(crate) core: usize,
    pub(crate) event_recorder: EventRecorder,
}

/// What the thread of a best-effort task starts with.
pub(crate) struct BestEffortTask<'p> {
    pub(crate) task: usize,
    pub(crate) run: Box<dyn FnOnce(&mut Context<'_>) + Send + 'p>,
    pub(crate) event_recorder: EventRecorder,
}

/// The thread of a native task, which returns the task's code.
pub(crate) struct NativeThread<'scope, 'p> {
    pub(crate) task: usize,
    join: ScopedJoinHandle<'scope, Option<Box<dyn Body + 'p>>>,
}

impl<'p> NativeThread<'_, 'p> {
    /// Waits for the end of the thread; fails if the task's component has failed. The message of a panic has reported
    /// it; the payload that ended a thread is leaked, because dropping it might panic again.
    pub(crate) fn join(self) -> Result<Box<dyn Body + 'p>, Box<dyn std::error::Error>> {
        match self.join.join() {
            Ok(body) => body.ok_or_else(Error::panicked),
            Err(panic) => {
                std::mem::forget(panic);
                Err(Error::panicked())
            }
        }
    }
}

/// Starts threads.
#[derive(Clone, Copy)]
pub(crate) struct Spawner<'scope, 'env, 'p> {
    pub(crate) threads: &'scope ThreadScope<'scope, 'env>,
    pub(crate) plan: &'p Plan,
    pub(crate) guarantees: &'p Guarantees,
    pub(crate) control: &'p Control,
    pub(crate) set_up: &'scope SetUpHeap,
    pub(crate) handles: &'scope ThreadHandles,
}

impl<'scope, 'p: 'scope> Spawner<'scope, '_, 'p> {
    /// Starts the threads of native tasks, the probes and the device threads, for which the handles were made, in the same
    /// order.
    pub(crate) fn spawn_real_time(
        self,
        native: Vec<NativeTask<'p>>,
        probes: Vec<Probe>,
        watching: Vec<DeviceThread<'p>>,
    ) -> Result<Vec<NativeThread<'scope, 'p>>, Error> {
        let (native_handles, others) = self.handles.real_time.split_at(native.len());
        let (probe_handles, device_handles) = others.split_at(probes.len());
        let mut threads = Vec::with_capacity(native.len());
        for (task, handle) in native.into_iter().zip(native_handles) {
            threads.push(self.spawn_native(task, handle)?);
        }
        for (probe, handle) in probes.into_iter().zip(probe_handles) {
            self.spawn_probe(probe, handle)?;
        }
        for (thread, handle) in watching.into_iter().zip(device_handles) {
            self.spawn_device_thread(thread, handle)?;
        }
        Ok(threads)
    }

    fn spawn_native(
        self,
        native: NativeTask<'p>,
        handle: &'scope ThreadHandle,
    ) -> Result<NativeThread<'scope, 'p>, Error> {
        let task = native.task;
        let name = &self.plan.tasks[task].name;
        let builder = Builder::new().name(name.clone()).stack_size(STACK_BYTES);
        let spawned = builder.spawn_scoped(self.threads, move || {
            let _done = Done { handle, control: self.control, task };
            let NativeTask { mut body, context, placement, .. } = native;
            let thread_slot = interrupt::ThreadSlot::take();
            handle.tid.store(thread::tid(), Ordering::Release);
            self.set_up.count(task, || body.start());
            process::end_if_forked();
            self.place(placement, handle);
            // Takes a millisecond of the core. From the barrier on, all threads of a core must reach their first sleep before
            // release 0, one after the other.
            let account = Account::new(SwitchMark::new());
            let has_failed = self.handles.barrier.wait().is_some_and(|origin_ns| {
                let mut thread = TaskThread::new(context, thread_slot, account, origin_ns);
                thread.count(|thread| body.run_native(thread));
                thread.context.has_failed()
            });
            handle.leaves.store(true, Ordering::Release);
            let _ = thread::set_other();
            (!has_failed).then_some(body)
        });
        let join = spawned
            .map_err(|error| Error::Thread(format!("cannot start the thread of `{name}`: {error}")))?;
        Ok(NativeThread { task, join })
    }

    fn spawn_probe(self, probe: Probe, handle: &'scope ThreadHandle) -> Result<(), Error> {
        let Probe { core, mut event_recorder } = probe;
        let watch = move |origin_ns| probe::watch(origin_ns, self.control, &mut event_recorder);
        self.spawn_above_tasks("probe", core, handle, watch)
    }

    fn spawn_device_thread(
        self,
        mut thread: DeviceThread<'p>,
        handle: &'scope ThreadHandle,
    ) -> Result<(), Error> {
        let core = thread.core;
        self.spawn_above_tasks("device", core, handle, move |origin_ns| thread.watch(origin_ns, self.control))
    }

    /// Starts a thread of a core that runs above all tasks, from release 0 on.
    fn spawn_above_tasks(
        self,
        kind: &str,
        core: usize,
        handle: &'scope ThreadHandle,
        run: impl FnOnce(u64) + Send + 'scope,
    ) -> Result<(), Error> {
        let placement = ThreadPlacement { cpu: self.plan.cores[core].cpu, priority: probe::PRIORITY };
        let builder = Builder::new().name(format!("{kind}-{}", placement.cpu)).stack_size(STACK_BYTES);
        let spawned = builder.spawn_scoped(self.threads, move || {
            let _done = Done { handle, control: self.control, task: usize::MAX };
            handle.tid.store(thread::tid(), Ordering::Release);
            self.place(placement, handle);
            if let Some(origin_ns) = self.handles.barrier.wait() {
                run(origin_ns);
            }
        });
        spawned
            .map(drop)
            .map_err(|error| Error::Thread(format!("cannot start the thread `{kind}` of a core: {error}")))
    }

    /// Places the calling thread. The guarantees say that the system permits the placement; if it refuses all
    /// the same, the main thread calls the start off.
    fn place(self, placement: ThreadPlacement, handle: &ThreadHandle) {
        let taken = place_thread(placement, self.guarantees);
        let _ = taken.map_or_else(
            |error| handle.refused.set(error).is_ok(),
            |()| handle.placed.set(placement).is_ok(),
        );
    }

    /// Starts the threads of best-effort tasks, for which the handles were made, in the same order. With
    /// `receive_donations`, the thread of a task in a server receives donations.
    pub(crate) fn spawn_best_effort(
        self,
        tasks: Vec<BestEffortTask<'p>>,
        receive_donations: bool,
    ) -> Result<(), Error> {
        for (task, (_, handle)) in tasks.into_iter().zip(&self.handles.best_effort) {
            let server = self.plan.server_of(&self.plan.tasks[task.task].name);
            let cpu = server.map(|server| server.cpu).filter(|_| receive_donations);
            self.spawn_one_best_effort(task, handle, cpu)?;
        }
        Ok(())
    }

    /// `donee_on`: the processor of the task's server, if the thread receives donations.
    fn spawn_one_best_effort(
        self,
        best_effort: BestEffortTask<'p>,
        handle: &'scope ThreadHandle,
        donee_on: Option<u16>,
    ) -> Result<(), Error> {
        let BestEffortTask { task, run, event_recorder } = best_effort;
        let TaskPlan { name, service, .. } = &self.plan.tasks[task];
        let service = service.as_ref();
        let service = service.and_then(|name| self.plan.services.iter().position(|of| of.name == *name));
        let over = &self.handles.over;
        let spawned = Builder::new().name(name.clone()).spawn_scoped(self.threads, move || {
            // Dropped last: a thread that may receive a donation must exist as long as the executor.
            let _stays = donee_on.map(|_| Stays(over));
            let _done = Done { handle, control: self.control, task };
            // The slot lets the guardian park the thread: in a server the thread runs above others.
            let _thread_slot = interrupt::ThreadSlot::take();
            handle.tid.store(thread::tid(), Ordering::Release);
            // If the system refuses, the task runs as it would without a server.
            if donee_on.is_some_and(|cpu| thread::set_affinity(&[cpu]).is_ok()) {
                handle.donee.store(thread::tid(), Ordering::Release);
            }
            let mut context = Context::new(self.control, position(task), service, event_recorder);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&mut context))) {
                drop_panic(panic);
                handle.failed.store(true, Ordering::Release);
                context.fail();
            }
            process::end_if_forked();
        });
        spawned
            .map(drop)
            .map_err(|error| Error::Thread(format!("cannot start the thread of `{name}`: {error}")))
    }
}

/// Reports that a thread has ended. A thread that panics outside of jobs and best-effort tasks stops the application:
/// without that thread, the running system is not the one that was proven.
struct Done<'h> {
    handle: &'h ThreadHandle,
    control: &'h Control,
    task: usize,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.control.panicked(position(self.task));
        }
        self.handle.done.store(true, Ordering::Release);
    }
}

/// When it is dropped, lets the threads end that have stayed until the executor is over.
pub(crate) struct Over<'g>(&'g StartBarrier);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.call_off();
    }
}

/// Keeps a thread from ending until [`Over`] is dropped.
struct Stays<'g>(&'g StartBarrier);

impl Drop for Stays<'_> {
    fn drop(&mut self) {
        self.0.wait();
    }
}
