"""What the local model server answers: well by default, badly on command.

A behavior takes the call and returns a ``Response``; some are functions that make one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from heapq import heapify, heappop, heappush
from typing import Any

from overstory.adapters.tokenizers import OpenAITokenizer

CHAT_TOKENS = 7
TOKENIZER = OpenAITokenizer()


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


def good(call: Call) -> Response:
    """The sentences of the material that hold most facts, in order, within the target."""
    return completion(call, extract(call.material, call.target_tokens))


def generous(call: Call) -> Response:
    """Like ``good``, but nearly as long as the request allows: keeps more facts than the target has room for."""
    return completion(call, extract(call.material, max_tokens(call) * 9 // 10))


def says(text: str, *, finish_reason: str = "stop", usage: bool = True) -> Behavior:
    """This very text."""
    return lambda call: completion(call, text, finish_reason=finish_reason, usage=usage)


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


def completion(
    call: Call, text: str | None, *, finish_reason: str = "stop", usage: bool = True, **message: object
) -> Response:
    """A chat completion with its usage."""
    tokens = (count(call), TOKENIZER.count(text or ""))
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
    return TOKENIZER.count(call.prompt) + CHAT_TOKENS


def max_tokens(call: Call) -> int:
    """The output limit of a chat call."""
    return int(call.body.get("max_tokens") or call.body.get("max_completion_tokens") or 0)


_SENTENCE = re.compile(r"[^\n.!?。！？]*(?:[.!?](?!\s)[^\n.!?。！？]*)*[.!?。！？]*\s*")
_FACT = re.compile(r"[$€£]?\d(?:[\w.,:/-]*\w)?(?:\s?%|\s[a-z]+)?|[A-Z][a-z]+ \d+")
"""Numbers with what follows them: what a fact check looks for above all."""


def extract(material: str, target_tokens: int) -> str:
    """Whole sentences of ``material``, in their order, chosen for the facts that no chosen one has, a token."""
    sentences: list[str] = [s.strip() for s in _SENTENCE.findall(material) if s.strip(" -#*|\n")]
    facts = [set(_FACT.findall(sentence)) for sentence in sentences]
    sizes = [TOKENIZER.count(sentence) + 1 for sentence in sentences]
    queue = [(-(len(facts[i]) + 0.01) / sizes[i], i) for i in range(len(sentences))]
    heapify(queue)
    chosen: list[int] = []
    covered: set[str] = set()
    left = target_tokens
    while queue:
        worth, i = heappop(queue)
        now = -(len(facts[i] - covered) + 0.01) / sizes[i]
        if now > worth:  # others have taken some of its facts since
            heappush(queue, (now, i))
        elif sizes[i] <= left:
            chosen.append(i)
            covered |= facts[i]
            left -= sizes[i]
    if not chosen and sentences:
        return " ".join(sentences[0].split(" ")[: max(1, target_tokens // 2)])
    return "\n".join(sentences[i] for i in sorted(chosen))


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
