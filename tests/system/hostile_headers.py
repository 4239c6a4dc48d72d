"""Ways in which a header can be broken, odd or hostile. Each changes a copy of an SDK's include folder in place.

A mutation gets the include folder, the path of the header to spoil, and a seeded random source. Some leave the SDK as it
was (CRLF, a strange pragma), some take declarations away, some make the header unusable: which, a compiler decides.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path

Mutation = Callable[[Path, Path, random.Random], None]
MUTATIONS: dict[str, Mutation] = {}


def _mutation(function: Mutation) -> Mutation:
    MUTATIONS[function.__name__.removeprefix("_").replace("_", " ")] = function
    return function


def _lines(header: Path) -> list[str]:
    return header.read_text(encoding="utf-8").splitlines(keepends=True)


def _write(header: Path, lines: list[str]) -> None:
    header.write_text("".join(lines), encoding="utf-8")


def _prototypes(lines: list[str]) -> list[int]:
    """The lines that declare a function on their own."""
    return [n for n, line in enumerate(lines) if re.match(r"^[A-Za-z].*\w\(.*\);\s*$", line)]


def _insert(header: Path, chance: random.Random, text: str) -> None:
    """`text` before one of the prototypes: inside `extern "C"`, where an SDK's own oddities stand."""
    lines = _lines(header)
    lines.insert(chance.choice(_prototypes(lines)), text)
    _write(header, lines)


# -- cut ----------------------------------------------------------------------------------------------------------------


@_mutation
def _cut_at_a_byte(_: Path, header: Path, chance: random.Random) -> None:
    data = header.read_bytes()
    header.write_bytes(data[: chance.randrange(len(data))])


