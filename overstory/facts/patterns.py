"""The compiled patterns of facts, and the plain form of a text that they are matched on."""

from __future__ import annotations

import re
import sys
import unicodedata

from overstory.facts.vocabulary import CURRENCY_CODES, ONES, TENS

_SPACES = "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_PLAIN_PUNCTUATION = {
    "％": "%", "٪": "%", "﹪": "%", "＄": "$", "￥": "¥", "￡": "£", "．": ".", "٫": ".", "٬": ",", "，": ",",
    "／": "/", "－": "-", "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "〜": "-", "～": "~", "≈": "~",
    "’": "'", "ｖ": "v", "Ｑ": "Q", "：": ":",
}  # fmt: skip


def _plain_table() -> dict[int, str]:
    digits = {
        code: str(unicodedata.decimal(chr(code)))
        for code in range(128, sys.maxunicode + 1)
        if unicodedata.decimal(chr(code), None) is not None
    }
    return digits | {ord(c): " " for c in _SPACES} | {ord(c): p for c, p in _PLAIN_PUNCTUATION.items()}


_PLAIN = _plain_table()


def plain(text: str) -> str:
    """The text with every script's digits, spaces, dashes and percent signs in ASCII; offsets stay the same."""
    return text if text.isascii() else text.translate(_PLAIN)


MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?|JAN|FEB|MAR|APR|MAY|JUNE?|JULY?|AUG|SEPT?|OCT|NOV|DEC)"
)
_GAP = r"[ \t]*\n?[ \t]*"
_S = rf"(?:[ \t]|{_GAP})"
YEAR = r"(?:1[5-9]|20)\d\d"
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:[ ]\d{3})+(?![\d.])|\d+(?:\.\d+)?)"
_FREE = r"(?<![\w.#@%\\/])(?<!\w-)(?<!\d[:,])"
"""A number starts here: not inside a word, a version, a path, a time or an identifier."""
_TIME = (
    r"(?:(?:,|T|[ \t]at)?[ \t]?\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:[ \t]?[apAP]\.?[mM]\b\.?)?"
    r"(?:[ \t]?(?:UTC|GMT|Z\b|[+-]\d\d:?\d\d\b))?)?"
)
_ORDINAL_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_CODES = "|".join(sorted(CURRENCY_CODES))
_SYMBOL = rf"(?:(?:US|CA|AU|NZ|HK|[CAS])?[ ]?\$|[€£¥₹₩₽₪]|(?:{_CODES})[ ]?[$€£¥]?)"
_SCALE = r"(?:[ \t-]?(?:thousand|million|billion|trillion|mn|bn)\b|[kKmMBbT]\b)"
_ONE_AMOUNT = rf"{NUMBER}(?:{_S}?{_SCALE})?"
_PRERELEASE = r"(?:\.x|-?(?:a|b|rc|alpha|beta|dev|post)\.?\d*)?"
_WORD_NUMBERS = "|".join((*ONES, *TENS))

DATE_BRANCHES = rf"""
  (?P<iso>{_FREE}\d{{4}}-\d\d?-\d\d?(?![\d-]){_TIME}
     |{_FREE}\d{{4}}/\d\d?/\d\d?(?![\d/])|{_FREE}\d{{4}}\.\d\d?\.\d\d?(?![\d.]))
 |(?P<cjk>\d{{4}}[ ]?[年년](?![ ]?第)(?:[ ]?\d{{1,2}}[ ]?[月월](?:[ ]?\d{{1,2}}[ ]?[日일])?)?
     |\d{{1,2}}[ ]?[月월][ ]?\d{{1,2}}[ ]?[日일])
 |(?P<dmy>{_FREE}\d{{1,2}}(?P<sep>[/.-])\d{{1,2}}(?P=sep){YEAR}(?![\d/-]))
 |(?P<dayfirst>{_FREE}{_ORDINAL_DAY}(?:{_S}day)?(?:{_S}of)?(?:{_S}|-){MONTH}\b\.?(?:,?(?:{_S}|-){YEAR}\b{_TIME})?)
 |(?P<span>\b{MONTH}\.?{_S}\d{{1,2}}[ ]?-[ ]?\d{{1,2}},?{_S}{YEAR}\b)
 |(?P<monthfirst>\b{MONTH}\b\.?(?:{_S}|-){_ORDINAL_DAY}(?![\d.]\d|[\w%]|:\d)(?:,?(?:{_S}|-){YEAR}\b{_TIME})?)
 |(?P<month>\b{MONTH}\b\.?(?:,?{_S}of{_S}|,?{_S}|-){YEAR}\b(?!,\d))
 |(?P<years>{_FREE}{YEAR}[ ]?-[ ]?{YEAR}\b(?![-.]\d)|(?<=[Mm]id-){YEAR}\b
     |(?:(?<=[Tt]he[ ])|(?<=early[ ])|(?<=late[ ]))(?:1[5-9]|20)\d0s\b)
 |(?P<isomonth>{_FREE}(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?![\w-]))
"""

