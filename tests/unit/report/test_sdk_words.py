"""The words that the reports of an SDK check share."""

from __future__ import annotations

import pytest

from fl_gen.report.sdk_words import calls
from fl_gen.resolve.model import Declaration
from fl_gen.schema.location import Location
from fl_gen.tasks.sdk_values import Chosen


@pytest.mark.parametrize("name", ["operator++", "operator[]", "operator()", "operator new"])
def test_an_operator_is_no_pattern(name: str) -> None:
    """A binding may use an operator that an SDK's header overloads."""
    uses = (Declaration(name, "chip.h", 3, ""), Declaration("chipNext", "chip.h", 4, ""))
    chosen = Chosen(0, "chipNext(++device)", "expr", Location("v.yaml", 1, 1), "certain", "", None, None, uses)
    assert [use.name for use in calls(chosen)] == ["chipNext"]
