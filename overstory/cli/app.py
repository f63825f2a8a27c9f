"""The commands of ``overstory``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

import overstory
from overstory.cli.terminal import complain
from overstory.errors import OverstoryError

NAME = "overstory"

app = typer.Typer(
    name=NAME,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DatasetOption = Annotated[str | None, typer.Option("--dataset", "-d", help="Name of the dataset.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON (schemas: docs/schemas).")]
FolderArgument = Annotated[Path | None, typer.Argument(help="Folder of documents; without it, overstory.toml says.")]

MovedOption = Annotated[
    bool, typer.Option("--moved", help="The folder has moved here: go on with the dataset that was built from it.")
]

MISUSED = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit statuses as shells give them for the signals SIGINT and SIGPIPE."""


def main() -> None:
    """Run the command line; an error is one line and a status, never a stack trace."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: Sequence[str]) -> int:
    """The exit status of a command."""
    try:
        status = int(app(arguments or ["--help"], prog_name=NAME, standalone_mode=False) or 0)
    except OverstoryError as error:
        complain(str(error))
        return error.exit_status
    except TyperException as error:
        complain(_with_help(error))
        return MISUSED
    except (typer.Abort, KeyboardInterrupt):
        status = INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (| head): nothing more can be written, and the interpreter must not try at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    if status == INTERRUPTED:  # Typer gives this status for a KeyboardInterrupt and says nothing.
        complain("Interrupted. What was finished is kept; run the command again to go on")
    return status


def _with_help(error: TyperException) -> str:
    """What is wrong with the arguments, and whose help to read."""
    wrong = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    stop = "" if wrong.endswith("?") else "."
    return f"{wrong}{stop} See: {context.command_path if context else NAME} --help"


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"{NAME} {overstory.__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A hierarchical summary index for retrieval that stays true while its documents change."""


@app.command()
def build(
    folder: FolderArgument = None,
    dataset: DatasetOption = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", help="Only this document (path or id); may be given again.")
    ] = None,
    moved: MovedOption = False,
    confirm_deletions: Annotated[
        bool,
        typer.Option("--confirm-deletions", help="Delete all that the folder no longer holds, however much it is."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring the index in line with the documents: only what changed is made."""
    from overstory.cli import building

    said = building.Said(moved=moved, deletions=confirm_deletions)
    status = building.run(folder, dataset, document or [], said, as_json=as_json)
    if status:
        raise typer.Exit(status)


@app.command()
def plan(
    folder: FolderArgument = None,
    dataset: DatasetOption = None,
    moved: MovedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a build would do and cost, without doing it."""
    from overstory.cli import building

    building.plan(folder, dataset, moved=moved, as_json=as_json)


@app.command()
def status(
    document: Annotated[str | None, typer.Argument(help="A document, by path or id.")] = None,
    dataset: DatasetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how fresh each index is, level by level, or one document's state."""
    from overstory.cli import reading

    if document is not None:
        reading.status(document, dataset, as_json=as_json)
    elif worst := reading.overview(dataset, as_json=as_json):
        raise typer.Exit(worst)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question in plain words.")],
    dataset: DatasetOption = None,
    leaves: Annotated[int | None, typer.Option(min=0, max=100, help="Slots for leaves.")] = None,
    summaries: Annotated[int | None, typer.Option(min=0, max=100, help="Slots for summaries.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Search all levels at once; every hit says where it comes from and whether it is fresh."""
    from overstory.cli import reading

    reading.search(query, dataset, leaves, summaries, as_json=as_json)


@app.command()
def show(
    node: Annotated[str, typer.Argument(help="A node's id or the beginning of it, or a document's path.")],
    dataset: DatasetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a node: its text, state, parents and children, down to the characters of the source."""
    from overstory.cli import reading

    reading.show(node, dataset, as_json=as_json)


@app.command()
def forget(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a dataset from the index: documents, vectors, paid answers and ledger; its files stay."""
    from overstory.cli import forgetting

    status = forgetting.forget(dataset, yes=yes, as_json=as_json)
    if status:
        raise typer.Exit(status)


@app.command()
def purge(
    document: Annotated[str, typer.Argument(help="A document, by path or id.")],
    dataset: DatasetOption = None,
    erase: Annotated[
        bool, typer.Option("--erase", help="Write the tables anew too, so that the bytes leave the data files.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Let the next build take a purged document in again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a document and all that was made from it, keep it out, and prove that what only it said is gone."""
    from overstory.cli import purging

    if undo:
        purging.undo(document, dataset)
    elif status := purging.run(document, dataset, erase=erase, yes=yes, as_json=as_json):
        raise typer.Exit(status)


@app.command()
def verify(
    dataset: DatasetOption = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what is wrong, without a call to a model.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare rows, vectors, versions and hashes with each other; trusts no bookkeeping."""
    from overstory.cli import verifying

    if status := verifying.run(dataset, repair=repair, as_json=as_json):
        raise typer.Exit(status)


@app.command()
def dev(
    folder: FolderArgument = None,
    dataset: DatasetOption = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the Dagster UI.")] = 3000,
) -> None:
    """Serve the Dagster UI and run its daemon on this index; Ctrl-C ends them.

    Schedules and sensors are switched on once: they build what changed, and a model that costs money is paid.
    """
    from overstory.cli import serving

    serving.dev(folder, dataset, port)


@app.command()
def stop(
    force: Annotated[bool, typer.Option("--force", help="Also while overstory dev or a build uses it.")] = False,
) -> None:
    """Stop the embedded Postgres; the index stays."""
    from overstory.cli import serving

    serving.stop(force=force)


@app.command()
def demo() -> None:
    """Build the sample corpus and ask it three questions."""
    from overstory.cli import demo as demonstration

    demonstration.run()
