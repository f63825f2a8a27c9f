from __future__ import annotations

import unicodedata
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.errors import ExtractionError
from overstory.identity import content_hash
from overstory.normalization import decode, normalize

TEXT = "Café, naïve, 50 £, §4 of the terms apply in Zürich.\nThe façade opens at nine.\n"
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=80)
WITH_CONTROLS = st.text(alphabet="ab \r\n\t\x00\x0b\x0c\x1b\x7f\x85\x9f\ufeff\ud83d\ude00e\u0301\u2000", max_size=40)


@given(ANY_TEXT | WITH_CONTROLS)
def test_normalization_is_idempotent(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(ANY_TEXT | WITH_CONTROLS)
def test_a_normalized_text_can_be_stored_and_hashed(text: str) -> None:
    normalized = normalize(text)
    assert "\x00" not in normalized
    assert "\r" not in normalized
    assert normalized.encode("utf-8").decode("utf-8") == normalized


def test_case_49_nul_characters_go_before_the_hash_is_taken() -> None:
    assert normalize(decode(b"net\x0030 days")) == "net30 days"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "utf-32"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_case_54_one_text_in_any_encoding_has_one_hash(encoding: str, line_end: str) -> None:
    raw = TEXT.replace("\n", line_end).encode(encoding)
    assert content_hash(normalize(decode(raw))) == content_hash(normalize(TEXT))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Все люди рождаются свободными и равными в своем достоинстве и правах.", "cp1251"),
        ("Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.", "cp1250"),
        ("すべての人間は、生まれながらにして自由であり、", "cp932"),
        ("人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心", "gbk"),
        ("人人生而自由，在尊严和权利上一律平等。\n他们赋有理性和良心", "utf-16-le"),
        ("We don’t accept returns after 30 days – unless the item is broken.", "cp1252"),
    ],
)
def test_legacy_encodings_are_recognized(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


WESTERN = """
déjà vu|café|naïve|“Hello” — it’s fine|£5|The price is £5.|It costs €5.|Übergröße|Straße 12|façade résumé|El Niño
Ærø|25 °C|He said “yes” and left.|See § 4 and ¶ 2.|© 2024 Acme|Acme® and Beta™|crème brûlée|jalapeño|São Paulo
coração|garçon|Åse Ødegård|10 µm|½ cup|¿Qué?|¡Hola!|Noël|cœur|l’été|à la carte|20–30 days|±3 %|5 × 4|wait… what
Þórr|maçã|¥100|don’t|‘single’|città|è vero
"""
SHORT = WESTERN.replace("\n", "|").strip("|").split("|")
PLAIN = "the price of our product changed in July and customers who renew before then keep their plan"
ENGLISH = PLAIN.split()


@pytest.mark.parametrize("text", SHORT)
def test_short_text_is_western_european_where_nothing_says_otherwise(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


@given(st.lists(st.sampled_from(SHORT), min_size=1, max_size=5), st.lists(st.sampled_from(ENGLISH), max_size=30))
def test_english_text_with_some_accents_and_quotes_is_western_european(accented: list[str], plain: list[str]) -> None:
    text = " ".join([*plain[::2], *accented, *plain[1::2]])
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Привет, мир", "cp1251"),
        ("Москва и Санкт-Петербург", "koi8_r"),
        ("Καλημέρα, Αθήνα", "cp1253"),
        ("שלום עולם", "cp1255"),
        ("东京和北京都是首都", "gb18030"),
        ("안녕하세요", "cp949"),
        ("Gdzie jest łazienka? Będzie pięć złotych za sztukę. Dziękuję bardzo.", "cp1250"),
        ("Lietuva ir Šiauliai yra čia. Visi žmonės gimsta laisvi ir lygūs savo orumu.", "cp1257"),
    ],
)
def test_text_that_is_plainly_no_western_european_is_recognized(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), max_size=80))
def test_utf8_is_decoded_as_such_whatever_it_holds(text: str) -> None:
    assert decode(text.encode("utf-8")) == text


