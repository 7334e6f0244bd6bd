// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! DBP and TCCP compared with the synchronous-reactive semantics: an interpreter that computes everything at the
//! instant of its activation, and a scheduler that lets random task sets write and read late, interrupted and in
//! parallel. Also all reachable states of small sets: the buffers suffice, and one fewer does not.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

#[path = "../payload/mod.rs"]
mod payload;

use std::collections::{HashSet, VecDeque};
use std::ptr::NonNull;

use payload::{marked, number};
use taut_atomic::Ordering::Relaxed;
use taut_share::state::dbp::{self, NotActivated, Shape};
use taut_share::state::tccp;
use taut_share::{LINE_BYTES, Line, Memory};

type Value = [u64; 3];

/// xorshift64
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn from(&mut self, range: std::ops::RangeInclusive<u64>) -> u64 {
        range.start() + self.below(range.end() - range.start() + 1)
    }
}

/// Zeroed lines of an object.
fn lines(bytes: usize) -> Vec<Line> {
    (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    Value(Option<u64>),
    NotYet,
    Overrun,
}

/// An object whose jobs continue while others are activated, run and complete.
trait Flow {
    fn new(shape: Shape) -> Self;
    fn activate_writer(&mut self, at: u64) -> Result<u64, NotActivated>;
    fn activate_reader(&mut self, which: u32, at: u64) -> Result<u64, NotActivated>;
    fn write(&mut self, value: u64);
    fn complete_writer(&mut self);
    fn read(&mut self, which: u32) -> Got;
    fn is_ready(&mut self, which: u32) -> bool;
    fn complete_reader(&mut self, which: u32);
    /// The object's word at byte `offset`.
    fn word(&mut self, offset: usize) -> u64;
}

/// An end and its present job: the job borrows the end, which is on the heap and used only between jobs.
struct Saved<End, Job> {
    end: NonNull<End>,
    job: Option<Job>,
}

impl<End: 'static, Job> Saved<End, Job> {
    fn new(end: End) -> Self {
        Self { end: NonNull::from(Box::leak(Box::new(end))), job: None }
    }

    /// The job; `begin` begins it if that has not happened.
    fn job(&mut self, begin: impl FnOnce(&'static mut End) -> Option<Job>) -> &mut Job {
        if self.job.is_none() {
            // SAFETY: it exists until self is dropped, which drops the job first; there is no job, so nothing else
            // borrows it.
            self.job = begin(unsafe { self.end.as_mut() });
        }
        self.job.as_mut().expect("activated")
    }
}

impl<End, Job> Drop for Saved<End, Job> {
    fn drop(&mut self) {
        self.job = None;
        // SAFETY: from a box; nothing borrows it.
        drop(unsafe { Box::from_raw(self.end.as_ptr()) });
    }
}

type Kit<D, W, WJ, R, RJ> = (D, Saved<W, WJ>, Vec<Saved<R, RJ>>);

macro_rules! flow {
    ($name:ident, $protocol:ident, $read:expr) => {
        struct $name {
            kit: Kit<
                $protocol::Dispatcher<'static>,
                $protocol::Writer<'static, Value>,
                $protocol::WriterJob<'static, 'static, Value>,
                $protocol::Reader<'static, Value>,
                $protocol::ReaderJob<'static, 'static, Value>,
            >,
            /// Last, so that it outlives the ends.
            lines: Vec<Line>,
        }

        impl Flow for $name {
            fn new(shape: Shape) -> Self {
                let mut lines = lines($protocol::bytes::<Value>(shape).unwrap());
                let start = NonNull::new(lines.as_mut_ptr().cast::<u8>()).unwrap();
                // SAFETY: aligned lines, of that length, for this object alone, whose ends are dropped before them.
                let memory = unsafe { Memory::from_raw(start, size_of_val(lines.as_slice())) };
                let (dispatcher, writer, readers) = $protocol::group::<Value>(memory, shape).unwrap();
                assert_eq!(readers.len() as u32, shape.lower + shape.higher);
                Self { kit: (dispatcher, Saved::new(writer), readers.map(Saved::new).collect()), lines }
            }

            fn activate_writer(&mut self, at: u64) -> Result<u64, NotActivated> {
                self.kit.0.activate_writer(at)
            }

            fn activate_reader(&mut self, which: u32, at: u64) -> Result<u64, NotActivated> {
                self.kit.0.activate_reader(which, at)
            }

            fn write(&mut self, value: u64) {
                self.kit.1.job($protocol::Writer::job).write(&marked(value));
            }

            fn complete_writer(&mut self) {
                self.kit.1.job($protocol::Writer::job);
                self.kit.1.job = None;
            }

            fn read(&mut self, which: u32) -> Got {
                let value = self.kit.2[which as usize].job($protocol::Reader::job).read();
                value.map_or_else($read, |value| Got::Value(value.map(|value| number(&value))))
            }

            fn is_ready(&mut self, which: u32) -> bool {
                self.kit.2[which as usize].job($protocol::Reader::job).is_ready()
            }

            fn complete_reader(&mut self, which: u32) {
                self.kit.2[which as usize].job($protocol::Reader::job);
                self.kit.2[which as usize].job = None;
            }

            fn word(&mut self, offset: usize) -> u64 {
                // SAFETY: inside of the lines, aligned, accessed only atomically.
                let word = unsafe {
                    taut_atomic::AtomicU64::from_ptr(self.lines.as_mut_ptr().cast::<u64>().add(offset / 8))
                };
                word.load(Relaxed)
            }
        }
    };
}
flow!(Dbp, dbp, |dbp::NotYet| Got::NotYet);
flow!(Tccp, tccp, |why| match why {
    tccp::NotRead::NotYet => Got::NotYet,
    tccp::NotRead::Overrun => Got::Overrun,
});

/// The synchronous-reactive model: blocks compute in zero time at the instant at which they are due, in the order of
/// their dependencies.
#[derive(Default)]
struct Interpreter {
    /// The present output of the writer's block.
    output: Option<u64>,
    /// The present output of a unit delay after it.
    delayed: Option<u64>,
    executions: u64,
}

impl Interpreter {
    /// The writer's block is due; its output is new, or the same as before.
    fn writer(&mut self, new: Option<u64>) {
        self.delayed = self.output;
        self.output = new.or(self.output);
        self.executions += 1;
    }
}

struct Task {
    period: u64,
    offset: u64,
    cost: u64,
    /// Larger is more urgent.
    priority: u64,
    processor: usize,
}

/// A job that is not complete.
struct Job {
    left: u64,
    /// For the writer: its last write, if it has one. For a reader: the result of the interpreter.
    value: Option<u64>,
    /// The number of the writer's job: this job, or the one whose value the reader reads.
    instance: u64,
}

/// Counts of what happened.
#[derive(Debug, Default)]
struct Seen {
    reads: u64,
    not_yet: u64,
    overruns: u64,
    refused: u64,
    interrupted: u64,
    held: u64,
}

/// One object. `tasks[0]` is its writer; the lower readers follow, then the higher ones.
struct Schedule<F> {
    object: F,
    tasks: Vec<Task>,
    lower: usize,
    processors: usize,
    /// For TCCP: after how many activations of the writer a value is gone.
    buffers: Option<u64>,
    jobs: Vec<Option<Job>>,
    model: Interpreter,
    completed: u64,
    seen: Seen,
}

impl<F: Flow> Schedule<F> {
    fn run(&mut self, until: u64, random: &mut Random) {
        for now in 0..until {
            // The writer is activated first, then its readers in any order.
            let mut due: Vec<_> = (1..self.tasks.len()).collect();
            for i in 0..due.len() {
                let other = random.below(due.len() as u64) as usize;
                due.swap(i, other);
            }
            for task in std::iter::once(0).chain(due) {
                let Task { period, offset, .. } = self.tasks[task];
                if now >= offset && (now - offset).is_multiple_of(period) {
                    self.activate(task, now, random);
                }
            }
            for processor in 0..self.processors {
                self.step(processor, random);
            }
        }
    }

    fn activate(&mut self, task: usize, now: u64, random: &mut Random) {
        let activated = match task {
            0 => self.object.activate_writer(now),
            _ => self.object.activate_reader(task as u32 - 1, now),
        };
        if self.jobs[task].is_some() {
            assert_eq!(activated, Err(NotActivated::Running));
            self.seen.refused += 1;
            return;
        }
        let value = if task == 0 {
            let new = (random.below(5) > 0).then(|| random.below(1 << 40));
            self.model.writer(new);
            assert_eq!(activated, Ok(self.model.executions));
            new
        } else if task <= self.lower {
            assert_eq!(activated, Ok(self.model.executions));
            self.model.output
        } else {
            assert_eq!(activated, Ok(self.model.executions.saturating_sub(1)));
            self.model.delayed
        };
        self.jobs[task] = Some(Job { left: self.tasks[task].cost, value, instance: activated.unwrap() });
    }

    /// Runs the most urgent job that can run, for one time unit.
    fn step(&mut self, processor: usize, random: &mut Random) {
        let mut ready: Vec<_> = (0..self.tasks.len())
            .filter(|task| self.tasks[*task].processor == processor && self.jobs[*task].is_some())
            .collect();
        ready.sort_by_key(|task| std::cmp::Reverse(self.tasks[*task].priority));
        for task in ready {
            let instance = self.jobs[task].as_ref().unwrap().instance;
            if task > 0 {
                let there = instance <= self.completed;
                assert_eq!(self.object.is_ready(task as u32 - 1), there);
                assert!(there || task <= self.lower, "a higher reader never waits");
                assert!(there || self.processors > 1, "a lower reader never runs before its writer");
                if !there {
                    assert_eq!(self.object.read(task as u32 - 1), Got::NotYet);
                    self.seen.not_yet += 1;
                    continue;
                }
            }
            self.work(task, random);
            return;
        }
    }

    fn work(&mut self, task: usize, random: &mut Random) {
        let job = self.jobs[task].as_mut().unwrap();
        self.seen.interrupted += u64::from(job.left < self.tasks[task].cost);
        job.left -= 1;
        let (last, value, instance) = (job.left == 0, job.value, job.instance);
        if task == 0 {
            // A job that writes makes its last write at its end, and another write before that.
            match value {
                Some(value) if last => self.object.write(value),
                Some(_) if random.below(2) == 0 => self.object.write(random.below(1 << 40)),
                _ => {}
            }
            if last {
                self.seen.held += u64::from(value.is_none());
                self.object.complete_writer();
                self.completed = instance;
            }
        } else {
            let which = task as u32 - 1;
            if last || random.below(3) > 0 {
                let gone = self.buffers.is_some_and(|n| self.model.executions >= instance + n);
                // Before the first write there is no value that could be gone.
                let expected = if gone && value.is_some() { Got::Overrun } else { Got::Value(value) };
                assert_eq!(self.object.read(which), expected, "not what the model gives");
                self.seen.reads += 1;
                self.seen.overruns += u64::from(expected == Got::Overrun);
            }
            if last {
                self.object.complete_reader(which);
            }
        }
        if last {
            self.jobs[task] = None;
        }
    }
}

/// A random set: similar periods, costs that mostly fit, priorities according to the readers' kinds.
fn tasks(random: &mut Random, lower: u64, higher: u64, processors: u64) -> Vec<Task> {
    let load = random.from(1..=3);
    let mut task = |priority| {
        let period = random.from(2..=24);
        let cost = (period * load / 4 / (1 + lower + higher)).max(1);
        let cost = random.from(1..=cost + 1);
        let (offset, processor) = (random.below(period), random.below(processors) as usize);
        Task { period, offset: if offset % 2 == 0 { 0 } else { offset }, cost, priority, processor }
    };
    let mut tasks = vec![task(lower)];
    tasks.extend((0..lower).map(&mut task));
    tasks.extend((0..higher).map(|i| task(lower + 1 + i)));
    tasks
}

fn random_sets<F: Flow>(
    processors: u64,
    sets: u64,
    shape: impl Fn(&mut Random, u32, u32) -> (Shape, Option<u64>),
) -> Seen {
    let sets = if cfg!(miri) { sets / 2000 } else { sets };
    let mut random = Random(0x1234_5678_9ABC_DEF1 + processors);
    let mut all = Seen::default();
    for _ in 0..sets {
        let (lower, higher) = loop {
            let (lower, higher) = (random.below(4), random.below(4));
            if lower + higher > 0 {
                break (lower, higher);
            }
        };
        let (shape, buffers) = shape(&mut random, lower as u32, higher as u32);
        let tasks = tasks(&mut random, lower, higher, processors);
        let mut schedule = Schedule {
            object: F::new(shape),
            jobs: tasks.iter().map(|_| None).collect(),
            tasks,
            lower: lower as usize,
            processors: processors as usize,
            buffers,
            model: Interpreter::default(),
            completed: 0,
            seen: Seen::default(),
        };
        schedule.run(200, &mut random);
        let seen = &schedule.seen;
        all.reads += seen.reads;
        all.not_yet += seen.not_yet;
        all.overruns += seen.overruns;
        all.refused += seen.refused;
        all.interrupted += seen.interrupted;
        all.held += seen.held;
    }
    println!("{sets} sets on {processors} processors: {all:?}");
    assert!(cfg!(miri) || (all.refused > 100 && all.interrupted > 1000 && all.held > 1000), "{all:?}");
    all
}

#[test]
fn dbp_on_one_processor() {
    let seen = random_sets::<Dbp>(1, 4000, |_, lower, higher| (Shape::one_processor(lower, higher), None));
    assert_eq!((seen.not_yet, seen.overruns), (0, 0));
}

#[test]
fn dbp_on_several_processors() {
    for processors in [2, 3] {
        let shape = |_: &mut Random, lower, higher| (Shape::several_processors(lower, higher), None);
        let seen = random_sets::<Dbp>(processors, 4000, shape);
        assert!(cfg!(miri) || seen.not_yet > 100);
    }
}

#[test]
fn tccp_on_any_number_of_processors() {
    for processors in [1, 2, 3] {
        let shape = |random: &mut Random, lower, higher| {
            let buffers = random.from(1..=12);
            (Shape { lower, higher, buffers: buffers as u32 }, Some(buffers))
        };
        let seen = random_sets::<Tccp>(processors, 4000, shape);
        assert!(cfg!(miri) || (seen.overruns > 100 && seen.reads > 10 * seen.overruns));
    }
}

/// Events of a DBP object that a scheduler may let happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    ActivateWriter,
    CompleteWriter,
    ActivateReader(u32),
    CompleteReader(u32),
}

