"""How one summary is written: which prompts are asked, what is split, and when it has failed.

``write`` decides and does nothing else: it yields prompts and is sent verdicts, so that the same code runs
against an endpoint and, for a plan, against pretended answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from overstory.ports import SummaryRequest
from overstory.prompts import CHAT_TOKENS, PromptTemplate, join
from overstory.replies import Question, Verdict

CONTENT_ATTEMPTS = 2
"""Times that one prompt is asked before an unusable answer counts as a failure."""

MOST_HALVINGS = 16
_TOKENIZERS_DIFFER = 2

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Ask:
    """One prompt to be answered."""

    prompt: str
    question: Question
    tokens: int
    """Input tokens, the chat protocol's own included."""
    max_tokens: int

    @property
    def size(self) -> int:
        """What it takes of the window: the prompt and room for the reply."""
        return self.tokens + self.max_tokens


@dataclass(frozen=True, slots=True)
class Overflow:
    """The endpoint's answer that a prompt does not fit its window."""


Writing = Generator[Ask, Verdict | Overflow, Verdict]


@dataclass(slots=True)
class Window:
    """How large a prompt may be: what is configured, and what the endpoint has turned away."""

    tokens: int | None = None
    """Input and output tokens together; None if unknown."""
    turned_away: int | None = None
    """The smallest size, likewise, that the endpoint called too long."""

    def fits(self, ask: Ask) -> bool:
        """Whether ``ask`` is worth a call."""
        if self.turned_away is not None and ask.size >= self.turned_away:
            return False
        return self.tokens is None or ask.size <= self.tokens

    def learn(self, ask: Ask) -> None:
        """Remember that the endpoint turned ``ask`` away."""
        self.turned_away = min(ask.size, self.turned_away or ask.size)


def write(request: SummaryRequest, template: PromptTemplate, window: Window, count: Count) -> Writing:
    """The summary of ``request``: yields prompts, is sent what became of each, returns the verdict.

    Material that exceeds the window is halved until it fits, each piece is summarized, and the summaries are
    summarized in turn; no text is left out.
    """
    texts: Sequence[str] = [part for part in request.parts if part.strip()]
    if not texts:
        return Verdict("", "empty material")
    asking = _Asking(request, template, window, count)
    pieces = yield from asking.pieces(texts)
    while len(pieces) > 1 and not pieces[-1].failure:
        texts = [piece.text for piece in pieces]
        pieces = yield from asking.pieces(texts, are_summaries=True)
        if len(pieces) >= len(texts):
            return Verdict("", "context overflow")
    return pieces[-1]


def advance(writing: Writing, answer: Verdict | Overflow | None) -> Ask | Verdict:
    """The next prompt, or the verdict when there is no more to ask; ``answer`` is None at the start."""
    try:
        return next(writing) if answer is None else writing.send(answer)
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict


def expected(request: SummaryRequest, template: PromptTemplate, window: Window, count: Count) -> tuple[int, int]:
    """(calls, input tokens) of ``request`` if every answer is good and as long as its target."""
    writing = write(request, template, window, count)
    pretended = Verdict(" ".join(["word"] * request.target_tokens))
    calls, tokens = 0, 0
    step = advance(writing, None)
    while isinstance(step, Ask):
        calls, tokens = calls + 1, tokens + step.tokens
        step = advance(writing, pretended)
    return calls, tokens


@dataclass(frozen=True, slots=True)
class _Asking:
    request: SummaryRequest
    template: PromptTemplate
    window: Window
    count: Count

    def pieces(
        self, texts: Sequence[str], *, are_summaries: bool = False, depth: int = 0
    ) -> Generator[Ask, Verdict | Overflow, list[Verdict]]:
        """One summary of ``texts``, or several where they do not fit; only the last one may be a failure."""
        if are_summaries and len(texts) == 1:
            return [Verdict(texts[0])]
        ask = self._ask(texts)
        if self.window.fits(ask):
            answer = yield from self._answer(ask)
            if isinstance(answer, Verdict):
                return [answer]
        halves = halve(texts, self.count) if depth < MOST_HALVINGS else None
        if halves is None:
            return [Verdict("", "context overflow")]
        written: list[Verdict] = []
        for half in halves:
            written += yield from self.pieces(half, are_summaries=are_summaries, depth=depth + 1)
            if written[-1].failure:
                break
        return written

    def _answer(self, ask: Ask) -> Generator[Ask, Verdict | Overflow, Verdict | Overflow]:
        """A good verdict, the last of the bad ones, or the news that the prompt is too long."""
        answer: Verdict | Overflow = Verdict("", "empty")
        for _ in range(CONTENT_ATTEMPTS):
            answer = yield ask
            if isinstance(answer, Overflow):
                self.window.learn(ask)
            if isinstance(answer, Overflow) or not answer.failure:
                break
            if answer.failure == "truncated":
                ask = replace(ask, max_tokens=2 * ask.max_tokens)
        return answer

    def _ask(self, texts: Sequence[str]) -> Ask:
        request = self.request
        prompt = self.template.render(request.kind, texts, request.target_tokens)
        question = Question(join(request.kind, texts), self.template.phrases)
        return Ask(prompt, question, self.count(prompt) + CHAT_TOKENS, request.max_tokens)


def within_limit(verdict: Verdict, ask: Ask, count: Count) -> Verdict:
    """``verdict``, unless the endpoint ignored ``max_tokens`` by more than tokenizers differ."""
    if count(verdict.text) > _TOKENIZERS_DIFFER * ask.max_tokens:
        return Verdict("", "too long")
    return verdict


def halve(texts: Sequence[str], count: Count) -> tuple[list[str], list[str]] | None:
    """``texts`` in two runs of about equal tokens; a single text is cut; None if it is too short for that."""
    if len(texts) > 1:
        border = _middle([count(text) for text in texts])
        return list(texts[:border]), list(texts[border:])
    cut = _cut(texts[0])
    return None if cut is None else ([texts[0][:cut]], [texts[0][cut:]])


def _middle(sizes: Sequence[int]) -> int:
    """The border, 1 to n - 1, at which the two sides differ least."""
    total, left = sum(sizes), 0
    best, least = 1, total + 1
    for border, size in enumerate(sizes[:-1], start=1):
        left += size
        if abs(total - 2 * left) < least:
            best, least = border, abs(total - 2 * left)
    return best


_BORDERS = (
    re.compile(r"\n\s*\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？।؟])"),
    re.compile(r"\s+"),
    re.compile(r"(?=[^\W\d_])"),
    re.compile(r""),
)
"""Where a text may be cut, best first: paragraph, line, sentence, word, before a letter, anywhere."""


def _cut(text: str) -> int | None:
    """The best border in the middle half of ``text`` that leaves words on both sides."""
    quarter, middle = len(text) // 4, len(text) // 2
    for border in _BORDERS:
        ends = [m.end() for m in border.finditer(text, quarter, len(text) - quarter)]
        for end in sorted(ends, key=lambda end: abs(end - middle)):
            if text[:end].strip() and text[end:].strip():
                return end
    return None
