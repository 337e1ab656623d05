// The page of one label: verdict, causes, rule, sequences, comparison.

const partOf = name => JSON.parse(document.getElementById(`part-${labels.findIndex(label => label.name === name)}`).textContent);

const amongKnown = label => isKnown(label.known) ? ` of ${count(label.known)} for which it is known` : '';

function labelPage(name, opened) {
  const label = labels.find(each => each.name === name);
  if (!label) return missingPage(name);
  const own = partOf(name);
  const drawings = [];
  const page = [
    element('div', {class: 'hero'}, element('h1', {tabindex: '-1'}, named(name, 120)),
      element('p', {class: 'lead'}, `${count(label.causes.length, 'cause')}, `,
        isKnown(label.support) ? `carried by ${count(label.support, 'sequence')}${amongKnown(label)}` : 'support unknown')),
    verdictSection(label),
    causesSection(label, own, drawings),
    ruleSection(label),
    sequencesSection(label, own, drawings, opened),
    compared(own),
    modelSection(own),
    neighbours(label),
  ];
  const draw = () => drawings.forEach(each => each());
  return {title: name, page, trail: [named(name, 40)], draw};
}

const missingPage = name => ({title: 'No such label', trail: [], page: [
  element('div', {class: 'hero'}, element('h1', {tabindex: '-1'}, 'No such label')),
  element('p', {}, 'This report has no label ', named(name), '. ', element('a', {href: '#'}, 'All labels'))]});

function verdictSection(label) {
  if (!label.level) return null;
  return element('section', {class: `banner ${label.level}`, 'aria-label': 'Verdict'},
    element('h2', {}, verdictBadge(label.level), element('span', {}, LEVELS[label.level][2])),
    label.reasons.length ? element('ul', {}, label.reasons.map(reason => element('li', {}, reason))) : null,
    label.missing.length ? [element('h3', {}, 'Is that all? Perhaps not:'),
      element('ul', {}, label.missing.map(reason => element('li', {}, reason)))] : null);
}

function causesSection(label, own, drawings) {
  if (!own.edges.length) return section('Causes', {}, element('p', {class: 'note'}, 'None found.'));
  const room = element('div', {class: 'drawing'});
  drawings.push(() => room.replaceChildren(causeGraph(label, own.edges, room.clientWidth)));
  const more = own.edges.length - DRAWN;
  return section('Causes', {}, element('figure', {}, room, element('figcaption', {class: 'aside'},
    'Thicker lines are stronger. Beside each line: the mean change in the label\u2019s probability, and the share of tested sequences in which the cause was found (95 % interval).',
    more > 0 ? ` The drawing shows the ${DRAWN} surest; the table has ${count(more)} more.` : '')), causeTable(own.edges), causeNotes(own.edges));
}

function ruleSection(label) {
  if (!('rule' in label)) return null;
  if (!label.rule) return section('Rule', {}, element('p', {class: 'note'}, 'No short rule is accurate enough.'));
  const {text, support, precision, recall, shortfall} = label.rule;
  return section('Rule', {}, element('p', {class: 'big-rule'}, element('code', {}, text)),
    shortfall ? element('p', {class: 'note'}, shortfall[0].toUpperCase() + shortfall.slice(1) + '.') : null, element('dl', {class: 'figures'},
    figure(percent(precision), 'Precision', 'of the sequences where it holds carry the label'), figure(percent(recall), 'Recall', 'of the sequences with the label'),
    figure(count(support), 'Held-out sequences', 'where it holds')));
}

function sequencesSection(label, own, drawings, opened) {
  if (!own.sequences.length) {
    return section('Example sequences', {}, element('p', {class: 'note'}, whyNoSequences()));
  }
  const views = own.sequences.map(sequence => sequenceView(label, sequence, sequence.id === opened));
  drawings.push(() => views.forEach(({room, draw}) => draw(room.clientWidth)));
  return section('Example sequences', {},
    element('p', {class: 'aside'}, 'Each mark is an event, placed in time. Marks above the line raised the label\u2019s probability, ',
      'marks below lowered it. Open a sequence to see all its events.'),
    views.map(({view}) => view));
}

function whyNoSequences() {
  if (!overview.parts.edges) return 'Not shown: this run has no edges of individual sequences.';
  return overview.most ? 'No single sequence shows a cause of this label.' : 'Left out to keep the page small.';
}

function modelSection(own) {
  const {quality} = own;
  if (!isKnown(quality.log_loss)) return null;
  return section('Model of this label', {}, element('dl', {class: 'figures'}, figure(decimal(quality.f1, 3), 'F1', `${count(quality.held_out)} held out`),
    figure(decimal(quality.auroc, 3), 'AUROC'), figure(decimal(quality.average_precision, 3), 'Average precision'),
    figure(decimal(quality.log_loss, 3), 'Log-loss', `${decimal(quality.base_log_loss, 3)} for the base rate`),
    figure(decimal(quality.calibration_error, 3), 'Calibration error')));
}

// Labels that share a cause, and links to the previous and the next label of the table.
function neighbours(label) {
  const own = new Set(label.causes.map(([event]) => event));
  const kin = labels.filter(each => each !== label && each.causes.some(([event]) => own.has(event))).slice(0, 12);
  const order = matching(), at = order.indexOf(label);
  const link = (to, word) => to
    ? element('a', {href: linkTo(to.name), rel: word}, word === 'prev' ? '← ' : '', named(to.name, 24), word === 'next' ? ' →' : '')
    : element('span', {});
  return element('nav', {class: 'neighbours', 'aria-label': 'Other labels'},
    kin.length ? element('p', {}, 'Shares a cause with ', kin.map((each, i) => [i ? ', ' : '', element('a', {href: linkTo(each.name)}, named(each.name, 32))])) : null,
    at < 0 ? null : element('div', {class: 'steps'}, link(order[at - 1], 'prev'), element('a', {href: '#'}, 'All labels'), link(order[at + 1], 'next')));
}
