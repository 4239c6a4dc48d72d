"""Headers that do not parse give no verdict; the environment changes nothing; compiler headers come from anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.sdk import clang, shims
from fl_gen.sdk.items import ProbeItem, ProbeReport, SdkHeaderError
from fl_gen.sdk.probe import probe
from fl_gen.sdk.shims import Shims, minimal

Item = Callable[..., ProbeItem]
ALLOC = (("void **", "ptr"), ("size_t", "size"))


@pytest.fixture
def alloc(item: Item) -> ProbeItem:
    return item("alloc", "cnrtMalloc(ptr, size)", params=ALLOC)


def test_missing_include_means_no_verdict(sdk: Path, alloc: ProbeItem) -> None:
    """With a header missing, size_t becomes int and the rest looks fine: nothing may be concluded."""
    bare = Shims("none", "", (), {})
    with pytest.raises(SdkHeaderError) as caught:
        probe([alloc], ["cnrt.h"], [sdk], bare)
    text = caught.value.render()
    assert f"{sdk}/cnrt.h:4:10: no verdict on this SDK: clang: 'stdbool.h' file not found" in text
    assert "#include <stdbool.h>" in text
    assert caught.value.exit_code == 2


def test_missing_header_of_the_sdk_names_file_and_remedy(sdk: Path, alloc: ProbeItem) -> None:
    header = sdk / "cnrt.h"
    lines = header.read_text().splitlines()
    lines.insert(6, '#include "cn_api.h"')
    header.write_text("\n".join(lines))
    with pytest.raises(SdkHeaderError) as caught:
        probe([alloc], ["cnnl.h"], [sdk])
    error = caught.value
    assert str(error.faults[0].location) == f"{sdk}/cnrt.h:7:10"
    assert error.faults[0].text == "'cn_api.h' file not found"
    assert [place.file for place in error.faults[0].included_from] == [str(sdk / "cnnl.h")]
    assert "cn_api.h" in error.remedy
    assert str(sdk) in error.remedy
    assert f"included from {sdk}/cnnl.h:" in error.render()


def test_a_header_that_is_included_again_and_again_is_blamed_once(tmp_path: Path, alloc: ProbeItem) -> None:
    (tmp_path / "bare.h").write_text("int broken(;\n")
    for name in ("one.h", "two.h"):
        (tmp_path / name).write_text('#include "bare.h"\n')
    with pytest.raises(SdkHeaderError) as caught:
        probe([alloc], ["one.h", "two.h"], [tmp_path], minimal())
    places = [str(fault.location) for fault in caught.value.faults]
    assert places == [f"{tmp_path}/bare.h:1:12"]
    assert [place.file for place in caught.value.faults[0].included_from] == [f"{tmp_path}/one.h"]


@pytest.mark.parametrize(
    ("header", "remedy"),
    [
        ("nv/target", "give the folder that holds nv/target too"),
        ("absent.h", "give the folder that holds absent.h too"),
        ("no_such_part", "install a C++ compiler"),
        ("sys/absent.h", "install a C++ compiler"),
    ],
)
def test_the_remedy_tells_a_package_from_a_compiler(sdk: Path, alloc: ProbeItem, header: str, remedy: str) -> None:
    (sdk / "cnrt.h").write_text(f"#include <{header}>\n" + (sdk / "cnrt.h").read_text())
    with pytest.raises(SdkHeaderError) as caught:
        probe([alloc], ["cnrt.h"], [sdk], minimal())
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    "line",
    [
        '#pragma GCC diagnostic ignored "-Wconversion"',
        '#pragma GCC diagnostic warning "-Wconversion"',
        '#pragma clang diagnostic ignored "-Weverything"',
        '_Pragma("clang diagnostic ignored \\"-Wshorten-64-to-32\\"")',
        "#pragma GCC system_header",
    ],
)
def test_a_warning_that_a_header_leaves_switched_off_is_on_for_the_candidates(
    tmp_path: Path, item: Callable[..., ProbeItem], line: str
) -> None:
    old = 'enum old_t { old_ok }; __attribute__((deprecated("use take2"))) void old(unsigned long size);'
    off = '#pragma clang diagnostic ignored "-Wdeprecated-declarations"'
    (tmp_path / "quiet.h").write_text(f"{line}\n{off}\nvoid take(int size);\n{old}\n")
    cut = item("cut", "take(size)", returns="void", params=(("size_t", "size"),))
    aged = item("aged", "old(size)", returns="void", params=(("size_t", "size"),))
    found = probe([cut, aged], ["quiet.h"], [tmp_path], minimal())
    assert [one.message for one in found.verdicts["cut"].diagnostics] == [
        "clang: implicit conversion loses integer precision: 'size_t' (aka 'unsigned long') to 'int'"
    ]
    assert found.verdicts["aged"].deprecated == "'old' is deprecated: use take2"


def test_macros_of_a_header_with_names_of_the_probe_do_no_harm(tmp_path: Path, item: Callable[..., ProbeItem]) -> None:
    (tmp_path / "macros.h").write_text("#define T 5\n#define int32_t int\nvoid take(unsigned long size);\n")
    good = item("good", "take(size)", returns="void", params=(("size_t", "size"),))
    assert probe([good], ["macros.h"], [tmp_path], minimal()).verdicts["good"].ok


def test_words_of_cstdint_need_no_header(tmp_path: Path, item: Callable[..., ProbeItem]) -> None:
    """The vocabulary's types are there though the SDK includes nothing, and are the types that it would have."""
    (tmp_path / "bare.h").write_text("void take(unsigned long *bytes, unsigned int *number, unsigned long size);\n")
    params = (("uint64_t *", "bytes"), ("uint32_t *", "number"), ("size_t", "size"))
    good = item("good", "take(bytes, number, size)", returns="void", params=params)
    wrong = item("wrong", "take(number, number, size)", returns="void", params=params)
    found = probe([good, wrong], ["bare.h"], [tmp_path], Shims("none", "", (), {}))
    assert {name: verdict.ok for name, verdict in found.verdicts.items()} == {"good": True, "wrong": False}


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("#define crtProps crtProps_v2\n", [("crtProps", 1, ""), ("crtProps_v2", 4, "void crtProps_v2(int *props)")]),
        ("#define crtProps crtOther // new\n#define crtOther crtProps_v2 /* x */\n",
         [("crtProps", 1, ""), ("crtProps_v2", 4, "void crtProps_v2(int *props)")]),
        ("#define crtProps(p) crtProps_v2(p)\n", [("crtProps", 1, "")]),
        ("void crtProps(int *props);\n", [("crtProps", 1, "void crtProps(int *props)")]),
    ],
    ids=["a macro", "by two steps", "with parameters", "no macro"],
)  # fmt: skip
def test_what_stands_behind_a_macro(
    tmp_path: Path, item: Callable[..., ProbeItem], text: str, used: list[tuple[str, int, str]]
) -> None:
    head = text + "\n" * (3 - text.count("\n"))
    (tmp_path / "crt.h").write_text(head + "void crtProps_v2(int *props);\n")
    call = item("call", "crtProps(props)", returns="void", params=(("int *", "props"),))
    verdict = probe([call], ["crt.h"], [tmp_path], Shims("none", "", (), {})).verdicts["call"]
    assert [(use.name, use.line, use.signature) for use in verdict.declarations] == used


