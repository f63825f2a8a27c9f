"""Words that stand for numbers: months, scales, number words, ordinals."""

from __future__ import annotations

from overstory.facts.word_lists import numbered

MONTHS = numbered(
    "january jan;february feb;march mar;april apr;may;june jun;july jul;august aug;september sept sep;october oct"
    ";november nov;december dec",
    first=1,
)

SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "millions": 10**6,
    "mn": 10**6,
    "billion": 10**9,
    "billions": 10**9,
    "bn": 10**9,
    "trillion": 10**12,
    "万": 10**4,
    "萬": 10**4,
    "億": 10**8,
    "亿": 10**8,
}

ONES = numbered(
    "one;two;three;four;five;six;seven;eight;nine;ten;eleven;twelve;thirteen;fourteen;fifteen;sixteen;seventeen"
    ";eighteen;nineteen",
    first=1,
)

TENS = numbered("twenty;thirty;forty;fifty;sixty;seventy;eighty;ninety", first=20, step=10)

ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
