"""How good are drafts? The vendor's file is hidden, a draft is made from its headers alone, and both are compared.

For every operation for which the shipped vendor file has a candidate that these headers allow, the functions that the
chosen candidate calls are the right answer. A proposal is right if it calls the same set of functions: for an operation
of one call that is one function; for several calls all of them, since half of them is no answer. A constant is compared
by name. Macros that stand for a function are followed to it. Counted are the share of operations whose first proposal
is right, and of those where one of the first three is. Without any proposal an operation is wrong. `more` counts the
bindings that a draft writes for operations for which the shipped file has none: some are finds, some are wrong.

The draft sees `runtime.yaml`, `vocabulary.yaml` and the headers, from a schema folder that holds nothing else.
"""

from __future__ import annotations

import argparse
import functools
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.discover import Discovered, discover
from fl_gen.sdk.headers import read_sdk
from fl_gen.sdk.model import Sdk
from fl_gen.tasks.draft import DraftRequest, draft, vocabulary_of
from fl_gen.tasks.draft_yaml import parts_of

# Shape of the SDK -> the least share of operations that is right first and among the first three.
AIMS = {"cuda": (0.80, 0.95), "other": (0.60, 0.0)}
# Releases of headers that vendors ship -> the vendor file that they are compared with.
REAL = dict.fromkeys(("cuda-11.8", "cuda-12.1", "cuda-12.9", "cuda-13.5"), "nvidia") | {"hip-5.2": "dcu"}
SHAPES = {"mlu": "other", "ascend": "other", "xpu": "other"}


@dataclass(frozen=True)
class Score:
    """The outcome for one SDK. `wrong` gives what was right and what was proposed for operations not right first."""

    name: str
    shape: str
    operations: int
    first: int
    three: int
    spurious: tuple[str, ...]
    wrong: tuple[tuple[str, str, str], ...]

    @property
    def share_first(self) -> float:
        return self.first / max(1, self.operations)

    @property
    def share_three(self) -> float:
        return self.three / max(1, self.operations)


def measure(name: str, vendor: str, roots: tuple[str, ...], catalog: Catalog | None = None) -> Score:
    """Draft from the headers at `roots` and compare with what the shipped vendor file chooses there."""
    right = answers(vendor, roots)
    with tempfile.TemporaryDirectory() as folder:
        for file in ("runtime.yaml", "vocabulary.yaml"):
            (Path(folder) / file).write_bytes((data_dir() / "schemas" / file).read_bytes())
        hidden = Catalog([folder], shipped=False)
        assert not hidden.vendors()
        found, sdk = headers_of(roots)
        made = draft(DraftRequest("draft", roots), hidden.runtime(), vocabulary_of(hidden), (found, sdk))
    aliases = {macro.name: macro.text for macro in sdk.macros.values() if macro.text in sdk.functions}
    runtime = Catalog().runtime()
    written = parts_of(made, runtime).candidates
    spurious = [f"{key}: {'+'.join(some[0].functions)}" for key, some in written.items() if some and key not in right]
    first = three = 0
    wrong: list[tuple[str, str, str]] = []
    for operation, names in right.items():
        proposed = [frozenset(aliases.get(one, one) for one in p.functions) for p in made.proposals[operation]]
        wanted = frozenset(aliases.get(one, one) for one in names)
        three += wanted in proposed[:3]
        if proposed[:1] == [wanted]:
            first += 1
        else:
            told = " | ".join("+".join(sorted(one)) for one in proposed[:3]) or "nothing"
            wrong.append((operation, "+".join(sorted(wanted)), told))
    return Score(name, SHAPES.get(vendor, "cuda"), len(right), first, three, tuple(spurious), tuple(wrong))


def answers(vendor: str, roots: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """By operation the functions (or the constant) that the shipped vendor file's choice calls on these headers."""
    from fl_gen.workflow.generate import resolve_request
    from fl_gen.workflow.request import Request

    _, sdk = headers_of(roots)
    functions = set(sdk.functions) | {m.name for m in sdk.macros.values() if m.text in sdk.functions}
    resolved = resolve_request(Request(vendor=vendor, sdk=roots))
    right: dict[str, frozenset[str]] = {}
    for choice in resolved.backend.choices.values():
        if choice.candidate is None:
            continue
        used = [one.name for one in choice.declarations]
        calls = frozenset(one for one in used if one in functions)
        names = calls or frozenset(used[:1])
        if names:
            right[choice.operation.name] = names
    return right


@functools.cache
def headers_of(roots: tuple[str, ...]) -> tuple[Discovered, Sdk]:
    """The headers below some roots, and what they declare."""
    found = discover(roots)
    return found, read_sdk(found.headers, found.include_dirs, memory=found.memory)


def real(release: str) -> tuple[str, ...] | None:
    """The roots of headers that tools/real_headers.py has fetched; None if it has not."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
    from real_headers import roots

    found = roots(release)
    return tuple(map(str, found)) if found is not None else None


def simulated(vendor: str, version: str, folder: Path) -> tuple[str, ...]:
    """Write the headers of a simulated SDK and give their root."""
    from fl_gen.render.simapi import load_api
    from fl_gen.render.simheaders import render_headers

    path = Catalog().api_path(vendor)
    assert path is not None, vendor
    for name, text in render_headers(load_api(path), version).items():
        file = folder / "include" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return (str(folder),)


def table(scores: list[Score]) -> str:
    lines = ["| SDK | shape | operations | first | top three | more |", "|---|---|---:|---:|---:|---:|"]
    for one in scores:
        lines.append(
            f"| {one.name} | {one.shape} | {one.operations} | {one.share_first:.1%} | {one.share_three:.1%} "
            f"| {len(one.spurious)} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sdk",
        nargs="*",
        help="VENDOR[@sim:VERSION], VENDOR@real:RELEASE or VENDOR@PATH[,PATH...]; default: every vendor@sim",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="tell what was not right first")
    parser.add_argument("--real", action="store_true", help="also every release that tools/real_headers.py has fetched")
    parser.add_argument("--out", type=Path, help="also write the table into this file")
    options = parser.parse_args()
    targets = options.sdk or [f"{name}@sim" for name in Catalog().vendors() if Catalog().api_path(name) is not None]
    if options.real:
        targets += [f"{vendor}@real:{release}" for release, vendor in REAL.items() if real(release) is not None]
    scores: list[Score] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, target in enumerate(targets):
            vendor, _, place = target.partition("@")
            if not place or place.startswith("sim"):
                roots = simulated(vendor, place.partition(":")[2], Path(folder) / str(number))
            elif place.startswith("real:"):
                fetched = real(place.partition(":")[2])
                if fetched is None:
                    parser.error(f"{target}: run tools/real_headers.py {place.partition(':')[2]} first")
                roots = fetched
            else:
                roots = tuple(place.split(","))
            score = measure(target, vendor, roots)
            scores.append(score)
            if options.verbose:
                for operation, wanted, told in score.wrong:
                    print(f"{target}: {operation}: {wanted}, proposed {told}")
                for told in score.spurious:
                    print(f"{target}: the shipped file has nothing for {told}")
    text = table(scores)
    print(text)
    if options.out is not None:
        options.out.write_text(f"# Drafts of vendor files (benchmarks/draft.py)\n\n{text}\n", encoding="utf-8")
    missed = [one for one in scores if one.share_first < AIMS[one.shape][0] or one.share_three < AIMS[one.shape][1]]
    for one in missed:
        print(f"{one.name} misses its aim of {AIMS[one.shape][0]:.0%} first, {AIMS[one.shape][1]:.0%} among three")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
