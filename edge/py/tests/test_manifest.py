# SPDX-License-Identifier: Apache-2.0 OR MIT
# SPDX-FileCopyrightText: The taut authors

"""Manifests and plans, as the command has them."""

from pathlib import Path

import pytest
import taut

BAD = """manifest = 1
[app]
nme = "x"
colour = "red"
"""


def test_faults_come_as_one_exception() -> None:
    with pytest.raises(taut.ManifestError) as caught:
        taut.Manifest.parse(BAD, name="bad.toml")
    first = caught.value.diagnostics[0]
    assert (first.code, first.severity, first.help) == ("TAUT0102", "error", "did you mean `name`?")
    span = first.primary
    assert (span.file, span.line, span.column, span.end_column, span.label) == ("bad.toml", 3, 1, 4, "unknown")
    text = str(caught.value)
    assert "error[TAUT0102]: unknown key `nme`" in text and "--> bad.toml:3:1" in text and "3 | nme" in text
    assert len(caught.value.diagnostics) > 1, "all faults at once"


def test_an_application(root: Path) -> None:
    manifest = taut.Manifest.read(root / "apps/cochlear")
    assert manifest.app == "cochlear" and "recording" in manifest.tasks and manifest.chains
    plan = taut.check(manifest)
    assert plan and plan.proven and not [d for d in plan.diagnostics if d.severity == "error"]
    # The committed plan is this one.
    assert plan.to_lock() == (root / "apps/cochlear/taut.lock").read_text(encoding="utf-8")
    task = plan.task("recording")
    assert task.response is not None and sum(term.time for term in task.terms) == task.response <= task.deadline
    assert plan.channel("samples").mechanism and plan.as_dict()["app"] == "cochlear"
    assert "recording: CPU" in taut.explain(plan, task="recording")
    assert taut.explain(plan, channel="samples") and taut.explain(plan, chain=manifest.chains[0])
    assert taut.explain("TAUT0201").startswith("# TAUT0201")
    tasks = manifest.task_set()
    run = taut.simulate(tasks, "1s", events=False)
    bounds = {each.name: each.response for each in plan.tasks}
    assert all((bounds[each.name] or 0) >= each.response_max for each in run.tasks)


def test_what_is_not_proven_is_told(root: Path) -> None:
    text = (root / "apps/cochlear/taut.toml").read_text(encoding="utf-8")
    overlay = '[tasks.recording]\nwcet = { value = "1950us", source = "guess", margin = "0%" }\n'
    manifest = taut.Manifest.parse(text, [overlay])
    plan = taut.plan(manifest)
    assert not plan and plan.task("recording").response is None
    with pytest.raises(taut.ManifestError) as caught:
        taut.check(manifest)
    assert any(d.code.startswith("TAUT02") for d in caught.value.diagnostics)
    assert any(s.file == "overlay-1.toml" for d in caught.value.diagnostics for s in (d.primary, *d.secondary))


def test_names_and_codes_that_there_are_not(root: Path) -> None:
    plan = taut.plan(root / "apps/cochlear")
    with pytest.raises(KeyError, match="TAUT9999"):
        taut.explain("TAUT9999")
    with pytest.raises(KeyError, match="no task"):
        taut.explain(plan, task="nobody")
    for wrong in ({}, {"task": "recording", "chain": "x"}):
        with pytest.raises(ValueError, match="one"):
            taut.explain(plan, **wrong)  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        plan.task("nobody")


def test_files_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        taut.Manifest.read(tmp_path)
    file = tmp_path / "taut.toml"
    file.write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        taut.Manifest.read(file)


CHEDDAR = """<?xml version="1.0"?>
<taskset>
 <task id="0" period="10000" wcet="1000" deadline="10000" partition="0" priority="1"/>
 <task id="1" period="20000" wcet="2000" deadline="20000" partition="1" priority="2"/>
</taskset>"""


def test_other_tools(root: Path) -> None:
    imported = taut.exchange.parse(CHEDDAR)
    assert imported.source == "schedcat" and len(imported.task_set()) == 2
    assert any("unit" in lost.what for lost in imported.lost)
    slower = taut.exchange.parse(CHEDDAR, unit="1ms").task_set()
    assert slower.tasks[0].period == 1000 * imported.task_set().tasks[0].period
    with pytest.raises(taut.ImportFailed, match="none of the formats"):
        taut.exchange.parse("hello")
    with pytest.raises(taut.ImportFailed):
        taut.exchange.parse(CHEDDAR, "mast")
    for wrong in ({"source": "excel"}, {"unit": 0}):
        with pytest.raises(ValueError):
            taut.exchange.parse(CHEDDAR, **wrong)  # type: ignore[arg-type]
    manifest = taut.Manifest.read(root / "apps/cochlear")
    for target in ("mast", "simso", "rt-app", "cheddar"):
        text, lost = taut.exchange.export(manifest, target)  # type: ignore[arg-type]
        assert "recording" in text and lost
    again = taut.exchange.parse(taut.exchange.export(manifest, "mast")[0])
    assert again.source == "mast" and {"recording", "processing"} <= {t.name for t in again.task_set()}
