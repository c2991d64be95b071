"""A difference as one HTML file without scripts or outside references, readable on a phone and on a desk."""

from html import escape

from hat.harness.diffing.change import RISKS, Change, Difference
from hat.harness.diffing.present import headline, sections, sentence, summary, texts

_STYLE = """
:root { color-scheme: light dark; --text: #1c1e21; --soft: #5b6068; --ground: #ffffff; --card: #f4f5f7; --line: #d9dce1;
  --cosmetic: #5b6068; --preserving: #1a6b3c; --behaviour: #a3341f; --old: #fbe9e7; --new: #e6f4ea; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --soft: #a0a6af; --ground: #15171a; --card: #1e2125;
  --line: #33373d; --cosmetic: #a0a6af; --preserving: #6cc78f; --behaviour: #f08a76; --old: #3a211e; --new: #1c3325; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.35rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
.said { color: var(--soft); border-left: 3px solid var(--line); padding-left: .75rem; margin: 0 0 1rem; }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; padding: 0; margin: 1rem 0; list-style: none; }
.counts li, .risk { border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem;
  font-size: .85rem; white-space: nowrap; }
.cosmetic { color: var(--cosmetic); } .preserving { color: var(--preserving); }
.behaviour-changing { color: var(--behaviour); }
article { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem;
  margin: .6rem 0; }
.head { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; justify-content: space-between; }
.head strong { overflow-wrap: anywhere; min-width: 0; }
.means { color: var(--soft); font-size: .9rem; margin: .35rem 0 0; }
pre { margin: .5rem 0 0; padding: .4rem .6rem; border-radius: .3rem; white-space: pre-wrap; overflow-wrap: anywhere;
  font: .85rem/1.45 ui-monospace, monospace; }
.old { background: var(--old); } .new { background: var(--new); }
ul.refused { margin: .4rem 0 0; padding-left: 1.2rem; color: var(--behaviour); }
"""


def html(difference: Difference) -> str:
    """The page; the harness's texts are escaped, so that none can be markup."""
    counts = "".join(
        f'<li class="{risk}">{sum(change.risk == risk for change in difference.changes)} {risk}</li>'
        for risk in reversed(RISKS)
    )
    body = "".join(
        f"<section><h2>{escape(heading)}</h2>{''.join(map(_article, changes))}</section>"
        for heading, changes in sections(difference).items()
    )
    title = escape(headline(difference))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><main><h1>{title}</h1>"
        f'<p class="said" dir="auto">{escape(" ".join(difference.changed.split()))}</p>'
        f'<p>{escape(summary(difference))}</p><ul class="counts">{counts}</ul>{body}</main></body></html>\n'
    )


def _article(change: Change) -> str:
    shown = "".join(
        f'<pre class="{"old" if sign == "-" else "new"}" dir="auto">{sign} {escape(line)}</pre>'
        for sign, line in texts(change)
    )
    refused = "".join(f"<li>{escape(line)}</li>" for line in change.refused)
    means = escape(f"{change.why}; {change.training}" if change.why else change.training)
    return (
        f'<article><div class="head"><strong>{escape(sentence(change))}</strong>'
        f'<span class="risk {change.risk}">{change.risk}</span></div>{shown}'
        f"{f'<ul class=refused>{refused}</ul>' if refused else ''}"
        f'<p class="means">{means}.</p></article>'
    )
