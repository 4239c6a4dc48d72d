"""Valid schema files spoilt at random: the same seed spoils the same way.

A change is made on the text, at the place of a node, so that everything else stays as a person wrote it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.nodes import Mapping, Node, Scalar, Sequence
from fl_gen.schema.yaml_loader import loads

from .building import ROOT

PROJECT = """\
schema: 1
generator: 0.1.0
framework: infinitrain
output: .
formatter: none
schemas: [schemas]
vendors:
  mlu: {sdk: sim:6.14, require: [ccl]}
  maca: {sdk: [/opt/maca]}
"""
KERNELS = """\
schema: 1
kernels:
  - {op: AddForward, file: add.cc}
  - {op: LinearForward, file: linear.cc, dtypes: [float32, bfloat16]}
"""


@dataclass(frozen=True)
class Target:
    """A file that is spoilt: its path below a schema folder (or its own name), its text, and whose backend it is of."""

    path: str
    text: str
    vendor: str = "mlu"


def targets() -> tuple[Target, ...]:
    """Every kind of file that a person writes for fl-gen."""
    schemas = ROOT / "schemas"
    shipped: dict[str, str] = {
        "vendors/mlu/vendor.yaml": "mlu",
        "vendors/mlu/api.yaml": "mlu",
        "vendors/maca/vendor.yaml": "maca",
        "bases/cuda_like/vendor.yaml": "corex",
        "bases/cuda_like/api.yaml": "corex",
        "runtime.yaml": "mlu",
        "frameworks/infinitrain/interface.yaml": "mlu",
        **{
            path.relative_to(schemas).as_posix(): "mlu"
            for path in sorted((schemas / "frameworks/infinitrain/ops").glob("*.yaml"))
        },
    }
    files = [Target(path, (schemas / path).read_text(encoding="utf-8"), vendor) for path, vendor in shipped.items()]
    return (*files, Target("fl-gen.yaml", PROJECT), Target("kernels.yaml", KERNELS))


# What people, fuzzers and attackers write where a name or a text belongs.
WORDS = (
    "", " ", "class", "operator", "delete", "co_await", "int", "__reserved", "_Upper", "1st", "a-b", "a b", "é", "漢字", "ｃlass",
    "ADD_FORWARD", "addforward", "AddForward", "Addforward", "MLU", "Mlu", "maca", "con", "nul", "CMakeLists", "manifest",
    "../../x", "..", ".", "/etc/passwd", "/tmp/x", "a/../../../b", "~/x", "a\\b", "C:\\x", "x.cc", ".fl-gen/base", "$HOME", "%s%n",
    "'", '"', "\\", '\\"', "a\nb", "a\r\nb", "a\tb", "\\\n", "}", "{", ");", "(", "]]", "\0", "\x1b[31m", "\u202e", "\u2028", "\ufeff",
    "{{ x }}", "{{ 7 * 7 }}", "{% endif %}", "{% raw %}", "{# x", "#}", "{{ self.__class__.__mro__ }}", "{% include '/etc/passwd' %}",
    "*/", "/* x", "// x", "??/", "??=", "%:", "#include </etc/passwd>", "a /* */ b", "// x \\", ')FL" x', 'R"(', ")\"", "${runtime}",
    "${x}", "$stream", "$", "@x@", "$<TARGET_FILE:x>", "x;y", "]==]", "x" * 300, "x" * 5000, "9" * 400, "-1", "1e999", "0x10", "0b2", "1_0",
    "2147483648", "18446744073709551616", "true", "null", "~", ".nan", ".inf", "no", "2001-01-01", "1:30", "*a", "&a x", "!!python/object:os.system x",
    "std::vector<int>", "Tensor", "float32", "same(input)", "same(", "same(nothing)", "a.b.c", "fallback", "library", "infini_train",
)  # fmt: skip
# YAML that is put in the place of a value as it is.
SHAPES = (
    "[]", "{}", "null", "true", "1", "-1", "1.5", "1e999", ".nan", "[[]]", "[{}]", "{a: 1}", "[1, a, null]", "{? a : b}", "? x", "- x",
    "|\n", ">-\n  x", "*x", "&x y", "!!binary aGk=", "!x y", "<<", "[" * 80 + "]" * 80, "[" * 3000, "{a: " * 80 + "1" + "}" * 80,
    "[" + "a, " * 3000 + "]", "{" + ", ".join(f"k{n}: {n}" for n in range(500)) + "}", "'", '"', "'x", "---", "...", "%TAG", "@", "`", "\t",
)  # fmt: skip


def _walk(node: Node) -> Iterator[Scalar]:
    """All scalars below a node, keys among them."""
    stack: list[Node] = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, Scalar):
            yield one
        elif isinstance(one, Sequence):
            stack.extend(one.items)
        elif isinstance(one, Mapping):
            stack.extend(one.keys.values())
            stack.extend(one.values.values())


def _keys(node: Node) -> list[Scalar]:
    found: list[Scalar] = []
    stack: list[Node] = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, Sequence):
            stack.extend(one.items)
        elif isinstance(one, Mapping):
            found.extend(one.keys.values())
            stack.extend(one.values.values())
    return found


def _put(text: str, at: Scalar, value: str) -> str:
    return text[: at.index] + value + text[at.end :]


def _quoted(value: str) -> str:
    """The value as a double-quoted scalar, whatever is in it."""
    return json.dumps(value)


def _word(text: str, root: Node, chance: random.Random) -> str:
    return _put(text, chance.choice(list(_walk(root))), _quoted(chance.choice(WORDS)))


def _name(text: str, root: Node, chance: random.Random) -> str:
    """One of the values that become names in C++ or on disk."""
    named = [
        value
        for value in _walk(root)
        if 0 < len(value.value) < 40 and value.value.replace("_", "").replace(".", "").isalnum()
    ]
    return _put(text, chance.choice(named), _quoted(chance.choice(WORDS)))


def _affix(text: str, root: Node, chance: random.Random) -> str:
    """A hostile word behind or before a good text, where checks of the whole may not look."""
    one = chance.choice(list(_walk(root)))
    word = chance.choice(WORDS)
    return _put(text, one, _quoted(chance.choice((one.value + word, word + one.value))))


def _other_case(text: str, root: Node, chance: random.Random) -> str:
    """A name that only its case tells from another."""
    one = chance.choice([value for value in _walk(root) if value.value[:1].isalpha()])
    changed = (one.value.upper(), one.value.lower(), one.value.swapcase(), one.value.replace("_", ""), one.value + "_")
    return _put(text, one, _quoted(chance.choice(changed)))


def _shape(text: str, root: Node, chance: random.Random) -> str:
    return _put(text, chance.choice(list(_walk(root))), chance.choice(SHAPES))


def _swap(text: str, root: Node, chance: random.Random) -> str:
    """One value takes the place of another."""
    scalars = [one for one in _walk(root) if one.end > one.index]
    return _put(text, chance.choice(scalars), _quoted(chance.choice(scalars).value))


def _renamed_key(text: str, root: Node, chance: random.Random) -> str:
    keys = _keys(root)
    new = chance.choice((*WORDS, chance.choice(keys).value, chance.choice(keys).value + "s"))
    return _put(text, chance.choice(keys), _quoted(new))


def _line_of(text: str, node: Scalar) -> tuple[int, int]:
    first = text.rfind("\n", 0, node.index) + 1
    last = text.find("\n", node.end)
    return first, len(text) if last < 0 else last + 1


def _removed(text: str, root: Node, chance: random.Random) -> str:
    first, last = _line_of(text, chance.choice(_keys(root)))
    return text[:first] + text[last:]


def _doubled(text: str, root: Node, chance: random.Random) -> str:
    first, last = _line_of(text, chance.choice(_keys(root)))
    return text[:last] + text[first:last] + text[last:]


def _raw(text: str, _: Node, chance: random.Random) -> str:
    at = chance.randrange(len(text))
    return text[:at] + chance.choice((*WORDS, *SHAPES)) + text[at + chance.choice((0, 0, 1, 9)) :]


def _bomb(text: str, _: Node, chance: random.Random) -> str:
    """Aliases that would make a gigabyte of a kilobyte, or what is big or deep by itself."""
    laughs = ["lol0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"lol{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
    return chance.choice(
        (
            "\n".join(laughs) + "\n" + text,
            text + "\nextra: &a [*a]\n",
            text + "\nextra: " + "x" * (10 << 20) + "\n",
            text + "\nextra: '" + "x" * (3 << 20) + "'\n",
            text.replace("\n", "\n" + "# " + "y" * 100_000 + "\n", 1),
            text + "\n" + "".join("  " * n + f"a{n}:\n" for n in range(400)),
            text + "\nextra: " + "[" * 20_000 + "\n",
            text + "".join(f"\nkey{n}: {n}" for n in range(100_000)) + "\n",
            text + "\n---\n" + text,
            "\ufeff" + text.replace("\n", "\r\n"),
            text.replace("\n", "\r"),
            "",
            "\0" * 100,
        )
    )


def _bytes(text: str, _: Node, chance: random.Random) -> str:
    """Text that UTF-8 cannot say, or that says something else than it shows."""
    at = chance.randrange(len(text))
    odd = (
        "\ud800",
        "\udcff",
        "\x00",
        "\x85",
        "\u202e",
        "\u2066",
        "\ufffe",
        "\U0010ffff",
        "\x7f",
        "\x1b]0;x\x07",
        "\u00ad",
        "\u200b",
    )
    return text[:at] + chance.choice(odd) + text[at:]  # fmt: skip


CHANGES: tuple[Callable[[str, Node, random.Random], str], ...] = (
    _word, _name, _name, _affix, _affix, _other_case, _shape, _swap, _swap, _renamed_key, _removed, _removed, _doubled, _raw, _bomb, _bytes,
)  # fmt: skip


@dataclass(frozen=True)
class Spoilt:
    """A target, what was done to it, and its bytes now."""

    target: Target
    how: str
    data: bytes

    def write(self, folder: Path) -> Path:
        """Put it where its target stands below `folder`."""
        path = folder / self.target.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path


def spoilt(number: int, all_targets: tuple[Target, ...]) -> Spoilt:
    """Input `number`: one change, or two or three while the text can still be read."""
    chance = random.Random(number)
    # The ops are many small files: a third of all inputs, as the vendors' are.
    ops = [one for one in all_targets if "/ops/" in one.path]
    others = [one for one in all_targets if "/ops/" not in one.path]
    target = chance.choice(ops if chance.random() < 1 / 3 else others)
    text, how = target.text, []
    root = loads(text)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        change = chance.choice(CHANGES)
        how.append(change.__name__.lstrip("_"))
        text = change(text, root, chance)
        try:
            root = loads(text)
        except Exception:  # that this is told as it must be is what the test is about
            break
    return Spoilt(target, " ".join(how), text.encode("utf-8", "surrogatepass"))
