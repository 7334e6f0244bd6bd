// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Registries: which requests they refuse and with which error, which endpoints may write, and what follows a death.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod support;

use std::collections::HashSet;
use std::os::fd::AsFd;

use support::*;
use taut_segment::registry::{
    Chen, Dbp, Emeralds, Endpoint, Hybrid, ImprovedChen, Lease, Offers, Qrtr, Registry, Sdrtw, Spinlock,
    catalogue_in,
};
use taut_segment::{Error, Liveness, OwnerState, PAGE_BYTES, attach_in};
use taut_share::{LayoutError, List};
use taut_sys::memory::{self, Seals};

type V = [u64; 4];

/// The signal that a forbidden write raises.
const SIGSEGV: i32 = 11;

const POSE: Hybrid<V> = Hybrid::new(2, 6);
const JOBS: Qrtr<u32> = Qrtr::new(16);

fn registry(folder: &std::path::Path) -> Registry {
    Registry::create_in(folder, "robot", &[POSE.named("pose"), JOBS.named("jobs")]).unwrap()
}

/// The error that refuses an endpoint.
fn refusal<K: Offers<P> + std::fmt::Debug, P: std::fmt::Debug>(
    folder: &std::path::Path,
    object: &str,
    endpoint: Endpoint<K, P>,
) -> Error {
    Lease::take_in(folder, "robot", object, endpoint).unwrap_err()
}

#[test]
fn role() {
    match support::role().as_deref() {
        Some("owner") => {
            let registry = Registry::create("robot", &[POSE.named("pose")]).unwrap();
            announce(format_args!("ready {}", registry.epoch()));
            until_released();
            registry.end().unwrap();
        }
        Some("scribbler") => {
            let mut lease = Lease::take("robot", "pose", POSE.observer()).unwrap();
            assert_eq!(lease.end().unwrap().try_read(), Ok(None));
            let start = lease.attached().mapping("pose").unwrap().ptr();
            announce("seated");
            // SAFETY: none is needed: the write does not happen, it kills the process.
            unsafe { start.write_volatile(0) };
            announce("written");
        }
        Some(other) => panic!("unknown role {other}"),
        None => println!("no test: for processes that tests start"),
    }
}

#[test]
fn differing_objects_are_refused_with_the_difference() {
    let folder = folder();
    let folder = folder.path();
    let _board = registry(folder);
    for (error, text) in [
        (refusal(folder, "poses", POSE.writer()), "no object `poses` in this registry: it has pose, jobs"),
        (
            refusal(folder, "pose", Chen::<V>::new(2).writer()),
            "object pose differs in its protocol: this program has `chen`, the registry `hybrid`",
        ),
        (
            // An endpoint that the other protocol does not have.
            refusal(folder, "jobs", POSE.observer()),
            "object jobs differs in its protocol: this program has `hybrid`, the registry `qrtr`",
        ),
        (
            refusal(folder, "pose", Hybrid::<V>::new(3, 6).reader(0)),
            "object pose differs in its shape: this program has `readers=3 spare=6`, the registry `readers=2 spare=6`",
        ),
        (
            // An endpoint that the other shape does not have.
            refusal(folder, "pose", Hybrid::<V>::new(3, 6).reader(2)),
            "object pose differs in its shape: this program has `readers=3 spare=6`, the registry `readers=2 spare=6`",
        ),
        (
            refusal(folder, "pose", Hybrid::<[i64; 4]>::new(2, 6).reader(0)),
            "object pose differs in its type: this program has `i64*4`, the registry `u64*4`",
        ),
        (
            refusal(folder, "pose", Hybrid::<[u64; 5]>::new(2, 6).reader(0)),
            "object pose differs in its type: this program has `u64*5`, the registry `u64*4`",
        ),
        (refusal(folder, "pose", POSE.reader(2)), "object pose has no endpoint `reader-2`"),
        (refusal(folder, "po/se", POSE.writer()), "`writer-of-po/se` is not a valid name"),
    ] {
        assert!(error.to_string().contains(text), "{error}\n{text}");
    }
    // The refusals left no endpoint taken.
    let mut lease = Lease::take_in(folder, "robot", "pose", POSE.reader(0)).unwrap();
    assert_eq!(lease.end().unwrap().read(), None);
}

#[test]
fn a_process_without_a_catalogue_is_no_registry() {
    let folder = folder();
    let not_running = refusal(folder.path(), "pose", POSE.writer());
    assert!(matches!(not_running, Error::NotRunning { .. }), "{not_running}");
    let _owner = taut_segment::Owner::create_in(folder.path(), "robot", SIZE, clients(), None).unwrap();
    let no_board = refusal(folder.path(), "pose", POSE.writer());
    assert!(no_board.to_string().contains("the clients of the application are ui, viewer"), "{no_board}");
}

