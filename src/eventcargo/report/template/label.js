// The page of one label: verdict, causes, rule, sequences, comparison.

const part = name => JSON.parse(document.getElementById(`part-${labels.findIndex(label => label.name === name)}`).textContent);

function labelPage(name, opened) {
  const label = labels.find(each => each.name === name);
  if (!label) return missingPage(name);
  const own = part(name);
  const drawings = [];
  const page = [
    element('div', {class: 'hero'}, element('h1', {tabindex: '-1'}, named(name, 120)),
      element('p', {class: 'lead'}, `${count(label.causes.length, 'cause')}, `,
        isKnown(label.support) ? `carried by ${count(label.support, 'sequence')}` : 'support not known')),
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
    label.reasons.length ? element('ul', {}, label.reasons.map(reason => element('li', {}, reason))) : null);
}

function causesSection(label, own, drawings) {
  if (!own.edges.length) return section('Causes', {}, element('p', {class: 'note'}, 'None found.'));
  const room = element('div', {class: 'drawing'});
  drawings.push(() => room.replaceChildren(causeGraph(label, own.edges, room.clientWidth)));
  const more = own.edges.length - DRAWN;
  return section('Causes', {}, element('figure', {}, room, element('figcaption', {class: 'aside'},
    'Thicker is stronger. Beside each line: the mean change of the label\u2019s probability, and in how many of the tested sequences it was found (95 % interval).',
    more > 0 ? ` The ${DRAWN} strongest are drawn, ${count(more)} more are in the table.` : '')), causeTable(own.edges));
}

function ruleSection(label) {
  if (!('rule' in label)) return null;
  if (!label.rule) return section('Rule', {}, element('p', {class: 'note'}, 'No short rule holds well enough.'));
  const {text, support, precision, recall} = label.rule;
  return section('Rule', {}, element('p', {class: 'big-rule'}, element('code', {}, text)), element('dl', {class: 'figures'},
    figure(percent(precision), 'Precision', 'of those it holds in carry the label'), figure(percent(recall), 'Recall', 'of those that carry the label'),
    figure(count(support), 'Held-out sequences', 'in which it holds')));
}

function sequencesSection(label, own, drawings, opened) {
  if (!own.sequences.length) {
    return section('Sequences that show it', {}, element('p', {class: 'note'}, whyNoSequences()));
  }
  const views = own.sequences.map(sequence => sequenceView(label, sequence, sequence.id === opened));
  drawings.push(() => views.forEach(({room, draw}) => draw(room.clientWidth)));
  return section('Sequences that show it', {},
    element('p', {class: 'aside'}, 'Each mark is an event, in time. Those standing up raised the chance of the label, ',
      'those hanging down lowered it. Open one to read all its events.'),
    views.map(({view}) => view));
}

function whyNoSequences() {
  if (!overview.parts.edges) return 'Not shown: this run has no edges of single sequences.';
  return overview.most ? 'No single sequence shows a cause of this label.' : 'Left out, to keep the page small.';
}

function modelSection(own) {
  const found = own.quality;
  if (!isKnown(found.log_loss)) return null;
  return section('Model of this label', {}, element('dl', {class: 'figures'}, figure(decimal(found.f1, 3), 'F1', `${count(found.held_out)} held out`),
    figure(decimal(found.auroc, 3), 'AUROC'), figure(decimal(found.average_precision, 3), 'Average precision'),
    figure(decimal(found.log_loss, 3), 'Log-loss', `${decimal(found.base_log_loss, 3)} for the base rate`),
    figure(decimal(found.calibration_error, 3), 'Calibration error')));
}

// Labels that share a cause, and the ways to the labels before and after in the table.
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
