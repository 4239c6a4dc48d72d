"""Which sources of a user are compiled into a package: those of kernels.yaml, and what kernels.cmake adds. Some seconds."""

from __future__ import annotations

from pathlib import Path

from fl_gen.output.policy import Policy
from fl_gen.workflow.generate import generate
from fl_gen.workflow.request import Request
from fl_gen.workflow.torch_scaffold import scaffold_torch
from system.building import CACHE, Variant, sim_sdk, succeed, tool

from .packages import torch_python

OWN = """\
target_sources(torch_mlu PRIVATE "${TORCH_MLU_OWN_DIR}/kernels/helper.cc")
add_library(kernels_on_device OBJECT "${TORCH_MLU_OWN_DIR}/kernels/device.cc")
target_link_libraries(torch_mlu PRIVATE kernels_on_device)
"""


def _configure(tree: Path, build: Path) -> str:
    """Configures the package, and gives the commands that would build its library."""
    python, torch = torch_python()
    settings = {
        "CMAKE_MAKE_PROGRAM": tool("ninja"),
        "CMAKE_CXX_COMPILER": tool("g++"),
        "Python_EXECUTABLE": python,
        "TORCH_MLU_SDK_ROOT": sim_sdk(Variant("mlu")),
        "TORCH_MLU_TORCH_DIR": torch,
        "TORCH_MLU_PYTHON": "OFF",
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    succeed([tool("cmake"), "-G", "Ninja", "-S", tree, "-B", build, *options])
    return succeed([tool("ninja"), "-C", build, "-t", "commands", "torch_mlu"])


def test_what_is_listed_is_compiled_and_what_a_user_adds(tmp_path: Path) -> None:
    request = Request(
        vendor="mlu",
        framework="torch",
        sdk=("sim",),
        output=tmp_path,
        cache=CACHE,
        torch=torch_python()[1],
        formatted=False,
    )
    scaffold_torch(request, "aten::relu", python=False)
    scaffold_torch(request, "aten::sigmoid", python=False)
    generate(request, Policy.OVERWRITE)
    tree, kernels, build = request.generated, request.backends / "kernels", tmp_path / "build"
    commands = _configure(tree, build)
    assert str(kernels / "relu.cc") in commands
    assert str(kernels / "sigmoid.cc") in commands
    # One whose entry is gone stays on the disk, and is not compiled.
    listing = request.backends / "kernels.yaml"
    lines = listing.read_text(encoding="utf-8").splitlines(keepends=True)
    listing.write_text("".join(line for line in lines if "sigmoid" not in line), encoding="utf-8")
    generate(request, Policy.OVERWRITE)
    for name, text in {
        "orphan.cc": "#error not listed\n",
        "helper.cc": "int helper() { return 1; }\n",
        "device.cc": "int on_device() { return 2; }\n",
    }.items():
        (kernels / name).write_text(text, encoding="utf-8")
    (request.backends / "kernels.cmake").write_text(OWN, encoding="utf-8")
    commands = _configure(tree, build)
    for name, compiled in (("relu", True), ("sigmoid", False), ("orphan", False), ("helper", True), ("device", True)):
        assert (str(kernels / f"{name}.cc") in commands) == compiled, name
    succeed([tool("ninja"), "-C", build, "kernels_on_device", "CMakeFiles/torch_mlu.dir" + f"{kernels}/helper.cc.o"])
    linked = next(line for line in commands.splitlines() if "-shared" in line)
    assert "kernels_on_device.dir" in linked
