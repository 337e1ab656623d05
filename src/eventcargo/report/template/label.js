// The page of one label: verdict, causes, rule, sequences, figures, comparison, model.

const partOf = name => JSON.parse(document.getElementById(`part-${labels.findIndex(label => label.name === name)}`).textContent);

const amongKnown = label => isKnown(label.known) ? ` of ${count(label.known)} for which it is known`
  : label.among ? ` of ${count(label.among[1])} (${share(...label.among)})` : '';

function labelPage(name, opened) {
  const label = labels.find(each => each.name === name);
  if (!label) return missingPage('label', name);
  const own = partOf(name);
  const drawings = [];
  const page = [
    element('div', {class: 'hero'}, element('p', {class: 'kicker'}, 'Label'), element('h1', {tabindex: '-1'}, named(name, 120)),
      element('p', {class: 'lead'}, `${count(label.causes.length, 'cause')}; `,
        isKnown(label.support) ? `carried by ${count(label.support, 'sequence')}${amongKnown(label)}` : 'support unknown')),
    verdictSection(label),
    causesSection(label, drawings),
    ruleSection(label),
    sequencesSection(label, own, drawings, opened),
    figuresSection(label, own),
    compared(own),
    modelSection(own),
    neighbours(label),
  ];
  const draw = () => drawings.forEach(each => each());
  return {title: name, page, trail: [named(name, 40)], draw};
}

const missingPage = (kind, name) => ({title: `No such ${kind}`, trail: [], page: [
  element('div', {class: 'hero'}, element('h1', {tabindex: '-1'}, `No such ${kind}`)),
  element('p', {}, `This report has no ${kind} `, named(name), '. ', element('a', {href: '#'}, 'All findings'))]});

function verdictSection(label) {
  if (!label.level) return null;
  return element('section', {class: `banner ${label.level}`}, heading('Verdict'),
    element('p', {class: 'verdict-line'}, verdictBadge(label.level), element('span', {}, LEVELS[label.level][2])),
    label.reasons.length ? element('ul', {}, label.reasons.map(reason => element('li', {}, reason))) : null,
    label.missing.length ? [element('h3', {}, 'Is that all? Perhaps not:'),
      element('ul', {}, label.missing.map(reason => element('li', {}, reason)))] : null);
}

const familyNote = event => overview.families[event] ? element('span', {class: 'faint'}, ` family of ${count(overview.families[event].n)}`) : null;

function causesSection(label, drawings) {
  const edges = edgesOf(label);
  if (!edges.length) return section('Causes', {}, element('p', {class: 'note'}, 'None found.'));
  const {table, draw} = forestTable(edges, 'Cause', edge => [nameLink(edge.event, 60), familyNote(edge.event)]);
  drawings.push(draw);
  return section('Causes', {downloads: [
    svgButton('the odds ratios', `${label.name} causes`, () => wholeForest(edges, edge => names[edge.event])),
    csvButton('the causes', `${label.name} causes`, () => causeRows(edges))]}, table,
  edges.some(edge => isKnown(edge.odds_ratio)) ? element('p', {class: 'aside'}, 'Odds ratio: with the event type, as a multiple of without it, all other causes alike. An event type that acts by its order, number or time alone has odds near \u00d71.')
    : element('p', {class: 'aside'}, 'No odds ratios: these causes were not tested on the data.'));
}

function ruleSection(label) {
  if (!('rule' in label)) return null;
  if (!label.rule) return section('Rule', {}, element('p', {class: 'note'}, 'No short rule is accurate enough.'));
  const {text, support, precision, recall, shortfall} = label.rule;
  return section('Rule', {}, element('p', {class: 'big-rule'}, element('code', {}, text)),
    shortfall ? element('p', {class: 'note'}, shortfall[0].toUpperCase() + shortfall.slice(1) + '.') : null,
    ruleCounts(label), element('dl', {class: 'figures'},
      figure(percent(precision), 'Precision', 'of the sequences where it holds carry the label'), figure(percent(recall), 'Recall', 'of the sequences with the label'),
      figure(count(support), 'Held-out sequences', 'where it holds')));
}

// What the rule says in counts of all sequences: with it and without it.
function ruleCounts({rule, among}) {
  if (!rule.counts || !among) return null;
  const rest = [among[0] - rule.counts[0], among[1] - rule.counts[1]];
  const line = (words, [part, whole], kind) => {
    const filled = element('span', {class: `share-bar ${kind}`});
    filled.style.width = `${whole ? 100 * part / whole : 0}%`;
    return element('div', {class: 'share'}, element('span', {}, words), element('span', {class: 'share-room', 'aria-hidden': 'true'}, filled), element('b', {}, share(part, whole)));
  };
  return element('div', {class: 'shares', id: 'rule-counts'},
    element('p', {}, `Of ${count(rule.counts[1], 'sequence')} where the rule holds, `, element('b', {}, count(rule.counts[0])), ` carry the label; without, `, element('b', {}, count(rest[0])), ` of ${count(rest[1])}.`),
    line('rule holds', rule.counts, 'promotes'), line('it does not', rest, ''));
}

function sequencesSection(label, own, drawings, opened) {
  if (!own.sequences.length) {
    return section('Example sequences', {}, element('p', {class: 'note'}, whyNoSequences()));
  }
  const views = own.sequences.map(sequence => sequenceView(label, sequence, sequence.id === opened));
  drawings.push(() => views.forEach(({room, draw}) => draw(room.clientWidth)));
  return section('Example sequences', {class: 'wide'},
    element('p', {class: 'aside'}, own.sequences.some(sequence => sequence.curve) ? 'The step line is the label\u2019s probability as the events come in. ' : '',
      'Marks above the axis raised it, marks below lowered it. Open a sequence to see all its events.',
      own.sequences.some(sequence => !sequence.curve) && overview.parts.probabilities ? ' Probabilities are drawn for the first examples of each label.' : ''),
    views.map(({view}) => view));
}

function whyNoSequences() {
  if (!overview.parts.edges) return 'Not shown: this run has no edges of individual sequences.';
  return overview.most ? 'No single sequence shows a cause of this label.' : 'Left out to keep the page small.';
}

function figuresSection(label, own) {
  if (!own.edges.length) return null;
  return section('All figures of these causes', {downloads: [csvButton('all figures', `${label.name} figures`, () => figureRows(label, own))]},
    element('details', {class: 'more-figures'}, element('summary', {}, 'Effect, strength, frequency and its threshold, stability'), causeTable(own.edges)));
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
