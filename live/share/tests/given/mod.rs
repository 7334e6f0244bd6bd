// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What threads may be given, and what they may share, of a crate's types: a list that does not compile if it is not so.

use core::marker::PhantomData;

pub(crate) struct Of<T: ?Sized>(PhantomData<T>);

/// What holds unless a bound below is met.
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

// Some crates have nothing to which the one or the other applies.
const _: () = assert!(
    !<Of<*const u8> as Not>::SEND && !<Of<*const u8> as Not>::SYNC && Of::<u8>::SEND && Of::<u8>::SYNC
);

/// `send`: moved, and shared by none. `both`: shared too. `neither`: of the thread that made it.
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