#[test]
fn shapes_that_no_protocol_takes_are_refused() {
    let folder = folder();
    for (object, expected) in [
        (Hybrid::<V>::new(1000, 6).named("x"), LayoutError::Readers),
        (Hybrid::<V>::new(2, 1000).named("x"), LayoutError::Capacity),
        (Qrtr::<V>::new(0).named("x"), LayoutError::Capacity),
        (Emeralds::<V>::new(1, 0).named("x"), LayoutError::Buffers),
        (Dbp::<V>::new(0, 0, 4).named("x"), LayoutError::Readers),
        (Dbp::<V>::new(u32::MAX, 1, 4).named("x"), LayoutError::Readers),
        // The protocol limits no readers; the registry limits its endpoints, which are client names.
        (Spinlock::<V>::new(u32::MAX).named("x"), LayoutError::Readers),
    ] {
        let text = format!("{object:?}");
        let refused = Registry::create_in(folder.path(), "robot", &[object]).unwrap_err();
        let expected = Error::Layout { object: "x".to_owned(), error: expected };
        assert_eq!(refused, expected, "{text}");
        assert!(refused.to_string().starts_with("object x cannot be built: the "), "{refused}");
    }
    let twice = [POSE.named("x"), JOBS.named("x")];
    let twice = Registry::create_in(folder.path(), "robot", &twice).unwrap_err();
    assert!(matches!(twice, Error::ClientTwice { .. } | Error::Directory { .. }), "{twice}");
    let long = "x".repeat(33);
    let long = Registry::create_in(folder.path(), "robot", &[POSE.named(&long)]).unwrap_err();
    assert!(matches!(long, Error::BadName { .. }), "{long}");
    assert_eq!(contents(folder.path()), Vec::<std::path::PathBuf>::new());
}

/// Where memory can be locked at all, the memory of a lease is locked.
#[test]
fn the_memory_of_a_lease_is_locked() {
    let folder = folder();
    let _board = registry(folder.path());
    let lease = Lease::take_in(folder.path(), "robot", "pose", POSE.writer()).unwrap();
    let file = memory::memfd(c"another", PAGE_BYTES, Seals::NONE).unwrap();
    let mut another = memory::map_shared(file.as_fd(), PAGE_BYTES as usize, true).unwrap();
    let can = another.lock().is_ok();
    assert_eq!(lease.attached().mapping("pose").unwrap().locked().is_ok(), can);
}

/// The longest name, and the most endpoints that a registry allows.
#[test]
fn the_largest_registry_that_fits_is_built() {
    let folder = folder();
    let (longest, most) = ("x".repeat(32), Spinlock::<V>::new(256));
    let object = POSE.named(&longest);
    assert_eq!(object.name(), longest);
    let _board = Registry::create_in(folder.path(), "robot", &[object, most.named("most")]).unwrap();
    assert!(Lease::take_in(folder.path(), "robot", &longest, POSE.reader(1)).is_ok());
    assert!(Lease::take_in(folder.path(), "robot", "most", most.reader(255)).is_ok());
}