QUARTER_BRANCHES = rf"""
  (?P<quarter>
     \b[QH][1-4]\b(?:(?:{_S}|-|/|,{_S}|{_S}of{_S})?
      (?:(?:FY|CY)?[ ]?'?(?:{YEAR}|\d\d)\b|fiscal{_S}(?:year{_S})?{YEAR}\b))?
    |\b(?:FY|CY)?[ ]?'?(?:{YEAR}|(?<=FY)\d\d)(?:{_S}|-)?[QH][1-4]\b
    |\b[1-4][QH][ ]?'?(?:{YEAR}|\d\d)\b
    |\b(?i:first|second|third|fourth|1st|2nd|3rd|4th){_S}(?:(?:fiscal|calendar){_S})?(?:quarter|half)
      (?:,?{_S}(?:of{_S})?(?:the{_S})?(?:(?:fiscal{_S})?(?:year{_S})?(?:FY[ ]?)?{YEAR}\b))?
    |{YEAR}年?[ ]?第?[1-4一二三四](?:四半期|季度)|第[1-4一二三四](?:四半期|季度)
  )
 |(?P<fiscal>\b(?:FY[ -]?'?(?:{YEAR}|\d\d)(?:[/-]\d\d(?:\d\d)?)?\b
     |(?i:fiscal)(?:{_S}years?)?(?:{_S}(?:of|ending|ended|ends)(?:{_S}(?:in|on))?)?{_S}(?={YEAR}|{MONTH})
      (?:{MONTH}\.?{_S}\d{{1,2}},?{_S})?{YEAR}\b(?:(?:{_S}and{_S}|[/-]|,{_S}){YEAR}\b)*))
"""

AMOUNT_BRANCHES = rf"""
  (?P<money>(?<![\w$]){_SYMBOL}{_S}?{_ONE_AMOUNT}(?:{_S}\d+{_S}?(?:million|thousand)\b)?
     (?:(?:[ ]?-[ ]?[$€£¥]?|{_S}to{_S}){_ONE_AMOUNT}(?![\w%]))?(?:[ ]?(?:{_CODES})\b)?)
 |(?P<version>(?<![\w/.-])[vV](?:ersions?\b|er\.)[ ]?(?:is[ ]|:[ ])?\d+(?:\.\d+)*{_PRERELEASE}(?!\.?\w)
     |(?<![\w/.-])[vV]\d+(?:\.\d+)+{_PRERELEASE}(?!\.?\w)
     |(?<![\w/.-])[vV]\d+{_PRERELEASE}(?!\.?\w|[`]|[ ]?[=:(\[])
     |{_FREE}\d+(?:\.\d+){{2,}}(?:[-.]?(?:a|b|rc|alpha|beta|dev|post)\.?\d*)?(?![\w-])(?!\.\d)
     |{_FREE}\d+\.\d+(?:-?(?:a|b|rc|alpha|beta)\.?\d+)(?![\w-]))
 |(?P<number>(?<=between[ ]){NUMBER}{_S}and{_S}{NUMBER}
     |{_FREE}{NUMBER}(?:(?:%?[ ]?-[ ]?|{_S}to{_S}){NUMBER}(?![\d:/-]))?)
 |(?P<words>\b(?i:{_WORD_NUMBERS})\b
     (?:(?:-|{_S}|(?<=hundred){_S}and{_S}|(?<=thousand){_S}and{_S})
      (?i:{_WORD_NUMBERS}|hundred|thousand|million|billion)\b)*(?:{_S}\({NUMBER}\))?)
"""

GATED = re.compile(f"{DATE_BRANCHES}|{QUARTER_BRANCHES}|{AMOUNT_BRANCHES}", re.VERBOSE | re.ASCII)
"""Everything that may be a gated fact; ``match.lastgroup`` names the branch."""

TRIGGER = re.compile(
    rf"\d+|[$€£¥₹₩₽₪第]|\b(?:{MONTH}\b|[QH][1-4]|FY|CY|[Ff]iscal|[Ff]irst|[Ss]econd|[Tt]hird|[Ff]ourth|FIRST"
    rf"|SECOND|THIRD|FOURTH"
    rf"|[vV][\d.e]|US|[A-Z]{{1,2}}\$|(?:{_CODES})\b|(?i:{_WORD_NUMBERS})\b)",
    re.ASCII,
)
"""Where a gated fact may begin: the combined pattern is tried at these places only, which is four times as fast."""

SUFFIX = re.compile(
    r"(?P<gap>-|[*_]{0,3}(?:[ \t]*\n?[ \t]*)[*_]{0,3})(?P<word>[%‰€£¥₽₩₹₪$×]|°[CF]\b"
    r"|[A-Za-zµμ]+(?:/[A-Za-z]+)?(?![\w])|[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{1,4}"
    r"|[\u0600-\u065f\u066e-\u06d3]+|[\u0e00-\u0e7f]+)",
    re.ASCII,
)
"""The word right behind a number."""