/// A DBP object, and the state that decides which events may follow.
struct Small {
    object: Dbp,
    shape: Shape,
    now: u64,
    written: u64,
    activated: u64,
    /// The version that each active reader reads.
    reading: Vec<Option<u64>>,
}

impl Small {
    fn new(shape: Shape) -> Self {
        let reading = vec![None; (shape.lower + shape.higher) as usize];
        Self { object: Dbp::new(shape), shape, now: 0, written: 0, activated: 0, reading }
    }

    /// Events that can follow, on one processor under fixed priorities, or on several processors where readers check
    /// for completion.
    fn possible(&self, one_processor: bool) -> Vec<Event> {
        let (lower, higher) = self.reading.split_at(self.shape.lower as usize);
        let (writing, delayed) = (self.activated > self.written, higher.iter().any(Option::is_some));
        let mut events = Vec::new();
        if !writing {
            events.push(Event::ActivateWriter);
        } else if !(one_processor && delayed) {
            events.push(Event::CompleteWriter);
        }
        for (which, reading) in (0u32..).zip(&self.reading) {
            let is_lower = (which as usize) < lower.len();
            match reading {
                None => events.push(Event::ActivateReader(which)),
                Some(version) if is_lower && one_processor && (writing || delayed) => {
                    assert!(*version <= self.activated);
                }
                Some(version) if *version > self.written => assert!(is_lower, "a higher reader waits"),
                Some(_) => events.push(Event::CompleteReader(which)),
            }
        }
        events
    }

