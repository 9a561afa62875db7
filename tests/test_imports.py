from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

import foveate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REPO = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((REPO / "pyproject.toml").read_text("utf-8"))
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]

IMPORT_BUDGET_MS = 150
HEAVY = ("torch", "transformers", "langchain", "numpy", "faiss", "fastapi", "pydantic")
PART_OF = {"starlette": "fastapi", "pydantic-core": "pydantic"}

# Imports every module named on stdin, and tells how each went; hidden ones are as if not installed.
IMPORT_ALL = """
import importlib, json, sys
names, hidden = json.load(sys.stdin)
sys.modules.update(dict.fromkeys(hidden))
went = {}
for name in names:
    try:
        importlib.import_module(name)
        went[name] = ""
    except ImportError as error:
        absent = getattr(error.__cause__, "name", None) or error.name or ""
        went[name] = f"{type(error).__name__}:{absent.partition('.')[0]}"
print(json.dumps([went, sorted(sys.modules)]))
"""


def source_files() -> Iterator[tuple[str, Path]]:
    """Every module of the packages, and its file."""
    for package, folder in FOLDERS.items():
        for file in sorted((REPO / folder).rglob("*.py")):
            inside = file.relative_to(REPO / folder).with_suffix("")
            if package == "foveate" or inside.parts[0] != "_root":
                yield ".".join((package, *inside.parts)).removesuffix(".__init__"), file


def import_all(hidden: Iterable[str] = ()) -> tuple[dict[str, str], set[str]]:
    names = [name for name, _ in source_files()]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        input=json.dumps([names, sorted(hidden)]),
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    went, loaded = json.loads(done.stdout.splitlines()[-1])
    return went, set(loaded)


@pytest.fixture(scope="module")
def everything_imported() -> tuple[dict[str, str], set[str]]:
    return import_all()


def normal(requirement: str) -> str:
    """The distribution that a requirement names."""
    match = re.match(r"[\w.-]+", requirement)
    assert match
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def declared() -> tuple[set[str], set[str]]:
    """Distributions of the base install, and those that extras add."""
    base = {normal(each) for each in PROJECT["project"]["dependencies"]}
    extras = PROJECT["project"]["optional-dependencies"].values()
    return base, {normal(each) for extra in extras for each in extra} - base - {"foveate"}


def with_dependencies(distributions: Iterable[str]) -> set[str]:
    found: set[str] = set()
    todo = list(distributions)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            try:
                needs = requires(name) or []
            except PackageNotFoundError:
                needs = []
            todo += [normal(each) for each in needs if "extra ==" not in each]
    return found


def test_importing_foveate_is_quick_and_wakes_nothing_heavy() -> None:
    code = (
        "import sys, time; before = set(sys.modules); start = time.perf_counter(); import foveate; "
        "print((time.perf_counter() - start) * 1000, *(set(sys.modules) - before))"
    )
    spent = []
    for _ in range(5):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        ms, *loaded = out.stdout.split()
        spent.append(float(ms))
        assert [name for name in loaded if name.startswith(HEAVY)] == []
    assert median(spent) < IMPORT_BUDGET_MS


def test_every_module_imports_unless_an_extra_that_is_not_installed_explains_it(
    everything_imported: tuple[dict[str, str], set[str]],
) -> None:
    went, loaded = everything_imported
    installed = packages_distributions().keys()
    failed = {name: why for name, why in went.items() if why}
    for why in failed.values():
        error, _, absent = why.partition(":")
        assert error == "MissingExtraError", failed
        assert absent not in installed, failed
    assert went.keys() - failed.keys() <= loaded


def test_no_module_is_loaded_a_second_time_under_its_folder_s_bare_name(
    everything_imported: tuple[dict[str, str], set[str]],
) -> None:
    _, loaded = everything_imported
    assert loaded.isdisjoint(folder for folder in FOLDERS.values() if "/" not in folder)


def test_without_extras_every_module_imports_or_names_the_extra() -> None:
    base, added = declared()
    names = packages_distributions()
    hidden = {
        name
        for name, homes in names.items()
        if {normal(home) for home in homes} & (added - with_dependencies(base))
    }
    assert {"faiss", "fastapi", "langchain_core"} <= hidden
    went, loaded = import_all(hidden)
    failed = {name: why for name, why in went.items() if why}
    assert all(why.partition(":")[2] in hidden for why in failed.values()), failed
    # `service.app` is the one way into the service; what stands behind it need not explain itself.
    shown = {n for n in failed if n == "foveate.service.app" or not n.startswith("foveate.service")}
    assert all(failed[name].startswith("MissingExtraError:") for name in shown), failed
    assert {"foveate.service.app", "foveate.rag.langchain"} <= shown
    assert {f"foveate.{home}" for home in foveate._HOMES.values()} <= loaded - failed.keys()


def test_every_third_party_import_is_declared() -> None:
    base, added = declared()
    homes = packages_distributions()
    undeclared = {
        f"{module}: {name}"
        for module, file in source_files()
        for name in imported(file)
        if not {PART_OF.get(d, d) for d in map(normal, homes.get(name, [name]))} & (base | added)
    }
    assert undeclared == set()


def imported(file: Path) -> set[str]:
    """Top-level names of what a file imports from outside, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.Import():
                names |= {alias.name.partition(".")[0] for alias in node.names}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module.partition(".")[0])
    return names - sys.stdlib_module_names - {"foveate"}


def test_every_public_name_is_listed_and_is_what_its_home_calls_it() -> None:
    assert set(foveate.__all__) == foveate._HOMES.keys() | {"__version__"}
    assert len(foveate.__all__) == len(set(foveate.__all__))
    assert dir(foveate) == sorted(foveate.__all__)
    for name, home in foveate._HOMES.items():
        assert getattr(foveate, name) is getattr(import_module(f"foveate.{home}"), name)


def test_type_checkers_see_the_same_public_names() -> None:
    tree = ast.parse(Path(str(foveate.__file__)).read_text("utf-8"))
    (checking,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in checking.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {name: f"foveate.{home}" for name, home in foveate._HOMES.items()}


def test_a_name_that_does_not_exist_is_refused_as_for_any_module() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Compressor'"):
        _ = foveate.Compressor
