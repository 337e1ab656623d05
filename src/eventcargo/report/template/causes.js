// All figures of the causes of a label as a table, and the comparison with the baseline.

// Frequency with its interval and the threshold to pass, on a scale from 0 to 1.
function intervalPlot(edge) {
  const width = 132, at = value => 4 + Math.max(0, Math.min(1, value)) * (width - 8);
  const plot = shape('svg', {class: 'interval', width, height: 22, viewBox: `0 0 ${width} 22`, 'aria-hidden': 'true'},
    shape('path', {class: 'axis', d: `M4,11 H${width - 4} M4,7 V15 M${width - 4},7 V15`}));
  if (isKnown(edge.ci_low)) plot.append(shape('path', {class: 'whisker', d: `M${at(edge.ci_low)},11 H${at(edge.ci_high)}`}));
  if (isKnown(edge.threshold) && edge.threshold <= 1) plot.append(shape('path', {class: 'threshold', d: `M${at(edge.threshold)},4 V18`}));
  plot.append(shape('circle', {class: 'dot', cx: at(edge.frequency), cy: 11, r: 4}));
  return plot;
}

const bar = (value, most, kind) => {
  const inner = element('span', {class: `bar ${kind || ''}`});
  inner.style.width = `${Math.max(2, 100 * Math.min(1, Math.abs(value) / most))}%`;
  return element('span', {class: 'bar-room', 'aria-hidden': 'true'}, inner);
};

const frequencyCell = edge => element('span', {class: 'stack'}, intervalPlot(edge), element('span', {}, percent(edge.frequency),
  isKnown(edge.ci_low) ? element('span', {class: 'faint'}, ` (${percent(edge.ci_low)} to ${percent(edge.ci_high)})`) : null));

const DETAILS = [
  ['Event type', edge => nameLink(edge.event, 300)],
  ['Sign', edge => element('span', {class: `cause sign ${kindOf(signOf(edge))}`}, mark(signOf(edge)), verbOf(signOf(edge)))],
  ['Weight', edge => edge.weight, 'weight'],
  ['Effect', edge => element('span', {class: 'stack'}, bar(edge.effect, 1, kindOf(edge.effect)), signed(edge.effect)), 'effect'],
  ['Strength, nats', (edge, most) => element('span', {class: 'stack'}, bar(edge.strength, most), decimal(edge.strength)), 'strength'],
  ['Found in', frequencyCell, 'frequency'],
  ['Stability', edge => percent(edge.stability), 'stability'],
  ['p-value', edge => element('span', {class: 'whole'}, edge.p_value < 1e-4 ? '< 0.0001' : decimal(edge.p_value, 3)), 'p_value'],
];

function causeTable(edges) {
  const shown = DETAILS.filter(([, , field]) => !field || edges.some(edge => isKnown(edge[field])));
  const most = Math.max(...edges.map(edge => edge.strength || 0)) || 1;
  return element('table', {class: 'cards', role: 'table', 'aria-label': 'All figures'},
    element('thead', {role: 'rowgroup'}, element('tr', {role: 'row'}, shown.map(([title]) => element('th', {role: 'columnheader', scope: 'col'}, title)))),
    element('tbody', {role: 'rowgroup'}, edges.map(edge => element('tr', {role: 'row'}, shown.map(([title, cell, field], at) =>
      element(at ? 'td' : 'th', {role: at ? 'cell' : 'rowheader', scope: at ? null : 'row', 'data-title': title},
        !field || isKnown(edge[field]) ? cell(edge, most) : '–'))))));
}

const FIGURES = ['frequency', 'ci_low', 'ci_high', 'threshold', 'effect', 'strength', 'gain', 'stability', 'agreement', 'evidence', 'evidence_sd', 'p_value', 'weight'];

const figureRows = (label, own) => {
  const compact = edgesOf(label);
  return [[...CAUSE_COLUMNS, ...FIGURES], ...own.edges.map((edge, at) => [...causeRow(compact[at]), ...FIGURES.map(name => edge[name])])];
};

function compared(own) {
  if (!overview.parts.baseline) return null;
  const here = new Map(own.edges.map(edge => [edge.event, signOf(edge)]));
  const there = new Map(own.baseline.map(edge => [edge.event, signOf(edge)]));
  const columns = [
    ['both', 'Found by both', [...here].filter(([event]) => there.has(event))],
    ['here', 'Only in this run', [...here].filter(([event]) => !there.has(event))],
    ['there', 'Only in the baseline', [...there].filter(([event]) => !here.has(event))],
  ];
  return section('Compared with a classical baseline', {}, element('div', {class: 'columns'}, columns.map(([kind, title, events]) =>
    element('div', {class: 'column'},
      element('h3', {}, swatch(kind), `${title} `, element('span', {class: 'faint'}, count(events.length))),
      events.length ? element('ul', {class: 'causes'}, events.map(([event, sign]) => element('li', {}, cause(event, sign)))) : element('p', {class: 'faint'}, 'none')))));
}