    /// Performs the event; `false` if there is no buffer for it.
    fn happen(&mut self, event: Event) -> bool {
        self.now += 1;
        match event {
            Event::ActivateWriter => match self.object.activate_writer(self.now) {
                Ok(job) => {
                    self.activated += 1;
                    assert_eq!(job, self.activated);
                    self.object.write(job);
                }
                Err(NotActivated::NoBuffer) => return false,
                Err(other) => panic!("{other}"),
            },
            Event::CompleteWriter => {
                self.object.complete_writer();
                self.written = self.activated;
            }
            Event::ActivateReader(which) => {
                let version = self.object.activate_reader(which, self.now).unwrap();
                let delay = u64::from(which >= self.shape.lower);
                assert_eq!(version, self.activated.saturating_sub(delay));
                self.reading[which as usize] = Some(version);
            }
            Event::CompleteReader(which) => {
                let version = self.reading[which as usize].take().unwrap();
                let value = (version > 0).then_some(version);
                assert_eq!(self.object.read(which), Got::Value(value), "reader {which}");
                self.object.complete_reader(which);
            }
        }
        // Every reader that can read does so: the value that it sees must stay.
        for (which, reading) in (0u32..).zip(&self.reading) {
            if let Some(version) = reading.filter(|version| *version > 0 && *version <= self.written) {
                assert_eq!(self.object.read(which), Got::Value(Some(version)), "reader {which}");
            }
        }
        true
    }

