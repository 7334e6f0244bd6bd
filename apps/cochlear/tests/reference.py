#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors
"""The cochlear signal chain a second time, from its formulas, in double precision with numpy and scipy.

It shares no code and no table with the Rust chain: the window, the high-pass, the sliding maximum and the
root finder are scipy's, the FFT is numpy's, band edges and gains are derived here by other means (gains by
measuring the filter bank's own response to a sine).

    reference.py OUT [CASE...]      writes OUT/CASE.levels (u8) and OUT/CASE.envelopes (f32, little endian)
    reference.py --signal FILE      writes the synthetic test signal as WAV

Each case covers whole frames of its signal; the last partial frame is left out.
levels: frames x 8 x 22 by electrode (1 first); envelopes: the last cycle of each frame x 22 by band (lowest first).
The committed files in tests/data were made with: reference.py tests/data
"""
import sys
import wave
from pathlib import Path

import numpy as np
from scipy import ndimage, optimize, signal

HERE = Path(__file__).resolve().parent
FS, FRAME, HOP, N = 16000, 128, 16, 128
WIDTHS = [1] * 9 + [2] * 4 + [3] * 2 + [4] * 2 + [5] * 2 + [6, 7, 8]
WINDOW = signal.get_window("hann", N, fftbins=True)
EDGES = 2 + np.concatenate([[0], np.cumsum(WIDTHS)])


def envelope(blocks):
    """Unscaled power-sum envelopes of blocks x 128."""
    power = np.abs(np.fft.rfft(blocks * WINDOW, axis=-1)) ** 2
    return np.sqrt(np.stack([power[..., a:b].sum(-1) for a, b in zip(EDGES, EDGES[1:])], -1))


def band_gains():
    """One over the response to a full-scale sine in the centre, averaged over its phase."""
    gains = []
    for band, (a, b) in enumerate(zip(EDGES, EDGES[1:])):
        centre = (a + b - 1) / 2 / N
        phases = np.linspace(0, 2 * np.pi, 64, endpoint=False)[:, None]
        sines = np.sin(2 * np.pi * centre * np.arange(N) + phases)
        gains.append(1 / np.sqrt((envelope(sines)[:, band] ** 2).mean()))
    return np.array(gains)


def solve_growth(base, saturation, q):
    r = (saturation / np.sqrt(10) - base) / (saturation - base)
    return optimize.brentq(lambda a: np.log1p(a * r) / np.log1p(a) - (1 - q / 100), 1e-3, 1e9, xtol=1e-10)


