"""Text without the markup of Markdown, reStructuredText, HTML and templates."""

from __future__ import annotations

import html
import re

_MARKED = re.compile(r"[*_`\[<&{|\\]|://|\s\s|\n")
_TAGS = (
    "a|abbr|b|big|blockquote|br|center|cite|code|dd|del|details|div|dl|dt|em|figure|font|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|small|span"
    "|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|section|article|nav|main|header|footer|button|input|label|picture|source|video|iframe|script|style"
)
_STEPS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("<", re.compile(r"<!--.{0,2000}?-->", re.DOTALL), " "),
    ("{", re.compile(r"\{%.{0,300}?%\}|\{\{.{0,300}?\}\}|\{:[^}]*\}|\{#[\w-]+\}", re.DOTALL), ""),
    ("[!", re.compile(r"\[!\w+\]\s*"), ""),
    ("[", re.compile(r"!\[[^\]]{0,300}\]\([^)]{0,500}\)|!\[[^\]]{0,300}\]\[[^\]]{0,100}\]"), ""),
    ("[", re.compile(r"\[((?:[^\[\]]|\[[^\[\]]{0,100}\]){0,300})\]\((?:[^()]|\([^()]{0,100}\)){0,500}\)"), r"\1"),
    ("[", re.compile(r"\[([^\[\]]+)\]\[[^\]]*\]"), r"\1"),
    ("[", re.compile(r"\s?\[(?:#[\w-]*|\*|\d+|[\w-]+)\]_|\s?\[\^[\w-]+\]:?"), ""),
    ("`", re.compile(r":(?:pep|PEP):`(?:[^`<]*<)?(\d+)[^`]*`"), r"PEP \1"),
    ("`", re.compile(r":(?:rfc|RFC):`(?:[^`<]*<)?(\d+)[^`]*`"), r"RFC \1"),
    ("`", re.compile(r":[\w:+.-]+:`[~!]?([^`<]+?)\s*(?:<[^>`]*>)?`"), r"\1"),
    ("`", re.compile(r"``(.{1,300}?)``", re.DOTALL), r"\1"),
    ("`", re.compile(r"`([^`<]+?)\s*(?:<[^>`]*>)?`__?(?!\w)"), r"\1"),
    ("`", re.compile(r"`([^`]+)`(?:__?(?!\w))?"), r"\1"),
    ("<", re.compile(rf"</?(?:{_TAGS})\b[^<>]{{0,400}}/?>", re.IGNORECASE), " "),
    ("<", re.compile(r"\s*<(?:(?:https?|ftp|mailto):[^<>\s]+|[^<>\s]+@[^<>\s]+)>"), ""),
    ("*", re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])(.{1,500}?)(?<=[^\s*])\1(?![\w*])", re.DOTALL), r"\2"),
    ("_", re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])(.{1,500}?)(?<=[^\s_])\1(?![\w_])", re.DOTALL), r"\2"),
    ("_", re.compile(r"(?<=[A-Za-z0-9])__?(?=[\s.,;:!?)]|$)"), ""),
    ("|", re.compile(r"(?<![\w<])\|([^|\s][^|]{0,100})\|(?![\w>])"), r"\1"),
    ("\\", re.compile(r"\\([*_`\[\]()#|.<>~-])"), r"\1"),
    ("://", re.compile(r"\s*\(\s*(?:https?|ftp)://[^\s)]+\s*\)"), ""),
)
_SPACE = re.compile(r"\s+(?:>\s)*")
_SPACE_IN_CJK = re.compile(
    r"(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]) (?=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])"
)
_EMPTY = re.compile(r"\(\s*\)|\[\s*\]")
_SPACE_BEFORE = re.compile(r"\s+([.,;:!?)](?:\s|$))")


def clean(text: str) -> str:
    """``text`` on one line, as it reads when its markup is rendered."""
    if not _MARKED.search(text):
        return text.strip()
    for mark, pattern, replacement in _STEPS:
        if mark in text:
            text = pattern.sub(replacement, text)
    if "&" in text:
        text = html.unescape(text)
    text = _EMPTY.sub("", _SPACE.sub(" ", text))
    if not text.isascii():
        text = _SPACE_IN_CJK.sub("", text)
    return _SPACE_BEFORE.sub(r"\1", text).strip()
