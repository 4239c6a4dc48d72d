"""The headers of an SDK that no schema describes: which are main, in which order, and why the others are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fl_gen.sdk.discover import discover, nothing_found
from fl_gen.sdk.headers import read_sdk
from fl_gen.sdk.items import SdkError


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_an_umbrella_stands_for_what_it_includes(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "include/zz.h": '#include "zz_types.h"\n#include <sub/zz_api.h>\n',
            "include/zz_types.h": "typedef int zzStatus;\n",
            "include/sub/zz_api.h": '#include "../zz_types.h"\nzzStatus zzInit(void);\n',
            "include/extra.h": "void extra(void);\n",
            "share/doc/example.h": "int not_in_an_include_folder(void);\n",
        },
    )
    found = discover([tmp_path])
    assert found.include_dirs == (str(tmp_path / "include"),)
    assert set(found.headers) == {"zz.h", "extra.h"}
    assert found.skipped == ()


def test_what_a_broken_umbrella_would_have_read_is_tried_by_itself(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "include/all.h": '#include "good.h"\n#include "absent.h"\n',
            "include/good.h": "void good(void);\n",
        },
    )
    found = discover([tmp_path])
    assert found.headers == ("good.h",)
    assert [(one.name, one.reason) for one in found.skipped] == [("all.h", "all.h:2: 'absent.h' file not found")]


def test_a_header_that_needs_another_one_first_comes_after_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "include/a_needs_b.h": "b_type a_call(void);\n",
            "include/b.h": "typedef int b_type;\nvoid b_call(void);\n",
        },
    )
    assert discover([tmp_path]).headers == ("b.h", "a_needs_b.h")


def test_two_headers_that_contradict_each_other_are_not_taken_together(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "include/one.h": "enum zzCode { zzOk };\nvoid one(void);\n",
            "include/two.h": "enum zzCode { zzOk };\nvoid two(void);\n",
        },
    )
    found = discover([tmp_path])
    assert found.headers == ("one.h",)
    assert found.skipped[0].name == "two.h"
    assert found.skipped[0].reason.startswith("not together with the headers before it: two.h:1: redefinition")


def test_a_header_for_another_compiler_declares_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"inc/a.h": "#ifdef __DEVICE_CC__\nint a(void);\n#endif\n", "inc/b.h": "int b(void);\n"})
    found = discover([tmp_path])
    assert found.headers == ("b.h",)
    assert [(one.name, one.reason) for one in found.skipped] == [("a.h", "it declares nothing to a C++ compiler")]


def test_a_header_that_wants_a_macro_is_given_it(tmp_path: Path) -> None:
    text = """
#if defined(__ZZ_FOR_A__)
int zz(void);
#elif defined(__ZZ_FOR_B__)
#include "absent.h"
#else
#error ("define one of __ZZ_FOR_B__ and __ZZ_FOR_A__")
#endif
"""
    write(tmp_path, {"include/zz.h": text})
    found = discover([tmp_path])
    assert found.defines == ("__ZZ_FOR_A__",)
    assert found.own_headers == ("zz.h",)
    assert found.own_include_dirs == (str(tmp_path / "include"),)
    assert list(found.memory.values()) == ["#define __ZZ_FOR_A__ 1\n"]
    assert read_sdk(found.headers, found.include_dirs, memory=found.memory).functions.keys() == {"zz"}


@pytest.mark.parametrize("condition", ["#ifndef ZZ_TARGET", "#if !defined ZZ_TARGET", "#if !defined(ZZ_TARGET)"])
def test_a_header_that_refuses_itself_without_a_macro(tmp_path: Path, condition: str) -> None:
    text = f"#ifndef ZZ_H\n#define ZZ_H\n{condition}\n#error define ZZ_TARGET\n#endif\nint zz(void);\n#endif\n"
    write(tmp_path, {"include/zz.h": text})
    found = discover([tmp_path])
    assert (found.defines, found.own_headers) == (("ZZ_TARGET",), ("zz.h",))


def test_the_root_may_be_the_include_folder_itself_and_roots_may_be_several(tmp_path: Path) -> None:
    write(tmp_path, {"rt/rt.h": "int rt(void);\n", "ccl/pkg/include/ccl.h": '#include "rt.h"\nint ccl(void);\n'})
    found = discover([tmp_path / "rt", tmp_path / "ccl"])
    assert found.headers == ("ccl.h",)
    assert set(found.include_dirs) == {str(tmp_path / "rt"), str(tmp_path / "ccl/pkg/include")}


def test_a_hostile_tree(tmp_path: Path) -> None:
    write(tmp_path, {"include/ok.h": "int ok(void);\n"})
    include = tmp_path / "include"
    (include / "folder.h").mkdir()
    (include / "loop").symlink_to(include)
    (tmp_path / "up").symlink_to(tmp_path)
    (include / "dead.h").symlink_to("nowhere.h")
    (include / "self.h").symlink_to("self.h")
    (include / 'quo"te.h').write_text("int quote(void);\n")
    Path(os.fsdecode(os.fsencode(include) + b"/\xff.h")).write_text("int bytes(void);\n")
    for number in range(300):
        (include / f"internal_{number}.txt").touch()
    found = discover([tmp_path])
    assert found.headers == ("ok.h",)
    reasons = {one.name: one.reason for one in found.skipped}
    assert reasons["folder.h"] == "it is a folder"
    assert reasons["dead.h"] == reasons["self.h"] == "it is no file, or a link to nothing"
    assert reasons['quo"te.h'] == "its name cannot stand in an #include"
    assert reasons["\N{REPLACEMENT CHARACTER}.h"] == "its name is not UTF-8"


def test_thousands_of_files_end_in_time(tmp_path: Path) -> None:
    folder = tmp_path / "include"
    folder.mkdir()
    for number in range(2000):
        (folder / f"h{number:04}.h").write_text(f"int f{number}(void);\n")
    found = discover([tmp_path], seconds=0.5)
    assert 0 < len(found.headers) < 2000
    assert any(one.reason.startswith("not tried: ") for one in found.skipped)
    assert "more than 1500 headers" in {one.reason for one in found.skipped}


def test_nothing_that_parses_is_told_with_the_reasons(tmp_path: Path) -> None:
    write(tmp_path, {"include/broken.h": "int broken(;\n"})
    error = nothing_found([tmp_path], discover([tmp_path]))
    assert error.render() == (
        f"{tmp_path}: no header in it parses:\n  broken.h: broken.h:1: expected expression\n"
        "  = complete the SDK, or name its other folders with --sdk too"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    assert nothing_found([empty], discover([empty])).message == f"{empty}: there is no header in it"


def test_a_root_that_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "x.h"
    file.touch()
    with pytest.raises(SdkError, match="is a file, not a folder"):
        discover([file])
    with pytest.raises(SdkError, match="cannot be read: No such file or directory"):
        discover([tmp_path / "absent"])
