"""The summarizer against an endpoint that fails: retries, rate limits, quota, access, interrupts, secrets."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from overstory.adapters.openai_client import OpenAISummarizer
from overstory.adapters.openai_session import FAULTS_IN_A_ROW, UNANSWERED_IN_A_ROW
from overstory.errors import ModelRefusedAccess, ModelUnavailable, OverstoryError, QuotaExhausted, SettingsError
from overstory.ports import SummaryOutcome
from tests import llm_behaviors as behave
from tests.contract.test_openai_client import TOKENIZER, SkippedTime, many, request, summarize, summarizer
from tests.llm_server import LLMServer, llm_server

__all__ = ["llm_server"]

TRANSIENT = {
    "http 500": behave.error(500),
    "http 503": behave.error(503),
    "http 529": behave.error(529),
    "http 408": behave.error(408),
    "http 409": behave.error(409),
    "http 429": behave.rate_limited(),
    "http 502": behave.html(502),
    "connection lost": behave.drops,
    "malformed reply": behave.html(200),
}


@pytest.mark.parametrize("reason", TRANSIENT)
def test_case_45_transient_failure_is_tried_again(llm_server: LLMServer, reason: str) -> None:
    llm_server.next(TRANSIENT[reason], TRANSIENT[reason])

    [outcome] = summarize(summarizer(llm_server))

    assert outcome.failure == ""
    assert [call.outcome for call in outcome.calls] == [reason, reason, "ok"]


@pytest.mark.parametrize("reason", TRANSIENT)
def test_case_45_attempts_at_one_request_are_bounded(llm_server: LLMServer, reason: str) -> None:
    llm_server.default = TRANSIENT[reason]

    [outcome] = summarize(summarizer(llm_server, max_attempts=4))

    assert (outcome.text, outcome.failure) == ("", reason)
    assert len(llm_server.chats) == 4


MALFORMED = {
    "no choices": behave.raw(b'{"choices": []}'),
    "null choices": behave.raw(b'{"choices": null}'),
    "no message": behave.raw(b'{"choices": [{"index": 0}]}'),
    "error without a status": behave.raw(b'{"error": {"message": "overloaded"}}'),
    "list": behave.raw(b"[1, 2]"),
    "number": behave.raw(b"7"),
    "cut JSON": behave.raw(b'{"choices": [{"mess'),
    "no JSON": behave.raw(b"\xff\xfe\x00", content_type="application/octet-stream"),
    "nothing": behave.raw(b""),
    "plain text": behave.raw(b"Pro costs $49.", content_type="text/plain"),
}


@pytest.mark.parametrize("body", MALFORMED)
def test_body_that_is_no_completion_is_tried_again(llm_server: LLMServer, body: str) -> None:
    llm_server.next(MALFORMED[body])

    [outcome] = summarize(summarizer(llm_server))

    assert outcome.failure == ""
    assert [call.outcome for call in outcome.calls] == ["malformed reply", "ok"]


def test_case_45_hanging_call_is_given_up_and_tried_again(llm_server: LLMServer) -> None:
    llm_server.next(behave.hangs())

    [outcome] = summarize(summarizer(llm_server, timeout_seconds=0.2))

    assert [call.outcome for call in outcome.calls] == ["timeout", "ok"]
    assert outcome.calls[0].tokens_in > 0


def test_errors_cost_nothing(llm_server: LLMServer) -> None:
    llm_server.next(behave.error(500))

    [outcome] = summarize(summarizer(llm_server))

    assert [(call.tokens_in, call.usd) for call in outcome.calls[:1]] == [(0, 0.0)]


@pytest.mark.parametrize("as_date", [False, True])
def test_case_45_no_call_before_retry_after_and_then_success(llm_server: LLMServer, as_date: bool) -> None:
    llm_server.latency_seconds = 0.02
    llm_server.when(lambda call: call.index == 8, behave.rate_limited(2, as_date=as_date))

    outcomes = summarize(summarizer(llm_server, concurrency=4, patient=True), *many(24))

    limited = llm_server.chats[8]
    # calls that had been sent when the 429 arrived are not "sooner": four are under way at most
    later = [call.at - limited.at for call in llm_server.chats[8 + 4 :]]
    assert [outcome.failure for outcome in outcomes] == [""] * 24
    assert min(later) >= 2.0


def test_case_45_concurrency_is_reduced_after_a_rate_limit(llm_server: LLMServer) -> None:
    llm_server.latency_seconds = 0.02
    llm_server.next(*[behave.rate_limited(0.5)] * 8)
    after: list[int] = []

    def watch(call: behave.Call) -> behave.Response:
        after.append(llm_server.in_flight)
        return behave.good(call)

    llm_server.default = watch

    outcomes = summarize(summarizer(llm_server, concurrency=8, patient=True), *many(16))

    assert [outcome.failure for outcome in outcomes] == [""] * 16
    assert max(after[:4]) <= 4


def test_endpoint_that_wants_to_be_left_alone_for_an_hour_ends_the_run(llm_server: LLMServer) -> None:
    llm_server.default = behave.rate_limited(3600)

    with pytest.raises(ModelUnavailable, match="3600 seconds"):
        summarize(summarizer(llm_server, concurrency=4), *many(50))

    assert len(llm_server.chats) <= 4


QUOTA = {
    "429 by code": behave.insufficient_quota(429),
    "403 by code": behave.insufficient_quota(403),
    "402": behave.error(402, message="Insufficient Balance"),
    "429 by type": behave.error(429, kind="insufficient_quota"),
}


@pytest.mark.parametrize("how", QUOTA)
def test_case_45_empty_account_stops_at_once_and_keeps_what_came(llm_server: LLMServer, how: str) -> None:
    stored: list[SummaryOutcome] = []
    llm_server.latency_seconds = 0.01
    llm_server.when(lambda call: call.index >= 20, QUOTA[how])

    with pytest.raises(QuotaExhausted, match="no quota left"):
        summarizer(llm_server, concurrency=8).summarize_many(many(100), stored.extend)

    assert len(llm_server.chats) <= 20 + 8
    assert len(stored) == llm_server.statuses.count(200) == 20
    assert all(outcome.text for outcome in stored)


def test_case_45_run_after_an_empty_account_pays_for_the_rest_only(llm_server: LLMServer) -> None:
    stored: dict[str, SummaryOutcome] = {}

    def store(outcomes: Sequence[SummaryOutcome]) -> None:
        stored.update({outcome.key: outcome for outcome in outcomes})

    llm_server.when(lambda call: call.index >= 30, behave.insufficient_quota())
    model = summarizer(llm_server, concurrency=4)
    with pytest.raises(QuotaExhausted):
        model.summarize_many(many(50), store)
    llm_server.reset()

    model.summarize_many((item for item in many(50) if item.key not in stored), store)

    assert len(stored) == 50
    assert len(llm_server.chats) == 20


ACCESS = {
    "wrong key": (behave.error(401, code="invalid_api_key"), "the environment variable OPENAI_API_KEY"),
    "no permission": (behave.error(403, code="model_not_allowed"), "the environment variable OPENAI_API_KEY"),
    "unknown model": (behave.error(404, code="model_not_found"), "Correct model or base_url"),
    "redirect": (behave.error(307, headers={"Location": "http://127.0.0.1:1/v1"}), "redirects elsewhere"),
    "wrong method": (behave.error(405), "base_url"),
}


@pytest.mark.parametrize("how", ACCESS)
def test_refused_access_ends_the_run_and_says_what_to_do(llm_server: LLMServer, how: str) -> None:
    llm_server.default, advice = ACCESS[how]

    with pytest.raises(ModelRefusedAccess) as caught:
        summarize(summarizer(llm_server, concurrency=4), *many(50))

    assert advice in str(caught.value)
    assert llm_server.base_url in str(caught.value)
    assert len(llm_server.chats) <= 4


def test_nobody_listening_ends_the_run_and_says_what_to_do() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = OpenAISummarizer(base_url=f"http://127.0.0.1:{port}/v1", model="m", tokenizer=TOKENIZER)

    with pytest.raises(ModelRefusedAccess, match=f"127.0.0.1:{port}.*Start it"):
        summarize(model, *many(10))


def test_forbidden_material_fails_alone_once_the_endpoint_has_answered(llm_server: LLMServer) -> None:
    llm_server.when("Release 5.0", behave.error(403, code="forbidden"))

    outcomes = summarize(summarizer(llm_server, concurrency=1), *many(10))

    assert {outcome.key: outcome.failure for outcome in outcomes if outcome.failure} == {"5": "http 403"}


@pytest.mark.parametrize("status", [400, 422])
def test_rejected_request_fails_alone_and_is_not_repeated(llm_server: LLMServer, status: int) -> None:
    llm_server.when("Release 5.0", behave.error(status))

    outcomes = summarize(summarizer(llm_server), *many(10))

    assert {outcome.key: outcome.failure for outcome in outcomes if outcome.failure} == {"5": f"http {status}"}
    assert len(llm_server.chats) == 10


@pytest.mark.parametrize(
    ("behavior", "error"),
    [(behave.error(400), ModelRefusedAccess), (behave.error(500), ModelUnavailable)],
)
def test_endpoint_that_answers_nothing_ends_the_run_after_a_few_requests(
    llm_server: LLMServer, behavior: behave.Behavior, error: type[OverstoryError]
) -> None:
    llm_server.default = behavior

    with pytest.raises(error, match="in a row"):
        summarize(summarizer(llm_server, concurrency=2, max_attempts=2), *many(1_000))

    assert len(llm_server.chats) <= (UNANSWERED_IN_A_ROW + 2) * 2


FAULTY = {
    "page": (behave.html(200), "base_url"),
    "http 500": (behave.error(500), "goes on where it stopped"),
    "http 429": (behave.rate_limited(0.01), "goes on where it stopped"),
}


@pytest.mark.parametrize("how", FAULTY)
def test_endpoint_at_fault_ends_the_run_before_every_document_is_tried(llm_server: LLMServer, how: str) -> None:
    llm_server.default, advice = FAULTY[how]

    with pytest.raises(ModelUnavailable, match=advice):
        summarize(summarizer(llm_server, concurrency=2, max_attempts=3), *many(50))

    assert len(llm_server.chats) <= (FAULTS_IN_A_ROW + 1) * 3


def test_requests_that_fail_alone_between_answers_do_not_end_the_run(llm_server: LLMServer) -> None:
    for bad in range(0, 10, 2):
        llm_server.when(f"Release {bad}.0", behave.error(500))

    outcomes = summarize(summarizer(llm_server, concurrency=1, max_attempts=2), *many(10))

    assert [outcome.failure for outcome in outcomes] == ["http 500", ""] * 5


def test_web_page_is_not_booked_as_paid_input(llm_server: LLMServer) -> None:
    llm_server.next(behave.html(200))

    [outcome] = summarize(summarizer(llm_server))

    assert [(call.outcome, call.tokens_in > 0) for call in outcome.calls] == [("malformed reply", False), ("ok", True)]


def test_usage_of_a_reply_without_a_message_is_booked(llm_server: LLMServer) -> None:
    llm_server.next(behave.raw(b'{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}'))

    [outcome] = summarize(summarizer(llm_server))

    assert (outcome.calls[0].tokens_in, outcome.calls[0].tokens_out) == (5, 2)


ENDING = {
    "http 401": behave.error(401),
    "http 402": behave.error(402),
    "http 403": behave.error(403),
    "http 404": behave.error(404),
    "http 302": behave.error(302, headers={"Location": "http://127.0.0.1:1/v1"}),
    "http 429": behave.insufficient_quota(),
}


@pytest.mark.parametrize("status", ENDING)
def test_call_that_ends_the_run_is_handed_out_for_the_ledger(llm_server: LLMServer, status: str) -> None:
    llm_server.default = ENDING[status]
    model = summarizer(llm_server, concurrency=1)

    with pytest.raises(OverstoryError):
        summarize(model, *many(5))

    calls = model.take_calls()
    assert [(call.outcome, call.tokens_in, call.usd) for call in calls] == [(status, 0, 0.0)]
    assert len(llm_server.chats) == 1
    assert model.take_calls() == []


def test_call_that_asks_for_too_long_a_pause_is_handed_out_for_the_ledger(llm_server: LLMServer) -> None:
    llm_server.default = behave.rate_limited(1e9)
    model = summarizer(llm_server, concurrency=1)

    with pytest.raises(ModelUnavailable):
        summarize(model, *many(5))

    assert [call.outcome for call in model.take_calls()] == ["http 429"] * len(llm_server.chats)


def test_answer_under_way_is_kept_when_another_request_ends_the_run(llm_server: LLMServer) -> None:
    stored: list[SummaryOutcome] = []
    llm_server.when("Release 0.0", behave.slow(0.5))
    llm_server.when("Release 1.0", behave.insufficient_quota())

    with pytest.raises(QuotaExhausted):
        summarizer(llm_server, concurrency=2).summarize_many(many(2), stored.extend)

    assert [outcome.key for outcome in stored] == ["0"]


def test_exception_of_the_store_ends_the_run_at_once(llm_server: LLMServer) -> None:
    llm_server.when(lambda call: call.index >= 1, behave.hangs())

    def store(outcomes: Sequence[SummaryOutcome]) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        summarizer(llm_server, concurrency=4).summarize_many(many(50), store)

    assert len(llm_server.chats) <= 4


INTERRUPTED = """
    import sys
    from tests.contract.test_openai_client import TOKENIZER, many
    from overstory.adapters.openai_client import OpenAISummarizer

    def store(outcomes):
        for outcome in outcomes:
            print("stored", outcome.key, flush=True)

    model = OpenAISummarizer(base_url=sys.argv[1], model="m", tokenizer=TOKENIZER, concurrency=4)
    try:
        model.summarize_many(many(100), store)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_interrupt_abandons_hanging_calls_and_keeps_what_was_stored(llm_server: LLMServer) -> None:
    llm_server.when(lambda call: call.index >= 10, behave.hangs())
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), llm_server.base_url]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        stored = [process.stdout.readline() for _ in range(10)]
        llm_server.wait_for(lambda: llm_server.in_flight == 4)

        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=10)

    assert sorted(int(line.split()[1]) for line in stored) == list(range(10))
    assert rest == "interrupted\n"
    assert process.returncode == 0
    assert llm_server.statuses.count(200) == 10


