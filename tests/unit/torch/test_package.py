"""A whole package, rendered in memory: what is registered, what is left out, and what stops it."""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fl_gen.cli.main import main
from fl_gen.render.environment import TemplateError
from fl_gen.render.torch import registered_in, registrations
from fl_gen.render.torch_kernels import kernel_name
from fl_gen.schema.errors import FlGenError, SchemaError
from fl_gen.sdk.wheel import Wheel
from fl_gen.workflow.generate import Prepared, prepare
from fl_gen.workflow.request import Request
from fl_gen.workflow.torch_scaffold import scaffold_torch

pytestmark = pytest.mark.xdist_group("torch")  # which reads the wheel once


@pytest.fixture
def request_of(wheel: Wheel, cache: Path, tmp_path: Path) -> Request:
    return Request(
        vendor="mlu",
        framework="torch",
        sdk=("sim",),
        output=tmp_path / "out",
        cache=cache,
        torch=wheel.package,
        formatted=False,
    )


@pytest.fixture(scope="module")
def prepared(wheel: Wheel, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(
        Request(
            vendor="mlu",
            framework="torch",
            sdk=("sim",),
            output=tmp_path_factory.mktemp("out"),
            cache=cache,
            torch=wheel.package,
            formatted=False,
        )
    )


def sources(prepared: Prepared) -> dict[str, str]:
    return {path: text for path, text in prepared.files.items() if path.endswith(".cc")}


def test_the_package_has_its_parts(prepared: Prepared) -> None:
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    pyproject = tomllib.loads(prepared.files["pyproject.toml"])
    assert pyproject["project"]["entry-points"]["torch.backends"] == {"torch_mlu": "torch_mlu:_autoload"}
    assert pyproject["tool"]["scikit-build"]["wheel"]["packages"] == ["torch_mlu"]
    # Outside of the tree, for what a build leaves there is not fl-gen's; kept, so that the next one is fast.
    assert pyproject["tool"]["scikit-build"]["build-dir"] == "../../build/torch_mlu/{wheel_tag}"
    for path, text in prepared.files.items():
        if path.endswith(".py"):
            ast.parse(text, path)
    assert not [path for path in prepared.files if "native" in path]  # there is no hand-written kernel
    assert set(prepared.once) == {"kernels.yaml"}


def test_the_extra_installs_what_the_package_and_its_tests_import(prepared: Prepared) -> None:
    tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")
    extra = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    installed = {re.match(r"[\w-]+", requirement)[0] for requirement in extra["torch"]}  # type: ignore[index]
    own = {"torch_mlu", *(Path(path).stem for path in prepared.files if path.startswith("tests/"))}
    imported: set[str] = set()
    for path, text in prepared.files.items():
        for node in ast.walk(ast.parse(text, path)) if path.endswith(".py") else ():
            if isinstance(node, ast.Import):
                imported.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module.partition(".")[0])
    assert {"pytest", "torch"} <= imported
    assert imported - own - sys.stdlib_module_names - installed == set()


def test_the_manifest_records_pytorch(prepared: Prepared, wheel: Wheel) -> None:
    record = json.loads(prepared.files["manifest.json"])
    assert (record["framework"], record["vendor"]) == ("torch", "mlu")
    assert record["inputs"]["torch"] == wheel.release


def test_no_operator_is_registered_twice(prepared: Prepared) -> None:
    assert prepared.torch is not None
    found = {path: registered_in(path, text) for path, text in sources(prepared).items()}
    by_hand = set(registrations(found, prepared.torch.view))
    shards = {path: text for path, text in sources(prepared).items() if "register_fallback_" in path}
    boxed = [name for text in shards.values() for name in re.findall(r'^ +"([^"]+)",$', text, re.MULTILINE)]
    assert len(boxed) == len(set(boxed))
    assert by_hand.isdisjoint(boxed)
    assert all(len(re.findall(r'^ +"[^"]+",$', text, re.MULTILINE)) <= 100 for text in shards.values())
    known = {op.op.short: op.op for op in prepared.torch.view.ops}
    assert by_hand <= set(known)
    for name in boxed:
        assert known[name].cpu
        assert not known[name].view
    # Facts of a measured run: without these, training drifts from the CPU's by rounding.
    for name in ("native_layer_norm", "native_group_norm", "addr", "add.Tensor", "silu_backward"):
        assert name in boxed or name in by_hand


