"""A local server that speaks the OpenAI protocol, answers well by default and badly on command.

In tests: ``with LLMServer() as server`` or the fixture ``llm_server``. On its own, for benchmarks:
``python -m tests.llm_server --port 8089 --latency-ms 500``; ``GET /stats`` then tells what it counted.

Misbehavior is put in a queue for the next chat calls (``server.next(...)``) or bound to a condition
(``server.when("text of the prompt", ...)``). Behaviors are the functions below; each takes the call and
returns a ``Response``.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Self

import pytest

from overstory.adapters.tokenizers import OpenAITokenizer

CHAT_TOKENS = 7
_TOKENIZER = OpenAITokenizer()


@dataclass(frozen=True, slots=True)
class Call:
    """One request as the server saw it."""

    index: int
    """Counts the requests to all paths, from 0."""
    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    at: float
    """``time.monotonic()`` of its arrival."""

    @property
    def prompt(self) -> str:
        """All messages as one text; of an embedding call its inputs."""
        if "messages" in self.body:
            return "\n".join(str(message.get("content")) for message in self.body["messages"])
        inputs = self.body.get("input", "")
        return inputs if isinstance(inputs, str) else "\n".join(map(str, inputs))

    @property
    def prompt_hash(self) -> str:
        """SHA-256 of the prompt."""
        return hashlib.sha256(self.prompt.encode("utf-8", "replace")).hexdigest()

    @property
    def material(self) -> str:
        """What stands between the tags of the prompt; all of it if there are none."""
        match = re.search(r"<(material\d*)>\n(.*)\n</\1>", self.prompt, re.S)
        return match.group(2) if match else self.prompt

    @property
    def target_tokens(self) -> int:
        """The length that the prompt asks for; 100 if it names none."""
        match = re.search(r"about (\d+) tokens", self.prompt)
        return int(match.group(1)) if match else 100


@dataclass(frozen=True, slots=True)
class Response:
    """What goes back, and how."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay_seconds: float = 0.0
    drop: bool = False
    """Close the connection in place of an answer."""
    tokens: tuple[int, int] = (0, 0)


Behavior = Callable[[Call], Response]
Condition = Callable[[Call], bool]


# ---- behaviors -------------------------------------------------------------------------------------------


def good(call: Call) -> Response:
    """The sentences of the material that hold most facts, in order, within the target."""
    return completion(call, extract(call.material, call.target_tokens))


def says(text: str, *, finish_reason: str = "stop", **message: object) -> Behavior:
    """This very text."""
    return lambda call: completion(call, text, finish_reason=finish_reason, **message)


def refusal(text: str = "I'm sorry, but I can't help with that request.") -> Behavior:
    """A refusal in the text."""
    return says(text)


def refusal_field(text: str = "Cannot comply.") -> Behavior:
    """A refusal in the protocol's own field."""
    return lambda call: completion(call, None, refusal=text)


def empty(text: str = "") -> Behavior:
    """Nothing."""
    return says(text)


def echo(call: Call) -> Response:
    """The prompt itself."""
    return completion(call, call.prompt)


def truncated(call: Call) -> Response:
    """A summary cut off at ``max_tokens``."""
    return completion(call, extract(call.material, 10_000)[:200], finish_reason="length")


def truncated_below(tokens: int) -> Behavior:
    """Cut off unless the request allows at least ``tokens``."""
    return lambda call: good(call) if max_tokens(call) >= tokens else truncated(call)


def think_only(call: Call) -> Response:
    """Thoughts without an answer."""
    return completion(call, "<think>The user wants a summary of this. Let me see.</think>")


def thinks(call: Call) -> Response:
    """Thoughts, then a good answer."""
    return completion(call, f"<think>\nHm, {call.index}.\n</think>\n\n{extract(call.material, call.target_tokens)}")


def preamble(text: str = "Sure! Here is a summary of the material:\n\n") -> Behavior:
    """A good answer behind polite words."""
    return lambda call: completion(call, text + extract(call.material, call.target_tokens))


def content_filter(call: Call) -> Response:
    """An answer that a filter removed."""
    return completion(call, "", finish_reason="content_filter")


def invents(fact: str = "Revenue reached $987,654 on 2031-02-03.") -> Behavior:
    """A good answer with a fact that stands nowhere."""
    return lambda call: completion(call, f"{extract(call.material, call.target_tokens)} {fact}")


def error(
    status: int,
    *,
    code: str | None = None,
    kind: str | None = None,
    message: str = "it went wrong",
    headers: Mapping[str, str] | None = None,
    param: str | None = None,
) -> Behavior:
    """An error in the protocol's form."""
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return lambda call: Response(json.dumps(body).encode(), status, headers or {})


