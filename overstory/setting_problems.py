"""What is wrong with a setting, in one sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError


def first_problem(error: ValidationError, where: str, model: type[BaseModel]) -> str:
    """The problem to mend first: an unknown setting before one that is missing, which it may be a misspelling of.

    Args:
        error: What the validation of ``model`` found.
        where: The place of the model in the settings.
        model: The settings that were validated.
    """
    problems = error.errors()
    problem = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
    # Of a union the place names the kind too, which people do not write.
    steps = [str(step) for step in problem["loc"] if step not in ("extractive", "openai")]
    path = ".".join([where, *steps])
    if problem["type"] == "extra_forbidden":
        return f"Unknown setting '{path}'{_suggestion(model, problem['loc'])}"
    if problem["type"] == "missing":
        return f"Setting '{path}' is wrong: it is missing"
    return f"Setting '{path}' is wrong: {problem['msg']}"


def _suggestion(model: type[BaseModel], place: Sequence[int | str]) -> str:
    """The known setting whose name is nearest to the last step of ``place``."""
    models = [model]
    for step in place[:-1]:
        inner = [one for known in models for one in _models(known.model_fields.get(str(step)))]
        models = inner or models
    known = {name for one in models for name in one.model_fields}
    near = difflib.get_close_matches(str(place[-1]), sorted(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def _models(field: Any) -> Iterator[type[BaseModel]]:
    """The models that a field may hold."""
    waiting = [getattr(field, "annotation", None)]
    while waiting:
        found = waiting.pop()
        if isinstance(found, type) and issubclass(found, BaseModel):
            yield found
        waiting.extend(get_args(found))
