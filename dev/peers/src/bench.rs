// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An object and its trials: a trial makes the ends, gives them to the two sides, and drops them.

use std::marker::PhantomData;
use std::ptr::NonNull;

use taut_share::{LINE_BYTES, Memory};
use taut_sys::memory::{Mapping, map_anonymous};

use crate::across;
use crate::figures::Figures;
use crate::object::{About, Alone, Ends, Kind, Place, Placed};
use crate::repeat::turns;
use crate::surroundings::{Signals, Surroundings};
use crate::trial::{Trial, far, near};

/// One trial of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    /// The trial.
    pub(crate) trial: Trial,
    /// Words of a value.
    pub(crate) words: usize,
    /// The ends that read; one thread drives them in turns.
    pub(crate) readers: u32,
    /// Whether the far side is a process of its own.
    pub(crate) across: bool,
}

/// An object of any type.
pub(crate) trait Bench {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What it is for.
    fn kind(&self) -> Kind;
    /// The cache lines that move: for the writer, for a reader.
    fn lines(&self) -> [&'static str; 2];
    /// Whether it is one of ours.
    fn ours(&self) -> bool;
    /// Whether it takes part in a trial.
    fn takes(&self, case: &Case) -> bool;
    /// Runs a trial.
    fn run(&self, case: &Case, surroundings: &Surroundings) -> Result<Figures, String>;
    /// Runs the far side of a trial, in a process of its own.
    fn far(&self, case: &Case, surroundings: &Surroundings, shared: &across::Shared) -> Result<(), String>;
    /// Moves values in and out, `times` times, in one thread and through functions of their own.
    fn repeat(&self, words: usize, times: u64) -> Result<(), String>;
}

/// Calls a function with the number of words as its parameter.
macro_rules! sized {
    ($words:expr, $function:ident($($argument:expr),*)) => {
        match $words {
            1 => $function::<O, 1>($($argument),*),
            8 => $function::<O, 8>($($argument),*),
            32 => $function::<O, 32>($($argument),*),
            _ => $function::<O, 512>($($argument),*),
        }
    };
}

/// Whether an object has the operations of a trial.
fn in_trial<O: About>(trial: Trial) -> bool {
    match trial {
        Trial::Unchanged => O::KIND == Kind::State,
        Trial::Slices => O::SLICES,
        _ => true,
    }
}

/// An object within one process.
pub(crate) struct InProcess<O>(PhantomData<O>);

impl<O> InProcess<O> {
    /// The entry in a list of all objects.
    pub(crate) fn boxed() -> Box<dyn Bench>
    where
        Self: Bench + 'static,
    {
        Box::new(Self(PhantomData))
    }
}

impl<O: Alone<1> + Alone<8> + Alone<32> + Alone<512>> Bench for InProcess<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn kind(&self) -> Kind {
        O::KIND
    }

    fn lines(&self) -> [&'static str; 2] {
        O::LINES
    }

    fn ours(&self) -> bool {
        false
    }

    fn takes(&self, case: &Case) -> bool {
        case.readers == 1 && !case.across && in_trial::<O>(case.trial)
    }

    fn run(&self, case: &Case, surroundings: &Surroundings) -> Result<Figures, String> {
        sized!(case.words, alone(case, surroundings))
    }

    fn far(&self, _: &Case, _: &Surroundings, _: &across::Shared) -> Result<(), String> {
        Err("not an object of several processes".into())
    }

    fn repeat(&self, words: usize, times: u64) -> Result<(), String> {
        sized!(words, repeat_alone(times))
    }
}

fn alone<O: Alone<N>, const N: usize>(case: &Case, surroundings: &Surroundings) -> Result<Figures, String> {
    trial::<O, N>(case, surroundings, &mut |_| O::pair(), None)
}

/// An object that several processes can reach.
pub(crate) struct OnMemory<O> {
    ours: bool,
    object: PhantomData<O>,
}

impl<O> OnMemory<O> {
    /// The entry of one of our objects in a list of all.
    pub(crate) fn ours() -> Box<dyn Bench>
    where
        Self: Bench + 'static,
    {
        Box::new(Self { ours: true, object: PhantomData })
    }

    /// The entry of another's object in a list of all.
    pub(crate) fn theirs() -> Box<dyn Bench>
    where
        Self: Bench + 'static,
    {
        Box::new(Self { ours: false, object: PhantomData })
    }
}

