// Odds ratios as a forest plot: one line for each cause on a logarithmic axis, drawn and written.

const ENDS = [1e-3, 1e3], ROW_HEIGHT = 26, AXIS_HEIGHT = 26;

// The axis that all lines share: whole powers of ten around the intervals and 1.
function oddsScale(edges) {
  const values = edges.flatMap(edge => [edge.odds_ratio, edge.odds_low, edge.odds_high]).filter(value => isKnown(value) && value > 0)
    .map(value => Math.min(ENDS[1], Math.max(ENDS[0], value)));
  const low = Math.floor(Math.log10(Math.min(0.5, ...values)) + 1e-9), high = Math.ceil(Math.log10(Math.max(2, ...values)) - 1e-9);
  return {low, high, ticks: [...Array(high - low + 1).keys()].map(at => low + at),
    at: (value, width) => 8 + (Math.log10(Math.min(10 ** high, Math.max(10 ** low, value))) - low) / (high - low) * (width - 16)};
}

const tickText = power => (power < 0 ? `1∕${grouped.format(10 ** -power)}` : grouped.format(10 ** power));

function forestLines(scale, width, height) {
  return scale.ticks.map(power => shape('path', {class: power === 0 ? 'unity' : 'gridline', d: `M${scale.at(10 ** power, width).toFixed(1)},0V${height}`}));
}

// The interval and the odds ratio of one cause; an arrow where it goes on beyond the axis.
function intervalShape(edge, scale, width, middle) {
  const group = shape('g', {class: `forest-line ${kindOf(edge.sign)}`});
  if (!isKnown(edge.odds_ratio)) return group;
  const x = scale.at(edge.odds_ratio, width);
  if (isKnown(edge.odds_low)) {
    const [from, to] = [scale.at(edge.odds_low, width), scale.at(edge.odds_high, width)];
    const beyond = [edge.odds_low < 10 ** scale.low, edge.odds_high > 10 ** scale.high];
    group.append(shape('path', {class: 'whisker', d: `M${from},${middle}H${to}` + [[from, beyond[0], -1], [to, beyond[1], 1]].map(([end, isBeyond, way]) =>
      (isBeyond ? `M${end - 5 * way},${middle - 4}L${end},${middle}L${end - 5 * way},${middle + 4}` : `M${end},${middle - 4}v8`)).join('')}));
  }
  group.append(edge.sign < 0 ? shape('rect', {class: 'dot', x: x - 4.5, y: middle - 4.5, width: 9, height: 9}) : shape('circle', {class: 'dot', cx: x, cy: middle, r: 5}));
  return group;
}

const forestRow = (edge, scale, width) => shape('svg', {class: 'forest', width, height: ROW_HEIGHT, viewBox: `0 0 ${width} ${ROW_HEIGHT}`, 'aria-hidden': 'true'},
  forestLines(scale, width, ROW_HEIGHT), intervalShape(edge, scale, width, ROW_HEIGHT / 2));

function forestAxis(scale, width) {
  const every = Math.ceil(scale.ticks.length * 44 / width);
  return shape('svg', {class: 'forest axis', width, height: AXIS_HEIGHT, viewBox: `0 0 ${width} ${AXIS_HEIGHT}`, 'aria-hidden': 'true'},
    scale.ticks.filter(power => power % every === 0).map(power => shape('text', {x: Math.min(width - 14, Math.max(14, scale.at(10 ** power, width))), y: 14, 'text-anchor': 'middle'}, tickText(power))));
}

const countsCell = edge => edge.with ? element('span', {class: 'counts'},
  element('span', {}, element('b', {}, ofThese(edge.with)), ` with it (${share(...edge.with)})`),
  element('span', {class: 'faint'}, `${ofThese(edge.without)} without (${share(...edge.without)})`)) : '–';

const oddsCell = edge => [element('b', {class: 'whole'}, oddsText(edge)), isKnown(edge.odds_low) ? element('span', {class: 'faint whole'}, ` (${intervalText(edge)})`) : null];

// Causes as a table with the plot in its rows; `nameOf` gives what stands in front.
function forestTable(edges, title, nameOf) {
  const hasOdds = edges.some(edge => isKnown(edge.odds_ratio)), hasCounts = edges.some(edge => edge.with);
  const scale = oddsScale(edges), rooms = [];
  const plot = edge => { const room = element('td', {role: 'cell', class: 'plot'}); rooms.push([room, edge]); return room; };
  const heads = [title, ...(hasCounts ? ['Sequences with the label'] : []), ...(hasOdds ? ['← lowers, raises →', 'Odds ratio (95 % interval)'] : [])];
  const table = element('table', {class: 'cards forest-table', role: 'table', 'aria-label': title},
    element('thead', {role: 'rowgroup'}, element('tr', {role: 'row'}, heads.map(head => element('th', {role: 'columnheader', scope: 'col'}, head)))),
    element('tbody', {role: 'rowgroup'}, edges.map(edge => element('tr', {role: 'row'},
      element('th', {role: 'rowheader', scope: 'row'}, element('span', {class: 'who'}, mark(edge.sign), hidden(`${verbOf(edge.sign)}: `), nameOf(edge))),
      hasCounts ? element('td', {role: 'cell', 'data-title': heads[1]}, countsCell(edge)) : null,
      hasOdds ? [plot(edge), element('td', {role: 'cell', class: 'odds', 'data-title': 'Odds ratio (95 % interval)'}, oddsCell(edge))] : null)),
    hasOdds ? element('tr', {role: 'row', class: 'axis-row'}, element('td', {role: 'cell', colspan: hasCounts ? 2 : 1}), plot(null), element('td', {role: 'cell'})) : null));
  const draw = () => {
    const width = Math.max(120, Math.min(460, rooms.length ? rooms[0][0].clientWidth - 4 : 0));
    rooms.forEach(([room, edge]) => room.replaceChildren(edge ? forestRow(edge, scale, width) : forestAxis(scale, width)));
  };
  return {table, draw};
}

// The same as one drawing, for a file.
function wholeForest(edges, textOf) {
  const letter = 7.4, left = Math.min(420, Math.max(...edges.map(edge => Array.from(textOf(edge)).length)) * letter + 40), plot = 420, right = 420;
  const scale = oddsScale(edges), height = edges.length * ROW_HEIGHT + AXIS_HEIGHT + 16, width = left + plot + right;
  return shape('svg', {class: 'forest', width, height, viewBox: `0 0 ${width} ${height}`},
    shape('g', {transform: `translate(${left},8)`}, forestLines(scale, plot, edges.length * ROW_HEIGHT)),
    edges.map((edge, at) => {
      const y = 8 + at * ROW_HEIGHT, counts = edge.with ? `   ${ofThese(edge.with)} with, ${ofThese(edge.without)} without` : '';
      return [shape('text', {x: left - 10, y: y + 17, 'text-anchor': 'end'}, `${markOf(edge.sign)} ${shorten(textOf(edge), 50)}`),
        shape('g', {transform: `translate(${left},${y})`}, intervalShape(edge, scale, plot, ROW_HEIGHT / 2)),
        shape('text', {x: left + plot + 10, y: y + 17}, `${oddsText(edge)} ${isKnown(edge.odds_low) ? `(${intervalText(edge)})` : ''}${counts}`)];
    }),
    shape('g', {transform: `translate(${left},${8 + edges.length * ROW_HEIGHT})`}, forestAxis(scale, plot)));
}
