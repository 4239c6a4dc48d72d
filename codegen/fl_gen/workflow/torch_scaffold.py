"""The skeleton of a hand-written kernel of one of PyTorch's operators."""

from __future__ import annotations

import os
from pathlib import Path

from fl_gen.schema.errors import FlGenError, quote
from fl_gen.schema.paths import shown
from fl_gen.workflow.generate import resolve_request, template_roots
from fl_gen.workflow.request import Request
from fl_gen.workflow.scaffold import Scaffold
from fl_gen.workflow.torch import torch_run


def scaffold_torch(request: Request, name: str, python: bool) -> Scaffold:
    """Write the skeleton of a kernel of the operator `name`, in C++ or Python, and add one line to kernels.yaml.

    Raises FlGenError for an unknown operator, one that no kernel can be written for, or a kernel that is there already;
    nothing is written then.
    """
    from fl_gen.output.disk import replace_file
    from fl_gen.output.once import staged_once
    from fl_gen.output.transaction import held
    from fl_gen.render.environment import FileRender, environment_for, render_file
    from fl_gen.render.python_format import format_python
    from fl_gen.render.torch import torch_context
    from fl_gen.render.torch_kernels import scaffold_files
    from fl_gen.resolve.torch_ops import refusal
    from fl_gen.schema.kernels import empty_listing
    from fl_gen.schema.suggest import suggestion
    from fl_gen.schema.torch_kernels import with_torch_entry

    resolved = resolve_request(request)
    run = torch_run(request, resolved.backend)
    full = name if name.startswith("aten::") else f"aten::{name}"
    full = full.removesuffix(".default")  # torch.ops calls the overload without a name so
    if not run.view.has_op(full):
        overloads = sorted(op.name for op in run.view.ops if op.name.startswith(f"{full}."))
        if overloads:
            names = ", ".join(overloads)
            raise FlGenError(f"{full} has overloads, each with a kernel of its own\n  = name one: {names}")
        hint = suggestion(full, [op.name for op in run.view.ops])
        said = f"PyTorch {run.wheel.version} has no operator {quote(full)}"
        raise FlGenError(said + (f"\n  = {hint}" if hint else ""))
    found = run.view.op(full)
    listing = request.backends / "kernels.yaml"
    if found.kernel is not None:
        raise FlGenError(f"{full} is in {shown(listing)} already: there is nothing to scaffold")
    refused = refusal(found.op, resolved.backend.framework.rules)
    if refused is not None:
        raise FlGenError("\n  = ".join(refused))
    file, entry = scaffold_files(found, python)
    roots = tuple(root / request.framework for root in template_roots(request))
    context = {**torch_context(resolved.backend, run.view), **file.context}
    text = render_file(environment_for(roots), FileRender(file.template, file.path, context))
    if request.formatted:
        text = format_python({file.path: text}, None)[file.path] if python else _clang_format(file.path, text, roots)
    with held(request.output):
        listed_new = not os.path.lexists(listing)
        before = empty_listing() if listed_new else listing.read_bytes().decode("utf-8")
        after = with_torch_entry(before, shown(listing), entry)
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


def _clang_format(path: str, text: str, roots: tuple[Path, ...]) -> str:
    from fl_gen.render.formatter import format_tree

    style = next(root / "clang-format.yaml" for root in roots if (root / "clang-format.yaml").is_file())
    return format_tree({path: text}, style.read_text(encoding="utf-8"), None)[path]
