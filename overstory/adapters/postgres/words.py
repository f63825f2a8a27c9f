"""Ranks by words: Postgres counts and saturates their frequency, we weigh them by how rare they are.

``ts_rank`` knows a text but not the corpus: "the" weighs as much as "webhook". Its score of one word, though, is a
saturating count divided by the text's length, which times the inverse document frequency is close to BM25
(measured against the alternatives in docs/decisions/0008-search.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from overstory.adapters.postgres.database import Database
from overstory.tree import PASSED_THROUGH

MAX_WORDS = 64
"""Of a longer query only its first different words are looked up."""

TEXTS_A_PLACE = 10
"""Texts ranked for each one wanted: once the rarest words give so many, the others only add to the score of these."""

_TERMS = f"""
with word as (
    select cast('''' || replace(replace(u.lexeme, '\\', '\\\\'), '''', '''''') || '''' as tsquery) as term
    from pg_ts_config c cross join lateral unnest(to_tsvector(cast(c.oid as regconfig), :query)) u
    where c.cfgname = :language
    order by u.positions[1], u.lexeme limit {MAX_WORDS}
)
select cast(w.term as text),
  (select count(*) from leaf l join document d on d.id = l.document_id where d.dataset = :dataset),
  (select count(*) from leaf l join document d on d.id = l.document_id
   where d.dataset = :dataset and l.search @@ w.term),
  (select count(*) from summary s where s.dataset = :dataset and s.level = 0),
  (select count(*) from summary s where s.dataset = :dataset and s.level = 0 and s.search @@ w.term),
  (select count(*) from summary s where s.dataset = :dataset and s.level > 0),
  (select count(*) from summary s where s.dataset = :dataset and s.level > 0 and s.search @@ w.term)
from word w
"""


@dataclass(frozen=True, slots=True)
class Population:
    """Texts that are ranked together."""

    place: int
    """Of its counts in a row of ``_TERMS``."""
    table: str
    sql: str
    """With a place for the score of a row of ``table``."""


LEAVES = Population(
    0,
    "l",
    """
select n.id::text, 'leaf', n.score, n.document_id::text, vl.ordinal, null, false
from (
    select l.id, l.document_id, d.current_version, {score} as score
    from leaf l join document d on d.id = l.document_id
    where d.dataset = :dataset and l.search @@ (select cast(:any as tsquery))
    order by score desc, l.id limit :limit
) n
join version_leaf vl on vl.version_id = n.current_version and vl.leaf_id = n.id
""",
)

PROXIES = Population(
    1,
    "s",
    """
select s.id::text, s.kind, {score} as score, d.id::text, s.ordinal, held.leaf_id::text, false
from summary s
join document d on d.id = s.document_id and d.current_version is not null
left join version_leaf held on held.version_id = d.current_version and held.ordinal = s.ordinal
where s.dataset = :dataset and s.level = 0 and s.failure is null and s.search @@ (select cast(:any as tsquery))
order by score desc, s.id limit :limit
""",
)

UPPER = Population(
    2,
    "s",
    """
select s.id::text, s.kind, {score} as score, d.id::text, s.ordinal, null, s.recipe_hash = :passed_through
from summary s
left join document d on d.id = s.document_id
where s.dataset = :dataset and s.level > 0 and s.failure is null and s.search @@ (select cast(:any as tsquery))
  and (d.current_version is not null or exists (select 1 from membership m where m.cluster_id = s.cluster_id))
order by score desc, s.id limit :limit
""",
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query, stemmed and quoted as Postgres wants it, with how often each population holds it."""

    word: str
    totals: tuple[int, int, int]
    holding: tuple[int, int, int]

    def weight(self, population: Population) -> float:
        """The inverse document frequency of BM25; 0 where no text holds the word.

        Source: Robertson, Zaragoza, The Probabilistic Relevance Framework, 2009; 1 is added so that none is negative.
        """
        total, holding = self.totals[population.place], self.holding[population.place]
        return math.log(1 + (total - holding + 0.5) / (holding + 0.5)) if holding else 0.0


def terms(db: Database, dataset: str, query: str, language: str) -> list[Term]:
    """The query's different words in their order.

    Raises:
        SettingsError: Postgres has no such text search configuration.
    """
    found = db.rows(_TERMS, query=query, language=language, dataset=dataset)
    if not found:
        db.language_oid(language)
    return [Term(row[0], (row[1], row[3], row[5]), (row[2], row[4], row[6])) for row in found]


def ranked(db: Database, population: Population, dataset: str, words: Sequence[Term], limit: int) -> Sequence[Any]:
    """Rows (id, kind, score, document, ordinal, leaf, passed through) of the texts that hold any of the words."""
    weighed = [(word.word, weight) for word in words if (weight := word.weight(population))]
    if not weighed:
        return []
    parameters: dict[str, object] = {
        "dataset": dataset,
        "limit": limit,
        "any": " | ".join(_rarest(words, population, TEXTS_A_PLACE * limit)),
    }
    for place, (word, weight) in enumerate(weighed):
        parameters |= {f"term{place}": word, f"weight{place}": weight}
    if ":passed_through" in population.sql:
        parameters["passed_through"] = PASSED_THROUGH
    return db.rows(population.sql.format(score=_score(population.table, len(weighed))), **parameters)


def _rarest(words: Sequence[Term], population: Population, enough: int) -> Iterator[str]:
    """The words that a ranked text must hold one of, so that "the" does not make a search read every text."""
    texts = 0
    held = [word for word in words if word.holding[population.place]]
    for word in sorted(held, key=lambda word: word.holding[population.place]):
        if texts >= enough:
            return
        texts += word.holding[population.place]
        yield word.word


def _score(table: str, words: int) -> str:
    """Every label of a position weighs 1; normalization 1 divides by 1 + the logarithm of the text's length.

    Each query stands in a subselect, which Postgres evaluates once; a plain cast it repeats for every row.
    """
    return " + ".join(
        f"cast(:weight{n} as float8) * ts_rank('{{1,1,1,1}}', {table}.search, (select cast(:term{n} as tsquery)), 1)"
        for n in range(words)
    )
