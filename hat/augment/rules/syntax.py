"""The rule syntax: which sentences of a Markdown item are rules, and how a rule's atoms are said in a given form.

::

    item      = statement { ("; " | ". ") statement } ["."]
    statement = table | [condition] directive | condition denial | denial role
    table     = "By" attribute ":" key value { "," key value }          at least two; a value begins with a literal
              | thing "as" key ":" value { ", as" key ":" value }       at least two, as above
    condition = ("If" | "When" ...) clause ","  |  [("For" | "With" ...)] noun ":"
    directive = ["First"] [modality] verb rest                          the verb is one of the bank's
    denial    = "no" thing
    role      = "as" noun                                               what `As noun: no thing` says

An item with any other sentence, or with a session value, is free prose, and nothing here changes it.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from hat.augment.banks import bank
from hat.augment.rules.atoms import Modality, Rule, Statement, lower_start, upper_start

_SEPARATOR = re.compile(r"(?:;|(?<=[a-z`\")])\.) +")
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")
_TABLE = re.compile(r"by ([a-z][\w -]*): (.+)", re.I)
_ENTRY = re.compile(r"(\S(?:.*?\S)?) ((?:\d|`|\").*)")
_AS_TABLE = re.compile(r"([a-z][\w -]*?) (as .+)", re.I)
_AS_ENTRY = re.compile(r"as ([^:]*[^:\s]): ((?:\d|`|\").*)")
_DENIAL_OF_ROLE = re.compile(r"no ([\w -]+?) (as [\w -]+)", re.I)
_FIRST = re.compile(r"first,? (?!of )", re.I)


@lru_cache(maxsize=4096)
def parse_rule(item: str) -> Rule | None:
    """The rule that an item is; None where any part of it is free prose."""
    if "{{" in item or "{%" in item or "\n" in item:
        return None
    end = "." if item.endswith(".") else ""
    body = item.removesuffix(".")
    statements = [_statement(text.strip()) for text in _split(body)]
    if not all(statements):
        return None
    return Rule(tuple(statement for statement in statements if statement), end)


def _split(text: str) -> Iterator[str]:
    """Sentences; a separator inside a quotation or code span is none."""
    hidden = _QUOTED.sub(lambda match: "x" * len(match.group()), text)
    start = 0
    for match in _SEPARATOR.finditer(hidden):
        yield text[start : match.start()]
        start = match.end()
    yield text[start:]


def _statement(text: str) -> Statement | None:
    if (table := _TABLE.fullmatch(text)) and (pairs := _entries(table[2], _ENTRY)):
        return Statement(text, "value", condition=table[1], entries=pairs)
    for kind, expression in _condition_forms():
        match = expression.fullmatch(text)
        if match:
            condition = match["c"] if match["prefix"] else lower_start(match["c"])
            found = _directive(match["a"]) or _denial(match["a"])
            if found and not found["first"]:
                return Statement(text, condition=condition, clause=kind == "clause", **found)
    if found := _directive(text):
        return Statement(text, **found)
    if (table := _AS_TABLE.fullmatch(text)) and (pairs := _entries(table[2], _AS_ENTRY)):
        return Statement(text, "value", condition=lower_start(table[1]), entries=pairs, link="as")
    if role := _DENIAL_OF_ROLE.fullmatch(text):
        return Statement(text, "must not", condition=role[2], rest=role[1])
    return None


def _entries(text: str, form: re.Pattern[str]) -> tuple[tuple[str, str], ...]:
    """Key and value of each entry of a table; none unless there are two and each has the form."""
    entries = [form.fullmatch(entry.strip()) for entry in text.split(", ")]
    pairs = tuple((entry[1], entry[2]) for entry in entries if entry)
    return pairs if 1 < len(pairs) == len(entries) else ()


def _directive(text: str) -> dict[str, Any] | None:
    first = _FIRST.match(text)
    body = text[first.end() :] if first else text
    for prefix, modality in _modality_prefixes():
        if body[: len(prefix)].lower() == prefix:
            found = _verb(body[len(prefix) :])
            if found:
                return {"modality": modality, "first": bool(first), "verb": found[0], "rest": found[1]}
    return None


def _verb(text: str) -> tuple[str, str] | None:
    words = text.split(" ")
    for count in (2, 1):
        lemma = _verb_forms().get(" ".join(words[:count]).lower())
        if lemma and len(words) > count:
            return lemma, " ".join(words[count:])
    return None


def _denial(text: str) -> dict[str, Any] | None:
    for expression in _denial_forms():
        match = expression.fullmatch(text)
        if match:
            return {"modality": "must not", "first": False, "verb": "", "rest": match["a"]}
    return None


def say(statement: Statement, *, modality: str | None, condition: str | None, verb: str | None) -> str:
    """The statement in other forms of the bank; a part whose form is None is said plainly, a verb by its first form.

    A table has one form only.
    """
    if statement.entries:
        return statement.text
    if statement.verb:
        plain = bank("rule_wordings")["modalities"][statement.modality]["plain"][0]
        action = (modality or plain).replace("{a}", f"{verb or statement.verb} {statement.rest}")
    else:
        action = (modality or "no {a}").replace("{a}", statement.rest)
    if statement.first:
        action = f"first {action}"
    if not statement.condition:
        return upper_start(action)
    kind = "clause" if statement.clause else "noun"
    form = condition or bank("rule_wordings")["conditions"][kind]["plain"][0]
    return upper_start(form.replace("{c}", statement.condition).replace("{a}", action))


def forms_for(statement: Statement, split: str) -> tuple[list[str], list[str], list[str]]:
    """What the bank of a split has for a statement: modality forms, condition forms, verbs."""
    words = bank("rule_wordings")
    if statement.entries:
        return [], [], []
    kind = "clause" if statement.clause else "noun"
    conditions = words["conditions"][kind][split] if statement.condition else []
    if statement.condition.startswith("as "):
        conditions = []  # "as food" takes no second preposition
    if not statement.verb:
        return words["denials"][split], conditions, []
    return (
        words["modalities"][statement.modality][split],
        conditions,
        words["verbs"][statement.verb].get(split, []),
    )


@cache
def _modality_prefixes() -> tuple[tuple[str, Modality], ...]:
    """Longest first, so that `you must not` is not read as `you must`."""
    forms = [
        (form.removesuffix("{a}"), modality)
        for modality, by_split in bank("rule_wordings")["modalities"].items()
        for listed in by_split.values()
        for form in listed
    ]
    return tuple(sorted(forms, key=lambda form: -len(form[0])))


@cache
def _verb_forms() -> dict[str, str]:
    forms = {lemma: lemma for lemma in bank("rule_wordings")["verbs"]}
    for lemma, by_split in bank("rule_wordings")["verbs"].items():
        forms.update({form: lemma for listed in by_split.values() for form in listed})
    return forms


@cache
def _denial_forms() -> tuple[re.Pattern[str], ...]:
    forms = [form for listed in bank("rule_wordings")["denials"].values() for form in listed]
    return tuple(_pattern(form) for form in sorted(forms, key=lambda form: -len(form)))


@cache
def _condition_forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    forms = [
        (kind, form)
        for kind, by_split in bank("rule_wordings")["conditions"].items()
        for listed in by_split.values()
        for form in listed
    ]
    return tuple((kind, _pattern(form)) for kind, form in sorted(forms, key=lambda form: -len(form[1])))


def _pattern(form: str) -> re.Pattern[str]:
    """The form as an expression with groups ``prefix`` (words before the condition), ``c`` and ``a``."""
    before, _, rest = form.partition("{c}") if "{c}" in form else ("", "", form)
    expression = re.escape(rest).replace(re.escape("{a}"), "(?P<a>.+)")
    if "{c}" in form:
        expression = f"(?P<prefix>{re.escape(before)})(?P<c>[^:;]+?){expression}"
    return re.compile(expression, re.I)
