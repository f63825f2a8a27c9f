from __future__ import annotations

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overstory.adapters.extractors import LibraryExtractor
from overstory.adapters.pages import flat, markdown
from overstory.errors import ExtractionError
from overstory.extraction import extract_document

MENU = '<nav><h2>Contents</h2><ul><li><a href="/x">Start 1</a><li><a href="/y">Prices 2025</a></ul></nav>'


def text(page: str) -> str:
    return extract_document("a.html", page.encode(), extractor=LibraryExtractor()).text


@pytest.mark.parametrize(
    "page",
    [
        "<body><form id=main><h1>Prices</h1><table><tr><td>Rate</td><td>$5</td></tr></table></form>",
        "<body><header><h1>Prices</h1><p>From 1 May 2025: $5</p></header><p>More</p>",
        "<body><article><header><h1>Prices</h1></header><p>$5</p></article>",
        "<body><h1>Prices</h1><footer>$5</footer><aside>note</aside>",
        "<body><h1>Prices</h1><nav><p>Rates start at $5</p></nav>",
        "<body><nav><h1>Prices</h1><p>$5 in a menu that nobody closed",
        "<body><nav>a<nav>b</nav><h1>Prices</h1>$5</nav>",
        "<title>Prices<body><p>$5 behind a title that nobody closed",
    ],
)
def test_text_of_a_page_is_kept_wherever_it_stands(page: str) -> None:
    found = text(page)
    assert "Prices" in found
    assert "$5" in found


def test_navigation_of_links_goes() -> None:
    assert text(f"<body><header>{MENU}<h1>Title</h1></header>{MENU}<p>It costs $5.</p>") == "# Title\n\nIt costs $5."


def test_page_of_nothing_but_links_is_its_links() -> None:
    assert "Prices 2025" in text(f"<body>{MENU}")


@pytest.mark.parametrize(
    "page", ["<script>var x</script>", "<title>T</title><style>p{}</style>", "<template>x</template>"]
)
def test_page_without_text_is_told(page: str) -> None:
    with pytest.raises(ExtractionError, match="holds no text"):
        text(page)


@pytest.mark.parametrize(
    "tag",
    [
        "<div>",
        "<ul><li>",
        "<font color=red>",
        "<b>",
        "<span>",
        "<center>",
        "<blockquote>",
        "<table><tr><td>",
        "<a href=x>",
    ],
)
@pytest.mark.parametrize("depth", [100, 1020, 1030, 5000])
def test_text_is_whole_however_deep_it_is(tag: str, depth: int) -> None:
    found = text("<body>" + "".join(f"{tag}w{n} " for n in range(depth)) + "costs $5")
    assert {f"w{n}" for n in range(depth)} <= set(re.findall(r"w\d+", found))
    assert "costs $5" in found


def test_deep_page_does_not_grow_beyond_measure() -> None:
    page = "<blockquote>" * 300 + "a<br>" * 1000
    assert len(markdown(page)) < 8 * len(page)


def test_blocks_of_a_deep_page_stay_apart() -> None:
    page = "<h2>Fees &amp; terms</h2><p>One <b>bold</b>\n word<ul><li>x<li>y</ul><table><tr><td>1<td>2</table>a<br>b"
    assert flat(page).split("\n") == (
        ["## Fees & terms", "", "One bold word", "", "- x", "- y", "", "| 1 | 2", "", "a", "b"]
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(["p", "b", "div", "li", "td"]), st.text("ab1$&<> \"'=", max_size=9)), max_size=20
    )
)
@example([("p", "<!="), ("p", "x")])
def test_no_text_is_lost_in_a_flat_page(parts: list[tuple[str, str]]) -> None:
    page = "".join(f"<{tag} title='>' x=\"</p>\">{html.escape(words)}" for tag, words in parts)
    kept = "".join(flat(page).replace("|", "").replace("-", "").split())
    assert kept == "".join("".join(words for _, words in parts).split())


@pytest.mark.parametrize(
    "part", ["<", "<a ", "<!--", "</", "<a b=", "<p x='", "<nav>", "</nav>", "<script>", "![", "![](data:", " <b>"]
)
def test_markup_that_nothing_closes_is_read_in_one_pass(part: str) -> None:
    # Twenty times the size for which a quadratic scan takes a second: the time limit of a test would end it.
    markdown("<div>" * 1100 + part * 200_000)
