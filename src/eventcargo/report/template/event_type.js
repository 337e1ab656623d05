// The page of one event type: how frequent it is, which labels it causes, in which rules it occurs, its family.

function eventPage(name) {
  const event = names.indexOf(name);
  if (event < 0) return missingPage('event type', name);
  const edges = labels.flatMap(label => edgesOf(label).filter(edge => edge.event === event));
  const drawings = [];
  const page = [
    element('div', {class: 'hero'}, element('p', {class: 'kicker'}, 'Event type'), element('h1', {tabindex: '-1'}, named(name, 120)), element('p', {class: 'lead'}, aboutFrequency(event))),
    causedSection(name, edges, drawings),
    ruleUses(event),
    familySection(event),
    baselineOnly(event, edges),
  ];
  return {title: name, page, trail: [named(name, 40)], draw: () => drawings.forEach(draw => draw())};
}

function aboutFrequency(event) {
  const seen = overview.seen[event], all = overview.data.sequences;
  return isKnown(seen) ? `Occurs in ${count(seen)} of ${count(all, 'sequence')} (${share(seen, all)}).` : 'The data of this report do not have it.';
}

function causedSection(name, edges, drawings) {
  if (!edges.length) return section('Labels it causes', {}, element('p', {class: 'note'}, 'None: it was found to be a cause of no label.'));
  const raised = edges.filter(edge => edge.sign > 0).length, lowered = edges.filter(edge => edge.sign < 0).length;
  const {table, draw} = forestTable(edges, 'Label', edge => element('a', {href: linkTo(edge.label.name)}, named(edge.label.name, 60)));
  drawings.push(draw);
  return section('Labels it causes', {downloads: [
    svgButton('the odds ratios', `${name} labels`, () => wholeForest(edges, edge => edge.label.name)), csvButton('the labels', `${name} labels`, () => causeRows(edges))]},
  element('p', {class: 'note'}, [raised ? `Raises ${count(raised, 'label')}` : '', lowered ? `${raised ? 'lowers' : 'Lowers'} ${count(lowered, 'label')}` : ''].filter(Boolean).join(', ') || 'Its sign is unclear', '.'), table);
}

function ruleUses(event) {
  const uses = labels.filter(label => label.rule?.events?.includes(event));
  if (!uses.length) return null;
  return section('Rules that use it', {}, element('ul', {class: 'plain'}, uses.map(label =>
    element('li', {}, element('a', {href: linkTo(label.name)}, named(label.name, 40)), ' ', element('code', {class: 'rule'}, label.rule.text)))));
}

function familySection(event) {
  const family = overview.families[event];
  const parents = Object.entries(overview.families).filter(([, {members}]) => members.includes(event)).map(([parent]) => Number(parent));
  if (!family && !parents.length) return null;
  const list = (words, events) => element('p', {}, words, events.map((each, at) => [at ? ', ' : '', nameLink(each, 60)]));
  return section('Family', {}, family ? list(`${count(family.n, 'member')}${family.members.length < family.n ? `, the first ${count(family.members.length)}` : ''}: `, family.members) : null,
    parents.length ? list('Member of ', parents) : null);
}

function baselineOnly(event, edges) {
  const own = new Set(edges.map(edge => edge.label));
  const others = labels.filter(label => label.baseline.includes(event) && !own.has(label));
  return others.length ? section('Named by the baseline', {}, element('p', {}, 'Only the baseline names it for ',
    others.map((label, at) => [at ? ', ' : '', element('a', {href: linkTo(label.name)}, named(label.name, 40))]), '.')) : null;
}
