// The picture of the finding: labels by causes, one square for each cause, in the order that puts shared causes together.

const CELLS = [2, 3, 4, 6, 8, 11, 14, 18, 22, 26, 32, 38, 46], NAMED_FROM = 11, TALL = 640, READABLE = 14;
const STEPS = [1.5, 3, 30];
const BARS = [2, 3, 5, 10, 20];
const MANY = 60, MOST_SHARED = 8, SMALLEST = 2;
const picture = {min: null, cell: null};

// How far the odds are surely from 1: 0 to 3, by the end of the interval that is nearer to 1; null if unknown.
function stepOf(edge) {
  if (!isKnown(edge.odds_low)) return null;
  const least = Math.max(edge.odds_low, 1 / Math.max(edge.odds_high, 1e-300));
  return STEPS.filter(limit => least >= limit).length;
}

// The rows, columns and squares of the picture; on a narrow screen labels are columns.
function pictureModel(min, isTurned) {
  const events = overview.order.events.filter(event => usesOf.get(event).n >= min);
  const column = new Map(events.map((event, at) => [event, at]));
  const shown = overview.order.labels.map(at => labels[at]).filter(label => label.causes.some(([event]) => column.has(event)));
  const squares = shown.flatMap((label, row) => edgesOf(label).filter(edge => column.has(edge.event))
    .map(edge => (isTurned ? {edge, row: column.get(edge.event), column: row} : {edge, row, column: column.get(edge.event)})));
  squares.sort((a, b) => a.row - b.row || a.column - b.column);
  const labelNames = shown.map(label => ({text: label.name, link: linkTo(label.name), about: aboutLabel(label)}));
  const eventNames = events.map(event => ({text: names[event], link: eventLink(event), about: aboutEvent(event, usesOf.get(event).n)}));
  return {rows: isTurned ? eventNames : labelNames, columns: isTurned ? labelNames : eventNames, squares,
    nEvents: usesOf.size, nShown: events.length, nLabels: shown.length};
}

const aboutLabel = label => [named(label.name, 60), `: ${count(label.causes.length, 'cause')}` + (label.among ? `; carried by ${ofThese(label.among)} sequences.` : '.')];
const aboutEvent = (event, n) => [named(names[event], 60), ` acts on ${count(n, 'label')}` + (isKnown(overview.seen[event]) ? `; in ${count(overview.seen[event], 'sequence')}.` : '.')];

function square({edge, row, column}, cell) {
  const step = stepOf(edge), gap = cell >= 8 ? 1.5 : cell >= 4 ? 0.5 : 0;
  const room = cell - 2 * gap, side = cell < 8 ? Math.max(room, SMALLEST) : room * [0.5, 0.68, 0.84, 1][step ?? 1];
  const x = column * cell + (cell - side) / 2, y = row * cell + (cell - side) / 2;
  const group = shape('g', {class: `square ${kindOf(edge.sign)} ${step === null ? 'unmeasured' : `step-${step}`}`},
    shape('rect', {x, y, width: side, height: side, rx: cell >= 14 ? 2 : 0}));
  if (cell >= NAMED_FROM) {
    const arm = Math.min(6, side * 0.26), mx = column * cell + cell / 2, my = row * cell + cell / 2;
    group.append(shape('path', {class: 'sign-mark', d: `M${mx - arm},${my}h${2 * arm}` + (edge.sign > 0 ? `M${mx},${my - arm}v${2 * arm}` : '')}));
  }
  return group;
}

function sizesOf(model, cell, width) {
  const isNamed = cell >= NAMED_FROM, size = Math.min(13, cell - 1), letter = size * 0.61;
  const longest = list => list.reduce((most, {text}) => Math.max(most, Array.from(text).length), 0);
  const left = isNamed ? Math.min(width * 0.42, 260, longest(model.rows) * letter + 14) : 10;
  const top = isNamed ? Math.min(190, longest(model.columns) * letter + 14) : 10;
  return {isNamed, size, left, top, rowLetters: Math.floor((left - 12) / letter), columnLetters: Math.floor((top - 12) / letter)};
}

const nameText = (text, most, attributes) => shape('text', attributes, shorten(text, Math.max(most, 3)), shape('title', {}, text));

function rowNames(model, cell, sizes) {
  return sizes.isNamed ? model.rows.map(({text}, at) => nameText(text, sizes.rowLetters,
    {class: 'row-name', 'data-row': at, x: sizes.left - 8, y: at * cell + cell / 2 + sizes.size * 0.36, 'font-size': sizes.size, 'text-anchor': 'end'})) : [];
}

function columnNames(model, cell, sizes) {
  return sizes.isNamed ? model.columns.map(({text}, at) => nameText(text, sizes.columnLetters,
    {class: 'column-name', 'data-column': at, transform: `translate(${at * cell + cell / 2 + sizes.size * 0.36},${sizes.top - 8}) rotate(-90)`, 'font-size': sizes.size})) : [];
}

