// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Positions in a model's lists.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u16);

        impl $name {
            /// The position in the model's list.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A task of one model.
    TaskId
);
id!(
    /// A service of one model.
    ServiceId
);
id!(
    /// A mode of one model.
    ModeId
);
id!(
    /// A client of one model.
    ClientId
);
id!(
    /// A channel of one model.
    ChannelId
);
id!(
    /// A resource of one model.
    ResourceId
);
id!(
    /// A core of one model: a position in [`Platform::cores`](crate::Platform::cores), not a CPU's number.
    CoreId
);

/// A reader or writer of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartyId {
    /// A task of the application.
    Task(TaskId),
    /// A process of its own.
    Client(ClientId),
}
