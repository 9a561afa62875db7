"""Does the installed wheel hold the whole package, and does all of it import?

usage: python smoke.py REPO, with the Python of an environment that the wheel is installed in.
"""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import foveate
from foveate.blocks.errors import MissingExtraError

PARTS = {".py", ".typed", ".json", ".jsonl", ".html", ".css", ".js", ".svg", ".txt"}


def expected(repo: Path) -> dict[str, Path]:
    """For each file that belongs into the wheel, relative to `foveate/`: its source."""
    setuptools = tomllib.loads((repo / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    files = {}
    for package, folder in setuptools["package-dir"].items():
        target = Path(*package.split(".")[1:])
        for source in (repo / folder).rglob("*"):
            inside = source.relative_to(repo / folder)
            if source.suffix in PARTS and "_root" not in inside.parts:
                files[str(target / inside)] = source
    return files


def compare(installed: Path, repo: Path) -> list[str]:
    """Files that the wheel lacks, or holds in another version."""
    return [
        f"{name} differs from {source} or is missing"
        for name, source in expected(repo).items()
        if not (installed / name).is_file()
        or (installed / name).read_bytes() != source.read_bytes()
    ]


def modules(installed: Path) -> list[str]:
    """Every module in the wheel, by its full name."""
    files = (file.relative_to(installed.parent) for file in sorted(installed.rglob("*.py")))
    return [".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files]


def failures(names: list[str]) -> list[str]:
    """Modules that do not import, unless an extra that is not installed explains it."""
    failed = []
    for name in names:
        try:
            import_module(name)
        except MissingExtraError as missing:
            absent = getattr(missing.__cause__, "name", None) or missing.package
            if find_spec(absent.partition(".")[0]):
                failed.append(f"{name}: {missing}, but {absent} is installed")
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the report
            failed.append(f"{name}: {type(error).__name__}: {error}")
    return failed


def main() -> None:
    """Report what is wrong, and exit with 1 if anything is."""
    repo, installed = Path(sys.argv[1]), Path(foveate.__file__).parent
    if installed.is_relative_to(repo):
        sys.exit(f"tried {installed}, not the wheel")
    names = modules(installed)
    wrong = compare(installed, repo) + failures(names)
    if wrong:
        sys.exit("\n".join(wrong))
    sys.stdout.write(f"{len(names)} modules imported from {installed}\n")


if __name__ == "__main__":
    main()
