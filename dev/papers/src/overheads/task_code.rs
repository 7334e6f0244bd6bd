// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a task does, the same in each mode: it takes part in its flows, computes, and accesses in between.

use taut_lock::{EventCount, Line, Notifier, Serial};
use taut_sys::clock;

use super::flows::Flow;
use super::mechanism::{self, Access, Mechanism, Seen};
use super::meter::{Call, Meter, Touch, now};
use super::system::{BYTES_MAX, Object, System, TICKS, Task};

/// A value behind a lock.
pub(super) type Value = [u8; BYTES_MAX];

/// Less than that is not computed: to look at the time takes longer.
const LEAST_NS: u64 = 1_000;

/// What a mode has for locks.
pub(super) trait Locks {
    /// Runs `section` with an object's value while nobody else has it; `false` if it was not had.
    fn locked(&mut self, object: usize, section: impl FnOnce(&mut Value)) -> bool;
}

/// One access of each job.
pub(super) enum Step<'m> {
    Lock { object: usize, local: bool, touch: Touch },
    Free { writer: usize, access: Box<dyn Access + 'm>, touch: Touch },
}

/// A task's part of a run.
pub(super) struct TaskCode<'f, 'm> {
    pub(super) task: Task,
    pub(super) steps: Vec<Step<'m>>,
    /// What it takes part in.
    pub(super) flows: Vec<&'f Serial<Flow<'m>>>,
    pub(super) meter: Meter,
    /// Rung at the end of its jobs, if others wait for what they write.
    notifier: Option<(Notifier<'f>, Touch)>,
    /// The first timer period of which the activations have not been made.
    next: u64,
}

/// A run's memory, on which its parts stand.
pub(super) struct Ground {
    lines: Vec<Vec<Line>>,
}

/// What stands on it beside the ends.
pub(super) type Flows<'m> = Vec<Serial<Flow<'m>>>;

impl Ground {
    /// For all objects of a system under a mechanism.
    pub(super) fn new(system: &System, mechanism: Mechanism) -> Self {
        let seen = |object| Seen { mechanism, object, tasks: &system.tasks };
        let lines = system.objects.iter().map(|object| mechanism::lines(seen(object))).collect();
        Self { lines }
    }

    /// The accesses of each task, and the flows of each object if they are preserved.
    ///
    /// # Errors
    /// What an object says.
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

/// The parts of all tasks.
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
        // Three of each access; of each flow a turn, a wait and a ring, and the activations of all if this task is always the first.
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
    /// Makes the activations of a release in all of its flows, and what comes before; once.
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

    /// Of what the job that is activated reads, the writer of the first value that is not there.
    pub(super) fn missing(&mut self) -> Option<(usize, Touch)> {
        self.steps.iter_mut().find_map(|step| match step {
            Step::Free { writer, access, touch } => (!access.is_ready()).then_some((*writer, *touch)),
            Step::Lock { .. } => None,
        })
    }

    /// A job.
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
            meter.took(Call::Tell, *touch, &[(begin, now())]);
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

/// Uses so much time of the processor, whoever else has it meanwhile.
fn compute(ns: u64) {
    if ns < LEAST_NS {
        return;
    }
    let end = clock::thread_cpu_ns() + ns;
    while clock::thread_cpu_ns() < end {
        std::hint::spin_loop();
    }
}
