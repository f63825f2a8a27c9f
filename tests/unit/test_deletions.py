"""Which deletions are withheld."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.deletions import withheld
from overstory.identity import DocumentId
from overstory.settings import Deletions

DEFAULT = Deletions()

Ids = frozenset[DocumentId]


def ids(number: int) -> Ids:
    return frozenset(DocumentId(f"d{n}") for n in range(number))


def kept(missing: Ids, known: int, listed: int, noted: Ids = frozenset(), approved: Ids = frozenset()) -> int:
    return len(withheld(missing, noted, approved, known=known, listed=listed, settings=DEFAULT))


@pytest.mark.parametrize(
    ("missing", "known", "listed", "expected"),
    [
        (0, 100, 100, 0),
        (1, 1, 0, 1),
        (6, 6, 0, 6),
        (19, 30, 11, 0),
        (20, 30, 10, 20),
        (50, 100, 50, 0),
        (51, 100, 49, 51),
        (51, 100, 900, 51),
    ],
)
def test_deletions_are_withheld_where_too_much_is_gone(missing: int, known: int, listed: int, expected: int) -> None:
    assert kept(ids(missing), known, listed) == expected


def test_approved_deletions_are_not_withheld() -> None:
    assert kept(ids(60), 100, 0, approved=ids(60)) == 0


def test_deletion_that_nobody_has_approved_is_judged_without_those_that_somebody_has() -> None:
    assert kept(ids(61), 100, 39, approved=ids(60)) == 0


def test_withheld_deletions_stay_so_where_a_part_comes_back_or_others_come() -> None:
    assert kept(ids(10), 100, 90, noted=ids(60)) == 10
    assert kept(ids(60), 200, 140, noted=ids(60)) == 60


SETS = st.frozensets(st.integers(0, 40).map(lambda n: DocumentId(str(n))))


@given(SETS, SETS, SETS, st.integers(0, 100), st.integers(0, 100))
def test_only_what_is_missing_and_not_approved_is_withheld(
    missing: Ids, noted: Ids, approved: Ids, known: int, listed: int
) -> None:
    found = withheld(missing, noted, approved, known=known, listed=listed, settings=DEFAULT)
    assert (missing & noted) - approved <= found <= missing - approved
