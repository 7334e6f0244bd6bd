// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds that the files of DBP and TCCP state, counted exactly:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps flow::`.

use taut_atomic::steps::{Steps, count};
use taut_share::state::dbp::{self, NotActivated, Shape};
use taut_share::state::tccp;
use taut_share::{LINE_BYTES, Line, Memory};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

fn lines(bytes: Option<usize>) -> Vec<Line> {
    (0..bytes.unwrap().div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()
}

fn steps<R>(work: impl FnOnce() -> R) -> Steps {
    count(|| drop(work())).1
}

fn dbp_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let shape = Shape::several_processors(2, 1);
    let mut lines = lines(dbp::bytes::<[u8; N]>(shape));
    let (mut dispatcher, mut writer, readers) =
        dbp::group::<[u8; N]>(Memory::new(&mut lines), shape).unwrap();
    let mut readers: Vec<_> = readers.collect();
    let look = Steps { loads: 1, ..NONE };

    // Nothing is activated. A new dispatcher does not know which ends are active.
    assert_eq!(steps(|| assert!(writer.job().is_none())), look);
    assert_eq!(steps(|| assert!(readers[0].job().is_none())), look);
    assert_eq!(steps(|| dispatcher.activate_writer(0).unwrap()), Steps { loads: 4, stores: 1, ..NONE });
    assert_eq!(steps(|| dispatcher.activate_writer(0)), look);
    // A reader that is known to be idle, and one that is not.
    let reported = Steps { stores: 2, ..NONE };
    assert_eq!(steps(|| dispatcher.activate_reader(0, 0).unwrap()), reported);
    assert_eq!(steps(|| dispatcher.activate_reader(0, 0)), look);
    assert_eq!(steps(|| dispatcher.activate_reader(2, 0).unwrap()), reported);
    assert_eq!(steps(|| dispatcher.activate_reader(9, 0)), NONE);

    // Readers before the writer is complete: one of the value to come, and one of no value.
    let (mut lower, mut higher) = {
        let [lower, _, higher] = &mut readers[..] else { unreachable!("three readers") };
        let (mut first, mut third) = (None, None);
        assert_eq!(steps(|| first = lower.job()), Steps { loads: 2, ..NONE });
        assert_eq!(steps(|| third = higher.job()), Steps { loads: 2, ..NONE });
        (first.unwrap(), third.unwrap())
    };
    assert_eq!(steps(|| assert_eq!(lower.read(), Err(dbp::NotYet))), look);
    assert_eq!(steps(|| assert!(!lower.is_ready())), look);
    assert_eq!(steps(|| assert_eq!(higher.read(), Ok(None))), NONE);

    // The writer.
    let mut job = None;
    assert_eq!(steps(|| job = writer.job()), look);
    let mut job = job.unwrap();
    assert_eq!(steps(|| job.write(&[1; N])), Steps { words, ..NONE });
    assert_eq!(steps(|| job.write_with(|value| *value = [2; N])), Steps { words, ..NONE });
    assert_eq!(steps(|| job.complete()), Steps { stores: 2, ..NONE });

    // The readers after it.
    let first = Steps { loads: 2, words, ..NONE };
    assert_eq!(steps(|| assert_eq!(lower.read(), Ok(Some([2; N])))), first);
    assert_eq!(steps(|| assert_eq!(lower.read(), Ok(Some([2; N])))), Steps { words, ..NONE });
    assert_eq!(steps(|| assert_eq!(lower.read_with(|_| ()), Ok(Some(())))), Steps { words, ..NONE });
    assert_eq!(steps(|| assert_eq!(lower.read_if_newer(), Ok(None))), NONE);
    assert_eq!(steps(|| assert!(lower.is_ready())), NONE);

    // The dispatcher looks at the two that are active; the second job of the writer writes nothing.
    assert_eq!(steps(|| dispatcher.activate_writer(1).unwrap()), Steps { loads: 3, stores: 1, ..NONE });
    assert_eq!(
        steps(|| writer.job().unwrap().complete()),
        Steps { loads: 1, stores: 1, words: 2 * words, ..NONE }
    );
    assert_eq!(steps(|| lower.complete()), Steps { stores: 1, ..NONE });
    assert_eq!(steps(|| drop(higher)), Steps { stores: 1, ..NONE });
    let known = Steps { loads: 1, stores: 2, ..NONE };
    assert_eq!(steps(|| dispatcher.activate_reader(0, 2).unwrap()), known);
    dispatcher.activate_writer(3).unwrap();
    let mut job = writer.job().unwrap();
    job.write(&[3; N]);
    assert_eq!(steps(|| drop(job)), Steps { stores: 1, ..NONE });
    assert_eq!(steps(|| dispatcher.activate_writer(2)), NONE, "out of order");

    // No buffer.
    let few = Shape { lower: 1, higher: 0, buffers: 1 };
    let mut dispatcher = dispatcher_of(few);
    assert_eq!(dispatcher.activate_writer(0), Ok(1));
    dispatcher.activate_reader(0, 0).unwrap();
    let refused = steps(|| assert_eq!(dispatcher.activate_writer(1), Err(NotActivated::Running)));
    assert_eq!(refused, look);
}

/// A dispatcher on leaked memory.
fn dispatcher_of(shape: Shape) -> dbp::Dispatcher<'static> {
    dbp::group::<u64>(Memory::new(Vec::leak(lines(dbp::bytes::<u64>(shape)))), shape).unwrap().0
}