def rate_limited(retry_after: float | None = None, *, as_date: bool = False) -> Behavior:
    """429, with ``Retry-After`` in seconds or as an HTTP-date (rounded up to a whole second)."""

    def behave(call: Call) -> Response:
        headers = {}
        if retry_after is not None and as_date:
            now = datetime.now(UTC)
            until = now + timedelta(seconds=retry_after + 1)
            headers["Retry-After"] = format_datetime(until.replace(microsecond=0), usegmt=True)
        elif retry_after is not None:
            headers["Retry-After"] = f"{retry_after:g}"
        return error(429, code="rate_limit_exceeded", kind="requests", headers=headers)(call)

    return behave


def insufficient_quota(status: int = 429) -> Behavior:
    """The account is empty."""
    return error(
        status, code="insufficient_quota", kind="insufficient_quota", message="You exceeded your current quota"
    )


def overflow_above(tokens: int) -> Behavior:
    """400 for a prompt of more than ``tokens``, good otherwise."""

    def behave(call: Call) -> Response:
        if count(call) <= tokens:
            return good(call)
        message = f"This model's maximum context length is {tokens} tokens. However, you requested {count(call)}."
        return error(400, code="context_length_exceeded", kind="invalid_request_error", message=message)(call)

    return behave


def hangs(seconds: float = 3600.0) -> Behavior:
    """No answer until the client gives up."""
    return slow(seconds)


def slow(seconds: float) -> Behavior:
    """A good answer, late."""

    def behave(call: Call) -> Response:
        answer = good(call)
        return Response(answer.body, delay_seconds=seconds, tokens=answer.tokens)

    return behave


def drops(call: Call) -> Response:
    """The connection is closed without an answer."""
    return Response(b"", drop=True)


def html(status: int = 200) -> Behavior:
    """A web page, as proxies and wrong addresses give."""
    page = b"<html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
    return lambda call: Response(page, status, content_type="text/html")


def raw(body: bytes, *, status: int = 200, content_type: str = "application/json") -> Behavior:
    """These very bytes."""
    return lambda call: Response(body, status, content_type=content_type)


# ---- answers ---------------------------------------------------------------------------------------------


def completion(
    call: Call, text: str | None, *, finish_reason: str = "stop", usage: bool = True, **message: object
) -> Response:
    """A chat completion with its usage."""
    tokens = (count(call), _TOKENIZER.count(text or ""))
    body: dict[str, Any] = {
        "id": f"chatcmpl-{call.index}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": call.body.get("model", "stub"),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish_reason,
            }
        ],
    }
    if usage:
        body["usage"] = {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
        }
    return Response(json.dumps(body).encode(), tokens=tokens)


def count(call: Call) -> int:
    """Input tokens of a chat call, as a vendor counts them."""
    return _TOKENIZER.count(call.prompt) + CHAT_TOKENS


def max_tokens(call: Call) -> int:
    """The output limit of a chat call."""
    return int(call.body.get("max_tokens") or call.body.get("max_completion_tokens") or 0)


_SENTENCE = re.compile(r"[^\n.!?。！？]*(?:[.!?](?!\s)[^\n.!?。！？]*)*[.!?。！？]*\s*")
_FACT = re.compile(r"\d|\b[A-Z]")


def extract(material: str, target_tokens: int) -> str:
    """Whole sentences of ``material``, those with most facts a token first, in their order."""
    sentences = [s.strip() for s in _SENTENCE.findall(material) if s.strip(" -#*|\n")]
    sizes = [len(s) // 4 + 1 for s in sentences]
    ranked = sorted(range(len(sentences)), key=lambda i: (-len(_FACT.findall(sentences[i])) / (sizes[i] + 8), i))
    chosen, left = set(), target_tokens
    for i in ranked:
        if sizes[i] <= left:
            chosen.add(i)
            left -= sizes[i]
    if not chosen and sentences:
        return sentences[ranked[0]][: max(4, target_tokens * 3)].rsplit(" ", 1)[0]
    return " ".join(sentences[i] for i in sorted(chosen))


def embed(text: str, dimensions: int) -> list[float]:
    """A unit vector made of the hashes of the words: texts that share words are near each other."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [""]:
        raw_hash = hashlib.blake2b(word.encode(), digest_size=8).digest()
        vector[int.from_bytes(raw_hash[:4], "big") % dimensions] += 1.0 if raw_hash[4] & 1 else -1.0
    norm = sum(x * x for x in vector) ** 0.5
    if norm == 0.0:
        vector[0] = norm = 1.0
    return [x / norm for x in vector]


# ---- the server ------------------------------------------------------------------------------------------


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
        tokens = sum(_TOKENIZER.count(text) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        body = {"object": "list", "data": data, "model": call.body.get("model", "stub"), "usage": usage}
        return Response(json.dumps(body).encode(), tokens=(tokens, 0))


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and Content-Length: what API clients send."""

    def __init__(self, server: LLMServer) -> None:
        self._server = server
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._pending: dict[asyncio.TimerHandle, Response] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections += 1
        self._server.open_connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.open_connections.discard(self)
        for handle, response in self._pending.items():
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
        handle = loop.call_later(delay, lambda: self._answer_later(handle, response))
        self._pending[handle] = response

    def _answer_later(self, handle: asyncio.TimerHandle, response: Response) -> None:
        del self._pending[handle]
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
