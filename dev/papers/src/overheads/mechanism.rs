// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Objects under each mechanism without locks: their ends. Each job makes one access.

use taut_atomic::{LINE_BYTES, Line, Memory};
use taut_share::state::flow::Shape;
use taut_share::state::{chen, dbp, tccp};

use super::flows::{Dispatcher, Flow, Member};
use super::meter::{Call, Meter, Touch, now};
use super::system::{Object, Task};

/// How objects are shared. All objects of a system are shared in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mechanism {
    Msrp,
    Mpcp,
    Dbp,
    Tccp,
    FlowDbp,
    FlowTccp,
}

impl Mechanism {
    pub(super) const ALL: [Self; 6] =
        [Self::Msrp, Self::Mpcp, Self::Dbp, Self::Tccp, Self::FlowDbp, Self::FlowTccp];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Msrp => "MSRP",
            Self::Mpcp => "MPCP",
            Self::Dbp => "WF-DBP",
            Self::Tccp => "WF-TCCP",
            Self::FlowDbp => "WFFP-DBP",
            Self::FlowTccp => "WFFP-TCCP",
        }
    }

    pub(super) fn is_lock(self) -> bool {
        matches!(self, Self::Msrp | Self::Mpcp)
    }

    /// Whether a job's activation fixes what the job reads.
    pub(super) fn preserves(self) -> bool {
        matches!(self, Self::FlowDbp | Self::FlowTccp)
    }

    /// Whether an access copies the value, so that it cannot be timed apart from the rest of the call.
    pub(super) fn copies(self) -> bool {
        matches!(self, Self::Tccp | Self::FlowTccp)
    }
}

/// The one access of each job of a task.
pub(super) trait Access: Send {
    /// Makes the access.
    fn run(&mut self, meter: &mut Meter);

    /// Whether the value is there: the writer's job is complete.
    fn is_ready(&mut self) -> bool {
        true
    }
}

impl<F: FnMut(&mut Meter) + Send> Access for F {
    fn run(&mut self, meter: &mut Meter) {
        self(meter);
    }
}

/// The ends of an object: the writer's, and the readers' in the order of [`Object::in_flow`].
pub(super) struct Ends<'m> {
    pub(super) writer: Box<dyn Access + 'm>,
    pub(super) readers: Vec<Box<dyn Access + 'm>>,
    /// The flow that makes the activations, if the flow is preserved.
    pub(super) flow: Option<Flow<'m>>,
}

/// An object, and what its ends must know about it.
#[derive(Clone, Copy)]
pub(super) struct Seen<'s> {
    pub(super) mechanism: Mechanism,
    pub(super) object: &'s Object,
    pub(super) tasks: &'s [Task],
}

