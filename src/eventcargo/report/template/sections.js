// Sections: a heading with its help and its downloads, and what is below it.

const HELP = {
  'What causes what': 'Each square is a cause: an event type that changes how probable the label is, whatever else happens. Orange with a plus raises it, blue with a minus lowers it. The larger and darker the square, the further the odds are from “no difference”, counted from the cautious end of the 95 % interval. Labels that share causes stand together.',
  'Can you trust these causes?': 'Every label was checked: are there enough sequences, does the model predict it, do the causes hold in the data, is a cause perhaps a record of the outcome? Trust: no problem found. Caution: read the reasons first. Doubt: do not use the causes.',
  Labels: 'One row for each label, the outcome to explain. Click a heading to sort, a label to see its causes, an event type to see all it causes.',
  'Compared with a classical baseline': 'The same data were given to a classical method that looks only at which event types occurred, not at order, number or time. Causes that both found are the surest.',
  'About this run': 'The settings and the size of the data. With them and the data, the run can be repeated.',
  Verdict: 'Whether to believe the causes of this label, and what speaks against them or for further causes.',
  Causes: 'Each line is a cause. The dot is the odds ratio: how many times higher the odds of the label are with the event type than without it, all other causes alike. The line is its 95 % interval. Right of 1 raises, left of 1 lowers; each step of the scale is a factor of ten. Counts beside it are plain counts of sequences, with nothing held alike.',
  Rule: 'A short rule that tells when the label occurs. & is and, | is or, ! is not. Precision and recall were measured on sequences that the rule was not learned from; the counts below are of all sequences.',
  'Example sequences': 'Single sequences in which the causes act. The step line is the probability of the label given the events so far; its last step is at the end, when the model knows that nothing more follows. A mark above the line is an event that raised the label, one below lowered it; its height is the change if the event were taken away. A break in the axis leaves out a long silence, with its length. The diamond at the end is the outcome: filled if the sequence carries the label.',
  'All figures of these causes': 'Effect: the mean change of the label’s probability. Strength: how much the label’s distribution changes, in nats. Found in: share of tested sequences in which the cause was found, with the threshold as a dashed line. Stability: share of resampled data in which it is found again.',
  'Model of this label': 'How well the model predicts this label on sequences it has not seen. AUROC: 0.5 is chance, 1 is perfect. Log-loss: lower is better; beside it that of always saying the base rate.',
  'Quality of the models': 'How well the models predict on sequences they have not seen. Causes of labels that the models cannot predict are not to be trusted.',
  'Models by label': 'Labels by how well their model predicts. F1 joins precision and recall; AUROC is the chance that a sequence with the label gets a higher probability than one without.',
  'Labels it causes': 'The labels of which this event type is a cause, with the odds ratio of each. Right of 1 raises the label, left of 1 lowers it.',
  'Rules that use it': 'Short rules of labels in which this event type occurs.',
  Family: 'A family stands for any of its members: it occurs wherever one of them does.',
  'Named by the baseline': 'Labels for which the classical baseline, which looks only at what occurred, names this event type, and this run does not.',
};

let helps = 0;

// A heading with a button that opens its help, and buttons that download what is below it.
function heading(title, ...downloads) {
  const text = HELP[title], id = `help-${++helps}`;
  const help = element('p', {class: 'help', id, hidden: true}, text);
  const open = element('button', {type: 'button', class: 'help-button', 'aria-expanded': 'false', 'aria-controls': id, 'aria-label': `Help: ${title}`,
    onclick: () => { help.hidden = !help.hidden; open.setAttribute('aria-expanded', String(!help.hidden)); },
    onkeydown: event => { if (event.key === 'Escape' && !help.hidden) open.click(); }}, '?');
  return [element('div', {class: 'heading'}, element('h2', {}, title), open, element('span', {class: 'downloads'}, downloads)), help];
}

function section(title, {downloads, ...attributes}, ...children) {
  return element('section', attributes, heading(title, downloads || []), ...children);
}
