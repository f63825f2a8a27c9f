"""A local server that speaks the OpenAI protocol, answers well by default and badly on command.

In tests: ``with LLMServer() as server`` or the fixture ``llm_server``. On its own, for benchmarks:
``python -m tests.llm_server --port 8089 --latency-ms 500``; ``GET /stats`` then tells what it counted.

Misbehavior is put in a queue for the next chat calls (``server.next(...)``) or bound to a condition
(``server.when("text of the prompt", ...)``). The behaviors stand in
``tests/llm_behaviors.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Self

import pytest

from tests.llm_behaviors import TOKENIZER, Behavior, Call, Condition, Response, embed, error, good


class LLMServer:
    """Counts what it is asked, and answers as told.

    Args:
        latency_seconds: Before each answer.
        dimensions: Of the vectors it embeds with, where the request names none.
        port: 0 for any free one.
    """

    def __init__(self, *, latency_seconds: float = 0.0, dimensions: int = 64, port: int = 0) -> None:
        self.latency_seconds = latency_seconds
        self.dimensions = dimensions
        self.default: Behavior = good
        self.calls: list[Call] = []
        self.statuses: list[int] = []
        """Of the answers, in the order in which they left; 0 for a dropped connection."""
        self.in_flight = 0
        self.max_in_flight = 0
        self.tokens_in = 0
        self.tokens_out = 0
        self.connections = 0
        self.arrived = threading.Condition()
        """Notified at each arrival and each answer."""
        self.keep_calls = True
        self.open_connections: set[_Connection] = set()
        self._queue: deque[Behavior] = deque()
        self._rules: list[tuple[Condition, Behavior, list[int]]] = []
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="llm-server", daemon=True)
        self._ready = threading.Event()
        self._server: asyncio.Server | None = None
        self._total = 0

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def chats(self) -> list[Call]:
        """The chat calls so far."""
        return [call for call in self.calls if call.path == "/v1/chat/completions"]

    @property
    def embeddings(self) -> list[Call]:
        """The embedding calls so far."""
        return [call for call in self.calls if call.path == "/v1/embeddings"]

    def next(self, *behaviors: Behavior) -> None:
        """Answer the next chat or embedding calls so, one behavior each, before any rule."""
        self._queue.extend(behaviors)

    def when(self, condition: Condition | str | int, behavior: Behavior, *, times: int = 1_000_000_000) -> None:
        """Answer calls that meet ``condition`` so: a predicate, a text in the prompt, or a call index."""
        if isinstance(condition, str):
            text = condition
            rule: Condition = lambda call: text in call.prompt  # noqa: E731
        elif isinstance(condition, int):
            index = condition
            rule = lambda call: call.index == index  # noqa: E731
        else:
            rule = condition
        self._rules.append((rule, behavior, [times]))

    def reset(self) -> None:
        """Forget calls, counts, queue and rules."""
        self.calls.clear()
        self.statuses.clear()
        self._queue.clear()
        self._rules.clear()
        self.max_in_flight = self.in_flight
        self.tokens_in = self.tokens_out = 0
        self.default = good

    def wait_for(self, condition: Callable[[], bool], timeout: float = 30.0) -> None:
        """Return when ``condition`` holds, which is looked at after each arrival and answer."""
        with self.arrived:
            if not self.arrived.wait_for(condition, timeout):
                raise TimeoutError(f"not within {timeout} seconds; {len(self.calls)} calls so far")

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._server = self._loop.run_until_complete(
            self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port, backlog=2048)
        )
        self._port = self._server.sockets[0].getsockname()[1]
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in list(self.open_connections):
            connection.close()
        self._loop.call_soon(self._loop.stop)

    def arrive(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Call:
        """Count a request in."""
        call = Call(self._total, path, body, headers, time.monotonic())
        with self.arrived:
            self._total += 1
            if self.keep_calls:
                self.calls.append(call)
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
            self.arrived.notify_all()
        return call

    def leave(self, response: Response) -> None:
        """Count its answer out."""
        with self.arrived:
            self.in_flight -= 1
            self.tokens_in += response.tokens[0]
            self.tokens_out += response.tokens[1]
            if self.keep_calls:
                self.statuses.append(0 if response.drop else response.status)
            self.arrived.notify_all()

    def respond(self, call: Call) -> Response:
        """The answer to ``call``."""
        if call.path == "/v1/models":
            return Response(json.dumps({"object": "list", "data": [{"id": "stub", "object": "model"}]}).encode())
        if call.path == "/stats":
            return Response(json.dumps(self.stats()).encode())
        behavior = self._behavior(call)
        if behavior is not None:
            return behavior(call)
        if call.path == "/v1/embeddings":
            return self._embed(call)
        if call.path == "/v1/chat/completions":
            return self.default(call)
        return error(404, message=f"no {call.path} here")(call)

    def stats(self) -> dict[str, int]:
        """The counts."""
        return {
            "calls": self._total,
            "max_in_flight": self.max_in_flight,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "connections": self.connections,
        }

    def _behavior(self, call: Call) -> Behavior | None:
        if self._queue:
            return self._queue.popleft()
        for condition, behavior, left in self._rules:
            if left[0] > 0 and condition(call):
                left[0] -= 1
                return behavior
        return None

    def _embed(self, call: Call) -> Response:
        inputs = call.body.get("input", [])
        texts = [inputs] if isinstance(inputs, str) else inputs
        dimensions = int(call.body.get("dimensions") or self.dimensions)
        data = [
            {"object": "embedding", "index": i, "embedding": embed(text, dimensions)} for i, text in enumerate(texts)
        ]
        tokens = sum(TOKENIZER.count(text) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        body = {"object": "list", "data": data, "model": call.body.get("model", "stub"), "usage": usage}
        return Response(json.dumps(body).encode(), tokens=(tokens, 0))


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and Content-Length: what API clients send."""

    def __init__(self, server: LLMServer) -> None:
        self._server = server
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._pending: dict[int, tuple[asyncio.TimerHandle, Response]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections += 1
        self._server.open_connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.open_connections.discard(self)
        for handle, response in self._pending.values():
            handle.cancel()
            self._server.leave(Response(b"", drop=True, tokens=response.tokens))
        self._pending.clear()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            lines = self._buffer[:end].decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in lines[1:])
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            size = int(headers.get("content-length", 0))
            if len(self._buffer) < end + 4 + size:
                return
            raw_body = self._buffer[end + 4 : end + 4 + size]
            self._buffer = self._buffer[end + 4 + size :]
            self._take(lines[0].split(" ")[1], headers, json.loads(raw_body) if raw_body else {})

    def _take(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
        call = self._server.arrive(path, headers, body)
        response = self._server.respond(call)
        delay = response.delay_seconds or self._server.latency_seconds
        if delay == 0:
            self._answer(response)
            return
        loop = asyncio.get_running_loop()
        self._pending[call.index] = (loop.call_later(delay, self._answer_later, call.index, response), response)

    def _answer_later(self, index: int, response: Response) -> None:
        del self._pending[index]
        self._answer(response)

    def _answer(self, response: Response) -> None:
        self._server.leave(response)
        if self._transport is None or self._transport.is_closing():
            return
        if response.drop:
            self._transport.abort()
            return
        head = {
            "Content-Type": response.content_type,
            "Content-Length": str(len(response.body)),
            "Date": format_datetime(datetime.now(UTC), usegmt=True),
            **response.headers,
        }
        lines = [f"HTTP/1.1 {response.status} Status", *(f"{name}: {value}" for name, value in head.items())]
        self._transport.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + response.body)


@pytest.fixture
def llm_server() -> Iterator[LLMServer]:
    """A server of the test's own on a free loopback port."""
    with LLMServer() as server:
        yield server


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A local server that speaks the OpenAI protocol")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--dimensions", type=int, default=64)
    arguments = parser.parse_args()
    server = LLMServer(
        latency_seconds=arguments.latency_ms / 1000, dimensions=arguments.dimensions, port=arguments.port
    )
    server.keep_calls = False
    with server, suppress(KeyboardInterrupt):
        print(f"listening on {server.base_url}", flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
