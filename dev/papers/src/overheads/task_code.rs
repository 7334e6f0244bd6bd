// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a task does, the same in each mode: it takes part in its flows, computes, and accesses objects in between.

use taut_lock::{EventCount, Line, Notifier, Serial};
use taut_sys::clock;

use super::flows::Flow;
use super::mechanism::{self, Access, Mechanism, Seen};
use super::meter::{Call, Meter, Touch, now};
use super::system::{BYTES_MAX, Object, System, TICKS, Task};

/// A value behind a lock.
pub(super) type Value = [u8; BYTES_MAX];

/// A shorter time is not computed: to read the clock takes longer.
const LEAST_NS: u64 = 1_000;

/// The locks of a mode.
pub(super) trait Locks {
    /// Runs `section` on an object's value in mutual exclusion; `false` if the lock was not obtained.
    fn locked(&mut self, object: usize, section: impl FnOnce(&mut Value)) -> bool;
}

/// One access of each job.
pub(super) enum Step<'m> {
    Lock { object: usize, local: bool, touch: Touch },
    Free { writer: usize, access: Box<dyn Access + 'm>, touch: Touch },
}

/// The work of one task in a run.
pub(super) struct TaskCode<'f, 'm> {
    pub(super) task: Task,
    pub(super) steps: Vec<Step<'m>>,
    /// The flows in which the task takes part.
    pub(super) flows: Vec<&'f Serial<Flow<'m>>>,
    pub(super) meter: Meter,
    /// Notifies the readers at the end of each job, if they wait for what the task writes.
    notifier: Option<(Notifier<'f>, Touch)>,
    /// The first timer period whose activations this task has not made.
    next: u64,
}

/// The memory of a run, on which its objects are placed.
pub(super) struct Ground {
    lines: Vec<Vec<Line>>,
}

/// The flows on that memory.
pub(super) type Flows<'m> = Vec<Serial<Flow<'m>>>;

impl Ground {
    /// For all objects of a system under a mechanism.
    pub(super) fn new(system: &System, mechanism: Mechanism) -> Self {
        let seen = |object| Seen { mechanism, object, tasks: &system.tasks };
        let lines = system.objects.iter().map(|object| mechanism::lines(seen(object))).collect();
        Self { lines }
    }

    /// The accesses of each task, and the flow of each object if flows are preserved.
    ///
    /// # Errors
    /// An object reports an error.
    pub(super) fn stand<'m>(
        &'m mut self,
        system: &System,
        mechanism: Mechanism,
    ) -> Result<(Vec<Vec<Step<'m>>>, Flows<'m>), String> {
        let mut steps: Vec<Vec<Step<'m>>> = system.tasks.iter().map(|_| Vec::new()).collect();
        let mut flows = Vec::new();
        for (at, (object, lines)) in system.objects.iter().zip(&mut self.lines).enumerate() {
            let seen = Seen { mechanism, object, tasks: &system.tasks };
            if mechanism.is_lock() {
                let local = object.is_local(&system.tasks);
                let lock = |user| Step::Lock { object: at, local, touch: seen.touch(user) };
                object.users().for_each(|user| steps[user].push(lock(user)));
                continue;
            }
            let made = mechanism::ends(seen, lines)?;
            let users = std::iter::once(object.writer).chain(object.in_flow(&system.tasks).0);
            for (user, access) in users.zip(std::iter::once(made.writer).chain(made.readers)) {
                steps[user].push(Step::Free { writer: object.writer, access, touch: seen.touch(user) });
            }
            if let Some(flow) = made.flow {
                flows.push(Serial::new(flow).map_err(|error| error.to_string())?);
            }
        }
        Ok((steps, flows))
    }
}