@_mutation
def _cut_at_a_line(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    _write(header, lines[: chance.randrange(1, len(lines))])


@_mutation
def _prototype_deleted(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    del lines[chance.choice(_prototypes(lines))]
    _write(header, lines)


@_mutation
def _lines_deleted(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    start = chance.randrange(len(lines))
    del lines[start : start + chance.randrange(1, 12)]
    _write(header, lines)


@_mutation
def _line_doubled(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.randrange(len(lines))
    lines.insert(at, lines[at])
    _write(header, lines)


@_mutation
def _lines_swapped(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.randrange(len(lines) - 1)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    _write(header, lines)


@_mutation
def _character_lost(_: Path, header: Path, chance: random.Random) -> None:
    text = header.read_text(encoding="utf-8")
    at = chance.randrange(len(text))
    header.write_text(text[:at] + text[at + 1 :], encoding="utf-8")


@_mutation
def _missing_include(_: Path, header: Path, chance: random.Random) -> None:
    _insert(header, chance, '#include "sdk_internal_detail.h"\n')


@_mutation
def _empty_header(_: Path, header: Path, __: random.Random) -> None:
    header.write_bytes(b"")


# -- changed declarations -----------------------------------------------------------------------------------------------


@_mutation
def _parameter_dropped(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice([n for n in _prototypes(lines) if "," in lines[n]])
    lines[at] = re.sub(r",[^,()]*\);", ");", lines[at])
    _write(header, lines)


@_mutation
def _parameters_swapped(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice([n for n in _prototypes(lines) if lines[n].count(",") == 1])
    lines[at] = re.sub(r"\(([^,()]*), ([^,()]*)\);", r"(\2, \1);", lines[at])
    _write(header, lines)


@_mutation
def _result_is_void(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice(_prototypes(lines))
    lines[at] = re.sub(r"^\w+ ", "void ", lines[at])
    _write(header, lines)


@_mutation
def _signed_for_unsigned(_: Path, header: Path, __: random.Random) -> None:
    text = header.read_text(encoding="utf-8")
    header.write_text(text.replace("unsigned int", "int").replace("size_t ", "int "), encoding="utf-8")


@_mutation
def _enumerator_gone(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    places = [n for n, line in enumerate(lines) if re.match(r"\s+\w+ = -?\w+,\s*$", line)]
    if places:
        del lines[chance.choice(places)]
    _write(header, lines)


@_mutation
def _deprecated(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice(_prototypes(lines))
    lines[at] = '__attribute__((deprecated("use another"))) ' + lines[at]
    _write(header, lines)


@_mutation
def _unavailable(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice(_prototypes(lines))
    lines[at] = '__attribute__((unavailable("never shipped"))) ' + lines[at]
    _write(header, lines)


@_mutation
def _behind_a_version(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice(_prototypes(lines))
    lines[at : at + 1] = ["#if SDK_API_VERSION >= 90000\n", lines[at], "#endif\n"]
    _write(header, lines)


# -- attributes, pragmas, macros ----------------------------------------------------------------------------------------


@_mutation
def _unknown_attribute(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice(_prototypes(lines))
    lines[at] = "__attribute__((vendor_magic(3), another_one)) " + lines[at]
    _write(header, lines)


@_mutation
def _declspec(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice(_prototypes(lines))
    lines[at] = "__declspec(dllimport) " + lines[at]
    _write(header, lines)


@_mutation
def _unknown_pragma(_: Path, header: Path, chance: random.Random) -> None:
    _insert(header, chance, "#pragma vendor offload(everything)\n#pragma pack(push, 4)\n#pragma pack(pop)\n")


@_mutation
def _poisoned_name(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    names = [re.search(r"(\w+)\(", lines[n]) for n in _prototypes(lines)]
    name = chance.choice([found.group(1) for found in names if found])
    lines.insert(_prototypes(lines)[-1] + 1, f"#pragma GCC poison {name}\n")
    _write(header, lines)


@_mutation
def _function_is_a_macro(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    names = [re.search(r"(\w+)\(", lines[n]) for n in _prototypes(lines)]
    name = chance.choice([found.group(1) for found in names if found])
    lines.insert(_prototypes(lines)[-1] + 1, f"#define {name}(...) vendor_inline_{name}\n")
    _write(header, lines)


@_mutation
def _renaming_macro(_: Path, header: Path, chance: random.Random) -> None:
    lines = _lines(header)
    at = chance.choice(_prototypes(lines))
    found = re.search(r"(\w+)\(", lines[at])
    assert found
    name = found.group(1)
    lines[at] = lines[at].replace(f"{name}(", f"{name}_V9(")
    lines.insert(at, f"#define {name} {name}_V9\n")
    _write(header, lines)


@_mutation
def _huge_macro(_: Path, header: Path, chance: random.Random) -> None:
    _insert(header, chance, "#define VENDOR_TABLE " + ", ".join(str(n) for n in range(120000)) + "\n")


@_mutation
def _many_macros(_: Path, header: Path, chance: random.Random) -> None:
    _insert(header, chance, "".join(f"#define VENDOR_CODE_{n} {n}\n" for n in range(8000)))


@_mutation
def _keyword_macro(_: Path, header: Path, chance: random.Random) -> None:
    _insert(header, chance, f"#define {chance.choice(['return', 'static', 'int', 'void', 'const', 'namespace'])}\n")


@_mutation
def _recursive_macro(_: Path, header: Path, chance: random.Random) -> None:
    _insert(header, chance, "#define VENDOR_A VENDOR_B\n#define VENDOR_B VENDOR_A\nextern int vendor_x;\n")


# -- another language ----------------------------------------------------------------------------------------------------


@_mutation
def _cxx_only(_: Path, header: Path, __: random.Random) -> None:
    extra = (
        'extern "C++" {\nnamespace vendor {\ntemplate <typename T> struct Box { T value; };\n'
        "inline int Twice(int x) { return 2 * x; }\ninline long Twice(long x) { return 2 * x; }\n}\n}\n"
    )
    lines = _lines(header)
    lines.insert(_prototypes(lines)[-1] + 1, extra)
    _write(header, lines)


@_mutation
def _c_only(_: Path, header: Path, chance: random.Random) -> None:
    text = chance.choice(
        [
            "int vendor_sum(int n, int x[restrict n]);\n",
            "static inline int *vendor_block(void *p) { return p; }\n",
            "struct vendor_new { int new; };\n",
            '_Static_assert(sizeof(int) >= 2, "int");\n',
            "enum vendor_mode { VENDOR_ON }; enum vendor_mode vendor_get(void);\n",
        ]
    )
    _insert(header, chance, text)


# -- bytes ---------------------------------------------------------------------------------------------------------------


@_mutation
def _not_utf8(_: Path, header: Path, __: random.Random) -> None:
    header.write_bytes(
        "/* 版权所有 设备运行时 */\n".encode("gbk") + b"/* \xff\xfe\x80 caf\xe9 */\n" + header.read_bytes()
    )


@_mutation
def _crlf(_: Path, header: Path, __: random.Random) -> None:
    header.write_bytes(header.read_bytes().replace(b"\n", b"\r\n"))


@_mutation
def _old_mac_line_ends(_: Path, header: Path, __: random.Random) -> None:
    header.write_bytes(header.read_bytes().replace(b"\n", b"\r"))


@_mutation
def _byte_order_mark(_: Path, header: Path, __: random.Random) -> None:
    header.write_bytes(b"\xef\xbb\xbf" + header.read_bytes())


@_mutation
def _null_bytes(_: Path, header: Path, chance: random.Random) -> None:
    data = header.read_bytes()
    at = chance.randrange(len(data))
    header.write_bytes(data[:at] + b"\0\0" + data[at:])


@_mutation
def _no_last_line_end(_: Path, header: Path, __: random.Random) -> None:
    header.write_bytes(header.read_bytes().rstrip(b"\n") + b" //\\")


@_mutation
def _unclosed(_: Path, header: Path, chance: random.Random) -> None:
    _insert(
        header, chance, chance.choice(["/* never closed\n", "#if 1\n", '"\n', "namespace x {\n", "#else\n", 'R"(\n'])
    )


# -- includes and the file system ----------------------------------------------------------------------------------------


@_mutation
def _cyclic_includes(include: Path, header: Path, chance: random.Random) -> None:
    (include / "loop_a.h").write_text('#pragma once\n#include "loop_b.h"\n')
    (include / "loop_b.h").write_text('#pragma once\n#include "loop_a.h"\n')
    _insert(header, chance, '#include "loop_a.h"\n')


@_mutation
def _endless_include(include: Path, header: Path, chance: random.Random) -> None:
    (include / "endless.h").write_text('#include "endless.h"\n')
    _insert(header, chance, '#include "endless.h"\n')


@_mutation
def _folder_like_a_header(include: Path, header: Path, chance: random.Random) -> None:
    (include / "sdk_config.h").mkdir()
    _insert(header, chance, '#include "sdk_config.h"\n')


@_mutation
def _symlink_loop(include: Path, header: Path, chance: random.Random) -> None:
    os.symlink("loop_y.h", include / "loop_x.h")
    os.symlink("loop_x.h", include / "loop_y.h")
    _insert(header, chance, '#include "loop_x.h"\n')


@_mutation
def _folder_loop(include: Path, header: Path, chance: random.Random) -> None:
    os.symlink(".", include / "again")
    (include / "leaf.h").write_text("#pragma once\n")
    _insert(header, chance, '#include "again/again/again/leaf.h"\n')


@_mutation
def _has_include_trap(include: Path, header: Path, chance: random.Random) -> None:
    (include / "vendor_extra.h").write_text("#pragma once\n")
    found, absent = '__has_include("vendor_extra.h")', "__has_include(<vendor_absent.h>)"
    _insert(header, chance, f"#if {absent}\n#error trap\n#endif\n#if !{found}\n#error other trap\n#endif\n")


@_mutation
def _include_next(include: Path, header: Path, chance: random.Random) -> None:
    (include / "stdint.h").write_text("#include_next <stdint.h>\n")
    _insert(header, chance, "#include <stdint.h>\n")


@_mutation
def _shadowed_standard_header(include: Path, header: Path, chance: random.Random) -> None:
    (include / "stdint.h").write_text("typedef unsigned short uint64_t;\ntypedef unsigned char uint32_t;\n")
    _insert(header, chance, "extern int vendor_y;\n")


@_mutation
def _line_directive(_: Path, header: Path, chance: random.Random) -> None:
    _insert(header, chance, '#line 1 "/__fl_gen_probe__/probe.cc"\n')


@_mutation
def _error_directive(_: Path, header: Path, chance: random.Random) -> None:
    _insert(header, chance, chance.choice(["#error not for this compiler\n", "#warning old\n", "static_assert(0);\n"]))


@_mutation
def _deep_nesting(include: Path, header: Path, chance: random.Random) -> None:
    for depth in range(150):
        below = f'#include "deep_{depth + 1}.h"\n' if depth < 149 else ""
        (include / f"deep_{depth}.h").write_text(f"#pragma once\n{below}")
    _insert(header, chance, '#include "deep_0.h"\n')
