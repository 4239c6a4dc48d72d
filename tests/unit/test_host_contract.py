"""The contract headers and the InfiniTrain host that is built from them.

What the headers should say comes from two sides that do not know the templates: facts written down here by hand, and,
where INFINITRAIN_SOURCE_DIR names a checkout of the framework, the framework's own headers as libclang reads them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fl_gen.render import contract
from fl_gen.schema.framework_spec import load_interface

ROOT = Path(__file__).resolve().parents[2]
HOST = ROOT / "tests" / "hosts" / "infinitrain"
INTERFACE = ROOT / "schemas" / "frameworks" / "infinitrain" / "interface.yaml"
GUARD = "infini_train/include/core/runtime/device_guard.h"
CCL = "infini_train/include/core/ccl/ccl.h"


@pytest.fixture(scope="module")
def headers() -> dict[str, str]:
    return contract.render_contract(load_interface(INTERFACE))


def test_the_model_and_the_plain_file_give_the_same_text(headers: dict[str, str]) -> None:
    assert contract.render_contract(yaml.safe_load(INTERFACE.read_text(encoding="utf-8"))) == headers


def test_every_header_is_there_and_readable(headers: dict[str, str]) -> None:
    assert len(headers) == 18
    for path, text in headers.items():
        assert text.startswith("#pragma once\n"), path
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path
        assert "\n\n\n" not in text, path
        assert not re.search(r"[ \t]$", text, re.MULTILINE), path
        assert max(map(len, text.splitlines())) <= 120, path
        assert "{{" not in text.replace("{{{", ""), path


def test_every_template_belongs_to_a_header(headers: dict[str, str]) -> None:
    folder = ROOT / "templates" / "contract" / "infinitrain"
    shipped = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {path.removesuffix(".j2") for path in shipped - {"_macros.j2"}} == set(headers)


def test_includes_of_the_framework_resolve_inside_the_contract(headers: dict[str, str]) -> None:
    for path, text in headers.items():
        for included in re.findall(r'#include "(infini_train/[^"]+)"', text):
            assert included in headers, f"{path} includes {included}"


def test_signatures_as_the_framework_has_them(headers: dict[str, str]) -> None:
    guard = " ".join(headers[GUARD].split())
    for declaration in (
        "virtual void Initialize();",
        "virtual Device GetDevice() const = 0;",
        "virtual void SetDevice(Device device) const;",
        "virtual Stream *CreateStreamWithPriority(Device device, int priority) const;",
        "virtual void StreamWaitEvent(Stream *stream, Event *event, uint32_t flags) const;",
        "virtual float EventElapsedTime(Event *start_event, Event *stop_event) const;",
        "virtual void MallocAsync(void **dev_ptr, size_t size, Stream *stream);",
        "virtual void Memcpy(void *dst, const void *src, size_t count, MemcpyKind kind) = 0;",
        "virtual std::pair<size_t, size_t> GetMemPoolPeakMB(Device device) const;",
    ):
        assert declaration in guard
    assert headers[GUARD].count("    virtual ") == 30  # 29 methods and the destructor
    assert headers[GUARD].count(" = 0;") == 5
    ccl = " ".join(headers[CCL].split())
    assert (
        "virtual void Reduce(const void *sendbuff, void *recvbuff, size_t count, DataType dtype, "
        "nn::parallel::function::ReduceOpType reduce_op, int root, const CclComm *comm, Stream *stream) const;" in ccl
    )
    assert headers[CCL].count("    virtual ") == 16
    assert headers[CCL].count(" = 0;") == 1


def test_values_of_enumerators(headers: dict[str, str]) -> None:
    status = headers["infini_train/include/core/runtime/runtime_common.h"]
    assert "kNotReady = 1," in status
    assert "kUnknown = -127," in status
    assert "kPrivateUse1 = 2," in headers["infini_train/include/device.h"]
    assert "kFLOAT32 = 11," in headers["infini_train/include/datatype.h"]


def test_a_missing_node_is_an_error() -> None:
    interface = yaml.safe_load(INTERFACE.read_text(encoding="utf-8"))
    interface["enums"] = [enum for enum in interface["enums"] if enum["name"] != "EventFlag"]
    with pytest.raises(KeyError, match="no enum `EventFlag`"):
        contract.render_contract(interface)


def test_long_signatures_are_broken_at_the_bracket() -> None:
    params = [{"name": f"parameter_{i}", "type": "const void *"} for i in range(5)]
    text = contract.signature({"params": params}, "virtual void Transfer", " const;", 4)
    first, second = text.splitlines()
    assert first.endswith(",")
    assert second.startswith(" " * len("    virtual void Transfer("))
    assert second.endswith("*parameter_4) const;")
    assert contract.signature({"params": []}, "virtual void Initialize", ";", 4) == "virtual void Initialize();"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the calling thread's device", "The calling thread's device."),
        ("kNotReady while pending.", "kNotReady while pending."),
        ("privateuse1 before", "privateuse1 before."),
        ("", "."),
    ],
)
def test_comments_begin_and_end_like_sentences(text: str, expected: str) -> None:
    assert contract.sentence(text) == expected


def test_unchanged_headers_keep_their_time(headers: dict[str, str], tmp_path: Path) -> None:
    assert len(contract.write_contract(headers, tmp_path)) == len(headers)
    os.utime(tmp_path / GUARD, (1, 1))
    (tmp_path / CCL).write_text("edited", encoding="utf-8")
    assert contract.write_contract(headers, tmp_path) == [tmp_path / CCL]
    assert (tmp_path / GUARD).stat().st_mtime == 1


def test_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fl_gen.render.contract"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "codegen")}
    wrong = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert wrong.returncode == 2
    assert "OUT_DIR" in wrong.stderr
    subprocess.run([*command, str(tmp_path)], env=environment, check=True)
    assert (tmp_path / GUARD).is_file()


# --- against the framework itself ------------------------------------------------------------------------------------

FRAMEWORK = os.environ.get("INFINITRAIN_SOURCE_DIR", "")
# What pull request 206 added to the June tree; absent from older checkouts.
ADDED = {
    "Initialize() -> void virtual",
    "Has(infini_train::Device::DeviceType) const -> bool",
    "kPrivateUse1",
}


def _declarations(include: str, paths: list[str], tmp_path: Path) -> dict[str, Any]:
    """Enumerators and virtual methods of the headers below `include`, with canonical types."""
    from clang import cindex

    source = "".join(f'#include "{path}"\n' for path in paths)
    arguments = ["-xc++", "-std=c++20", f"-I{include}"]
    resources = sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*"))
    if resources:
        arguments += ["-resource-dir", str(resources[-1])]
    unit = cindex.Index.create().parse("probe.cc", args=arguments, unsaved_files=[("probe.cc", source)])
    errors = [d.spelling for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    assert not errors, errors

    found: dict[str, Any] = {}

    def visit(cursor: Any, scope: str) -> None:
        for child in cursor.get_children():
            file = child.location.file
            if file is None or not file.name.startswith(include):
                continue
            name = f"{scope}::{child.spelling}"
            kind = child.kind
            if kind == cindex.CursorKind.NAMESPACE:
                visit(child, name)
            elif kind == cindex.CursorKind.ENUM_DECL:
                found[name] = {e.spelling: e.enum_value for e in child.get_children()}
            elif kind in (cindex.CursorKind.CLASS_DECL, cindex.CursorKind.STRUCT_DECL) and child.is_definition():
                found[name] = {}
                for member in child.get_children():
                    if member.kind == cindex.CursorKind.FIELD_DECL:
                        if member.access_specifier != cindex.AccessSpecifier.PRIVATE:
                            found[name][member.spelling] = member.type.get_canonical().spelling
                    elif member.kind == cindex.CursorKind.CXX_METHOD and member.is_virtual_method():
                        types = ", ".join(a.type.get_canonical().spelling for a in member.get_arguments())
                        found[name][
                            f"{member.spelling}({types}){' const' if member.is_const_method() else ''} -> "
                            f"{member.result_type.get_canonical().spelling} virtual"
                            f"{' pure' if member.is_pure_virtual_method() else ''}"
                        ] = None
                visit(child, name)

    visit(unit.cursor, "")
    return found


@pytest.mark.skipif(not FRAMEWORK, reason="INFINITRAIN_SOURCE_DIR does not name a checkout of the framework")
def test_headers_agree_with_the_framework(headers: dict[str, str], tmp_path: Path) -> None:
    contract.write_contract(headers, tmp_path)
    paths = [
        "infini_train/include/device.h",
        "infini_train/include/datatype.h",
        GUARD,
        CCL,
        "infini_train/include/nn/parallel/reduce_op_type.h",
        "infini_train/src/kernels/common/gemm.h",
    ]
    ours = _declarations(str(tmp_path), paths, tmp_path)
    theirs = _declarations(FRAMEWORK, paths, tmp_path)
    assert len(ours["::infini_train::core::DeviceGuardImpl"]) == 29
    for name, members in theirs.items():
        assert name in ours, name
        missing = {key for key, value in members.items() if ours[name].get(key, "") != value}
        # kCount grew when a device type was added.
        assert missing - {"kCount"} == set(), f"{name}: {missing}"
        extra = set(ours[name]) - set(members)
        assert extra <= ADDED, f"{name}: {extra}"


@pytest.mark.skipif(not FRAMEWORK, reason="INFINITRAIN_SOURCE_DIR does not name a checkout of the framework")
def test_op_schemas_agree_with_the_kernels_of_the_framework() -> None:
    """The compiler compares each signature: the dispatcher casts function pointers, so nothing else ever would."""
    from clang import cindex

    sources = sorted((Path(FRAMEWORK) / "infini_train" / "src" / "kernels" / "cpu").glob("*.cc"))
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    defined = set(re.findall(r"^REGISTER_CPU_\w+KERNEL\((\w+)\)", "\n".join(texts.values()), re.MULTILINE))
    assert len(defined) > 90
    lines = [f'#include "{path}"' for path in sources]
    checked: dict[int, str] = {}
    for file in sorted((INTERFACE.parent / "ops").glob("*.yaml")):
        for op in yaml.safe_load(file.read_text(encoding="utf-8"))["ops"]:
            if op["name"] not in defined:
                continue
            types = ", ".join(param["type"] for param in op["params"])
            lines.append(
                "namespace infini_train { static_assert(std::is_same_v<decltype(&kernels::cpu::"
                f"{op['name']}), {op['returns']} (*)({types})>); }}"
            )
            checked[len(lines)] = op["name"]
    assert set(checked.values()) == defined
    arguments = ["-xc++", "-std=c++20", f"-I{FRAMEWORK}", "-I/memory", "-ferror-limit=0"]
    resources = sorted(Path("/usr/lib").glob("llvm-*/lib/clang/*"))
    if resources:
        arguments += ["-resource-dir", str(resources[-1])]
    # Bodies do not matter, so what only they use may be empty; nor do helpers of one name in files that are read as one.
    empty = [(f"/memory/{header}", "") for header in ("Eigen/Dense", "format")]
    unit = cindex.Index.create().parse(
        "probe.cc",
        args=arguments,
        unsaved_files=[("probe.cc", "\n".join(lines) + "\n"), *empty],
        options=cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES,
    )
    wrong = {
        checked[diagnostic.location.line]: diagnostic.spelling
        for diagnostic in unit.diagnostics
        if diagnostic.severity >= cindex.Diagnostic.Error
        and str(diagnostic.location.file) == "probe.cc"
        and diagnostic.location.line in checked
    }
    assert not wrong
    fatal = [d.spelling for d in unit.diagnostics if d.severity == cindex.Diagnostic.Fatal]
    assert not fatal, "nothing after it was read"


# --- the host --------------------------------------------------------------------------------------------------------

TOOLS = [shutil.which(tool) for tool in ("cmake", "ninja", "c++", "nm")]


@pytest.fixture(scope="module")
def host() -> Path:
    """The host's build folder, kept between runs."""
    if not all(TOOLS):
        pytest.skip("needs cmake, ninja, c++ and nm")
    folder = ROOT / "build" / "hosts" / "infinitrain"
    configured = subprocess.run(
        [
            *("cmake", "-S", str(HOST), "-B", str(folder), "-G", "Ninja", "-DBUILD_TEST=ON"),
            f"-DPython3_EXECUTABLE={sys.executable}",
            "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if re.search(r"glogConfig|GTest", configured.stderr):
        pytest.skip("needs glog and googletest")
    assert configured.returncode == 0, configured.stderr
    built = subprocess.run(["ninja", "-C", str(folder)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-4000:]
    return folder


def test_host_passes_its_own_tests(host: Path) -> None:
    result = subprocess.run(
        ["ctest", "--test-dir", str(host), "--output-on-failure", "--no-tests=error"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-4000:]


def _demangled(type_text: str) -> str:
    """A parameter type of ops/*.yaml as `nm -C` writes it."""
    text = re.sub(r"^const (.*) &$", r"\1 const&", type_text.strip())
    text = re.sub(r"^const (?=\w+$)", "", text)
    text = re.sub(r"\bint64_t\b", "long", text)
    text = re.sub(r"(?<![:\w])(Tensor|DataType|Scalar|Device)\b", r"infini_train::\1", text)
    # Innermost vectors first: the content of none of them holds another.
    while "std::vector<" in text:
        text = re.sub(
            r"std::vector<((?:(?!std::vector<)[^<>]|<[^<>]*(?:<[^<>]*>)?[^<>]*>)*)>",
            lambda match: f"vec<{match[1]}, std::allocator<{match[1]}>>",
            text,
            count=1,
        )
    return text.replace("vec<", "std::vector<").replace(" ", "")


def test_cpu_kernels_have_the_signatures_of_the_schema(host: Path) -> None:
    symbols = subprocess.run(
        ["nm", "-C", "--defined-only", str(host / "libinfini_train_cpu_kernels.a")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ours = dict(re.findall(r" T infini_train::kernels::cpu::(\w+)\((.*)\)$", symbols, re.MULTILINE))
    assert len(ours) == 97
    checked = 0
    for file in sorted((INTERFACE.parent / "ops").glob("*.yaml")):
        for op in yaml.safe_load(file.read_text(encoding="utf-8"))["ops"]:
            if op["name"] not in ours:
                continue
            expected = ",".join(_demangled(param["type"]) for param in op["params"])
            assert ours[op["name"]].replace(" ", "") == expected, op["name"]
            checked += 1
    assert checked == 97
