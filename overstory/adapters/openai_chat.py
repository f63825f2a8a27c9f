"""One attempt at a chat completion: request body, reply, and the parameters a model does not take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from overstory.adapters.metering import AttemptError
from overstory.adapters.openai_endpoint import Endpoint
from overstory.replies import Reply

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_UNSUPPORTED = ("unsupported", "not supported", "unknown parameter", "unrecognized")


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply and what it cost; counts are None where the endpoint does not say."""

    reply: Reply
    tokens_in: int | None
    tokens_out: int | None


class Chat:
    """Asks one endpoint; learns which parameters its model refuses, for as long as it lives."""

    def __init__(
        self,
        client: AsyncOpenAI,
        endpoint: Endpoint,
        *,
        seed: int | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._endpoint = endpoint
        self._now = now
        self._length_name = "max_tokens"
        self._parameters: dict[str, object] = {"temperature": 0.0}
        if seed is not None:
            self._parameters["seed"] = seed
        self._answered = False

    async def ask(self, prompt: str, max_tokens: int) -> ChatReply:
        """The reply to ``prompt``, in at most ``max_tokens`` tokens.

        Raises:
            AttemptError: No usable answer this time.
            ContextOverflow: The prompt is too long for the model.
            QuotaExhausted: No credit left.
            ModelRefusedAccess: Wrong key, model or address.
        """
        import openai

        parameters = {**self._parameters, self._length_name: max_tokens}
        try:
            completion = await self._create(prompt, parameters)
        except openai.BadRequestError as error:
            # "from None" here and below: a vendor's message may repeat the key or a document's text
            if self._adapt(error, parameters):
                raise AttemptError("http 400 unsupported parameter", retry_after_seconds=0.0) from None
            raise self._translated(error) from None
        except (openai.OpenAIError, ValueError, TimeoutError) as error:
            raise self._translated(error) from None
        self._answered = True
        return read(completion)

    async def _create(self, prompt: str, parameters: dict[str, Any]) -> object:
        async with asyncio.timeout(self._endpoint.timeout_seconds):
            return await self._client.chat.completions.create(
                model=self._endpoint.model, messages=[{"role": "user", "content": prompt}], **parameters
            )

    def _translated(self, error: Exception) -> Exception:
        return self._endpoint.translated(error, answered=self._answered, now=self._now())

    def _adapt(self, error: Any, parameters: dict[str, Any]) -> bool:
        """Whether the same request may succeed without a parameter that the model does not take."""
        message = str(error.message)
        if not any(word in f"{error.code} {message}".lower() for word in _UNSUPPORTED):
            return False
        name = next((n for n in parameters if n == error.param or f"'{n}'" in message), None)
        if name == "max_tokens":
            self._length_name = "max_completion_tokens"
        elif name is not None and name != "max_completion_tokens":
            self._parameters.pop(name, None)
        return name is not None and name != "max_completion_tokens"


def read(completion: Any) -> ChatReply:
    """What is in a completion, however little of the protocol the endpoint keeps to.

    Raises:
        AttemptError: It is no chat completion at all (a web page, an error without a status).
    """
    choices = getattr(completion, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = getattr(choice, "message", None)
    usage = getattr(completion, "usage", None)
    if message is None:
        used = (_tokens(usage, "prompt_tokens") or 0, _tokens(usage, "completion_tokens") or 0)
        raise AttemptError("malformed reply", usage=used)
    reply = Reply(
        text=_text(getattr(message, "content", None)),
        finish_reason=str(getattr(choice, "finish_reason", None) or "stop"),
        refusal=str(getattr(message, "refusal", None) or ""),
    )
    return ChatReply(reply, _tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens"))


def _text(content: object) -> str:
    """The text of a message; some endpoints answer in parts, of which those of type ``text`` count."""
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict) and part.get("type", "text") == "text")
        return "".join(str(part.get("text") or "") for part in parts)
    return content if isinstance(content, str) else ""


def _tokens(usage: object, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and value > 0 else None
