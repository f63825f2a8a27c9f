from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.patterns import Patterns, flaw

PATHS = ["private/a.md", "private/s/t/b.md", "x/private/c.md", "x/private/s/d.md", "a.md", "privates.md", "x/a.txt"]
FOLDER = st.text("ab .é-", min_size=1, max_size=6).map(str.strip).filter(lambda name: name.strip("."))
NAMES = st.lists(st.text("ab .é\n#!-", min_size=1, max_size=6).filter(lambda n: n.strip(".")), min_size=1, max_size=4)


def chosen(*patterns: str) -> list[str]:
    return [path for path in PATHS if Patterns(patterns).match(path)]


@pytest.mark.parametrize(
    "pattern",
    [
        "private/**",
        "/private/**",
        "/private/",
        "./private/",
        "./private/**",
        "private/**/*",
        "private/*",
        "private//**",
    ],
)
def test_anchored_folder_is_meant_with_all_beneath_it(pattern: str) -> None:
    assert chosen(pattern) == ["private/a.md", "private/s/t/b.md"]


@pytest.mark.parametrize("pattern", ["private", "private/", "**/private/**", "**/private/", "/**/private/**/*"])
def test_folder_at_any_depth_is_meant_with_all_beneath_it(pattern: str) -> None:
    assert chosen(pattern) == ["private/a.md", "private/s/t/b.md", "x/private/c.md", "x/private/s/d.md"]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("*.txt",), ["x/a.txt"]),
        (("/*.md",), ["a.md", "privates.md"]),
        (("./*.md",), ["a.md", "privates.md"]),
        (("x/*.txt",), ["x/a.txt"]),
        (("private/*.md",), ["private/a.md"]),
        (("x/**/*.md",), ["x/private/c.md", "x/private/s/d.md"]),
        (("**/*", "!private/"), ["a.md", "privates.md", "x/a.txt"]),
        (("**",), PATHS),
    ],
)
def test_patterns_mean_what_they_mean_in_a_gitignore(patterns: tuple[str, ...], expected: list[str]) -> None:
    assert chosen(*patterns) == expected


@given(FOLDER, NAMES)
def test_nothing_beneath_a_folder_escapes_it_and_nothing_else_is_caught(folder: str, names: list[str]) -> None:
    beneath = "/".join(names)
    for pattern in (f"/{folder}/**", f"/{folder}/", f"./{folder}/**", f"/{folder}/**/*"):
        assert Patterns([pattern]).match(f"{folder}/{beneath}")
        assert not Patterns([pattern]).match(f"{folder}z/{beneath}")
        assert not Patterns([pattern]).match(f"z/{folder}/{beneath}")
        assert Patterns([pattern]).match_all_beneath(folder)


@given(FOLDER, NAMES, NAMES)
def test_folder_at_any_depth_is_found_wherever_it_is(folder: str, above: list[str], below: list[str]) -> None:
    path = "/".join([*above, folder, *below])
    assert all(Patterns([pattern]).match(path) for pattern in (f"**/{folder}/**", f"**/{folder}/"))


@pytest.mark.parametrize("pattern", ["#notes.md", "caf\u00e9.md", "cafe\u0301.md"])
def test_a_name_is_its_own_pattern(pattern: str) -> None:
    assert Patterns([pattern]).match(pattern)


def test_accents_are_one_however_they_are_typed() -> None:
    assert Patterns(["caf\u00e9/**"]).match("cafe\u0301/a.md")


def test_folder_is_looked_into_where_something_in_it_is_taken_out_again() -> None:
    assert not Patterns(["private/**", "!private/public.md"]).match_all_beneath("private")
    assert not Patterns(["*.md"]).match_all_beneath("private")


def test_patterns_that_match_nothing_are_named() -> None:
    assert Patterns(["*.md", "nowhere/**", "x/", "!y"]).unused([*PATHS, "x/"]) == ["nowhere/**", "!y"]


@pytest.mark.parametrize("pattern", ["", " ", "/", "./", "!", "[", "a\\", "../a", "a/../b", " a", "a\0b"])
def test_what_is_no_pattern_is_told(pattern: str) -> None:
    assert flaw(pattern)


@pytest.mark.parametrize("pattern", ["*", "**", "**/*", "*.md", "a b/**", "#a", "!a", "[ab].md", "/a", ".a"])
def test_sound_pattern_has_no_flaw(pattern: str) -> None:
    assert flaw(pattern) == ""