@given(st.sampled_from(["utf-16-le", "utf-16-be"]), st.text(st.sampled_from("abc XYZ é’“€ł")), st.sampled_from("abcé"))
def test_utf16_without_its_mark_is_told_by_its_zeros(encoding: str, text: str, letter: str) -> None:
    whole = text + letter * (len(text) + 1)
    assert decode(whole.encode(encoding)) == whole


def test_a_declared_encoding_is_believed() -> None:
    assert decode("Příliš žluťoučký".encode("iso8859-2"), declared="iso8859-2") == "Příliš žluťoučký"


@pytest.mark.parametrize("declared", ["no-such-encoding", "ascii"])
def test_a_wrong_declared_encoding_is_not_believed(declared: str) -> None:
    assert decode(TEXT.encode("latin-1"), declared=declared) == TEXT


def test_a_damaged_character_does_not_turn_the_rest_of_a_utf8_text_into_another_encoding() -> None:
    raw = ("Größe – " * 20).encode() + b"\xe2\x80" + b" end"
    assert decode(raw) == "Größe – " * 20 + "\ufffd end"


BINARIES = {
    "png": b"\x89PNG\r\n\x1a\n" + zlib.compress(bytes(range(256)) * 8),
    "zeros": bytes(1000),
    "controls": bytes(range(1, 9)) * 50,
    "executable": b"\x7fELF\x02\x01\x01" + bytes(40) + bytes(range(255, 0, -1)) * 5,
}


@pytest.mark.parametrize("kind", BINARIES)
def test_case_54_binary_garbage_is_refused_by_name(kind: str) -> None:
    with pytest.raises(ExtractionError, match=r"^notes\.txt is not text"):
        decode(BINARIES[kind], name="notes.txt")


@pytest.mark.parametrize("raw", [b"", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_nothing_but_a_byte_order_mark_is_an_empty_text(raw: bytes) -> None:
    assert normalize(decode(raw)) == ""


@pytest.mark.parametrize("ending", ["", "\n", "\n\n", "\r\n", " \n\t\n", "\x00\n"])
def test_case_55_line_ends_and_final_newlines_are_no_change(ending: str) -> None:
    assert content_hash(normalize("one\r\ntwo" + ending)) == content_hash("one\ntwo")


def test_white_space_inside_and_at_the_beginning_is_kept() -> None:
    assert normalize("\n  def f():\n\n\treturn  1") == "\n  def f():\n\n\treturn  1"


def test_halves_of_a_surrogate_pair_are_joined_and_lone_ones_replaced() -> None:
    assert normalize("\ud83d\ude00 \ud83d") == "😀 \ufffd"


def test_decomposed_and_composed_accents_are_one_text() -> None:
    assert normalize(unicodedata.normalize("NFD", "Café Zürich")) == "Café Zürich"


def test_a_page_break_is_a_line_end() -> None:
    assert normalize("page one\x0cpage two") == "page one\npage two"


def test_long_runs_of_white_space_become_short_ones() -> None:
    assert normalize("a\n \n\n\t\n\n\nb") == "a\n\n\nb"
    assert normalize("a\n\n\nb") == "a\n\n\nb"
    assert normalize("a" + " " * 5000 + "b") == "a" + " " * 256 + "b"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"before \xed\xa0\x80 the price is $5", "before \ufffd the price is $5"),
        (b"a smile \xed\xa0\xbd\xed\xb8\x80 for $5", "a smile \U0001f600 for $5"),
        (b"The price is $5, or 4 \xe2\x82", "The price is $5, or 4 \ufffd"),
        (
            "The price is 5 €.\n".encode() + "Zürich pays 49 €.\n".encode("cp1252"),
            "The price is 5 €.\nZürich pays 49 €.",
        ),
        ("The fiancé".encode("latin-1"), "The fiancé"),
    ],
)
def test_what_is_wrong_with_a_utf8_text_spoils_nothing_else(raw: bytes, text: str) -> None:
    assert normalize(decode(raw)) == text