impl Seen<'_> {
    /// The access of one of the object's users.
    pub(super) fn touch(&self, user: usize) -> Touch {
        let write = user == self.object.writer;
        let core = |task: usize| self.tasks[task].core;
        let across = if write {
            self.object.readers.iter().any(|&reader| core(reader) != core(user))
        } else {
            core(self.object.writer) != core(user)
        };
        let (bytes, readers) = (self.object.bytes as u16, self.object.readers.len() as u8);
        Touch { bytes, readers, write, across }
    }

    /// The readers of a flow and its buffers. The number of buffers depends on the readers under DBP, and on the
    /// longest lifetimes of jobs under TCCP.
    fn shape(&self) -> Shape {
        let (readers, lower) = self.object.in_flow(self.tasks);
        let higher = readers.len() as u32 - lower;
        if matches!(self.mechanism, Mechanism::Dbp | Mechanism::FlowDbp) {
            return Shape::several_processors(lower, higher);
        }
        let ticks = |task: usize| self.tasks[task].ticks;
        let writer = ticks(self.object.writer);
        let of = |&reader: &usize| {
            let is_higher = self.tasks[reader].priority > self.tasks[self.object.writer].priority;
            let one = if self.mechanism == Mechanism::Tccp {
                tccp::newest_buffers(ticks(reader), writer, writer)
            } else {
                // The previous job may be late by as much again.
                tccp::buffers(2 * ticks(reader), writer, is_higher)
            };
            one.unwrap_or(1)
        };
        Shape { lower, higher, buffers: readers.iter().map(of).max().unwrap_or(1) }
    }

    fn bytes<const N: usize>(&self) -> usize {
        match self.mechanism {
            Mechanism::Dbp => chen::bytes::<[u8; N]>(self.object.readers.len() as u32),
            Mechanism::FlowDbp => dbp::bytes::<[u8; N]>(self.shape()).unwrap_or(0),
            Mechanism::Tccp | Mechanism::FlowTccp => tccp::bytes::<[u8; N]>(self.shape()).unwrap_or(0),
            Mechanism::Msrp | Mechanism::Mpcp => 0,
        }
    }

    fn ends<'m, const N: usize>(&self, memory: Memory<'m>) -> Result<Ends<'m>, String> {
        let made = match self.mechanism {
            Mechanism::Dbp => self.chen::<N>(memory),
            Mechanism::Tccp => self.newest::<N>(memory),
            Mechanism::FlowDbp => self.dbp::<N>(memory),
            _ => self.tccp::<N>(memory),
        };
        made.map_err(|error| error.to_string())
    }

    fn readers(&self) -> impl Iterator<Item = Touch> {
        self.object.in_flow(self.tasks).0.into_iter().map(|reader| self.touch(reader))
    }

    fn chen<'m, const N: usize>(&self, memory: Memory<'m>) -> Result<Ends<'m>, taut_share::LayoutError> {
        let (mut writer, readers) = chen::group::<[u8; N]>(memory, self.object.readers.len() as u32)?;
        let touch = self.touch(self.object.writer);
        let mut value = [0_u8; N];
        let write = move |meter: &mut Meter| {
            value[0] = value[0].wrapping_add(1);
            let begin = now();
            let (from, to) = writer.write_with(|place| {
                let from = now();
                *place = value;
                (from, now())
            });
            around(meter, Call::Write, touch, [begin, from, to, now()]);
        };
        let read = |(mut reader, touch): (chen::Reader<'m, [u8; N]>, Touch)| -> Box<dyn Access + 'm> {
            let mut value = [0_u8; N];
            Box::new(move |meter: &mut Meter| {
                let begin = now();
                let seen = reader.read_with(|place| {
                    let from = now();
                    value = *place;
                    (from, now())
                });
                let end = now();
                std::hint::black_box(&value);
                if let Some((from, to)) = seen {
                    around(meter, Call::Read, touch, [begin, from, to, end]);
                }
            })
        };
        let readers = readers.zip(self.readers()).map(read).collect();
        Ok(Ends { writer: Box::new(write), readers, flow: None })
    }

    fn newest<'m, const N: usize>(&self, memory: Memory<'m>) -> Result<Ends<'m>, taut_share::LayoutError> {
        let (mut writer, readers) = tccp::newest::<[u8; N]>(memory, self.shape())?;
        let touch = self.touch(self.object.writer);
        let mut value = [0_u8; N];
        let write = move |meter: &mut Meter| {
            value[0] = value[0].wrapping_add(1);
            let begin = now();
            writer.write(&value);
            meter.took(Call::Write, touch, &[(begin, now())]);
        };
        let read = |(mut reader, touch): (tccp::Reader<'m, [u8; N]>, Touch)| -> Box<dyn Access + 'm> {
            Box::new(move |meter: &mut Meter| {
                let begin = now();
                let read = std::hint::black_box(reader.read_newest());
                let end = now();
                match read {
                    Ok(Some(_)) => meter.took(Call::Read, touch, &[(begin, end)]),
                    Ok(None) => {}
                    Err(_) => meter.refused += 1,
                }
            })
        };
        let readers = readers.zip(self.readers()).map(read).collect();
        Ok(Ends { writer: Box::new(write), readers, flow: None })
    }

    fn dbp<'m, const N: usize>(&self, memory: Memory<'m>) -> Result<Ends<'m>, taut_share::LayoutError> {
        let (dispatcher, mut writer, readers) = dbp::group::<[u8; N]>(memory, self.shape())?;
        let touch = self.touch(self.object.writer);
        let mut value = [0_u8; N];
        let write = move |meter: &mut Meter| {
            value[0] = value[0].wrapping_add(1);
            let begin = now();
            let Some(mut job) = writer.job() else { return };
            let (from, to) = job.write_with(|place| {
                let from = now();
                *place = value;
                (from, now())
            });
            job.complete();
            around(meter, Call::Write, touch, [begin, from, to, now()]);
        };
        let read = |(reader, touch)| -> Box<dyn Access + 'm> {
            Box::new(DbpReader { reader, touch, value: [0_u8; N] })
        };
        let readers = readers.zip(self.readers()).map(read).collect();
        Ok(Ends {
            writer: Box::new(write),
            readers,
            flow: Some(self.flow(Dispatcher::Dbp(Box::new(dispatcher)))),
        })
    }

    fn tccp<'m, const N: usize>(&self, memory: Memory<'m>) -> Result<Ends<'m>, taut_share::LayoutError> {
        let (dispatcher, mut writer, readers) = tccp::group::<[u8; N]>(memory, self.shape())?;
        let touch = self.touch(self.object.writer);
        let mut value = [0_u8; N];
        let write = move |meter: &mut Meter| {
            value[0] = value[0].wrapping_add(1);
            let begin = now();
            let Some(mut job) = writer.job() else { return };
            job.write(&value);
            job.complete();
            meter.took(Call::Write, touch, &[(begin, now())]);
        };
        let read = |(reader, touch)| -> Box<dyn Access + 'm> { Box::new(TccpReader::<N> { reader, touch }) };
        let readers = readers.zip(self.readers()).map(read).collect();
        Ok(Ends {
            writer: Box::new(write),
            readers,
            flow: Some(self.flow(Dispatcher::Tccp(Box::new(dispatcher)))),
        })
    }

    fn flow<'m>(&self, dispatcher: Dispatcher<'m>) -> Flow<'m> {
        let member = |task: usize| Member { next: 0, ticks: self.tasks[task].ticks };
        let readers = self.object.in_flow(self.tasks).0.into_iter().map(member).collect();
        Flow {
            dispatcher,
            writer: member(self.object.writer),
            readers,
            touch: self.touch(self.object.writer),
        }
    }
}

