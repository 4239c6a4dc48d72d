"""Where a report goes: to the terminal, or into a file."""

from __future__ import annotations

from pathlib import Path

import click


def deliver(text: str, output: Path | None, summary: str) -> None:
    """Print `text`; or write it to `output`, whole or not at all, and print `summary` and the place."""
    if output is None:
        click.echo(text, nl=False)
        return
    from fl_gen.output.disk import replace_file

    replace_file(output, text)
    click.echo(f"{summary}\nwritten to {output}")
