// The causes of a label: a drawn graph, a table with intervals, and the comparison with the baseline.

const DRAWN = 12, LETTER = 7.3, ROW = 44, WIDEST = 780, SIGN_ROOM = 22, SPREAD = 15;

function causeGraph(label, edges, space) {
  const drawn = edges.slice(0, DRAWN), width = Math.min(space, WIDEST);
  const height = Math.max(ROW * drawn.length, 64);
  const room = Math.min(260, Math.max(96, Math.floor(width * 0.36)));
  const longest = Math.max(...drawn.map(edge => Array.from(names[edge.event]).length));
  const left = Math.min(room, longest * LETTER + 22);
  const right = Math.min(room, Math.max(70, Array.from(label.name).length * LETTER * 1.1 + 26));
  const most = Math.max(...drawn.map(edge => edge.strength || 0)) || 1;
  const graph = shape('svg', {class: 'graph', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': `Causes of ${label.name}: ` + drawn.map(edge => `${names[edge.event]} ${kindOf(signOf(edge))} it`).join(', ')});
  const middle = height / 2, target = width - right;
  drawn.forEach((edge, at) => {
    const y = (at + 0.5) * height / drawn.length;
    const end = middle + (at - (drawn.length - 1) / 2) * SPREAD;
    graph.append(arrow(edge, left, y, target, end, 1.5 + 5 * (edge.strength || 0) / most));
    graph.append(box(0, y, left, names[edge.event], `node ${kindOf(signOf(edge))}`));
    graph.append(arrowText(edge, left, y > middle + 1 ? y + 16 : y - 8, target - left));
  });
  graph.append(box(target, middle, right, label.name, 'node target', Math.max(44, SPREAD * drawn.length + 8)));
  return graph;
}

function arrow(edge, x, y, target, end, thickness) {
  const sign = signOf(edge), kind = kindOf(sign), tip = target - (sign < 0 ? 7 : 11), bend = x + (target - x) * 0.62;
  const group = shape('g', {class: `arrow ${kind}`});
  group.append(shape('path', {class: 'line', d: `M${x},${y} C${bend},${y} ${bend},${end} ${tip},${end}`, 'stroke-width': thickness.toFixed(1)}));
  group.append(sign < 0
    ? shape('path', {class: 'stop', d: `M${tip},${end - 6} V${end + 6}`})
    : shape('path', {class: 'head', d: `M${tip - 1},${end - 6} L${target - 1},${end} L${tip - 1},${end + 6} Z`}));
  group.append(shape('circle', {class: 'badge', cx: x + SIGN_ROOM / 2 + 4, cy: y, r: 9}),
    shape('text', {class: 'badge-text', x: x + SIGN_ROOM / 2 + 4, y: y + 4.5}, markOf(sign)));
  return group;
}

function arrowText(edge, left, y, gap) {
  const parts = [isKnown(edge.effect) ? signed(edge.effect) : '', gap > 230 && isKnown(edge.ci_low) ? `in ${percent(edge.ci_low)} to ${percent(edge.ci_high)}` : ''];
  return shape('text', {class: 'arrow-text', x: left + SIGN_ROOM + 8, y}, parts.filter(Boolean).join(', '));
}

function box(x, y, width, name, kind, height = 28) {
  return shape('g', {class: kind}, shape('title', {}, name),
    shape('rect', {x: x + 1, y: y - height / 2, width: width - 2, height, rx: 8}),
    shape('text', {x: x + width / 2, y: y + 4.5}, shorten(name, Math.max(3, Math.floor((width - 16) / (kind.includes('target') ? LETTER * 1.1 : LETTER))))));
}

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

const ODDS_HINT = 'The odds of the label with the event type present, as a multiple of those without it, all other causes alike; in brackets, the 95 % interval.';
const WEIGHT_HINT = 'By the end of the odds\u2019 interval that is nearer to 1: strong from \u00d73 (or \u00d71/3) on, moderate from \u00d71.5 (or \u00d71/1.5) on, else weak.';

const oddsCell = edge => element('span', {class: 'whole', title: ODDS_HINT}, `\u00d7${factor(edge.odds_ratio)}`,
  isKnown(edge.odds_low) ? element('span', {class: 'faint'}, ` (${factor(edge.odds_low)} to ${factor(edge.odds_high)})`) : null);

const DETAILS = [
  ['Event type', edge => named(names[edge.event], 300)],
  ['Sign', edge => element('span', {class: `cause sign ${kindOf(signOf(edge))}`}, mark(signOf(edge)), kindOf(signOf(edge)))],
  ['Odds', oddsCell, 'odds_ratio', ODDS_HINT],
  ['Weight', edge => edge.weight, 'weight', WEIGHT_HINT],
  ['Effect', edge => element('span', {class: 'stack'}, bar(edge.effect, 1, kindOf(edge.effect)), signed(edge.effect)), 'effect'],
  ['Strength, nats', (edge, most) => element('span', {class: 'stack'}, bar(edge.strength, most), decimal(edge.strength)), 'strength'],
  ['Found in', frequencyCell, 'frequency'],
  ['Stability', edge => percent(edge.stability), 'stability'],
  ['p-value', edge => element('span', {class: 'whole'}, edge.p_value < 1e-4 ? '< 0.0001' : decimal(edge.p_value, 3)), 'p_value'],
];

function causeTable(edges) {
  const shown = DETAILS.filter(([, , field]) => !field || edges.some(edge => isKnown(edge[field])));
  const most = Math.max(...edges.map(edge => edge.strength || 0)) || 1;
  return element('table', {class: 'cards', role: 'table', 'aria-label': 'Causes'},
    element('thead', {role: 'rowgroup'}, element('tr', {role: 'row'}, shown.map(([title, , , hint]) => element('th', {role: 'columnheader', scope: 'col', title: hint}, title)))),
    element('tbody', {role: 'rowgroup'}, edges.map(edge => element('tr', {role: 'row'}, shown.map(([title, cell, field], at) =>
      element(at ? 'td' : 'th', {role: at ? 'cell' : 'rowheader', scope: at ? null : 'row', 'data-title': title},
        !field || isKnown(edge[field]) ? cell(edge, most) : '–'))))));
}

function causeNotes(edges) {
  if (!edges.some(edge => isKnown(edge.odds_ratio))) return null;
  return element('p', {class: 'aside'}, `Odds: ${ODDS_HINT} An event type that acts by its order, number or time alone has odds near \u00d71. Weight: ${WEIGHT_HINT}`);
}

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
