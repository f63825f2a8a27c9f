"""A Weaviate server of a test run's own: free loopback ports, a temporary folder, ended with the run."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from overstory.adapters.weaviate import ServerAddress

PROGRAM = Path(__file__).parent.parent / ".tools" / "weaviate" / "weaviate-server"
START_SECONDS = 60
CAP = 100
"""The server's QUERY_MAXIMUM_RESULTS, 10,000 by default, so that tests of what lies beyond it stay small."""


class WeaviateProcess:
    """A server that can be killed and started again on the same data and ports."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.environment = environment
        self.http, self.grpc, *self.inner = free_ports(6)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> ServerAddress:
        """Where it listens."""
        return ServerAddress("127.0.0.1", self.http, self.grpc)

    def start(self) -> None:
        """Start it and wait until it is ready."""
        gossip, data, raft, raft_rpc = map(str, self.inner)
        ours = {
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true",
            "PERSISTENCE_DATA_PATH": str(self.folder / "data"),
            "CLUSTER_HOSTNAME": "overstory-test",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "CLUSTER_GOSSIP_BIND_PORT": gossip,
            "CLUSTER_DATA_BIND_PORT": data,
            "RAFT_PORT": raft,
            "RAFT_INTERNAL_RPC_PORT": raft_rpc,
            "RAFT_BOOTSTRAP_EXPECT": "1",
            "GRPC_PORT": str(self.grpc),
            "DISABLE_TELEMETRY": "true",
            "GO_PROFILING_DISABLE": "true",
            "LOG_LEVEL": "warning",
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.folder),
        }
        command = [str(PROGRAM), "--host", "127.0.0.1", "--port", str(self.http), "--scheme", "http"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=ours | self.environment, stdout=log, stderr=log, cwd=self.folder
            )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process is None or self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/v1/.well-known/ready", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        self.kill()
        log = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        pytest.fail(f"Weaviate did not start:\n{log[-3000:]}")

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def weaviate_or_skip(folder: Path, **environment: str) -> WeaviateProcess:
    """A started server; skips the test where the program is not installed."""
    if not PROGRAM.exists():
        pytest.skip("needs the Weaviate server: make weaviate")
    server = WeaviateProcess(folder, **environment)
    server.start()
    return server


def free_ports(count: int) -> list[int]:
    """Different ports of this machine on which nothing listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
