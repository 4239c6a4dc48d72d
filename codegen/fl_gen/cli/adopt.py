"""`fl-gen adopt`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from fl_gen.cli.options import FILE, FOLDER, cache_folder, sdk_options, vendor_argument


@click.command()
@vendor_argument
@click.argument("folder", metavar="DIR", type=FOLDER)
@sdk_options
@click.option("--framework-source", type=FOLDER, metavar="TREE", help="A checkout of the framework to read it against.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "markdown")),
    default="text",
    show_default=True,
    help="Form to write.",
)
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the report there instead of printing it.")
@click.option(
    "--kernels-yaml", type=FOLDER, metavar="FILE", help="Create FILE with the kernels that can become native."
)
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes at a time. Default: the processors.")
def adopt(
    vendor: str,
    folder: Path,
    sdk: tuple[str, ...],
    schema_dirs: tuple[Path, ...],
    no_cache: bool,
    framework_source: Path | None,
    form: str,
    output: Path | None,
    kernels_yaml: Path | None,
    jobs: int | None,
) -> int:
    """Read a hand-written backend of VENDOR and hold it against what fl-gen would generate.

    Reported are: each method of the framework's interfaces, with the SDK calls behind it and what fl-gen would
    generate instead; each kernel, and whether it can become a native kernel of a generated backend; and faults that can
    be seen. DIR is not changed.

    \b
    Exit code:
      0  read, and no fault was found
      1  faults were found
      2  DIR, the SDK or the framework cannot be read
    """
    from fl_gen.report import adopt as report
    from fl_gen.tasks.adopt import AdoptRequest
    from fl_gen.tasks.adopt import adopt as read
    from fl_gen.tasks.sdk_targets import default_jobs

    if kernels_yaml is not None and os.path.lexists(kernels_yaml):
        raise click.UsageError(
            f"--kernels-yaml {kernels_yaml}: it is there already and stays as it is: name a new file"
        )
    found = read(
        AdoptRequest(vendor, folder, sdk, framework_source, schema_dirs, cache_folder(no_cache), jobs or default_jobs())
    )
    if form == "text":
        plain = output is not None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        color = not plain and sys.stdout is not None and sys.stdout.isatty()
        text = report.adopt_text(found, color) + "\n"
    elif form == "json":
        text = report.adopt_json(found)
    else:
        text = report.adopt_markdown(found)
    if kernels_yaml is not None:
        from fl_gen.output.once import create_once
        from fl_gen.schema.errors import FlGenError

        whole = Path(os.path.abspath(kernels_yaml))
        _, kept = create_once(whole.parent, {whole.name: found.listing})
        if kept:
            raise FlGenError(
                f"--kernels-yaml {kernels_yaml}: it is there already and stays as it is\n  = name a new file"
            )
    if output is not None:
        from fl_gen.output.disk import replace_file

        replace_file(output, text)
    else:
        click.echo(text, nl=False)
    return 1 if found.faults else 0