def test_two_registrations_of_one_operator_stop_the_run(request_of: Request, tmp_path: Path) -> None:
    overlay = tmp_path / "mine"
    target = overlay / "torch" / "csrc" / "aten" / "mine.cc.j2"
    target.parent.mkdir(parents=True)
    target.write_text(
        '{# new file #}\nTORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {\n  m.impl("empty_strided", &mine);\n}\n'
    )
    with pytest.raises(TemplateError) as error:
        prepare(Request(**{**vars(request_of), "template_dirs": (overlay,)}))
    assert error.value.render() == (
        "aten::empty_strided is registered twice for the device, in csrc/aten/factory.cc and csrc/aten/mine.cc\n"
        "  = remove one of the registrations"
    )


def test_what_an_overlay_registers_is_no_fallback(request_of: Request, tmp_path: Path) -> None:
    overlay = tmp_path / "mine"
    target = overlay / "torch" / "csrc" / "aten" / "mine.cc.j2"
    target.parent.mkdir(parents=True)
    target.write_text('{# new file #}\nTORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {\n  m.impl("addr", &mine);\n}\n')
    made = prepare(Request(**{**vars(request_of), "template_dirs": (overlay,)}))
    assert not [path for path, text in made.files.items() if "register_fallback_" in path and '"addr",' in text]


def test_a_device_type_does_not_take_a_module_of_pytorch(request_of: Request, tmp_path: Path) -> None:
    rules = tmp_path / "mine" / "vendors" / "mlu" / "torch.yaml"
    rules.parent.mkdir(parents=True)
    rules.write_text("schema: 1\ndevice: nn\n", encoding="utf-8")
    with pytest.raises(FlGenError) as error:
        prepare(Request(**{**vars(request_of), "schema_dirs": (tmp_path / "mine",)}))
    assert error.value.render().endswith(
        " has a module torch.nn of its own: no device type can be called nn\n"
        "  = write device: NAME into vendors/mlu/torch.yaml of a folder for --schemas"
    )


def test_an_unknown_feature_is_told_at_its_line(request_of: Request, tmp_path: Path) -> None:
    overlay = tmp_path / "mine"
    target = overlay / "torch" / "csrc" / "mine.h.j2"
    target.parent.mkdir(parents=True)
    target.write_text('#pragma once\n{% if torch.has("device_alocator") %}\n{% endif %}\n')
    with pytest.raises(TemplateError, match=r"mine\.h\.j2:2: unknown feature 'device_alocator': list it in"):
        prepare(Request(**{**vars(request_of), "template_dirs": (overlay,)}))


def test_a_kernel_in_c_is_declared_and_registered(request_of: Request) -> None:
    made = scaffold_torch(request_of, "aten::relu", python=False)
    scaffold_torch(request_of, "cat", python=False)
    scaffold_torch(request_of, "aten::add_.Tensor", python=True)
    assert made.path == request_of.backends / "kernels" / "relu.cc"
    files = prepare(request_of).files
    header = files["csrc/aten/native_kernels.h"]
    assert "at::Tensor relu(const at::Tensor &self);" in header
    # torchgen's own spelling for operators of structured groups; with another one the import aborts.
    assert "at::Tensor cat(const at::ITensorListRef &tensors, int64_t dim);" in header
    registered = files["csrc/aten/register_native.cc"]
    assert 'm.impl("relu", &relu_native);' in registered
    assert 'const OpScope scope("aten::relu", "native");' in registered
    assert 'if (blacklisted("aten::relu")) {' in registered
    assert '("aten::add_.Tensor", "add_inplace_Tensor", "add_inplace_Tensor", 0, ())' in files["torch_mlu/_kernels.py"]
    shards = "".join(text for path, text in files.items() if "register_fallback_" in path)
    assert '"cat",' not in shards
    assert '"add_.Tensor",' in shards  # one in Python may decline a call
    written = (request_of.backends / "kernels" / "add_inplace_Tensor.py").read_text()
    ast.parse(written)
    assert "# Write the result into self and return it, " in written
    assert "at::Tensor result = at::empty_like(self);" in made.path.read_text()
    assert "at::Tensor result = self;" in scaffold_torch(request_of, "aten::relu_", python=False).path.read_text()


