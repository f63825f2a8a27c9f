"""The commands of ``overstory``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from overstory.errors import OverstoryError

app = typer.Typer(
    name="overstory",
    help="A hierarchical summary index for retrieval that stays true while its documents change.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DatasetOption = Annotated[str | None, typer.Option("--dataset", "-d", help="Name of the dataset.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON (schemas: docs/schemas).")]
FolderArgument = Annotated[Path | None, typer.Argument(help="Folder of documents; without it, overstory.toml says.")]

PARTIAL = 3
"""Exit status of a build that made everything but some documents."""


def main() -> None:
    """Run the command line; an error is one line and a status, never a stack trace."""
    try:
        app(standalone_mode=False)
    except OverstoryError as error:
        sys.stderr.write(f"overstory: {error}\n")
        sys.exit(error.exit_status)
    except typer.Abort:
        sys.exit(130)
    except KeyboardInterrupt:
        sys.stderr.write("overstory: Interrupted. What was finished is kept; run the command again to go on\n")
        sys.exit(130)
    except typer.Exit as exit_:
        sys.exit(exit_.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


@app.command()
def build(
    folder: FolderArgument = None,
    dataset: DatasetOption = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", help="Only this document (path or id); may be given again.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the index in line with the documents: only what changed is made."""
    from overstory.cli import building

    if not building.run(folder, dataset, document or [], as_json=as_json):
        raise typer.Exit(PARTIAL)


@app.command()
def plan(folder: FolderArgument = None, dataset: DatasetOption = None, as_json: JsonOption = False) -> None:
    """Say what a build would do and cost, without doing it."""
    from overstory.cli import building

    building.plan(folder, dataset, as_json=as_json)


@app.command()
def status(
    document: Annotated[str | None, typer.Argument(help="A document, by path or id.")] = None,
    dataset: DatasetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how fresh the index is, level by level, or one document's state."""
    from overstory.cli import reading

    reading.status(document, dataset, as_json=as_json)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question in plain words.")],
    dataset: DatasetOption = None,
    leaves: Annotated[int | None, typer.Option(min=0, max=100, help="Slots for passages.")] = None,
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
def dev(
    folder: FolderArgument = None,
    dataset: DatasetOption = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the web page.")] = 3000,
) -> None:
    """Open Dagster's web page and daemon on this index; Ctrl-C ends them."""
    from overstory.cli import serving

    serving.dev(folder, dataset, port)


@app.command()
def stop() -> None:
    """Stop the embedded Postgres; the index stays."""
    from overstory.cli import serving

    serving.stop()


@app.command()
def demo() -> None:
    """Build the sample corpus and ask it three questions."""
    from overstory.cli import demo as demonstration

    demonstration.run()