fn tccp_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let shape = Shape { lower: 1, higher: 1, buffers: 2 };
    let mut memory = lines(tccp::bytes::<[u8; N]>(shape));
    let (mut dispatcher, mut writer, mut readers) =
        tccp::group::<[u8; N]>(Memory::new(&mut memory), shape).unwrap();
    let (mut lower, mut higher) = (readers.next().unwrap(), readers.next().unwrap());
    let look = Steps { loads: 1, ..NONE };

    assert_eq!(steps(|| assert!(writer.job().is_none())), look);
    assert_eq!(steps(|| assert!(lower.job().is_none())), look);
    assert_eq!(steps(|| assert_eq!(lower.read_newest(), Ok(None))), look);
    assert_eq!(steps(|| assert_eq!(lower.read_newest_if_newer(), Ok(None))), look);
    assert_eq!(steps(|| dispatcher.activate_writer(0).unwrap()), Steps { loads: 1, stores: 1, ..NONE });
    assert_eq!(steps(|| dispatcher.activate_writer(0)), look);
    let reported = Steps { loads: 1, stores: 2, ..NONE };
    assert_eq!(steps(|| dispatcher.activate_reader(0, 0).unwrap()), reported);
    assert_eq!(steps(|| dispatcher.activate_reader(0, 0)), look);
    assert_eq!(steps(|| dispatcher.activate_reader(1, 0).unwrap()), reported);
    assert_eq!(steps(|| dispatcher.activate_reader(2, 0)), NONE);

    {
        let mut job = None;
        assert_eq!(steps(|| job = higher.job()), Steps { loads: 2, ..NONE });
        assert_eq!(steps(|| assert_eq!(job.as_mut().unwrap().read(), Ok(None))), NONE);
        assert_eq!(steps(|| job = None), Steps { stores: 1, ..NONE });
    }
    let mut reading = lower.job().unwrap();
    assert_eq!(steps(|| assert_eq!(reading.read(), Err(tccp::NotRead::NotYet))), look);

    let mut writing = None;
    assert_eq!(steps(|| writing = writer.job()), Steps { loads: 1, fences: 1, ..NONE });
    let mut writing = writing.unwrap();
    assert_eq!(steps(|| writing.write(&[1; N])), Steps { words, ..NONE });
    assert_eq!(steps(|| drop(writing)), Steps { stores: 2, ..NONE });

    let read = Steps { loads: 3, words, fences: 1, ..NONE };
    assert_eq!(steps(|| assert_eq!(reading.read(), Ok(Some([1; N])))), read);
    assert_eq!(steps(|| assert_eq!(reading.read(), Ok(Some([1; N])))), Steps { loads: 1, ..read });
    assert_eq!(steps(|| assert_eq!(reading.read_if_newer(), Ok(None))), NONE);
    assert_eq!(steps(|| drop(reading)), Steps { stores: 1, ..NONE });
    assert_eq!(steps(|| assert!(higher.read_newest().unwrap().is_some())), read);
    assert_eq!(steps(|| assert_eq!(higher.read_newest_if_newer(), Ok(None))), look);

    // A job that writes nothing.
    dispatcher.activate_writer(1).unwrap();
    let held = Steps { loads: 1, stores: 1, words: 2 * words, fences: 1, ..NONE };
    assert_eq!(steps(|| writer.job().unwrap().complete()), held);

    // The form at run time.
    let mut memory = lines(tccp::bytes::<[u8; N]>(shape));
    let (mut publisher, _readers) = tccp::newest::<[u8; N]>(Memory::new(&mut memory), shape).unwrap();
    let write = Steps { stores: 2, fences: 1, words, ..NONE };
    assert_eq!(steps(|| publisher.write(&[1; N])), Steps { stores: 3, ..write });
    assert_eq!(steps(|| publisher.write(&[1; N])), write);
}

#[test]
fn steps_are_as_documented() {
    macro_rules! each { ($($n:literal)*) => { $( dbp_takes::<$n>(); tccp_takes::<$n>(); )* } }
    each!(1 8 20 64 256 1000);
}

#[test]
fn steps_to_find_the_holder() {
    let shape = Shape::several_processors(2, 1);
    let mut memory = lines(dbp::bytes::<u64>(shape));
    let (mut dispatcher, mut writer, readers) = dbp::group::<u64>(Memory::new(&mut memory), shape).unwrap();
    let mut readers: Vec<_> = readers.collect();
    // A load for each reader that was not seen complete, and no load for a reader that holds nothing.
    dispatcher.activate_writer(0).unwrap();
    writer.job().unwrap().write(&1);
    assert_eq!(steps(|| assert_eq!(dispatcher.holder(), None)), NONE);
    dispatcher.activate_reader(0, 0).unwrap();
    dispatcher.activate_reader(1, 0).unwrap();
    assert_eq!(steps(|| assert_eq!(dispatcher.holder(), Some(0))), Steps { loads: 1, ..NONE });
    readers[0].job().unwrap().complete();
    assert_eq!(steps(|| assert_eq!(dispatcher.holder(), Some(1))), Steps { loads: 2, ..NONE });
    assert_eq!(steps(|| assert_eq!(dispatcher.holder(), Some(1))), Steps { loads: 1, ..NONE });

    let shape = Shape { lower: 2, higher: 1, buffers: 2 };
    let mut memory = lines(tccp::bytes::<u64>(shape));
    let (mut dispatcher, mut writer, _readers) = tccp::group::<u64>(Memory::new(&mut memory), shape).unwrap();
    assert_eq!(steps(|| assert_eq!(dispatcher.overtaken(), None)), Steps { loads: 3, ..NONE });
    dispatcher.activate_writer(0).unwrap();
    writer.job().unwrap().write(&1);
    dispatcher.activate_reader(1, 0).unwrap();
    dispatcher.activate_writer(1).unwrap();
    writer.job().unwrap().write(&2);
    assert_eq!(steps(|| assert_eq!(dispatcher.overtaken(), Some(1))), Steps { loads: 3, ..NONE });
}
