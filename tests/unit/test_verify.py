"""`--verify`: what is rendered is parsed before it is written, and a fault is told with its template."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fl_gen.cli.main import main
from fl_gen.render.infinitrain import Rendered, render_infinitrain
from fl_gen.render.template_lines import find_line
from fl_gen.render.verify import PrerequisiteError, Sources, Verified, VerifyError, verify
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.shims import tiers
from fl_gen.workflow.generate import Resolved, resolve_request
from fl_gen.workflow.request import Request

TEMPLATES = data_dir() / "templates"
GUARD = "src/runtime/{vendor}_guard_impl.cc.j2"

pytestmark = pytest.mark.skipif(
    not any((Path(folder) / "glog" / "logging.h").is_file() for shims in tiers() for folder in shims.dirs),
    reason="needs the headers of glog",
)


@pytest.fixture(autouse=True)
def _own_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INFINITRAIN_SOURCE_DIR", raising=False)


def rendered_for(vendor: str) -> tuple[Resolved, Rendered]:
    resolved = resolve_request(Request(vendor, sdk=("sim",)))
    return resolved, render_infinitrain(resolved.backend, (TEMPLATES,))


@pytest.fixture(scope="module")
def backend() -> tuple[Resolved, Rendered]:
    return rendered_for("mlu")


def check(resolved: Resolved, rendered: Rendered, files: dict[str, str], **environment: str) -> Verified:
    sources = Sources(rendered.sources, (TEMPLATES / "infinitrain",), Path("generated") / "vendor")
    return verify(files, resolved.backend, sources, resolved.sdk.include_dirs, resolved.sdk.memory, environment)


def only(files: dict[str, str], *units: str) -> dict[str, str]:
    """All headers, and these units: parsing every unit in every test would take minutes."""
    return {path: text for path, text in files.items() if path in units or path.endswith(".h")}


# Half a minute each: CI takes one of them, and compiles both.
@pytest.mark.parametrize("vendor", ["mlu", "maca"] if os.environ.get("FL_GEN_TORTURE") else ["maca"])
def test_the_golden_vendors_pass(vendor: str) -> None:
    resolved, rendered = rendered_for(vendor)
    result = check(resolved, rendered, rendered.generated)
    folders = ("src/", "selftest/") if result.skipped else ("src/", "selftest/", "tests/")
    assert result.units == sum(path.endswith(".cc") and path.startswith(folders) for path in rendered.generated)
    assert result.units > 40
    assert result.framework == "headers made from interface.yaml"


def test_every_error_is_told_once_with_place_template_and_clang(backend: tuple[Resolved, Rendered]) -> None:
    resolved, rendered = backend
    v = resolved.backend.vendor.name.snake
    guard, header, device = (f"src/runtime/{v}_{name}" for name in ("guard_impl.cc", "options.h", "device.cc"))
    files = only(rendered.generated, guard, device)
    # In a header that both units read, and in one unit.
    files[header] += "\ninline int Wrong() { return undeclared_in_header; }\n"
    files[guard] += "\nstatic int AlsoWrong() { return NoSuchCall(1); }\n"
    with pytest.raises(VerifyError) as caught:
        check(resolved, rendered, files)
    found = {(d.location.file, d.message): d for d in caught.value.diagnostics}
    assert set(found) == {
        (f"generated/vendor/{guard}", "clang: use of undeclared identifier 'NoSuchCall'"),
        (f"generated/vendor/{header}", "clang: use of undeclared identifier 'undeclared_in_header'"),
    }
    one = found[f"generated/vendor/{guard}", "clang: use of undeclared identifier 'NoSuchCall'"]
    assert one.excerpt == "static int AlsoWrong() { return NoSuchCall(1); }"
    assert one.excerpt[one.location.column - 1 :].startswith("NoSuchCall")
    assert one.location.line == files[guard].count("\n")
    assert one.hint is not None
    assert "templates/infinitrain/" + GUARD in one.hint
    assert "a fault of fl-gen" in one.hint


def test_an_error_inside_a_library_belongs_to_the_line_that_asked_for_it(backend: tuple[Resolved, Rendered]) -> None:
    resolved, rendered = backend
    path = f"src/runtime/{resolved.backend.vendor.name.snake}_options.cc"
    files = only(rendered.generated, path)
    files[path] += "\nstatic auto Wrong() { return std::make_unique<std::string>(1, 2, 3, 4); }\n"
    with pytest.raises(VerifyError) as caught:
        check(resolved, rendered, files)
    assert [d.location.line for d in caught.value.diagnostics] == [files[path].count("\n")]
    assert "(in " in caught.value.diagnostics[0].message


def test_a_kernel_names_its_schema_node(backend: tuple[Resolved, Rendered]) -> None:
    resolved, rendered = backend
    path = "src/kernels/fallback/softmax.cc"
    files = only(rendered.generated, path)
    assert "SoftmaxForward(" in files[path]
    files[path] = files[path].replace("SoftmaxForward(", "SoftmaxForward(UnknownType wrong, ", 1)
    with pytest.raises(VerifyError) as caught:
        check(resolved, rendered, files)
    assert any("from ops:SoftmaxForward\n" in (d.hint or "") for d in caught.value.diagnostics)


def test_both_settings_of_the_device_kernels_are_parsed(backend: tuple[Resolved, Rendered]) -> None:
    resolved, rendered = backend
    switch = f"INFINITRAIN_{resolved.backend.vendor.name.upper}_DEVICE_KERNELS"
    path = "src/backend.cc"
    for condition in (switch, f"!{switch}"):
        files = only(rendered.generated, path)
        files[path] += f"\n#if {condition}\nint wrong = undeclared;\n#endif\n"
        with pytest.raises(VerifyError, match="undeclared"):
            check(resolved, rendered, files)


def test_many_errors_are_cut(backend: tuple[Resolved, Rendered]) -> None:
    resolved, rendered = backend
    files = only(rendered.generated, "src/backend.cc")
    files["src/backend.cc"] += "".join(f"int wrong_{i} = undeclared_{i};\n" for i in range(50))
    with pytest.raises(VerifyError) as caught:
        check(resolved, rendered, files)
    assert len(caught.value.diagnostics) == 21
    assert "(and 29 more errors)" in caught.value.diagnostics[-1].message


def test_a_framework_without_privateuse1_is_one_message(backend: tuple[Resolved, Rendered], tmp_path: Path) -> None:
    resolved, rendered = backend
    with pytest.raises(PrerequisiteError, match="no infini_train/include in it"):
        check(resolved, rendered, rendered.generated, INFINITRAIN_SOURCE_DIR=str(tmp_path))
    (tmp_path / "infini_train" / "include").mkdir(parents=True)
    with pytest.raises(PrerequisiteError, match="older than PrivateUse1"):
        check(resolved, rendered, rendered.generated, INFINITRAIN_SOURCE_DIR=str(tmp_path))


def test_a_framework_whose_headers_do_not_parse_stops_the_run(
    backend: tuple[Resolved, Rendered], tmp_path: Path
) -> None:
    from fl_gen.render.contract import render_contract, write_contract

    resolved, rendered = backend
    contract = render_contract(resolved.backend.framework.interface)
    write_contract(contract, tmp_path)
    units = only(rendered.generated, "src/backend.cc")
    assert check(resolved, rendered, units, INFINITRAIN_SOURCE_DIR=str(tmp_path)).framework == str(tmp_path)
    device = tmp_path / "infini_train" / "include" / "device.h"
    device.write_text("#include <no_such_header>\n" + device.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(PrerequisiteError, match=r"device\.h:1:10: 'no_such_header' file not found"):
        check(resolved, rendered, units, INFINITRAIN_SOURCE_DIR=str(tmp_path))


def test_a_checkout_brings_its_own_eigen(backend: tuple[Resolved, Rendered], tmp_path: Path) -> None:
    from fl_gen.render.contract import render_contract, write_contract

    resolved, rendered = backend
    write_contract(render_contract(resolved.backend.framework.interface), tmp_path)
    eigen = tmp_path / "third_party" / "eigen" / "Eigen"
    eigen.mkdir(parents=True)
    (eigen / "Dense").write_text("namespace Eigen { struct FromSubmodule {}; }\n", encoding="utf-8")
    tensor = tmp_path / "infini_train" / "include" / "tensor.h"
    text = tensor.read_text(encoding="utf-8")
    use = "inline Eigen::FromSubmodule TensorUsesEigen() { return {}; }\n"
    tensor.write_text(f'#include "Eigen/Dense"\n{text}{use}', encoding="utf-8")
    units = only(rendered.generated, "src/backend.cc")
    assert check(resolved, rendered, units, INFINITRAIN_SOURCE_DIR=str(tmp_path)).units == 1


def test_without_glog_one_message_says_so(
    backend: tuple[Resolved, Rendered], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    resolved, rendered = backend
    (tmp_path / "memory").touch()
    without = replace(tiers()[0], dirs=(str(tmp_path),))
    monkeypatch.setattr("fl_gen.render.verify.tiers", lambda: (without,))
    with pytest.raises(PrerequisiteError, match="needs the headers of glog"):
        check(resolved, rendered, rendered.generated)
    (tmp_path / "memory").unlink()
    with pytest.raises(PrerequisiteError, match="C\\+\\+ standard library"):
        check(resolved, rendered, rendered.generated)


def test_an_overlay_with_a_wrong_call_stops_the_command_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(tmp_path / "cache"))
    overlay = tmp_path / "mine" / "infinitrain" / GUARD
    overlay.parent.mkdir(parents=True)
    shutil.copyfile(TEMPLATES / "infinitrain" / GUARD, overlay)
    text = overlay.read_text(encoding="utf-8") + "\nstatic int Mine() { return {{ v }}CallThatIsNotThere(); }\n"
    overlay.write_text(text, encoding="utf-8")
    output = tmp_path / "out"
    arguments = ["backend", "mlu", "--sdk", "sim", "-o", str(output), "--templates", str(tmp_path / "mine"), "--verify"]
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "mlu_guard_impl.cc:" in captured.err
    assert "clang: use of undeclared identifier 'mluCallThatIsNotThere'" in captured.err
    assert f"made by {overlay}:{text.count(chr(10))}" in captured.err
    assert "a fault of that template, which is not fl-gen's own; nothing was written" in captured.err
    assert not output.exists()


@pytest.mark.parametrize(
    ("template", "rendered", "line"),
    [
        ("int first();\nint second();\n", "int second();", 2),
        ("{% if x %}\n{{ type }} Make{{ name }}(int count);\n{% endif %}", "    Stream *MakeQueue(int count);", 2),
        ("    call({{ a }}, very_long_second_argument);\n", "         very_long_second_argument);", None),
        ("same();same();\nsame();same();\n", "same();same();", None),
        ("one();\n", "", None),
        ("void Long(int first, int second);\n", "int first, int second);", 1),
    ],
)
def test_the_template_line_is_told_only_when_it_is_sure(template: str, rendered: str, line: int | None) -> None:
    assert find_line(template, rendered) == line
