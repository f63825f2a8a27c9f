"""What counts as a fact, and the value it is compared by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.facts import GATED_KINDS, FactKind, extract

LABELED = Path(__file__).parents[3] / "shared" / "data" / "facts" / "passages.jsonl"
LABELED_KINDS = {"fiscal_year": "quarter"} | {kind.value: kind.value for kind in GATED_KINDS}


def gated(text: str) -> list[tuple[str, str]]:
    return [(fact.kind.value, fact.value) for fact in extract(text) if fact.kind in GATED_KINDS]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("14 March 2025", "2025-03-14"),
        ("March 14th, 2025", "2025-03-14"),
        ("the 14th day of March, 2025", "2025-03-14"),
        ("on 2025-03-14", "2025-03-14"),
        ("on 14/03/2025", "2025-03-14"),
        ("on 14.03.2025", "2025-03-14"),
        ("on 03/02/2025", "ambiguous:2025-02-03|2025-03-02"),
        ("31-Dec-2002", "2002-12-31"),
        ("in September 2022", "2022-09"),
        ("since 2019,", "2019"),
        ("mid-2025", "2025"),
        ("in the 1980s", "1980s"),
        ("by June 30", "--06-30"),
        ("2019-2023", "2019..2023"),
        ("March 3-5, 2025", "2025-03-03..2025-03-05"),
        ("December 1, 2020 12:00 UTC", "2020-12-01T12:00Z"),
        ("7月1日", "--07-01"),
        ("on 2025/3/14", "2025-03-14"),
        ("13 March 2025 at 2:30 p.m.", "2025-03-13T14:30"),
        ("2025年7月1日", "2025-07-01"),
        ("２０２５年７月", "2025-07"),
    ],
)
def test_dates_have_iso_values(text: str, value: str) -> None:
    assert gated(text) == [("date", value)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Q3 2025", "2025-Q3"),
        ("2025-Q3", "2025-Q3"),
        ("3Q25", "2025-Q3"),
        ("the third quarter of 2025", "2025-Q3"),
        ("FY25 Q1", "FY2025-Q1"),
        ("in Q3", "Q3"),
        ("H1 2025", "2025-H1"),
        ("FY2026", "FY2026"),
        ("fiscal year 1930", "FY1930"),
        ("第三季度", "Q3"),
        ("2025年第3四半期", "2025-Q3"),
    ],
)
def test_labels_of_periods_have_one_value_however_they_are_spelled(text: str, value: str) -> None:
    assert gated(text) == [("quarter", value)]


def test_fiscal_year_told_by_its_last_day_is_a_date_too() -> None:
    assert gated("the fiscal year ending June 30, 1956.") == [("quarter", "FY1956"), ("date", "1956-06-30")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$49/seat", "USD 49"),
        ("US $100", "USD 100"),
        ("$5,000 USD", "USD 5000"),
        ("one hundred U.S. dollars", "USD 100"),
        ("€3.4 million", "EUR 3400000"),
        ("$1.2M", "USD 1200000"),
        ("$4 billion 100 million", "USD 4100000000"),
        ("£52.50", "GBP 52.5"),
        ("100 EUR", "EUR 100"),
        ("$5-$10", "USD 5..10"),
        ("~$14", "~USD 14"),
        ("up to $150,000", "<=USD 150000"),
        ("４９ドル", "USD 49"),
        ("月額4,900円", "JPY 4900"),
        ("٤٩ دولار", "USD 49"),
    ],
)
def test_money_has_a_code_and_an_exact_amount(text: str, value: str) -> None:
    assert gated(text) == [("money", value)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("49 %", "49%"),
        ("448 per cent", "448%"),
        ("at least 15 percent", ">=15%"),
        ("5%-10%", "5..10%"),
        ("10 percentage points", "10pp"),
        ("５０％", "50%"),
        ("٤٩٪", "49%"),
    ],
)
def test_percentages(text: str, value: str) -> None:
    assert gated(text) == [("percent", value)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a 30-day trial", "30 day"),
        ("thirty (30) days", "30 day"),
        ("2 business days", "2 business day"),
        ("2–3 weeks", "2..3 week"),
        ("between 5 and 10 days", "5..10 day"),
        ("five or more days", ">=5 day"),
        ("30+ days", ">=30 day"),
        ("no later than 30 days", "<=30 day"),
        ("older than one month", ">1 month"),
        ("under 200 ms", "<200 ms"),
        ("250 GB", "250 GB"),
        ("100 requests per minute", "100 request/minute"),
        ("24.9 million people", "24900000 person"),
        ("7 contributors", "7 contributor"),
        ("six technical centers", "6 center"),
        ("1 000 users", "1000 user"),
        ("1,000 users", "1000 user"),
        ("a threshold of 0.70", "0.7"),
        ("30 days or less", "<=30 day"),
        ("two hundred thousand users", "200000 user"),
        ("saw 7 bodies", "7 body"),
        ("in 4 boxes", "4 box"),
        ("some 5 million", "5000000"),
        ("64K", "64 K"),
        ("3x faster", "3 x"),
        ("18か月間", "18 month"),
        ("๓๐ วัน", "30 day"),
        ("الحد ٤٩", "49"),
    ],
)
def test_quantities_have_a_unit_and_their_limit(text: str, value: str) -> None:
    assert gated(text) == [("quantity", value)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("version 4.1", "4.1"),
        ("v2.3.1-rc1", "2.3.1-rc1"),
        ("3.12.0 final", "3.12.0"),
        ("Python 3.6", "3.6"),
        ("Specification v1.0: an overview", "1.0"),
        ("see `v1.2`", "1.2"),
        ("Node.js 18.2", "18.2"),
    ],
)
def test_versions(text: str, value: str) -> None:
    assert gated(text) == [("version", value)]


@pytest.mark.parametrize("entry", ["* 1.3.9 Fixes", "1.3.9 (May 22nd, 2003)", "- 1.3.9 Fixes"])
def test_version_that_opens_a_changelog_entry_numbers_no_heading(entry: str) -> None:
    assert gated(entry)[0] == ("version", "1.3.9")


def test_versions_listed_behind_one_are_versions() -> None:
    assert gated("Python 2.7, 3.5 and 3.6") == [("version", "2.7"), ("version", "3.5"), ("version", "3.6")]


def test_second_amount_shares_the_unit_of_the_first() -> None:
    assert gated("kept for 18 months instead of 13") == [("quantity", "18 month"), ("quantity", "13 month")]


def test_change_from_one_amount_to_another_is_two_facts() -> None:
    assert gated("raised from 30 to 60 days") == [("quantity", "30 day"), ("quantity", "60 day")]


@pytest.mark.parametrize(
    "text",
    [
        "step 3 uses the cache",
        "Python 3 supports lists",
        "see section 4.2",
        "## 2.2 Token Patterns",
        "#### 2.3.3. Advertising.",
        "1. Arguments for it",
        "RFC 2119",
        "GS-15",
        "http://example.org/2022/10/08/v160",
        "127.0.0.1",
        "at 10:30 today",
        "Item A 3.5",
        "31/31/2025",
        "2025-13-01",
        "2023-2019",
        "H3 2025",
        "limit=10",
        "v5: TypeForm",
        "two options",
        "may",
        "manylinux_2_17_x86_64",
    ],
)
def test_labels_addresses_and_identifiers_state_no_fact(text: str) -> None:
    assert gated(text) == []


def test_emphasis_does_not_part_a_number_from_its_unit() -> None:
    assert gated("within **30** days") == [("quantity", "<=30 day")]


def test_line_end_does_not_part_a_number_from_its_unit() -> None:
    assert gated("within 30\n  days") == [("quantity", "<=30 day")]


def test_names_are_reported_without_the_word_that_opens_a_sentence() -> None:
    names = [
        fact.value for fact in extract("The Atlas Gateway by GitHub uses TLS. See Above.") if fact.kind is FactKind.NAME
    ]
    assert names == ["Atlas Gateway", "GitHub", "TLS"]


def test_names_are_left_out_when_not_asked_for() -> None:
    assert extract("Atlas Gateway costs $5", names=False)[0].kind is FactKind.MONEY


def test_case_52_facts_in_other_scripts_are_found() -> None:
    text = "効力は2025年7月1日、料金は４９ドルです。 السعر ٤٩ دولار"
    assert gated(text) == [("date", "2025-07-01"), ("money", "USD 49"), ("money", "USD 49")]


@given(st.text(alphabet=st.sampled_from("0123456789.,-–$€% \nQJanMarchdyofv/年月日٤٩％()to"), max_size=200))
def test_surface_of_each_fact_is_its_place_in_the_text(text: str) -> None:
    facts = extract(text)
    assert all(text[fact.start : fact.end] == fact.surface and fact.surface for fact in facts)


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_facts_are_ordered(text: str) -> None:
    starts = [fact.start for fact in extract(text)]
    assert starts == sorted(starts)


@pytest.mark.skipif(not LABELED.exists(), reason="the labeled passages are not beside the repository (../shared)")
def test_labeled_passages_are_read_with_recall_and_precision_of_95_percent() -> None:
    found = wanted = extracted = 0
    for line in LABELED.read_text(encoding="utf-8").splitlines():
        passage = json.loads(line)
        labels = [fact for fact in passage["facts"] if fact["kind"] in LABELED_KINDS]
        rest = [fact for fact in extract(passage["text"], names=False)]
        wanted, extracted = wanted + len(labels), extracted + len(rest)
        for label in labels:
            kind, surface = LABELED_KINDS[label["kind"]], label["surface"]
            hit = next((f for f in rest if f.kind == kind and (f.surface in surface or surface in f.surface)), None)
            if hit is not None:
                rest.remove(hit)
                found += 1
    assert found / wanted >= 0.95
    assert found / extracted >= 0.95


ENDLESS = {
    "dollars": "$" + "1" * 5_000,
    "dollars in words": "$" + "1" * 5_000 + " million",
    "unit": "1" * 5_000 + " GB",
    "fraction": "1." + "1" * 5_000 + " GB",
    "percent": "1" * 5_000 + "%",
    "two parts": "$" + "1" * 5_000 + " thousand 5 million",
    "words": "one " + "hundred " * 5_000 + "dollars",
}


@pytest.mark.parametrize("how", ENDLESS)
def test_number_of_thousands_of_digits_is_read_like_any_other(how: str) -> None:
    assert len(extract(ENDLESS[how])) >= 1


def test_amount_in_two_parts_may_have_a_fraction() -> None:
    assert [fact.value for fact in extract("It cost $1.2345 thousand 2 million.")] == ["USD 2001234.5"]