impl<O: Placed<1> + Placed<8> + Placed<32> + Placed<512>> Bench for OnMemory<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn kind(&self) -> Kind {
        O::KIND
    }

    fn lines(&self) -> [&'static str; 2] {
        O::LINES
    }

    fn ours(&self) -> bool {
        self.ours
    }

    fn takes(&self, case: &Case) -> bool {
        (case.readers == 1 || <O as Placed<1>>::MANY) && in_trial::<O>(case.trial)
    }

    fn run(&self, case: &Case, surroundings: &Surroundings) -> Result<Figures, String> {
        if case.across {
            sized!(case.words, beside(case, surroundings))
        } else {
            sized!(case.words, placed(case, surroundings))
        }
    }

    fn far(&self, case: &Case, surroundings: &Surroundings, shared: &across::Shared) -> Result<(), String> {
        sized!(case.words, far_process(case, surroundings, shared))
    }

    fn repeat(&self, words: usize, times: u64) -> Result<(), String> {
        sized!(words, repeat_placed(times))
    }
}

/// An end on cache lines of its own: the private data of one side must not be beside that of the other.
#[repr(align(128))]
struct Apart<E>(E);

/// Puts an end on lines of its own.
fn apart<E>(end: E) -> Box<Apart<E>> {
    Box::new(Apart(end))
}

/// The readers of an object, which take turns.
pub(crate) struct Crowd<R> {
    readers: Vec<R>,
    next: usize,
}

/// An object with several readers in one thread.
struct Crowded<O>(PhantomData<O>);

impl<O: About> About for Crowded<O> {
    const NAME: &'static str = O::NAME;
    const KIND: Kind = O::KIND;
    const LINES: [&'static str; 2] = O::LINES;
    const SLICES: bool = O::SLICES;
}

impl<O: Ends<N>, const N: usize> Ends<N> for Crowded<O> {
    type Writer = O::Writer;
    type Reader = Crowd<O::Reader>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        O::put(writer, value)
    }

    #[inline(always)]
    fn take<R>(crowd: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        let at = crowd.next;
        let taken = O::take(&mut crowd.readers[at], look);
        // A reader that received nothing tries again: an operation is one reader's.
        if taken.is_some() {
            crowd.next = if at + 1 == crowd.readers.len() { 0 } else { at + 1 };
        }
        taken
    }
}

/// The memory of object `index` within `mapping`. The objects follow the signals, each with `bytes` bytes.
///
/// # Safety
///
/// The caller drops what it makes on the memory before the mapping, and attaches the same object there every time.
pub(crate) unsafe fn stretch(mapping: &Mapping, index: usize, bytes: usize) -> Memory<'static> {
    let bytes = bytes.next_multiple_of(LINE_BYTES);
    let offset = HEAD + index * bytes;
    assert!(offset + bytes <= mapping.len());
    // SAFETY: the bytes are within the mapping (asserted), which is aligned to a page; only ends of the object there
    // touch these bytes, and they end before the mapping does (caller).
    unsafe { Memory::from_raw(NonNull::new_unchecked(mapping.ptr().add(offset)), bytes) }
}

/// The bytes of a mapping before its objects.
pub(crate) const HEAD: usize = size_of::<Signals>();

/// The bytes of a mapping for `count` objects of `bytes` bytes.
pub(crate) fn mapping_bytes(count: usize, bytes: usize) -> usize {
    HEAD + count * bytes.next_multiple_of(LINE_BYTES)
}

fn placed<O: Placed<N>, const N: usize>(case: &Case, surroundings: &Surroundings) -> Result<Figures, String> {
    // Besides the readers of the trial, one for the far side of `Unchanged`.
    let extra = u32::from(case.trial == Trial::Unchanged && O::MANY);
    let readers = case.readers + extra;
    let bytes = O::bytes(readers);
    let mapping = map_anonymous(mapping_bytes(2, bytes)).map_err(|error| error.to_string())?;
    let names = [0, 1].map(across::fresh_name);
    // The mapping is zero, and dropped last; each index is for one object, and each end is made once.
    let place = |index: usize| Place {
        // SAFETY: as above.
        memory: unsafe { stretch(&mapping, index, bytes) },
        readers,
        name: &names[index],
    };
    if case.readers > 1 {
        let mut ends = |index| {
            // SAFETY: as above.
            let writer = unsafe { O::writer(place(index)) }?;
            // SAFETY: as above.
            let readers = (0..readers).map(|which| unsafe { O::reader(place(index), which) });
            Ok((writer, Crowd { readers: readers.collect::<Result<_, String>>()?, next: 0 }))
        };
        return trial::<Crowded<O>, N>(case, surroundings, &mut ends, None);
    }
    // SAFETY: as above.
    let ends = |index| unsafe { Ok((O::writer(place(index))?, O::reader(place(index), 0)?)) };
    let made = ends(0)?;
    // SAFETY: as above; `readers` includes reader 1.
    let second = if extra == 1 { Some(unsafe { O::reader(place(0), 1) }?) } else { None };
    let mut first = Some(made);
    trial::<O, N>(case, surroundings, &mut |index| first.take().map_or_else(|| ends(index), Ok), second)
}

