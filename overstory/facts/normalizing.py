"""From the words of a date, a period or a number to the value that facts are compared by."""

from __future__ import annotations

import re

from overstory.facts.vocabulary import MONTHS, ONES, ORDINALS, SCALES, TENS

_NUMBER = re.compile(r"\d+", re.ASCII)
_CLOCK = re.compile(
    r"(\d{1,2}):(\d\d)(:\d\d)?(?:\.\d+)?\s?([ap])?\.?(?:m\b)?\.?\s?(utc|gmt|z|[+-]\d\d:?\d\d)?", re.ASCII
)
_ORDINAL = re.compile(r"(\d)(?:st|nd|rd|th)\b", re.ASCII)
_MONTH = re.compile(r"[a-z]{3,}", re.ASCII)
_PERIOD = re.compile(
    r"([qh])\s?([1-4])|([1-4])\s?([qh])|(first|second|third|fourth|1st|2nd|3rd|4th)\s+(?:\w+\s+)?(quarter|half)",
    re.ASCII,
)
_CJK_PERIOD = re.compile(r"第?([1-4一二三四])(?:四半期|季度)")
_CJK_QUARTERS = {"一": "1", "二": "2", "三": "3", "四": "4"}


def number(text: str) -> str:
    """A number without separators and needless zeros: ``1,000`` and ``1 000.0`` are ``1000``."""
    return scaled(text, 1)


def scaled(text: str, factor: int) -> str:
    """A number times a power of ten, exactly: ``3.4`` and ``10**6`` give ``3400000``.

    Only the point moves, so that a number of any length takes time that grows with its length alone.
    """
    whole, _, fraction = text.replace(",", "").replace(" ", "").partition(".")
    zeros = len(str(factor)) - 1
    moved, rest = fraction[:zeros].ljust(zeros, "0"), fraction[zeros:].rstrip("0")
    units = (whole + moved).lstrip("0") or "0"
    return f"{units}.{rest}" if rest else units


def spelled(text: str) -> int:
    """The value of number words: ``one hundred``, ``twenty-five``, ``two million``."""
    total = current = 0
    for word in re.split(r"[\s-]+", text.lower()):
        if word in SCALES:
            factor = SCALES[word]
            if factor <= current:  # hundred hundred: no number, and a long run of them would have no end of digits
                total, current = total + current, 0
            current = max(current, 1) * factor
            if factor > 100:
                total, current = total + current, 0
        else:
            current += ONES.get(word, TENS.get(word, 0))
    return total + current


def year(text: str) -> str:
    """A year of four digits; two digits are of this century."""
    return text if len(text) == 4 else f"20{text}"


def numeric_date(text: str) -> str | None:
    """``2025-07-01`` of ``2025-7-1T12:00Z``, ``2025/07/01``, ``2025年7月1日``; None where no such day exists."""
    clock = _CLOCK.search(text)
    parts = [int(part) for part in _NUMBER.findall(text[: clock.start()] if clock else text)]
    if parts[0] < 100:
        return _day("-", parts)
    return _day(f"{parts[0]:04d}", parts[1:], _time(clock))


def day_month_year(text: str) -> str | None:
    """``03/02/2025`` is ambiguous, ``13/02/2025`` and ``03.02.2025`` are not."""
    first, second, years = _NUMBER.findall(text)
    day_first = _day(years, [int(second), int(first)])
    month_first = _day(years, [int(first), int(second)])
    if "." in text or not month_first:
        return day_first
    if not day_first or day_first == month_first:
        return month_first
    return f"ambiguous:{min(day_first, month_first)}|{max(day_first, month_first)}"


def named_date(text: str) -> str | None:
    """``2025-03-14`` of ``14 March 2025``; ``2025-03`` of ``March 2025``; ``--03-14`` without a year."""
    clock = _CLOCK.search(text.lower())
    rest = _ORDINAL.sub(r"\1", text[: clock.start()] if clock else text).lower()
    month = next((MONTHS[w] for w in _MONTH.findall(rest) if w in MONTHS), 0)
    numbers = _NUMBER.findall(rest)
    years = next((n for n in numbers if len(n) == 4), "-")
    days = [int(n) for n in numbers if len(n) < 3]
    if len(days) == 2:
        ends = [_day(years, [month, day]) for day in days]
        return f"{ends[0]}..{ends[1]}" if all(ends) else None
    return _day(years, [month, *days], _time(clock))


def _day(years: str, parts: list[int], clock: str = "") -> str | None:
    """A year with as much of month and day as there is."""
    if not parts:
        return years
    month, *days = parts
    if not 1 <= month <= 12 or (days and not 1 <= days[0] <= 31):
        return None
    return f"{years}-{month:02d}" + (f"-{days[0]:02d}{clock}" if days else "")


def _time(clock: re.Match[str] | None) -> str:
    if clock is None:
        return ""
    hour, minute, seconds, half, zone = clock.groups()
    hours = int(hour) % 12 + (12 if half == "p" else 0) if half else int(hour)
    zones = {None: "", "utc": "Z", "gmt": "Z", "z": "Z"}
    seconds = "" if seconds in (None, ":00") else seconds
    return f"T{hours:02d}:{minute}{seconds}{zones.get(zone, zone)}"


def period(text: str) -> str | None:
    """``2024-Q3``, ``FY2025-Q1``, ``2025-H1``, or ``Q3`` where the text names no year."""
    lower = text.lower()
    label = _label(lower)
    if label is None:
        return None
    name, rest = label
    years = re.search(r"\d{4}|\d\d", rest, re.ASCII)
    if years is None:
        return name
    fiscal = "FY" if re.search(r"fy|fiscal", rest) else ""
    return f"{fiscal}{year(years.group())}-{name}"


def _label(lower: str) -> tuple[str, str] | None:
    """The name of a quarter or half, and the text without it."""
    found = _PERIOD.search(lower)
    if found:
        letter = (found[1] or found[4] or found[6])[0].upper()
        which = int(found[2] or found[3] or ORDINALS[found[5]])
        rest = f"{lower[: found.start()]} {lower[found.end() :]}"
        return (f"{letter}{which}", rest) if letter == "Q" or which < 3 else None
    cjk = _CJK_PERIOD.search(lower)
    return (f"Q{_CJK_QUARTERS.get(cjk[1], cjk[1])}", lower[: cjk.start()]) if cjk else None