    /// The state that determines the future: the buffers in use, not the numbers of jobs.
    fn state(&mut self) -> Vec<u64> {
        let mut word = |offset| self.object.word(offset);
        let mut state = vec![word(0) & 0xFFF, self.activated.min(2), self.activated - self.written];
        for (which, reading) in self.reading.iter().enumerate() {
            let held = word(256 + 256 * which + 8) & 63;
            state.push(reading.map_or(0, |version| match version {
                0 => 1,
                version => 2 + 2 * held + u64::from(version <= self.written),
            }));
        }
        state
    }
}

/// Returns the number of reachable states, and whether a buffer was missing in one.
fn explore(shape: Shape, one_processor: bool) -> (usize, bool) {
    let mut known = HashSet::from([Small::new(shape).state()]);
    let mut open = VecDeque::from([Vec::new()]);
    let mut missing = false;
    let replay = |path: &[Event]| {
        let mut small = Small::new(shape);
        path.iter().for_each(|event| assert!(small.happen(*event)));
        small
    };
    while let Some(path) = open.pop_front() {
        for event in replay(&path).possible(one_processor) {
            let mut next = replay(&path);
            if !next.happen(event) {
                missing = true;
            } else if known.insert(next.state()) {
                let mut longer = path.clone();
                longer.push(event);
                open.push_back(longer);
            }
        }
    }
    (known.len(), missing)
}

