"""Every error that Foveate raises on purpose.

FoveateError
├── InputError (ValueError)        what the caller gave cannot be used; nothing was changed
│   ├── EmptyQueryError
│   ├── NoPassagesError
│   ├── BudgetError
│   ├── TextEncodingError          a file or stream is not UTF-8
│   ├── NotTrainedError            the method needs weights for this model, and there are none
│   ├── UnknownNameError           no scorer, orderer, model ... of that name
│   └── UnsupportedFileError       no loader for that kind of file, or the file is damaged
├── ModelError
│   ├── ModelNotFoundError         no such model folder, or no weights in it
│   ├── ModelDownloadError         the package index could not be reached, or lacks the model
│   ├── ModelIntegrityError        the digest of what was fetched is not the pinned one
│   └── UnsupportedModelError      the architecture cannot be read, with the reason
├── StoreError                     an index or a store on disk
│   ├── IndexNotFoundError
│   ├── IndexCorruptError          truncated or altered; the files are left as they are
│   └── EmbedderMismatchError      the index was built with another embedder
├── GeneratorError                 the generator failed, after its retries
├── DeadlineExceededError          raised between batches; the serving path turns it into `degraded`
└── MissingExtraError (ImportError)

A message says what was given, what is allowed, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class FoveateError(Exception):
    """Root of all errors raised by Foveate."""


class InputError(FoveateError, ValueError):
    """The caller's input cannot be used."""


class EmptyQueryError(InputError):
    """The query holds no visible character."""


class NoPassagesError(InputError):
    """There is no passage to work on."""


class BudgetError(InputError):
    """The budget is not a positive token count, a share in (0, 1], or an `Adaptive`."""


class TextEncodingError(InputError):
    """A file or stream is not valid UTF-8."""


class UnsupportedFileError(InputError):
    """No loader reads this kind of file, or the file is damaged."""


class NotTrainedError(InputError):
    """A method needs weights fitted for the model, and there are none.

    Args:
        method: Name of the method.
        model: Name of the model.
        command: What makes them.
    """

    def __init__(self, method: str, model: str, command: str) -> None:
        self.method, self.model, self.command = method, model, command
        super().__init__(
            f"{method!r} has no weights for {model} yet; make them: {command}; or choose another "
            "scorer"
        )


class UnknownNameError(InputError):
    """A name that no registry holds.

    Args:
        kind: What was looked up, such as "scorer".
        name: The name that was given.
        known: The names that exist.
    """

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(f"unknown {kind} {name!r}; choose one of: {', '.join(self.known)}")


class ModelError(FoveateError):
    """A model cannot be had or used."""


class ModelNotFoundError(ModelError):
    """The model is not where it was looked for."""


class ModelDownloadError(ModelError):
    """Fetching the model failed."""


class ModelIntegrityError(ModelError):
    """What was fetched is not what was pinned."""


class UnsupportedModelError(ModelError):
    """The architecture cannot be read exactly, so it is refused.

    Args:
        model: Name or path of the model.
        reason: Why it is refused.
    """

    def __init__(self, model: str, reason: str) -> None:
        self.model, self.reason = model, reason
        super().__init__(f"{model} cannot be used: {reason}")


class StoreError(FoveateError):
    """Something kept on disk cannot be used."""


class IndexNotFoundError(StoreError):
    """There is no index in that folder."""


class IndexCorruptError(StoreError):
    """An index file is truncated or altered."""


class EmbedderMismatchError(StoreError):
    """The index was built with another embedder than the one given."""


class GeneratorError(FoveateError):
    """The generator did not answer."""


class DeadlineExceededError(FoveateError):
    """The time allowed has passed."""


class MissingExtraError(FoveateError, ImportError):
    """An optional dependency is not installed.

    Args:
        package: The import that failed.
        extra: The extra of Foveate that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{package} is not installed; run: pip install 'foveate[{extra}]'")
