/* The search lists task pages first, and one page per method of each class of results last. Scores are Sphinx's. */
var Scorer = {
  score: ([page, , , , score]) => {
    if (/^docs\/(installation|getting-started|guide|faq|glossary|citing|migration)/.test(page)) return score + 8;
    if (/\/generated\/(\w+\.)+[A-Z]\w+\.\w/.test(page) || /^(CHANGELOG|CONTRIBUTING|NOTATION|docs\/decisions)/.test(page))
      return score - 8;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
