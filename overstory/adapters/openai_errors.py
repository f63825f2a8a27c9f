"""What the errors of the ``openai`` client mean: ask again, split, give up on one call, or stop.

Nothing of a vendor's message is passed on, because it may repeat the key or the text of a document; only its
status and its short codes are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from overstory.adapters.metering import AttemptError
from overstory.errors import ContextOverflow, ModelRefusedAccess, QuotaExhausted

_QUOTA_CODES = {
    "insufficient_quota",
    "insufficient_user_quota",
    "insufficient_balance",
    "billing_hard_limit_reached",
    "billing_not_active",
}
_OVERFLOW_CODES = {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
_OVERFLOW_TEXT = re.compile(
    r"context (length|size|window)|maximum context|too many (input )?tokens|prompt is too long|"
    r"input is too long|reduce the length|exceeds? the (maximum|available|model)[^.]{0,40}(tokens|context)",
    re.I,
)
_LARGER_THAN_A_MINUTE = re.compile(r"request too large", re.I)
"""In a rate limit: waiting would never help. Other words about tokens there do speak of waiting."""
_TRANSIENT = {408, 409, 429}
_SAFE_CODE = re.compile(r"[A-Za-z][A-Za-z_.]{1,47}")


def translate(
    error: Exception, *, where: str, model: str, key_source: str, answered: bool, now: datetime
) -> AttemptError | ContextOverflow | QuotaExhausted | ModelRefusedAccess:
    """What to raise in place of ``error``, which came out of the ``openai`` client.

    Args:
        error: An exception of the client, or of its decoding of a reply.
        where: The endpoint's address, for messages.
        model: The model asked for, for messages.
        key_source: Where the key comes from, for messages: ``the environment variable NAME``; never the key.
        answered: Whether the endpoint has answered any call before.
        now: The time to which an HTTP-date is compared if the reply has no ``Date``.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        return _of_status(error, where, model, key_source, answered, now)
    if isinstance(error, openai.APITimeoutError):
        reached = type(error.__cause__).__name__ == "ReadTimeout"
        return AttemptError("timeout", reached=reached, charged=reached)
    if isinstance(error, TimeoutError):
        return AttemptError("timeout", charged=True)
    if isinstance(error, openai.APIConnectionError):
        return _of_connection(error, where, answered)
    if isinstance(error, openai.LengthFinishReasonError):
        return AttemptError("truncated", transient=False)
    if isinstance(error, openai.ContentFilterFinishReasonError):
        return AttemptError("content filter", transient=False)
    if isinstance(error, openai.APIError | ValueError):
        return AttemptError("malformed reply", charged=_is_cut_completion(error))
    return ModelRefusedAccess(
        f"The client for {where} cannot sign in ({type(error).__name__})", hint=f"Check the key in {key_source}"
    )


def _is_cut_completion(error: Exception) -> bool:
    """Whether what could not be decoded began as a completion does; a web page has cost nothing."""
    return isinstance(error, json.JSONDecodeError) and '"choices"' in error.doc


def _of_connection(error: Exception, where: str, answered: bool) -> AttemptError | ModelRefusedAccess:
    cannot_connect = type(error.__cause__).__name__ in ("ConnectError", "UnsupportedProtocol", "ProxyError")
    if cannot_connect and not answered:
        return ModelRefusedAccess(
            f"No model server can be reached at {where}",
            hint="Start it, or correct base_url in the settings",
            base_url=where,
        )
    if cannot_connect:
        return AttemptError("connection refused", reached=False)
    return AttemptError("connection lost", charged=True)


def _of_status(
    error: Any, where: str, model: str, key_source: str, answered: bool, now: datetime
) -> AttemptError | ContextOverflow | QuotaExhausted | ModelRefusedAccess:
    status, codes = int(error.status_code), _codes(error)
    if status == 402 or (status in (403, 429) and codes & _QUOTA_CODES):
        return QuotaExhausted(
            f"The account at {where} has no quota left (http {status})",
            hint="Add credit or raise its limit, then run the same command: it goes on where it stopped",
            status=status,
        )
    if _is_overflow(error, status, codes):
        return ContextOverflow(f"A prompt does not fit the window of {model}", hint="Lower window_tokens")
    if status == 401 or 300 <= status < 400 or status in (404, 405) or (status == 403 and not answered):
        return _refused(status, codes, where, model, key_source)
    if codes & {"content_filter", "content_policy_violation"}:
        return AttemptError("content filter", transient=False)
    if status in _TRANSIENT or status >= 500:
        wait = retry_after_seconds(error.response.headers, now)
        return AttemptError(f"http {status}", retry_after_seconds=wait, congested=status == 429)
    return AttemptError(f"http {status}", transient=False)


def _refused(status: int, codes: set[str], where: str, model: str, key_source: str) -> ModelRefusedAccess:
    hints = {
        401: f"Put a valid key into {key_source}",
        403: f"Put a key that may use this model into {key_source}",
        404: "Correct model or base_url in the settings (base_url usually ends in /v1)",
        405: "Correct base_url in the settings (it usually ends in /v1)",
    }
    reason = f"http {status}" + "".join(f", {code}" for code in sorted(codes) if _SAFE_CODE.fullmatch(code))
    return ModelRefusedAccess(
        f"The endpoint {where} refuses model '{model}' ({reason})",
        hint=hints.get(status, "The address redirects elsewhere: put the final one in base_url"),
        status=status,
    )


def _codes(error: Any) -> set[str]:
    """The vendor's short codes, wherever it puts them."""
    found = [error.code, error.type]
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error")
        for level in (body, inner if isinstance(inner, Mapping) else {}):
            found += [level.get("code"), level.get("type")]
    return {str(code).lower() for code in found if isinstance(code, str)}


def _is_overflow(error: Any, status: int, codes: set[str]) -> bool:
    message = str(error.message)
    if status == 429:
        return _LARGER_THAN_A_MINUTE.search(message) is not None
    if status in (400, 422, 500):
        return bool(codes & _OVERFLOW_CODES) or _OVERFLOW_TEXT.search(message) is not None
    return status == 413


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """The wait that ``Retry-After`` asks for (RFC 9110, section 10.2.3), at least 0; None if it does not.

    An HTTP-date is compared to the reply's own ``Date``, so that clocks may differ.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    until = _date(value)
    since = _date(headers.get("date", "")) or now
    return max(0.0, (until - since).total_seconds()) if until else None


def _date(value: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(value)
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