def test_dtypes_narrow_a_kernel(request_of: Request) -> None:
    scaffold_torch(request_of, "aten::relu", python=False)
    listing = request_of.backends / "kernels.yaml"
    listing.write_text(listing.read_text().replace("function: relu}", "function: relu, dtypes: [float32, bfloat16]}"))
    registered = prepare(request_of).files["csrc/aten/register_native.cc"]
    condition = """!is_one_of(self.scalar_type(), {at::ScalarType::Float, at::ScalarType::BFloat16}) || blacklisted("aten::relu")"""
    assert "".join(condition.split()) in "".join(registered.split())
    assert "call_fallback_fn<&boxed_fallback, at::_ops::relu>::call(self);" in registered
    assert "#include <ATen/ops/relu_ops.h>" in registered


OWN = (
    "batch_norm_stats",
    "batch_norm_gather_stats",
    "batch_norm_gather_stats_with_counts",
    "batch_norm_elemt",
    "batch_norm_elemt.out",
    "batch_norm_backward_reduce",
    "batch_norm_backward_elemt",
    "convolution_overrideable",
    "convolution_backward_overrideable",
    "native_dropout",
    "native_dropout_backward",
    "_thnn_fused_lstm_cell",
    "_thnn_fused_gru_cell",
    "zero_",
)
BACKWARD = ("_thnn_fused_lstm_cell_backward_impl", "_thnn_fused_gru_cell_backward")


def test_a_kernel_takes_the_place_of_what_the_package_does_itself(request_of: Request) -> None:
    for op in OWN:
        scaffold_torch(request_of, op, python=False)
    files = prepare(request_of).files
    assert re.findall(r'm\.impl\("(\w+)"', files["csrc/aten/register_package.cc"]) == list(BACKWARD)
    registered = files["csrc/aten/register_native.cc"]
    for op in OWN:
        assert f'm.impl("{op}", &' in registered
    assert "return package::native_dropout(input, p, train);" in registered
    assert "call_fallback_fn<&package::convolution_overrideable, at::_ops::convolution_overrideable>" in registered
    assert "boxed_fallback" not in registered
    skeleton = (request_of.backends / "kernels" / "zero_.cc").read_text()
    assert "return package::zero_(self);" in skeleton
    assert '#include "aten/package_kernels.h"' in skeleton
    # Where a gradient is needed and there is no kernel of it, the cell is taken apart.
    rnn = files["csrc/aten/rnn.cc"]
    assert 'm.impl("_thnn_fused_lstm_cell", &_thnn_fused_lstm_cell_or_parts);' in rnn
    scaffold_torch(request_of, BACKWARD[0], python=False)
    rnn = prepare(request_of).files["csrc/aten/rnn.cc"]
    assert 'm.impl("_thnn_fused_lstm_cell"' not in rnn
    assert 'm.impl("_thnn_fused_gru_cell", &_thnn_fused_gru_cell_or_parts);' in rnn
    scaffold_torch(request_of, BACKWARD[1], python=False)
    files = prepare(request_of).files
    assert "TORCH_LIBRARY_IMPL" not in files["csrc/aten/rnn.cc"]
    assert "TORCH_LIBRARY_IMPL" not in files["csrc/aten/register_package.cc"]


def test_one_kernel_leaves_the_other_registrations(request_of: Request) -> None:
    scaffold_torch(request_of, "aten::zero_", python=False)
    scaffold_torch(request_of, "aten::_to_copy", python=False)
    files = prepare(request_of).files
    registered = files["csrc/aten/register_package.cc"]
    assert 'm.impl("zero_"' not in registered
    for op in set(OWN) - {"zero_"}:
        assert f'm.impl("{op}",' in registered
    # The vendor's library is asked by the copy, which PyTorch's own kernel leads to.
    own = files["csrc/aten/register_native.cc"]
    assert "return at::native::_to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format);" in own
    assert "void cast(" in files["csrc/aten/library.cc"]


