"""`fl-gen bench`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import FILE, FiniteRange


@click.command()
@click.argument("models", metavar="[MODEL]...", nargs=-1)
@click.option("--device", "vendor", required=True, metavar="VENDOR", help="The device: mlu imports torch_mlu.")
@click.option(
    "--python", metavar="PATH", help="The Python that has PyTorch and the package. Default: the active venv's."
)
@click.option("--infer", is_flag=True, help="Measure inference instead of training steps.")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True, help="Processes for each device.")
@click.option("--repeat", type=click.IntRange(min=1), default=10, show_default=True, help="Timed steps in each.")
@click.option("--warmup", type=click.IntRange(min=0), default=2, show_default=True, help="Steps before them.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of PyTorch.")
@click.option("--no-cpu", is_flag=True, help="Do not measure the CPU beside the device.")
@click.option(
    "--baseline", type=FILE, default=None, metavar="FILE", help="Exit with 1 if slower than this measurement."
)
@click.option(
    "--save", type=FILE, default=None, metavar="FILE", help="Write the measurement as JSON: a later baseline."
)
@click.option(
    "--threshold", type=FiniteRange(min=0), default=10.0, show_default=True, metavar="PERCENT",
    help="A smaller difference is no regression, nor is one within the noise of both measurements.",
)  # fmt: skip
@click.option("--timeout", type=FiniteRange(min=1), default=1800.0, show_default=True, help="Seconds for a process.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Text for a terminal, or JSON as schemas/jsonschema/bench.json describes it.",
)  # fmt: skip
def bench(
    models: tuple[str, ...],
    vendor: str,
    python: str | None,
    infer: bool,
    rounds: int,
    repeat: int,
    warmup: int,
    threads: int,
    no_cpu: bool,
    baseline: Path | None,
    save: Path | None,
    threshold: float,
    timeout: float,
    form: str,
) -> int:
    """Measure models on a device beside the CPU: latency, throughput, memory.

    MODEL is resnet, bert or gpt (default: all three, small, with random weights), or a Python file as fl-gen align
    takes it. Device and CPU take turns, so that the ratio of the two holds on a machine that others use as well; a
    baseline is judged by that ratio where both have it. A baseline takes 3 rounds at least on both sides: a regression
    is what exceeds the threshold and all that the rounds of either side lie apart.

    \b
    Exit code 0  measured
              1  slower, or more memory, than the baseline, or a model of it was not measured
              2  stopped, or the rounds lie too far apart to judge a difference
    """
    from fl_gen.cli.progress import ProgressLine
    from fl_gen.report.bench import bench_json, bench_text
    from fl_gen.tasks.bench import SHIPPED, BenchOptions
    from fl_gen.tasks.bench import bench as measured

    with ProgressLine() as line:
        report = measured(
            BenchOptions(
                vendor=vendor,
                models=models or SHIPPED,
                python=python,
                train=not infer,
                rounds=rounds,
                repeat=repeat,
                warmup=warmup,
                threads=threads,
                beside_cpu=not no_cpu,
                threshold=threshold / 100,
                baseline=baseline,
                seconds=timeout,
            ),
            lambda name: line.draw(f"measuring {name}"),
        )
    # Printed first: what took minutes to measure is not lost with a file that cannot be written.
    click.echo(bench_json(report) if form == "json" else bench_text(report) + "\n", nl=False)
    if save is not None:
        from fl_gen.output.disk import replace_file

        replace_file(save, bench_json(report))
    return report.exit_code
