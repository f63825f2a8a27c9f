from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from overstory.adapters.folder_source import FolderSource
from overstory.errors import ExtractionError, SourceError
from overstory.ports import ClosedFolder

NOBODY = 65534


def source(folder: Path, include: tuple[str, ...] = ("**/*",), exclude: tuple[str, ...] = ()) -> FolderSource:
    return FolderSource(folder, include, exclude, 1000)


def paths(folder: Path, include: tuple[str, ...] = ("**/*",), exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.path for file in source(folder, include, exclude).files()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.md", "a.txt", "sub/c.md", "sub/deep/d.md", ".hidden.md", ".git/e.md", "overstory.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"Text of {name}")
    return tmp_path


def test_documents_come_by_path_without_hidden_ones(folder: Path) -> None:
    assert paths(folder) == ["a.txt", "b.md", "sub/c.md", "sub/deep/d.md"]


def test_documents_come_with_their_size(folder: Path) -> None:
    assert source(folder).files()[0].state.size_bytes == len("Text of a.txt")


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (("*.md",), (), ["b.md", "sub/c.md", "sub/deep/d.md"]),
        (("**/*.txt",), (), ["a.txt"]),
        (("sub/*.md",), (), ["sub/c.md"]),
        (("**/*",), ("*.txt",), ["b.md", "sub/c.md", "sub/deep/d.md"]),
        (("**/*",), ("sub/**/*.md", "c.md"), ["a.txt", "b.md"]),
        (("*.pdf",), (), []),
    ],
)
def test_patterns_choose(folder: Path, include: tuple[str, ...], exclude: tuple[str, ...], expected: list[str]) -> None:
    assert paths(folder, include, exclude) == expected


def test_excluded_folder_is_left_out_with_its_subfolders(folder: Path) -> None:
    assert paths(folder, exclude=("sub/**",)) == ["a.txt", "b.md"]


def test_excluded_folder_is_not_looked_into(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    scan = os.scandir

    def noted(path: Path) -> os._ScandirIterator[str]:
        looked.append(Path(path).name)
        return scan(str(path))

    monkeypatch.setattr(os, "scandir", noted)
    paths(folder, exclude=("sub/**",))
    assert looked == [folder.name]


def test_patterns_that_match_nothing_are_told(folder: Path) -> None:
    opened = source(folder, ("**/*", "*.pdf"), ("sub/", "nowhere/**", "*.pdf"))
    opened.files()
    assert opened.unused_patterns() == ["*.pdf", "nowhere/**"]


def test_default_pattern_is_not_told_of_an_empty_folder(tmp_path: Path) -> None:
    opened = source(tmp_path)
    opened.files()
    assert opened.unused_patterns() == []


def test_document_is_read_as_it_is(folder: Path) -> None:
    opened = source(folder)
    opened.files()
    assert opened.read("sub/c.md") == b"Text of sub/c.md"


@pytest.mark.parametrize("path", ["nowhere.md", "../outside.md", "/etc/hostname", ".hidden.md", ""])
def test_path_that_was_not_listed_is_not_read(folder: Path, path: str) -> None:
    opened = source(folder)
    opened.files()
    with pytest.raises(ExtractionError, match="is not a document of this source"):
        opened.read(path)


def test_large_document_is_refused(folder: Path) -> None:
    (folder / "large.md").write_bytes(b"x" * 1001)
    opened = source(folder)
    opened.files()
    with pytest.raises(ExtractionError, match="larger than 1,000 bytes"):
        opened.read("large.md")


def test_document_that_is_gone_by_now_is_told(folder: Path) -> None:
    opened = source(folder)
    opened.files()
    (folder / "b.md").unlink()
    with pytest.raises(ExtractionError, match=r"'b\.md' cannot be read: No such file.*The next build looks again"):
        opened.read("b.md")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_file_that_is_none_any_more_is_told_without_waiting(folder: Path, make: Callable[[Path], None]) -> None:
    opened = source(folder)
    opened.files()
    (folder / "b.md").unlink()
    make(folder / "b.md")
    with pytest.raises(ExtractionError, match=r"'b\.md' (is no file any more|cannot be read: Is a directory)"):
        opened.read("b.md")


def test_links_are_followed_within_the_folder_alone(folder: Path) -> None:
    (folder / "inside.md").symlink_to(folder / "b.md")
    (folder / "outside.md").symlink_to("/etc/hostname")
    (folder / "broken.md").symlink_to(folder / "nowhere.md")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "linked").symlink_to(folder / "sub", target_is_directory=True)
    assert [path for path in paths(folder) if path not in ("a.txt", "b.md") and not path.startswith("sub/")] == [
        "inside.md"
    ]


