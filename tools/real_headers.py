"""Fetch the headers that vendors really ship, for the tests: pinned packages of the Python index and of Debian.

    python tools/real_headers.py [RELEASE...]      (default: all; --list names them)

Only the folders with headers (and libcudart, which is small) are kept, below build/real-headers/ or the folder that
FL_GEN_REAL_HEADERS names; the packages themselves are deleted at once. What is there already is not fetched again.
Nothing of it belongs into the repository: these files are their vendors', under their vendors' licences.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "FL_GEN_REAL_HEADERS"
# Of one package there are wheels with different names for one and the same platform.
_PLATFORMS = ("manylinux1", "manylinux2010", "manylinux2014", "manylinux_2_27", "manylinux_2_28")


class Unavailable(Exception):
    """A package cannot be had, with the reason and what to do."""


@dataclass(frozen=True)
class Wheel:
    """A package of the Python index, with the digest of its wheel."""

    name: str
    version: str
    sha256: str

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def root(self) -> str:
        return f"{self.folder}/nvidia"

    def fetch(self, target: Path) -> None:
        """Download the wheel and unpack its headers into `target`. Raises Unavailable."""
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            wanted = Path(scratch, "wanted.txt")
            wanted.write_text(f"{self.name}=={self.version} --hash=sha256:{self.sha256}\n", encoding="utf-8")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            command += ["--no-cache-dir", "--only-binary=:all:", "--dest", scratch, "--requirement", str(wanted)]
            for platform in _PLATFORMS:
                command += ["--platform", f"{platform}_x86_64"]
            _run(command, f"{self.name} {self.version} from the Python index")
            (wheel,) = Path(scratch).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target, [name for name in archive.namelist() if _kept(name)])


@dataclass(frozen=True)
class Debian:
    """A package of Debian. Nothing that it depends on is fetched, and nothing is installed."""

    name: str
    version: str
    sha256: str

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def root(self) -> str:
        return f"{self.folder}/usr"

    def fetch(self, target: Path) -> None:
        """Download the package and unpack its headers into `target`. Raises Unavailable."""
        for program in ("apt-get", "dpkg"):
            if shutil.which(program) is None:
                raise Unavailable(f"{self.name} is a package of Debian, and this machine has no {program}")
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            os.chmod(scratch, 0o755)  # apt fetches as a user of its own
            _run(["apt-get", "download", "-qq", f"{self.name}={self.version}"], f"{self.name} from Debian", scratch)
            (package,) = Path(scratch).glob("*.deb")
            found = hashlib.sha256(package.read_bytes()).hexdigest()
            if found != self.sha256:
                raise Unavailable(f"{self.name} {self.version}: its SHA-256 is {found}, expected {self.sha256}")
            unpacked = Path(scratch, "unpacked")
            _run(["dpkg", "-x", str(package), str(unpacked)], f"unpack {package.name}")
            shutil.copytree(unpacked / "usr" / "include", target / "usr" / "include")


def _kept(member: str) -> bool:
    parts = member.split("/")
    return "include" in parts[1:-1] or parts[-1].startswith("libcudart.so")


_CUDA_11_8 = Wheel(
    "nvidia-cuda-runtime-cu11", "11.8.89", "92d04069a987e1fbc9213f8376d265df0f7bb42617d44f5eda1f496acea7f2d1"
)
_CRT_11_8 = Wheel(
    "nvidia-cuda-nvcc-cu11", "11.8.89", "f8e1e995166c884f2f5bf94975d7abb89175363b8712f7f81cd38d0df1b2cd85"
)
_CUDA_12_1 = Wheel(
    "nvidia-cuda-runtime-cu12", "12.1.105", "6e258468ddf5796e25f1dc591a31029fa317d97a0a94ed93468fc86301d61e40"
)
_CRT_12_1 = Wheel(
    "nvidia-cuda-nvcc-cu12", "12.1.105", "a0712a05ffd57d9f017580ffcc808b207f7f4ef7a5ca8ac1312318b153739a18"
)
_CUDA_12_9 = Wheel(
    "nvidia-cuda-runtime-cu12", "12.9.79", "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3"
)
_CRT_12_9 = Wheel(
    "nvidia-cuda-nvcc-cu12", "12.9.86", "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0"
)
_CUDA_13 = Wheel("nvidia-cuda-runtime", "13.5.37", "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d")
_CRT_13 = Wheel("nvidia-cuda-crt", "13.5.37", "e898b7f73d3035fa89915a3f7bf3b54a73e90249746111aed295822c4729bb29")
# cuBLAS and new releases of NCCL include cuda_fp16.h, which since CUDA 12 includes <nv/target> of another package.
_CCCL_12 = Wheel("nvidia-cuda-cccl-cu12", "12.9.27", "37869e17ce2e1ecec6eddf1927cca0f8c34e64fd848d40453df559091e2d7117")
_CCCL_13 = Wheel("nvidia-cuda-cccl", "13.3.5.0.6", "d5230098fa2df5021e1a00c0c4eee41797671a91119d31e892463e5ccf3ee326")
_CUBLAS_12 = Wheel("nvidia-cublas-cu12", "12.1.3.1", "ee53ccca76a6fc08fb9701aa95b6ceb242cdaab118c3bb152af4e579af792728")
_CUBLAS_13 = Wheel("nvidia-cublas", "13.10.0.20", "dcc6d63884c53d07e267ce7e6feac17b2538cebaafec5db865736c3e28e4dc84")
_NCCL_OLD = Wheel("nvidia-nccl-cu12", "2.16.5", "84695a4248138fb2ca12f5fd3defe986e790e71ccdaad51b2ca34ca4e83ef421")
_NCCL_NEW = Wheel("nvidia-nccl-cu12", "2.32.3", "bb94b2348e4861d5e8aa00b36c3d12d9bdf9c6369b82cbb723de0b582280a21c")
_HIP = Debian("libamdhip64-dev", "5.2.3-8", "1f87b72e5aa86025c6cb96312c75ee7f549c42475f4bc51049ab7b67cc4e762e")

# The wheels of cuBLAS are the big ones, so only two releases have it.
RELEASES: dict[str, tuple[Wheel | Debian, ...]] = {
    "cuda-11.8": (_CUDA_11_8, _CRT_11_8, _NCCL_OLD),
    "cuda-12.1": (_CUDA_12_1, _CRT_12_1, _CUBLAS_12, _CCCL_12, _NCCL_OLD),
    "cuda-12.9": (_CUDA_12_9, _CRT_12_9, _CCCL_12, _NCCL_NEW),
    "cuda-13.5": (_CUDA_13, _CRT_13, _CUBLAS_13, _CCCL_13, _NCCL_NEW),
    "hip-5.2": (_HIP,),
}


def folder() -> Path:
    """Where the headers are kept."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser().resolve() if named else Path(__file__).resolve().parents[1] / "build/real-headers"


