// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Objects on the heap: each by the operations of its kind, between threads, and their memory, which is freed with
//! the last end and no sooner. Miri detects a use after that; the test counts allocated bytes.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Debug;
use std::mem;
use std::thread;

use taut_share::ends::{Newer, Pop, Push, Read, Write};
use taut_share::owned::{self, End, Owned};
use taut_share::{LayoutError, queue, state};

thread_local! {
    /// Bytes that this thread has allocated and not freed.
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: the system's allocator, and a count.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size() as isize));
        // SAFETY: the caller's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() - layout.size() as isize));
        // SAFETY: the caller's conditions.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocated() -> isize {
    BYTES.with(Cell::get)
}

/// Values that another thread writes while this one reads, and the value that is there when the other thread has
/// ended.
fn state_arrives<W, R>((mut writer, mut readers): (Owned<W>, Vec<Owned<R>>))
where
    W: End + Write<Value = u64>,
    R: End + Read<Value = u64>,
    W::Error: Debug,
    R::Error: Debug,
{
    assert!(!writer.is_abandoned());
    for reader in &mut readers {
        assert_eq!(reader.read().unwrap(), None);
    }
    let writing = thread::spawn(move || {
        for n in 1..=20 {
            while writer.write(&n).is_err() {
                thread::yield_now();
            }
        }
    });
    let mut last = vec![0; readers.len()];
    for _ in 0..20 {
        for (reader, last) in readers.iter_mut().zip(&mut last) {
            if let Ok(Some(n)) = reader.read() {
                assert!(n >= *last && n <= 20);
                *last = n;
            }
        }
    }
    writing.join().unwrap();
    for reader in &mut readers {
        let mut value = 0;
        assert!(reader.read_into(&mut value).unwrap());
        assert_eq!((value, reader.read().unwrap()), (20, Some(20)));
    }
    let mut left = readers.pop().unwrap();
    assert_eq!(left.is_abandoned(), readers.is_empty());
    drop(readers);
    assert!(left.is_abandoned());
    assert_eq!(left.read().unwrap(), Some(20));
}

fn one<W, R>((writer, reader): (Owned<W>, Owned<R>)) -> (Owned<W>, Vec<Owned<R>>) {
    (writer, vec![reader])
}

/// The slow readers. The fast one has another type: it is checked and dropped here.
fn mixed<W, S, F>((writer, slow, mut fast): (Owned<W>, Vec<Owned<S>>, Owned<F>)) -> (Owned<W>, Vec<Owned<S>>)
where
    F: End + Newer<Value = u64> + Clone,
    F::Error: Debug,
{
    assert_eq!(fast.clone().read_if_newer().unwrap(), None);
    assert_eq!(fast.read().unwrap(), None);
    (writer, slow)
}

#[test]
fn every_state_arrives() {
    state_arrives(one(owned::state().unwrap()));
    state_arrives(owned::states(3).unwrap());
    state_arrives(one(owned::observed().unwrap()));
    state_arrives(owned::chen(2).unwrap());
    state_arrives(owned::double_buffer(2).unwrap());
    state_arrives(owned::presence(2).unwrap());
    state_arrives(owned::peterson(2).unwrap());
    state_arrives(owned::spinlock(2).unwrap());
    state_arrives(one(owned::sdrtr().unwrap()));
    state_arrives(one(owned::sdrtw().unwrap()));
    state_arrives(one(owned::nbw_temporal(4).unwrap()));
    state_arrives(mixed(owned::improved_chen(2, 2).unwrap()));
    state_arrives(mixed(owned::improved_double_buffer(2, 2).unwrap()));
    state_arrives(mixed(owned::improved_peterson(2, 4).unwrap()));
    state_arrives(mixed(owned::emeralds(2, 4).unwrap()));
}

/// Every value that an ended thread has pushed is popped or counted as lost.
fn queue_arrives<W, R>((mut writer, mut reader): (Owned<W>, Owned<R>))
where
    W: End + Push<Value = u64>,
    R: End + Pop<Value = u64>,
    W::Error: Debug,
    R::Error: Debug,
{
    assert_eq!(reader.pop().unwrap(), None);
    let writing = thread::spawn(move || {
        for n in 1..=30 {
            while writer.push(&n).is_err() {
                thread::yield_now();
            }
        }
    });
    let mut last = 0;
    loop {
        // In this order: nobody pushes to an abandoned object any more.
        let over = reader.is_abandoned();
        match reader.pop() {
            Ok(Some(popped)) => {
                assert_eq!(popped.value, last + popped.lost + 1);
                last = popped.value;
            }
            Ok(None) if over => break,
            Ok(None) | Err(_) => thread::yield_now(),
        }
    }
    assert_eq!(last, 30);
    assert_eq!(reader.pop_into(&mut 0).unwrap(), None);
    writing.join().unwrap();
}

#[test]
fn every_queue_arrives() {
    queue_arrives(owned::qrtr(4).unwrap());
    queue_arrives(owned::qrtwo(4).unwrap());
    queue_arrives(owned::qrtwc(4).unwrap());
    let (writer, mut readers) = owned::broadcast(1, 4).unwrap();
    queue_arrives((writer, readers.remove(0)));
}

