"""No candidate can hide another, blame another or smuggle in what the SDK does not have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fl_gen.sdk.items import Form, ProbeItem, ProbeReport
from fl_gen.sdk.probe import probe
from fl_gen.sdk.shims import minimal

Item = Callable[..., ProbeItem]
Ask = Callable[..., ProbeReport]

HOSTILE: list[tuple[str, str, Form]] = [
    ("unbalanced open", "if (true) { cnrtSyncDevice();", "body"),
    ("closes its function", "return cnrtSyncDevice(); } cnrtRet_t evil() { return cnrtSuccess;", "body"),
    ("closes everything", "return cnrtSuccess; }}}", "body"),
    ("comment out the rest", "cnrtSyncDevice() /*", "expr"),
    ("comment out the line", "cnrtSyncDevice() //", "expr"),
    ("string open", 'return cnrtGetErrorStr("', "body"),
    ("line", '#line 1 "vendor.yaml"\nreturn cnrtNope();', "body"),
    ("define", "#define cnrtMalloc(a, b) cnrtSuccess\nreturn cnrtSuccess;", "body"),
    ("undef", "#undef CNRT_NOTIFIER_DEFAULT\nreturn cnrtSuccess;", "body"),
    ("include", "#include <stdio.h>\nreturn cnrtSuccess;", "body"),
    ("endif", "#if 0\nreturn cnrtSuccess;", "body"),
    ("silence by pragma", '_Pragma("clang diagnostic ignored \\"-Weverything\\"") return cnrtSuccess;', "body"),
    ("own prototype", "extern cnrtRet_t cnrtNope(); return cnrtNope();", "body"),
    ("own prototype without extern", "cnrtRet_t cnrtNope(); return cnrtNope();", "body"),
    (
        "own prototype of a pointer",
        "const char *cnrtNope(int); return cnrtNope(1) ? cnrtSuccess : cnrtSuccess;",
        "body",
    ),
    ("own prototype inside", "if (true) { cnrtRet_t cnrtNope(); return cnrtNope(); } return cnrtSuccess;", "body"),
    ("missing name", "return cnrtNope();", "body"),
    ("no return", "cnrtSyncDevice();", "body"),
    ("carriage return line", "cnrtSyncDevice()\r//", "expr"),
    ("two expressions", "cnrtNope(), cnrtSyncDevice()", "expr"),
    ("type that goes on", "int; using size_t = char", "type"),
    ("type with a body", "struct evil { int x; }", "type"),
    ("helper that declares", "cnrtRet_t cnrtNope();", "helper"),
    ("helper that closes", "} namespace fl {", "helper"),
    ("helper of a broken kind", "int f() { return cnrtNope(); }", "helper"),
]
VICTIMS: list[tuple[str, str, Form, str]] = [
    ("victim expr", "cnrtMalloc(ptr, size)", "expr", "cnrtRet_t"),
    ("victim body", "void *p = nullptr;\nreturn cnrtMalloc(&p, size);", "body", "cnrtRet_t"),
    ("victim constant", "cnrtMemcpyHostToDev", "constant", "cnrtMemTransDir_t"),
    ("victim type", "cnrtQueue_t", "type", ""),
]
PARAMS = (("void **", "ptr"), ("size_t", "size"))


@pytest.mark.parametrize(("code", "form"), [h[1:] for h in HOSTILE], ids=[h[0] for h in HOSTILE])
def test_hostile_candidate_hurts_only_itself(item: Item, ask: Ask, code: str, form: Form) -> None:
    victims = [item(name, text, kind, returns, PARAMS) for name, text, kind, returns in VICTIMS]
    bad = item("bad", "cnrtNope2()", params=PARAMS)
    report = ask(victims[0], victims[1], item("hostile", code, form), victims[2], victims[3], bad)
    assert not report.verdicts["hostile"].ok, "accepted"
    assert [v.id for v in victims if not report.verdicts[v.id].ok] == []
    assert "cnrtNope2" in report.verdicts["bad"].diagnostics[0].message


SWALLOW = """
#define SDK_BEGIN {
#define SDK_END }
#define SDK_OPEN (
#define SDK_QUIET _Pragma("clang diagnostic ignored \\"-Wconversion\\"")
"""


@pytest.mark.parametrize(
    "code",
    ["SDK_BEGIN return cnrtSuccess;", "return cnrtSuccess; SDK_END", "return cnrtSyncDevice SDK_OPEN ;"],
    ids=["opens", "closes", "parenthesis"],
)
def test_macro_that_swallows_the_next(item: Item, sdk: Path, code: str) -> None:
    """A macro of the SDK can hold a bracket that no lexer sees; the tree shows who is not where it was put."""
    header = sdk / "cnrt.h"
    header.write_text(header.read_text() + SWALLOW)
    items = [
        item("before", "cnrtSyncDevice()", group="g"),
        item("swallow", code, "body"),
        item("next", "cnrtMalloc(ptr, size)", params=PARAMS),
        item("wrong", "cnrtNope()", params=PARAMS, group="g"),
        item("last", "cnrtSetDevice(1)"),
    ]
    report = probe(items, ["cnrt.h"], [sdk], minimal())
    assert {id_ for id_, verdict in report.verdicts.items() if verdict.ok} == {"before", "next", "last"}
    assert "cnrtNope" in report.verdicts["wrong"].diagnostics[0].message
    assert report.parses > 2  # the doubtful ones were parsed alone


def test_the_chosen_are_parsed_without_the_others(item: Item, sdk: Path) -> None:
    """A refused candidate may have silenced a warning for all that came after it."""
    header = sdk / "cnrt.h"
    header.write_text(header.read_text() + SWALLOW)
    items = [
        item("quiet", "SDK_QUIET return cnrtNope();", "body"),
        item("narrow", "cnrtSetDevice(device)", params=[("long long", "device")]),
        item("ok", "cnrtSyncDevice()"),
    ]
    report = probe(items, ["cnrt.h"], [sdk], minimal())
    assert "loses integer precision" in report.verdicts["narrow"].diagnostics[0].message
    assert {id_ for id_, verdict in report.verdicts.items() if verdict.ok} == {"ok"}


def test_closing_and_reopening_macros_are_seen_by_extent(item: Item, sdk: Path) -> None:
    """Balanced on the whole, and no error anywhere: only the extent tells that this is not one function."""
    header = sdk / "cnrt.h"
    header.write_text(header.read_text() + "\n#define SDK_SPLIT return cnrtSuccess; } inline cnrtRet_t sdk_more() {\n")
    report = probe(
        [item("split", "SDK_SPLIT return cnrtSuccess;", "body"), item("ok", "cnrtSyncDevice()")],
        ["cnrt.h"],
        [sdk],
        minimal(),
    )
    assert not report.verdicts["split"].ok
    assert "does not stay inside its own function" in report.verdicts["split"].diagnostics[0].message
    assert report.verdicts["ok"].ok


def test_error_inside_a_macro_of_the_sdk_is_the_users(item: Item, sdk: Path) -> None:
    header = sdk / "cnrt.h"
    header.write_text(header.read_text() + "\n#define SDK_COPY(d, s, n) cnrtMemcpy(d, s, n, wrong_direction)\n")
    report = probe(
        [item("copy", "SDK_COPY(d, s, 1)", params=[("void *", "d"), ("void *", "s")]), item("ok", "cnrtSyncDevice()")],
        ["cnrt.h"],
        [sdk],
        minimal(),
    )
    assert "wrong_direction" in report.verdicts["copy"].diagnostics[0].message
    assert report.verdicts["copy"].diagnostics[0].location.column == 11
    assert report.verdicts["ok"].ok


def test_error_in_a_template_of_the_sdk_is_the_callers(item: Item, sdk: Path) -> None:
    """The error stands in the header; a note leads to the call."""
    header = sdk / "mcr" / "mc_runtime.h"
    text = header.read_text().rstrip().removesuffix("#endif")
    header.write_text(
        text + "template <typename T> inline mcError_t mcUse(T v) { return mcInit(v.missing); }\n#endif\n"
    )
    report = probe(
        [
            item("use", "mcError_t r = mcSuccess; r = mcUse(1); return r;", "body", "mcError_t"),
            item("ok", "mcInit(0)", returns="mcError_t"),
        ],
        ["mcr/mc_runtime.h"],
        [sdk],
        minimal(),
    )
    diagnostic = report.verdicts["use"].diagnostics[0]
    assert "member reference base type 'int'" in diagnostic.message
    assert diagnostic.location.column == 11 + len("mcError_t r = mcSuccess; r = ")
    assert report.verdicts["ok"].ok


def test_fatal_error_does_not_silence_the_rest(item: Item, sdk: Path) -> None:
    """After a fatal error clang reports nothing more; a later fault must be found all the same."""
    header = sdk / "mcr" / "mc_runtime.h"
    text = header.read_text().rstrip().removesuffix("#endif")
    header.write_text(text + "template <int N> struct mcDeep { static const int v = mcDeep<N + 1>::v; };\n#endif\n")
    report = probe(
        [
            item("fatal", "mcDeep<0>::v", returns="int"),
            item("ok", "mcInit(0)", returns="mcError_t", group="init"),
            item("wrong", "mcNope(0)", returns="mcError_t", group="init"),
        ],
        ["mcr/mc_runtime.h"],
        [sdk],
        minimal(),
    )
    assert not report.verdicts["fatal"].ok
    assert report.chosen["init"] == "ok"
    assert "mcNope" in report.verdicts["wrong"].diagnostics[0].message, "an alternative that is not chosen counts too"


def test_more_faults_than_clang_shows_by_default(item: Item, ask: Ask) -> None:
    report = ask(*(item(f"x{n}", f"cnrtNope{n}()") for n in range(60)), item("ok", "cnrtSyncDevice()"))
    assert all(f"cnrtNope{n}'" in report.verdicts[f"x{n}"].diagnostics[0].message for n in range(60))
    assert report.verdicts["ok"].ok


BRACKETS = ["(", ")", "{", "}", "[", "]", ";", ",", '"', "'", "//", "/*", "*/", "#", "\n", "\\", "??/", "<%", 'R"(']
WORDS = ["cnrtSyncDevice()", "return", "cnrtSuccess", "extern", "struct s", "=", "::", "$x", "0x", "->", " "]
PIECES = st.sampled_from([*BRACKETS, *WORDS, "é", "\x00", "\r", "\u202e"])


@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(PIECES, max_size=12), form=st.sampled_from(["expr", "body", "type", "constant", "helper"]))
def test_any_text_leaves_its_neighbours_alone(pieces: list[str], form: Form) -> None:
    code = "".join(pieces)
    headers = {"/__sdk__/cnrt.h": (Path(__file__).parent / "headers" / "cnrt.h").read_text()}

    def make(id_: str, text: str, kind: Form, returns: str = "cnrtRet_t") -> ProbeItem:
        from fl_gen.schema.location import Location

        return ProbeItem(id_, returns, (), text, kind, (), Location("v.yaml"), lambda o: Location("v.yaml", 1, o + 1))

    report = probe(
        [make("before", "cnrtSyncDevice()", "expr"), make("any", code, form), make("after", "cnrtNope()", "expr")],
        ["cnrt.h"],
        ["/__sdk__"],
        minimal(),
        memory=headers,
    )
    assert report.verdicts["before"].ok
    assert "cnrtNope" in report.verdicts["after"].diagnostics[0].message
