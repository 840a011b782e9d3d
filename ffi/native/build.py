"""Builds `tileport-native` and installs it into the virtual environment of this Python.

    python ffi/native/build.py           build and install, unless nothing changed
    python ffi/native/build.py --test    run the Rust tests
    python ffi/native/build.py --lint    check formatting and run clippy
    python ffi/native/build.py --print   print the build environment, to be sourced by a shell

tileport itself has to be installed in that environment, with its extra `native-build`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tileport.ffi.build_env import BuildToolMissingError, build_environment

NATIVE = Path(__file__).resolve().parent
WORKSPACE = NATIVE.parent

#: Holds the hash of what the installed wheel was built from.
STAMP = Path(sys.prefix) / ".tileport-native"


def sources_hash() -> str:
    """SHA-256 over everything the wheel is built from, and the Python it is built for."""
    digest = hashlib.sha256(sys.prefix.encode())
    files = [WORKSPACE / "Cargo.toml", WORKSPACE / "Cargo.lock", NATIVE / "Cargo.toml"]
    files += [NATIVE / "pyproject.toml", *sorted(NATIVE.glob("src/**/*.rs"))]
    for file in files:
        digest.update(file.relative_to(WORKSPACE).as_posix().encode() + b"\0")
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


def installed() -> bool:
    """Whether the wheel in this environment was built from the sources as they are."""
    try:
        importlib.metadata.version("tileport-native")
        return STAMP.read_text() == sources_hash()
    except (importlib.metadata.PackageNotFoundError, OSError):
        return False


def run(command: list[str], env: dict[str, str]) -> None:
    """Runs a command in the Rust workspace; ends this program with its code if it fails."""
    code = subprocess.run(command, cwd=WORKSPACE, env={**os.environ, **env}, check=False).returncode
    if code != 0:
        sys.exit(code)


def install(env: dict[str, str]) -> None:
    """Builds the wheel and installs it with pip."""
    with tempfile.TemporaryDirectory() as folder:
        build = ["build", "--release", "--locked", "--quiet", "--interpreter", sys.executable]
        manifest = str(NATIVE / "Cargo.toml")
        maturin = [sys.executable, "-m", "maturin", *build, "-m", manifest, "-o", folder]
        run(maturin, env)
        wheel = next(Path(folder).glob("*.whl"))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--force-reinstall", "--no-deps", str(wheel)], {})
    STAMP.write_text(sources_hash())


def main() -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    group = parser.add_mutually_exclusive_group()
    for option in ("test", "lint", "print"):
        group.add_argument(f"--{option}", action="store_true")
    options = parser.parse_args()
    try:
        env = build_environment()
        if shutil.which("cargo") is None:
            raise BuildToolMissingError("cargo is missing", "install Rust 1.89 or newer (rustup)")
    except BuildToolMissingError as missing:
        sys.stderr.write(f"build.py: {missing}\n")
        return 3
    # As maturin sets it: nothing is to link with a Python library.
    env["PYO3_BUILD_EXTENSION_MODULE"] = "1"
    if options.test:
        run(["cargo", "test", "--release", "--locked", "--no-default-features"], env)
    elif options.lint:
        run(["cargo", "fmt", "--all", "--check"], env)
        run(
            ["cargo", "clippy", "--release", "--locked", "--all-targets", "--", "-D", "warnings"],
            env,
        )
    elif options.print:
        for name, value in env.items():
            sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
    elif not installed():
        install(env)
    return 0


if __name__ == "__main__":
    sys.exit(main())