def test_error_that_is_not_fatal_means_no_verdict_too(sdk: Path, alloc: ProbeItem) -> None:
    header = sdk / "cnrt.h"
    header.write_text(
        header.read_text().replace("cnrtMalloc(void **pPtr, size_t bytes)", "cnrtMalloc(void **, sizet b)")
    )
    with pytest.raises(SdkHeaderError) as caught:
        probe([alloc], ["cnrt.h"], [sdk], minimal())
    assert "unknown type name 'sizet'" in caught.value.render()
    assert "repair" in caught.value.remedy


def test_line_directives_do_not_move_errors(sdk: Path, item: Item, alloc: ProbeItem) -> None:
    """A generated header may hold #line; physical places are what counts."""
    header = sdk / "cnrt.h"
    lines = header.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if "cnrtFree(void" in line)
    header.write_text("\n".join([*lines[:at], '#line 1 "/__fl_gen_probe__/probe.cc"', *lines[at:]]) + "\n")
    report = probe([alloc, item("bad", "cnrtNope()")], ["cnrt.h"], [sdk], minimal())
    assert report.verdicts["alloc"].ok
    assert "cnrtNope" in report.verdicts["bad"].diagnostics[0].message
    use = probe([item("free", "cnrtFree(p)", params=[("void *", "p")])], ["cnrt.h"], [sdk], minimal())
    assert use.verdicts["free"].declarations[0].line == at + 2
    broken = header.read_text().replace("cnrtFree(void *ptr)", "cnrtFree(voidd *ptr)")
    header.write_text(broken)
    with pytest.raises(SdkHeaderError) as caught:
        probe([alloc], ["cnrt.h"], [sdk], minimal())
    assert caught.value.faults[0].location.line == at + 2


def test_absent_header(sdk: Path, alloc: ProbeItem) -> None:
    with pytest.raises(SdkHeaderError) as caught:
        probe([alloc], ["cnrt.h", "cnrt_extra.h"], [sdk])
    assert "cnrt_extra.h:1:1: no verdict on this SDK: clang: 'cnrt_extra.h' file not found" in caught.value.render()