def test_case_18_killed_process_pays_for_no_more_than_its_calls_in_flight_twice(
    llm_server: LLMServer, tmp_path: Path
) -> None:
    concurrency = 4  # as in INTERRUPTED
    llm_server.when(lambda call: call.index == 60, behave.hangs())
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), llm_server.base_url]
    log = tmp_path / "stored"
    with log.open("w") as output, subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=output) as process:
        llm_server.wait_for(lambda: len(llm_server.chats) > 60)
        process.kill()
    stored = {line.split()[1] for line in log.read_text().splitlines()}
    answered_before_the_kill = llm_server.statuses.count(200)

    rest = summarize(summarizer(llm_server), *(item for item in many(100) if item.key not in stored))

    assert len(stored) + len(rest) == 100
    assert len(stored) >= answered_before_the_kill - concurrency
    assert len(llm_server.chats) <= 100 + concurrency


KEY = "sk-live-0123456789abcdefSECRET"

LEAKS = {
    "401": behave.error(401, message=f"Incorrect API key provided: {KEY}.", code="invalid_api_key"),
    "401 with the key as code": behave.error(401, message="no", code=KEY),
    "400": behave.error(400, message=f"bad header Authorization: Bearer {KEY}"),
    "500": behave.error(500, message=f"upstream said {KEY}"),
    "402": behave.error(402, message=f"{KEY} has no credit"),
    "malformed": behave.raw(f"Bearer {KEY}".encode(), content_type="text/plain"),
}


