"""3.3 Standard names."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.names import closest, suggest
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.standard_name_table import (
    area_types,
    find_standard_name,
    regions,
    standard_name_version,
    suggest_standard_name,
)
from nczarr.operations.cf.values import has_values, read_texts
from nczarr.operations.cf.view import CFDataset, CFVariable

MODIFIERS = ("detection_minimum", "number_of_observations", "standard_error", "status_flag")
DEPRECATED = ("number_of_observations", "status_flag")


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find names that are not in the table."""
    for variable in dataset.variables.values():
        node = variable.attributes.get("standard_name")
        if node is None:
            continue
        words = variable.text("standard_name").split()
        if variable.kind("standard_name") != "text" or not words:
            yield Breach("text", f"`standard_name` of `{variable.path}` is not a standard name", node)
            continue
        if find_standard_name(words[0]) is None:
            meant = suggest_standard_name("_".join(words) if len(words) > 2 else words[0])
            what = f"`{words[0]}` of `{variable.path}` is not in version {standard_name_version()} of the table"
            yield Breach("table", what, node, words[0], (f"did you mean `{meant}`?",) if meant else ())
        if len(words) > 2 or (words[1:] and words[1] not in MODIFIERS):
            what = f"`{' '.join(words[1:])}` of `{variable.path}` is not a modifier of standard names"
            yield Breach("modifier", what, node, words[1], tuple(suggest(words[1], MODIFIERS)))
        elif words[1:] and words[1] in DEPRECATED:
            yield Breach("deprecated", f"the modifier `{words[1]}` of `{variable.path}` is deprecated", node, words[1])
        if words[0] in ("region", "area_type"):
            yield from _find_words(dataset, variable, words[0])


def _find_words(dataset: CFDataset, variable: CFVariable, name: str) -> Iterator[Breach]:
    allowed = regions() if name == "region" else area_types()
    if variable.type in ("char", "string"):
        words = read_texts(dataset, variable) if has_values(dataset, variable) else []
    else:
        words = variable.text("flag_meanings").split()
    for word in dict.fromkeys(words):
        if word and word not in allowed and word.replace(" ", "_").lower() not in allowed:
            meant = closest(word, allowed)
            helps = (f"did you mean `{meant}`?",) if meant else ()
            yield Breach("words", f"`{variable.path}` has the unknown {name} `{word}`", variable.node, "", helps)


TOPIC = Topic(load_rules("standard_name"), find)
