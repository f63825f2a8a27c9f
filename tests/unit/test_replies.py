from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.nodes import NodeKind
from overstory.prompts import DEFAULT_TEMPLATE, PromptTemplate
from overstory.replies import Question, Reply, judge

MATERIAL = (
    "Pro costs $49 per seat from 2025-07-01. The notice period for cancellations is now 72 hours, down from 30 days. "
    "The board decided in Q3 2025 to end the Starter plan."
)
SUMMARY = "Pro costs $49 per seat from 2025-07-01; the Starter plan ends (decided in Q3 2025)."
QUESTION = Question(MATERIAL, PromptTemplate().phrases)


def failure(text: str, question: Question = QUESTION) -> str:
    return judge(Reply(text), question).failure


def text(reply: str, question: Question = QUESTION) -> str:
    verdict = judge(Reply(reply), question)
    assert verdict.failure == ""
    return verdict.text


def test_good_reply_is_kept_as_it_is() -> None:
    assert text(SUMMARY) == SUMMARY


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't help with that request.",
        "I’m sorry, but I can’t assist with that.",
        "Sorry, I cannot summarize this content.",
        "I cannot provide a summary of this material.",
        "I am unable to summarize this.",
        "As an AI language model, I do not have access to the document.",
        "As a large language model, I can't do this.",
        "Unfortunately, I am not able to do that.",
        "I apologize, but I cannot fulfill this request.",
        "I must decline.",
        "Es tut mir leid, aber dabei kann ich nicht helfen.",
        "Ich kann diese Anfrage leider nicht erfüllen.",
        "Je suis désolé, mais je ne peux pas vous aider.",
        "Lo siento, pero no puedo ayudar con eso.",
        "Mi dispiace, ma non posso aiutarti.",
        "Desculpe, mas não posso ajudar com isso.",
        "Het spijt me, maar dat kan ik niet doen.",
        "Przykro mi, ale nie mogę pomóc.",
        "Извините, но я не могу помочь с этим запросом.",
        "抱歉，我无法协助满足该请求。",
        "申し訳ありませんが、お手伝いできません。",
        "죄송하지만 도와드릴 수 없습니다.",
        "عذرا، لا أستطيع المساعدة.",
        "Üzgünüm, bu konuda yardımcı olamam.",
    ],
)
def test_case_40_refusal_is_no_summary_in_any_language(reply: str) -> None:
    assert failure(reply) == "refusal"


def test_case_40_refusal_in_the_field_of_the_protocol_is_no_summary() -> None:
    assert judge(Reply("", refusal="No."), QUESTION).failure == "refusal"


@pytest.mark.parametrize(
    "reply",
    [
        "Unfortunately the outage lasted 72 hours.",
        "We apologize on page 3 for the 72-hour outage.",
        "Sorry-page redesign ships in Q3 2025.",
        "There are no refunds after 30 days.",
        "None of the plans changed in Q3 2025; Pro costs $49.",
        "No changes to Pro: $49 per seat.",
        "It seems likely that Starter ends in Q3 2025.",
        "Please provide 72 hours of notice before a cancellation.",
        "The text field limit is 49 characters.",
        "Error 404 handling changed on 2025-07-01.",
        "Überblick: Pro kostet 49 $.",
        "Here the Starter plan ends.",
        "Sure Shot 3.1 was released on 2025-07-01.",
    ],
)
def test_honest_sentence_that_looks_like_a_failure_is_kept(reply: str) -> None:
    assert failure(reply) == ""


def test_refusal_that_the_source_quotes_is_a_summary() -> None:
    quote = "I'm sorry, but I can't help with that is what the bot says since 2025-07-01."

    assert text(quote, Question(f"Chat policy: {quote} End.", QUESTION.phrases)) == quote


@pytest.mark.parametrize("reply", ["", " \n\t ", "\u200b", "\x00\x00", "...", "---", "**"])
def test_case_40_empty_reply_is_no_summary(reply: str) -> None:
    assert failure(reply) == "empty"


