"""Corpora for benchmarks: Debian's kernel documentation, and the project's own samples."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

PACKAGE = "linux-doc-6.1"
SUFFIXES = (".rst.gz", ".txt.gz", ".yaml.gz")


def kernel_documentation(cache: Path) -> Path:
    """The folder of Debian's kernel documentation as .txt files, fetched and unpacked once (about 8,100 files)."""
    folder = cache / PACKAGE
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    if not list(cache.glob(f"{PACKAGE}_*.deb")):
        subprocess.run(["apt-get", "download", PACKAGE], cwd=cache, check=True, stdout=subprocess.DEVNULL)
    unpacked = cache / "unpacked"
    archive = next(cache.glob(f"{PACKAGE}_*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(archive), str(unpacked)], check=True)
    partial = cache / f"{PACKAGE}.partial"
    for path in sorted(unpacked.rglob("*.gz")):
        if path.is_file() and path.name.endswith(SUFFIXES):
            target = partial / path.relative_to(unpacked).with_suffix(".txt")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(gzip.decompress(path.read_bytes()))
    partial.rename(folder)
    return folder
