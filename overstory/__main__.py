"""``python -m overstory``: the command line."""

from overstory.cli.app import main

main()