fn repeat_alone<O: Alone<N>, const N: usize>(times: u64) -> Result<(), String> {
    turns::<O, N>(O::pair()?, times)
}

fn repeat_placed<O: Placed<N>, const N: usize>(times: u64) -> Result<(), String> {
    let bytes = O::bytes(1);
    let mapping = map_anonymous(mapping_bytes(1, bytes)).map_err(|error| error.to_string())?;
    let name = across::fresh_name(0);
    // As in `placed`, with one object.
    let place = || Place {
        // SAFETY: as above.
        memory: unsafe { stretch(&mapping, 0, bytes) },
        readers: 1,
        name: &name,
    };
    // SAFETY: as above; each end is made once.
    turns::<O, N>(unsafe { (O::writer(place())?, O::reader(place(), 0)?) }, times)
}

/// Runs a trial in one process. `ends` makes the ends of objects 0 and 1; `second` is one more reader of object 0.
fn trial<O: Ends<N>, const N: usize>(
    case: &Case,
    surroundings: &Surroundings,
    ends: &mut dyn FnMut(usize) -> Result<(O::Writer, O::Reader), String>,
    second: Option<O::Reader>,
) -> Result<Figures, String> {
    let trial = case.trial;
    let (writer, reader) = ends(0)?;
    let (mut writer, mut reader, mut second) = (apart(writer), apart(reader), apart(second));
    let mut back = if trial == Trial::Trip { Some(ends(1)?) } else { None }
        .map(|(writer, reader)| (apart(writer), apart(reader)));
    let (mut near_writer, mut near_reader, mut far_writer, mut far_reader) = match (trial, &mut back) {
        (Trial::Trip, Some((back_writer, back_reader))) => {
            (Some(&mut writer.0), Some(&mut back_reader.0), Some(&mut back_writer.0), Some(&mut reader.0))
        }
        (Trial::Flat | Trial::Slices | Trial::Write, _) => {
            (Some(&mut writer.0), None, None, Some(&mut reader.0))
        }
        (Trial::Check | Trial::Read, _) => (None, Some(&mut reader.0), Some(&mut writer.0), None),
        (Trial::Unchanged, _) => {
            O::put(&mut writer.0, &[1; N]);
            (None, Some(&mut reader.0), None, second.0.as_mut())
        }
        (Trial::Alone | Trial::Trip, _) => (Some(&mut writer.0), Some(&mut reader.0), None, None),
    };
    let (figures, count) = surroundings.both(
        |signals| near::<O, N>(trial, surroundings, signals, near_writer.take(), near_reader.take()),
        |signals| far::<O, N>(trial, surroundings, signals, far_writer.take(), far_reader.take()),
    )?;
    figures.map(|figures| completed(trial, figures, count))
}

/// Adds the rate that follows from the far side's count.
fn completed(trial: Trial, mut figures: Figures, count: u64) -> Figures {
    if [Trial::Flat, Trial::Slices].contains(&trial)
        && let Some(ns) = figures.remove("ns")
    {
        figures.insert("out", count as f64 / ns * 1e3);
    }
    figures
}