@pytest.mark.parametrize(
    "reply",
    [
        *("NOT_FOUND", "Not found.", "[NOT_FOUND]", "N/A", "None", "null", "`null`", "No information provided."),
        *(
            "No summary available.",
            "There is no material provided to summarize.",
            "Please provide the text to summarize.",
        ),
        *("It seems that the material is missing.", "You haven't provided any text.", "The material is empty.", "无"),
        *("I don't see any text to summarize.", "No text was provided."),
    ],
)
def test_case_40_remark_that_there_is_nothing_is_no_summary(reply: str) -> None:
    assert failure(reply) == "nothing"


def test_case_40_echoed_prompt_is_no_summary() -> None:
    assert failure(PromptTemplate().render(NodeKind.DOCUMENT_SUMMARY, [MATERIAL], 220)) == "echo"


def test_case_40_echoed_template_is_no_summary() -> None:
    assert failure(DEFAULT_TEMPLATE) == "echo"


@pytest.mark.parametrize("phrase", PromptTemplate().phrases)
def test_case_40_repeated_instruction_is_no_summary(phrase: str) -> None:
    assert failure(f"{SUMMARY}\n{phrase.upper()}") == "echo"


def test_instruction_that_the_source_holds_is_no_echo() -> None:
    guide = Question(f"How we prompt: {DEFAULT_TEMPLATE}", QUESTION.phrases)

    assert failure("Use the source's words, not synonyms.", guide) == ""


def test_sentence_that_comes_again_and_again_is_no_summary() -> None:
    assert failure("Plans change often here. We stop sending them immediately. " * 4) == "repetition"
    assert failure("\n".join(f"{i}\nNo notice is due to anybody." for i in range(4))) == "repetition"


def test_repetition_that_the_source_holds_is_kept() -> None:
    lines = "Severity one: no notice is due.\nNo credits are paid for this.\n" * 4

    assert failure(lines, Question(lines, ())) == ""


def test_sentence_that_comes_three_times_is_kept() -> None:
    assert failure("Pro costs $49 per seat. " * 3) == ""


def test_custom_template_is_recognized_in_an_echo() -> None:
    phrases = PromptTemplate("Fasse den folgenden Text in zwei Sätzen zusammen: {material}").phrases

    assert failure("Fasse den folgenden Text in zwei Sätzen zusammen: Pro", Question(MATERIAL, phrases)) == "echo"


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
def test_case_43_reply_cut_at_the_limit_is_no_summary(reason: str) -> None:
    assert judge(Reply(SUMMARY, finish_reason=reason), QUESTION).failure == "truncated"


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY"])
def test_reply_taken_away_by_a_filter_is_no_summary(reason: str) -> None:
    assert judge(Reply(SUMMARY, finish_reason=reason), QUESTION).failure == "content filter"


@pytest.mark.parametrize(
    "reply",
    [
        *(
            f"<think>\nHm. Dates?\n</think>\n\n{SUMMARY}",
            f"Hm. Dates?</think>{SUMMARY}",
            f"[THINK]Hm.[/THINK] {SUMMARY}",
        ),
        *(f"<think></think>\n{SUMMARY}", f"<thinking>a</thinking><think>b</think>{SUMMARY}"),
    ],
)
def test_thoughts_before_the_summary_are_removed(reply: str) -> None:
    assert text(reply) == SUMMARY


@pytest.mark.parametrize("reply", ["<think>Hm.</think>", "<think>Hm. It never ends", "<think>\n\n</think>\n"])
def test_thoughts_alone_are_no_summary(reply: str) -> None:
    assert failure(reply) == "only reasoning"


def test_think_tags_that_the_source_holds_are_kept() -> None:
    source = Question("The model closes its thoughts with </think> since v2.1.", ())

    assert (
        text("It closes thoughts with </think> since v2.1.", source) == "It closes thoughts with </think> since v2.1."
    )


@pytest.mark.parametrize(
    "preamble",
    [
        *(
            "Here is a summary:\n\n",
            "Here's the summary of the material for a search index:\n",
            "Sure!\n\n",
            "Summary: ",
        ),
        *("Sure! Here is a concise summary of the document:\n\n", "**Summary:**\n", "# Summary\n\n", "**Summary**\n\n"),
        *("Certainly. Below is a summary of the text:\n", "The summary: ", "Hier ist die Zusammenfassung:\n"),
        *(
            "Voici un résumé du document :\n\n",
            "Aquí está el resumen:\n",
            "Aquí tienes un resumen:\n",
            "Zusammenfassung: ",
        ),
        *("Ecco il riassunto:\n", "Aqui está o resumo:\n", "以下是该文档的摘要：\n", "摘要：", "요약: ", "Of course! "),
    ],
)
def test_preamble_is_removed(preamble: str) -> None:
    assert text(preamble + SUMMARY) == SUMMARY


