// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::{Draft, Fault, Model};

pub(crate) fn build(_draft: Draft) -> (Option<Model>, Vec<Fault>) {
    (None, Vec::new())
}
