// The overview: the picture of the finding, verdicts, the table of labels, the settings of the run.

const REASONS = 6;

function overviewPage() {
  const table = labelTable();
  const finding = pictureSection();
  const n = labels.reduce((sum, label) => sum + label.causes.length, 0);
  const withCauses = labels.filter(label => label.causes.length).length;
  const {data} = overview;
  const page = [
    element('div', {class: 'hero'},
      element('h1', {tabindex: '-1'}, element('b', {}, count(n, 'cause')), ' of ', element('b', {}, count(withCauses, 'label'))),
      element('p', {class: 'lead', id: 'run-line'}, runLine(withCauses)),
      data.cohort ? element('p', {class: 'note', id: 'cohort'}, `Cohort: ${data.cohort}.`) : null,
      overview.notes.length ? element('div', {class: 'run-notes', role: 'note'}, overview.notes.map(words => element('p', {}, words))) : null),
    finding.view,
    verdicts(table.update),
    table.view,
    comparison(),
    aboutThisRun(),
  ];
  requestAnimationFrame(table.update);
  return {title: 'Findings', page, trail: [], draw: finding.draw};
}

// The counts of the run in one line.
function runLine(withCauses) {
  const {data} = overview, without = labels.length - withCauses;
  return [count(data.sequences, 'sequence'), count(data.events, 'event'), count(data.types, 'event type'),
    count(labels.length, 'label') + (without ? ` (${count(without)} without a cause)` : ''), `eventcargo ${overview.version}`, overview.date]
    .filter(Boolean).map((part, at) => [at ? element('span', {class: 'dot-between', 'aria-hidden': 'true'}, ' · ') : null, element('span', {class: 'whole'}, part)]);
}

function verdicts(update) {
  const judged = labels.filter(label => label.level);
  if (!judged.length) {
    return section('Can you trust these causes?', {},
      element('p', {class: 'note'}, 'Not judged: this run has no verdicts. Treat every cause as a candidate.'));
  }
  const counts = Object.keys(LEVELS).map(level => [level, judged.filter(label => label.level === level).length]);
  const choose = level => {
    state.level = state.level === level ? null : level;
    update();
    document.getElementById('labels').scrollIntoView({block: 'nearest'});
  };
  const tiles = counts.map(([level, n]) => element('button', {type: 'button', class: `tile ${level}`, 'data-level': level,
    'aria-pressed': String(state.level === level), onclick: () => choose(level)},
  element('span', {class: 'tile-count'}, element('span', {class: 'tile-mark', 'aria-hidden': 'true'}, LEVELS[level][1]), count(n)),
  element('span', {class: 'tile-name'}, LEVELS[level][0]), element('span', {class: 'aside'}, LEVELS[level][2])));
  return section('Can you trust these causes?', {},
    element('div', {class: 'tiles'}, tiles), reasons(judged), incomplete(judged));
}

function incomplete(judged) {
  const n = judged.filter(label => label.missing.length).length;
  return n ? element('p', {class: 'aside', id: 'incomplete'}, `Is that all? Perhaps not for ${count(n, 'label')}; open ${n === 1 ? 'it' : 'one'} to read why.`) : null;
}

function reasons(judged) {
  const worst = judged.filter(label => label.level !== 'trust' && label.reasons.length)
    .sort((a, b) => RANKS[b.level] - RANKS[a.level] || b.support - a.support);
  if (!worst.length) return null;
  const rest = worst.length - REASONS;
  return element('ul', {class: 'reasons'}, worst.slice(0, REASONS).map(label => element('li', {},
    verdictBadge(label.level), ' ', element('a', {href: linkTo(label.name)}, named(label.name, 40)), ' ', element('span', {}, label.reasons[0]))),
  rest > 0 ? element('li', {class: 'faint'}, `and ${count(rest)} more in the table`) : null);
}

function comparison() {
  if (!overview.parts.baseline) return null;
  const sums = labels.map(agreement).reduce((a, b) => ({both: a.both + b.both, here: a.here + b.here, there: a.there + b.there}), {both: 0, here: 0, there: 0});
  const shares = [['both', sums.both], ['here', sums.here], ['there', sums.there]];
  const words = {both: 'found by both', here: 'only in this run', there: 'only in the baseline'};
  return section('Compared with a classical baseline', {},
    strip(shares, shares.map(([kind, n]) => `${words[kind]}: ${n}`).join(', ')),
    element('ul', {class: 'key'}, shares.map(([kind, n]) => element('li', {}, swatch(kind),
      element('b', {}, count(n)), ` ${words[kind]}`))),
    element('p', {class: 'aside'}, 'The baseline uses which event types occurred, not their order, number or times. Check the causes that only one of the two found.'));
}

function aboutThisRun() {
  const {data} = overview;
  const rows = [...overview.about,
    ['Sequences', `${count(data.sequences)}, with ${count(data.lengths[0])} to ${count(data.lengths[2], 'event')}, median ${count(data.lengths[1])}`],
    ['Events', `${count(data.events)} of ${count(data.types, 'event type')}`], ['Times', data.times], ['Labels', count(labels.length)],
    ['Program', `eventcargo ${overview.version}`],
    ...(names.length < data.types ? [['In this page', `${count(names.length)} event types: all causes, then the most frequent; ${count(data.types - names.length)} more are left out to keep it small`]] : []),
    ...(overview.most < 8 ? [['Examples', overview.most ? `at most ${count(overview.most)} sequences for each label, to keep the page small` : 'left out to keep the page small']] : [])];
  return section('About this run', {}, element('dl', {class: 'about'}, rows.map(([key, value]) => [element('dt', {}, key), element('dd', {}, value)])));
}
