// A sequence as a timeline: the probability of the label as a step line, every event as a mark on an axis that
// leaves out long silences, and the outcome at the end.

const STEM = 40, LANE = 15, LANES = 3, SMALL = 6.7, SIDE = 34, END = 26, PANEL = 58, BREAK = 46;
const LONG = 20, SHARE = 0.12;
const UNITS = [[31556952, 'year'], [2629746, 'month'], [86400, 'day'], [3600, 'hour'], [60, 'minute'], [1, 'second']];

function when(sequence, at) {
  if (!sequence.times) return `event ${(sequence.first ? sequence.first[at] : at) + 1}`;
  return clock(sequence, sequence.times[at]);
}

// A date, with the time of day only where the events of the sequence have one.
function clock(sequence, since) {
  if (overview.data.kind !== 'datetime') return decimal(sequence.start + since, Math.abs(sequence.start + since) < 10 ? 2 : 1);
  const date = new Date((sequence.start + since) * 1000);
  if (isNaN(date)) return String(sequence.start + since);
  const text = date.toISOString(), isWhole = sequence.times.every(time => (sequence.start + time) % 86400 === 0);
  return isWhole ? text.slice(0, 10) : text.slice(0, 16).replace('T', ' ');
}

// A length of time in its largest unit of which there are two or more.
function lasting(length) {
  if (overview.data.kind !== 'datetime') return decimal(length, length < 10 ? 1 : 0);
  const [size, unit] = UNITS.find(([size]) => length >= 2 * size) || UNITS[5];
  return count(Math.round(length / size), unit);
}

const effectsOf = sequence => new Map(sequence.at.map((at, i) => [at, sequence.effects[i]]));

// Silences that are left out: a large part of the whole, and many times the usual distance of two events.
function silences(times) {
  const gaps = times.slice(1).map((time, at) => time - times[at]);
  const usual = gaps.filter(gap => gap > 0).sort((a, b) => a - b);
  const middle = usual[Math.floor((usual.length - 1) / 2)] || 0;
  const broken = new Set();
  for (let rest = times[times.length - 1] - times[0]; broken.size < 6;) {
    const longest = gaps.reduce((best, gap, at) => (!broken.has(at) && (best < 0 || gap > gaps[best]) ? at : best), -1);
    if (longest < 0 || gaps[longest] <= LONG * middle || gaps[longest] <= SHARE * rest || usual.length < 3) break;
    broken.add(longest);
    rest -= gaps[longest];
  }
  return broken;
}

// Where each event stands, and the breaks of the axis.
function placing(sequence, width) {
  const n = sequence.events.length, times = sequence.times || [...Array(n).keys()];
  const broken = sequence.times && n > 2 && width > 300 ? silences(times) : new Set();
  const lost = [...broken].reduce((sum, at) => sum + times[at + 1] - times[at], 0);
  const room = Math.max(60, width - SIDE - END - broken.size * BREAK), span = (n ? times[n - 1] - times[0] - lost : 0) || 1;
  const x = [], breaks = [];
  let place = SIDE;
  for (let at = 0; at < n; at++) {
    if (at) place += broken.has(at - 1) ? BREAK : (times[at] - times[at - 1]) / span * room;
    if (at && broken.has(at - 1)) breaks.push({from: place - BREAK, to: place, length: times[at] - times[at - 1], after: at - 1});
    x.push(place);
  }
  return {x: at => x[at], breaks, end: width - END / 2};
}

// Names of the strongest first occurrences, each in the first lane where it overlaps no other.
function captions(sequence, effects, x, width) {
  const lanes = {up: [], down: []}, taken = new Set(), placed = [];
  for (const [at, effect] of [...effects].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]) || a[0] - b[0])) {
    const event = sequence.events[at];
    if (taken.has(event)) continue;
    const text = shorten(names[event], 24), half = text.length * SMALL / 2 + 4;
    const middle = Math.min(Math.max(x(at), half), width - half);
    const side = effect > 0 ? 'up' : 'down';
    const lane = [...Array(LANES).keys()].find(n => (lanes[side][n] ||= []).every(([low, high]) => middle + half < low || middle - half > high));
    if (lane === undefined) continue;
    taken.add(event);
    lanes[side][lane].push([middle - half, middle + half]);
    placed.push({at, text, middle, lane, side});
  }
  return {placed, up: lanes.up.filter(lane => lane.length).length, down: lanes.down.filter(lane => lane.length).length};
}