/// The work of all tasks.
pub(super) fn task_codes<'f, 'm>(
    system: &System,
    steps: Vec<Vec<Step<'m>>>,
    (flows, event_counts): (&'f [Serial<Flow<'m>>], &'f [EventCount]),
    clock_ns: u64,
) -> Vec<TaskCode<'f, 'm>> {
    let is_of = |object: &Object, task: usize| object.users().any(|user| user == task);
    let task_code = |(at, (task, steps)): (usize, (&Task, Vec<Step<'m>>))| {
        let flows: Vec<_> = system
            .objects
            .iter()
            .zip(flows)
            .filter(|(object, _)| is_of(object, at))
            .map(|(_, flow)| flow)
            .collect();
        // Three samples for each access; for each flow a turn, a wait and a notification, and the activations of all
        // its users if this task is always the first.
        let each = 3 * steps.len() + 3 * flows.len();
        let others =
            |object: &Object| object.users().map(|user| TICKS / system.tasks[user].ticks + 1).sum::<u64>();
        let activations: u64 = system.objects.iter().filter(|object| is_of(object, at)).map(others).sum();
        let activations = if flows.is_empty() { 0 } else { activations as usize };
        let room = each * (TICKS / task.ticks + 1) as usize + activations;
        let writes = steps.iter().find_map(|step| match step {
            Step::Free { touch, .. } if touch.write && !flows.is_empty() => Some(*touch),
            _ => None,
        });
        let notifier = writes.map(|touch| (event_counts[at].notifier(), touch));
        TaskCode { task: task.clone(), steps, flows, meter: Meter::new(room, clock_ns), notifier, next: 0 }
    };
    system.tasks.iter().zip(steps).enumerate().map(task_code).collect()
}

impl TaskCode<'_, '_> {
    /// Makes the activations in all of the task's flows up to and including a release; does nothing if they are made
    /// already.
    pub(super) fn activate(&mut self, tick: u64) {
        if tick < self.next {
            return;
        }
        self.next = tick + 1;
        let Self { flows, meter, .. } = self;
        for flow in flows {
            let begin = now();
            let advanced = flow.with(|flow| {
                let from = now();
                flow.advance(tick, meter);
                (flow.touch, from, now())
            });
            let Ok((touch, from, to)) = advanced else { continue };
            meter.took(Call::Turn, touch, &[(begin, from), (to, now())]);
        }
    }

    /// The writer of the first missing input of the activated job.
    pub(super) fn missing(&mut self) -> Option<(usize, Touch)> {
        self.steps.iter_mut().find_map(|step| match step {
            Step::Free { writer, access, touch } => (!access.is_ready()).then_some((*writer, *touch)),
            Step::Lock { .. } => None,
        })
    }

    /// Runs a job.
    pub(super) fn job(&mut self, locks: &mut impl Locks) {
        let Self { task, steps, meter, notifier, .. } = self;
        let share = task.cost_ns / (steps.len() as u64 + 1);
        for step in steps {
            compute(share);
            match step {
                Step::Free { access, .. } => access.run(meter),
                Step::Lock { object, local, touch } => locked(locks, *object, *local, *touch, meter),
            }
        }
        compute(share);
        if let Some((notifier, touch)) = notifier {
            let begin = now();
            notifier.notify();
            meter.took(Call::NotifyReaders, *touch, &[(begin, now())]);
        }
    }
}

fn locked(locks: &mut impl Locks, object: usize, local: bool, touch: Touch, meter: &mut Meter) {
    let mut own = [0_u8; BYTES_MAX];
    let bytes = usize::from(touch.bytes).min(BYTES_MAX);
    let (mut from, mut to) = (0, 0);
    let begin = now();
    let had = locks.locked(object, |value| {
        from = now();
        if touch.write {
            value[..bytes].copy_from_slice(&own[..bytes]);
        } else {
            own[..bytes].copy_from_slice(&value[..bytes]);
        }
        std::hint::black_box(&mut own);
        to = now();
    });
    let end = now();
    if !had {
        meter.refused += 1;
        return;
    }
    let (get, give) =
        if local { (Call::GetLocal, Call::GiveLocal) } else { (Call::GetGlobal, Call::GiveGlobal) };
    meter.took(get, touch, &[(begin, from)]);
    meter.took(Call::Access, touch, &[(from, to)]);
    meter.took(give, touch, &[(to, end)]);
}

/// Uses `ns` of processor time, even if other threads have the processor in between.
fn compute(ns: u64) {
    if ns < LEAST_NS {
        return;
    }
    let end = clock::thread_cpu_ns() + ns;
    while clock::thread_cpu_ns() < end {
        std::hint::spin_loop();
    }
}
