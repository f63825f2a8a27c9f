from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.ports import Tokenizer

TOKENIZER: Tokenizer = OpenAITokenizer()


def test_counts_are_those_of_o200k_base() -> None:
    assert [TOKENIZER.count(text) for text in ("", "hello world", "你好世界")] == [0, 2, 2]


def test_case_51_special_token_text_counts_as_plain_text() -> None:
    assert TOKENIZER.count("<|endoftext|>") == 7


@given(st.text(alphabet=st.characters(), max_size=50))
def test_any_text_has_at_most_four_tokens_a_character(text: str) -> None:
    assert 0 <= TOKENIZER.count(text) <= 4 * len(text)


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    assert TOKENIZER.count("a\ud800b") == TOKENIZER.count("a\ufffdb")


@pytest.mark.parametrize("unit", ["word ", "a line of a file\n", "\U0001d518"])
def test_a_text_beyond_the_limits_of_the_library_is_counted(unit: str) -> None:
    times = 1_100_000 // len(unit)
    one = TOKENIZER.count(unit * 1000)
    assert TOKENIZER.count(unit * times) == pytest.approx(one * times / 1000, rel=0.01)


def test_importing_the_adapter_loads_no_vocabulary() -> None:
    code = "import sys, overstory.adapters.tokenizers; sys.exit('bpe_openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
