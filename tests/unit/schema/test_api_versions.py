"""Versions of a simulated SDK that leave out a library."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir

API = data_dir() / "schemas" / "vendors" / "mlu" / "api.yaml"


@pytest.mark.parametrize("vendor", Catalog().vendors())
def test_shipped_ones_leave_out_none(vendor: str) -> None:
    assert Catalog().check(vendor) == ()


def test_a_library_without_its_version_is_told_at_the_version(tmp_path: Path) -> None:
    text = API.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.lstrip().startswith("libraries: {") and "cnnl:" in line)
    own = tmp_path / "vendors" / "mlu" / "api.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(text.replace(line, line.replace("cnnl:", "cnnl_extra:"), 1), encoding="utf-8")
    number = text.splitlines().index(line) + 1
    found = [one.render().splitlines()[0] for one in Catalog([tmp_path]).check("mlu")]
    assert any(
        f"vendors/mlu/api.yaml:{number}:" in one and one.endswith("does not say which version of cnnl it holds")
        for one in found
    ), found
