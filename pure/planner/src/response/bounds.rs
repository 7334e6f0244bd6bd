// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Duration;

/// The response bound of a task: R if it is proven, and otherwise D.
#[derive(Clone, Copy)]
pub(crate) struct ResponseBound {
    pub(crate) response: Duration,
    pub(crate) proven: bool,
    /// The task's core and priority; none in a server, or where the caller does not need them.
    pub(crate) place: Option<(usize, u8)>,
    /// R_s of the server of an aperiodic task, if it is proven: see [`crate::response::backlog`].
    pub(crate) supply: Option<Duration>,
}

/// Response bounds by task; none for a best-effort task.
pub(crate) type ResponseBounds = Vec<Option<ResponseBound>>;