function gridLines(model, cell) {
  const width = model.columns.length * cell, height = model.rows.length * cell;
  if (cell < NAMED_FROM) return shape('rect', {class: 'grid-frame', width, height});
  const lines = [...Array(model.rows.length + 1).keys()].map(at => `M0,${at * cell}H${width}`)
    .concat([...Array(model.columns.length + 1).keys()].map(at => `M${at * cell},0V${height}`));
  return shape('path', {class: 'grid-lines', d: lines.join('')});
}

// The whole picture as one drawing, for a file.
function wholePicture({model}) {
  const cell = 18, sizes = sizesOf(model, cell, 1400);
  const width = sizes.left + model.columns.length * cell + 12, height = sizes.top + model.rows.length * cell + 12;
  return shape('svg', {class: 'matrix', width, height, viewBox: `0 0 ${width} ${height}`},
    shape('g', {transform: `translate(0,${sizes.top})`}, rowNames(model, cell, sizes)),
    shape('g', {transform: `translate(${sizes.left},0)`}, columnNames(model, cell, sizes)),
    shape('g', {transform: `translate(${sizes.left},${sizes.top})`}, gridLines(model, cell), model.squares.map(each => square(each, cell))));
}

const usesOf = (() => {
  const used = new Map();
  for (const label of labels) for (const [event, sign] of label.causes) {
    const uses = used.get(event) || {n: 0, raised: 0, lowered: 0};
    used.set(event, {n: uses.n + 1, raised: uses.raised + (sign > 0), lowered: uses.lowered + (sign < 0)});
  }
  return used;
})();

const nActingOn = bar => [...usesOf.values()].filter(({n}) => n >= bar).length;

// Of many event types, those are shown at first that act on several labels: as many as can be read.
function leastLabels() {
  if (picture.min !== null) return picture.min;
  if (usesOf.size <= MANY) return 1;
  return BARS.find(bar => nActingOn(bar) && nActingOn(bar) <= MANY) || BARS.findLast(bar => nActingOn(bar)) || 1;
}

function barField(update) {
  if (usesOf.size <= MANY) return null;
  const options = [1, ...BARS].map(bar => [bar, nActingOn(bar)]).filter(([, n]) => n);
  return element('label', {class: 'field'}, 'Event types ', element('select', {id: 'least-labels', onchange: event => { picture.min = Number(event.target.value); picture.cell = null; update(); }},
    options.map(([bar, n]) => element('option', {value: bar, selected: bar === leastLabels()}, bar === 1 ? `all ${count(n)}` : `of ${bar} or more labels: ${count(n)}`))));
}

const REST = 'Point at a square, or press Tab and the arrow keys, to read a cause in words. A click, a second tap or Enter opens it.';

function pictureSection() {
  const room = element('div', {class: 'picture', tabindex: '0', role: 'group', 'aria-label': 'Map of labels and their causes: arrow keys move, Enter opens', 'aria-describedby': 'picture-words'});
  const words = element('p', {class: 'picture-words', id: 'picture-words', role: 'status'}, REST);
  const note = element('p', {class: 'aside picture-note'});
  const state = {model: null, at: null, cell: null};
  const draw = () => drawPicture(room, note, words, state);
  const zoom = by => { picture.cell = (by > 0 ? CELLS.find(cell => cell > state.cell) : CELLS.findLast(cell => cell < state.cell)) || state.cell; keepMiddle(room, draw); };
  const button = (text, what, act) => element('button', {type: 'button', class: 'zoom', 'aria-label': what, onclick: act}, text);
  const tools = element('div', {class: 'picture-tools'}, barField(draw), element('span', {class: 'zooms'},
    button(MINUS, 'Zoom out', () => zoom(-1)), button('+', 'Zoom in', () => zoom(1)), button('Fit', 'Fit the whole picture', () => { picture.cell = 'fit'; draw(); })));
  listen(room, words, state);
  if (!labels.some(label => label.causes.length)) return {view: section('What causes what', {}, element('p', {class: 'note'}, 'No causes were found.')), draw: () => {}};
  return {draw, view: section('What causes what', {class: 'wide', id: 'finding', downloads: [
    svgButton('the picture', 'causes', () => wholePicture(state)),
    csvButton('all causes', 'causes', () => causeRows(labels.flatMap(edgesOf)))]},
  sharedCauses(), pictureLegend(), words, room, tools, note)};
}

// Labels are the rows, unless only as columns they have room.
function orientedModel(width) {
  const usual = pictureModel(leastLabels(), false), turned = pictureModel(leastLabels(), true);
  const isTurned = !fitsAcross(usual, READABLE, width) && (fitsAcross(turned, NAMED_FROM, width) || usual.rows.length < usual.columns.length);
  return isTurned ? turned : usual;
}

