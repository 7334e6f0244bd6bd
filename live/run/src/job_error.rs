// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Errors of jobs by name: a job fails with a number, which the recording has, and a report shows a name in
//! its place.

use std::convert::Infallible;

use taut_exec::LockError;
use taut_scope::Exceeded;

use crate::{AlarmRefused, Failure, LoanRefused, Payload, PublishError, SendError};

/// What a job of a generated task may fail with. [`crate::errors!`] makes an enum of an application's own errors.
#[diagnostic::on_unimplemented(
    message = "a job cannot fail with `{Self}`",
    note = "`taut::errors!` makes an enum of an application's own errors"
)]
pub trait JobError: Into<Failure> {
    /// The names of the codes from 1 on, in the order of [`Failure::Code`]: reports show them in place of the numbers.
    const NAMES: &'static [&'static str] = &[];
}

impl JobError for Failure {}
impl JobError for Exceeded {}
impl JobError for LockError {}
impl JobError for Infallible {}

impl From<Infallible> for Failure {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl<P: Payload> JobError for SendError<P> {
    const NAMES: &'static [&'static str] = &["Full", "TooMany"];
}

impl<P> From<SendError<P>> for Failure {
    fn from(error: SendError<P>) -> Self {
        Self::Code(match error {
            SendError::Full(_) => 1,
            SendError::TooMany(_) => 2,
        })
    }
}

impl<P: Payload> JobError for PublishError<P> {
    const NAMES: &'static [&'static str] = &["Busy", "TooMany"];
}

impl<P> From<PublishError<P>> for Failure {
    fn from(error: PublishError<P>) -> Self {
        Self::Code(match error {
            PublishError::Busy(_) => 1,
            PublishError::TooMany(_) => 2,
        })
    }
}

impl<P: Payload> JobError for AlarmRefused<P> {
    const NAMES: &'static [&'static str] = &["Full", "Late", "TooMany", "Malformed"];
}

impl<P> From<AlarmRefused<P>> for Failure {
    fn from(error: AlarmRefused<P>) -> Self {
        Self::Code(match error {
            AlarmRefused::Full(_) => 1,
            AlarmRefused::Late(_) => 2,
            AlarmRefused::TooMany(_) => 3,
            AlarmRefused::Malformed(_) => 4,
        })
    }
}

impl JobError for LoanRefused {
    const NAMES: &'static [&'static str] = &["NoBlock", "TooMany"];
}

impl From<LoanRefused> for Failure {
    fn from(error: LoanRefused) -> Self {
        Self::Code(match error {
            LoanRefused::NoBlock => 1,
            LoanRefused::TooMany => 2,
        })
    }
}

/// Defines an enum of errors that jobs may return. The report names them.
///
/// ```
/// taut_run::errors! {
///     /// Why a frame is not delivered.
///     pub enum Fault {
///         /// The frame's reader is behind.
///         FrameLost,
///         /// A level is out of range.
///         Level,
///     }
/// }
///
/// use taut_run::{Failure, JobError};
/// assert_eq!(Failure::from(Fault::Level), Failure::Code(2));
/// assert_eq!(Fault::NAMES, ["FrameLost", "Level"]);
/// ```
#[macro_export]
macro_rules! errors {
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident {
            $($(#[$error_meta:meta])* $error:ident),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum $name {
            $($(#[$error_meta])* $error),+
        }

        impl ::core::convert::From<$name> for $crate::Failure {
            fn from(error: $name) -> Self {
                Self::Code(error as u32 + 1)
            }
        }

        impl $crate::JobError for $name {
            const NAMES: &'static [&'static str] = &[$(::core::stringify!($error)),+];
        }
    };
}
