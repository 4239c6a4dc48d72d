"""The SARIF of an SDK check: what the standard's own validator says of it, and where its results point."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from fl_gen.report.sarif import RULES, report_sarif
from fl_gen.schema.errors import Diagnostic, Related
from fl_gen.schema.location import Location
from fl_gen.tasks.sdk_values import CheckReport, SdkCheck
from system.building import BUILD, lock, missing
from unit.report.conftest import ROOT, hostile, report_of, stopped

Check = Callable[..., SdkCheck]
PACKAGE, VERSION = "@microsoft/sarif-multitool-linux", "5.7.0"


@pytest.fixture(scope="session")
def multitool() -> Path:
    """The folder of the standard's validator, installed below build/test once."""
    npm = shutil.which("npm")
    if npm is None:
        missing("npm, for the validator of SARIF")
    root = BUILD / f"sarif-multitool-{VERSION}"
    package = root / "node_modules" / PACKAGE
    with lock("sarif-multitool"):
        if not (package / "Sarif.Multitool").is_file():
            root.mkdir(parents=True, exist_ok=True)
            (root / "package.json").write_text('{"private": true}\n', encoding="utf-8")
            install = [str(npm), "install", "--no-audit", "--no-fund", "--ignore-scripts", f"{PACKAGE}@{VERSION}"]
            done = subprocess.run(install, cwd=root, capture_output=True, text=True, check=False)
            if done.returncode:
                missing(f"{PACKAGE}, which npm does not install: {done.stderr[-300:]}")
        (package / "Sarif.Multitool").chmod(0o755)
    return package


@pytest.fixture
def reports(check: Check, lossy: Path) -> dict[str, CheckReport]:
    """Reports of every kind."""
    at = Location("/sdk/include/cnrt.h", 3, 4, via=Location("v.yaml", 1, 2))
    broken = Diagnostic(
        at, "no verdict on this SDK: clang: x", "repair", rule="sdk-header", related=(Related(at, "from"),)
    )
    real = check("mlu@sim:6.14")
    libraries: dict[str, str | None] = {"cnrt": "/sdk/lib64/libcnrt.so", "cnnl": None, "cncl": None}
    return {
        "good": report_of(check("mlu@sim:6.14"), check("mlu@sim:6.0"), check("mlu@sim:4.3"), check("maca@sim")),
        "lost": report_of(check("mlu@sim:6.14", lossy)),
        "real": report_of(replace(real, sdk=replace(real.sdk, simulated=False, libraries=libraries))),
        "hostile": report_of(hostile(check("mlu@sim:6.0"))),
        "broken": stopped("/sdk/include/cnrt.h:3:4: broken\n  = repair", broken),
        "nowhere": stopped("there is no SDK"),
    }


def results(log: str, rule: str = "") -> list[dict[str, Any]]:
    return [one for run in json.loads(log)["runs"] for one in run["results"] if rule in ("", one["ruleId"])]


