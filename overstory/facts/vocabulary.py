"""The closed word lists that facts are recognized by: months, scales, currencies, units, number words."""

from __future__ import annotations


def spaced(words: str) -> frozenset[str]:
    """The words of a list that is written with spaces."""
    return frozenset(words.split())


def _spellings(table: str) -> dict[str, str]:
    units: dict[str, str] = {}
    for line in table.split(";"):
        canonical, *others = line.split()
        for spelling in (canonical, *others):
            units[spelling] = canonical
    return units


def _numbered(groups: str, first: int, step: int = 1) -> dict[str, int]:
    """Numbers of groups of words, which are parted by semicolons."""
    parts = enumerate(groups.split(";"))
    return {word: first + step * number for number, group in parts for word in group.split()}


MONTHS = _numbered(
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
MONEY_SCALES = {"k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6, "B": 10**9, "b": 10**9, "T": 10**12}
"""Letters that scale an amount of money only: 5 M of anything else is ambiguous."""

CURRENCY_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₪": "ILS"}
DOLLAR_PREFIXES = {"US": "USD", "C": "CAD", "CA": "CAD", "A": "AUD", "AU": "AUD", "NZ": "NZD", "HK": "HKD", "S": "SGD"}
CURRENCY_CODES = spaced(
    "AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF ILS INR JPY KRW MXN NOK NZD PLN RMB RUB SAR SEK SGD TRY USD ZAR"
)

CURRENCY_WORDS = _spellings(
    "USD dollar dollars ドル 米ドル 美元 달러 دولار ดอลลาร์ $; EUR euro euros ユーロ 欧元 歐元"
    " 유로 يورو €; JPY yen 円 圓 日元"
    " ¥; CNY yuan 人民币 元; INR rupees ₹; CHF francs; GBP ポンド £; KRW 원 ₩; THB บาท; RUB ₽; ILS ₪"
)

PERCENT_WORDS = frozenset({"%", "percent", "percents", "pct", "パーセント", "プロセント"})


TIME_UNITS = _spellings(
    "second seconds sec secs 秒 秒間 초 ثانية ثوان วินาที; minute minutes min mins 分 分間 分钟 分鐘 분 دقيقة دقائق นาที;"
    "hour hours hr hrs 時間 小时 小時 시간 ساعة ساعات ชั่วโมง; day days 日 日間 日以内 天 일 يوم يوما يومًا أيام วัน;"
    "week weeks wk wks 週 週間 周 星期 주 أسبوع أسابيع สัปดาห์;"
    "month months か月 ヶ月 カ月 ヵ月 个月 個月 月 개월 شهر شهرا شهرًا أشهر เดือน;"
    "year years yr yrs 年 年間 년 سنة سنوات عام عاما ปี; decade decades; century centuries;"
    "ms millisecond milliseconds msec msecs; us µs μs microsecond microseconds usec usecs;"
    "ns nanosecond nanoseconds nsec nsecs; fortnight fortnights; night nights"
)

MEASURES = TIME_UNITS | _spellings(
    "byte bytes バイト 字节; bit bits; KB kB kilobyte kilobytes; MB megabyte megabytes; GB gigabyte gigabytes;"
    "TB terabyte terabytes; PB petabyte petabytes; KiB kibibyte kibibytes; MiB mebibyte mebibytes; GiB"
    " gibibyte gibibytes;"
    "TiB tebibyte tebibytes; kbit Kbit; Mbit; Gbit; bps; kbps Kbps; Mbps; Gbps; kB/s KB/s; MB/s; GB/s; MiB/s; GiB/s;"
    "Hz; kHz KHz; MHz Mhz; GHz Ghz; rps; qps; req/s; fps; rpm; dpi; px pixel pixels; "
    "mm millimeter millimeters millimetre millimetres; cm centimeter centimeters centimetre centimetres;"
    "m meter meters metre metres; km kilometer kilometers kilometre kilometres 公里 キロ; mile miles mi; foot"
    " feet ft; inch inches; yard yards;"
    "acre acres; hectare hectares; kg kilogram kilograms; mg milligram milligrams; gram grams; ton tons tonne"
    " tonnes; lb lbs pound pounds; ounce ounces oz;"
    "liter liters litre litres; gallon gallons; barrel barrels; bushel bushels;"
    "W watt watts; kW kilowatt kilowatts; MW megawatt megawatts; kWh; mV; V volt volts; mA; mAh; uA µA; dB;"
    " °C degC; °F; degree degrees; x ×"
)
"""Units that a number may stand before in the singular: an 80 hour cap."""

COUNTS = _spellings(
    "token tokens; word words; character characters char chars 文字 字; line lines; page pages ページ 页 頁; "
    "person people persons men women children Americans citizens inhabitants 人 名 명 شخص คน;"
    "employee employees staff; worker workers; student students; user users; member members; customer"
    " customers; subscriber subscribers;"
    "contributor contributors; developer developers; participant participants; soldier soldiers; delegate"
    " delegates; author authors;"
    "seat seats; license licenses licences; account accounts; vote votes; copy copies; case cases 件; request"
    " requests;"
    "attempt attempts; retry retries; call calls; message messages; email emails; file files; repository"
    " repositories; country countries;"
    "center centers centre centres; office offices; site sites; school schools; company companies; store"
    " stores; ship ships; vessel vessels;"
    "home homes; household households; job jobs; project projects; core cores; CPU CPUs cpus; thread threads;"
    " node nodes; replica replicas;"
    "point points; cent cents; share shares; unit units; item items; entry entries 个 個; time times 回 次"
)
"""Things that are counted, in the plural but for one."""

UNITS = MEASURES | COUNTS
"""Every known spelling to its canonical one. Matched as written first, then in lower case."""

UNIT_QUALIFIERS = frozenset({"business", "working", "calendar", "consecutive"})
"""Words that make another unit of the one after them: a business day is not a day."""

TIGHT_UNITS = {
    "s": "second",
    "h": "hour",
    "d": "day",
    "K": "K",
    "M": "M",
    "G": "G",
    "T": "T",
    "k": "K",
    "min": "minute",
}
"""Letters that are units only where they touch the number: 30s, 64K."""

ONES = _numbered(
    "one;two;three;four;five;six;seven;eight;nine;ten;eleven;twelve;thirteen;fourteen;fifteen;sixteen;seventeen"
    ";eighteen;nineteen",
    first=1,
)
TENS = _numbered("twenty;thirty;forty;fifty;sixty;seventy;eighty;ninety", first=20, step=10)
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}

LABELS = spaced(
    "annex answer appendix approach argument article bit bug case category chapter class clause column"
    " day draft equation example exhibit fig figure footnote group id issue item level line method no"
    " note number option page paragraph part pep phase point port question requirement rfc round row rule"
    " schedule section sections stage step table test tier title type volume week"
)

"""A number behind one of these names a thing and counts nothing: step 3, section 4.2."""

NOT_NOUNS = spaced(
    "across adds allows always appears applies as becomes begins besides calls comes contains defines"
    " describes does ends exists follows gets gives goes happens has hers his implies includes introduces"
    " is its keeps lets makes means minus needs obvious perhaps plus previous provides puts raises"
    " remains requires returns runs says seems serious sets shows specifies starts supports takes this"
    " thus times towards unless us uses various versus was whereas works yes"
)

"""Words in -s that are no plural nouns behind a number."""

FUNCTION_WORDS = spaced(
    "a about above after against all also an and any are as at be because been before below between both"
    " but by can could during each either even every for from had has have here if in into is it just may"
    " might must no nor not of on only onto or over per shall should since so some still such than that"
    " the then there these they this those through to under until was we were when where which while who"
    " will with without would yet you"
)
