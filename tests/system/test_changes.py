"""A change of a schema or of the SDK changes the files that it must, and no other: exact lists, by overlays of the schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fl_gen.workflow.generate import prepare
from fl_gen.workflow.request import Request

from .building import CACHE, ROOT, tool
from .command import fl_gen

SIGMOID = "frameworks/infinitrain/ops/sigmoid.yaml"
MLU = "vendors/mlu/vendor.yaml"
MLU_API = "vendors/mlu/api.yaml"
SQUARE = """\
  - name: SquareForward
    doc: input * input.
    returns: "std::shared_ptr<Tensor>"
    params:
      - {name: input, type: "const std::shared_ptr<Tensor> &"}
    strategy: fallback
    cpu: framework
    dtypes: [float32, bfloat16, float16]
    output_dtype: same(input)
    source: "an example"

"""


def _files(vendor: str = "mlu", sdk: str = "sim", schema_dirs: tuple[Path, ...] = ()) -> Mapping[str, str]:
    """Every file of a run, once-files under backends/; without the manifest, which changes with every input."""
    tool("clang-format")
    prepared = prepare(Request(vendor=vendor, sdk=(sdk,), output=ROOT, cache=CACHE, schema_dirs=schema_dirs))
    files = {**prepared.files, **{f"backends/{path}": text for path, text in prepared.once.items()}}
    assert files.pop("manifest.json")
    return files


def _edited(folder: Path, edits: Sequence[tuple[str, str, str]]) -> Path:
    """An overlay of the schemas: copies of the files with each (file, before, after) done; `before` stands once."""
    for name, before, after in edits:
        copy = folder / name
        text = (copy if copy.exists() else ROOT / "schemas" / name).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{name}: {before!r} stands {text.count(before)} times"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text.replace(before, after), encoding="utf-8")
    return folder


def _difference(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return sorted(path for path in {*old, *new} if old.get(path) != new.get(path))


CHANGES: dict[str, tuple[list[tuple[str, str, str]], list[str]]] = {
    "the_signature_of_an_op": (
        [
            (
                SIGMOID,
                '- {name: output, type: "const std::shared_ptr<Tensor> &"}',
                '- {name: output, type: "std::shared_ptr<Tensor>"}',
            )
        ],
        ["src/kernels/fallback/sigmoid.cc", "src/kernels/kernels.h"],
    ),
    "a_new_op": (
        [(SIGMOID, "ops:\n", f"ops:\n{SQUARE}")],
        [
            "src/kernels/fallback/sigmoid.cc",
            "src/kernels/kernels.h",
            "src/kernels/op_table.cc",
            "src/kernels/op_table.h",
            "src/kernels/register_kernels.cc",
            "tests/test_ops_elementwise.cc",
        ],
    ),
    "a_dtype_more": (
        [
            (
                SIGMOID,
                "    dtypes: [float32, bfloat16, float16]\n    output_dtype: same(input)",
                "    dtypes: [float32, bfloat16, float16, float64]\n    output_dtype: same(input)",
            )
        ],
        ["src/kernels/op_table.cc", "tests/test_ops_elementwise.cc"],
    ),
    "a_dtype_of_the_collectives_less": (
        [(MLU, "uint16: [cnclUint16]", "uint16: []")],
        ["src/ccl/cncl_average.cc", "src/ccl/cncl_impl.cc", "tests/cncl_test_util.h"],
    ),
    "a_renamed_function_of_the_runtime": (
        [(MLU, "cnrtQueueSync(", "cnrtQueueSynchronize("), (MLU_API, "cnrtQueueSync(", "cnrtQueueSynchronize(")],
        [
            "selftest/library_checks.cc",
            "selftest/objects.h",
            "src/runtime/mlu_runtime_common.cc",
            "tests/test_runtime.cc",
        ],
    ),
    "a_renamed_function_of_the_collectives": (
        [(MLU, "cnclAllGather(", "cnclGatherAll("), (MLU_API, "cnclAllGather(", "cnclGatherAll(")],
        ["selftest/cncl_checks.cc", "src/ccl/cncl_impl.cc", "tests/test_cncl.cc"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_only_these_files_change(name: str, tmp_path: Path) -> None:
    edits, expected = CHANGES[name]
    assert _difference(_files(), _files(schema_dirs=(_edited(tmp_path, edits),))) == expected


def test_an_edit_of_one_vendor_leaves_the_other_alone(tmp_path: Path) -> None:
    folder = _edited(tmp_path, [(MLU, "title: Cambricon MLU", "title: Cambricon")])
    assert _difference(_files("maca"), _files("maca", schema_dirs=(folder,))) == []
    assert _difference(_files("mlu"), _files("mlu", schema_dirs=(folder,))) != []


# --- what the SDK can do decides what is emitted ------------------------------------------------------------------------


def _body(text: str, head: str) -> str:
    """The definition that begins with `head`, to its closing brace."""
    start = text.index(head)
    return text[start : text.index("\n}\n", start) + 3]


def test_asynchronous_allocation_is_used_where_the_sdk_has_it() -> None:
    guard = "src/runtime/mlu_guard_impl.cc"
    head = "void MluGuardImpl::MallocAsync("
    new, old = _body(_files()[guard], head), _body(_files(sdk="sim:6.0")[guard], head)
    assert "MLU_CHECK(cnrtMemAllocAsync(dev_ptr, size, given.handle()));" in new
    assert "cnrtMemAllocAsync" not in old
    assert "*dev_ptr = Allocate(size); // this SDK allocates synchronously only" in old
    head = "void MluGuardImpl::FreeAsync("
    new, old = _body(_files()[guard], head), _body(_files(sdk="sim:6.0")[guard], head)
    assert "cnrtMemFreeAsync(dev_ptr, last_user.handle())" in new
    assert old.index("last_user.Synchronize();") < old.index("MLU_CHECK(cnrtFree(dev_ptr));")


def test_the_report_says_which_strategy_and_why(tmp_path: Path) -> None:
    new = fl_gen("backend", "mlu", "--sdk", "sim:6.14", "-o", "new", cwd=tmp_path)
    old = fl_gen("backend", "mlu", "--sdk", "sim:6.0", "-o", "old", cwd=tmp_path)
    assert new.returncode == old.returncode == 0, new.stderr + old.stderr
    assert "SDK      simulated Neuware 6.14.1 (a test double)" in new.stdout
    assert "SDK      simulated Neuware 6.0.2 (a test double)" in old.stdout
    assert "memory.alloc_async" not in new.stdout
    lines = old.stdout.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("         memory.alloc_async: strategy "))
    assert "cnrtMemAllocAsync" in lines[at + 1]
    vendor = (ROOT / "schemas" / MLU).read_text(encoding="utf-8").splitlines()
    place = next(number for number, line in enumerate(vendor, 1) if "cnrtMemAllocAsync(ptr" in line)
    assert f"schemas/{MLU}:{place}:" in lines[at + 1]
