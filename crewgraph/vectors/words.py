"""A text as the words that the local embedder looks at: folded, with identifiers taken apart and Chinese in pairs."""

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum

__all__ = ["WordKind", "words_of"]


class WordKind(Enum):
    """What a word is, which says how much it weighs."""

    WORD = "word"
    SHORT = "short"
    """At most two letters, of a script that writes words."""

    FILLER = "filler"
    """"the", "of": in every text, and about nothing."""

    SIGN = "sign"
    """A single letter of a script without spaces."""

    PAIR = "pair"
    """Two such letters side by side."""


_ENGLISH = """
a about after all also an and any are as at be been before but by can could did do does for from had has have he her his how
i if in into is it its just may me more most my no not of on or our out over she should so some such than that the their them
then there these they this those to too under up us was we were what when where which who why will with would you your
"""
_GERMAN = """
aber als am an auch auf aus bei bis das dass dem den der des die durch ein eine einem einen einer eines er es fur hat ich ihr
ihre im in ist kein keine man mit nach nicht noch nur oder sich sie sind so uber um und unter vom von vor wann war was welche
welcher welches wenn wer wie wir wird wo zu zum zur
"""
_FRENCH_AND_SPANISH = """
au aux avec ce ces dans de des du elle en est et il ils je la le les leur lui mais ne nous on ou par pas plus pour qu que qui
sa se ses son sont sur un une vous al como con cual del donde el ella en entre era es esta este fue ha la las lo los mas muy
no o para pero por que se sin son su sus un una y ya
"""
_FILLERS = frozenset((_ENGLISH + _GERMAN + _FRENCH_AND_SPANISH).split())

_MARKS = dict.fromkeys(range(0x0300, 0x0370))
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(text: str) -> Iterator[tuple[str, WordKind]]:
    """The words of a text in their order, without case, accents and punctuation.

    "customerId" and "customer_id" are two words each. Scripts that put no spaces between words (Chinese, Japanese, Thai)
    give their letters and the pairs of neighbours.
    """
    plain = _HUMP.sub(" ", unicodedata.normalize("NFKC", text))
    if not plain.isascii():
        # Accents go, whatever else is composed of several signs (Korean, Japanese voicing) stays whole.
        plain = unicodedata.normalize("NFC", unicodedata.normalize("NFKD", plain.casefold()).translate(_MARKS))
    for found in _RUN.findall(plain.casefold()):
        if found[0] >= "\u0e00" and _is_unspaced(found[0]):
            yield from ((letter, WordKind.SIGN) for letter in found)
            yield from ((found[at : at + 2], WordKind.PAIR) for at in range(len(found) - 1))
        elif found in _FILLERS:
            yield found, WordKind.FILLER
        else:
            yield found, WordKind.SHORT if len(found) < 3 else WordKind.WORD


_is_unspaced = re.compile(f"[{_UNSPACED}]").match
