"""How the page of a fit looks: light and dark, on paper and on a phone."""

STYLE = """\
:root { color-scheme: light dark;
  --ink: #1b1f24; --soft: #59636e; --line: #d6dbe1; --paper: #ffffff; --shade: #f5f7f9;
  --look: #8a5a00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #9aa4af; --line: #38404a; --paper: #14181d; --shade: #1d2228;
  --look: #e0b04a; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 1.2rem 1rem 3rem; }
h1 { font-size: 1.25rem; overflow-wrap: anywhere; margin: .4rem 0 1rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .6rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
.wide { overflow-x: auto; margin: 0 0 .9rem; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
tr > :first-child { text-align: left; padding-left: 0; }
th { font-weight: 600; }
.words td, .words th { text-align: left; white-space: normal; vertical-align: top; }
.doubtful td:nth-child(2) { color: var(--look); font-weight: 600; }
.bad td:nth-child(2) { color: var(--bad); font-weight: 600; }
pre { background: var(--shade); padding: .7rem .8rem; border-radius: .3rem; overflow-x: auto; font-size: .8rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.notes { color: var(--soft); font-size: .85rem; padding-left: 1.3rem; }
figure { margin: 0; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: .3rem; }
figcaption { color: var(--soft); font-size: .85rem; }
@media (max-width: 36rem) { table { font-size: .76rem; } th, td { padding: .2rem .35rem; } }
@media print { main { max-width: none; padding: 0; } section { break-inside: avoid; } }
"""
