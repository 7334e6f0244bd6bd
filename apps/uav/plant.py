# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""An aircraft of JSBSim, as a process: one step of 25 ms for each line of standard input.

A line has the servos: aileron (right is positive) and elevator (up is positive), -1 to 1, and throttle, 0 to 1. Each answer is a
line of numbers: time (s); east and north of the start, height above the sea (m); course (rad), climb (m/s); roll, pitch (rad);
roll rate, pitch rate (rad/s); calibrated airspeed (m/s); 1 if JSBSim's wing has stalled, else 0. The first answer comes before any
line: the aircraft at the start, trimmed for level flight to the west.
"""

import math
import os
import sys

# JSBSim prints to standard output, which has the answers here.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import jsbsim  # noqa: E402

FOOT, KNOT = 0.3048, 0.514444
# Metres per degree at 45 degrees of latitude (WGS 84).
LATITUDE, LONGITUDE = 111_131.7, 78_846.8
STEP_S, SUBSTEPS = 0.025, 5

jsbsim.FGJSBBase().debug_lvl = 0
aircraft = jsbsim.FGFDMExec(None)
aircraft.load_model("c172p")
aircraft.set_dt(STEP_S / SUBSTEPS)
start = {"lat-geod-deg": 45.0, "long-gc-deg": 9.0, "h-sl-ft": 1000.0 / FOOT, "psi-true-deg": 270.0, "vc-kts": 95.0}
for name, value in start.items():
    aircraft["ic/" + name] = value
aircraft.run_ic()
aircraft["fcs/mixture-cmd-norm"] = 0.9
aircraft["propulsion/set-running"] = -1
aircraft["simulation/do_simple_trim"] = 1
# Where the ailerons are at rest, as a rigger sets them: the propeller turns the aircraft a little.
rest = aircraft["fcs/aileron-cmd-norm"]


def answer():
    north, east = aircraft["velocities/v-north-fps"], aircraft["velocities/v-east-fps"]
    numbers = (
        aircraft["simulation/sim-time-sec"],
        (aircraft["position/long-gc-deg"] - start["long-gc-deg"]) * LONGITUDE,
        (aircraft["position/lat-geod-deg"] - start["lat-geod-deg"]) * LATITUDE,
        aircraft["position/h-sl-ft"] * FOOT,
        math.atan2(east, north),
        aircraft["velocities/h-dot-fps"] * FOOT,
        aircraft["attitude/phi-rad"],
        aircraft["attitude/theta-rad"],
        aircraft["velocities/p-rad_sec"],
        aircraft["velocities/q-rad_sec"],
        aircraft["velocities/vc-kts"] * KNOT,
        aircraft["aero/stall-hyst-norm"],
    )
    print(*numbers, file=answers, flush=True)


answer()
for line in sys.stdin:
    aileron, elevator, throttle = map(float, line.split())
    aircraft["fcs/aileron-cmd-norm"] = rest + aileron
    aircraft["fcs/elevator-cmd-norm"] = -elevator
    aircraft["fcs/throttle-cmd-norm"] = throttle
    for _ in range(SUBSTEPS):
        aircraft.run()
    answer()
