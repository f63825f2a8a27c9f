"""Currencies by symbol, code and name, and the letters that scale an amount of money."""

from __future__ import annotations

from overstory.facts.word_lists import spaced, spellings

MONEY_SCALES = {"k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6, "B": 10**9, "b": 10**9, "T": 10**12}
"""Letters that scale an amount of money only: 5 M of anything else is ambiguous."""

CURRENCY_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₪": "ILS"}

DOLLAR_PREFIXES = {"US": "USD", "C": "CAD", "CA": "CAD", "A": "AUD", "AU": "AUD", "NZ": "NZD", "HK": "HKD", "S": "SGD"}

CURRENCY_CODES = spaced(
    "AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF ILS INR JPY KRW MXN NOK NZD PLN RMB RUB SAR SEK SGD TRY USD ZAR"
)

CURRENCY_WORDS = spellings(
    "USD dollar dollars ドル 米ドル 美元 달러 دولار ดอลลาร์ $; EUR euro euros ユーロ 欧元 歐元"
    " 유로 يورو €; JPY yen 円 圓 日元"
    " ¥; CNY yuan 人民币 元; INR rupees ₹; CHF francs; GBP ポンド £; KRW 원 ₩; THB บาท; RUB ₽; ILS ₪"
)
