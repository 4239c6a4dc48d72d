"""`extends:` and `with:`: a vendor that takes a base's keys over, and everything that may be wrong with that."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fl_gen.schema.api_spec import load_api_data
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import SchemaError
from fl_gen.schema.paths import data_dir
from fl_gen.schema.vendor_spec import load_vendor
from unit.schema.samples import API, API_BASE, API_EXTENDS, VENDOR, VENDOR_BASE, VENDOR_EXTENDS

Write = Callable[..., str]
Failure = Callable[..., str]
BASE, OWN = "bases/crt_like/vendor.yaml", "vendors/chip/vendor.yaml"
API_BASE_FILE, API_OWN = "bases/crt_like/api.yaml", "vendors/chip/api.yaml"


@pytest.fixture
def vendor(write: Write) -> Callable[..., str]:
    """Writes a base and a vendor, each with changes (old text, new text), and gives the vendor's path."""

    def writer(own: tuple[tuple[str, str], ...] = (), base: tuple[tuple[str, str], ...] = ()) -> str:
        write(changed(VENDOR_BASE, base), BASE)
        return write(changed(VENDOR_EXTENDS, own), OWN)

    return writer


@pytest.fixture
def api(write: Write) -> Callable[..., str]:
    """The same for api files."""

    def writer(own: tuple[tuple[str, str], ...] = (), base: tuple[tuple[str, str], ...] = ()) -> str:
        write(changed(API_BASE, base), API_BASE_FILE)
        return write(changed(API_EXTENDS, own), API_OWN)

    return writer