/// The queues of lanes may be owned ones; the flags are on lines.
#[test]
fn lanes_lie_over_owned_queues() {
    let mut lines = [const { taut_share::Line::new() }; 1];
    let (mut announcers, collector) = queue::lanes::group(taut_share::Memory::new(&mut lines), 2).unwrap();
    let (mut senders, mut queues) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (writer, reader) = owned::qrtr::<u64>(4).unwrap();
        senders.push(queue::lanes::Writer::new(writer, announcers.next().unwrap()));
        queues.push(reader);
    }
    let mut receiver = queue::lanes::Reader::new(collector, queues).unwrap();
    senders[1].send(&5).unwrap();
    let taken = receiver.next().unwrap().unwrap();
    assert_eq!((taken.lane, taken.value), (1, 5));
}

#[test]
fn memory_goes_with_the_last_end() {
    let before = allocated();
    let (mut writer, mut reader) = owned::qrtwo::<[u64; 64]>(8).unwrap();
    assert!(allocated() - before >= 8 * 512);
    let during = allocated();
    let _ = writer.push(&[7; 64]);
    drop(writer);
    assert_eq!(allocated(), during, "still the reader's");
    let mut follower = reader.follower();
    assert_eq!(reader.pop().unwrap().unwrap().value, [7; 64]);
    drop(reader);
    assert!(follower.is_abandoned());
    let mut second = follower.clone();
    assert!(!follower.is_abandoned());
    drop(follower);
    assert_eq!(second.pop().unwrap().unwrap().value, [7; 64]);
    assert_eq!(allocated(), during, "still the follower's");
    drop(second);
    assert_eq!(allocated(), before);

    // In the opposite order, in a structure, and by a panic.
    let (writer, reader) = owned::state::<[u64; 64]>().unwrap();
    let display = reader.observer();
    drop((display, reader, writer));
    assert_eq!(allocated(), before);
    let unwound = std::panic::catch_unwind(|| {
        let (mut writer, _reader) = owned::qrtr::<u64>(8).unwrap();
        writer.with(|_| std::panic::resume_unwind(Box::new(())));
    });
    drop(unwound);
    assert_eq!(allocated(), before);
}

#[test]
#[cfg_attr(miri, ignore = "leaks on purpose")]
fn a_forgotten_end_keeps_the_memory() {
    let (writer, mut reader) = owned::sdrtw::<u64>().unwrap();
    mem::forget(writer);
    assert!(!reader.is_abandoned());
    assert_eq!(reader.read().unwrap(), None);
    let left = allocated();
    drop(reader);
    assert_eq!(allocated(), left);
}

#[test]
fn large_blocks_by_their_own_operations() {
    let (mut sender, mut receiver) = owned::bulk::<[u64; 100]>(3).unwrap();
    sender.with(|sender| {
        let mut loan = sender.loan().unwrap();
        *loan = [3; 100];
        loan.send()
    });
    drop(sender);
    assert_eq!(receiver.with(|receiver| receiver.receive().unwrap().map(|received| received[99])), Some(3));
    assert!(receiver.is_abandoned());
}

#[test]
fn impossible_objects_say_why() {
    assert_eq!(owned::qrtwo::<u64>(0).err(), Some(LayoutError::Capacity));
    assert_eq!(owned::states::<u64>(0).err(), Some(LayoutError::Readers));
    assert_eq!(owned::presence::<u64>(1000).err(), Some(LayoutError::Readers));
    assert_eq!(owned::nbw_temporal::<u64>(0).err(), Some(LayoutError::Buffers));
    let huge = owned::qrtr::<[u64; 1 << 40]>(u32::MAX).err();
    assert!(matches!(huge, Some(LayoutError::TooSmall { given: 0, .. } | LayoutError::Capacity)), "{huge:?}");
}

/// Ends have the same traits with and without their memory: a generic function takes either.
#[test]
fn generic_code_takes_both() {
    fn newest<R: Read<Value = u64>>(reader: &mut R) -> Option<u64> {
        reader.read().ok().flatten()
    }
    let mut lines = [const { taut_share::Line::new() }; 1];
    let (mut on_lines, mut lines_reader) =
        state::sdrtw::pair::<u64>(taut_share::Memory::new(&mut lines)).unwrap();
    on_lines.write(&1);
    let (mut on_heap, mut heap_reader) = owned::sdrtw::<u64>().unwrap();
    on_heap.write(&2).unwrap();
    assert_eq!((newest(&mut lines_reader), newest(&mut heap_reader)), (Some(1), Some(2)));
    let full: Result<(), queue::qrtr::QueueFull<()>> = {
        let (mut writer, _reader) = owned::qrtr::<u64>(1).unwrap();
        writer.push(&1).unwrap();
        writer.push(&2)
    };
    assert_eq!(full, Err(queue::qrtr::QueueFull(())));
}
