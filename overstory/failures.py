"""Why a summary failed, in the words of a person, and what to do about it."""

from __future__ import annotations

import re

_MODEL = "Build again to ask anew; if it stays, another model or prompt in the settings may help"
_SAID = {
    "refusal": "the model refused to summarize it",
    "empty": "the model answered with nothing",
    "nothing": "the model answered that there is nothing to summarize",
    "echo": "the model repeated the prompt or its source instead of summarizing",
    "repetition": "the model wrote the same sentence again and again",
    "broken off": "the model's answer broke off before its end",
    "too short": "the model answered with next to nothing for a text of this length",
    "only reasoning": "the model thought aloud and never answered",
}
_KNOWN = {
    **{failure: (words, _MODEL) for failure, words in _SAID.items()},
    "truncated": (
        "the model's answer was cut off at its limit",
        "Raise the length of summaries in the settings, or take a model that keeps to it",
    ),
    "too long": (
        "the model wrote more than twice what it was allowed",
        "Take a model that keeps to max_tokens, or raise the length of summaries in the settings",
    ),
    "content filter": (
        "a filter of the endpoint withheld the answer",
        "Take another model for this text, or exclude it",
    ),
    "context overflow": (
        "the text does not fit the model's window",
        "Set window_tokens, or take a model of a larger one",
    ),
    "malformed reply": (
        "what came back is no answer of a model",
        "Check base_url, it usually ends in /v1; build again",
    ),
    "timeout": ("the model did not answer in time", "Raise timeout_seconds or lower concurrency; build again"),
    "connection lost": ("the connection to the model was lost", "Build again"),
    "connection refused": ("the model could not be reached", "Build again when it runs"),
    "http 429": ("the endpoint wanted fewer calls", "Build again later, or set requests_per_minute"),
}
_STATUS = re.compile(r"http (\d{3})")


def explain(failure: str) -> str:
    """The reason and what to do, as one line: the code of a failure in words, anything else as it is."""
    if failure in _KNOWN:
        words, advice = _KNOWN[failure]
        return f"{words}. {advice}"
    status = _STATUS.match(failure)
    if status is None:
        return failure
    if status[1].startswith("5"):
        return f"the endpoint failed ({failure}). Build again"
    return f"the endpoint refused the request ({failure}). Check the model's limits and parameters in the settings"
