"""The command line: composition only; every decision is made in the core."""

from overstory.cli.app import main

__all__ = ["main"]