OR_MORE = re.compile(
    rf"(?P<more>\+(?![\w+])|{_S}or{_S}(?:more|longer|greater|over|above|older)\b)|{_S}or{_S}(?:less|fewer|under"
    rf"|below|younger)\b",
    re.ASCII,
)
"""What opens an amount upwards or downwards: five or more days, 30+ days."""
RATE = re.compile(rf"(?:{_S}per{_S}|[ ]?/[ ]?)(?P<unit>[A-Za-z]+)\b", re.ASCII)
INSTEAD = re.compile(
    rf",?{_S}\(?(?:instead{_S}of|rather{_S}than|(?:up|down){_S}from|compared{_S}(?:to|with)|versus|vs\.?"
    rf"|previously|formerly|was){_S}(?P<number>{NUMBER})(?![\w%]|\.\d|{_S}[a-z]+s\b)",
    re.ASCII,
)
"""A second amount that shares the unit of the one before it: 18 months instead of 13."""
MORE_VERSIONS = re.compile(
    rf"(?:,{_S}(?:and{_S}|or{_S})?|{_S}(?:and|or|to|through){_S}|[/-])(?P<number>\d+\.\d+)(?![\w%]|\.\d)", re.ASCII
)

_FILLER = r"(?:(?:a|an|the|another|additional|total|maximum|minimum|average|of|first|initial|further|extra|only)\s+)*"
LIMIT = re.compile(
    rf"""(?:
      (?P<le>\b(?:up\s+to|at\s+most|(?:no|not)\s+(?:more|later|longer|greater|higher)\s+than|(?:not|n't|cannot|never)\s+(?:to\s+)?exceed(?:ing)?
          |maximum(?:\s+of|\s+is|:)?|max\.?(?:\s+of)?|within|limited\s+to|limit\s+(?:of|is)|capped?\s+(?:at|of)|as\s+(?:much|many|long)\s+as)|<=|≤)
     |(?P<ge>\b(?:at\s+least|(?:no|not)\s+(?:less|fewer|earlier|sooner)\s+than|minimum(?:\s+of|\s+is|:)?|min\.?(?:\s+of)|reaches)|>=|≥)
     |(?P<gt>\b(?:(?:more|greater|older|longer|larger|higher)\s+than|over|above|exceed(?:s|ed|ing)?|in\s+excess\s+of|beyond)|>)
     |(?P<lt>\b(?:(?:less|fewer|shorter|younger|smaller|lower)\s+than|under|below)|<)
     |(?P<about>\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|circa|estimated\s+at|an\s+estimated|estimated)|~)
    )[ \t]*\n?[ \t]*{_FILLER}[*_]{{0,3}}$""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
"""What stands before an amount and bounds it."""
YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|by|from|to|of|for|until|till|through|before|after|during|year|years|early|late|mid"
    r"|around|circa|and|between|ended"
    r"|ending|copyright|summer|winter|spring|fall|autumn|than|about)\s+|\(c\)\s+|©\s*)$",
    re.ASCII | re.IGNORECASE,
)
NAME_BEFORE = re.compile(
    r"(?:\b(?P<name>[A-Z][A-Za-z+#]*(?:\.[a-z]+)?)|\b(?:kernel|release|releases|revision|(?i:version):?))[ :]$",
    re.ASCII,
)
PREVIOUS_WORD = re.compile(r"([A-Za-z]+)[ \t]*\n?[ \t]*$", re.ASCII)
TELLS_NUMBER = re.compile(
    r"\b(?:is|was|are|were|of|to|than|total|totals|totaled|reached|equals|limit|threshold|maximum|minimum|cap"
    r"|quota|default)(?:[ \t]?[:=])?[ \t]+\n?[ \t]*$",
    re.ASCII | re.IGNORECASE,
)

NAME = re.compile(
    r"\b(?:[A-Z][A-Za-z0-9&]*(?:[ ](?:(?:of|for|and|the)[ ](?:the[ ])?)?[A-Z][A-Za-z0-9&]+)+"
    r"|[A-Z]+[a-z0-9]+[A-Z][A-Za-z0-9]*|[A-Z][A-Z0-9]{1,}s?)\b",
    re.ASCII,
)
"""Several capitalized words, a word with capitals inside, or an acronym."""
ADDRESS = re.compile(r"(?:://|\]\(/|\bwww\.)[^\s<>]*$", re.ASCII)
"""A place inside a URL."""
NUMBERING = re.compile(r"[.)][ \t]+[\"'*_(]*[A-Z\u00c0-\uffff]|(?<=\d\.\d)\d?[ \t]+[\"'*_]*[A-Z][a-z]")
"""What follows a number that numbers an item or a heading at the start of its line."""
HEADED = re.compile(r"[.):]?[ \t]+[\"'*_(]*[A-Z\u00c0-\uffff]")
"""Likewise where the line is marked as a heading."""