/// Runs a trial whose far side is a process.
fn beside<O: Placed<N>, const N: usize>(case: &Case, surroundings: &Surroundings) -> Result<Figures, String> {
    let bytes = O::bytes(1);
    let shared = across::Shared::new(mapping_bytes(2, bytes))?;
    // As in `placed`; the other process attaches to the same objects, and makes the ends that this one does not make.
    let place = |index: usize| Place {
        // SAFETY: as above.
        memory: unsafe { stretch(&shared.mapping, index, bytes) },
        readers: 1,
        name: &shared.names[index],
    };
    // SAFETY: as above.
    let (mut writer, mut reader) = unsafe {
        match case.trial {
            Trial::Trip => (Some(O::writer(place(0))?), Some(O::reader(place(1), 0)?)),
            Trial::Flat | Trial::Slices | Trial::Write => (Some(O::writer(place(0))?), None),
            _ => (None, Some(O::reader(place(0), 0)?)),
        }
    };
    let near =
        |signals: &Signals| near::<O, N>(case.trial, surroundings, signals, writer.as_mut(), reader.as_mut());
    let (figures, count) = shared.beside(O::NAME, case, surroundings, near)?;
    figures.map(|figures| completed(case.trial, figures, count))
}

fn far_process<O: Placed<N>, const N: usize>(
    case: &Case,
    surroundings: &Surroundings,
    shared: &across::Shared,
) -> Result<(), String> {
    let bytes = O::bytes(1);
    // As in `beside`.
    let place = |index: usize| Place {
        // SAFETY: as above.
        memory: unsafe { stretch(&shared.mapping, index, bytes) },
        readers: 1,
        name: &shared.names[index],
    };
    // SAFETY: as above.
    let (mut writer, mut reader) = unsafe {
        match case.trial {
            Trial::Trip => (Some(O::writer(place(1))?), Some(O::reader(place(0), 0)?)),
            Trial::Flat | Trial::Slices | Trial::Write => (None, Some(O::reader(place(0), 0)?)),
            _ => (Some(O::writer(place(0))?), None),
        }
    };
    let signals = shared.signals();
    signals.far(surroundings, || {
        far::<O, N>(case.trial, surroundings, signals, writer.as_mut(), reader.as_mut())
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::WORDS;
    use crate::raw;

    #[test]
    fn every_object_gives_what_was_put_in() {
        let surroundings = Surroundings::new(3).unwrap();
        for bench in crate::benches() {
            for (words, readers) in WORDS.into_iter().flat_map(|words| [(words, 1), (words, 4)]) {
                let case = Case { trial: Trial::Check, words, readers, across: false };
                if bench.takes(&case) && ![raw::COPY, raw::WORD].contains(&bench.name()) {
                    let checked = bench.run(&case, &surroundings);
                    assert!(checked.is_ok(), "{} {case:?}: {checked:?}", bench.name());
                }
            }
        }
    }

    #[test]
    fn trials_give_their_figures() {
        let surroundings = Surroundings::new(20).unwrap();
        let benches = crate::benches();
        let run = |name: &str, trial| {
            let bench = benches.iter().find(|bench| bench.name() == name).unwrap();
            let case = Case { trial, words: 8, readers: 1, across: false };
            let figures =
                bench.run(&case, &surroundings).unwrap_or_else(|why| panic!("{name}, {trial:?}: {why}"));
            figures.into_keys().collect::<Vec<_>>()
        };
        let percentiles = ["capped", "missed", "n", "p50", "p99", "p999"];
        for (trial, figures) in [
            (Trial::Alone, ["in", "out"].as_slice()),
            (Trial::Flat, &["in", "out"]),
            (Trial::Trip, &["trip"]),
            (Trial::Write, &percentiles),
            (Trial::Read, &percentiles),
        ] {
            assert_eq!(run("QrtR", trial), figures, "{trial:?}");
            assert_eq!(run("triple_buffer", trial), figures, "{trial:?}");
        }
        assert_eq!(run("SDrtW", Trial::Unchanged), ["look"]);
        assert_eq!(run("QrtWo", Trial::Slices), ["in", "out"]);
    }

    /// A rate by slices is not a rate of single values: each object is in both trials, or in the trial of single
    /// values alone.
    #[test]
    fn several_values_at_once_are_a_trial_of_their_own() {
        let case = |trial| Case { trial, words: 8, readers: 1, across: false };
        let takes = |trial| {
            let benches = crate::benches();
            let some = benches.iter().filter(|bench| bench.kind().is_queue() && bench.takes(&case(trial)));
            some.map(|bench| bench.name()).collect::<Vec<_>>()
        };
        assert_eq!(takes(Trial::Slices), ["QrtR in place", "QrtWo", "QrtWc", "rtrb chunks", "ringbuf"]);
        assert!(takes(Trial::Slices).iter().all(|name| takes(Trial::Flat).contains(name)));
    }
}
