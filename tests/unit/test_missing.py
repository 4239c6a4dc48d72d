"""What a backend becomes when an SDK lacks one thing, for every single thing: it is generated, or stops at a line.

The headers are read once. An SDK without a thing is that answer with the thing's candidates refused; only for types the
compiler is asked again, since what depends on a type fails with it. All of them when FL_GEN_TORTURE is set, else a third.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from fl_gen.render.infinitrain import Rendered, render_infinitrain
from fl_gen.resolve.backend import resolve
from fl_gen.resolve.bindings import probe_items
from fl_gen.resolve.model import Backend
from fl_gen.schema.catalog import Catalog, Schemas
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.items import ProbeItem, ProbeReport, Verdict
from fl_gen.sdk.probe import probe
from fl_gen.workflow.request import Request
from fl_gen.workflow.sdks import FoundSdk, find_sdk_of

VENDOR = "maca"


@lru_cache(maxsize=1)
def sound() -> tuple[Schemas, FoundSdk, tuple[ProbeItem, ...], ProbeReport]:
    """Schemas, simulated SDK, questions and answers of a vendor that lacks nothing."""
    catalog = Catalog(())
    schemas = catalog.load(VENDOR, "infinitrain")
    sdk = find_sdk_of(Request(VENDOR, sdk=("sim",)), schemas.vendor, catalog)
    items = tuple(probe_items(schemas.runtime, schemas.vendor, sdk.groups))
    return schemas, sdk, items, ask(items)


def ask(items: Sequence[ProbeItem]) -> ProbeReport:
    catalog = Catalog(())
    vendor = catalog.load(VENDOR, "infinitrain").vendor
    sdk = find_sdk_of(Request(VENDOR, sdk=("sim",)), vendor, catalog)
    return probe(items, sdk.headers(vendor), sdk.include_dirs, memory=sdk.memory)


def things() -> list[str]:
    """Everything that the vendor names, as groups of alternatives: types, status codes, constants, operations."""
    _, _, items, report = sound()
    names = dict.fromkeys(item.choice for item in items if item.form != "helper")
    return [name for name in names if any(report.verdicts[item.id].ok for item in items if item.choice == name)]


def refused(item: ProbeItem) -> Verdict:
    message = f"clang: use of undeclared identifier '{item.code}'"
    return Verdict(False, (Diagnostic(item.location, message, rule="sdk-mismatch"),))


def without(*lacking: str) -> ProbeReport:
    """What the compiler says of an SDK without these things."""
    _, _, items, report = sound()
    if any(name.startswith("type:") for name in lacking):
        report = ask([replace(one, code=f"no_{one.code}") if one.choice in lacking else one for one in items])
    gone = {item.id: refused(item) for item in items if item.choice in lacking and report.verdicts[item.id].ok}
    return replace(
        report,
        verdicts={**report.verdicts, **gone},
        chosen={**report.chosen, **dict.fromkeys(lacking)},
    )


def backend_without(*lacking: str) -> Backend:
    schemas, sdk, _, _ = sound()
    report = without(*lacking)
    return resolve(schemas, sdk.groups, sdk.version, sdk.simulated, (), lambda items: report)[0]


def rendered(backend: Backend, cache: Path) -> Rendered:
    return render_infinitrain(backend, (data_dir() / "templates",), cache)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


# The first things that the compiler refuses stand for all in a quick run; the ones that once broke are always tried.
ALWAYS = (
    "type:stream", "type:blas_handle", "op:blas.create", "op:blas.set_stream", "constant:memcpy_kind:h2d",
    "constant:memcpy_kind:d2h", "constant:memcpy_kind:d2d", "constant:ccl_dtype:float32", "constant:ccl_op:sum",
    "constant:ccl_op:min", "constant:ccl_op:max", "constant:blas_dtype:float32", "constant:gemm_transpose:none",
)  # fmt: skip


def chosen_things() -> list[str]:
    """All of them in a torture run, else every third and those that once broke."""
    names = things()
    return names if os.environ.get("FL_GEN_TORTURE") else list(dict.fromkeys([*ALWAYS, *names[::3]]))


def test_a_backend_without_one_thing_is_made_or_stops_at_a_line(compiled: Path) -> None:
    made, stopped = [], []
    for name in chosen_things():
        try:
            tree = rendered(backend_without(name), compiled).generated
        except SchemaError as error:
            for diagnostic in error.diagnostics:
                assert diagnostic.location.file.endswith("vendors/maca/vendor.yaml"), name
                assert diagnostic.location.line > 1, name
                assert diagnostic.rule == "sdk-required", name
            stopped.append(name)
        else:
            lines = [(path, line) for path, text in tree.items() for line in text.splitlines()]
            odd = [one for one in lines if re.search(r"\bNone\b|Undefined", one[1])]
            assert odd == [], name
            made.append(name)
    assert len(made) > 15
    assert len(stopped) > 8


def problems(*lacking: str) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        backend_without(*lacking)
    return [f"{one.location.line}: {one.message}\n{one.hint}" for one in caught.value.diagnostics]


def line_of(text: str) -> int:
    lines = (data_dir() / "schemas" / "vendors" / VENDOR / "vendor.yaml").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize(
    ("value", "code"),
    [("h2d", "mcMemcpyHostToDevice"), ("d2h", "mcMemcpyDeviceToHost"), ("d2d", "mcMemcpyDeviceToDevice")],
)
def test_a_copy_direction_is_required_at_its_line(value: str, code: str) -> None:
    assert problems(f"constant:memcpy_kind:{value}") == [
        f"{line_of(code + ']')}: this SDK does not have the value memcpy_kind.{value} (tried {code}): "
        f"clang: use of undeclared identifier '{code}'\nadd this release's spelling to the vendor schema"
    ]


def test_a_lost_type_is_one_error_at_its_own_line_with_what_follows() -> None:
    assert problems("type:stream") == [
        f"{line_of('stream: [mcStream_t]')}: this SDK does not have the type stream (tried mcStream_t): "
        "clang: unknown type name 'no_mcStream_t'\n"
        "did you mean mcStream_t?\n"
        "without it there is no stream.create, stream.destroy, stream.synchronize, ccl.all_reduce, ccl.broadcast, "
        "ccl.reduce, ccl.all_gather, ccl.reduce_scatter, ccl.send, ccl.recv"
    ]


@pytest.mark.parametrize("lacking", ["type:blas_handle", "op:blas.create", "op:blas.set_stream", "type:status:blas"])
def test_a_library_without_a_usable_handle_is_left_out(lacking: str, compiled: Path) -> None:
    backend = backend_without(lacking)
    assert backend.sdk.groups == ("runtime", "ccl")
    assert backend.sdk.missing_groups == ("blas",)
    assert not {"blas_handle", "blas_dtype", "gemm_transpose"} & backend.types.keys()
    assert "blas" not in backend.statuses
    assert {str(op.strategy) for op in backend.ops} <= {"fallback", "host", "native"}
    assert not any("kernels/library" in path for path in rendered(backend, compiled).generated)


def test_a_library_that_was_asked_for_stops_the_run() -> None:
    schemas, sdk, _, _ = sound()
    report = without("op:blas.create")
    with pytest.raises(SchemaError, match="this SDK refuses the binding of blas.create: clang: use of undeclared"):
        resolve(schemas, sdk.groups, sdk.version, sdk.simulated, (), lambda items: report, wanted=("blas",))


def test_products_need_both_transpositions() -> None:
    backend = backend_without("constant:gemm_transpose:transpose")
    assert backend.has_group("blas")
    for name in ("library.gemm", "library.gemm_strided_batched"):
        choice = backend.choice(name)
        assert choice.candidate is None
        assert [one.message.partition(" (")[0] for one in choice.rejected[0].diagnostics] == [
            "this SDK does not have the value gemm_transpose.transpose"
        ]


def test_the_self_test_skips_what_it_cannot_compare(compiled: Path) -> None:
    def checks(*lacking: str) -> list[str]:
        text = rendered(backend_without(*lacking), compiled).generated["selftest/mccl_checks.cc"]
        return re.findall(r'\{"collectives\.(\w+)", NothingToCompare\}', text)

    assert checks("constant:ccl_dtype:float32") == [
        "all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "send_recv"
    ]  # fmt: skip
    assert checks("constant:ccl_op:sum") == ["reduce_scatter"]
    assert checks("constant:ccl_op:min") == ["reduce"]
    assert checks("constant:ccl_op:max") == []
    assert checks("constant:ccl_op:max", "constant:ccl_op:sum") == ["all_reduce", "reduce_scatter"]
    assert checks("constant:ccl_dtype:int8") == []


@pytest.mark.parametrize("lacking", ["ccl_dtype:float32", "ccl_op:sum", "ccl_op:min", "ccl_op:max"])
def test_tests_of_values_that_are_not_there_are_not_made(lacking: str, compiled: Path) -> None:
    def listed(tree: Iterable[str]) -> set[str]:
        return {path for path in tree if path.startswith("tests/test_mccl")}

    whole = rendered(backend_without(), compiled).generated
    part = rendered(backend_without(f"constant:{lacking}"), compiled).generated
    assert listed(whole) == {"tests/test_mccl.cc", "tests/test_mccl_process.cc"}
    assert listed(part) == set()
    assert "test_mccl" in whole["tests/CMakeLists.txt"]
    assert "test_mccl" not in part["tests/CMakeLists.txt"]
