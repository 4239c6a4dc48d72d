"""A folder with SDK headers, and short ways to write items and to ask about them.

`headers/` holds small parts of the vendors' headers; each test gets a copy that it may change.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fl_gen.schema.location import Location
from fl_gen.sdk.items import Form, ProbeItem, ProbeReport, Verdict
from fl_gen.sdk.probe import probe
from fl_gen.sdk.shims import minimal

Params = Sequence[tuple[str, str]]
YAML = "vendor.yaml"


def item(
    id_: str,
    code: str,
    form: Form = "expr",
    returns: str = "cnrtRet_t",
    params: Params = (),
    helpers: Sequence[str] = (),
    *,
    line: int = 1,
    group: str = "",
    provides: str = "",
    strict: bool = False,
) -> ProbeItem:
    """An item whose code stands in `vendor.yaml` from `line`, column 11 on."""

    def locate(offset: int) -> Location:
        before = code[:offset]
        down = before.count("\n")
        column = len(before) - (before.rfind("\n") + 1)
        return Location(YAML, line + down, column + (1 if down else 11))

    return ProbeItem(
        id_,
        returns,
        tuple(params),
        code,
        form,
        tuple(helpers),
        Location(YAML, line, 11),
        locate,
        group,
        provides,
        strict,
    )


@pytest.fixture(name="item")
def _item() -> Callable[..., ProbeItem]:
    """Writes an item."""
    return item


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    """An include folder with CNRT, CNNL, CNCL, MACA and ACL headers."""
    root = tmp_path / "include"
    shutil.copytree(Path(__file__).parent / "headers", root)
    return root


@pytest.fixture
def ask(sdk: Path) -> Callable[..., ProbeReport]:
    """Probe items against CNRT, CNNL and CNCL with the headers in memory, which are the same on every machine."""

    def run(*items: ProbeItem, headers: Sequence[str] = ("cnrt.h", "cnnl.h", "cncl.h")) -> ProbeReport:
        return probe(items, headers, [sdk], minimal())

    return run


@pytest.fixture
def judge_one(ask: Callable[..., ProbeReport]) -> Callable[..., Verdict]:
    """The verdict on one item, probed alone."""

    def run(code: str, form: Form = "expr", returns: str = "cnrtRet_t", params: Params = (), **more: object) -> Verdict:
        headers = more.pop("headers", ("cnrt.h", "cnnl.h", "cncl.h"))
        verdict: Verdict = ask(item("x", code, form, returns, params, **more), headers=headers).verdicts["x"]  # type: ignore[arg-type]
        return verdict

    return run