def test_pipes_and_folders_are_no_documents(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    assert "pipe.md" not in paths(folder)
    assert "folder.md" not in paths(folder)


def test_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        paths(tmp_path / "nowhere")


def test_file_in_place_of_the_folder_is_told(folder: Path) -> None:
    with pytest.raises(SourceError, match="is not a folder"):
        paths(folder / "b.md")
    with pytest.raises(SourceError, match="does not exist"):
        paths(folder / "b.md" / "below")


def test_empty_folder_has_no_documents(tmp_path: Path) -> None:
    assert paths(tmp_path) == []


def test_names_that_are_no_unicode_are_spelled_out_and_can_be_read(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("raw")
    (tmp_path / "caf%E9.md").write_text("spelled")
    opened = source(tmp_path)
    assert [file.path for file in opened.files()] == ["caf%%E9.md", "caf%E9.md"]
    assert opened.read("caf%%E9.md") == b"raw"
    assert opened.read("caf%E9.md") == b"spelled"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, removed after the test."""
    with tempfile.TemporaryDirectory(prefix="overstory-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Be somebody for whom permissions count."""
    before = os.geteuid()
    if before != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_document_without_permission_is_listed_and_refused_when_read(open_folder: Path) -> None:
    (open_folder / "closed.md").write_text("Text")
    (open_folder / "closed.md").chmod(0)
    opened = source(open_folder)
    with ordinary_user():
        assert [file.path for file in opened.files()] == ["closed.md"]
        with pytest.raises(ExtractionError, match=r"'closed\.md' cannot be read: Permission denied"):
            opened.read("closed.md")


def test_folder_that_cannot_be_listed_closes_what_is_beneath_it_alone(open_folder: Path) -> None:
    (open_folder / "closed").mkdir(mode=0)
    (open_folder / "open.md").write_text("Text")
    opened = source(open_folder)
    with ordinary_user():
        assert [file.path for file in opened.files()] == ["open.md"]
        assert opened.closed_folders() == [ClosedFolder("closed", "Permission denied")]
        with pytest.raises(ExtractionError, match=r"the folder 'closed' cannot be listed \(Permission denied\)"):
            opened.read("closed/a.md")
    (open_folder / "closed").chmod(0o700)
    opened.files()
    assert opened.closed_folders() == []


def test_document_that_cannot_be_looked_at_is_listed_since_it_may_be_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = Path.stat

    def fail(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.name == "b.md":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return look(path, follow_symlinks=follow_symlinks)

    def refuse(path: Path, flags: int) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(Path, "stat", fail)
    monkeypatch.setattr(os, "open", refuse)
    opened = source(folder)
    assert "b.md" in [file.path for file in opened.files()]
    with pytest.raises(ExtractionError, match=r"'b\.md' cannot be read: Input/output error"):
        opened.read("b.md")


def test_source_that_cannot_be_listed_itself_ends_the_scan(open_folder: Path) -> None:
    (open_folder / "source").mkdir(mode=0)
    with ordinary_user(), pytest.raises(SourceError, match="cannot be listed: Permission denied"):
        paths(open_folder / "source")
