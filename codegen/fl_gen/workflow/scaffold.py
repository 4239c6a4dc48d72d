"""The skeleton of a hand-written kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import shown
from fl_gen.workflow.generate import resolve_request, template_roots
from fl_gen.workflow.request import Request


@dataclass(frozen=True)
class Scaffold:
    """The skeleton that was written, and the kernels.yaml that lists it."""

    path: Path
    listing: Path
    listed_new: bool


def scaffold(request: Request, op: str) -> Scaffold:
    """Write the skeleton of a hand-written kernel of `op` and add one line to kernels.yaml.

    Raises FlGenError for an unknown op, a view, or a kernel that is there already; nothing is written then.
    """
    from fl_gen.output.disk import replace_file
    from fl_gen.output.once import staged_once
    from fl_gen.output.transaction import held
    from fl_gen.render.environment import FileRender, environment_for, render_file
    from fl_gen.render.infinitrain import base_context
    from fl_gen.render.kernels import scaffold_file
    from fl_gen.render.licence import with_licence
    from fl_gen.schema.kernels import empty_listing, with_entry
    from fl_gen.schema.suggest import suggestion

    resolved = resolve_request(request)
    backend = resolved.backend
    names = [resolved_op.name for resolved_op in backend.ops]
    if op not in names:
        hint = suggestion(op, names)
        raise FlGenError(f"{request.framework} has no kernel '{op}'" + (f"\n  = {hint}" if hint else ""))
    if any(known.name == op and known.native is not None for known in backend.ops):
        raise FlGenError(f"{op} is in {shown(request.backends / 'kernels.yaml')} already: there is nothing to scaffold")
    try:
        file = scaffold_file(backend, op)
    except ValueError as error:
        raise FlGenError(str(error)) from error
    roots = tuple(root / request.framework for root in template_roots(request))
    environment = environment_for(roots)
    merged = FileRender(file.template, file.path, {**base_context(backend), **file.context}, file.nodes)
    device = backend.vendor.device_compiler
    suffix = device.suffix if device is not None else None
    text = with_licence(file.path, render_file(environment, merged), request.licence, suffix)
    listing = request.backends / "kernels.yaml"
    with held(request.output):
        listed_new = not os.path.lexists(listing)
        # Bytes, not text mode: a person's line ends stay.
        before = empty_listing() if listed_new else listing.read_bytes().decode("utf-8")
        after = with_entry(before, shown(listing), op, Path(file.path).name)
        if os.path.lexists(request.backends / file.path):
            raise FlGenError(
                f"{shown(request.backends / file.path)}: there is a file of that name already\n"
                f"  = list it yourself in {shown(listing)}, or move it away"
            )
        with staged_once(request.backends, {file.path: text}) as place:
            created, _ = place()
            try:
                replace_file(listing, after)
            except BaseException:
                for path in created:
                    (request.backends / path).unlink()
                raise
    return Scaffold(request.backends / file.path, listing, listed_new)
