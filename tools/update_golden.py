"""Write generated/ and backends/ of the built-in vendors anew: the one command that updates the golden trees.

Those are all vendors of schemas/vendors that have an SDK to be simulated. With --check it writes nothing, prints what
differs and exits with 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fl_gen.output.disk import replace_file
from fl_gen.output.plan import Action
from fl_gen.output.policy import Policy
from fl_gen.workflow.generate import generate, plan_of, prepare
from fl_gen.workflow.request import Request

ROOT = Path(__file__).resolve().parents[1]
VENDORS = tuple(sorted(path.parent.name for path in (ROOT / "schemas" / "vendors").glob("*/api.yaml")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something would change")
    parser.add_argument("vendors", nargs="*", metavar="VENDOR", help="only these")
    arguments = parser.parse_args()
    check = arguments.check
    unknown = set(arguments.vendors) - set(VENDORS)
    if unknown:
        parser.error(f"unknown vendors: {', '.join(sorted(unknown))}; there are {', '.join(VENDORS)}")
    changed = 0
    for vendor in arguments.vendors or VENDORS:
        request = Request(vendor=vendor, sdk=("sim",), output=ROOT)
        prepared = prepare(request)
        plan = plan_of(request, prepared) if check else generate(request, Policy.OVERWRITE).plan
        for entry in plan.entries:
            if entry.action is not Action.IDENTICAL:
                changed += 1
                print(f"{entry.action.value:<9} generated/{vendor}/{entry.path}")
        # A command never rewrites these files; those of the built-in vendors are as much a golden tree as the others.
        for path, text in prepared.once.items():
            file = request.backends / path
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                changed += 1
                print(f"{'update':<9} backends/{vendor}/{path}")
                if not check:
                    replace_file(file, text)
    if check and changed:
        print("the golden trees are out of date: run `make golden` and review the diff")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