#[test]
fn dbp_has_enough_buffers_and_none_too_many() {
    let most = if cfg!(miri) { 1 } else { 3 };
    for (lower, higher) in (0..=most).flat_map(|lower| (0..=most - lower).map(move |higher| (lower, higher)))
    {
        if lower + higher == 0 {
            continue;
        }
        for (one_processor, shape) in
            [(true, Shape::one_processor(lower, higher)), (false, Shape::several_processors(lower, higher))]
        {
            let (states, missing) = explore(shape, one_processor);
            println!(
                "{lower} lower, {higher} higher, one processor {one_processor}: {shape:?}, {states} states"
            );
            assert!(!missing, "{shape:?} is too few");
            let fewer = Shape { buffers: shape.buffers - 1, ..shape };
            assert!(explore(fewer, one_processor).1, "{shape:?} is too many");
        }
    }
}

#[test]
fn tccp_has_enough_buffers_and_none_too_many() {
    let most = if cfg!(miri) { 2 } else { 8 };
    for (period, longest, higher) in (1..=most)
        .flat_map(|period| (1..=2 * most).map(move |longest| (period, longest)))
        .flat_map(|(period, longest)| [(period, longest, false), (period, longest, true)])
    {
        let enough = tccp::buffers(longest, period, higher).unwrap();
        // A writer of that period, in every phase; a reader whose job makes its last read as late as allowed.
        let overrun = |buffers: u32| {
            (0..period).any(|phase| {
                let shape = Shape { lower: u32::from(!higher), higher: u32::from(higher), buffers };
                let mut object = Tccp::new(shape);
                let begin = phase + 2 * period;
                for now in 0..=begin + longest {
                    if now % period == 0 {
                        let job = object.activate_writer(now).unwrap();
                        object.write(job);
                        object.complete_writer();
                    }
                    if now == begin {
                        object.activate_reader(0, now).unwrap();
                    }
                }
                object.read(0) == Got::Overrun
            })
        };
        assert!(!overrun(enough), "{enough} for {longest} at {period}, {higher}");
        assert!(overrun(enough - 1), "{enough} for {longest} at {period}, {higher}");
    }
}

