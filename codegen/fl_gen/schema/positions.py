"""From a character of a scalar's value back to the character of the file that it came from.

A compiler error inside a `body: |` block must be shown at the line and column of the YAML file. The YAML parser gives
only where a scalar begins and ends, so the presentation (quotes, escapes, folding, indentation) is walked again here.
"""

from __future__ import annotations

_BLANK = " \t"
_SPACE = " \t\r\n"
_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}


def value_offsets(text: str, start: int, end: int, style: str, value: str) -> list[int]:
    """For each offset of `value`, and one more for its end, the offset in `text`.

    `start` and `end` bound the scalar in `text`, `style` is `''`, `'`, `"`, `|` or `>`. Should the walk and the
    parser disagree about the length of the value (no such case is known), every offset maps to the start.
    """
    if style in ("|", ">"):
        found = _block(text, start, end, style, value)
    elif style in ("'", '"'):
        found = _flow(text, start + 1, end - 1, style)
    else:
        found = _flow(text, start, end, "")
    if len(found) == len(value):
        after = found[-1] + 1 if found else content_start(text, start, end, style)
        found.append(end - 1 if style in ("'", '"') else after)
        return found
    return [start] * (len(value) + 1)


def content_start(text: str, start: int, end: int, style: str) -> int:
    """Offset in `text` of the first character of a scalar's content: behind the quote, or in a block's first line."""
    if style in ("'", '"'):
        return start + 1
    if style not in ("|", ">"):
        return start
    index = _after_break(text, _line_end(text, start, end), end)
    while index < end:
        stop = _line_end(text, index, end)
        line = text[index:stop]
        if line.strip(" "):
            return index + len(line) - len(line.lstrip(" "))
        index = _after_break(text, stop, end)
    return start


def _flow(text: str, index: int, end: int, style: str) -> list[int]:
    """Plain and quoted scalars: a run of blanks that holds a line end is folded."""
    out: list[int] = []
    while index < end:
        character = text[index]
        if character in _SPACE:
            stop, breaks = _blanks(text, index, end)
            out.extend(_folded(breaks) if breaks else range(index, stop))
            index = stop
        elif character == "'" and style == "'":
            out.append(index)
            index += 2
        elif character == "\\" and style == '"':
            index = _escape(text, index, end, out)
        else:
            out.append(index)
            index += 1
    return out


def _escape(text: str, index: int, end: int, out: list[int]) -> int:
    """One backslash escape; an escaped line end is dropped with the indentation behind it."""
    follower = text[index + 1]
    if follower not in "\r\n":
        out.append(index)
        return index + 2 + _ESCAPE_DIGITS.get(follower, 0)
    stop, breaks = _blanks(text, _after_break(text, index + 1, end), end)
    out.extend(breaks)
    return stop


def _blanks(text: str, index: int, end: int) -> tuple[int, list[int]]:
    """Where a run of blanks and line ends stops, and the offsets of its line ends."""
    breaks: list[int] = []
    while index < end and text[index] in _SPACE:
        if text[index] in "\r\n":
            breaks.append(index)
            index = _after_break(text, index, end)
        else:
            index += 1
    return index, breaks


def _folded(breaks: list[int]) -> list[int]:
    """One line end becomes a space; of several the first is dropped."""
    return breaks if len(breaks) == 1 else breaks[1:]


def _block(text: str, start: int, end: int, style: str, value: str) -> list[int]:
    """Literal and folded block scalars, by the rules of YAML 1.1 for folding and chomping."""
    indent = _indentation(text, start, end, style, value)
    header = text[start : _line_end(text, start, end)].split("#")[0]
    out: list[int] = []
    index, trailing = _block_breaks(text, _after_break(text, _line_end(text, start, end), end), end, indent)
    leading: list[int] = []
    was_blank = False
    while index < end and index - _start_of_line(text, index) == indent:
        is_blank = text[index] in _BLANK
        if style == ">" and leading and not was_blank and not is_blank:
            if not trailing:
                out.extend(leading)
        else:
            out.extend(leading)
        out.extend(trailing)
        was_blank = is_blank
        stop = _line_end(text, index, end)
        out.extend(range(index, stop))
        leading = [stop] if stop < end else []
        index, trailing = _block_breaks(text, _after_break(text, stop, end), end, indent)
    if "-" not in header:
        out.extend(leading)
    if "+" in header:
        out.extend(trailing)
    return out


def _indentation(text: str, start: int, end: int, style: str, value: str) -> int:
    """How many blanks the parser took off each line of a block: the file's line is longer than the value's by that."""
    first = content_start(text, start, end, style)
    if first != start:
        words = next((line for line in value.split("\n") if line.strip(" ")), "")
        return first - _start_of_line(text, first) - (len(words) - len(words.lstrip(" ")))
    index = _after_break(text, _line_end(text, start, end), end)
    for line in value.split("\n"):  # nothing but blanks, which only an indentation indicator can keep
        stop = _line_end(text, index, end)
        if line:
            return stop - index - len(line)
        index = _after_break(text, stop, end)
    return end  # empty lines alone: whatever blanks they hold are indentation


def _block_breaks(text: str, index: int, end: int, indent: int) -> tuple[int, list[int]]:
    """Skip indentation and empty lines; the offsets of the line ends of the empty lines."""
    breaks: list[int] = []
    while True:
        column = 0
        while column < indent and index < end and text[index] == " ":
            index += 1
            column += 1
        if index >= end or text[index] not in "\r\n":
            return index, breaks
        breaks.append(index)
        index = _after_break(text, index, end)


def _start_of_line(text: str, index: int) -> int:
    return max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1


def _line_end(text: str, index: int, end: int) -> int:
    while index < end and text[index] not in "\r\n":
        index += 1
    return index


def _after_break(text: str, index: int, end: int) -> int:
    if index >= end:
        return end
    return index + 2 if text[index] == "\r" and text[index + 1 : index + 2] == "\n" else index + 1
