"""The text of a manifest is that of the standard library's encoder, byte for byte."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fl_gen.output.manifest import _dumped

TEXTS = st.text(max_size=6) | st.sampled_from(["\u2028", "\\", '"', "\x00", "\ud800", "\x7f", "é", "😀"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_the_text_is_that_of_the_usual_encoder(value: dict[str, Any]) -> None:
    expected = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert _dumped(value) == expected
