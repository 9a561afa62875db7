from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

REPO = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]
BUILD_INPUTS = ("pyproject.toml", "README.md", "LICENSE")


def source_folders() -> Iterator[tuple[str, Path]]:
    """Every folder with an `__init__.py`, and the package it is."""
    for package, folder in FOLDERS.items():
        for init in (REPO / folder).rglob("__init__.py"):
            inside = init.parent.relative_to(REPO / folder)
            if inside.parts[:1] != ("_root",):
                yield ".".join((package, *inside.parts)), init.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the files in the wheel, built from a copy so that the repo stays clean."""
    copy = tmp_path_factory.mktemp("source")
    for name in BUILD_INPUTS:
        shutil.copy(REPO / name, copy)
    for folder in FOLDERS.values():
        if "/" not in folder:
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(REPO / folder, copy / folder, ignore=ignore)
    build = "import setuptools.build_meta as b; print(b.build_wheel('.'))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(copy / done.stdout.splitlines()[-1]) as archive:
        return set(archive.namelist())


def test_pyproject_lists_every_package_and_no_other() -> None:
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert len(listed) == len(set(listed))
    assert set(listed) == {package for package, _ in source_folders()}


def test_every_folder_with_code_is_a_package() -> None:
    packages = {folder for _, folder in source_folders()}
    holding_code = {
        file.parent for folder in FOLDERS.values() for file in (REPO / folder).rglob("*.py")
    }
    assert holding_code <= packages | {REPO / FOLDERS["foveate"]}


def test_the_link_tree_for_type_checkers_leads_to_the_same_folders() -> None:
    tree = REPO / ".src" / "foveate"
    links = {link.name: link for link in tree.iterdir()}
    folders = {
        package.removeprefix("foveate."): REPO / folder
        for package, folder in FOLDERS.items()
        if package != "foveate"
    }
    files = {name: REPO / FOLDERS["foveate"] / name for name in ("__init__.py", "py.typed")}
    assert links.keys() == folders.keys() | files.keys()
    for name, target in {**folders, **files}.items():
        assert links[name].is_symlink()
        assert not links[name].readlink().is_absolute()
        assert links[name].resolve() == target.resolve()
        assert target.exists()


def test_the_wheel_holds_every_module_and_the_type_marker(wheel: set[str]) -> None:
    wanted = {
        f"{package.replace('.', '/')}/{file.name}"
        for package, folder in (*source_folders(), ("foveate", REPO / FOLDERS["foveate"]))
        for file in folder.glob("*.py")
    }
    assert wanted <= wheel
    assert "foveate/py.typed" in wheel


def test_the_wheel_holds_the_data_that_code_reads(wheel: set[str]) -> None:
    data = {
        f"{package.replace('.', '/')}/{file.relative_to(folder).as_posix()}"
        for package, folder in source_folders()
        for file in (*folder.glob("*.json"), *folder.glob("*.jsonl"), *folder.glob("static/**/*"))
        if file.is_file()
    }
    assert "foveate/compressors/probes/calibration.jsonl" in data
    assert data <= wheel


def test_the_wheel_holds_the_licence_and_nothing_of_the_workshop(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    version = PROJECT["project"]["version"]
    assert tops == {"foveate", f"foveate-{version}.dist-info"}
    assert f"foveate-{version}.dist-info/licenses/LICENSE" in wheel
    assert not any("_root" in name for name in wheel)


def test_the_version_is_the_same_everywhere() -> None:
    import foveate

    version = PROJECT["project"]["version"]
    assert foveate.__version__ == version
    assert f"## [{version}]" in (REPO / "CHANGELOG.md").read_text("utf-8")


def test_the_extra_all_holds_every_extra_that_installs_anywhere() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(everything.partition("[")[2].rstrip("]").split(","))
    assert named == extras.keys() - {"all", "vllm", "gpu"}