def test_header_name_cannot_hold_code(sdk: Path) -> None:
    for name in ("x>\nint evil;\n#include <y", "", 'a"b'):
        with pytest.raises(ValueError, match="not a header name"):
            probe([], [name], [sdk], minimal())


@pytest.mark.parametrize("variable", ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS"])
def test_environment_does_not_reach_the_parse(
    sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alloc: ProbeItem, item: Item, variable: str
) -> None:
    """CPATH and its kin would put other headers in front, or other options on the command line."""
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("cnrt.h", "stdint.h", "stddef.h", "stdbool.h", "only_in_trap.h"):
        (trap / name).write_text('#error "trap"\n')
    value = f"+-I{trap} +-DcnrtMalloc=trap +-Werror" if variable == "CCC_OVERRIDE_OPTIONS" else str(trap)
    monkeypatch.setenv(variable, value)
    report = probe([alloc, item("bad", "cnrtNope()")], ["cnrt.h"], [sdk])
    assert report.verdicts["alloc"].ok
    assert not report.verdicts["bad"].ok
    assert not any(header.path.startswith(str(trap)) for header in report.headers_read)
    with pytest.raises(SdkHeaderError, match="only_in_trap"):
        probe([alloc], ["only_in_trap.h"], [sdk])
    assert os.environ[variable] == value, "the caller's environment is given back"


def test_headers_in_memory_need_no_disk(item: Item, alloc: ProbeItem) -> None:
    source = Path(__file__).parent / "headers"
    memory = {f"/__sim__/include/{name}": (source / name).read_text() for name in ("cnrt.h", "cnnl.h")}
    report = probe(
        [alloc, item("handle", "cnnlCreate(h)", returns="cnnlStatus_t", params=[("cnnlHandle_t *", "h")])],
        ["cnrt.h", "cnnl.h"],
        ["/__sim__/include"],
        memory=memory,
    )
    assert all(verdict.ok for verdict in report.verdicts.values())
    assert [header.name for header in report.headers_read if header.sdk] == ["cnnl.h", "cnrt.h"]
    assert report.verdicts["alloc"].declarations[0].header == "cnrt.h"


def test_digest_is_of_the_sdks_headers_alone(sdk: Path, tmp_path: Path, alloc: ProbeItem) -> None:
    source = {name: (sdk / name).read_text() for name in ("cnrt.h",)}
    here = probe([alloc], ["cnrt.h"], [sdk]).sdk_digest
    there = probe([alloc], ["cnrt.h"], ["/m"], minimal(), memory={"/m/cnrt.h": source["cnrt.h"]}).sdk_digest
    assert here == there
    (sdk / "cnrt.h").write_text(source["cnrt.h"] + "\n")
    assert probe([alloc], ["cnrt.h"], [sdk]).sdk_digest != here


def test_compiler_headers_are_named(sdk: Path, alloc: ProbeItem, monkeypatch: pytest.MonkeyPatch) -> None:
    assert probe([alloc], ["cnrt.h"], [sdk], minimal()).resource_headers == "minimal headers built into fl-gen"
    monkeypatch.setenv(shims.OVERRIDE, "minimal")
    assert probe([alloc], ["cnrt.h"], [sdk]).resource_headers == "minimal headers built into fl-gen"
    assert probe([alloc], ["cnrt.h"], [sdk]).libclang.startswith("clang version")


def test_next_headers_are_tried_when_the_first_do_not_do(sdk: Path, alloc: ProbeItem) -> None:
    report = probe([alloc], ["cnrt.h"], [sdk], [Shims("none", "", (), {}), minimal()])
    assert report.verdicts["alloc"].ok
    assert report.resource_headers.startswith("minimal")


def test_installed_compilers_headers_are_found_without_running_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler on PATH in an unusual place; the newest version wins; nothing is executed."""
    for version in ("9", "10"):
        folder = tmp_path / "lib" / "clang" / version / "include"
        folder.mkdir(parents=True)
        (folder / "stddef.h").write_text("")
    program = tmp_path / "bin" / "clang"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 9\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    first = shims.tiers()[0]
    assert first.where == str(tmp_path / "lib" / "clang" / "10" / "include")
    assert first.name == "resource headers of clang 10"
    assert shims.tiers()[-1].name == minimal().name


def test_without_any_compiler(monkeypatch: pytest.MonkeyPatch, sdk: Path, alloc: ProbeItem) -> None:
    for name in ("_CLANG_GLOBS", "_GCC_GLOBS", "_C_GLOBS", "_CXX_GLOBS"):
        monkeypatch.setattr(shims, name, ())
    monkeypatch.setenv("PATH", "/nowhere")
    assert [one.name for one in shims.tiers()] == [minimal().name]
    assert probe([alloc], ["cnrt.h"], [sdk]).verdicts["alloc"].ok


C_HEADERS = (
    "assert.h ctype.h errno.h float.h inttypes.h limits.h math.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h"
)


@pytest.mark.parametrize("which", ["installed", "minimal"])
def test_c_library_headers_work(tmp_path: Path, item: Item, which: str) -> None:
    sets = [minimal()] if which == "minimal" else list(shims.tiers()[:1])
    names = [name for name in [*C_HEADERS.split(), "string.h", "time.h"] if name != "ctype.h"]
    (tmp_path / "sdk.h").write_text(
        "".join(f"#include <{name}>\n" for name in names)
        + "typedef struct { FILE *file; uint64_t id; va_list *list; size_t size; bool flag; } sdk_t;\n"
        + 'extern "C" int sdkUse(sdk_t *sdk, int64_t count, uint8_t small);\n'
        + "inline void sdkCopy(void *d, const void *s) { memcpy(d, s, (size_t)INT_MAX); free(malloc(UINT64_C(8))); }\n"
    )
    report = probe(
        [
            item("ok", "sdkUse(s, INT64_MAX, UINT8_MAX)", returns="int", params=[("sdk_t *", "s")]),
            item("narrow", "sdkUse(s, 1, n)", returns="int", params=[("sdk_t *", "s"), ("uint16_t", "n")]),
            item("limit", "UINT32_MAX", "constant", "unsigned int"),
            item("size", "SIZE_MAX", "constant", "size_t"),
        ],
        ["sdk.h"],
        [tmp_path],
        sets,
    )
    assert {id_ for id_, verdict in report.verdicts.items() if verdict.ok} == {"ok", "limit", "size"}
    own = [header for header in report.headers_read if header.sdk]
    assert [header.name for header in own] == ["sdk.h"]


def test_minimal_headers_give_the_same_types(tmp_path: Path, item: Item) -> None:
    """A typedef of ours that differs from the compiler's own would be a wrong verdict."""
    if len(shims.tiers()) < 2:
        pytest.skip("no compiler's headers here")
    names = [f"{s}int{b}_t" for s in ("", "u") for b in (8, 16, 32, 64)] + [
        "size_t",
        "intptr_t",
        "uintptr_t",
        "ptrdiff_t",
    ]
    (tmp_path / "sdk.h").write_text("#include <stdint.h>\n#include <stddef.h>\n")
    from fl_gen.sdk.unit import MAIN_FILE

    def canonical(one: Shims) -> list[str]:
        text = "#include <stdint.h>\n#include <stddef.h>\n" + "".join(f"extern {n} v_{n};\n" for n in names)
        parsed = clang.parse(MAIN_FILE, text.encode(), [a for d in one.dirs for a in ("-isystem", d)], one.files)
        assert not parsed.errors
        found = {c.spelling: c.type.get_canonical().spelling for c in parsed.unit.cursor.get_children()}
        return [found[f"v_{name}"] for name in names]

    assert canonical(minimal()) == canonical(shims.tiers()[0])


def test_cxx_headers_are_used_when_an_sdk_wants_them(tmp_path: Path, item: Item) -> None:
    if not any("C++" in one.name for one in shims.tiers()):
        pytest.skip("no C++ library here")
    (tmp_path / "sdk.h").write_text("#include <memory>\n#include <cstdlib>\nint sdkUse(std::unique_ptr<int> p);\n")
    report = probe([item("use", "sdkUse(nullptr)", returns="int")], ["sdk.h"], [tmp_path])
    assert report.verdicts["use"].ok
    assert "C++" in report.resource_headers


def test_probe_is_the_same_in_another_process(sdk: Path) -> None:
    """Same words, same order, whatever the hash seed."""
    code = """
import sys
from fl_gen.schema.location import Location
from fl_gen.sdk.items import ProbeItem
from fl_gen.sdk.probe import probe
def make(name, code):
    return ProbeItem(name, "cnrtRet_t", (), code, "expr", (), Location("v"), lambda o: Location("v", 1, o + 1))
codes = ["cnrtDeviceSync()", "cnrtSyncDevice()", "cnrtQueueSync(1)"]
print(probe([make(str(n), c) for n, c in enumerate(codes)], ["cnrt.h", "cnnl.h"], [sys.argv[1]]))
"""
    outputs = set()
    for seed in ("0", "1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(clang.__file__).parents[2])}
        run = subprocess.run(
            [sys.executable, "-c", code, str(sdk)], env=env, capture_output=True, text=True, check=True, timeout=120
        )
        assert run.stderr == ""
        outputs.add(run.stdout)
    assert len(outputs) == 1
    assert "did you mean" in outputs.pop()


def test_type_of_report(sdk: Path, alloc: ProbeItem) -> None:
    report = probe([alloc], ["cnrt.h"], [sdk])
    assert isinstance(report, ProbeReport)
    assert not report.cached
    assert report.parses == 1, "without a fault the first parse is the proof"