@pytest.mark.parametrize("preamble", ["Here is a summary:", "Sure!", "Summary:\n\n", "```\n```"])
def test_preamble_alone_is_no_summary(preamble: str) -> None:
    assert failure(preamble) == "empty"


@pytest.mark.parametrize(
    "reply",
    [
        *(f"```\n{SUMMARY}\n```", f"```markdown\n{SUMMARY}\n```", f"<summary>\n{SUMMARY}\n</summary>"),
        f"<article>\n{SUMMARY}\n</article>",
        *(f"<material>\n{SUMMARY}\n</material>", f"{SUMMARY}<|im_end|>", f"{SUMMARY}</s>"),
        *(f"{SUMMARY}\n\nLet me know if you need anything else!", f"Here is the summary:\n```\n{SUMMARY}\n```"),
    ],
)
def test_wrapping_is_removed(reply: str) -> None:
    assert text(reply) == SUMMARY


@given(st.text(), st.sampled_from(["stop", "length"]))
def test_verdict_is_a_text_or_a_failure_and_stays_so(reply: str, finish_reason: str) -> None:
    verdict = judge(Reply(reply, finish_reason), QUESTION)

    assert bool(verdict.text) != bool(verdict.failure)
    if verdict.text:
        assert judge(Reply(verdict.text), QUESTION) == verdict


@pytest.mark.timeout(20)
@pytest.mark.parametrize("filler", ["\n", " ", " \n", "#", "*", "<think>", "<|x|> ", "here is ", "```", "a"])
def test_long_run_of_anything_is_judged_in_linear_time(filler: str) -> None:
    judge(Reply(f"Pro{filler * 100_000}Starter"), QUESTION)


def test_fence_inside_a_summary_is_kept() -> None:
    reply = f"{SUMMARY}\n```\noverstory build\n```"

    assert text(reply) == reply


def test_case_49_control_characters_are_cleaned() -> None:
    assert text(f"\x00{SUMMARY}\x07\r\nNext.\ud800") == f"{SUMMARY}\nNext.\ufffd"


def test_bidi_marks_of_a_summary_are_kept() -> None:
    assert text("السعر \u200f49$\u200e منذ 2025-07-01") == "السعر \u200f49$\u200e منذ 2025-07-01"


PAGE = "The team reviewed the invoices of the quarter and decided to change the process of approval. " * 12


@pytest.mark.parametrize("reply", ["ok", "1", "hi", "Done", "Invoices.", "摘要", "**Summary of text**"])
def test_one_word_is_no_summary_of_a_page(reply: str) -> None:
    assert failure(reply, Question(PAGE, ())) == "too short"


@pytest.mark.parametrize(
    ("material", "reply"),
    [
        ("ok", "ok"),
        ("Pro costs $49 now.", "$49"),
        (MATERIAL, "Pro: $49 from 2025-07-01."),
        ("発票を承認する。" * 15, "発票の承認について。"),
    ],
)
def test_short_summary_of_a_short_text_is_kept(material: str, reply: str) -> None:
    assert text(reply, Question(material, ())) == reply


@pytest.mark.parametrize("reason", ["error", "abort", "tool_calls", "insufficient_system_resource"])
def test_reply_that_ended_for_another_reason_than_its_end_is_no_summary(reason: str) -> None:
    assert judge(Reply(SUMMARY, finish_reason=reason), QUESTION).failure == "broken off"


@pytest.mark.parametrize("reason", ["stop", "STOP", "end_turn", "stop_sequence", "eos_token", "COMPLETE"])
def test_reply_that_ended_by_itself_in_the_words_of_any_vendor_is_kept(reason: str) -> None:
    assert judge(Reply(SUMMARY, finish_reason=reason), QUESTION).failure == ""
