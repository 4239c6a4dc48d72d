"""Write generated/ and backends/ of the built-in vendors anew: the one command that updates the golden trees.

Those are all vendors of schemas/vendors that have an SDK to be simulated, each for every framework; the packages for
PyTorch are left out, with the reason, where the release that they are made for is not installed. With --check it writes
nothing, prints what differs and exits with 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fl_gen.output.disk import replace_file
from fl_gen.output.plan import Action
from fl_gen.output.policy import Policy
from fl_gen.schema.errors import FlGenError
from fl_gen.sdk.wheel import find_wheel
from fl_gen.workflow.generate import generate, plan_of, prepare
from fl_gen.workflow.request import Request

TORCH = "2.13.0"  # the release that the committed packages are made for
ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "build" / "golden-cache"
FRAMEWORKS = ("infinitrain", "torch")
VENDORS = tuple(sorted(path.parent.name for path in (ROOT / "schemas" / "vendors").glob("*/api.yaml")))


def requests(vendors: Sequence[str], framework: str | None) -> list[Request]:
    """What is made: every vendor for every framework that can be generated for here."""
    frameworks = [framework] if framework is not None else [*FRAMEWORKS]
    if "torch" in frameworks and (reason := without_torch()) is not None:
        print(f"the packages for PyTorch are left out: {reason}")
        frameworks.remove("torch")
    made = [Request(vendor=name, framework=one, sdk=("sim",), output=ROOT) for one in frameworks for name in vendors]
    # Asking a wheel takes seconds, so that the answer is kept; what is asked of an SDK is asked anew.
    return [replace(one, cache=CACHE) if one.framework == "torch" else one for one in made]


def without_torch() -> str | None:
    """Why packages for PyTorch cannot be generated here, None if they can."""
    try:
        wheel = find_wheel(None)
    except FlGenError as error:
        return error.render().replace("\n  = ", ": ")
    return None if wheel.release == TORCH else f"they are made for PyTorch {TORCH}, and this is {wheel.release}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something would change")
    parser.add_argument("--framework", choices=FRAMEWORKS, help="only this one; all without it")
    parser.add_argument("vendors", nargs="*", metavar="VENDOR", help="only these")
    arguments = parser.parse_args()
    check = arguments.check
    unknown = set(arguments.vendors) - set(VENDORS)
    if unknown:
        parser.error(f"unknown vendors: {', '.join(sorted(unknown))}; there are {', '.join(VENDORS)}")
    changed = 0
    for request in requests(arguments.vendors or VENDORS, arguments.framework):
        prepared = prepare(request)
        plan = plan_of(request, prepared) if check else generate(request, Policy.OVERWRITE).plan
        for entry in plan.entries:
            if entry.action is not Action.IDENTICAL:
                changed += 1
                print(f"{entry.action.value:<9} generated/{request.tree}/{entry.path}")
        # A command never rewrites these files; those of the built-in vendors are as much a golden tree as the others.
        for path, text in prepared.once.items():
            file = request.backends / path
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                changed += 1
                print(f"{'update':<9} backends/{request.tree}/{path}")
                if not check:
                    replace_file(file, text)
    if check and changed:
        print("the golden trees are out of date: run `make golden` and review the diff")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
