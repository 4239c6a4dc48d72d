"""Checks of simulated SDKs, made once, and ways to make one that says anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from fl_gen.schema.errors import Diagnostic
from fl_gen.schema.location import Location
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.sdk_check import check_sdk
from fl_gen.tasks.sdk_targets import check_target, parse_target
from fl_gen.tasks.sdk_values import CheckReport, NoVerdict, OperationCheck, Rejected, SdkCheck, TargetResult
from fl_gen.workflow.request import Request

ROOT = Path(__file__).resolve().parents[3]
HOSTILE = '<script>alert("1")</script> | `tick` ``two`` & *star* _under_ [link](x) @user #12 \\ \x1b[31m \u202e 漢字'


@lru_cache(maxsize=16)
def checked(target: str, overlay: Path | None = None) -> SdkCheck:
    """The check of a simulated SDK, `VENDOR@sim:VERSION`, with schemas laid over."""
    return check_sdk(parse_target(target, Request("", schema_dirs=(overlay,) if overlay else ())))


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Callable[..., SdkCheck]:
    """`checked` in the root of the repository, so that paths read the same everywhere."""
    monkeypatch.chdir(ROOT)
    return checked


@pytest.fixture(scope="session")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Schemas in which mlu has lost a required operation, a success code and the only candidate of an optional one."""
    folder = tmp_path_factory.mktemp("schemas")
    text = (data_dir() / "schemas" / "vendors" / "mlu" / "vendor.yaml").read_text(encoding="utf-8")
    for old, new in (
        ("cnrtGetDeviceCount(&value)", "cnrtGetDeviceCoun(&value)"),
        ("success: [CNNL_STATUS_SUCCESS]", "success: [CNNL_STATUS_SUCCES]"),
        ('expr: "cnclAbortComm(comm)"', 'expr: "cnclAbortCom(comm)"'),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "vendors" / "mlu").mkdir(parents=True)
    (folder / "vendors" / "mlu" / "vendor.yaml").write_text(text, encoding="utf-8")
    return folder


def report_of(*checks: SdkCheck) -> CheckReport:
    """A report over checks."""
    results = tuple(TargetResult(one.target, one.vendor, one.exit_code, one, None) for one in checks)
    return CheckReport(1, "fl-gen 1.2.3", max(result.exit_code for result in results), results)


def stopped(text: str = "nothing is there", *diagnostics: Diagnostic) -> CheckReport:
    """A report of one target without a verdict."""
    return CheckReport(1, "fl-gen 1.2.3", 2, (TargetResult("mlu@x", "mlu", 2, None, NoVerdict(text, diagnostics)),))


def hostile(check: SdkCheck) -> SdkCheck:
    """The check with hostile text in every place where a file or a person may put some."""
    place = Location(f"a/{HOSTILE}.yaml", 3, 7)
    said = Diagnostic(place, HOSTILE, f"{HOSTILE}\nsecond line", length=4)

    def spoil(one: OperationCheck) -> OperationCheck:
        rejected = tuple(Rejected(n, f"{HOSTILE}\n{HOSTILE}", place, (said,)) for n in range(2))
        chosen = one.chosen and replace(
            one.chosen, code=HOSTILE, source=HOSTILE, note=HOSTILE, deprecated=HOSTILE, certainty="inferred",
            declarations=tuple(replace(use, name="x", header=HOSTILE, signature=HOSTILE) for use in one.chosen.declarations),
        )  # fmt: skip
        strategy = one.strategy and replace(one.strategy, doc=HOSTILE)
        return replace(one, doc=HOSTILE, chosen=chosen, rejected=rejected, strategy=strategy)

    return replace(
        check,
        target=HOSTILE,
        title=HOSTILE,
        schema_file=HOSTILE,
        sdk=replace(check.sdk, title=HOSTILE, roots=(HOSTILE, "b"), libraries={HOSTILE: None}, simulated=False),
        groups=tuple(replace(group, title=HOSTILE, libraries=(HOSTILE,)) for group in check.groups),
        operations=tuple(map(spoil, check.operations)),
        lost=(said,),
    )


__all__ = ["HOSTILE", "ROOT", "check_target", "checked", "hostile", "report_of", "stopped"]
