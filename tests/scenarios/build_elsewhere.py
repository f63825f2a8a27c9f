"""Builds a folder into a record, in a process of its own: ``python -m tests.scenarios.build_elsewhere DIR URL [JSON]``.

Prints the memberships.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.scenarios.workbench import Workbench


def main() -> None:
    """Build and print."""
    folder, url, *settings = sys.argv[1:]
    bench = Workbench(Path(folder), url, json.loads(settings[0]) if settings else {})
    bench.build()
    sys.stdout.write(json.dumps(bench.memberships()))


if __name__ == "__main__":
    main()
