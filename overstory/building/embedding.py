"""Vectors of texts, and the ledger of what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overstory.building.budget import exhausted, within_budget
from overstory.building.context import BuildContext
from overstory.ports import Metered

if TYPE_CHECKING:
    from overstory.ports import Vectors


def embed(ctx: BuildContext, texts: Sequence[str]) -> Vectors:
    """The vectors of texts; calls to an endpoint go into the ledger, failed ones too.

    Raises:
        BudgetExhausted: The texts would pass the budget of the build.
    """
    if not within_budget(ctx, _price(ctx, texts)):
        raise exhausted(ctx)
    try:
        return ctx.embedder.embed(texts)
    finally:
        if isinstance(ctx.embedder, Metered) and (calls := ctx.embedder.take_calls()):
            ctx.record.ledger.add(ctx.name, ctx.run_id, calls)


def _price(ctx: BuildContext, texts: Sequence[str]) -> float:
    """Dollars of embedding texts; nothing where there is no budget, since counting tokens takes time."""
    if ctx.dataset.budget.usd is None or not ctx.embedder.paid:
        return 0.0
    return sum(map(ctx.tokenizer.count, texts)) * ctx.dataset.prices.usd_per_mtok_embedding / 1_000_000
