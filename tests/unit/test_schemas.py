from __future__ import annotations

from pathlib import Path

import pytest

from overstory.cli.schemas import COMMANDS, schema

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("name", COMMANDS)
def test_published_schema_is_that_of_the_program(name: str) -> None:
    # Written by: python -m overstory.cli.schemas docs/schemas
    assert (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8") == schema(name)


def test_no_other_schema_is_published() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.schema.json" for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_schema_version_comes_first(name: str) -> None:
    assert next(iter(COMMANDS[name].model_fields)) == "schema_version"