def roots(release: str) -> tuple[Path, ...] | None:
    """The folders to give with --sdk for a release; None when it has not been fetched."""
    found = tuple(folder() / package.root for package in RELEASES[release])
    return found if all(path.is_dir() for path in found) else None


def fetch(release: str) -> int:
    """Fetch what is not there of a release; the number of packages that were fetched. Raises Unavailable."""
    fetched = 0
    for package in RELEASES[release]:
        if (folder() / package.root).is_dir():
            continue
        print(f"{release}: {package.name} {package.version}", flush=True)
        folder().mkdir(parents=True, exist_ok=True)
        # Complete or not there at all: what is interrupted leaves nothing that looks finished.
        with tempfile.TemporaryDirectory(prefix=".part-", dir=folder()) as scratch:
            part = Path(scratch, "package")
            part.mkdir()
            package.fetch(part)
            if not (part / Path(package.root).name).is_dir():
                raise Unavailable(f"{package.name} {package.version} does not hold {Path(package.root).name}/")
            target = folder() / package.folder
            if not target.exists():  # another process may have been faster
                part.rename(target)
        fetched += 1
    return fetched


def _run(command: Sequence[str], what: str, folder: str | None = None) -> None:
    try:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise Unavailable(f"{what}: {error}") from error
    if result.returncode != 0:
        lines = [line for line in (result.stderr + result.stdout).splitlines() if line.strip()]
        words = [line for line in lines if line.startswith(("ERROR", "E:"))] or lines[-3:]
        raise Unavailable("\n  ".join([f"{what}: exit code {result.returncode}", *words]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"any of {', '.join(RELEASES)}; default: all")
    parser.add_argument("--list", action="store_true", help="print each release and its folders, and fetch nothing")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.releases) - set(RELEASES))
    if unknown:
        parser.error(f"unknown release {unknown[0]}; there are {', '.join(RELEASES)}")
    failed = 0
    for release in arguments.releases or RELEASES:
        if arguments.list:
            print(release, *(roots(release) or ["(not fetched)"]))
            continue
        try:
            fetch(release)
        except Unavailable as error:
            failed += 1
            print(f"tools/real_headers.py: {release} cannot be had: {error}", file=sys.stderr)
    if failed:
        print(f"  = check the network and the package index, then run it again ({failed} failed)", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
