// The view of the models: how well they predict, over all labels and label by label.

const NAMED = 10;

function modelsPage() {
  const measured = labels.filter(label => isKnown(label.f1) || isKnown(label.auroc));
  return {title: 'Models', trail: ['Models'], page: [
    element('div', {class: 'hero'}, element('h1', {tabindex: '-1'}, 'Models'), element('p', {class: 'lead'}, 'How well the models behind the causes predict sequences that they have not seen.')),
    modelQuality(),
    measured.length ? modelTable(measured) : null,
  ]};
}

function modelTable(measured) {
  const ordered = measured.toSorted((a, b) => (a.f1 ?? 2) - (b.f1 ?? 2) || (b.support || 0) - (a.support || 0));
  const heads = ['Label', 'Sequences', 'F1', 'AUROC'];
  return section('Models by label', {class: 'wide', downloads: [csvButton('the figures of the models', 'models', () =>
    [['label', 'sequences', 'f1', 'auroc'], ...ordered.map(label => [label.name, label.support, label.f1, label.auroc])])]},
  element('table', {class: 'narrow-table'}, element('thead', {}, element('tr', {}, heads.map((head, at) => element('th', {scope: 'col', class: at ? 'number' : null}, head)))),
    element('tbody', {}, ordered.map(label => element('tr', {}, element('th', {scope: 'row'}, element('a', {href: linkTo(label.name)}, named(label.name, 48))),
      element('td', {class: 'number'}, isKnown(label.support) ? count(label.support) : '–'), element('td', {class: 'number'}, decimal(label.f1)), element('td', {class: 'number'}, decimal(label.auroc, 3)))))));
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