#[test]
fn newest_has_enough_buffers() {
    for period in 1..=8u64 {
        for (deadline, longest) in
            (1..=period).flat_map(|deadline| (1..=20).map(move |longest| (deadline, longest)))
        {
            // Jobs are activated at multiples of the period and complete as late as allowed.
            let worst = (100 * period..101 * period)
                .map(|begin| {
                    let began = (begin + longest) / period;
                    let complete = (begin - deadline) / period;
                    began - complete
                })
                .max()
                .unwrap();
            let buffers = u64::from(tccp::newest_buffers(longest, deadline, period).unwrap());
            // A value is gone when n more writes have begun.
            assert!(worst < buffers, "{buffers} for {longest}, {deadline}, {period}");
            assert!(worst + 1 == buffers || longest + deadline <= period, "{buffers} are too many");
        }
    }
    assert_eq!(tccp::newest_buffers(u64::MAX, 1, 1), None);
    assert_eq!(tccp::newest_buffers(1, 1, 0), None);
    assert_eq!(tccp::newest_buffers(1 << 40, 1, 1), None);
    assert_eq!(tccp::buffers(0, 1, false), None);
    assert_eq!(tccp::buffers(1, 0, false), None);
    assert_eq!(tccp::buffers(1 << 40, 1, true), None);
}

#[test]
fn the_newest_at_the_moment_of_reading_is_not_the_flow() {
    // Figure 1: a late job reads a value that the model never gives it.
    let shape = Shape { lower: 1, higher: 0, buffers: 3 };
    let mut lines = lines(tccp::bytes::<Value>(shape).unwrap());
    let (mut dispatcher, mut writer, mut readers) =
        tccp::group::<Value>(Memory::new(&mut lines), shape).unwrap();
    let mut reader = readers.next().unwrap();
    for n in 1..=2 {
        dispatcher.activate_writer(n * 10).unwrap();
        writer.job().unwrap().write(&marked(n));
        if n == 1 {
            dispatcher.activate_reader(0, n * 10).unwrap();
        }
    }
    assert_eq!(number(&reader.read_newest().unwrap().unwrap().value), 2);
    assert_eq!(number(&reader.job().unwrap().read().unwrap().unwrap()), 1);
}
