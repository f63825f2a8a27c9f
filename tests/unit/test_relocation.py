"""Which folder a dataset belongs to."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from overstory.relocation import followed


@pytest.mark.parametrize(
    ("known", "relative"),
    [
        ("/old/project/docs", "docs"),
        ("/old/project/docs", "./docs"),
        ("/old/project/docs/en", "docs/en"),
        ("/old/docs", "../docs"),
        ("/old/project/docs", "src/../docs"),
        ("/old/project", "."),
    ],
)
def test_relative_source_moves_along_with_its_settings(known: str, relative: str) -> None:
    assert followed(PurePosixPath(known), relative)


@pytest.mark.parametrize(
    ("known", "relative"),
    [("/old/project/docs", None), ("/old/project/docs", "manual"), ("/old/project/docs", "en/docs")],
)
def test_other_source_is_another_folder(known: str, relative: str | None) -> None:
    assert not followed(PurePosixPath(known), relative)
