// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Named shared memory: header, version, layout hash, seals, liveness.
