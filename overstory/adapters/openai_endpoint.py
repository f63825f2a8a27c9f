"""Where an OpenAI-compatible server is, how to sign in, and a client for it that does nothing unasked."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from overstory.adapters.openai_errors import translate
from overstory.errors import ModelRefusedAccess, SettingsError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address, a model and the name of the variable that holds the key.

    Raises:
        SettingsError: The address is not http(s), or carries a name and password.
    """

    base_url: str
    model: str
    api_key_env: str = "OPENAI_API_KEY"
    api_key: str | None = field(default=None, repr=False)
    """Stands in for the variable; never shown."""
    timeout_seconds: float = 60.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError("The setting 'base_url' is not an http address", hint="Write http://host:port/v1")
        if parts.username or parts.password or parts.query:
            raise SettingsError(
                "The setting 'base_url' carries a password or a query", hint="Put the key into the environment"
            )

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine: it may need no key, and no proxy stands in between."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    @property
    def key_source(self) -> str:
        """Where the key comes from, in words for a message; never the key."""
        return "api_key" if self.api_key else f"the environment variable {self.api_key_env}, which api_key_env names"

    def key(self) -> str:
        """The key, from ``api_key`` or the environment; a placeholder for a local server without one.

        Raises:
            ModelRefusedAccess: The variable is not set.
        """
        key = self.api_key or os.environ.get(self.api_key_env, "").strip()
        if not key and not self.is_local:
            raise ModelRefusedAccess(
                f"The environment variable {self.api_key_env} is not set, and {self.base_url} needs a key",
                hint=f"Set {self.api_key_env}, or name another variable in api_key_env",
            )
        return key or "none"

    def translated(self, error: Exception, *, answered: bool, now: datetime) -> Exception:
        """What to raise in place of an error of the client; ``answered`` and ``now`` as in ``translate``."""
        where, source = self.base_url, self.key_source
        return translate(error, where=where, model=self.model, key_source=source, answered=answered, now=now)

    def client(self, connections: int) -> AsyncOpenAI:
        """A client for one event loop that never retries, nor follows a redirect to another host.

        It keeps ``connections`` open. Proxies of the environment are used, except for a local server.
        """
        import openai

        limits = openai.DEFAULT_CONNECTION_LIMITS.__class__(
            max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=60.0
        )
        timeout = openai.Timeout(self.timeout_seconds, connect=min(_CONNECT_SECONDS, self.timeout_seconds))
        transport = openai.DefaultAsyncHttpxClient(
            limits=limits, timeout=timeout, trust_env=not self.is_local, follow_redirects=False
        )
        return openai.AsyncOpenAI(
            base_url=self.base_url, api_key=self.key(), max_retries=0, timeout=timeout, http_client=transport
        )