def changed(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    return text


def lines(text: str) -> list[str]:
    """The located first lines of what the user reads, and the remedies."""
    return [line for line in text.splitlines() if line.startswith("  = ") or ".yaml:" in line]


def without_places(value: Any) -> str:
    import re

    return re.sub(r"Location\([^)]*\)", "", repr(value))


def test_a_vendor_with_a_base_is_the_vendor_that_says_it_all_itself(write: Write, vendor: Callable[..., str]) -> None:
    assert without_places(load_vendor(vendor())) == without_places(load_vendor(write(VENDOR)))


def test_an_api_with_a_base_is_the_api_that_says_it_all_itself(write: Write, api: Callable[..., str]) -> None:
    mine, theirs = load_api_data(api()), load_api_data(write(API))
    # One more section is the only difference: the item that the base does not have.
    first, second = mine["headers"][0]["sections"]
    assert (*first["items"], *second["items"]) == theirs["headers"][0]["sections"][0]["items"]
    assert len(first["items"]) == len(second["items"]) == 1
    assert {**mine, "headers": ()} == {**theirs, "headers": ()}


def test_places_are_where_the_text_was_written(vendor: Callable[..., str]) -> None:
    found = load_vendor(vendor())
    assert str(found.location) == f"{OWN}:1:1"
    assert str(found.title) == "Some Chip"
    (candidate,) = found.bindings["device.count"]
    code = candidate.code
    written = VENDOR_BASE.splitlines()
    for word, place in (
        ("crtResult_t", "${runtime}Result_t"),
        ("= crtCount", "= ${runtime}Count"),
        ("value)", "value)"),
    ):
        at = code.locate(code.value.index(word))
        assert at.file == BASE
        assert written[at.line - 1][at.column - 1 :].startswith(place)
        assert str(at.via) == f"{OWN}:2:10"
    # Every character, also behind two placeholders on one line and at the end.
    line = code.value.splitlines()[1]
    start = code.value.index(line)
    ends = [code.locate(start + index).column for index in range(len(line))]
    assert ends == sorted(ends)
    assert ends[-1] == len(written[code.locate(start).line - 1])
    assert str(found.bindings.location_of("memory.alloc_async")).startswith(f"{OWN}:")


def test_a_problem_in_the_text_of_a_base_names_who_extends_it(vendor: Callable[..., str], failure: Failure) -> None:
    path = vendor(base=(("text: ${runtime}ErrorText(status)", "text: ${runtime}ErrorText(code)"),))
    assert failure(load_vendor, path) == textwrap.dedent("""\
        bases/crt_like/vendor.yaml:24:11: 'text' must use the name status
           24 |     text: ${runtime}ErrorText(code)
              |           ^~~~~~~~~~~~~~~~~~~~~~~~~
          = as in: cnrtGetErrorStr(status)
        vendors/chip/vendor.yaml:2:10: note: the base is extended here
            2 | extends: crt_like
              |          ^""")


def test_null_removes_a_key(vendor: Callable[..., str]) -> None:
    path = vendor(own=(("bindings:\n", "bindings:\n  device.count: null\n"),))
    assert list(load_vendor(path).bindings) == ["memory.alloc_async"]


def test_a_helper_of_the_base_may_be_left_over(vendor: Callable[..., str], failure: Failure) -> None:
    helper = "helpers:\n  widen: {code: int widen();, doc: d, source: s}\n"
    use = ("      certainty: ${sure}\n", "      helpers: [widen]\n      certainty: ${sure}\n")
    base = (("bindings:\n", helper + "bindings:\n"), use)
    assert list(load_vendor(vendor(base=base)).helpers) == ["widen"]
    gone = (("bindings:\n", "bindings:\n  device.count: null\n"),)
    assert list(load_vendor(vendor(gone, base)).helpers) == ["widen"]
    own = (("bindings:\n", helper + "bindings:\n"),)
    assert lines(failure(load_vendor, vendor(own))) == [
        f"{OWN}:10:3: no candidate uses the helper 'widen'",
        "  = remove it, or name it in helpers:",
    ]


def test_null_for_a_key_that_is_needed(vendor: Callable[..., str], failure: Failure) -> None:
    path = vendor(own=(("title: Some Chip", "title: Some Chip\nautocast_dtype: null"),))
    assert failure(load_vendor, path) == textwrap.dedent("""\
        vendors/chip/vendor.yaml:1:1: a vendor file needs the key 'autocast_dtype'
            1 | schema: 1
              | ^
          = autocast_dtype: dtype of mixed precision when the user names none
        vendors/chip/vendor.yaml:6:17: note: this null removes it
            6 | autocast_dtype: null
              |                 ^""")


def with_(value: str) -> tuple[tuple[str, str], ...]:
    return (("with: {runtime: crt, told: a header}", f"with: {value}"),)


LONG = "x" * 65
VENDOR_MISTAKES: list[tuple[str, tuple[tuple[str, str], ...], tuple[tuple[str, str], ...], list[str]]] = [
    ("unknown base", (("extends: crt_like", "extends: ctr_like"),), (),
     [f"{OWN}:2:10: unknown base 'ctr_like'", "  = did you mean 'crt_like'?"]),
    ("a path", (("extends: crt_like", "extends: ../x"),), (),
     [f"{OWN}:2:10: 'extends' must be the name of a base, not '../x'",
      "  = a folder below bases/: lower case letters, digits and _, at most 64"]),
    ("a path inside", (("extends: crt_like", "extends: crt_like/../crt_like"),), (),
     [f"{OWN}:2:10: 'extends' must be the name of a base, not 'crt_like/../crt_like'",
      "  = a folder below bases/: lower case letters, digits and _, at most 64"]),
    ("a long name", (("extends: crt_like", "extends: " + "x" * 300),), (),
     [f"{OWN}:2:10: 'extends' must be the name of a base, not '{'x' * 59}…'",
      "  = a folder below bases/: lower case letters, digits and _, at most 64"]),
    ("a list", (("extends: crt_like", "extends: [crt_like]"),), (),
     [f"{OWN}:2:10: 'extends' must be the name of a base, not a list"]),
    ("null", (("extends: crt_like", "extends: null"),), (),
     [f"{OWN}:2:10: 'extends' must be the name of a base, not nothing"]),
    ("parameters without extends", (("extends: crt_like\n", ""),), (),
     [f"{OWN}:2:1: 'with' needs 'extends'", "  = add extends: and the name of a base, or remove this key"]),
    ("nothing given", (("with: {runtime: crt, told: a header}\n", ""),), (),
     [f"{OWN}:2:10: the base crt_like needs the parameter 'runtime'", "  = in with: runtime: prefix of the runtime",
      f"{OWN}:2:10: the base crt_like needs the parameter 'told'", "  = in with: told: where it is known from"]),
    ("a missing parameter", with_("{told: a header}"), (),
     [f"{OWN}:3:1: the base crt_like needs the parameter 'runtime'", "  = in with: runtime: prefix of the runtime"]),
    ("an unknown parameter", with_("{runtime: crt, told: a header, runtim: x}"), (),
     [f"{OWN}:3:38: the base crt_like has no parameter 'runtim'", "  = did you mean 'runtime'?"]),
    ("a parameter twice", with_("{runtime: crt, told: a header, runtime: x}"), (),
     [f"{OWN}:3:38: duplicate key 'runtime'", "  = remove or rename one of the two", f"{OWN}:3:8: note: the first one is here"]),
    ("quotes", with_("{runtime: 'c\"rt', told: a header}"), (),
     [f"{OWN}:3:17: the parameter 'runtime' must be part of a C++ name, not 'c\"rt'",
      "  = letters, digits and _ only, as in: cuda"]),
    ("code", with_("{runtime: 'crtInit(); system(0); crt', told: a header}"), (),
     [f"{OWN}:3:17: the parameter 'runtime' must be part of a C++ name, not 'crtInit(); system(0); crt'",
      "  = letters, digits and _ only, as in: cuda"]),
    ("a line end", with_('{runtime: "crt\\ncrt", told: a header}'), (),
     [f"{OWN}:3:17: 'runtime' must be text on one line"]),
    ("a blank", with_("{runtime: c rt, told: a header}"), (),
     [f"{OWN}:3:17: the parameter 'runtime' must be part of a C++ name, not 'c rt'",
      "  = letters, digits and _ only, as in: cuda"]),
    ("nothing", with_("{runtime: '', told: a header}"), (),
     [f"{OWN}:3:17: the parameter 'runtime' must be part of a C++ name, not ''",
      "  = letters, digits and _ only, as in: cuda"]),
    ("a null parameter", with_("{runtime: null, told: a header}"), (),
     [f"{OWN}:3:17: 'runtime' must be text, not nothing"]),
    ("a list as parameter", with_("{runtime: [crt], told: a header}"), (),
     [f"{OWN}:3:17: 'runtime' must be text, not a list"]),
    ("a placeholder as parameter", with_("{runtime: '${runtime}', told: a header}"), (),
     [f"{OWN}:3:17: the parameter 'runtime' must be part of a C++ name, not '${{runtime}}'",
      "  = letters, digits and _ only, as in: cuda"]),
    ("a long parameter", with_(f"{{runtime: {LONG}, told: a header}}"), (),
     [f"{OWN}:3:17: the parameter 'runtime' is longer than 64 characters", "  = make it shorter"]),
    ("prose that ends a comment", with_("{runtime: crt, told: 'a */ int x;'}"), (),
     [f"{OWN}:3:28: the parameter 'told' may not hold '*/'", "  = write plain text"]),
    ("a choice", with_("{runtime: crt, told: a header, sure: certian}"), (),
     [f"{OWN}:3:44: the parameter 'sure' must be one of certain, inferred, not 'certian'", "  = did you mean 'certain'?"]),
    ("a placeholder in the vendor", (("title: Some Chip", "title: 'Some ${runtime}'"),), (),
     [f"{OWN}:5:14: placeholders are replaced in a base, not in the file that extends it", "  = write the name out"]),
    ("null that removes nothing", (("bindings:\n", "bindings:\n  device.cuont: null\n"),), (),
     [f"{OWN}:10:3: null removes nothing: the base crt_like has no 'device.cuont' in bindings",
      "  = did you mean 'device.count'?"]),
    ("a base that extends", (), (("doc: SDKs", "extends: other\ndoc: SDKs"),),
     [f"{BASE}:3:1: a base cannot extend another base: there is one level only",
      "  = write out what it would take over", f"{OWN}:2:10: note: the base is extended here"]),
    ("a base that is a vendor", (), (("doc: SDKs", "vendor: other\ndoc: SDKs"),),
     [f"{BASE}:3:1: a base is no vendor", "  = remove the key; vendors name the base in extends:",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("a base of another name", (), (("base: crt_like", "base: cuda_like"),),
     [f"{BASE}:2:7: the folder is called crt_like, the base in it cuda_like",
      "  = write base: crt_like, or rename the folder", f"{OWN}:2:10: note: the base is extended here"]),
    ("a placeholder without end", (), (("text: ${runtime}ErrorText(status)", "text: ${runtime ErrorText(status)"),),
     [f"{BASE}:24:11: ${{ without its '}}'", "  = write ${name}, with the name of a parameter",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("a placeholder over two lines", (), (("${runtime}Count(&value);", "${runtime\n        }Count(&value);"),),
     [f"{BASE}:33:43: ${{ without its '}}'", "  = write ${name}, with the name of a parameter",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("an empty placeholder", (), (("text: ${runtime}ErrorText(status)", "text: ${}ErrorText(status)"),),
     [f"{BASE}:24:11: a placeholder without a name", "  = known: MACRO, RUNTIME, SURE, macro, runtime, sure, told",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("an unknown placeholder", (), (("text: ${runtime}ErrorText(status)", "text: ${runtine}ErrorText(status)"),),
     [f"{BASE}:24:11: '${{runtine}}' names no parameter of the base", "  = did you mean 'runtime'?",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("a placeholder in mixed case", (), (("text: ${runtime}ErrorText(status)", "text: ${Runtime}ErrorText(status)"),),
     [f"{BASE}:24:11: '${{Runtime}}' names no parameter of the base", "  = did you mean 'RUNTIME'?",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("prose in code", (), (("text: ${runtime}ErrorText(status)", "text: ${told}(status)"),),
     [f"{BASE}:24:11: the parameter 'told' is text for people and cannot stand here",
      "  = it may stand under source, note, doc, title, reason, sdk, device_name, deprecated",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("a parameter for nothing", (), (("  told:", "  more: {doc: m, default: m}\n  told:"),),
     [f"{BASE}:7:3: no placeholder uses the parameter 'more'", "  = remove it",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("a default that is none", (), (("default: CHIP", "default: CHIP;"),),
     [f"{BASE}:6:56: 'default' must be part of a C++ name, not 'CHIP;'", "  = letters, digits and _ only, as in: cuda",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("two keys that become one", (), (("    success:", '    "${macro}": 1\n    CHIP: 2\n    success:'),),
     [f"{BASE}:22:5: duplicate key 'CHIP', once its placeholders are replaced", "  = remove or rename one of the two",
      f"{OWN}:2:10: note: the base is extended here", f"{BASE}:21:5: note: the first one is here"]),
    ("an unknown key in the base", (), (("autocast_dtype:", "autocast_type:"),),
     [f"{BASE}:9:1: unknown key 'autocast_type' in a vendor file", "  = did you mean 'autocast_dtype'?",
      f"{OWN}:2:10: note: the base is extended here"]),
    ("a base that is a list", (), (("schema: 1\nbase: crt_like\ndoc: SDKs with the shape of CRT.\n", "- 1\n- 2\n#"),),
     [f"{BASE}:4:3: not valid YAML: while parsing a block collection: did not find expected '-' indicator",
      f"{OWN}:2:10: note: the base is extended here"]),
]  # fmt: skip


@pytest.mark.parametrize(("own", "base", "expected"), [case[1:] for case in VENDOR_MISTAKES],
                         ids=[case[0] for case in VENDOR_MISTAKES])  # fmt: skip
def test_a_mistake(
    vendor: Callable[..., str],
    failure: Failure,
    own: tuple[tuple[str, str], ...],
    base: tuple[tuple[str, str], ...],
    expected: list[str],
) -> None:
    assert lines(failure(load_vendor, vendor(own, base))) == expected


def test_a_base_that_is_no_map(write: Write, vendor: Callable[..., str], failure: Failure) -> None:
    path = vendor()
    write("- 1\n", BASE)
    assert lines(failure(load_vendor, path))[0] == f"{BASE}:1:1: a base must be a map of keys"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Path.mkdir, "this is a folder, not a schema file"),
        (os.mkfifo, "this is not a regular file"),
        (lambda path: path.symlink_to(path.name), "cannot be read: Too many levels of symbolic links"),
        (lambda path: path.symlink_to("gone"), "no such file"),
    ],
)
def test_what_is_no_file_is_told_and_nothing_else_taken_for_it(
    folder: Path, write: Write, vendor: Callable[..., str], failure: Failure, make: Callable[[Path], None], message: str
) -> None:
    path = vendor()
    (folder / BASE).unlink()
    make(folder / BASE)
    assert lines(failure(load_vendor, path))[0] == f"{BASE}:1:1: {message}"
    (folder / "vendors" / "mlu").mkdir()
    make(folder / "vendors" / "mlu" / "vendor.yaml")
    with pytest.raises(SchemaError, match=message):
        Catalog([folder]).vendor("mlu")  # not the shipped one


def test_a_base_that_grows_without_bound(write: Write, vendor: Callable[..., str], failure: Failure) -> None:
    path = vendor(own=(("runtime: crt", "runtime: " + "x" * 64),))
    many = '"' + "${runtime}" * 10_000 + '"'
    write(VENDOR_BASE + "helpers:\n" + "".join(f"  h{n}: {{code: {many}}}\n" for n in range(8)), BASE)
    found = failure(load_vendor, path)
    assert ": with its placeholders replaced the base is larger than 4 MiB" in found
    assert "  = split it, or use fewer placeholders" in found
    # One text that is too long is refused by its own limit.
    write(VENDOR_BASE + "helpers:\n  h: {doc: d, source: s, code: " + '"' + "${runtime}" * 1_100 + '"}\n', BASE)
    assert "'code' is longer than 65536 characters" in failure(load_vendor, path)


API_MISTAKES = [
    ("an unknown name", (("without: [crtOld, crtCallback_t]", "without: [crtOdl]"),),
     [f"{API_OWN}:4:11: the base crt_like has nothing called 'crtOdl'", "  = did you mean 'crtOld'?"]),
    ("a name twice", (("without: [crtOld, crtCallback_t]", "without: [crtOld, crtOld]"),),
     [f"{API_OWN}:4:19: 'crtOld' stands twice in 'without'", "  = remove one"]),
    ("no list", (("without: [crtOld, crtCallback_t]", "without: crtOld"),),
     [f"{API_OWN}:4:10: 'without' must be a list, not the text 'crtOld'", "  = for a list of one write [crtOld]"]),
    ("without extends", (("extends: crt_like\nwith: {runtime: crt}\n", ""),),
     [f"{API_OWN}:2:1: 'without' needs 'extends'", "  = add extends: and the name of a base, or remove this key"]),
    ("no base of that kind", (("extends: crt_like", "extends: half"),),
     [f"{API_OWN}:2:10: the base 'half' has no api.yaml", "  = write bases/half/api.yaml"]),
    ("headers that are no list", (("headers:\n  - path: crt.h\n    sections:", "headers:\n  - 1\n  - path: crt.h\n    sections:"),),
     [f"{API_OWN}:12:5: an item of 'headers' must be a header (a map), not the number 1",
      "  = keys: path, library, guard, includes, since, until, sections"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("own", "expected"), [case[1:] for case in API_MISTAKES], ids=[case[0] for case in API_MISTAKES]
)
def test_a_mistake_in_an_api(
    write: Write, api: Callable[..., str], failure: Failure, own: tuple[tuple[str, str], ...], expected: list[str]
) -> None:
    write(VENDOR_BASE.replace("crt_like", "half"), "bases/half/vendor.yaml")
    assert lines(failure(load_api_data, api(own))) == expected


def test_a_vendor_takes_no_without(vendor: Callable[..., str], failure: Failure) -> None:
    path = vendor(own=(("title: Some Chip", "title: Some Chip\nwithout: [x]"),))
    assert failure(load_vendor, path).startswith(f"{OWN}:6:1: unknown key 'without' in a vendor file")


def test_a_header_of_the_base_goes_and_another_comes(api: Callable[..., str]) -> None:
    data = load_api_data(
        api(
            own=(
                ("without: [crtOld, crtCallback_t]", "without: [crt.h]"),
                ("  - path: crt.h\n", "  - path: crt.h\n    library: crt\n    guard: MINE_H\n"),
            )
        )
    )
    (header,) = data["headers"]
    assert header["guard"] == "MINE_H"
    assert len(header["sections"]) == 1


@pytest.fixture
def folder(write: Write, vendor: Callable[..., str], tmp_path: Path) -> Path:
    """A schema folder with the base and the vendor."""
    vendor()
    return tmp_path


def test_the_catalog_knows_bases(folder: Path, write: Write) -> None:
    catalog = Catalog([folder])
    assert "crt_like" in catalog.bases()
    assert catalog.vendor("chip").title == "Some Chip"
    assert [path.relative_to(folder).as_posix() for path in catalog.files("chip") if path.is_relative_to(folder)] == [
        OWN,
        BASE,
    ]
    assert catalog.check_base("crt_like") == ()
    write(API_BASE.replace("doc: SDKs", "doc: ${no}"), API_BASE_FILE)
    assert catalog.check_base("crt_like") == ()  # prose of the head is no place for placeholders, and needs none
    write(API_BASE.replace('sim: "Old(a)"', 'simm: "Old(a)"'), API_BASE_FILE)
    (problem,) = catalog.check_base("crt_like")
    assert str(problem.location).endswith(f"{API_BASE_FILE}:23:53")
    assert problem.message == "unknown key 'simm' in a function item"
    assert problem.hint == "did you mean 'sim'?"


def test_a_base_of_the_user_wins_over_the_shipped_one(folder: Path, write: Write, shipped: Path) -> None:
    name = Catalog().bases()[0]
    text = (shipped / "bases" / name / "vendor.yaml").read_text(encoding="utf-8")
    write(text, f"bases/{name}/vendor.yaml")
    own = next(vendor for vendor in Catalog().vendors() if len(Catalog().files(vendor)) > len(Catalog().files("mlu")))
    files = Catalog([folder]).files(own)
    assert folder / "bases" / name / "vendor.yaml" in files
    assert shipped / "bases" / name / "vendor.yaml" not in files


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[crtDevice]", "crtDevice", "must be a list"),
        ('h2d: ["${runtime}ToDevice"]', "h2d: 7", "'h2d' must be a list, not the number 7"),
        ('name: "${runtime}"', 'name: "${RUNTIME}"', "must be a snake_case name, not 'RUNTIME'"),
        ("      source: ${told}\n", "", "a binding candidate needs the key 'source'"),
    ],
)
def test_a_base_alone_is_checked(tmp_path: Path, write: Write, old: str, new: str, expected: str) -> None:
    text = VENDOR_BASE
    if old in text:
        head, _, tail = text.rpartition(old)
        text = head + new + tail
    else:
        text = text.replace('d2d: ["${runtime}Copy"]', f"d2d: {new}")
    write(text, BASE)
    problems = Catalog([tmp_path]).check_base("crt_like")
    assert [expected in problem.message for problem in problems] == [True]
    assert all(problem.location.via is None for problem in problems)


def test_a_broken_base_is_told_by_every_way_in(folder: Path, write: Write) -> None:
    write(VENDOR_BASE.replace("${told}", "${tld}"), BASE)
    with pytest.raises(SchemaError, match="names no parameter of the base"):
        Catalog([folder]).load("chip")
    assert Catalog([folder]).check_base("crt_like")


@pytest.mark.parametrize("name", ["nvidia", "corex", "dcu", "musa"])
def test_a_vendor_with_a_base_is_short(name: str) -> None:
    text = (data_dir() / "schemas" / "vendors" / name / "vendor.yaml").read_text(encoding="utf-8")
    assert "\nextends: cuda_like\n" in text
    content = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(content) < 40
    assert max(map(len, content)) <= 200


def test_the_shipped_bases_are_sound_by_themselves() -> None:
    catalog = Catalog()
    assert "cuda_like" in catalog.bases()
    assert [problem for name in catalog.bases() for problem in catalog.check_base(name)] == []


def test_a_compiler_error_in_replaced_code_is_placed_in_the_base(tmp_path: Path) -> None:
    """A header that lacks one name: the report points at the placeholder's column, and at the vendor that extends."""
    from fl_gen.tasks.sdk_check import check_sdk
    from fl_gen.workflow.request import Request

    root = tmp_path / "sdk" / "include"
    root.mkdir(parents=True)
    (root / "cuda_runtime_api.h").write_text("typedef enum cudaError { cudaSuccess } cudaError_t;\n")
    found = check_sdk(Request(vendor="nvidia", sdk=(str(root.parent),)))
    operation = next(one for one in found.operations if one.name == "memory.pool_retain")
    (refused,) = operation.rejected
    message = refused.messages[0]
    line = Path(message.location.file).read_text(encoding="utf-8").splitlines()[message.location.line - 1]
    assert message.location.file.endswith("bases/cuda_like/vendor.yaml")
    assert line[message.location.column - 1 :] == "${runtime}MemPool_t pool = nullptr;"
    assert message.message == "clang: unknown type name 'cudaMemPool_t'"
    assert message.location.via is not None
    assert message.location.via.file.endswith("vendors/nvidia/vendor.yaml")
    assert "note: the base is extended here" in message.render()
