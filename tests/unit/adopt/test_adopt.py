"""`fl-gen adopt` on a small hand-written backend, each fault and each kind of match of which is put there on purpose."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from fl_gen.cli.main import main
from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.report.adopt import adopt_json, adopt_markdown, adopt_text
from fl_gen.schema.kernels import load_native_kernels
from fl_gen.schema.paths import data_dir
from fl_gen.tasks import adopt_faults, framework_pool
from fl_gen.tasks.adopt import AdoptRequest, adopt
from fl_gen.tasks.adopt_files import find_files, launches, without_launches
from fl_gen.tasks.adopt_values import Adoption, Fault
from fl_gen.tasks.framework_values import NoVerdict

DATA = Path(__file__).parents[2] / "data" / "adopt"
BACKEND = DATA / "backends" / "maca"
CLEAN_KERNEL = """#include <memory>

#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"

namespace infini_train::kernels::maca {
std::shared_ptr<Tensor> NegForward(const std::shared_ptr<Tensor> &input) { return input; }

REGISTER_KERNEL(infini_train::Device::DeviceType::kPrivateUse1, NegForward, infini_train::kernels::maca::NegForward)
} // namespace infini_train::kernels::maca
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def found(cache: Path) -> Adoption:
    """The report of the shipped backend; one reading serves all tests of it."""
    return adopt(AdoptRequest("maca", DATA, ("sim",), cache=cache))


