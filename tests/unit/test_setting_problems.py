from __future__ import annotations

import pytest

from overstory.errors import SettingsError
from overstory.settings import parse


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"sorce": "a"}, "Unknown setting 'datasets.d.sorce' (did you mean 'source'?)"),
        (
            {"source": "a", "chunking": {"leaf_tokns": 9}},
            "'datasets.d.chunking.leaf_tokns' (did you mean 'leaf_tokens'?)",
        ),
        (
            {"source": "a", "summarizer": {"kind": "openai", "model": "m", "base_ur": "x"}},
            "'datasets.d.summarizer.base_ur' (did you mean 'base_url'?)",
        ),
        ({"source": "a", "qqq": 1}, "Unknown setting 'datasets.d.qqq'. See"),
        ({}, "Setting 'datasets.d.source' is wrong: it is missing"),
        ({"source": 1}, "Setting 'datasets.d.source' is wrong: "),
    ],
)
def test_problem_names_the_setting_and_the_nearest_known_one(table: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        parse({"datasets": {"d": table}}, folder=None)
    assert said in str(raised.value)
