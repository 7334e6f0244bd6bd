// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The autopilot of a fixed-wing aircraft: PapaBench's tasks, which fly a round trip.
//!
//! ```text
//!                 fly-by-wire, core 0                               autopilot, core 1
//!  radio ─▶ test-ppm 25 ──pilot──▶ send-data 25 ──uplink─────▶ radio-control 25 ──engaged──┐
//!              │ pilot                                                                     ▼
//!              ├────▶ check-failsafe 50 ◀─┐         gps ─▶ receive-gps ─▶ navigation ─▶ altitude-control ─▶ climb-control
//!              │            │ mode        │ link                 (each 250)  │ target                          │ level
//!              ▼            ▼             │                                  ▼                                 ▼
//!  servos ◀─ servo-transmit 50 ◀─link─ check-mega128 50 ◀─downlink─ link-fbw-send 50 ◀─order─ stabilization 50 ◀─ attitude
//! ```
//!
//! `radio`, `gps`, `attitude` and `servos` are channels to `uav-plant`, a process of its own: the aircraft, which JSBSim flies,
//! and the pilot on the ground. Periods are in ms. `reporting`, every 100 ms, sends telemetry to a logger.

pub mod aircraft;
pub mod arguments;
pub mod fly_by_wire;
pub mod law;
/// What `taut generate` makes from `taut.toml`.
pub mod manifest;
pub mod picture;
pub mod route;
pub mod tasks;
pub mod track;
