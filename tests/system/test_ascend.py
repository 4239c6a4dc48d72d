"""The backend of Huawei's CANN: contexts, sizes that are passed twice, handles that are all `void *`, answers by out parameter.

The newest simulated release has pools and groups of collectives, the oldest neither. Only the programs of the runtime and of
the collectives are built: what they hold is CANN's shape, and the kernels are as on every other vendor.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from fl_gen.schema.errors import SchemaError
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.sdk_check import SdkCheck, check_sdk
from fl_gen.workflow.generate import resolve_request
from fl_gen.workflow.request import Request

from .building import BUILD, CLANG, environment, lock, run, succeed, tool
from .shape_building import build_shape

SHIPPED = data_dir() / "schemas" / "vendors" / "ascend"
PROGRAMS = ("test_runtime", "test_hccl")
NEWEST, MIDDLE, OLDEST = "9.1.0", "8.5.0", "8.0.0"
NO_DEATH = "-*DeathTest.*:*RefusalTest.*:*FailureTest.*"
ASAN = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}
# Death tests start the program again each time: they run once, without a sanitizer.
RUNS: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "newest": (NEWEST, "g++", "", {}),
    "oldest-asan": (OLDEST, CLANG, "address,undefined", {"GTEST_FILTER": NO_DEATH, **ASAN}),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group(f"ascend-{name}")) for name in RUNS])
def test_the_backend_compiles_without_a_warning_and_runs(name: str) -> None:
    version, compiler, sanitize, settings = RUNS[name]
    shape = build_shape("ascend", version, programs=PROGRAMS, compiler=compiler, sanitize=sanitize)
    for program in PROGRAMS:
        shape.check(program, devices=8, **settings)  # the most that a test asks for


def test_the_selftest_passes_and_runs_operators_of_two_calls() -> None:
    shape = build_shape("ascend", NEWEST, programs=PROGRAMS)
    build = BUILD / "selftest-ascend"
    with lock("selftest-ascend"):
        succeed(
            [
                *(tool("cmake"), "-G", "Ninja", "-S", shape.generated / "selftest", "-B", build),
                f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
                f"-DCMAKE_CXX_COMPILER={tool('g++')}",
                f"-DINFINITRAIN_ASCEND_SDK_ROOT={shape.folder / 'sdk'}",
                *("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror"),
            ]
        )
        succeed([tool("ninja"), "-C", build])
    settings = {"FL_SIM_DEVICES": "2", "FL_SIM_LEAKS": "fail", "FL_SIM_QUIET": "1"}
    result = run([build / "ascend_selftest"], env=environment(**settings), timeout=300)
    told = json.loads(result.stdout)
    checks = {check["name"]: (check["result"], check["detail"]) for check in told["checks"]}
    assert result.returncode == 0, result.stderr
    assert {name: end for name, end in checks.items() if end[0] == "fail"} == {}
    casts = [name for name in checks if "cast" in name]
    assert casts
    assert {checks[name][0] for name in casts} == {"pass"}


def check(version: str, *folders: Path) -> SdkCheck:
    return check_sdk(Request(vendor="ascend", sdk=(f"sim:{version}",), output=Path("unused"), schema_dirs=folders))


def changed(folder: Path, old: str, new: str) -> Path:
    """A schema folder whose ascend has `new` in the place of `old`."""
    vendor = folder / "vendors" / "ascend"
    vendor.mkdir(parents=True)
    text = (SHIPPED / "vendor.yaml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    (vendor / "vendor.yaml").write_text(text.replace(old, new), encoding="utf-8")
    (vendor / "api.yaml").write_bytes((SHIPPED / "api.yaml").read_bytes())
    return folder


def refusal(version: str, folder: Path, operation: str) -> tuple[str, str]:
    """Why the first candidate of an operation was refused, and where: `file:line:column` without the folder."""
    found = next(one for one in check(version, folder).operations if one.name == operation)
    fault = found.rejected[0].messages[0]
    return fault.message, str(fault.location).rpartition("/")[2]


def place_of(folder: Path, text: str, part: str) -> str:
    """Where `part` stands in the line of the changed vendor file that holds `text`."""
    lines = (folder / "vendors" / "ascend" / "vendor.yaml").read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if text in line)
    return f"vendor.yaml:{number}:{lines[number - 1].index(part) + 1}"


@pytest.mark.parametrize(
    ("version", "lost"),
    [
        (NEWEST, set()),
        (
            MIDDLE,
            {
                "memory.alloc_async", "memory.free_async", "memory.pool_peak", "memory.pool_reset_peak",
                "memory.pool_retain", "ccl.group_start", "ccl.group_end",
            },
        ),
        (
            OLDEST,
            {
                "memory.alloc_async", "memory.free_async", "memory.pool_peak", "memory.pool_reset_peak",
                "memory.pool_retain", "ccl.group_start", "ccl.group_end", "stream.launch_host_func",
                "stream.priority_range",
            },
        ),
    ],
)  # fmt: skip
def test_what_a_release_lacks_takes_a_strategy(version: str, lost: set[str]) -> None:
    report = check(version)
    bound = {one.name for one in report.operations if one.chosen is not None}
    everywhere = {one.name for one in check(NEWEST).operations if one.chosen is not None}
    assert everywhere - bound == lost
    assert not report.lost


@pytest.mark.skipif(
    "ASCEND_HOME_PATH" not in os.environ, reason="no registry has CANN's headers: needs ASCEND_HOME_PATH"
)
def test_an_installed_cann_has_what_the_backend_needs() -> None:
    """Real headers, where somebody has them: every call that a simulated release has is there, and is the choice."""
    request = Request(vendor="ascend", sdk=(os.environ["ASCEND_HOME_PATH"],), output=Path("unused"))
    real = check_sdk(request)
    assert not real.lost
    present = {group.key for group in real.groups if group.present}
    pools = any(one.name == "memory.alloc_async" and one.chosen is not None for one in real.operations)
    simulated = check(NEWEST if pools else OLDEST)
    wanted = {one.name for one in simulated.operations if one.chosen is not None and one.group in present}
    assert wanted <= {one.name for one in real.operations if one.chosen is not None}


def test_the_status_of_a_stream_is_none_of_an_event(tmp_path: Path) -> None:
    """Their values are opposite: an event that is complete would read as one that is not."""
    old = "aclrtEventRecordedStatus state = ACL_EVENT_RECORDED_STATUS_NOT_READY;"
    folder = changed(tmp_path, old, "aclrtStreamStatus state = ACL_STREAM_STATUS_NOT_READY;")
    message, place = refusal(NEWEST, folder, "event.query")
    assert message.startswith("clang: no matching function for call to 'aclrtQueryEventStatus'"), message
    assert "'aclrtStreamStatus *'" in message
    assert "'aclrtEventRecordedStatus *'" in message
    assert place == place_of(folder, "aclrtQueryEventStatus(event, &state)", "&state")


def test_the_status_of_an_event_is_none_of_a_stream(tmp_path: Path) -> None:
    old = "return state == ACL_STREAM_STATUS_COMPLETE ?"
    folder = changed(tmp_path, old, "return state == ACL_EVENT_RECORDED_STATUS_COMPLETE ?")
    message, place = refusal(NEWEST, folder, "stream.query")
    assert "aclrtStreamStatus" in message, message
    assert "aclrtEventRecordedStatus" in message, message
    assert place == place_of(folder, "return state == ACL_EVENT_RECORDED_STATUS_COMPLETE ?", "==")


@pytest.mark.parametrize(
    ("operation", "old", "new", "part", "text"),
    [
        (
            "stream.wait_event",
            '"aclrtStreamWaitEvent(stream, event)"',
            '"aclrtStreamWaitEvent(event, stream)"',
            "event",
            "argument 1 of aclrtStreamWaitEvent is aclrtStream, and this is aclrtEvent; both are void * to the compiler",
        ),
        (
            "event.record",
            '"aclrtRecordEvent(event, stream)"',
            '"aclrtRecordEvent(stream, event)"',
            "stream",
            "argument 1 of aclrtRecordEvent is aclrtEvent, and this is aclrtStream; both are void * to the compiler",
        ),
        (
            "ccl.recv",
            "static_cast<uint32_t>(peer), comm, stream)\", source: \"hccl.h of CANN 8.0 to 9.1\"}\n\nhelpers:",
            "static_cast<uint32_t>(peer), stream, comm)\", source: \"hccl.h of CANN 8.0 to 9.1\"}\n\nhelpers:",
            "stream",
            "argument 5 of HcclRecv is HcclComm, and this is aclrtStream; both are void * to the compiler",
        ),
    ],
)  # fmt: skip
def test_a_handle_of_another_kind_is_refused_at_its_place(
    operation: str, old: str, new: str, part: str, text: str, tmp_path: Path
) -> None:
    folder = changed(tmp_path, old, new)
    message, place = refusal(NEWEST, folder, operation)
    assert message == text
    line = new.partition("\n")[0]
    after = line[: line.index(part, line.index("(") + 1)]
    number, column = re.fullmatch(r"vendor\.yaml:(\d+):(\d+)", place).groups()  # type: ignore[union-attr]
    written = (folder / "vendors" / "ascend" / "vendor.yaml").read_text(encoding="utf-8").splitlines()[int(number) - 1]
    assert written[: int(column) - 1].endswith(after)
    assert written[int(column) - 1 :].startswith(part)


def test_without_strict_typedefs_the_compiler_takes_one_handle_for_another(tmp_path: Path) -> None:
    """The hostile case: what the key is for. C++ alone sees `void *` twice."""
    folder = changed(tmp_path, "strict_typedefs: true\n", "")
    file = folder / "vendors" / "ascend" / "vendor.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(
        text.replace("aclrtRecordEvent(event, stream)", "aclrtRecordEvent(stream, event)"), encoding="utf-8"
    )
    found = next(one for one in check(NEWEST, folder).operations if one.name == "event.record")
    assert found.chosen is not None


def test_a_required_binding_that_is_refused_stops_the_run(tmp_path: Path) -> None:
    folder = changed(
        tmp_path / "schemas", "aclrtMemcpy(dst, size, src, size, kind)", "aclrtMemcpy(dst, src, size, kind)"
    )
    request = Request(vendor="ascend", sdk=("sim",), output=tmp_path / "out", schema_dirs=(folder,))
    with pytest.raises(SchemaError, match="memory.copy is required, and this SDK refuses its binding"):
        resolve_request(request)
    assert not (tmp_path / "out").exists()
