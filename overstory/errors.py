"""Every error that Overstory raises, in one tree.

OverstoryError
├── SettingsError            a setting is unknown, null, or out of range
├── SourceError              a source folder cannot be listed
├── ExtractionError          one document cannot be read; the others go on
├── StoreError
│   ├── StoreUnavailable     (transient) the database does not answer
│   ├── StoreFull            the disk or the quota of the database is used up
│   └── RecordTooNew         the record was written by a newer program
├── EmbeddedServerError      the embedded Postgres cannot be started
├── BuildLocked              (transient) another build holds the dataset
├── BuildInterrupted         a person or the system ended the build; it resumes
├── ModelError
│   ├── ModelUnavailable     (transient) timeouts, 5xx, rate limits after all attempts
│   ├── ModelRefusedAccess   a wrong key, model or address
│   ├── QuotaExhausted       no money or quota left: stop at once, resume later
│   └── ContextOverflow      the request is larger than the model's window
├── BudgetExhausted          the build's budget is spent; it resumes with a larger one
└── EmbeddingError           vectors of another shape or number than asked for

A summary that fails validation is not an error but a state of its node (``nodes.Failure``).
"""

from __future__ import annotations


class OverstoryError(Exception):
    """What happened, to what, and what to do about it.

    Args:
        message: What happened and to what, as one sentence without a secret in it.
        hint: What the reader can do, as one sentence.
        **attributes: Values for programs: ids, paths, counts.
    """

    exit_status = 1

    def __init__(self, message: str, *, hint: str = "", **attributes: object) -> None:
        self.message = message
        self.hint = hint
        self.attributes = attributes
        super().__init__(message)

    def __str__(self) -> str:
        """The message and the hint on one line."""
        return f"{self.message}. {self.hint}" if self.hint else self.message


class Transient:
    """Mixed into errors that may pass when the same call is made again."""


class Terminal:
    """Mixed into errors that stay until somebody changes something."""


class SettingsError(OverstoryError, Terminal):
    """A setting is unknown, null or out of range; raised when settings are loaded."""

    exit_status = 2


class SourceError(OverstoryError, Terminal):
    """A source folder is missing, unreadable or not a folder."""

    exit_status = 2


class ExtractionError(OverstoryError, Terminal):
    """One document cannot be turned into text."""


class StoreError(OverstoryError):
    """The record or a vector store did not do what it was asked."""


class StoreUnavailable(StoreError, Transient):
    """The database does not answer or dropped the connection."""


class StoreFull(StoreError, Terminal):
    """The database has no room left."""


class RecordTooNew(StoreError, Terminal):
    """The record was migrated by a newer Overstory than this one."""


class EmbeddedServerError(OverstoryError, Terminal):
    """The embedded Postgres cannot be installed, started or reached."""


class BuildLocked(OverstoryError, Transient):
    """Another build of the same dataset is running."""


class BuildInterrupted(OverstoryError, Transient):
    """The build was ended from outside; what was finished is kept."""

    exit_status = 130


class BudgetExhausted(OverstoryError, Terminal):
    """The next call would pass the budget of the build; what was made is kept."""


class ModelError(OverstoryError):
    """A language model did not give a usable answer."""


class ModelUnavailable(ModelError, Transient):
    """Timeouts, server errors or rate limits outlasted every attempt."""


class ModelRefusedAccess(ModelError, Terminal):
    """The endpoint refused the key, does not know the model, or is not there."""


class QuotaExhausted(ModelError, Terminal):
    """The account has no quota left; asking again would only be refused again."""


class ContextOverflow(ModelError, Terminal):
    """The request does not fit the model's context window."""


class EmbeddingError(OverstoryError, Terminal):
    """An embedder returned vectors of another number, shape or kind than it promised."""
