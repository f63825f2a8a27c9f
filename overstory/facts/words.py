"""Words that tell a number's neighbor apart: labels, words in -s that are no nouns, function words."""

from __future__ import annotations

from overstory.facts.word_lists import spaced

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