def test_a_kernel_before_the_library_leaves_it_there(request_of: Request) -> None:
    request = replace(request_of, vendor="maca")
    scaffold_torch(request, "aten::mm", python=False)
    listing = request.backends / "kernels.yaml"
    listing.write_text(listing.read_text().replace("function: mm}", "function: mm, dtypes: [float16]}"))
    files = prepare(request).files
    assert 'm.impl("mm",' not in files["csrc/aten/register_package.cc"]
    assert 'm.impl("mm.out", &package::mm_out);' in files["csrc/aten/register_package.cc"]
    assert "return package::mm(self, mat2);" in files["csrc/aten/register_native.cc"]
    products = files["csrc/aten/library_products.cc"]
    assert "at::Tensor package::mm(" in products
    assert "at::ScalarType::Float:" in products  # the library's dtypes are not the kernel's


def test_what_is_registered_is_what_is_told(prepared: Prepared) -> None:
    assert prepared.torch is not None
    view = prepared.torch.view
    found = {path: registered_in(path, text) for path, text in sources(prepared).items()}
    registered = {f"aten::{name}" for name in registrations(found, view)}
    told = {op.name for op in view.compiled} - {"aten::_to_copy"}  # which the copy serves
    assert registered == told
    runtime = {op.name for op in view.ops if op.strategy == "runtime"}
    assert {"aten::empty.memory_format", "aten::_copy_from", "aten::zero_"} <= runtime


REFUSED = {
    "aten::empty.memory_format": "aten::empty.memory_format is of the package's runtime: every tensor's memory is the "
    "caching allocator's\n  = write kernels of the operators that compute",
    "aten::view": "aten::view is of the package's runtime: it makes a view of memory that is there",
    "aten::expand": "aten::expand makes a view of its argument, which shares its memory: there is nothing to compute\n"
    "  = PyTorch's own kernel serves every device",
}


@pytest.mark.parametrize("op", REFUSED)
@pytest.mark.parametrize("python", [False, True])
def test_what_cannot_be_replaced_is_refused_before_anything_is_written(
    op: str, python: bool, request_of: Request
) -> None:
    with pytest.raises(FlGenError) as error:
        scaffold_torch(request_of, op, python=python)
    assert REFUSED[op] in error.value.render()
    assert not request_of.backends.exists()


def test_a_kernel_of_what_an_overlay_registers_is_told(request_of: Request, tmp_path: Path) -> None:
    overlay = tmp_path / "mine"
    target = overlay / "torch" / "csrc" / "aten" / "mine.cc.j2"
    target.parent.mkdir(parents=True)
    target.write_text('{# new file #}\nTORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {\n  m.impl("relu", &mine);\n}\n')
    scaffold_torch(request_of, "aten::relu", python=False)
    with pytest.raises(SchemaError) as error:
        prepare(replace(request_of, template_dirs=(overlay,)))
    assert "kernels.yaml:3:10: aten::relu is registered for the device in csrc/aten/mine.cc already" in (
        error.value.render()
    )
    assert "a kernel in Python may come before it: torch_mlu.register_op" in error.value.render()


def test_a_skeleton_says_how_work_is_queued(request_of: Request) -> None:
    made = scaffold_torch(request_of, "aten::relu", python=False).path.read_text()
    for said in (
        '#include "runtime/error.h" // MLU_CHECK, and the SDK by <cnrt.h>',
        "//   cnrtQueue_t stream = current_stream().handle();",
        "//   at::Tensor result = at::empty_like(self); // <ATen/ops/empty_like.h>",
        "//   MLU_CHECK(cnrtMemsetAsync(data, 0, result.nbytes(), stream));",
    ):
        assert said in made
    # In C++ names with two _ in a row are the compiler's.
    made = scaffold_torch(request_of, "aten::add_.Tensor", python=False).path
    assert made.name == "add_inplace_Tensor.cc"


