"""Survival: which facts of its sources a summary keeps."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from overstory.facts import FactCheck, FactKind, check, extract


def checked(source: str, summary: str) -> FactCheck:
    return check(extract(source), extract(summary))


def unsupported(source: str, summary: str) -> list[str]:
    return [fact.surface for fact in checked(source, summary).unsupported]


def test_survival_is_the_share_of_distinct_facts_kept() -> None:
    result = checked("$49 and again $49, 30 days, 5%, v1.2", "It costs $49 for 30 days.")
    assert (result.facts, result.kept, result.survival) == (4, 2, 0.5)


def test_case_68_source_without_facts_is_not_applicable() -> None:
    assert checked("Nothing to count here.", "Nothing.").survival is None


def test_case_68_empty_summary_of_a_source_with_facts_keeps_none() -> None:
    assert checked("It costs $49.", "").survival == 0.0


def test_case_69_spellings_of_one_number_are_one_fact() -> None:
    assert checked("1,000 users; 1000 users; 1 000 users", "1000 users").survival == 1.0


def test_case_69_money_is_no_percentage() -> None:
    assert checked("$49", "49 %").kept == 0


def test_case_69_number_inside_another_is_no_hit() -> None:
    assert checked("3 days", "13 days").kept == 0


def test_case_69_quarter_in_words_is_the_quarter_in_digits() -> None:
    assert checked("Q3 2025", "third quarter of 2025").survival == 1.0


def test_case_69_invented_numbers_are_counted_apart() -> None:
    result = checked("It costs $49.", "It costs $49 for 30 days.")
    assert result.survival == 1.0
    assert [fact.value for fact in result.unsupported] == ["30 day"]


def test_range_is_not_its_ends() -> None:
    assert checked("2-3 weeks", "2 weeks or 3 weeks").kept == 0


def test_limit_that_the_summary_leaves_out_does_not_lose_the_fact() -> None:
    assert checked("within 30 days", "a 30-day term").survival == 1.0


def test_limit_turned_round_is_unsupported() -> None:
    assert unsupported("at most 30 days", "at least 30 days") == ["at least 30 days"]


def test_coarser_date_is_supported_but_keeps_nothing() -> None:
    result = checked("on 1 July 2025", "in July 2025")
    assert result.kept == 0
    assert result.unsupported == ()


def test_finer_date_is_invented() -> None:
    assert unsupported("in July 2025", "on 1 July 2025") == ["1 July 2025"]


def test_names_are_counted_by_kind_but_never_gated() -> None:
    result = checked("Atlas Gateway costs $49.", "It costs $49, says GitHub.")
    assert result.by_kind[FactKind.NAME].kept == 0
    assert result.survival == 1.0
    assert result.unsupported == ()


def test_lost_facts_are_named_in_the_order_of_the_source() -> None:
    assert [fact.surface for fact in checked("$49, 30 days, 5%", "30 days").lost] == ["$49", "5%"]


@given(st.lists(st.sampled_from(["$49", "30 days", "5%", "v1.2", "Q3 2025", "2025-07-01", "GitHub"])))
def test_check_survives_a_record(parts: list[str]) -> None:
    result = checked(", ".join(parts), ", ".join(parts[::2]) + " and 7 weeks")
    again = FactCheck.from_json(json.loads(json.dumps(result.to_json())))
    assert again.to_json() == result.to_json()
    assert again.survival == result.survival


@given(st.text(max_size=300))
def test_text_keeps_all_of_its_own_facts(text: str) -> None:
    result = checked(text, text)
    assert result.kept == result.facts
    assert result.unsupported == ()
