"""The budget of one run: what a call may cost at its dearest is reserved, what it did cost is settled."""

from __future__ import annotations

from dataclasses import dataclass, field

from overstory.building.context import BuildContext
from overstory.errors import BudgetExhausted
from overstory.planning import priced
from overstory.ports import SummaryRequest
from overstory.settings import OpenAISummarizer
from overstory.summarizing import CONTENT_ATTEMPTS


def within_budget(ctx: BuildContext, promised_usd: float) -> bool:
    """Whether the budget covers what this run has spent and ``promised_usd``; what is free is always covered."""
    limit = ctx.dataset.budget.usd
    if limit is None or not promised_usd:
        return True
    return ctx.record.ledger.spent(ctx.name, ctx.run_id).usd + promised_usd <= limit


def exhausted(ctx: BuildContext, promised_usd: float = 0.0) -> BudgetExhausted:
    """The error that ends a build whose next call may pass the budget."""
    spent = ctx.record.ledger.spent(ctx.name, ctx.run_id).usd
    most = f": {spent:.4g} USD are spent, and it may cost {promised_usd:.4g} with its retries" if promised_usd else ""
    return BudgetExhausted(
        f"The budget of {ctx.dataset.budget.usd} USD per run may be passed by the next call{most}",
        hint="Build again to go on with a new budget, or raise budget.usd first: what was made is kept",
    )


@dataclass(slots=True)
class Reservations:
    """What requests in flight may cost at most, until it is known what they did cost."""

    ctx: BuildContext
    _held: dict[str, float] = field(default_factory=dict)
    """Dollars by request."""

    @property
    def needed(self) -> bool:
        """Whether there is a budget to keep to: counting tokens takes time."""
        return self.ctx.dataset.budget.usd is not None

    def covers(self, promised_usd: float) -> bool:
        """Whether the budget covers ``promised_usd`` on top of all that is in flight."""
        return within_budget(self.ctx, promised_usd + sum(self._held.values()) if promised_usd else 0.0)

    def hold(self, request: SummaryRequest) -> None:
        """Reserve for a request that is about to be sent."""
        self._held[request.key] = self.dearest(request)

    def release(self, key: str) -> None:
        """Let go of what was reserved for a request: the ledger has what it cost."""
        self._held.pop(key, None)

    def dearest(self, request: SummaryRequest) -> float:
        """Dollars of a request that goes as badly as it may, and of the embedding of its summary.

        Each time that its prompts are asked, every attempt but the last is charged for its input and brings no answer;
        the last one brings an answer of full length, the first time one that cannot be used, for which it is asked
        again with twice the room.
        """
        if not self.needed:
            return 0.0
        calls, tokens_in = self.ctx.summarizer.prompt_tokens(request)
        tokens_out = calls * request.max_tokens * (2**CONTENT_ATTEMPTS - 1)
        times = CONTENT_ATTEMPTS * _attempts(self.ctx)
        usd = priced(calls, times * tokens_in, tokens_out, self.ctx.dataset.prices).usd
        # The same factor as an answer's: what has no more than twice the room can be embedded.
        return usd + self._embedding(CONTENT_ATTEMPTS * request.max_tokens)

    def embedding(self, text: str) -> float:
        """Dollars of embedding a text."""
        return self._embedding(self.ctx.tokenizer.count(text)) if self.needed else 0.0

    def _embedding(self, tokens: int) -> float:
        return tokens * self.ctx.dataset.prices.usd_per_mtok_embedding / 1_000_000 if self.ctx.embedder.paid else 0.0


def _attempts(ctx: BuildContext) -> int:
    """How often one call is made at most: every attempt may be charged, though it brings no answer."""
    settings = ctx.dataset.summarizer
    return settings.max_attempts if isinstance(settings, OpenAISummarizer) else 1