@pytest.mark.parametrize("how", LEAKS)
def test_key_and_material_stand_in_no_error_log_or_outcome(
    llm_server: LLMServer, how: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    llm_server.default = LEAKS[how]
    model = summarizer(llm_server, api_key_env="MY_KEY", max_attempts=2)
    told = [repr(model), str(vars(model))]

    try:
        told += [str(outcome) for outcome in summarize(model)]
    except OverstoryError as error:
        told += [str(error), repr(error), str(error.attributes), "".join(traceback.format_exception(error))]

    assert llm_server.chats[0].headers["authorization"] == f"Bearer {KEY}"
    everything = "\n".join([*told, caplog.text, *map(str, caplog.records)])
    assert KEY not in everything
    assert "Starter plan" not in everything


def test_missing_key_of_a_remote_endpoint_is_said_before_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    model = OpenAISummarizer(
        base_url="https://llm.invalid/v1", model="m", tokenizer=TOKENIZER, api_key_env="NO_SUCH_KEY"
    )

    with pytest.raises(ModelRefusedAccess, match="NO_SUCH_KEY is not set"):
        summarize(model)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "http://user:pw@127.0.0.1/v1", "http://x/v1?key=1", "v1"])
def test_address_that_is_none_or_carries_a_secret_is_refused(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        OpenAISummarizer(base_url=url, model="m", tokenizer=TOKENIZER)

    assert "pw" not in str(caught.value)


def test_proxy_of_the_environment_is_not_asked_for_a_local_server(
    llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    [outcome] = summarize(summarizer(llm_server))

    assert outcome.failure == ""


def test_clock_of_the_endpoint_may_be_wrong_for_a_retry_date(llm_server: LLMServer) -> None:
    def in_the_past(call: behave.Call) -> behave.Response:
        headers = {"Date": "Mon, 01 Jan 2001 00:00:00 GMT", "Retry-After": "Mon, 01 Jan 2001 00:00:03 GMT"}
        return behave.error(429, headers=headers)(call)

    skipped = SkippedTime()
    llm_server.next(in_the_past)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    model = summarizer(llm_server, clock=skipped.clock, sleep=skipped.sleep, now=lambda: now)

    [outcome] = summarize(model, request())

    assert outcome.failure == ""
    assert sum(skipped.slept) == pytest.approx(3.0, abs=0.5)


def test_key_of_the_environment_is_read_when_it_is_needed(
    llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = summarizer(llm_server, api_key_env="LATE_KEY")
    monkeypatch.setitem(os.environ, "LATE_KEY", "late")

    summarize(model)

    assert llm_server.chats[0].headers["authorization"] == "Bearer late"
