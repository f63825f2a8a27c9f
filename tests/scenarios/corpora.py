"""Documents of a few known sizes and subjects."""

from __future__ import annotations

from collections.abc import Mapping

SUBJECTS = {
    "billing": "invoice payment card refund tax currency receipt charge balance credit",
    "network": "router packet latency gateway firewall subnet bandwidth protocol socket routing",
    "garden": "soil compost seedling pruning orchard harvest mulch blossom irrigation greenhouse",
    "travel": "passport airline luggage visa itinerary hostel departure terminal customs ferry",
    "music": "melody orchestra tempo chord violin concert rehearsal symphony conductor rhythm",
    "medicine": "dosage clinic vaccine symptom therapy nurse diagnosis surgery antibiotic ward",
}


def document(subject: str, number: int, paragraphs: int = 1) -> str:
    """A text on a subject in which every paragraph states facts of its own."""
    words = SUBJECTS[subject].split()
    return "\n\n".join(_paragraph(words, subject, number, place) for place in range(paragraphs)) + "\n"


def _paragraph(words: list[str], subject: str, number: int, place: int) -> str:
    one, two, three = (words[(number + place + step) % len(words)] for step in range(3))
    amount = 1000 + 37 * number + 11 * place
    return (
        f"The {subject} team reviewed the {one} and the {two} of unit {number}. "
        f"The {three} rose to ${amount} on 2025-{1 + number % 12:02d}-{1 + place % 28:02d}. "
        f"Every {one} needs a {two} before the {three} is approved."
    )


def corpus(count: int, paragraphs: int = 1) -> Mapping[str, str]:
    """``count`` documents on all subjects in turn."""
    subjects = list(SUBJECTS)
    return {
        f"{subjects[n % len(subjects)]}/{n:03d}.md": document(subjects[n % len(subjects)], n, paragraphs)
        for n in range(count)
    }


def grouped(groups: int, members: int) -> Mapping[str, str]:
    """Well-separated groups: the documents of a group share words that no other group has."""
    found = {}
    for group in range(groups):
        for member in range(members):
            words = " ".join(f"word{group}x{place}" for place in range(12))
            found[f"g{group}/{member}.md"] = f"Group {group} holds {words}. Item {member} costs ${100 + member}.\n"
    return found
