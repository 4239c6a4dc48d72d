"""Drafts are as good as they are meant to be: measured against the shipped vendor files, from headers alone.

Simulated headers of every vendor are always measured; those that vendors ship when tools/real_headers.py has fetched them.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir
from fl_gen.tasks import draft_words

from .building import ROOT, Variant, sim_sdk, succeed, tool
from .command import fl_gen

SIMULATED = [name for name in Catalog().vendors() if Catalog().api_path(name) is not None]
# Searching all of CUDA's headers takes long: in CI they are those of HIP, in the long campaigns every release.
CUDA = ("cuda-11.8", "cuda-12.1", "cuda-12.9", "cuda-13.5") if os.environ.get("FL_GEN_TORTURE") else ()
REAL = [("dcu", "hip-5.2"), *(("nvidia", release) for release in CUDA)]
OTHER_RELEASES = [("mlu", "6.0"), ("mlu", "4")]


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """benchmarks/draft.py, which is no part of the package."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import draft

    return draft


def reached(measure: ModuleType, name: str, vendor: str, roots: tuple[str, ...]) -> None:
    score = measure.measure(name, vendor, roots)
    first, three = measure.AIMS[score.shape]
    wrong = "\n".join(f"{operation}: {wanted}, proposed {told}" for operation, wanted, told in score.wrong)
    assert score.operations >= 15, "too few to measure anything"
    assert score.share_first >= first, wrong
    assert score.share_three >= three, wrong


@pytest.mark.parametrize(("vendor", "version"), [*((name, "") for name in SIMULATED), *OTHER_RELEASES])
def test_drafts_from_simulated_headers_reach_their_aims(
    measure: ModuleType, vendor: str, version: str, tmp_path: Path
) -> None:
    reached(measure, f"{vendor} {version}", vendor, measure.simulated(vendor, version, tmp_path))


@pytest.mark.parametrize(("vendor", "release"), REAL)
def test_drafts_from_real_headers_reach_their_aims(measure: ModuleType, vendor: str, release: str) -> None:
    roots = measure.real(release)
    if roots is None:
        pytest.skip(f"python tools/real_headers.py {release} fetches these headers")
    reached(measure, release, vendor, roots)


def test_the_shape_of_every_vendor_has_an_aim(measure: ModuleType) -> None:
    assert set(measure.SHAPES) <= set(SIMULATED)
    assert set(measure.SHAPES.values()) <= set(measure.AIMS)


def test_no_name_of_a_vendor_is_in_the_code_or_in_the_vocabulary() -> None:
    """What drafts know is words of the field. Only the traditions of `--like` are called after those who began them."""
    catalog = Catalog()
    names = {str(group.name) for vendor in catalog.vendors() for group in catalog.vendor(vendor).groups.values()}
    names |= {library for v in catalog.vendors() for g in catalog.vendor(v).groups.values() for library in g.libraries}
    names |= set(catalog.vendors())
    vocabulary = (data_dir() / "schemas" / "vocabulary.yaml").read_text(encoding="utf-8")
    head, _, rest = vocabulary.partition("\ntraditions:\n")
    texts = {"vocabulary.yaml": head + rest.partition("\n\n")[2]}
    folder = Path(draft_words.__file__).parent
    texts |= {
        path.name: re.sub(r'""".*?"""|#.*', "", path.read_text(), flags=re.DOTALL) for path in folder.glob("draft*.py")
    }
    for file, text in texts.items():
        words = set(re.findall(r"[a-z][a-z0-9]+", re.sub(r"#.*", "", text).lower()))
        assert not names & words, f"{file} knows {sorted(names & words)}"


def test_a_draft_becomes_a_backend(tmp_path: Path) -> None:
    """From a simulated SDK as it is installed, libraries and all, to generated calls that a compiler takes."""
    sdk = sim_sdk(Variant("maca"))
    told = call(tmp_path, "vendor", "new", "newco", "--sdk", str(sdk))
    assert "runtime  mc*: mcr/mc_runtime_api.h; library mcruntime; mcError_t, mcSuccess is success" in told
    assert "refused" not in told
    checked = " ".join(call(tmp_path, "sdk", "check", "newco", "--schemas", "schemas", "--sdk", str(sdk)).split())
    assert "60 of 63 operations bound" in checked
    assert "nothing required is lost" in checked
    call(tmp_path, "backend", "newco", "--schemas", "schemas", "--sdk", str(sdk))
    source = tmp_path / "generated" / "newco" / "src"
    calls = (source / "runtime" / "newco_sdk.h").read_text(encoding="utf-8")
    assert "mcDeviceGetDefaultMemPool(&handle, device)" in calls
    unit = tmp_path / "unit.cc"
    unit.write_text('#include "runtime/newco_sdk.h"\n', encoding="utf-8")
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DUSE_MCCL=1", f"-I{sdk}/include"]
    succeed([tool("g++"), *flags, f"-I{source}", unit])


@pytest.mark.skipif(not os.environ.get("FL_GEN_TORTURE"), reason="a minute for each vendor: a long campaign")
@pytest.mark.parametrize("vendor", SIMULATED)
def test_every_draft_becomes_a_verified_tree(measure: ModuleType, vendor: str, tmp_path: Path) -> None:
    roots = measure.simulated(vendor, "", tmp_path / "sdk")
    call(tmp_path, "vendor", "new", "newco", "--sdk", *roots)
    command = [sys.executable, "-m", "fl_gen", "backend", "newco", "--schemas", "schemas", "--sdk", *roots, "--verify"]
    made = succeed(command, cwd=tmp_path)
    assert re.search(r"verified \d+ C\+\+ files against the SDK", made)


def call(folder: Path, *arguments: str) -> str:
    result = fl_gen(*arguments, cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
