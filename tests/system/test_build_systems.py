"""Generating while a project builds, with Ninja and with Make: exactly when needed, and then all of it in one build."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from fl_gen import __version__
from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.schema.catalog import Catalog

from .building import ROOT, environment, missing, run

GENERATORS = {"ninja": "Ninja", "make": "Unix Makefiles"}
# Not a letter of it survives a shell or a build file that forgets to quote.
NAME = "a ünï (côdé) & 'q'"

PROJECT = """\
cmake_minimum_required(VERSION 3.28)
project(tiny LANGUAGES CXX)
include(FlGen)
fl_gen_backend(VENDOR mlu SDK "../sdk" SCHEMAS "../own schemas" TEMPLATES "../own templates")
list(FILTER fl_gen_mlu_SOURCES INCLUDE REGEX "/tiny_[a-z]+\\\\.cc$")
add_library(tiny STATIC ${fl_gen_mlu_SOURCES})
add_dependencies(tiny fl_gen_mlu)
"""

OPS = """\
schema: 1
category: extra

ops:
  - name: ExtraForward
    doc: "-input."
    returns: "std::shared_ptr<Tensor>"
    params:
      - {name: input, type: "const std::shared_ptr<Tensor> &"}
    strategy: fallback
    cpu: framework
    dtypes: [float32]
    output_dtype: same(input)
    source: "a test"
    cases:
      - {input: [2, 3]}
