// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which types of a crate may move to another thread, and which threads may share: a list that does not compile if it
//! is wrong.

use core::marker::PhantomData;

pub(crate) struct Of<T: ?Sized>(PhantomData<T>);

/// The values that hold unless a bound below is met.
pub(crate) trait Not {
    const SEND: bool = false;
    const SYNC: bool = false;
}

impl<T: ?Sized> Not for Of<T> {}

impl<T: ?Sized + Send> Of<T> {
    pub(crate) const SEND: bool = true;
}

impl<T: ?Sized + Sync> Of<T> {
    pub(crate) const SYNC: bool = true;
}

// Some crates have no type for one of the cases; this uses all of them.
const _: () = assert!(
    !<Of<*const u8> as Not>::SEND && !<Of<*const u8> as Not>::SYNC && Of::<u8>::SEND && Of::<u8>::SYNC
);

/// `send`: the type may move to another thread. `both`: threads may also share it. `neither`: it stays in the thread
/// that made it.
macro_rules! threads {
    (both) => { (true, true) };
    (send) => { (true, false) };
    (neither) => { (false, false) };
    ($($type:ty: $what:ident,)*) => {$(
        const {
            #[allow(unused_imports, reason = "of a type with both nothing else is asked")]
            use crate::given::{Not as _, Of};
            let (send, sync) = threads!($what);
            assert!(Of::<$type>::SEND == send, concat!("whether it may be moved: ", stringify!($type)));
            assert!(Of::<$type>::SYNC == sync, concat!("whether it may be shared: ", stringify!($type)));
        }
    )*};
}
