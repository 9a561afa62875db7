"""Text that every machine with Python has: the documentation in its own standard library.

`pydoc` renders a module from what is installed; here its rendering becomes documents: one for the
description of a module, one for its functions, one for each class. What only names things is left
out: signatures without a word about them, special methods, what is inherited.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from textwrap import dedent
from typing import TYPE_CHECKING

from foveate.blocks.progress import silent

from .loaders.base import Document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from foveate.blocks.progress import Progress

MODULES = (
    *("argparse", "asyncio", "base64", "bisect", "calendar", "collections", "concurrent.futures"),
    *("configparser", "contextlib", "copy", "csv", "dataclasses", "datetime", "email.message"),
    *("enum", "fnmatch", "fractions", "functools", "getpass", "glob", "graphlib", "gzip"),
    *("hashlib", "heapq", "hmac", "html", "http.client", "http.cookies", "http.server"),
    *("importlib.metadata", "io", "ipaddress", "itertools", "json", "logging", "logging.config"),
    *("logging.handlers", "math", "multiprocessing", "operator", "os", "os.path", "pathlib"),
    *("pickle", "pprint", "queue", "random", "re", "secrets", "shelve", "shlex", "shutil"),
    *("signal", "smtplib", "socket", "sqlite3", "statistics", "string", "struct", "subprocess"),
    *("sys", "tarfile", "tempfile", "textwrap", "threading", "time", "timeit", "tomllib"),
    *("traceback", "types", "typing", "urllib.parse", "urllib.request", "uuid", "warnings"),
    *("weakref", "xml.etree.ElementTree", "zipfile", "zlib", "zoneinfo"),
)
"""What people ask about; nothing deprecated, nothing that does something when it is imported."""

_SECTION = re.compile(r"^([A-Z][A-Z ]+)$\n", re.MULTILINE)
_CLASS = re.compile(r"^class (\w+).*$\n", re.MULTILINE)
_GUTTER = re.compile(r"^ \| {0,2}", re.MULTILINE)
_RULE = re.compile(r"^-{20,}$\n", re.MULTILINE)
_ANCESTRY = re.compile(r"^Method resolution order:$\n(?:.+\n)+", re.MULTILINE)
_DEFINED = re.compile(r"^.+ defined here:$\n", re.MULTILINE)
_INHERITED = re.compile(r"^.+ inherited from .+:$", re.MULTILINE)
_ENTRY = re.compile(
    r"^(?P<signature>(?:async )?(?P<name>\w+).*)\n(?P<body>(?:(?: {4}.*| *)(?:\n|\Z))+)",
    re.MULTILINE,
)
_SPECIAL = re.compile(r"__\w+__\b")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def documents(
    names: Sequence[str] = MODULES, *, progress: Progress | None = None
) -> Iterator[Document]:
    """The documentation of modules, one after the other.

    Args:
        names: Dotted names; a module that is not in this build of Python is passed over.
        progress: Called with "read" and the modules done.
    """
    for done, name in enumerate(names, start=1):
        (progress or silent)("read", done, len(names))
        module = _imported(name)
        if module is not None:
            yield from parse(name, _rendered(module))


def parse(name: str, rendered: str) -> Iterator[Document]:
    """Cut what `pydoc` renders of a module into documents.

    Args:
        name: The module's name.
        rendered: What `pydoc.render_doc` gives, plain.
    """
    sections = dict(_parts(_SECTION, _ADDRESS.sub("", rendered)))
    _, _, synopsis = sections.get("NAME", "").partition(" - ")
    described = (synopsis.strip(), dedent(sections.get("DESCRIPTION", "")).strip())
    if any(described):
        yield Document("\n\n".join(filter(None, described)), name, name)
    functions = _entries(dedent(sections.get("FUNCTIONS", "")))
    if functions:
        yield Document(functions, f"{name}()", name)
    for owner, body in _parts(_CLASS, dedent(sections.get("CLASSES", ""))):
        text = _class_text(_GUTTER.sub("", body))
        if text:
            yield Document(text, f"{name}.{owner}", f"{name}.{owner}")


def _imported(name: str) -> ModuleType | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(name)
        except ImportError:  # built without it, as without SQLite or LZMA
            return None


def _rendered(module: ModuleType) -> str:
    import pydoc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pydoc.render_doc(module, renderer=pydoc.plaintext)  # type: ignore[attr-defined]


def _parts(heading: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Each heading's first group, with the text up to the next heading."""
    found = list(heading.finditer(text))
    ends = (*(match.start() for match in found[1:]), len(text))
    for match, end in zip(found, ends, strict=False):
        yield match[1], text[match.end() : end]


def _class_text(body: str) -> str:
    """A class: its docstring, then its own methods and properties that say something."""
    own = _INHERITED.split(_ANCESTRY.sub("", body), maxsplit=1)[0]
    described, *defined = _DEFINED.split(_RULE.sub("", own))
    members = [_entries(part) for part in defined]
    return "\n\n".join(part for part in (described.strip(), *members) if part)


def _entries(text: str) -> str:
    """Signatures with what is said about them, a heading above each."""
    return "\n\n".join(
        f"### {match['name']}\n{match['signature'].rstrip()}\n{match['body'].rstrip()}"
        for match in _ENTRY.finditer(text)
        if match["body"].strip() and not _SPECIAL.match(match["name"])
    )
