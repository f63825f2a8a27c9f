"""When a sensor asks for a run, and when it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.asking import FIRST_WAIT, LONGEST_WAIT, Asked, Outcome, decide, wait

LONG = LONGEST_WAIT + 1


@given(outcome=st.sampled_from(Outcome), attempt=st.integers(0, 9))
def test_no_difference_asks_for_nothing(outcome: Outcome, attempt: int) -> None:
    asked = Asked("s", 1, "a", attempt)
    assert (decide("", asked, outcome, LONG).run, decide("", asked, outcome, LONG).asked) == (False, asked)


def test_first_difference_asks_for_a_run() -> None:
    decision = decide("a", Asked("s"), Outcome.NONE, 0)
    assert (decision.run, decision.asked.key) == (True, "s.1.1")


@pytest.mark.parametrize("state", ["a", "b"])
def test_nothing_is_asked_for_while_a_run_goes_on(state: str) -> None:
    assert not decide(state, Asked("s", 1, "a", 1), Outcome.RUNNING, LONG).run


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.CANCELED])
def test_other_differences_ask_for_a_run_of_their_own(outcome: Outcome) -> None:
    decision = decide("b", Asked("s", 1, "a", 3), outcome, 0)
    assert (decision.run, decision.asked.key) == (True, "s.2.1")


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.CANCELED])
def test_same_differences_after_a_run_ask_for_nothing(outcome: Outcome) -> None:
    assert not decide("a", Asked("s", 1, "a", 1), outcome, LONG).run


def test_failed_run_is_asked_for_again_with_a_new_attempt() -> None:
    decision = decide("a", Asked("s", 1, "a", 1), Outcome.FAILED, FIRST_WAIT)
    assert (decision.run, decision.asked.key) == (True, "s.1.2")


def test_failed_run_is_not_asked_for_again_at_once() -> None:
    decision = decide("a", Asked("s", 1, "a", 1), Outcome.FAILED, FIRST_WAIT - 1)
    assert (decision.run, decision.asked) == (False, Asked("s", 1, "a", 1))


def test_request_that_was_never_launched_is_repeated_under_its_own_key() -> None:
    decision = decide("a", Asked("s", 1, "a", 2), Outcome.NONE, 0)
    assert (decision.run, decision.asked.key) == (True, "s.1.2")


@given(attempt=st.integers(1, 40))
def test_waits_grow_to_an_hour(attempt: int) -> None:
    assert FIRST_WAIT <= wait(attempt) <= wait(attempt + 1) <= LONGEST_WAIT


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["", "a", "b"]), st.sampled_from(Outcome), st.floats(0, LONG)), max_size=30
    )
)
def test_no_key_is_used_for_two_requests(steps: list[tuple[str, Outcome, float]]) -> None:
    asked, made = Asked("s"), []
    for state, outcome, since in steps:
        decision = decide(state, asked, outcome, since)
        if decision.asked != asked:
            made.append(decision.asked.key)
        asked = decision.asked
    assert len(made) == len(set(made))


def test_differences_that_come_back_are_asked_for_anew() -> None:
    first = decide("a", Asked("s"), Outcome.NONE, 0).asked
    second = decide("b", first, Outcome.SUCCEEDED, 0).asked
    assert decide("a", second, Outcome.SUCCEEDED, 0).asked.key == "s.3.1"