def test_the_standards_validator_and_schema_take_every_report(
    reports: dict[str, CheckReport], multitool: Path, tmp_path: Path
) -> None:
    schema = json.loads((multitool / "sarif-2.1.0.json").read_text(encoding="utf-8-sig"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    for name, report in reports.items():
        log = report_sarif(report)
        validator.validate(json.loads(log))
        (tmp_path / f"{name}.sarif").write_text(log, encoding="utf-8")
    out = tmp_path / "out.json"
    program = [multitool / "Sarif.Multitool", "validate", *tmp_path.glob("*.sarif"), "--output", out]
    run = subprocess.run(
        [*map(str, program), "--log", "ForceOverwrite", "--level", "Error;Warning;Note"], capture_output=True, text=True,
        check=False, env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}, cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    said = [one for one in results(out.read_text(encoding="utf-8-sig")) if one.get("level", "warning") != "none"]
    # The project has no page of its own to name.
    other = [one for one in said if one["ruleId"] != "SARIF2005"]
    assert not [one for one in other if one.get("level") == "error"], other
    assert {one["ruleId"] for one in other if one.get("level", "warning") == "warning"} == set(), other
    # The validator is not blind: it finds a fault.
    document = json.loads(report_sarif(reports["lost"]))
    document["runs"][0]["results"][0]["ruleIndex"] = 99
    (tmp_path / "faulty.sarif").write_text(json.dumps(document), encoding="utf-8")
    fault = subprocess.run(
        [str(program[0]), "validate", str(tmp_path / "faulty.sarif")], capture_output=True, text=True,
        check=False, env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
    )  # fmt: skip
    assert fault.returncode != 0 or "error" in fault.stdout


def test_results_point_at_lines_of_yaml(reports: dict[str, CheckReport]) -> None:
    log = json.loads(report_sarif(reports["good"]))
    named = 0
    for run in log["runs"]:
        bases = {name: base["uri"] for name, base in run["originalUriBaseIds"].items()}
        assert bases["%SRCROOT%"] == f"{ROOT.as_uri()}/"
        for result in run["results"]:
            physical = result["locations"][0]["physicalLocation"]
            artifact, region = physical["artifactLocation"], physical["region"]
            assert not artifact["uri"].startswith(("/", "file:"))
            path = Path(unquote((bases[artifact["uriBaseId"]] + artifact["uri"]).removeprefix("file://")))
            line = path.read_text(encoding="utf-8").splitlines()[region["startLine"] - 1]
            assert region["snippet"]["text"] == line
            if result["ruleId"] == "sdk-strategy" and "relatedLocations" in result:
                text = line[region["startColumn"] - 1 : region["endColumn"] - 1]
                assert text == result["message"]["text"].partition(":")[0]
                named += 1
    assert named > 20
    one = next(one for one in results(report_sarif(reports["good"])) if "memory.alloc_async" in one["message"]["text"])
    assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "schemas/vendors/mlu/vendor.yaml"
    (related,) = one["relatedLocations"]
    assert "cnrtMemAllocAsync" in related["message"]["text"]


def test_files_outside_have_whole_uris(reports: dict[str, CheckReport], lossy: Path) -> None:
    one = results(report_sarif(reports["lost"]), "sdk-lost")[0]
    artifact = one["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": (lossy / "vendors" / "mlu" / "vendor.yaml").as_uri()}
    assert one["level"] == "error"


def test_levels_and_rules(reports: dict[str, CheckReport]) -> None:
    found = {(one["ruleId"], one["level"]) for report in reports.values() for one in results(report_sarif(report))}
    assert found == {
        ("sdk-lost", "error"),
        ("sdk-strategy", "note"),
        ("sdk-left-out", "note"),
        ("sdk-deprecated", "warning"),
        ("sdk-inferred", "note"),
        ("sdk-library", "warning"),
        ("sdk-group", "note"),
        ("sdk-header", "error"),
    }
    driver = json.loads(report_sarif(reports["nowhere"]))["runs"][0]["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in driver["rules"])
    assert (driver["name"], driver["version"]) == ("fl-gen", "1.2.3")


def test_no_verdict_is_a_failed_invocation(reports: dict[str, CheckReport]) -> None:
    (run,) = json.loads(report_sarif(reports["nowhere"]))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 2
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "there is no SDK"
    assert run["results"] == []
    (one,) = results(report_sarif(reports["broken"]))
    assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///sdk/include/cnrt.h"
    assert [other["message"]["text"] for other in one["relatedLocations"]] == ["from", "the base is extended here"]


def test_fingerprints_stay_when_lines_move(check: Check, lossy: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved" / "vendors" / "mlu"
    moved.mkdir(parents=True)
    text = (lossy / "vendors" / "mlu" / "vendor.yaml").read_text(encoding="utf-8")
    (moved / "vendor.yaml").write_text(text.replace("schema: 1\n", "# one\n# two\nschema: 1\n", 1), encoding="utf-8")

    def fingerprints(found: SdkCheck) -> list[str]:
        return [one["partialFingerprints"]["flGenFinding/v1"] for one in results(report_sarif(report_of(found)))]

    one, two = check("mlu@sim:6.14", lossy), check("mlu@sim:6.14", tmp_path / "moved")
    assert one.lost[0].location.line + 2 == two.lost[0].location.line
    assert fingerprints(one) == fingerprints(two)
    assert len(set(fingerprints(one))) == len(fingerprints(one))