function timeline(label, sequence, width) {
  const effects = effectsOf(sequence), n = sequence.events.length;
  const {x, breaks, end} = placing(sequence, width);
  const {placed, up, down} = captions(sequence, effects, x, width);
  const hasUp = [...effects.values()].some(effect => effect > 0), hasDown = [...effects.values()].some(effect => effect < 0);
  const top = sequence.curve ? PANEL + 14 : 0;
  const axis = top + 10 + up * LANE + (hasUp ? STEM : 10), below = (hasDown ? STEM + down * LANE + 6 : 12) + (breaks.length && !hasDown ? 13 : 0);
  const height = axis + below + 18;
  const drawing = shape('svg', {class: 'timeline', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': description(label, sequence, effects)});
  if (sequence.curve) drawing.append(curvePanel(sequence, x, breaks, end));
  drawing.append(axisLine(breaks, axis, end));
  for (let at = 0; at < n; at++) if (!effects.has(at)) drawing.append(shape('path', {class: 'tick', d: `M${x(at).toFixed(1)},${axis - 4} v8`}));
  const tip = at => axis - Math.sign(effects.get(at)) * (14 + (STEM - 22) * Math.min(1, Math.abs(effects.get(at))));
  for (const {at, text, middle, lane, side} of placed) {
    const y = side === 'up' ? axis - STEM - 2 - lane * LANE : axis + STEM + 10 + lane * LANE;
    drawing.append(shape('path', {class: 'leader', d: `M${x(at)},${tip(at)} L${middle},${side === 'up' ? y + 3 : y - 10}`}),
      shape('text', {class: `caption ${kindOf(effects.get(at))}`, x: middle, y, 'text-anchor': 'middle'}, text));
  }
  for (const [at, effect] of effects) drawing.append(lollipop(sequence, at, effect, x(at), axis, tip(at)));
  drawing.append(outcome(label, sequence, end, axis), ...dates(sequence, x, breaks, height - 4, width));
  return drawing;
}

// The axis, with two strokes and a length where a silence is left out.
function axisLine(breaks, axis, end) {
  const stops = [SIDE - 6, ...breaks.flatMap(({from, to}) => [(from + to) / 2 - 5, (from + to) / 2 + 5]), end - 8];
  let d = '';
  for (let i = 0; i < stops.length; i += 2) d += `M${stops[i].toFixed(1)},${axis}H${stops[i + 1].toFixed(1)}`;
  const strokes = breaks.map(({from, to}) => [-5, 5].map(off => `M${(from + to) / 2 + off - 3},${axis + 6}l6,-12`).join('')).join('');
  return shape('g', {}, shape('path', {class: 'axis', d}), shape('path', {class: 'break', d: strokes}),
    breaks.map(({from, to, length}) => shape('text', {class: 'break-text', x: (from + to) / 2, y: axis + 19, 'text-anchor': 'middle'}, lasting(length))));
}

// The label's probability before any event, after each, and at the end, from 0 to 100 %.
function curvePanel(sequence, x, breaks, end) {
  const y = p => 8 + (1 - p) * (PANEL - 4), {curve} = sequence, points = [[SIDE - 6, curve[0]]];
  sequence.events.forEach((_, at) => { if (isKnown(curve[at + 1])) points.push([x(at), curve[at + 1]]); });
  points.push([end, curve[curve.length - 1]]);
  const line = points.map(([at, p], i) => (i ? `H${at.toFixed(1)}V${y(p).toFixed(1)}` : `M${at.toFixed(1)},${y(p).toFixed(1)}`)).join('');
  return shape('g', {class: 'curve'},
    [0, 1].map(p => shape('path', {class: 'gridline', d: `M${SIDE - 6},${y(p)}H${end}`})),
    shape('path', {class: 'area', d: `${line}V${y(0)}H${SIDE - 6}Z`}), shape('path', {class: 'step', d: line}),
    breaks.map(({from, to}) => shape('rect', {class: 'blank', x: (from + to) / 2 - 3, y: 6, width: 6, height: PANEL + 2})),
    shape('text', {class: 'scale', x: SIDE - 10, y: y(1) + 4, 'text-anchor': 'end'}, '100'), shape('text', {class: 'scale', x: SIDE - 10, y: y(0) + 4, 'text-anchor': 'end'}, '0 %'));
}

const outcome = (label, sequence, x, y) => shape('path', {class: `outcome ${sequence.carries ? 'carried' : 'lacking'}`, d: `M${x},${y - 8}l8,8l-8,8l-8,-8Z`},
  shape('title', {}, `${sequence.carries ? 'Outcome' : 'No outcome'}: ${label.name}`));

// The first and the last time, and those on both sides of a break, where there is room.
function dates(sequence, x, breaks, y, width) {
  const n = sequence.events.length;
  if (!n) return [];
  const wanted = [[0, 'start'], [n - 1, 'end'], ...breaks.flatMap(({after}) => [[after, 'end'], [after + 1, 'start']])];
  const used = [], texts = [];
  for (const [at, side] of wanted) {
    const text = when(sequence, at), long = text.length * 6.4, near = side === 'start' ? Math.max(0, x(at) - 6) : Math.min(width, x(at) + 6);
    const [from, to] = side === 'start' ? [near, near + long] : [near - long, near];
    if (from < 0 || to > width || used.some(([low, high]) => from < high + 8 && to > low - 8)) continue;
    used.push([from, to]);
    texts.push(shape('text', {class: 'edge-time', x: near, y, 'text-anchor': side}, text));
  }
  return texts;
}

function lollipop(sequence, at, effect, x, axis, tip) {
  const weight = Math.min(1, Math.abs(effect));
  return shape('g', {class: `stem ${kindOf(effect)}${weight < 0.5 ? ' weak' : ''}`},
    shape('title', {}, `${names[sequence.events[at]]}, ${when(sequence, at)}: ${signed(effect)}`),
    shape('path', {d: `M${x},${axis} V${tip}`}),
    effect < 0 ? shape('rect', {x: x - 7, y: tip - 7, width: 14, height: 14, rx: 3}) : shape('circle', {cx: x, cy: tip, r: 7.5}),
    shape('text', {x, y: tip + 4, 'text-anchor': 'middle'}, markOf(effect)));
}

function description(label, sequence, effects) {
  const changes = [...effects].map(([at, effect]) => `${names[sequence.events[at]]} ${signed(effect)}`);
  const curve = sequence.curve ? `; probability from ${percent(sequence.curve[0])} to ${percent(sequence.curve[sequence.curve.length - 1])}` : '';
  return `${count(sequence.n, 'event')}; ` + (changes.length ? `label changed by ${changes.join(', ')}` : 'none changed the label') + curve
    + `; ${sequence.carries ? 'the outcome' : 'no outcome'} at the end`;
}

// All events in order, each coloured by its effect.
function eventList(sequence) {
  const effects = effectsOf(sequence);
  return element('ol', {class: 'events', 'aria-label': 'Events in order'}, sequence.events.map((event, at) => {
    const effect = effects.get(at), gap = sequence.first && at && sequence.first[at] - sequence.first[at - 1] - 1;
    const chip = element('li', {class: `event ${isKnown(effect) ? kindOf(effect) : 'quiet'}`, title: `${names[event]}, ${when(sequence, at)}`
      + (isKnown(effect) ? `: ${signed(effect)}` : '')},
    isKnown(effect) ? [mark(effect), nameLink(event), element('span', {class: 'amount'}, signed(effect))] : nameLink(event));
    if (isKnown(effect)) chip.style.setProperty('--weight', (0.25 + 0.75 * Math.min(1, Math.abs(effect))).toFixed(2));
    return gap ? [element('li', {class: 'event gap'}, `… ${count(gap, 'event')} …`), chip] : chip;
  }));
}

function sequenceView(label, sequence, opened) {
  const room = element('div', {class: 'drawing'});
  const inside = element('div', {class: 'inside'});
  const shown = sequence.events.length;
  const view = element('details', {class: `sequence ${sequence.carries ? 'carries' : 'lacks'}`, open: opened, 'data-id': sequence.id,
    ontoggle: () => { if (view.open && !inside.childElementCount) inside.append(...insideOf(label, sequence, shown)); }},
  element('summary', {}, element('span', {class: 'sequence-head'}, named(sequence.id, 40),
    element('span', {class: 'polarity'}, sequence.carries ? 'carries the label' : 'does not carry the label'),
    element('span', {class: 'faint'}, count(sequence.n, 'event')),
    sequence.curve ? element('span', {class: 'faint'}, `probability ${percent(sequence.curve[0])} → ${percent(sequence.curve[sequence.curve.length - 1])}`) : null),
  room, sequence.sets.map(set => together(sequence, set))), inside);
  return {view, room, draw: width => room.replaceChildren(timeline(label, sequence, width))};
}

// Event types of which each would have been enough, in a sentence.
function together(sequence, [sign, ...events]) {
  const all = events.map(event => named(names[event], 32)), two = events.length === 2;
  const joined = last => all.map((name, at) => [at === 0 ? '' : at < all.length - 1 ? ', ' : last, name]);
  const enough = `: given the rest, ${two ? 'either of these two' : 'any one of these three'} would have been enough.`;
  const said = sign > 0
    ? [two ? 'With neither ' : 'With none of ', joined(two ? ' nor ' : ' and '), `, the label would not ${sequence.carries ? 'have happened' : 'be expected'}`]
    : [joined(' and '), sequence.carries ? ' made the label improbable' : ' held the label off'];
  return element('div', {class: 'together'}, said, enough);
}

function insideOf(label, sequence, shown) {
  return [
    element('p', {class: 'aside'}, sequence.times && shown ? `From ${when(sequence, 0)} to ${when(sequence, shown - 1)}. ` : '',
      shown < sequence.n ? `Showing the ${count(shown)} of ${count(sequence.n, 'event')} nearest to a cause. ` : '',
      'Each number is the change in the label\u2019s probability due to the event, given all others',
      sequence.sets.length ? '; where one of several would have been enough, with the others hidden.' : '.'),
    eventList(sequence),
    element('p', {class: 'downloads'},
      svgButton('the timeline', `${label.name} ${sequence.id}`, () => timeline(label, sequence, 1000)),
      csvButton('the events', `${label.name} ${sequence.id}`, () => eventRows(sequence)))];
}

const eventRows = sequence => {
  const effects = effectsOf(sequence);
  return [['position', 'time', 'event_type', 'effect', 'probability_so_far'], ...sequence.events.map((event, at) =>
    [(sequence.first ? sequence.first[at] : at) + 1, sequence.times ? when(sequence, at) : null, names[event], effects.get(at), sequence.curve?.[at + 1]])];
};
