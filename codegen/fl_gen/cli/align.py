"""`fl-gen align`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.deliver import deliver
from fl_gen.cli.options import FILE, FOLDER, FiniteRange


@click.command()
@click.argument("model", metavar="MODEL.py", type=FILE)
@click.option("--device", "vendor", required=True, metavar="VENDOR", help="The device: mlu imports torch_mlu.")
@click.option(
    "--python", metavar="PATH", help="The Python that has PyTorch and the package. Default: the active venv's."
)
@click.option("--steps", type=click.IntRange(min=1), default=5, show_default=True, help="Training steps.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of weights, inputs and dropout."
)
@click.option("--forward-only", is_flag=True, help="One forward pass, no gradients.")
@click.option("--eval", "evaluation", is_flag=True, help="Put the model into evaluation mode.")
@click.option("--ops/--no-ops", default=True, show_default=True, help="Run each op of the first step again on the CPU.")
@click.option("--rtol", type=FiniteRange(min=0), help="Of layers, gradients and state. Default: by dtype.")
@click.option("--atol", type=FiniteRange(min=0), help="As --rtol.")
@click.option("--schemas", "schema_dirs", multiple=True, type=FOLDER, help="Schemas of your own: tolerances of ops.")
@click.option("--timeout", type=FiniteRange(min=1), default=3600.0, show_default=True, help="Seconds for the run.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "html"]), default="text", show_default=True,
    help="Text for a terminal, JSON as schemas/jsonschema/align.json describes it, HTML as one page.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Text: list every layer and op.")
@click.option("--output", type=FILE, default=None, metavar="FILE", help="Write there instead of printing.")
def align(
    model: Path | None,
    vendor: str,
    python: str | None,
    steps: int,
    seed: int,
    forward_only: bool,
    evaluation: bool,
    ops: bool,
    rtol: float | None,
    atol: float | None,
    schema_dirs: tuple[Path, ...],
    timeout: float,
    form: str,
    everything: bool,
    output: Path | None,
) -> int:
    """Run a model on the CPU and on a device, and name the first layer and op that leaves its tolerance.

    MODEL.py defines build() -> torch.nn.Module and inputs() -> a tuple or dict of CPU tensors; it may define
    loss(output, *inputs) and optimizer(parameters). Each op of the first step runs again on the CPU with the inputs
    that the device had, so an op is judged alone; layers, gradients and parameters with all that went before.

    \b
    Exit code 0  all within tolerance
              1  something is not
              2  stopped
    """
    if model is None:
        raise click.UsageError("MODEL.py is a file: the standard input is none.")
    from fl_gen.tasks.align import AlignOptions
    from fl_gen.tasks.align import align as aligned

    found = aligned(
        AlignOptions(
            model, vendor, python, steps, seed, forward_only, evaluation, ops, rtol, atol, schema_dirs, timeout
        )
    )
    if form == "json":
        from fl_gen.report.align_json import align_json

        text = align_json(found)
    elif form == "html":
        from fl_gen.report.align_html import align_html

        text = align_html(found)
    else:
        from fl_gen.report.align_text import align_text

        text = align_text(found, everything) + "\n"
    from fl_gen.report.align_words import verdict

    deliver(text, output, verdict(found))
    return found.exit_code
