#!/usr/bin/env bash
# Sets up what a target of the Makefile needs: Debian packages that are missing, and a virtual environment with fl-gen.
#   tools/setup.sh demo|test
# A set-up that is complete is recognised by a stamp and costs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:?usage: tools/setup.sh demo|test}
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "tools/setup.sh: $python is older than 3.10: set PYTHON to a newer one" >&2
    exit 2
}

packages=(libgoogle-glog-dev)
if [ "$what" = test ]; then
    packages+=(libgtest-dev libgmock-dev libeigen3-dev clang-16 libclang-rt-16-dev)
fi
missing=()
if command -v dpkg-query >/dev/null; then
    for package in "${packages[@]}"; do
        dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
fi
if [ "${#missing[@]}" -gt 0 ]; then
    run=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || {
            echo "tools/setup.sh: install these packages as root, then run this again: ${missing[*]}" >&2
            exit 2
        }
        run=(sudo)
    fi
    echo "installing ${missing[*]}"
    "${run[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

stamp=.venv/.fl-gen-$what
if [ ! -f "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    echo "setting up .venv for '$what'"
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    extras=$what
    # PyTorch is big, and only the tests need it. Without it those of the framework torch are skipped.
    [ "$what" = test ] && extras=test,torch
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"
    touch "$stamp"
fi

if [ "$what" = test ]; then
    # The oldest and the newest libclang that the tests compare with the pinned one, each in a folder of its own.
    for wheel in libclang==16.0.6 libclang-ng==22.1.4.2; do
        folder=build/libclang/${wheel#*==}
        [ -f "$folder/.complete" ] && continue
        rm -rf "$folder"
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder" "$wheel" &&
            touch "$folder/.complete" ||
            echo "tools/setup.sh: the tests with $wheel will be skipped" >&2
    done
    # The oldest PyTorch that generated packages are compiled and linked against, without what it would run with.
    folder=build/torch/2.6.0
    if [ ! -f "$folder/.complete" ]; then
        rm -rf "$folder"
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder" torch==2.6.0 &&
            touch "$folder/.complete" ||
            echo "tools/setup.sh: the tests with torch==2.6.0 will be skipped" >&2
    fi
    .venv/bin/python tools/real_headers.py || echo "tools/setup.sh: the tests against real headers will be skipped" >&2
fi
