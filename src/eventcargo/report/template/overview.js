// The overview: verdicts, quality of the models, the table of labels, the settings of the run.

const REASONS = 6;
const NAMED = 10;

function overviewPage() {
  const table = labelTable();
  const n = labels.reduce((sum, label) => sum + label.causes.length, 0);
  const withCauses = labels.filter(label => label.causes.length).length;
  const {data} = overview;
  const page = [
    element('div', {class: 'hero'},
      element('h1', {tabindex: '-1'}, element('b', {}, count(n, 'cause')), ' of ', element('b', {}, count(withCauses, 'label'))),
      element('p', {class: 'lead'}, `Found in ${count(data.sequences, 'sequence')} with ${count(data.events, 'event')} of ${count(data.types, 'event type')}`
        + (withCauses < labels.length ? `; ${count(labels.length - withCauses, 'label')} without a cause.` : '.')),
      data.cohort ? element('p', {class: 'note', id: 'cohort'}, `Cohort: ${data.cohort}.`) : null,
      data.drift ? element('p', {class: 'note', id: 'drift'}, data.drift) : null, legend()),
    verdicts(table.update),
    element('div', {class: 'pair'}, modelQuality(), comparison()),
    table.view,
    aboutThisRun(),
  ];
  requestAnimationFrame(table.update);
  return {title: 'Overview', page, trail: []};
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
    strip(counts, counts.map(([level, n]) => `${LEVELS[level][0]}: ${n}`).join(', ')),
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

function modelQuality() {
  const {overall, events} = overview.quality;
  if (!isKnown(overall.log_loss)) return section('Quality of the models', {}, element('p', {class: 'note'}, 'Unknown: this run has no model quality.'));
  return section('Quality of the models', {}, element('dl', {class: 'figures'},
    figure(decimal(overall.f1_macro, 3), 'F1, mean over labels', `${decimal(overall.f1_weighted, 3)} weighted by support`),
    figure(decimal(overall.auroc, 3), 'AUROC', 'held-out sequences'),
    figure(decimal(overall.log_loss, 3), 'Log-loss', `${decimal(overall.base_log_loss, 3)} for base rates`),
    figure(decimal(overall.calibration_error, 3), 'Calibration error', 'gap between probability and frequency'),
    isKnown(events.perplexity) ? figure(decimal(events.perplexity, 0), 'Next-event perplexity',
      `${decimal(events.unigram_perplexity, 0)} from frequencies alone`) : null,
    overall.untrusted ? figure(count(overall.untrusted), 'Untrusted labels', 'not clearly better than the base rate') : null),
  trainingNotes().map(words => element('p', {class: 'note'}, words)));
}

function trainingNotes() {
  const {training} = overview.quality;
  if (!isKnown(training.term_seconds)) return [];
  const notes = [`The linear term and focused networks, which help ${count((training.focused || []).length, 'label')}, took ` +
    `${decimal(training.term_seconds, 0)} s, ${count(training.steps, 'step')} of the Transformer, which helps ` +
    `${count(training.helped.length, 'label')}, ${decimal(training.network_seconds, 0)} s.`];
  if (training.ended) notes.push(`Training ended early: ${training.ended}.`);
  const some = names => names.slice(0, NAMED).join(', ') + (names.length > NAMED ? ', …' : '');
  if (training.presence_only.length) notes.push('For lack of time, order, count and time of events were not looked at for ' +
    `${count(training.presence_only.length, 'label')}: ${some(training.presence_only)}.`);
  if (training.not_fitted.length) notes.push('For lack of time, nothing but the base rate was fitted for ' +
    `${count(training.not_fitted.length, 'label')}: ${some(training.not_fitted)}.`);
  return notes;
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
    ['Program', `eventcargo ${overview.version}`]];
  return section('About this run', {}, element('dl', {class: 'about'}, rows.map(([key, value]) => [element('dt', {}, key), element('dd', {}, value)])));
}

const legend = () => element('p', {class: 'legend'},
  element('span', {}, mark(1), ' raises the label\u2019s probability'), element('span', {}, mark(-1), ' lowers it'));
