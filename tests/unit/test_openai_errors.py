"""Vendor errors are made here by hand: there is no other way to see each of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType, SimpleNamespace
from typing import Any

import httpx2
import openai
import pytest

from overstory.adapters.metering import AttemptError
from overstory.adapters.openai_errors import retry_after_seconds, translate
from overstory.errors import ContextOverflow, ModelRefusedAccess, QuotaExhausted

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
REQUEST = httpx2.Request("POST", "http://127.0.0.1:1/v1/chat/completions")


def response(status: int, headers: Mapping[str, str] | None = None) -> httpx2.Response:
    return httpx2.Response(status, headers=dict(headers or {}), request=REQUEST)


def status_error(status: int, body: Mapping[str, object] = MappingProxyType({}), answered: bool = True) -> Exception:
    error = openai.APIStatusError(str(body.get("message", "no")), response=response(status), body=dict(body))
    return translated(error, answered=answered)


def translated(error: Exception, *, answered: bool = True) -> Exception:
    where, source = "http://127.0.0.1:1/v1", "the environment variable MY_KEY"
    return translate(error, where=where, model="m", key_source=source, answered=answered, now=NOW)


def vendor_errors() -> Iterator[type[Exception]]:
    for _, value in inspect.getmembers(openai, inspect.isclass):
        if issubclass(value, Exception):
            yield value
    for _, value in inspect.getmembers(openai._exceptions, inspect.isclass):
        if issubclass(value, Exception):
            yield value


def instance(kind: type[Exception]) -> Exception:
    """An error of ``kind``, made with whatever its constructor asks for."""
    completion: Any = SimpleNamespace(usage=None)
    offered = {
        "message": "no",
        "request": REQUEST,
        "response": response(getattr(kind, "status_code", 500)),
        "body": None,
        "completion": completion,
        "unsent_messages": [],
    }
    if not inspect.isfunction(inspect.getattr_static(kind, "__init__")):
        return kind("no")
    parameters = inspect.signature(kind).parameters
    return kind(**{name: offered[name] for name in parameters if name in offered})


@pytest.mark.parametrize("kind", sorted(set(vendor_errors()), key=str))
@pytest.mark.parametrize("answered", [False, True])
def test_every_error_of_the_vendor_has_a_meaning(kind: type[Exception], answered: bool) -> None:
    meaning = translated(instance(kind), answered=answered)

    assert isinstance(meaning, AttemptError | ContextOverflow | QuotaExhausted | ModelRefusedAccess)


@pytest.mark.parametrize("answered", [False, True])
def test_every_status_has_a_meaning(answered: bool) -> None:
    meanings = {type(status_error(status, answered=answered)) for status in range(300, 600)}

    assert meanings == {AttemptError, ContextOverflow, QuotaExhausted, ModelRefusedAccess}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_case_45_status_that_may_pass_is_transient(status: int) -> None:
    meaning = status_error(status)

    assert isinstance(meaning, AttemptError)
    assert meaning.transient
    assert meaning.congested == (status == 429)


@pytest.mark.parametrize(
    "body",
    [
        {"code": "context_length_exceeded"},
        {"type": "exceed_context_size_error", "message": "the request exceeds the available context size"},
        {"message": "This model's maximum context length is 2048 tokens, however you requested 2500 tokens."},
        {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
        {"message": "Please reduce the length of the messages or completion."},
        {"message": "Input is too long for requested model."},
        {"error": {"code": "context_length_exceeded"}},
    ],
)
def test_case_43_overflow_is_known_in_the_words_of_each_vendor(body: dict[str, object]) -> None:
    assert isinstance(status_error(400, body), ContextOverflow)


def test_body_too_large_is_an_overflow() -> None:
    assert isinstance(status_error(413), ContextOverflow)


def test_request_larger_than_the_tokens_of_a_minute_is_an_overflow() -> None:
    body = {"message": "Request too large for m on tokens per min (TPM): Limit 30000", "code": "rate_limit_exceeded"}

    assert isinstance(status_error(429, body), ContextOverflow)


@pytest.mark.parametrize(
    "message", ["You exceeded your current quota, retry in 20s", "Too many tokens, please wait before trying again"]
)
def test_plain_rate_limit_is_neither_an_empty_account_nor_an_overflow(message: str) -> None:
    meaning = status_error(429, {"message": message, "code": "429"})

    assert isinstance(meaning, AttemptError)
    assert meaning.congested


def test_filter_of_the_prompt_is_a_failure_of_that_request() -> None:
    meaning = status_error(400, {"code": "content_filter"})

    assert isinstance(meaning, AttemptError)
    assert (meaning.outcome, meaning.transient) == ("content filter", False)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:02 GMT"}, 2.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "Thursday, 01-Jan-26 12:00:02 GMT"}, 2.0),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:02 GMT", "date": "Thu, 01 Jan 2026 12:00:01 GMT"}, 1.0),
    ],
)
def test_case_45_retry_after_is_read_as_seconds_and_as_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, NOW) == seconds


def test_message_of_the_vendor_is_not_passed_on() -> None:
    secret = "sk-0123456789"

    meanings = [status_error(status, {"message": secret, "code": secret, "type": secret}) for status in range(300, 600)]

    assert not any(secret in json.dumps([str(meaning), repr(vars(meaning))]) for meaning in meanings)


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key_is_told_by_the_variable_it_was_read_from(status: int) -> None:
    assert "the environment variable MY_KEY" in str(status_error(status, answered=False))
