// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Systems as \[Han14, section IV\] draws them, at a fifth of their length: the paper's timer period is 5 ms, and one
//! here is [`TICK_NS`], so that all periods together fit into a fifth of a second.

use taut_sweep::Generator;

const OWN: &str = include_str!("../../han14/overheads.toml");
const SYSTEMS: &str = include_str!("../../han14/systems.toml");

/// The paper's timer period, in ns.
const PRINTED_TICK_NS: u64 = 5_000_000;
/// A timer period here, in ns.
pub(super) const TICK_NS: u64 = 1_000_000;
/// All tasks are released together again after this many timer periods: 1 s in the paper.
pub(super) const TICKS: u64 = 200;
/// The most bytes of a value.
pub(super) const BYTES_MAX: usize = 512;

/// How much tasks share. The paper plots these two schemes; the medium scheme is between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scheme {
    Light,
    Heavy,
}

impl Scheme {
    pub(super) const ALL: [Self; 2] = [Self::Light, Self::Heavy];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Heavy => "heavy",
        }
    }
}

/// A periodic task, released for the first time together with all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) core: usize,
    /// A larger number is more urgent; each occurs once.
    pub(super) priority: u32,
    /// The period, in timer periods.
    pub(super) ticks: u64,
    pub(super) cost_ns: u64,
}

/// A shared object; tasks are given by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) bytes: usize,
    pub(super) writer: usize,
    pub(super) readers: Vec<usize>,
}

/// Tasks on two cores, and their shared objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct System {
    pub(super) tasks: Vec<Task>,
    pub(super) objects: Vec<Object>,
}

impl System {
    /// A system with this many objects; `which` steps through the loads.
    ///
    /// # Errors
    /// No system has this number of objects.
    pub(super) fn drawn(scheme: Scheme, objects: usize, which: u64) -> Result<Self, String> {
        let text = format!("{OWN}{SYSTEMS}").replace("count = 1\n", &format!("count = {objects}\n"));
        let generator = Generator::parse(&text)
            .map_err(|faults| faults.into_iter().map(|fault| fault.message).collect::<Vec<_>>().join("; "))?;
        let points = generator.points();
        let of: Vec<usize> = (0..points.len()).filter(|&at| points[at].scheme == scheme.word()).collect();
        // 5 has no divisor in common with the 12 loads: systems take one load after the other, far apart.
        let point = of[(which * 5 % of.len() as u64) as usize];
        let row = point as u64 + which / of.len() as u64 * points.len() as u64;
        let drawn = generator.system(row).map_err(|why| why.to_string())?;
        let scale = PRINTED_TICK_NS / TICK_NS;
        let task = |(at, task): (usize, &taut_model::SetTask)| Task {
            core: task.core,
            priority: task.priority,
            ticks: task.period.as_ns() / PRINTED_TICK_NS,
            cost_ns: drawn.set.cost(at).as_ns() / scale,
        };
        let tasks = drawn.set.tasks().iter().enumerate().map(task).collect();
        let object = |object: &taut_sweep::SharedObject| Object {
            bytes: object.bytes as usize,
            writer: object.writer,
            readers: object.readers.clone(),
        };
        Ok(Self { tasks, objects: drawn.objects.iter().map(object).collect() })
    }
}

impl Object {
    /// The writer and the readers.
    pub(super) fn users(&self) -> impl Iterator<Item = usize> + '_ {
        std::iter::once(self.writer).chain(self.readers.iter().copied())
    }

    /// Whether all users are on one core.
    pub(super) fn is_local(&self, tasks: &[Task]) -> bool {
        self.users().all(|user| tasks[user].core == tasks[self.writer].core)
    }

    /// The readers in the order of a flow, those of lower priority than the writer first; and the number of these.
    pub(super) fn in_flow(&self, tasks: &[Task]) -> (Vec<usize>, u32) {
        let is_higher = |reader: &usize| tasks[*reader].priority > tasks[self.writer].priority;
        let (higher, mut all): (Vec<usize>, Vec<usize>) =
            self.readers.iter().partition(|&reader| is_higher(reader));
        let lower = all.len() as u32;
        all.extend(higher);
        (all, lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_as_many_objects_as_are_wanted() {
        for scheme in Scheme::ALL {
            for objects in [1, 30] {
                let system = System::drawn(scheme, objects, 2).expect("there is one");
                assert_eq!(system.objects.len(), objects);
                assert!(
                    system.tasks.iter().all(|task| TICKS.is_multiple_of(task.ticks) && task.core < 2),
                    "{system:?}"
                );
                assert!(system.objects.iter().all(|object| object.bytes <= BYTES_MAX));
            }
        }
        let loads: Vec<u64> = (0..3)
            .map(|which| {
                let system = System::drawn(Scheme::Light, 10, which).expect("there is one");
                let first = system.tasks.iter().filter(|task| task.core == 0);
                first.map(|task| task.cost_ns * 1000 / (task.ticks * TICK_NS)).sum()
            })
            .collect();
        assert!(loads[0].abs_diff(loads[1]) > 200 && loads[1].abs_diff(loads[2]) > 200, "{loads:?}");
    }

    #[test]
    fn lower_readers_come_first_in_a_flow() {
        let task = |priority| Task { core: 0, priority, ticks: 1, cost_ns: 1 };
        let tasks = [task(2), task(3), task(1)];
        let object = Object { bytes: 1, writer: 0, readers: vec![1, 2] };
        assert_eq!(object.in_flow(&tasks), (vec![2, 1], 1));
        assert!(object.is_local(&tasks));
    }
}
