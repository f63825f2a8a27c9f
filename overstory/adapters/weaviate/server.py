"""Where a Weaviate server is, the connection to it, and its errors in words of our own."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from overstory.errors import SettingsError, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from weaviate import WeaviateClient

URL = "OVERSTORY_WEAVIATE_URL"
GRPC_PORT = "OVERSTORY_WEAVIATE_GRPC_PORT"
API_KEY = "OVERSTORY_WEAVIATE_API_KEY"
DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_GRPC_PORT = "50051"

KNOCK_SECONDS = 5
_PASSING = ("unavailable", "connect", "deadline", "socket closed", "goaway", "rst_stream", "shutdown", "shutting down")
"""Words of errors that may pass when the call is made again."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server listens."""

    host: str
    http_port: int
    grpc_port: int
    secure: bool = False
    api_key: str = field(default="", repr=False)

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> ServerAddress:
        """The address in the environment, else this machine's.

        Raises:
            SettingsError: It is no address; neither it nor the key is quoted, since both may hold a secret.
        """
        try:
            parts = urlsplit(environ.get(URL) or DEFAULT_URL)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            grpc_port = int(environ.get(GRPC_PORT) or DEFAULT_GRPC_PORT)
        except ValueError:
            raise SettingsError(f"{URL} or {GRPC_PORT} is no address", hint=f"Set {URL}={DEFAULT_URL}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.path.strip("/"):
            hint = f"Set http(s)://HOST:PORT, and a key in {API_KEY}"
            raise SettingsError(f"{URL} is not the address of a Weaviate server", hint=hint)
        return cls(parts.hostname, port, grpc_port, parts.scheme == "https", environ.get(API_KEY, ""))

    def __str__(self) -> str:
        """Host and ports."""
        return f"{self.host}:{self.http_port} (gRPC {self.grpc_port})"


@dataclass(frozen=True, slots=True)
class WeaviateServer:
    """An open connection."""

    address: ServerAddress
    client: WeaviateClient

    @classmethod
    def connect(cls, address: ServerAddress) -> WeaviateServer:
        """Open a connection.

        Raises:
            StoreUnavailable: Nothing answers there.
            StoreError: The server refuses the key.
        """
        import weaviate
        from weaviate.classes.init import AdditionalConfig, Auth, Timeout
        from weaviate.connect import ConnectionParams

        a = address
        client = weaviate.WeaviateClient(
            ConnectionParams.from_params(a.host, a.http_port, a.secure, a.host, a.grpc_port, a.secure),
            auth_client_secret=Auth.api_key(a.api_key) if a.api_key else None,
            additional_config=AdditionalConfig(timeout=Timeout(init=10, query=60, insert=120)),
            skip_init_checks=True,  # they ask a package index for the client's newest version
        )
        server = cls(address, client)
        try:
            with server.calling():
                client.connect()
                client.get_meta()
        except BaseException:
            client.close()
            raise
        return server

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Calls of the block, with the client's errors as ours; a server that is gone is noticed at once.

        The client repeats a call for up to a minute where nothing listens; we knock first.
        """
        import httpx
        from weaviate.exceptions import WeaviateBaseError

        try:
            for port in (self.address.http_port, self.address.grpc_port):
                socket.create_connection((self.address.host, port), KNOCK_SECONDS).close()
            yield
        except (OSError, httpx.HTTPError) as error:
            raise self._gone() from error
        except WeaviateBaseError as error:
            raise self._translated(error) from error

    def _translated(self, error: Exception) -> StoreError:
        import weaviate.exceptions as vendor

        lost = (
            vendor.WeaviateConnectionError, vendor.WeaviateGRPCUnavailableError, vendor.WeaviateTimeoutError,
            vendor.WeaviateRetryError, vendor.WeaviateStartUpError,
        )  # fmt: skip
        status = getattr(error, "status_code", None)
        if isinstance(error, lost):
            return self._gone()
        if status in (401, 403) or isinstance(error, vendor.AuthenticationFailedError | vendor.MissingScopeError):
            return StoreError(f"Weaviate at {self.address} refuses the key", hint=f"Check {API_KEY}")
        passing = isinstance(error, vendor.WeaviateQueryError) and any(word in str(error).lower() for word in _PASSING)
        if passing or (status is not None and (status == 429 or status >= 500)):
            return self._gone()
        return StoreError(f"Weaviate at {self.address} refused", hint=self.said(str(error)))

    def _gone(self) -> StoreUnavailable:
        hint = f"Start it, or check {URL} and {GRPC_PORT}"
        return StoreUnavailable(f"Weaviate at {self.address} does not answer", hint=hint)

    def said(self, message: str) -> str:
        """What the server said, on one line and without the key."""
        line = " ".join(message.split())
        return (line.replace(self.address.api_key, "***") if self.address.api_key else line)[:300]