def test_every_kernel_has_a_name_of_its_own(prepared: Prepared) -> None:
    assert prepared.torch is not None
    names = [kernel_name(op.op) for op in prepared.torch.view.ops]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) and "__" not in name for name in names)


def test_a_kernel_without_its_source(request_of: Request) -> None:
    scaffold_torch(request_of, "aten::relu", python=False)
    (request_of.backends / "kernels" / "relu.cc").unlink()
    with pytest.raises(SchemaError, match="aten::relu: there is no file .*relu.cc"):
        prepare(request_of)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("aten::rellu", "has no operator 'aten::rellu'\n  = did you mean 'aten::relu'?"),
        ("linear", "aten::linear is decomposed before a backend is asked: a kernel of it would break its gradient"),
        ("relu", "aten::relu is in "),
        (
            "aten::add.default",
            "aten::add has overloads, each with a kernel of its own\n  = name one: aten::add.Scalar, ",
        ),
        ("q" * 500, "has no operator 'aten::" + "q" * 53 + "…'\n"),
    ],
)
def test_what_cannot_be_scaffolded(op: str, message: str, request_of: Request) -> None:
    if op == "relu":
        scaffold_torch(request_of, op, python=True)
    with pytest.raises(FlGenError) as error:
        scaffold_torch(request_of, op, python=False)
    assert message in error.value.render()
    assert not (request_of.backends / "kernels" / f"{op}.cc").exists()


def test_the_command_line(
    wheel: Wheel, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(cache))
    monkeypatch.setenv("TORCH_FL_TORCH", str(wheel.package))
    assert main(["backend", "mlu", "--torch", str(wheel.package), "--sdk", "sim"]) == 2
    assert "--torch goes with --framework torch, and this is --framework infinitrain" in capsys.readouterr().err
    assert main(["backend", "mlu", "--framework", "torch", "--sdk", "sim", "--no-format", "--save"]) == 0
    said = capsys.readouterr().out
    assert f"PyTorch  {wheel.version} (TORCH_FL_TORCH)" in said
    assert "aten::mm falls back: library.gemm has no binding in this SDK" in said
    assert "pip install --no-build-isolation generated/torch_mlu" in said
    assert main(["check"]) == 0
    assert main(["regen"]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert "# torch: FOLDER" in Path("fl-gen.yaml").read_text()
    monkeypatch.delenv("TORCH_FL_TORCH")
    site = str(wheel.site)
    assert main(["backend", "mlu", "--torch", site, "--save"]) == 2
    assert f"the project has torch: none, and this run {site}" in capsys.readouterr().err
    Path("fl-gen.yaml").unlink()
    assert main(["init", "mlu@sim", "--framework", "torch", "--torch", site, "--no-format"]) == 0
    capsys.readouterr()
    assert main(["regen"]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert main(["backend", "mlu", "--save"]) == 0
    said = capsys.readouterr()
    assert "torch" in said.err.partition("\n")[0]
    assert f"PyTorch  {wheel.version} (named)" in said.out
    assert main(["doctor"]) in (0, 1)
    assert f"{wheel.version} (named), {wheel.package}" in capsys.readouterr().out
    project = Path("fl-gen.yaml").read_text()
    Path("fl-gen.yaml").write_text(project.replace(site, str(tmp_path / "gone")))
    assert main(["check"]) == 0
    assert f"it is made for PyTorch {wheel.release}, which is not in gone" in capsys.readouterr().out
    assert main(["regen"]) == 2
    assert "gone: there is no PyTorch in it" in capsys.readouterr().err
    Path("fl-gen.yaml").write_text(project)
    other = tmp_path / "other" / "torch"
    shutil.copytree(wheel.package / "include" / "c10" / "core", other / "include" / "c10" / "core")
    (other / "version.py").write_text("__version__ = '2.5.0'\n")
    Path("fl-gen.yaml").unlink()
    monkeypatch.setenv("TORCH_FL_TORCH", str(other))
    assert main(["check"]) == 0
    assert f"it is made for PyTorch {wheel.release}, and TORCH_FL_TORCH or this Python has 2.5.0" in (
        capsys.readouterr().out
    )