/// Records a call with an access in its middle.
#[inline]
fn around(meter: &mut Meter, call: Call, touch: Touch, [begin, from, to, end]: [u64; 4]) {
    meter.took(call, touch, &[(begin, from), (to, end)]);
    meter.took(Call::Access, touch, &[(from, to)]);
}

/// A reader's end under DBP.
struct DbpReader<'m, const N: usize> {
    reader: dbp::Reader<'m, [u8; N]>,
    touch: Touch,
    value: [u8; N],
}

impl<const N: usize> Access for DbpReader<'_, N> {
    fn run(&mut self, meter: &mut Meter) {
        let begin = now();
        let Some(mut job) = self.reader.job() else { return };
        let seen = job.read_with(|place| {
            let from = now();
            self.value = *place;
            (from, now())
        });
        job.complete();
        let end = now();
        std::hint::black_box(&self.value);
        match seen {
            Ok(Some((from, to))) => around(meter, Call::Read, self.touch, [begin, from, to, end]),
            Ok(None) => {}
            Err(_) => meter.refused += 1,
        }
    }

    fn is_ready(&mut self) -> bool {
        self.reader.job().is_none_or(|mut job| {
            let ready = job.is_ready();
            job.go_on();
            ready
        })
    }
}

/// A reader's end under TCCP.
struct TccpReader<'m, const N: usize> {
    reader: tccp::Reader<'m, [u8; N]>,
    touch: Touch,
}

impl<const N: usize> Access for TccpReader<'_, N> {
    fn run(&mut self, meter: &mut Meter) {
        let begin = now();
        let Some(mut job) = self.reader.job() else { return };
        let read = std::hint::black_box(job.read());
        job.complete();
        let end = now();
        match read {
            Ok(Some(_)) => meter.took(Call::Read, self.touch, &[(begin, end)]),
            Ok(None) => {}
            Err(_) => meter.refused += 1,
        }
    }

    fn is_ready(&mut self) -> bool {
        self.reader.job().is_none_or(|mut job| {
            let ready = job.is_ready();
            job.go_on();
            ready
        })
    }
}

/// Calls a method with the smallest size that holds the value.
macro_rules! of_size {
    ($bytes:expr, $seen:ident . $call:ident ( $($argument:expr),* )) => {
        match $bytes {
            0..=1 => $seen.$call::<1>($($argument),*),
            2..=4 => $seen.$call::<4>($($argument),*),
            5..=24 => $seen.$call::<24>($($argument),*),
            25..=48 => $seen.$call::<48>($($argument),*),
            49..=128 => $seen.$call::<128>($($argument),*),
            129..=256 => $seen.$call::<256>($($argument),*),
            _ => $seen.$call::<512>($($argument),*),
        }
    };
}

/// Memory for an object.
pub(super) fn lines(seen: Seen<'_>) -> Vec<Line> {
    let bytes: usize = of_size!(seen.object.bytes, seen.bytes());
    (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()
}

/// The ends of an object on this memory.
///
/// # Errors
/// The object reports an error.
pub(super) fn ends<'m>(seen: Seen<'_>, lines: &'m mut [Line]) -> Result<Ends<'m>, String> {
    let memory = Memory::new(lines);
    of_size!(seen.object.bytes, seen.ends(memory))
}
