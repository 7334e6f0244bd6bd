// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Schedules from the literature, read in the cited works. Jobs are A, B and C in order of priority; a star means
//! that the job holds a resource. Where a figure gives no lengths, they are ours.

mod units;

use units::{Lock, Run, Unlock, immediate, job, original};

/// [Sha90, Example 2 and Figure 1]: B and C nest S1 and S2 in opposite orders, so both ceilings are B's. B requests
/// S1 while C holds S2, and is refused; otherwise they would wait for each other forever. A is above both ceilings:
/// it takes S0 during C's section, and nothing blocks it. B waits for one section of C, in two pieces.
#[test]
fn sha90_example_2() {
    let a = [Run, Lock(0), Run, Unlock(0), Run];
    let b = [Run, Lock(1), Run, Lock(2), Run, Unlock(2), Unlock(1), Run];
    let c = [Run, Lock(2), Run, Run, Lock(1), Run, Unlock(1), Run, Unlock(2), Run];
    let jobs = [job(4, 10, &a), job(2, 20, &b), job(0, 30, &c)];
    assert_eq!(original(&jobs).schedule, "C C* B C* A A* A C* C* B* B* B C");
    // Under the immediate form, the ceiling keeps out B, not A.
    assert_eq!(immediate(&jobs).schedule, "C C* C* C* A A* A C* B B* B* B C");
}

/// [Sha90, Example 3]: A uses S1 and then S2, B uses S2, C uses S1. Under plain inheritance A would wait for both,
/// one after the other. Here B is refused S2 while C holds S1, whose ceiling is A's, so that A waits only for C.
#[test]
fn sha90_example_3() {
    let a = [Run, Lock(1), Run, Unlock(1), Lock(2), Run, Unlock(2), Run];
    let b = [Run, Lock(2), Run, Unlock(2), Run];
    let c = [Lock(1), Run, Run, Run, Unlock(1), Run];
    let jobs = [job(3, 10, &a), job(1, 20, &b), job(0, 30, &c)];
    assert_eq!(original(&jobs).schedule, "C* B C* A C* A* A* A B* B C");
}

/// [Sha90, Example 4 and Figure 2]: C holds S2, for which B waits, and inside it S1, whose ceiling is A's: A, which
/// requests the free S0, waits for the end of the inner section. Then C has B's priority, and A continues; B follows
/// when the outer section ends.
#[test]
fn sha90_example_4() {
    let a = [Run, Lock(0), Run, Unlock(0), Lock(1), Run, Unlock(1), Run];
    let b = [Run, Lock(2), Run, Unlock(2), Run];
    let c = [Run, Lock(2), Run, Run, Lock(1), Run, Run, Unlock(1), Run, Unlock(2), Run];
    let jobs = [job(5, 10, &a), job(2, 20, &b), job(0, 30, &c)];
    assert_eq!(original(&jobs).schedule, "C C* B C* C* A C* A* A* A C* B* B C");
}