@pytest.fixture
def sdk_headers(tmp_path: Path) -> Path:
    """The headers of a maca SDK on disk."""
    folder = tmp_path / "maca"
    for name, text in render_headers(load_api(data_dir() / "schemas" / "vendors" / "maca" / "api.yaml"), "").items():
        path = folder / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def call(*arguments: str | Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def at(text: str, file: str, offset: int = 0) -> tuple[str, int, int]:
    """File, line and column of the only place of a text in a file of the backend."""
    whole = (BACKEND / "src" / file).read_text(encoding="utf-8")
    assert whole.count(text) == 1, text
    start = whole.index(text) + offset
    return file, whole.count("\n", 0, start) + 1, start - whole.rfind("\n", 0, start)


def place(fault: Fault) -> tuple[str, int, int]:
    return fault.place.file.rpartition("/src/")[2], fault.place.line, fault.place.column


GUARD, CCL, KERNELS = "runtime/guard.cc", "ccl/ccl.cc", "kernels/elementwise.maca"
SEEDED = [
    ("unchecked-status", "the status of mcSetDevice is not looked at", at("mcSetDevice", GUARD)),
    ("unchecked-status", "the status of mcGetDeviceCount is not looked at", at("mcGetDeviceCount", GUARD)),
    ("unchecked-status", "the status of mcclGroupEnd is not looked at", at("mcclGroupEnd", CCL)),
    ("null-stream", "mcMemcpyAsync is given the null stream", at("nullptr));", GUARD)),
    ("null-stream", "mcclSend is given the null stream", at(", 0));", CCL, 2)),
    ("null-stream", "a kernel is launched on the null stream", at("<<<1, 64>>>", KERNELS)),
    ("ccl-dtype", "float64 is sent as mcclFloat32, which is float32", at("DataType::kFLOAT64", CCL)),
    ("ccl-dtype", "int16 is sent as mcclFloat16, which is float16", at("DataType::kINT16", CCL)),
    ("ccl-dtype", "bool is sent as mcclUint8, which is uint8", at("DataType::kBOOL:", CCL)),
    ("direct-allocation", "NegForward allocates by mcMallocAsync, past the guard", at("mcMallocAsync", KERNELS)),
    ("event", "the event done is recorded and never waited for or destroyed", at("mcEventRecord", KERNELS)),
    (
        "event",
        "events are recorded here, and nowhere in the backend is one waited for or destroyed",
        at("CHECK_MACA(mcEventRecord", GUARD, 11),
    ),
    (
        "sdk-call",
        "clang: use of undeclared identifier 'mcStreamSynchronise'",
        at("CHECK_MACA(mcStreamSynchronise", KERNELS),
    ),
    ("sdk-call", "clang: no matching function for call to 'mcMemsetAsync'", at("CHECK_MACA(mcMemsetAsync", KERNELS)),
    (
        "dropped-registration",
        "Collectives: registered in a file to which nothing refers",
        at("INFINI_TRAIN_REGISTER_CCL_IMPL", CCL),
    ),
    (
        "dropped-registration",
        "NegForward and 5 more: registered in a file to which nothing refers",
        at("REGISTER_KERNEL(infini_train::Device::DeviceType::kPrivateUse1, NegForward", KERNELS),
    ),
    (
        "overrides-nothing",
        "DeviceGuardImpl::DeviceCount: it is int (), the framework's int () const: it overrides nothing",
        at("DeviceCount()", GUARD),
    ),
]


@pytest.mark.parametrize(("rule", "message", "where"), SEEDED, ids=[f"{rule}:{text[:24]}" for rule, text, _ in SEEDED])
def test_a_seeded_fault_is_found_at_its_place(
    found: Adoption, rule: str, message: str, where: tuple[str, int, int]
) -> None:
    assert (rule, message, where) in [(one.rule, one.message, place(one)) for one in found.faults]


def test_nothing_else_is_called_a_fault(found: Adoption) -> None:
    assert sorted((one.rule, one.message, place(one)) for one in found.faults) == sorted(SEEDED)
    assert found.unjudged == ()
    assert [one.message for one in found.faults if one.level == "warning"] == [SEEDED[8][1]]


@pytest.mark.parametrize(
    ("text", "elsewhere"),
    [
        ('add_subdirectory("${CMAKE_CURRENT_SOURCE_DIR}/../../generated/maca" generated)', True),
        ("include(../common.cmake)", True),
        ("include(${PROJECT_SOURCE_DIR}/cmake/link.cmake)", True),
        ("include(/opt/link.cmake)", True),
        ("add_subdirectory(${SOMEWHERE})", True),
        ("include(GNUInstallDirs)", False),
        ("include(cmake/link.cmake)", False),
        ("include(${CMAKE_CURRENT_LIST_DIR}/cmake/link.cmake)", False),
        ("add_subdirectory(src)", False),
        ("target_include_directories(x PUBLIC ../include)", False),
        ("# include(../common.cmake)", False),
    ],
)
def test_how_a_backend_is_linked_is_not_known_where_its_build_goes_on_elsewhere(text: str, elsewhere: bool) -> None:
    assert adopt_faults.builds_elsewhere("/x/backends/maca/CMakeLists.txt", text) == elsewhere


def test_the_layout_of_fl_gen_itself_is_no_fault(cache: Path, tmp_path: Path) -> None:
    """backends/VENDOR goes on in generated/VENDOR, which says that the archive is linked whole."""
    folder = tmp_path / "backends" / "maca"
    folder.mkdir(parents=True)
    (folder / "good.maca").write_text(CLEAN_KERNEL, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(
        "add_library(infini_train_backend_maca STATIC good.maca)\n", encoding="utf-8"
    )
    request = AdoptRequest("maca", tmp_path, ("sim",), cache=cache)
    assert [fault.rule for fault in adopt(request).faults] == ["dropped-registration"]
    with open(folder / "CMakeLists.txt", "a", encoding="utf-8") as file:
        file.write('add_subdirectory("${CMAKE_CURRENT_SOURCE_DIR}/../../generated/maca" generated)\n')
    assert adopt(request).faults == ()


def test_a_fault_says_why_and_what_to_do(found: Adoption) -> None:
    faults = {one.message: one for one in found.faults}
    allocation = faults["NegForward allocates by mcMallocAsync, past the guard"]
    assert "INFINI_MACA_MULTITHREAD_WORKAROUNDS" in allocation.why
    assert "MallocAsync" in allocation.remedy
    wide = faults["float64 is sent as mcclFloat32, which is float32"]
    assert wide.why == "4 of 8 bytes of an element go over: the rest is lost without a word"
    assert wide.remedy == "the SDK has mcclFloat64"


def test_methods_are_held_against_what_would_be_generated(found: Adoption) -> None:
    methods = {(one.cls, one.method): one for one in found.methods}
    copy = methods["DeviceGuardImpl", "Memcpy"]
    assert (copy.presence, copy.calls) == ("there", ("mcMemcpy",))  # by a helper, and not by its check's text
    assert [(one.operation, one.kind, one.text) for one in copy.instead] == [
        ("memory.copy", "binding", "mcMemcpy(dst, src, size, kind)")
    ]
    peak = methods["DeviceGuardImpl", "GetMemPoolPeakMB"]
    assert (peak.presence, peak.instead[0].kind) == ("absent", "strategy")
    assert methods["DeviceGuardImpl", "Initialize"].presence == "inherited"
    assert methods["DeviceGuardImpl", "DeviceCount"].presence == "changed"
    assert methods["CclImpl", "Recv"].note == "the framework's own ends the program"
    assert methods["CclUniqueId", "Load"].note == "no class of the backend derives from CclUniqueId"


def test_kernels_are_held_against_the_schema(found: Adoption) -> None:
    ops = {one.op: one for one in found.ops}
    fits = {
        name: ops[name].fit for name in ("NegForward", "Fill", "SinForward", "PowForward", "Invented", "ExpForward")
    }
    assert fits == {
        "NegForward": "exact",
        "Fill": "exact",
        "SinForward": "same",
        "PowForward": "differs",
        "Invented": "unknown",
        "ExpForward": "absent",
    }
    assert ops["PowForward"].note == "parameter 2 (scalar) is double, in the schema float"
    assert ops["ExpForward"].strategy == "fallback"
    assert not ops["CosForward"].native
    assert ops["CosForward"].note == (
        "it must be the function infini_train::kernels::maca::CosForward, which other files can refer to"
    )


def test_the_three_forms_say_the_same(found: Adoption) -> None:
    value = json.loads(adopt_json(found))
    text, table = adopt_text(found), adopt_markdown(found)
    assert len(value["faults"]) == len(SEEDED)
    for _, message, (_, line, column) in SEEDED:
        assert re.search(rf":{line}:{column}: (warning: )?{re.escape(message)}\n", text)
        assert message.replace("<", "&lt;") in table
    assert "faults   16 errors, 1 warning" in text
    assert value["kernels_yaml"] == found.listing
    assert "\x1b" not in text
    assert "\x1b[1;31m" in adopt_text(found, color=True)


def test_the_printed_listing_is_accepted_by_the_generator(
    found: Adoption, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(cache))
    home = tmp_path / "backends" / "maca"
    shutil.copytree(BACKEND / "src" / "kernels", home / "kernels")
    (home / "kernels.yaml").write_text(found.listing, encoding="utf-8")
    listed = load_native_kernels(home / "kernels.yaml").kernels
    assert [(str(one.op), one.file) for one in listed] == [
        ("NegForward", "elementwise.maca"),
        ("Fill", "elementwise.maca"),
    ]
    code, _, err = call("backend", "maca", "--sdk", "sim", "--no-format")
    assert (code, err) == (0, "")
    router = (tmp_path / "generated" / "maca" / "src" / "kernels" / "router.cc").read_text(encoding="utf-8")
    assert re.findall(r"maca::(\w+)\(std::move", router) == ["Fill"]
    assert "maca::NegForward(input)" in router


def test_the_command_reads_a_sound_backend_among_hostile_files(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(cache))
    folder = tmp_path / "odd folder, with 'quotes' & ünïcode"
    (folder / "deep").mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text("target_link_options(x INTERFACE -Wl,--whole-archive)\n", encoding="utf-8")
    (folder / "no suffix at all").write_text(CLEAN_KERNEL, encoding="utf-8")
    (folder / "a $(touch gone) %s.cc").write_text("int fine;\n", encoding="utf-8")
    (folder / "binary.cc").write_bytes(b"\x7fELF\0\1\2\3" * 100)
    (folder / "huge.cc").write_bytes(b"int x;\n" * (1 << 20))
    (folder / "broken.cc").write_text("class {{{ <<<<<<< HEAD\n" + "(" * 300 + "\n>>>>>>>\n", encoding="utf-8")
    (folder / "endless.cc").write_text("/* " * 200_000, encoding="utf-8")
    (folder / "loop.cc").symlink_to("loop.cc")
    (folder / "out.cc").symlink_to("/etc/passwd")
    (folder / "deep" / "round").symlink_to(folder)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.cc")).write_text("int y;\n", encoding="utf-8")
    before = sorted((path, path.lstat().st_mtime_ns) for path in tmp_path.rglob("*"))
    code, out, err = call("adopt", "maca", folder, "--sdk", "sim", "--kernels-yaml", "new.yaml", "--format", "json")
    assert (code, err) == (0, "")
    value = json.loads(out)
    unread = {Path(one["place"]["file"]).name: one["why"] for one in value["unjudged"] if one["what"] == "the file"}
    assert unread == {
        "binary.cc": "a binary file",
        "huge.cc": "larger than 4096 KiB",
        "endless.cc": "comments in it never end",
        "loop.cc": "a link that leads nowhere",
        "out.cc": "a link that leads out of the folder",
        "\N{REPLACEMENT CHARACTER}.cc": "its name is not UTF-8",
    }
    assert any(Path(one["place"]["file"]).name == "broken.cc" for one in value["unjudged"])
    kernel = next(one for one in value["ops"] if one["op"] == "NegForward")
    assert (kernel["fit"], kernel["native"]) == ("exact", False)
    assert kernel["note"] == "its file must be named *.maca: generated builds compile kernels of that suffix"
    assert (tmp_path / "new.yaml").read_text(encoding="utf-8") == "schema: 1\nkernels: []\n"
    after = sorted((path, path.lstat().st_mtime_ns) for path in tmp_path.rglob("*") if path.name != "new.yaml")
    assert after == before
    code, out, err = call("adopt", "maca", folder, "--sdk", "sim", "--kernels-yaml", "new.yaml")
    assert (code, out) == (2, "")
    assert "--kernels-yaml new.yaml: it is there already and stays as it is: name a new file" in err


def test_folders_that_are_no_backend_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "loop").symlink_to("loop")
    remedy = "\n  = name the folder of the backend, or one that holds backends/maca"
    for name, said in {
        "empty": "empty: there is no C++ source in it that can be read\n"
        "  = name the folder of a backend: CMakeLists.txt, src/runtime, src/ccl, src/kernels",
        "file": f"file is a file, not a folder{remedy}",
        "gone": f"gone does not exist{remedy}",
        "loop": "loop is a symbolic link that leads back to itself\n  = repair the link",
    }.items():
        with pytest.raises(NoVerdict) as error:
            find_files(name, "maca", ".maca")
        assert str(error.value) == said
    with pytest.raises(NoVerdict, match="is no path"):
        find_files("a\0b", "maca", None)


def test_sources_of_something_else_are_no_backend(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "main.cc").write_text("int main() { return 0; }\n", encoding="utf-8")
    with pytest.raises(NoVerdict, match="no class of the framework is overridden in it and no kernel is registered"):
        adopt(AdoptRequest("maca", tmp_path, ("sim",), cache=cache))


# Constant expressions are bounded one by one; clang works on these for minutes and needs no memory for it.
ENDLESS = """
constexpr int spin(int n) {
    int sum = 0;
    for (int i = 0; i < 200000; ++i) sum += i ^ n;
    return sum;
}
template <int N> struct Spin { static constexpr int value = spin(N); };
""" + "\n".join(f"constexpr int v{number} = Spin<{number}>::value;" for number in range(4000))


def test_a_source_that_takes_the_compiler_for_ever_is_told_as_unread(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "backends" / "maca" / "src" / "kernels"
    folder.mkdir(parents=True)
    (folder / "good.maca").write_text(CLEAN_KERNEL, encoding="utf-8")
    (folder / "endless.h").write_text(ENDLESS, encoding="utf-8")
    (folder / "endless.maca").write_text(f'#include "endless.h"\n{CLEAN_KERNEL}', encoding="utf-8")
    monkeypatch.setattr(framework_pool, "PROCESSOR_SECONDS", 4)
    report = adopt(AdoptRequest("maca", tmp_path, ("sim",), cache=cache))
    (unread,) = [one for one in report.unjudged if one.what == "the source"]
    assert unread.place.file.endswith("kernels/endless.maca")
    assert unread.why == "libclang was stopped after 4 s of processor time while it read this file"
    assert report.sources == 1
    assert [one.op for one in report.ops if one.place is not None] == ["NegForward"]


def test_an_sdk_that_takes_the_compiler_for_ever_is_no_verdict(
    sdk_headers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = sdk_headers / "include" / "mcr" / "mc_runtime_api.h"
    header.write_text(header.read_text(encoding="utf-8") + ENDLESS, encoding="utf-8")
    monkeypatch.setattr(framework_pool, "PROCESSOR_SECONDS", 4)
    with pytest.raises(NoVerdict) as caught:
        adopt(AdoptRequest("maca", DATA, (str(sdk_headers),)))
    assert str(caught.value) == (
        "maca: libclang was stopped after 4 s of processor time while it read the SDK's headers\n"
        "  = check that the headers are whole: fl-gen sdk check reads the same ones"
    )


def test_an_unknown_vendor_and_a_missing_sdk_stop_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(tmp_path))
    for arguments in (("adopt", "macca", DATA, "--sdk", "sim"), ("adopt", "maca", DATA, "--sdk", tmp_path / "none")):
        code, out, err = call(*arguments)
        assert (code, out) == (2, "")
        assert "\n  = " in err
        assert "Traceback" not in err


def test_launches_are_found_in_time_that_grows_with_the_text() -> None:
    text = "k<<<1, 2>>>(x);\nX\n<<<<<<< HEAD\nf<<<a,\n b, 0, s>>>();\nKernel<T, F>\n        <<<g, b>>>(x);\n"
    assert [text[start:end] for start, end in launches(text)] == ["<<<1, 2>>>", "<<<a,\n b, 0, s>>>", "<<<g, b>>>"]
    blank = without_launches(text)
    assert (len(blank), blank.count("\n")) == (len(text), text.count("\n"))
    assert list(launches("x<<<" * 500_000 + " " * 3_000 + ">>>")) == []  # seconds, were it not linear