#[test]
fn more_than_the_machine_has_is_refused() {
    const HUGE: Qrtr<[u8; 1 << 31]> = Qrtr::new(u32::MAX);
    let folder = folder();
    let create = |names: &[&str]| {
        let objects: Vec<_> = names.iter().map(|name| HUGE.named(name)).collect();
        Registry::create_in(folder.path(), "robot", &objects).unwrap_err()
    };
    let memory = taut_sys::machine::memory_bytes().unwrap();
    // The indices of the two ends, and the values.
    let one = 256 + (1u64 << 31) * u64::from(u32::MAX);
    assert_eq!(
        create(&["one"]),
        Error::TooLarge { size: PAGE_BYTES + one.next_multiple_of(PAGE_BYTES), memory }
    );
    assert_eq!(
        create(&["one", "two"]),
        Error::TooLarge { size: PAGE_BYTES + 2 * one.next_multiple_of(PAGE_BYTES), memory }
    );
    // The sum overflows.
    let three = create(&["one", "two", "three"]);
    assert_eq!(three, Error::TooLarge { size: u64::MAX, memory });
    assert!(three.to_string().ends_with(": use smaller values, or smaller capacities"), "{three}");
    assert_eq!(contents(folder.path()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn an_endpoint_has_one_lease() {
    let folder = folder();
    let folder = folder.path();
    let registry = registry(folder);
    let mut first = Lease::take_in(folder, "robot", "jobs", JOBS.writer()).unwrap();
    let taken = refusal(folder, "jobs", JOBS.writer());
    let text = format!("endpoint `writer` of object jobs is taken: process {} holds it", std::process::id());
    assert!(taken.to_string().starts_with(&text), "{taken}");
    let mut reader = Lease::take_in(folder, "robot", "jobs", JOBS.reader()).unwrap();
    // One end after another: each goes on as a successor.
    first.end().unwrap().push(1).unwrap();
    first.end().unwrap().push(2).unwrap();
    drop(first);
    let mut second = Lease::take_in(folder, "robot", "jobs", JOBS.writer()).unwrap();
    second.end().unwrap().push(3).unwrap();
    let mut reader = reader.end().unwrap();
    assert_eq!([reader.pop(), reader.pop(), reader.pop()], [Ok(Some(1)), Ok(Some(2)), Ok(Some(3))]);
    // Readers with different numbers are different endpoints; so are endpoints of different objects.
    let _pose: [_; 2] = [0, 1].map(|i| Lease::take_in(folder, "robot", "pose", POSE.reader(i)).unwrap());
    let taken = refusal(folder, "pose", POSE.reader(1));
    assert!(matches!(&taken, Error::EndpointTaken { endpoint, .. } if endpoint == "reader-1"), "{taken}");
    let report = registry.report();
    let names: HashSet<_> = report.attached.iter().map(|client| client.client.as_str()).collect();
    let expected = ["writer-of-jobs", "reader-of-jobs", "reader-0-of-pose", "reader-1-of-pose"];
    assert_eq!(names, expected.into());
    assert_eq!(report.attached.len(), 4);
}

#[test]
fn observers_may_be_many_up_to_a_limit() {
    let folder = folder();
    let folder = folder.path();
    let sdrtw = Sdrtw::<V>::new();
    let registry = Registry::create_in(folder, "robot", &[sdrtw.named("levels")]).unwrap();
    let mut writer = Lease::take_in(folder, "robot", "levels", sdrtw.writer()).unwrap();
    assert!(writer.attached().mapping("levels").unwrap().writable());
    let take = || Lease::take_in(folder, "robot", "levels", sdrtw.observer());
    let mut leases: Vec<_> = (0..128).map(|_| take().unwrap()).collect();
    assert!(matches!(take(), Err(Error::EndpointTaken { .. })));
    assert_eq!(registry.report().attached.len(), 129);
    writer.end().unwrap().write(&[7; 4]);
    for lease in &mut leases {
        assert!(!lease.attached().mapping("levels").unwrap().writable());
        assert_eq!(lease.end().unwrap().read_bounded(3).unwrap().unwrap().value, [7; 4]);
    }
    leases.pop();
    assert!(take().is_ok());
}

#[test]
fn a_write_without_right_is_a_death() {
    let folder = folder();
    let _board = registry(folder.path());
    let mut scribbler = Process::start("scribbler", folder.path());
    assert_eq!(scribbler.reported(), "seated");
    let status = scribbler.child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(SIGSEGV));
}

#[test]
fn owners_come_and_go() {
    let folder = folder();
    let mut owner = Process::start("owner", folder.path());
    let epoch: u64 = owner.told_after("ready").parse().unwrap();
    let mut writer = Lease::take_in(folder.path(), "robot", "pose", POSE.writer()).unwrap();
    let mut reader = Lease::take_in(folder.path(), "robot", "pose", POSE.reader(0)).unwrap();
    assert_eq!((writer.attached().epoch(), writer.attached().alive()), (epoch, Liveness::Alive));
    assert_eq!(writer.attached().state(), OwnerState::Running);
    owner.kill();
    // The memory is still there for both.
    {
        let (mut writer, attached) = writer.split().unwrap();
        assert_eq!(attached.alive(), Liveness::Died);
        writer.write(&[1; 4]);
        assert_eq!(reader.end().unwrap().read(), Some([1; 4]));
    }
    assert!(matches!(refusal(folder.path(), "pose", POSE.reader(1)), Error::Stale { .. }));
    let owner = Process::start("owner", folder.path());
    let second: u64 = owner.told_after("ready").parse().unwrap();
    // The new registry has another object: leases of the first do not block it, and it has none of the first's
    // values.
    let mut anew = Lease::take_in(folder.path(), "robot", "pose", POSE.reader(0)).unwrap();
    assert_eq!(anew.end().unwrap().read(), None);
    assert_eq!((anew.attached().epoch(), second != epoch), (second, true));
    owner.release();
    assert_eq!((anew.attached().alive(), writer.attached().alive()), (Liveness::Ended, Liveness::Died));
    assert_eq!(contents(folder.path()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_catalogue_has_all() {
    let folder = folder();
    let list = ImprovedChen::<List<u8, 100>>::new(0, 3);
    let objects = [POSE.named("pose"), list.named("names"), JOBS.named("jobs")];
    let _board = Registry::create_in(folder.path(), "robot", &objects).unwrap();
    let entries = catalogue_in(folder.path(), "robot").unwrap();
    let lines: Vec<_> = entries.iter().map(ToString::to_string).collect();
    let expected = [
        (
            "pose reads mechanism=hybrid value=32 capacity=1 readers=0 offset=4096 size=",
            "readers=2 spare=6 of u64*4",
        ),
        ("names reads mechanism=improved-chen value=112 capacity=1 ", "slow=0 overlaps=3 of u8*..100"),
        ("jobs reads mechanism=qrtr value=4 capacity=16 ", "capacity=16 of u32"),
    ];
    for (line, (start, layout)) in lines.iter().zip(expected) {
        assert!(line.starts_with(start) && line.ends_with(&format!("layout={layout}")), "{line}");
    }
    assert_eq!(lines.len(), 3);
    for pair in entries.windows(2) {
        assert!(pair[0].offset + pair[0].size <= pair[1].offset);
    }
    // Attached directly, as a client of the listener.
    let endpoint = attach_in(folder.path(), "robot", "reader-1-of-pose").unwrap();
    assert_eq!(endpoint.directory().to_text(), lines[0].replace("reads", "writes") + "\n");
}

mod one {
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    /// A pose.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub(crate) struct Pose {
        pub(crate) x: f64,
        pub(crate) y: f64,
    }
    taut_share::layout!(Pose { x: f64, y: f64 });
}

/// Types of programs that were built from another version of the same file, or from another file.
mod other {
    /// The same struct.
    pub(crate) mod same {
        use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub(crate) struct Place {
            pub(crate) x: f64,
            pub(crate) y: f64,
        }
        taut_share::layout!(Place { x: f64, y: f64 });
    }

    /// The struct with its fields in another order, and with a field of another type.
    pub(crate) mod one {
        use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub(crate) struct Pose {
            pub(crate) y: f64,
            pub(crate) x: f64,
        }
        taut_share::layout!(Pose { y: f64, x: f64 });

        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
        #[repr(C)]
        pub(crate) struct Fixed {
            pub(crate) x: i64,
            pub(crate) y: f64,
        }
        taut_share::layout!(Fixed { x: i64, y: f64 });
    }
}

#[test]
fn a_struct_is_its_fields_and_not_its_name() {
    let folder = folder();
    let folder = folder.path();
    let object = Sdrtw::<one::Pose>::new().named("pose");
    let list = Sdrtw::<List<one::Pose, 3>>::new().named("poses");
    let _board = Registry::create_in(folder, "robot", &[object, list]).unwrap();
    let mut writer = Lease::take_in(folder, "robot", "pose", Sdrtw::<one::Pose>::new().writer()).unwrap();
    writer.end().unwrap().write(&one::Pose { x: 1.0, y: 2.0 });
    // The same fields in a type of another name.
    let same = Sdrtw::<other::same::Place>::new().observer();
    let mut reader = Lease::take_in(folder, "robot", "pose", same).unwrap();
    let sample = reader.end().unwrap().try_read().unwrap().unwrap();
    assert_eq!((sample.value.x, sample.value.y), (1.0, 2.0));
    // The same name and size with other fields.
    for (error, text) in [
        (
            refusal(folder, "pose", Sdrtw::<other::one::Pose>::new().observer()),
            "object pose differs in its type: this program has `y:f64,x:f64`, the registry `x:f64,y:f64`",
        ),
        (
            refusal(folder, "pose", Sdrtw::<other::one::Fixed>::new().observer()),
            "object pose differs in its type: this program has `x:i64,y:f64`, the registry `x:f64,y:f64`",
        ),
        (
            refusal(folder, "pose", Sdrtw::<[f64; 2]>::new().observer()),
            "object pose differs in its type: this program has `f64*2`, the registry `x:f64,y:f64`",
        ),
        (
            refusal(folder, "poses", Sdrtw::<List<other::one::Pose, 3>>::new().observer()),
            "this program has `(y:f64,x:f64)*..3`, the registry `(x:f64,y:f64)*..3`",
        ),
    ] {
        assert!(error.to_string().contains(text), "{error}\n{text}");
    }
}