// The largest size at which all is seen; where that is too small to read, names are, and the rest is scrolled.
function usualCell(model, width) {
  const whole = Math.max(...CELLS.filter(cell => fitsAcross(model, cell, width) && fitsBelow(model, cell, width)), 0);
  return whole >= NAMED_FROM ? whole : Math.max(...CELLS.filter(cell => cell <= 18 && fitsAcross(model, cell, width)), READABLE);
}

// The whole picture at a glance, without names if need be.
function fittingCell(model, width) {
  const fitting = CELLS.filter(cell => fitsAcross(model, cell, width) && fitsBelow(model, cell, width));
  return fitting.length ? Math.max(...fitting) : Math.min((width - 24) / model.columns.length, (TALL - 24) / model.rows.length);
}

function fittingModel(width) {
  const [usual, turned] = [false, true].map(isTurned => pictureModel(leastLabels(), isTurned));
  return fittingCell(turned, width) > fittingCell(usual, width) ? turned : usual;
}

function drawPicture(room, note, words, state) {
  const width = room.clientWidth, model = picture.cell === 'fit' ? fittingModel(width) : orientedModel(width);
  const cell = picture.cell === 'fit' ? fittingCell(model, width) : picture.cell || usualCell(model, width);
  const sizes = sizesOf(model, cell, width);
  const [w, h] = [model.columns.length * cell, model.rows.length * cell];
  Object.assign(state, {model, cell, sizes, at: null, ring: shape('rect', {class: 'ring', visibility: 'hidden'})});
  const layer = (kind, width, height, ...children) => shape('svg', {class: `matrix ${kind}`, width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true'}, ...children);
  const inner = element('div', {class: 'picture-inner'},
    layer('corner', sizes.left, sizes.top),
    layer('column-names', w + 8, sizes.top, columnNames(model, cell, sizes)),
    layer('row-names', sizes.left, h + 8, rowNames(model, cell, sizes)),
    layer('squares', w + 8, h + 8, gridLines(model, cell), model.squares.map(each => square(each, cell)), state.ring));
  inner.style.gridTemplateColumns = `${sizes.left}px ${w + 8}px`;
  room.replaceChildren(inner);
  words.replaceChildren(REST);
  const rest = model.nEvents - model.nShown, empty = labels.filter(label => !label.causes.length).length;
  note.textContent = [rest ? `Shown: ${count(model.nShown, 'event type')} that act${model.nShown === 1 ? 's' : ''} on ${count(leastLabels())} or more labels, and the ${count(model.nLabels, 'label')} on which they act. ${count(rest)} more event types act on fewer labels.` : '',
    empty ? `${count(empty, 'label')} without a cause ${empty === 1 ? 'is' : 'are'} not in the picture.` : ''].filter(Boolean).join(' ');
}

function fitsAcross(model, cell, width) {
  return sizesOf(model, cell, width).left + model.columns.length * cell + 10 <= width;
}

function fitsBelow(model, cell, width) {
  return model.rows.length <= 12 || sizesOf(model, cell, width).top + model.rows.length * cell <= TALL;
}

function keepMiddle(room, draw) {
  const middle = (at, size, whole) => (at + size / 2) / (whole || 1);
  const x = middle(room.scrollLeft, room.clientWidth, room.scrollWidth), y = middle(room.scrollTop, room.clientHeight, room.scrollHeight);
  draw();
  room.scrollTo(x * room.scrollWidth - room.clientWidth / 2, y * room.scrollHeight - room.clientHeight / 2);
}

// Of many event types, those that act on the most labels, with their numbers as bars.
function sharedCauses() {
  if (usesOf.size <= MANY) return null;
  const most = [...usesOf].filter(([, {n}]) => n > 1).sort(([a, x], [b, y]) => y.n - x.n || a - b).slice(0, MOST_SHARED);
  if (!most.length) return null;
  const part = (n, kind) => { const bar = element('span', {class: `share-bar ${kind}`}); bar.style.flexGrow = n; return bar; };
  return element('div', {class: 'shared', id: 'shared'}, element('h3', {}, 'Event types that act on the most labels'), element('ul', {class: 'plain'}, most.map(([event, {n, raised, lowered}]) => {
    const bars = element('span', {class: 'shared-bars', 'aria-hidden': 'true'}, part(raised, 'promotes'), part(lowered, 'inhibits'), part(n - raised - lowered, ''), part(most[0][1].n - n, 'none'));
    const said = [[raised, 'raises'], [lowered, 'lowers'], [n - raised - lowered, 'moves']].filter(([n]) => n).map(([n, verb]) => `${verb} ${count(n)}`).join(', ');
    return element('li', {}, nameLink(event, 32), bars, element('span', {}, `${said} labels`));
  })));
}

function pictureLegend() {
  const key = (sign, step) => shape('svg', {class: 'matrix', width: 18, height: 18, 'aria-hidden': 'true'}, square({edge: sampleEdge(sign, step), row: 0, column: 0}, 18));
  const levels = [...STEPS.keys()].map(at => STEPS[at]);
  const row = (sign, word) => element('span', {class: 'legend-row'}, element('b', {}, word), [0, 1, 2, 3].map(step => key(sign, step)));
  return element('p', {class: 'legend'}, row(1, 'raises'), row(-1, 'lowers'),
    element('span', {}, `size and shade: odds at least ${TIMES}1, ${levels.map(level => TIMES + level).join(', ')} (or 1 ∕ them)`),
    labels.some(label => edgesOf(label).some(edge => stepOf(edge) === null)) ? element('span', {class: 'legend-row'}, key(1, null), 'odds unknown') : null);
}

const sampleEdge = (sign, step) => (step === null ? {sign} : {sign, odds_low: [1, ...STEPS][step], odds_high: 1e300});

// What is at a place of the picture: a square, or the name of a row (column -1) or of a column (row -1).
function atPlace(state, row, column) {
  if (column < 0) return {row, column, about: state.model.rows[row].about, link: state.model.rows[row].link};
  if (row < 0) return {row, column, about: state.model.columns[column].about, link: state.model.columns[column].link};
  const found = state.model.squares.find(each => each.row === row && each.column === column);
  return found && {row, column, about: inWords(found.edge), link: linkTo(found.edge.label.name)};
}

function say(words, state, place) {
  state.at = place;
  words.replaceChildren(...(place ? place.about : [REST]).flat(Infinity));
  const {ring, cell} = state;
  ring.setAttribute('visibility', place && place.row >= 0 && place.column >= 0 ? 'visible' : 'hidden');
  if (place) fill(ring, {x: place.column * cell - 1, y: place.row * cell - 1, width: cell + 2, height: cell + 2}, []);
}

function placeOf(event, state) {
  const name = event.target.closest?.('[data-row], [data-column]');
  if (name) return atPlace(state, Number(name.dataset.row ?? -1), Number(name.dataset.column ?? -1));
  const layer = event.target.closest?.('.squares');
  if (!layer) return null;
  const box = layer.getBoundingClientRect();
  const [row, column] = [Math.floor((event.clientY - box.top) / state.cell), Math.floor((event.clientX - box.left) / state.cell)];
  return (row >= 0 && column >= 0 && atPlace(state, row, column)) || null;
}

function listen(room, words, state) {
  let tapped = null;
  const sameAs = place => tapped && place && tapped.row === place.row && tapped.column === place.column;
  room.addEventListener('pointermove', event => { if (event.pointerType === 'mouse') say(words, state, placeOf(event, state)); });
  room.addEventListener('click', event => {
    const place = placeOf(event, state);
    if (place && (event.pointerType === 'mouse' || sameAs(place))) location.hash = place.link;
    tapped = place;
    say(words, state, place);
  });
  room.addEventListener('keydown', event => {
    if (event.key === 'Enter' && state.at) { location.hash = state.at.link; return; }
    const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = state.at ? nextPlace(state, ...move) : state.model.squares[0];
    if (next) { say(words, state, atPlace(state, next.row, next.column)); reveal(room, state); }
  });
}

// The next square in a direction, else the name at the end of the row or column; along names, the next name.
function nextPlace(state, down, right) {
  const {row, column} = state.at, {model} = state;
  if (column < 0 && !right) return row + down >= 0 && row + down < model.rows.length ? {row: row + down, column} : null;
  if (row < 0 && !down) return column + right >= 0 && column + right < model.columns.length ? {row, column: column + right} : null;
  const ahead = model.squares.filter(each => (right ? each.row === row && (each.column - column) * right > 0 : each.column === column && (each.row - row) * down > 0));
  const nearest = ahead.sort((a, b) => Math.abs(a.row - row) + Math.abs(a.column - column) - Math.abs(b.row - row) - Math.abs(b.column - column))[0];
  if (nearest) return nearest;
  return right < 0 && row >= 0 ? {row, column: -1} : down < 0 && column >= 0 ? {row: -1, column} : null;
}

function reveal(room, {at, cell, sizes}) {
  const keep = (from, to, size, start) => from < start ? from - start : to > size ? to - size : 0;
  const x = sizes.left + Math.max(at.column, 0) * cell - room.scrollLeft, y = sizes.top + Math.max(at.row, 0) * cell - room.scrollTop;
  room.scrollBy(keep(x, x + cell + 8, room.clientWidth, sizes.left), keep(y, y + cell + 8, room.clientHeight, sizes.top));
}
