"""The budget of a build, for summaries and embeddings alike."""

from __future__ import annotations

from overstory.building.context import BuildContext
from overstory.errors import BudgetExhausted


def within_budget(ctx: BuildContext, promised_usd: float) -> bool:
    """Whether the budget covers what this run has spent and ``promised_usd``; what is free is always covered."""
    limit = ctx.dataset.budget.usd
    if limit is None or not promised_usd:
        return True
    return ctx.record.ledger.spent(ctx.name, ctx.run_id).usd + promised_usd <= limit


def exhausted(ctx: BuildContext) -> BudgetExhausted:
    """The error that ends a build whose next call may pass the budget."""
    return BudgetExhausted(
        f"The budget of {ctx.dataset.budget.usd} USD may be passed by the next call",
        hint="Raise budget.usd and build again: what was made is kept",
    )
