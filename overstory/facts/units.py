"""Units of time and measure, and things that are counted, each with its spellings."""

from __future__ import annotations

from overstory.facts.word_lists import spellings

PERCENT_WORDS = frozenset({"%", "percent", "percents", "pct", "パーセント", "プロセント"})

TIME_UNITS = spellings(
    "second seconds sec secs 秒 秒間 초 ثانية ثوان วินาที; minute minutes min mins 分 分間 分钟 分鐘 분 دقيقة دقائق นาที;"
    "hour hours hr hrs 時間 小时 小時 시간 ساعة ساعات ชั่วโมง; day days 日 日間 日以内 天 일 يوم يوما يومًا أيام วัน;"
    "week weeks wk wks 週 週間 周 星期 주 أسبوع أسابيع สัปดาห์;"
    "month months か月 ヶ月 カ月 ヵ月 个月 個月 月 개월 شهر شهرا شهرًا أشهر เดือน;"
    "year years yr yrs 年 年間 년 سنة سنوات عام عاما ปี; decade decades; century centuries;"
    "ms millisecond milliseconds msec msecs; us µs μs microsecond microseconds usec usecs;"
    "ns nanosecond nanoseconds nsec nsecs; fortnight fortnights; night nights"
)

MEASURES = TIME_UNITS | spellings(
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

COUNTS = spellings(
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
