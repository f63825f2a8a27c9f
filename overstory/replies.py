"""Whether a model's reply is a summary: cleaning, and the reasons why it is none."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from overstory.normalization import normalize
from overstory.prompts import squeeze

_SAME_SENTENCES = 4
_SENTENCE_WORDS = 4
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|\n|[。！？]")
_OPENING_CHARS = 240
"""Refusals and remarks about missing material stand at the beginning."""

_CUT = {"length", "max_tokens", "model_length", "max_output_tokens"}
_FILTERED = {"content_filter", "safety", "prohibited_content", "recitation", "blocklist"}
"""Reasons for an end in the words of OpenAI and of those who pass on their own (Anthropic, Mistral, Gemini)."""


_WHOLE = {
    "stop",
    "end_turn",
    "stop_sequence",
    "eos",
    "eos_token",
    "complete",
    "completed",
    "finish",
    "finished",
    "done",
}
"""Likewise of an answer that is all there. Any other reason (error, abort, tool_calls) leaves half an answer."""

_TINY_CHARS = 160
_LEAST_SHARE = 1 / 20
_LEAST_CHARS = 40
"""A summary says at least so much of a text of more than ``_TINY_CHARS``: this share, or this much of a long one.
Letters and digits are counted, since words are not told apart in every script. No extractive summary of the sample
corpus, nor of 57 policies, is shorter."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    text: str
    finish_reason: str = "stop"
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A summary, or why the reply is none."""

    text: str
    failure: str = ""
    """``refusal``, ``empty``, ``nothing``, ``echo``, ``repetition``, ``truncated``, ``broken off``, ``too short``,
    ``too long``, ``content filter`` or ``only reasoning``.
    """


@dataclass(frozen=True, slots=True)
class Question:
    """What a reply is judged against."""

    material: str
    phrases: tuple[str, ...]
    """Sentences of the instructions (``PromptTemplate.phrases``)."""


def judge(reply: Reply, question: Question) -> Verdict:
    """The summary in ``reply``, cleaned, or the reason why there is none.

    A phrase that the material itself contains never counts against a reply: a summary of a text about
    refusals may quote one.
    """
    ending = reply.finish_reason.lower()
    if reply.refusal.strip() or ending == "refusal":
        return Verdict("", "refusal")
    if ending in _FILTERED:
        return Verdict("", "content filter")
    cleaned = normalize(reply.text).strip()
    thoughtless = _without_reasoning(cleaned, question.material)
    if ending in _CUT:
        return Verdict("", "truncated")
    if ending not in _WHOLE:
        return Verdict("", "broken off")
    if cleaned and not thoughtless:
        return Verdict("", "only reasoning")
    text = _without_wrapping(thoughtless, question.material)
    failure = _failure(text, question)
    return Verdict("" if failure else text, failure)


def _failure(text: str, question: Question) -> str:
    if not re.search(r"\w", text):
        return "empty"
    opening = _plain(text[:_OPENING_CHARS])
    source = _Source(question.material)
    if source.is_foreign(_REFUSAL.match(opening)):
        return "refusal"
    if source.is_foreign(_NOTHING.fullmatch(opening)) or source.is_foreign(_NO_MATERIAL.match(opening)):
        return "nothing"
    if _echoes(text, question):
        return "echo"
    if _repeats_itself(text, question.material):
        return "repetition"
    return "too short" if is_too_short(text, question.material) else ""


def is_too_short(text: str, material: str) -> bool:
    """Whether ``text`` says next to nothing of ``material``: one word for a page. A tiny text may have any summary."""
    if (size := _said(material)) <= _TINY_CHARS:
        return False
    return _said(text) < min(_LEAST_CHARS, size * _LEAST_SHARE)


def _said(text: str) -> int:
    """Letters and digits."""
    return sum(map(str.isalnum, text))


def _repeats_itself(text: str, material: str) -> bool:
    """Whether a sentence comes again and again, as small models do when they have lost the thread."""
    sentences = Counter(squeeze(sentence) for sentence in _SENTENCE_END.split(text))
    often = [s for s, n in sentences.items() if n >= _SAME_SENTENCES and len(s.split()) >= _SENTENCE_WORDS]
    return bool(often) and any(squeeze(material).count(sentence) < sentences[sentence] for sentence in often)


def _echoes(text: str, question: Question) -> bool:
    squeezed = squeeze(text)
    repeated = [phrase for phrase in question.phrases if phrase in squeezed]
    if repeated:
        source = squeeze(question.material)
        if any(phrase not in source for phrase in repeated):
            return True
    tag = _TAGS.search(text)
    return tag is not None and tag.group() not in question.material


class _Source:
    def __init__(self, material: str) -> None:
        self._material = material
        self._plain: str | None = None

    def is_foreign(self, match: re.Match[str] | None) -> bool:
        """Whether there is a match that the material does not hold word for word."""
        if match is None:
            return False
        if self._plain is None:
            self._plain = _plain(self._material)
        return match.group().strip(" .!") not in self._plain


def _plain(text: str) -> str:
    return squeeze(text.replace("’", "'").replace("*", "").replace("_", " "))


_REASONING = r"(think|thinking|thought|reasoning)"
_THOUGHT = re.compile(rf"\A\s*(?:<{_REASONING}>.*?(?:</\1>|\Z)|\[THINK\].*?(?:\[/THINK\]|\Z))", re.S | re.I)
_THOUGHT_END = re.compile(rf"</{_REASONING}>|\[/THINK\]", re.I)


def _without_reasoning(text: str, material: str) -> str:
    """``text`` less what a model thought aloud before it; empty if that is all there is."""
    while (thought := _THOUGHT.match(text)) and thought.group().strip() not in material:
        text = text[thought.end() :].strip()
    ends = [end for end in _THOUGHT_END.finditer(text) if end.group() not in material]
    return text[ends[-1].end() :].strip() if ends else text  # servers that drop the opening tag


_FENCE = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.S)
_WRAPPER = re.compile(
    r"\A<(summary|output|answer|response|article|document|material\d*)>\s*(.*?)\s*</\1>\Z", re.S | re.I
)
_SPECIAL = re.compile(r"(?:<\|[a-z_]{1,24}\|>|</s>|<end_of_turn>)\Z")
_WORDS = r"summary|overview|résumé|zusammenfassung|resumen|riassunto|resumo|samenvatting|streszczenie"
_PREAMBLE = re.compile(
    r"\A(?:"
    r"(?:sure|certainly|of course|absolutely|okay|ok|gerne|klar|natürlich|bien sûr|claro|por supuesto|certo)"
    r"[!,.:]+\s*"
    rf"|(?:here(?:'s|’s| is| are)|below is|the following is|this is|hier ist|voici|aquí (?:está|tienes)|"
    rf"ecco|aqui está|oto|hier is)\b[^\n:.]{{0,80}}?\b(?:{_WORDS})\b[^\n:]{{0,120}}:\s*"
    rf"|[*#\s]*(?:(?:the|die|le|el|il|o)\s)?(?:search[- ]index\s)?(?:{_WORDS})[*\s]*:[*\s]*"
    rf"|#+\s*(?:{_WORDS})[*\s]*\n+|\*\*(?:{_WORDS})\*\*\s*\n+"
    r"|以下是[^\n：:]{0,40}(?:摘要|总结|概要)[^\n：:]{0,20}[：:]\s*|(?:摘要|总结|概要|要約|요약)[：:]\s*"
    r"|вот [^\n:]{0,60}(?:резюме|изложение|сводка)[^\n:]{0,40}:\s*|(?:резюме|краткое изложение):\s*"
    r")",
    re.I,
)
_CLOSING = re.compile(
    r"(?<!\s)[^\S\n]*+\n\s*+(?:let me know if|i hope this|feel free to|is there anything else|if you need|"
    r"please let me know)[^\n]{0,160}\Z",
    re.I,
)
_TAGS = re.compile(r"</?material\d*>")


def _without_wrapping(text: str, material: str) -> str:
    """``text`` less code fences, tags, preamble and closing remarks that the material does not hold."""
    for _ in range(4):
        before = text
        special = _SPECIAL.search(text, max(0, len(text) - 32))
        if special and special.group() not in material:
            text = text[: special.start()].strip()
        for pattern in (_FENCE, _WRAPPER):
            if (whole := pattern.match(text)) and text not in material:
                text = whole.group(whole.lastindex or 1).strip()
        preamble = _PREAMBLE.match(text)
        if preamble and not material.lstrip().startswith(preamble.group().strip()):
            text = text[preamble.end() :].strip()
        text = _CLOSING.sub("", text)
        if text == before:
            break
    return text


_REFUSAL = re.compile(
    r"(?:(?:i'm|i am) (?:very |so |truly )?sorry\b"
    r"|(?:we're sorry|we are sorry|sorry|apologies|my apologies|unfortunately)\b[^.!?\n]{0,60}\b(?:i|we)\b"
    r"[^.!?\n]{0,30}\b(?:can't|cannot|can not|unable|not able|won't|couldn't|don't)\b"
    r"|i apologi[sz]e\b[^.!?\n]{0,40}\b(?:but|cannot|can't|unable)\b"
    r"|(?:as an? )(?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|i(?:'m| am)? (?:cannot|can't|can not|won't|will not|must decline|unable|not able|not comfortable)\b"
    r"|i(?:'m| am) (?:an ai|a language model|programmed)\b"
    r"|(?:es tut mir leid|tut mir leid|entschuldigung)\b|(?:leider )?(?:kann|darf) ich (?:nicht|das nicht|"
    r"ihnen|dir|bei|diese|dieser|keine)\b|ich (?:kann|darf) (?:das |dies |diese anfrage |dabei |ihnen )?"
    r"(?:leider )?nicht\b|als (?:ki|sprachmodell)\b"
    r"|(?:je suis|nous sommes) (?:vraiment )?désolée?s?\b|désolée?\b|je ne (?:peux|puis) pas\b"
    r"|en tant qu(?:e |')(?:ia|intelligence|modèle)\b"
    r"|lo siento\b|no puedo (?:ayudar|cumplir|proporcionar|hacer|resumir)\b|como (?:una )?(?:ia|modelo de)\b"
    r"|mi dispiace\b|non posso (?:aiutar|fornire|riassumere|soddisfare)|sinto muito\b|desculpe\b"
    r"|não posso (?:ajudar|fornecer|resumir|atender)\b|het spijt me\b|ik kan (?:niet|dat niet|je niet)\b"
    r"|przykro mi\b|przepraszam\b|nie mogę (?:pomóc|spełnić)\b"
    r"|извините\b|к сожалению, я не\b|я не могу (?:помочь|выполнить)\b|мне жаль\b"
    r"|üzgünüm\b|maalesef (?:bu|size)\b"
    r"|(?:很)?抱歉|对不起|對不起|我(?:无法|無法|不能)(?:协助|提供|帮助|完成|回答|協助)|作为(?:一个)?(?:ai|人工智能|语言模型)"
    r"|申し訳(?:ございません|ありません)|(?:すみません|ごめんなさい)|죄송합니다|죄송하지만|عذرا|آسف|لا أستطيع"
    r"|אני מצטער|"
    r"क्षमा करें|मुझे खेद है)"
)
_NOTHING = re.compile(
    r"[\[({\"'`]*(?:not found|notfound|n/?a|none|null|nil|nan|undefined|unknown|empty|error|todo|tbd|summary|"
    r"no (?:relevant |new |available |meaningful )?(?:information|content|summary|data|answer|material|text|"
    r"facts?|changes?)(?: (?:was |is |were |are |has been )?(?:found|provided|available|given|present|needed))?|"
    r"nothing(?: to (?:summari[sz]e|report))?|(?:no|kein|keine|aucun) (?:inhalt|angaben|contenu)|"
    r"nicht gefunden|non trouvé|no encontrado|无|没有(?:内容|信息)|なし|없음)[\])}\"'`]*[.!…]*"
)
_STUFF = r"(?:material|text|document|passage|section|content|article|input|information)s?"
_NO_MATERIAL = re.compile(
    rf"(?:it (?:seems|appears|looks like)\b[^.!?\n]{{0,40}}\b(?:no|not|missing|empty|provide)\b[^.!?\n]{{0,40}}"
    rf"\b{_STUFF}\b"
    rf"|it (?:seems|appears|looks like)\b[^.!?\n]{{0,30}}\b{_STUFF}\b[^.!?\n]{{0,30}}\b(?:missing|empty|blank)\b"
    rf"|there (?:is|are|was|were) no (?:\w+ )?{_STUFF}\b[^.!?\n]{{0,20}}\b(?:provided|given|inside|available|to|in)\b"
    rf"|(?:please|could you(?: please)?) (?:provide|share|paste|send)\b[^.!?\n]{{0,30}}\b{_STUFF}\b"
    rf"|you (?:have not|haven't|did not|didn't) (?:provide|share|include|paste)d?\b"
    rf"|(?:the |this )?(?:provided |given )?{_STUFF} (?:is|are|appears to be|seems to be|was) "
    rf"(?:empty|missing|blank|not provided)\b"
    rf"|no {_STUFF} (?:was|were|is|has been|have been) (?:provided|given|found|included)\b"
    rf"|i (?:don't|do not|can't|cannot) (?:see|find|have) (?:any|the|a)\b[^.!?\n]{{0,30}}\b{_STUFF}\b)"
)
