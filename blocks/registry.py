"""Names for methods: those of Foveate, and those that other packages bring by entry point."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from .errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")


class Registry(Generic[T]):
    """Makes a method by its name; its module is imported on first use.

    Args:
        kind: What is registered, for messages: "scorer".
        group: Entry-point group of outside packages: "foveate.scorers".
        methods: Name -> "module:Class".
    """

    def __init__(self, kind: str, group: str, methods: Mapping[str, str]) -> None:
        self.kind, self._group, self._methods = kind, group, dict(methods)

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted({*self._methods, *entry_points(group=self._group).names})

    def check(self, name: str) -> None:
        """Refuse a name that `make` would refuse, `_` being `-`; makes nothing.

        Installed packages are searched the first time alone, so that a server can ask often.

        Raises:
            UnknownNameError: No method has that name; lists those that exist.
        """
        if name.replace("_", "-") not in self._seen:
            raise UnknownNameError(self.kind, name, self._seen)

    @cached_property
    def _seen(self) -> frozenset[str]:
        return frozenset(self.names())

    def make(self, method: str | T) -> T:
        """An instance of the method of that name, `_` being `-`; an instance is passed through.

        Raises:
            UnknownNameError: No method has that name; lists those that exist.
            InputError: It is neither a name nor an instance.
        """
        if isinstance(method, str):
            return self._factory(method.replace("_", "-"))()
        if isinstance(method, type) or not hasattr(method, "name"):
            raise InputError(
                f"{self.kind} {method!r} is not allowed; give a name, one of "
                f"{', '.join(self.names())}, or an instance"
            )
        return method

    def _factory(self, name: str) -> Callable[[], T]:
        if name in self._methods:
            module, _, attribute = self._methods[name].partition(":")
            return cast("Callable[[], T]", getattr(import_module(module), attribute))
        for point in entry_points(group=self._group, name=name):
            return cast("Callable[[], T]", point.load())
        raise UnknownNameError(self.kind, name, self.names())