"""


class Build:
    """A tiny project, an SDK of real files, overlays, and a generator of its own that a test may change."""

    def __init__(self, root: Path, generator: str) -> None:
        self.root, self.generator = root, generator
        self.tool = root / "generator"
        for name in ("codegen/fl_gen", "schemas", "templates", "cmake"):
            shutil.copytree(ROOT / name, self.tool / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.project, self.build, self.sdk = root / "project", root / "build", root / "sdk"
        self.generated = self.build / "fl-gen" / "generated" / "mlu"
        self.schemas = root / "own schemas" / "frameworks" / "infinitrain" / "ops"
        self.templates = root / "own templates" / "infinitrain" / "src"
        for folder in (self.project, self.schemas, self.templates):
            folder.mkdir(parents=True)
        catalog = Catalog()
        path = catalog.api_path("mlu")
        assert path is not None
        for name, text in render_headers(load_api(path, catalog.folders), "").items():
            (self.sdk / "include" / name).parent.mkdir(parents=True, exist_ok=True)
            (self.sdk / "include" / name).write_text(text)
        (self.project / "CMakeLists.txt").write_text(PROJECT)
        shutil.copy(ROOT / "schemas/frameworks/infinitrain/ops/sigmoid.yaml", self.schemas)
        (self.templates / "tiny_one.cc.j2").write_text("int tiny_one() { return 1; }\n")

    def cmake(self, *arguments: str) -> tuple[int, str]:
        done = run(["cmake", *arguments], cwd=self.root, env=environment(PYTHONPATH=str(self.tool / "codegen")))
        return done.returncode, done.stdout + done.stderr

    def try_configure(self) -> tuple[int, str]:
        return self.cmake(
            *("-G", GENERATORS[self.generator], "-S", "project", "-B", "build", "-DCMAKE_BUILD_TYPE=Debug"),
            *(f"-DCMAKE_MODULE_PATH={self.tool / 'cmake'}", f"-DFL_GEN_COMMAND={sys.executable};-m;fl_gen"),
        )

    def configure(self) -> str:
        code, text = self.try_configure()
        assert code == 0, text
        return text

    def run(self) -> str:
        """The output of a build that succeeds."""
        code, text = self.cmake("--build", "build", "-j2")
        assert code == 0, text
        return text

    def stopped(self) -> str:
        code, text = self.cmake("--build", "build", "-j2")
        assert code != 0, text
        return text

    def idle(self) -> None:
        """A build now does nothing at all."""
        before = self.times()
        text = self.run()
        assert "fl-gen: " not in text, text
        assert "Building" not in text
        assert "Re-running" not in text
        assert self.times() == before

    def times(self) -> dict[str, int]:
        """When each generated file, each object and the library were written."""
        paths = [*self.generated.rglob("*"), *self.build.rglob("*.o"), *self.build.rglob("*.a")]
        own = self.generated / ".fl-gen"  # fl-gen's notes for merges
        return {
            str(path.relative_to(self.build)): path.stat().st_mtime_ns
            for path in paths
            if path.is_file() and own not in path.parents
        }

    def moved(self, before: dict[str, int]) -> set[str]:
        """What was written, made or removed since."""
        now = self.times()
        return {path for path in {*before, *now} if before.get(path) != now.get(path)}


@pytest.fixture(params=list(GENERATORS))
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Build:
    for program in ("cmake", request.param, "g++"):
        if shutil.which(program, path=environment()["PATH"]) is None:
            missing(program)
    # Where a path holds a `%`, Make does not go on by itself after an input was removed.
    return Build(tmp_path / (NAME + " 50%" if request.param == "ninja" else NAME), request.param)


def append(path: Path, text: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def test_a_life_of_a_build(build: Build) -> None:
    build.configure()
    assert not build.generated.exists()
    assert "fl-gen/generated/mlu: " in build.run()
    assert len(list(build.build.rglob("tiny_*.o"))) == 1
    build.idle()

    # A header that was touched: looked at, and nothing comes of it.
    header = build.sdk / "include" / "cnrt.h"
    before = build.times()
    header.touch()
    assert "fl-gen: mlu" in build.run()
    assert build.moved(before) == set()
    build.idle()

    # One that says something else: the manifest knows, and no object is compiled again.
    append(header, "// one line more\n")
    build.run()
    assert build.moved(before) == {"fl-gen/generated/mlu/manifest.json"}
    build.idle()

    # A template: its file, its object, the library.
    before = build.times()
    (build.templates / "tiny_one.cc.j2").write_text("int tiny_one() { return 11; }\n")
    build.run()
    names = {Path(path).name for path in build.moved(before)}
    assert names == {"manifest.json", "tiny_one.cc", "tiny_one.cc.o", "libtiny.a"}
    build.idle()

    # A shipped schema, and the generator itself.
    for path in ("schemas/vendors/mlu/vendor.yaml", "codegen/fl_gen/render/kernels.py"):
        append(build.tool / path, "# one line more\n")
        assert "fl-gen: mlu" in build.run()
        build.idle()

    # New files: of a template, and of a new op. Both are compiled or there after one build.
    before = build.times()
    (build.templates / "tiny_two.cc.j2").write_text("int tiny_two() { return 2; }\n")
    build.run()
    names = {Path(path).name for path in build.moved(before)}
    assert names == {"manifest.json", "tiny_two.cc", "tiny_two.cc.o", "libtiny.a"}
    build.idle()
    (build.schemas / "extra.yaml").write_text(OPS)
    build.run()
    assert "ExtraForward" in (build.generated / "src/kernels/fallback/extra.cc").read_text()
    build.idle()

    # And gone again.
    (build.templates / "tiny_two.cc.j2").unlink()
    (build.schemas / "extra.yaml").unlink()
    build.run()
    assert not (build.generated / "src/tiny_two.cc").exists()
    assert not (build.generated / "src/kernels/fallback/extra.cc").exists()
    build.idle()


def test_a_build_stops_with_fl_gens_own_words(build: Build) -> None:
    build.configure()
    build.run()
    before = build.times()
    (build.schemas / "extra.yaml").write_text(OPS.replace("returns:", "retuns:"))
    text = build.stopped()
    assert "extra.yaml:7:5: " in text
    assert "'retuns'" in text
    assert "Traceback" not in text
    assert build.stopped().count("'retuns'") >= 1  # not forgotten
    assert build.moved(before) == set()
    (build.schemas / "extra.yaml").unlink()
    build.run()
    build.idle()
    # A hand edit is no input, but what would lose it stops.
    edited = build.generated / "src" / "tiny_one.cc"
    append(edited, "// mine\n")
    (build.templates / "tiny_one.cc.j2").write_text("int tiny_one() { return 12; }\n")
    assert "changed by hand, and this run would lose that" in build.stopped()
    assert edited.read_text().endswith("// mine\n")


def test_two_vendors_at_a_time(build: Build) -> None:
    """Into one folder, one of them as a project file says."""
    out = build.root / "out"
    out.mkdir()
    (out / "fl-gen.yaml").write_text(
        f"schema: 1\ngenerator: {__version__}\nframework: infinitrain\nvendors:\n  maca: {{sdk: sim}}\n"
    )
    (build.project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.28)\nproject(two LANGUAGES NONE)\ninclude(FlGen)\n"
        "fl_gen_backend(VENDOR mlu SDK sim OUTPUT ../out)\n"
        "fl_gen_backend(VENDOR maca CONFIG ../out/fl-gen.yaml TARGET code)\n"
        'message(STATUS "made: ${code_DIR}, ${fl_gen_mlu_DIR}")\n'
    )
    assert f"made: {out}/generated/maca, {out}/generated/mlu" in build.configure()
    build.run()
    for vendor in ("mlu", "maca"):
        assert (out / "generated" / vendor / "manifest.json").is_file()
        assert (out / "backends" / vendor / "kernels.yaml").is_file()
    assert not list(out.rglob("*.fl-gen-*"))
    build.idle()
    for path in ("backends/maca/kernels.yaml", "fl-gen.yaml"):
        os.utime(out / path)
        text = build.run()
        assert "fl-gen: maca" in text
        assert "fl-gen: mlu" not in text
        build.idle()


@pytest.mark.parametrize("build", ["ninja"], indirect=True)
def test_the_folder_and_the_sources_of_a_package(build: Build) -> None:
    """Of a tree that is not called as its vendor, below a folder that is called nearly like it."""
    made = build.root / "generated" / "mlu" / "generated" / "torch_mlu"
    listed = ";".join(str(made / path) for path in ("CMakeLists.txt", "csrc/aten/copy.cc", "csrc/aten/copy.h", "x.cc"))
    (build.project / "list.py").write_text(f"print({listed!r}, end='')\n")  # in the place of a fl-gen with PyTorch
    (build.project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.28)\nproject(package LANGUAGES NONE)\ninclude(FlGen)\n"
        f'set(FL_GEN_COMMAND "{sys.executable}" "${{CMAKE_CURRENT_SOURCE_DIR}}/list.py")\n'
        "fl_gen_backend(VENDOR mlu FRAMEWORK torch)\n"
        'message(STATUS "made: ${fl_gen_mlu_DIR} of ${fl_gen_mlu_SOURCES}!")\n'
    )
    assert f"made: {made} of {made}/csrc/aten/copy.cc!" in build.configure()


@pytest.mark.parametrize("build", ["ninja"], indirect=True)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("SDK sim", "fl_gen_backend: VENDOR is missing"),
        ("CONFIG fl-gen.yaml", "fl_gen_backend: VENDOR is missing: which one of fl-gen.yaml?"),
        ("SOURCES x VENDOR mlu SDK sim", "fl_gen_backend: what is SOURCES;x?"),
        ("VENDOR mlu SDK sim OUTPUT", "fl_gen_backend: OUTPUT needs a value"),
        ("VENDOR mlu CONFIG fl-gen.yaml SDK sim", "fl_gen_backend: SDK is what fl-gen.yaml says"),
        ("VENDOR mli SDK sim", "there is no vendor 'mli' in"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(build: Build, call: str, message: str) -> None:
    (build.project / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.28)\nproject(wrong LANGUAGES NONE)\ninclude(FlGen)\nfl_gen_backend({call})\n"
    )
    code, text = build.try_configure()
    assert code != 0
    assert message in " ".join(text.split())
