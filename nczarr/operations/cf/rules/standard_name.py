"""3.3 Standard names."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.names import closest, suggest
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.standard_name_table import (
    area_types,
    find_standard_name,
    regions,
    standard_name_version,
    suggest_standard_name,
)
from nczarr.operations.cf.values import has_values, read_texts
from nczarr.operations.cf.view import CFDataset, CFVariable

R = Rules("cf-standard-name", "3.3")

MODIFIERS = ("detection_minimum", "number_of_observations", "standard_error", "status_flag")
DEPRECATED = ("number_of_observations", "status_flag")

RULES = (
    R.must("text", "`standard_name` is a text: a standard name, and perhaps a modifier.",
        'float t ; t:units = "K" ; t:standard_name = «1|"air_temperature"» ;',
        "write a name of the table, or remove the attribute"),
    R.must("table", "The standard name is in the table of standard names.",
        'float t ; t:units = "K" ; t:standard_name = "«air_temprature|air_temperature»" ;',
        "choose a name of the table, or describe the variable by `long_name`"),
    R.must("modifier", "The modifier is one of Appendix C.",
        'float t ; t:units = "K" ; t:standard_name = "air_temperature «error|standard_error»" ;',
        "the modifiers are `detection_minimum`, `standard_error`, `number_of_observations` and `status_flag`"),
    R.must("words", "Values of `region` and `area_type` are those of the lists.",
        'dimensions: n = 6 ; variables: char r(n) ; r:standard_name = "region" ; data: r = "«afrika|africa»" ;',
        "choose a word of the list"),
    R.should("deprecated", "The modifiers `status_flag` and `number_of_observations` are deprecated.",
        'float t ; t:standard_name = "«air_temperature number_of_observations|number_of_observations»" ;',
        "write the modifier alone: it is a standard name", since=(1, 7)),
)  # fmt: skip


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


TOPIC = Topic(RULES, find)