def gain_control(x, knee):
    """Limiter; 5 ms and 75 ms to within 2 dB on a 25 dB step, peak held for 32 samples."""
    d, e, hold = 10 ** (25 / 20), 10 ** (2 / 20), 32
    # Attack: d / L(t) = e with L going from 1 to d. Release: L(t) = e with L going from d to 1.
    tau_attack = 0.005 / np.log((d - 1) / (d - d / e))
    tau_release = (0.075 - hold / FS) / np.log((d - 1) / (e - 1))
    attack, release = (1 - np.exp(-1 / (tau * FS)) for tau in (tau_attack, tau_release))
    peak = ndimage.maximum_filter1d(np.abs(x), hold, origin=hold // 2 - 1, mode="constant")
    level, y = 1e-6, np.empty_like(x)
    for n in range(len(x)):
        level += (attack if peak[n] > level else release) * (peak[n] - level)
        level = max(level, 1e-6)
        y[n] = x[n] * min(1.0, knee / level)
    return y


def chain(samples, settings, pre_emphasis=None, maxima=8, threshold=None, comfort=None, base=0.01, saturation=1.0):
    """levels (frames, 8, 22) by electrode and envelopes (frames, 8, 22) by band."""
    frames = len(samples) // FRAME
    x = samples[: frames * FRAME] / 32768.0
    volume = np.array([settings(f)[0] for f in range(frames)])
    factor = 10 ** (np.array([0.0] + [settings(f)[1] for f in range(frames)]) / 20)
    ramp = np.concatenate([a + (b - a) * np.arange(1, FRAME + 1) / FRAME for a, b in zip(factor, factor[1:])])
    x = x * ramp
    if pre_emphasis:
        x = signal.lfilter(*signal.butter(1, pre_emphasis, "high", fs=FS), x)
    speech_peak = 10 ** ((65 + 11 - (95 + 10 * np.log10(2))) / 20)
    x = gain_control(x, speech_peak)
    padded = np.concatenate([np.zeros(N - HOP), x])
    blocks = np.lib.stride_tricks.sliding_window_view(padded, N)[::HOP]
    u = envelope(blocks) * band_gains() * saturation / (speech_peak * 10 ** (-6 / 20))
    u = u.astype(np.float64)
    # Rank with ties to the lower band: a stable sort of the negated values.
    order = np.argsort(-u, axis=-1, kind="stable")
    chosen = np.zeros(u.shape, bool)
    np.put_along_axis(chosen, order[:, :maxima], True, -1)
    alpha = solve_growth(base, saturation, 20)
    r = np.clip((u - base) / (saturation - base), 0, 1)
    v = np.log1p(alpha * r) / np.log1p(alpha)
    t = np.full(22, 100.0) if threshold is None else np.array(threshold, float)
    c = np.full(22, 180.0) if comfort is None else np.array(comfort, float)
    t, c = t[::-1], c[::-1]  # by band
    level = np.floor(t + (c - t) * np.repeat(volume, 8)[:, None] * v + 0.5)
    level = np.where(chosen & (u >= base), level, 0).astype(np.uint8)
    return level[:, ::-1].reshape(frames, 8, 22), u.reshape(frames, 8, 22)


def read(path):
    with wave.open(str(path), "rb") as f:
        assert (f.getframerate(), f.getnchannels(), f.getsampwidth()) == (FS, 1, 2)
        return np.frombuffer(f.readframes(f.getnframes()), "<i2").astype(float)


def synthetic():
    """Silence, impulses, steps of a tone, a sweep over all bands, noise, a full-scale square, silence."""
    t = np.arange(FS // 5) / FS
    tone = np.sin(2 * np.pi * 1000 * t)
    noise = np.random.default_rng(1).uniform(-1, 1, len(t))
    parts = [np.zeros(512), (np.arange(1024) % 256 == 77) * 0.9, 0.056 * tone, tone, 0.056 * tone]
    parts += [0.1 * signal.chirp(np.arange(FS // 2) / FS, 100, 0.5, 7900, "logarithmic")]
    parts += [0.02 * noise, np.sign(np.sin(2 * np.pi * 440 * t)), np.zeros(2048)]
    return np.round(np.concatenate(parts) * 32767).astype("<i2")


CASES = {
    # name: (signal, frames, settings(frame) -> (volume, sensitivity), other arguments)
    "speech": ("../assets/speech.wav", 400, lambda f: (1.0, 0.0), {}),
    "settings": ("data/synthetic.wav", None, lambda f: ((1.0, 0.0) if f < 60 else (0.7, 6.0) if f < 120 else (0.35, -9.0)), {}),
    "variant": (
        "data/synthetic.wav",
        None,
        lambda f: (1.0, 0.0),
        dict(
            pre_emphasis=1200.0,
            maxima=12,
            threshold=[80 + e for e in range(22)],
            comfort=[200 - e for e in range(22)],
            base=4 / 256,
            saturation=150 / 256,
        ),
    ),
}


def main(arguments):
    if arguments[:1] == ["--signal"]:
        with wave.open(arguments[1], "wb") as f:
            f.setnchannels(1), f.setsampwidth(2), f.setframerate(FS)
            f.writeframes(synthetic().tobytes())
        return
    out = Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    for name in arguments[1:] or CASES:
        path, frames, settings, other = CASES[name]
        samples = read(HERE / path)
        samples = samples[: frames * FRAME] if frames else samples
        levels, envelopes = chain(samples, settings, **other)
        (out / f"{name}.levels").write_bytes(levels.tobytes())
        (out / f"{name}.envelopes").write_bytes(envelopes[:, 7].astype("<f4").tobytes())


if __name__ == "__main__":
    main(sys.argv[1:])
