// A sequence as a timeline: every event is a mark; marks above the axis raised the label's probability, marks below lowered it.

const STEM = 46, LANE = 15, LANES = 3, SMALL = 6.7, SIDE = 10;

function when(sequence, at) {
  if (!sequence.times) return `event ${(sequence.first ? sequence.first[at] : at) + 1}`;
  return clock(sequence.start + sequence.times[at]);
}

function clock(time) {
  if (overview.data.kind !== 'datetime') return decimal(time, Math.abs(time) < 10 ? 2 : 1);
  const date = new Date(time * 1000);
  return isNaN(date) ? String(time) : date.toISOString().slice(0, 16).replace('T', ' ');
}

const effectsOf = sequence => new Map(sequence.at.map((at, i) => [at, sequence.effects[i]]));

// Names of the strongest first occurrences, each in the first lane where it overlaps no other.
function captions(sequence, effects, x, width) {
  const lanes = {up: [], down: []}, named = new Set(), placed = [];
  for (const [at, effect] of [...effects].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]) || a[0] - b[0])) {
    const event = sequence.events[at];
    if (named.has(event)) continue;
    const text = shorten(names[event], 24), half = text.length * SMALL / 2 + 4;
    const middle = Math.min(Math.max(x(at), half), width - half);
    const side = effect > 0 ? 'up' : 'down';
    const lane = [...Array(LANES).keys()].find(n => (lanes[side][n] ||= []).every(([low, high]) => middle + half < low || middle - half > high));
    if (lane === undefined) continue;
    named.add(event);
    lanes[side][lane].push([middle - half, middle + half]);
    placed.push({at, text, middle, lane, side});
  }
  return {placed, up: lanes.up.filter(lane => lane.length).length, down: lanes.down.filter(lane => lane.length).length};
}

function timeline(sequence, width) {
  const effects = effectsOf(sequence), n = sequence.events.length;
  const span = sequence.times ? sequence.times[n - 1] || 1 : Math.max(1, n - 1);
  const x = at => SIDE + (sequence.times ? sequence.times[at] : at) / span * (width - 2 * SIDE);
  const {placed, up, down} = captions(sequence, effects, x, width);
  const hasUp = [...effects.values()].some(effect => effect > 0), hasDown = [...effects.values()].some(effect => effect < 0);
  const axis = 10 + up * LANE + (hasUp ? STEM : 8), below = hasDown ? STEM + down * LANE + 6 : 10;
  const height = axis + below + 16;
  const drawing = shape('svg', {class: 'timeline', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': description(sequence, effects)});
  drawing.append(shape('path', {class: 'axis', d: `M${SIDE},${axis} H${width - SIDE}`}));
  for (let at = 0; at < n; at++) if (!effects.has(at)) drawing.append(shape('path', {class: 'tick', d: `M${x(at).toFixed(1)},${axis - 4} v8`}));
  const tip = at => axis - Math.sign(effects.get(at)) * (14 + (STEM - 22) * Math.min(1, Math.abs(effects.get(at))));
  for (const {at, text, middle, lane, side} of placed) {
    const y = side === 'up' ? axis - STEM - 2 - lane * LANE : axis + STEM + 10 + lane * LANE;
    drawing.append(shape('path', {class: 'leader', d: `M${x(at)},${tip(at)} L${middle},${side === 'up' ? y + 3 : y - 10}`}),
      shape('text', {class: `caption ${kindOf(effects.get(at))}`, x: middle, y}, text));
  }
  for (const [at, effect] of effects) drawing.append(lollipop(sequence, at, effect, x(at), axis, tip(at)));
  if (n) drawing.append(shape('text', {class: 'edge-time', x: SIDE, y: height - 3}, when(sequence, 0)),
    shape('text', {class: 'edge-time last', x: width - SIDE, y: height - 3}, when(sequence, n - 1)));
  return drawing;
}

function lollipop(sequence, at, effect, x, axis, tip) {
  const weight = Math.min(1, Math.abs(effect));
  return shape('g', {class: `stem ${kindOf(effect)}${weight < 0.5 ? ' weak' : ''}`},
    shape('title', {}, `${names[sequence.events[at]]}, ${when(sequence, at)}: ${signed(effect)}`),
    shape('path', {d: `M${x},${axis} V${tip}`}),
    effect < 0 ? shape('rect', {x: x - 7, y: tip - 7, width: 14, height: 14, rx: 3}) : shape('circle', {cx: x, cy: tip, r: 7.5}),
    shape('text', {x, y: tip + 4}, markOf(effect)));
}

function description(sequence, effects) {
  const changes = [...effects].map(([at, effect]) => `${names[sequence.events[at]]} ${signed(effect)}`);
  return `${count(sequence.n, 'event')}; ` + (changes.length ? `label changed by ${changes.join(', ')}` : 'none changed the label');
}

// All events in order, each coloured by its effect.
function eventList(sequence) {
  const effects = effectsOf(sequence);
  return element('ol', {class: 'events', 'aria-label': 'Events in order'}, sequence.events.map((event, at) => {
    const effect = effects.get(at), gap = sequence.first && at && sequence.first[at] - sequence.first[at - 1] - 1;
    const chip = element('li', {class: `event ${isKnown(effect) ? kindOf(effect) : 'quiet'}`, title: `${names[event]}, ${when(sequence, at)}`
      + (isKnown(effect) ? `: ${signed(effect)}` : '')},
    isKnown(effect) ? [mark(effect), named(names[event], 40), element('span', {class: 'amount'}, signed(effect))] : named(names[event], 40));
    if (isKnown(effect)) chip.style.setProperty('--weight', (0.25 + 0.75 * Math.min(1, Math.abs(effect))).toFixed(2));
    return gap ? [element('li', {class: 'event gap'}, `… ${count(gap, 'event')} …`), chip] : chip;
  }));
}

function sequenceView(label, sequence, opened) {
  const room = element('div', {class: 'drawing'});
  const inside = element('div', {class: 'inside'});
  const shown = sequence.events.length;
  const view = element('details', {class: `sequence ${sequence.carries ? 'carries' : 'lacks'}`, open: opened, 'data-id': sequence.id,
    ontoggle: () => { if (view.open && !inside.childElementCount) inside.append(...insideOf(sequence, shown)); }},
  element('summary', {}, element('span', {class: 'sequence-head'}, named(sequence.id, 40),
    element('span', {class: 'polarity'}, sequence.carries ? 'carries the label' : 'does not carry the label'),
    element('span', {class: 'faint'}, count(sequence.n, 'event'))), room, sequence.sets.map(set => together(sequence, set))), inside);
  return {view, room, draw: width => room.replaceChildren(timeline(sequence, width))};
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

function insideOf(sequence, shown) {
  return [
    element('p', {class: 'aside'}, sequence.times && shown ? `From ${when(sequence, 0)} to ${when(sequence, shown - 1)}. ` : '',
      shown < sequence.n ? `Showing the ${count(shown)} of ${count(sequence.n, 'event')} nearest to a cause. ` : '',
      'Each number is the change in the label\u2019s probability due to the event, given all others',
      sequence.sets.length ? '; where one of several would have been enough, with the others hidden.' : '.'),
    eventList(sequence)];
}
