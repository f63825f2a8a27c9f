"""Which deletions are withheld: a listing from which too much is gone may be that of a folder that is not mounted."""

from __future__ import annotations

from collections.abc import Collection

from overstory.identity import DocumentId
from overstory.settings import Deletions


def withheld(
    missing: Collection[DocumentId],
    noted: Collection[DocumentId],
    approved: Collection[DocumentId],
    *,
    known: int,
    listed: int,
    settings: Deletions,
) -> frozenset[DocumentId]:
    """Those of the missing documents that stay until they are back, or until somebody approves.

    Args:
        missing: Documents that the source no longer lists.
        noted: Documents that an earlier scan withheld.
        approved: Documents whose deletion somebody has approved.
        known: Documents in the record.
        listed: Documents that the source lists, new ones too.
        settings: How many may vanish at once.
    """
    doubtful = frozenset(missing) - frozenset(approved)
    if not doubtful:
        return doubtful
    many = len(doubtful) >= settings.min_documents and len(doubtful) > settings.max_share * known
    # What was withheld once stays so: a mount that comes back in part, or new documents, make it no more credible.
    return doubtful if many or not listed else doubtful & frozenset(noted)


def note(number: int, known: int) -> str:
    """One line about withheld deletions, with what to do."""
    stay = f"{number:,} of {known:,} documents are gone from the source: their deletion is withheld"
    return f"{stay}. If it is meant: overstory build DIR --confirm-deletions"
