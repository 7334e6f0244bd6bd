// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Attacks of a program on a registry: it forgets, swaps and sends ends and leases; it panics while a value is lent;
//! the owner ends; and a child of `fork` drops its parent's leases. Each attack is refused, or harmless.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use taut_segment::registry::{Chen, Endpoint, Hybrid, Lease, Offers, Qrtr, Registry};
use taut_segment::{Error, Liveness};

type V = [u64; 4];

const POSE: Hybrid<V> = Hybrid::new(2, 2);
const PLACE: Chen<V> = Chen::new(1);
const JOBS: Qrtr<V> = Qrtr::new(4);

fn registry() -> (tempfile::TempDir, Registry) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o711)).unwrap();
    let objects = [POSE.named("pose"), POSE.named("twin"), PLACE.named("place"), JOBS.named("jobs")];
    let registry = Registry::create_in(folder.path(), "robot", &objects).unwrap();
    (folder, registry)
}

fn lease<K: Offers<P>, P>(folder: &tempfile::TempDir, object: &str, endpoint: Endpoint<K, P>) -> Lease<K, P> {
    Lease::take_in(folder.path(), "robot", object, endpoint).unwrap()
}

fn is_taken<K: Offers<P>, P>(folder: &tempfile::TempDir, object: &str, endpoint: Endpoint<K, P>) -> bool {
    matches!(Lease::take_in(folder.path(), "robot", object, endpoint), Err(Error::EndpointTaken { .. }))
}

/// Forgotten ends, and leases that are swapped, sent to a thread that ends, or forgotten: an endpoint has one end at
/// a time.
#[test]
#[allow(clippy::forget_non_drop, reason = "it holds whether an end has a destructor or not")]
fn forgotten_swapped_and_sent() {
    let (folder, registry) = registry();
    let [mut one, mut two] = ["pose", "twin"].map(|object| lease(&folder, object, POSE.writer()));
    let [mut first, mut second] = ["pose", "twin"].map(|object| lease(&folder, object, POSE.reader(1)));
    for round in 0..3 {
        one.end().unwrap().write(&[round; 4]);
        std::mem::forget(one.end().unwrap());
        std::mem::swap(&mut one, &mut two);
        two.end().unwrap().write(&[round + 10; 4]);
        let read = [&mut first, &mut second].map(|lease| lease.end().unwrap().read());
        // A forgotten end counts as dead, and a lease belongs to its object wherever it is stored.
        assert_eq!(read, [Some([round + 10; 4]), None]);
        std::mem::swap(&mut one, &mut two);
    }
    let mut one = std::thread::spawn(move || {
        one.end().unwrap().write(&[7; 4]);
        one
    })
    .join()
    .unwrap();
    one.end().unwrap().write(&[8; 4]);
    assert!(is_taken(&folder, "pose", POSE.writer()));
    std::mem::forget(one);
    assert!(is_taken(&folder, "pose", POSE.writer()), "it is held until the process ends");
    assert_eq!(first.end().unwrap().read(), Some([8; 4]));
    drop(registry);
    assert_eq!(first.end().unwrap().read(), Some([8; 4]), "the memory outlives its owner");
    assert_eq!(first.attached().alive(), Liveness::Ended);
}

/// A panic while a value is lent in place: the object still works, with the same end and with the next.
#[test]
fn panics_while_a_value_is_lent() {
    let (folder, _board) = registry();
    let mut writer = lease(&folder, "place", PLACE.writer());
    let mut reader = lease(&folder, "place", PLACE.reader(0));
    writer.end().unwrap().write(&[1; 4]);
    for anew in [false, true] {
        let mut end = writer.end().unwrap();
        let half = AssertUnwindSafe(|| {
            end.write_with(|value| {
                value[0] = 9;
                resume_unwind(Box::new(()))
            })
        });
        assert!(catch_unwind(half).is_err());
        if anew {
            end = writer.end().unwrap();
        }
        let mut reads = reader.end().unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| reads.read_with(|_| resume_unwind(Box::new(()))))).is_err());
        assert_eq!(reads.read(), Some([1; 4]), "what was not written whole is not read");
        end.write(&[1; 4]);
    }
}

/// A child of `fork` drops its parent's leases, or forgets them: the parent keeps its endpoints, and its registry
/// goes on.
#[test]
fn a_child_of_fork_gives_nothing_of_its_parents_back() {
    let (folder, registry) = registry();
    let mut writer = lease(&folder, "pose", POSE.writer());
    let mut end = writer.end().unwrap();
    end.write(&[1; 4]);
    let mut both =
        Some((registry, lease(&folder, "jobs", JOBS.writer()), lease(&folder, "place", PLACE.writer())));
    // SAFETY: the child takes no lock that another thread could hold: it closes descriptors, ends mappings and frees
    // memory.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(both.take());
        // SAFETY: ends the child without running its parent's exit handlers or destructors.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: the child is ours, and so is the number.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert!(is_taken(&folder, "jobs", JOBS.writer()) && is_taken(&folder, "place", PLACE.writer()));
    assert!(is_taken(&folder, "pose", POSE.writer()));
    end.write(&[2; 4]);
    let mut reader = lease(&folder, "pose", POSE.reader(0));
    assert_eq!(reader.end().unwrap().read(), Some([2; 4]), "the listener serves");
    assert_eq!(writer.attached().alive(), Liveness::Alive);
    let (registry, jobs, place) = both.unwrap();
    drop((jobs, place));
    registry.end().unwrap();
}
