# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Sweeps: the same rows however they are made, and an end when one is wanted."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import taut


def rows(table: taut.Table) -> dict[str, list[object]]:
    return {name: table[name].tolist() for name in table.columns}


def test_the_same_rows_however_they_are_made(small: str) -> None:
    generator = taut.Generator.parse(small)
    whole = taut.sweep(generator, jobs=1)
    assert len(whole) == generator.rows == 18 and whole["row"].tolist() == list(range(18))
    assert tuple(generator.columns) == whole.columns
    for jobs in (2, 5):
        assert rows(taut.sweep(generator, jobs=jobs)) == rows(whole)
    parts = [rows(taut.sweep(generator, shard=(part, 3))) for part in (1, 2, 3)]
    joined = {name: [value for part in parts for value in part[name]] for name in whole.columns}
    assert joined == rows(whole)
    assert rows(taut.sweep(generator, range(5, 9)))["row"] == [5, 6, 7, 8]
    assert len(taut.sweep(generator, range(5, 5))) == 0
    assert rows(taut.sweep(generator, seed=8)) != rows(whole)


def test_what_is_sent_to_other_processes(small: str) -> None:
    generator = pickle.loads(pickle.dumps(taut.Generator.parse(small).with_seed(3)))
    assert generator.seed == 3 and generator.rows == 18
    tasks = generator.task_set(4)
    copy = pickle.loads(pickle.dumps(tasks))
    assert (copy.tasks, copy.resources, copy.schedulers) == (tasks.tasks, tasks.resources, tasks.schedulers)


def test_a_row_is_a_system(small: str) -> None:
    """What the sweep says of a method is what the analysis says of the system, for what both can say alike."""
    generator = taut.Generator.parse(small)
    table = taut.sweep(generator)
    tasks, objects = table["tasks"].tolist(), table["objects"].tolist()
    for row in range(0, 18, 5):
        system = generator.task_set(row)
        assert (len(system), len(system.resources)) == (tasks[row], objects[row])


def test_progress_is_told_and_may_end_it(small: str) -> None:
    # As many rows as it takes for the sweep to look up before the end.
    generator = taut.Generator.parse(small.replace("rows-per-point = 6", "rows-per-point = 100000"))
    told: list[int] = []

    def tell(count: int) -> bool:
        told.append(count)
        return count < 20

    table = taut.sweep(generator, jobs=2, progress=tell)
    assert 20 <= told[-1] <= len(table) < generator.rows
    assert table["row"].tolist() == list(range(len(table)))
    with pytest.raises(LookupError, match="enough"):
        taut.sweep(generator, progress=lambda count: (_ for _ in ()).throw(LookupError("enough")))


def test_other_threads_run_meanwhile(small: str) -> None:
    """While a sweep computes on another thread, this one counts: without the lock of Python given up it could not."""
    generator = taut.Generator.parse(small.replace("rows-per-point = 6", "rows-per-point = 100000"))
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: taut.sweep(generator, jobs=1, progress=lambda count: not stop.is_set()), daemon=True
    )
    thread.start()
    begin, counted = time.monotonic(), 0
    while time.monotonic() - begin < 0.3:
        counted += 1
    alive = thread.is_alive()
    stop.set()
    thread.join(30)
    assert alive and counted > 1_000 and not thread.is_alive()


def test_an_interrupt_ends_it(small: str, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(small.replace("rows-per-point = 6", "rows-per-point = 1000000"), encoding="utf-8")
    program = f"import taut; print('go', flush=True); taut.sweep({str(file)!r}, jobs=2)"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "go\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=30)
    assert "KeyboardInterrupt" in error and child.returncode != 0


def test_rows_of_the_command(small: str, tmp_path: Path) -> None:
    """The command makes the same rows, if there is one: `TAUT` is its path."""
    command = os.environ.get("TAUT")
    if command is None or subprocess.run([command, "sweep", "--help"], capture_output=True, check=False).returncode:
        pytest.skip("no `taut` command to run")
    file, out = tmp_path / "sweep.toml", tmp_path / "rows.jsonl"
    file.write_text(small, encoding="utf-8")
    subprocess.run([command, "sweep", str(file), "--out", str(out)], check=True, capture_output=True)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    table = rows(taut.sweep(file))
    assert [line["row"] for line in lines] == table["row"]
    for name in table:
        assert [line.get(name) for line in lines] == table[name], name


def test_what_is_no_sweep(small: str) -> None:
    generator = taut.Generator.parse(small)
    for wrong in ({"rows": range(19)}, {"rows": range(-1, 3)}, {"rows": range(0, 8, 2)}, {"rows": [1]}):
        with pytest.raises(ValueError, match="rows are"):
            taut.sweep(generator, **wrong)  # type: ignore[arg-type]
    for wrong in ({"shard": (0, 2)}, {"shard": (3, 2)}, {"shard": (1, 0)}, {"jobs": 0}, {"seed": -1}):
        with pytest.raises(ValueError):
            taut.sweep(generator, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="either"):
        taut.sweep(generator, range(1), shard=(1, 2))
    with pytest.raises(ValueError, match="row 18"):
        generator.task_set(18)
    with pytest.raises(taut.ManifestError) as caught:
        taut.Generator.parse(small.replace("cores = 2", "cores = 0"), "mine.toml")
    assert caught.value.diagnostics[0].primary.file == "mine.toml" and "mine.toml:" in str(caught.value)
