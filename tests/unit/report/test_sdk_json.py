"""The JSON of an SDK check: it keeps to its published schema, and values come back from it as they were."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema
import pytest

from fl_gen.report.schemas import REPORT_KINDS, report_schema_text
from fl_gen.report.sdk_json import read_report, report_json
from fl_gen.schema.errors import Diagnostic, Related
from fl_gen.schema.location import Location
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.codec import from_json, json_schema, to_json
from fl_gen.tasks.sdk_values import CheckReport, SdkCheck
from unit.report.conftest import hostile, report_of, stopped

Check = Callable[..., SdkCheck]
SCHEMA = json.loads((data_dir() / "schemas" / "jsonschema" / "sdk-check.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.mark.parametrize("kind", REPORT_KINDS)
def test_the_published_schema_is_current(kind: str) -> None:
    path = data_dir() / "schemas" / "jsonschema" / f"{kind}.json"
    jsonschema.Draft202012Validator.check_schema(json.loads(report_schema_text(kind)))
    assert path.read_text(encoding="utf-8") == report_schema_text(kind), (
        f"run: fl-gen schema export --out {path.parent}"
    )


@pytest.mark.parametrize("target", ["mlu@sim:6.14", "mlu@sim:6.0", "mlu@sim:4.3", "maca@sim"])
def test_every_report_keeps_to_the_schema_and_comes_back(check: Check, target: str) -> None:
    report = report_of(check(target))
    text = report_json(report)
    VALIDATOR.validate(json.loads(text))
    assert read_report(text) == report
    found = check(target)
    assert SdkCheck.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_what_is_lost_what_stopped_and_what_is_hostile(check: Check, lossy: Path) -> None:
    lost = report_of(check("mlu@sim:6.14", lossy))
    at = Location("cnrt.h", 3, 4, via=Location("v.yaml", 1, 2))
    none = stopped("broken\n  = repair", Diagnostic(at, "no", related=(Related(Location("other.h", 9), "from here"),)))
    bytes_of_a_path = replace(hostile(check("mlu@sim:6.0")), title="\udcff")
    for report in (lost, none, report_of(bytes_of_a_path)):
        text = report_json(report)
        text.encode("utf-8")
        VALIDATOR.validate(json.loads(text))
        assert read_report(text) == report
    assert json.loads(report_json(lost))["exit_code"] == 1
    assert json.loads(report_json(none))["results"][0]["check"] is None
    # `via` counts for nothing in a comparison, so it is looked at by itself.
    (result,) = read_report(report_json(none)).results
    assert result.no_verdict is not None
    assert result.no_verdict.diagnostics[0].location.via == Location("v.yaml", 1, 2)


def test_what_the_schema_refuses_the_reader_refuses(check: Check) -> None:
    document = json.loads(report_json(report_of(check("mlu@sim:4.3"))))
    inside = ("results", 0, "check")

    def changed(*path: Any, value: Any) -> Any:
        whole = copy.deepcopy(document)
        node = whole
        for step in path[:-1]:
            node = node[step]
        if value is KeyError:
            del node[path[-1]]
        else:
            node[path[-1]] = value
        return whole

    faults = [
        changed("format", value=2),
        changed("exit_code", value=True),
        changed("exit_code", value="0"),
        changed("results", value={}),
        changed("results", 0, "check", value=[]),
        changed("extra", value=1),
        changed(*inside, "vendor", value=KeyError),
        changed(*inside, "operations", 0, "state", value="fine"),
        changed(*inside, "sdk", "libraries", value={"cnrt": 1}),
        changed(*inside, "sdk", "libraries", value=[]),
        changed(*inside, "coverage", "percent", value="all"),
        changed(*inside, "operations", 0, "location", "line", value=None),
    ]
    for fault in faults:
        assert not VALIDATOR.is_valid(fault)
        with pytest.raises(ValueError, match=r"^\$"):
            from_json(CheckReport, fault)
    # JSON does not tell 50 from 50.0.
    whole = changed(*inside, "coverage", "percent", value=50)
    VALIDATOR.validate(whole)
    (result,) = from_json(CheckReport, whole).results
    assert result.check is not None
    assert isinstance(result.check.coverage.percent, float)


@dataclass(frozen=True)
class Sample:
    """A class with each kind of annotation."""

    name: Annotated[str, "what it is called"]
    parts: tuple[Sample, ...] = ()
    sizes: Mapping[str, int | None] | None = None
    kind: Literal["a", "b"] = "a"


def test_the_codec_by_itself() -> None:
    value = Sample("x", (Sample("y", kind="b"),), {"n": None, "m": 3})
    assert from_json(Sample, to_json(value)) == value
    schema = json_schema(Sample, "a sample")
    jsonschema.Draft202012Validator(schema).validate(to_json(value))
    assert schema["$defs"]["Sample"]["properties"]["name"] == {"type": "string", "description": "what it is called"}
    with pytest.raises(ValueError, match=r"^\$\.parts\[0\]\.kind: not one of a, b$"):
        from_json(Sample, to_json(replace(value, parts=(Sample("y", kind="c"),))))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^\$\.sizes\.m: not integer$"):
        from_json(Sample, to_json(replace(value, sizes={"m": 1.5})))  # type: ignore[dict-item]
