// Elements, numbers and names: the building blocks of all views. Text is only ever set as text.

const overview = JSON.parse(document.getElementById('overview').textContent);
const {names, labels} = overview;
const MINUS = '\u2212', TIMES = '\u00d7';

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : String(value));
  }
  node.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const isKnown = value => value !== null && value !== undefined;
const grouped = new Intl.NumberFormat('en-GB');

function count(value, one, many) {
  const number = isKnown(value) ? grouped.format(value) : 'an unknown number of';
  return one ? `${number} ${value === 1 ? one : many || one + 's'}` : number;
}

function decimal(value, digits = 2) {
  if (!isKnown(value)) return '–';
  if (value !== 0 && Math.abs(value) < 10 ** -digits) return value.toPrecision(1).replace('-', MINUS);
  if (Math.abs(value) >= 1000) return grouped.format(Math.round(value));
  return value.toFixed(digits).replace('-', MINUS);
}

const signed = value => (value > 0 ? '+' : '') + decimal(value);
const share = (part, whole) => (whole ? percent(part / whole) : '–');

function percent(value) {
  if (!isKnown(value)) return '–';
  if (value > 0 && value < 0.001) return '<0.1 %';
  if (value < 1 && value > 0.9995) return '>99.9 %';
  return `${(100 * value).toFixed(value > 0 && value < 0.1 || value > 0.995 && value < 1 ? 1 : 0)} %`;
}

// An odds ratio to two digits; beyond these limits it is of no interest how far.
function factor(value) {
  if (value > 1000) return '>1,000';
  if (value < 0.001) return '<0.001';
  return value < 9.95 ? value.toPrecision(2) : grouped.format(Number(value.toPrecision(2)));
}

const SIGNS = {1: ['promotes', '+', 'raises'], '-1': ['inhibits', MINUS, 'lowers'], 0: ['unclear', '?', 'moves']};
const signOf = edge => edge.sign || Math.sign(edge.effect || 0);
const kindOf = sign => SIGNS[Math.sign(sign || 0)][0];
const markOf = sign => SIGNS[Math.sign(sign || 0)][1];
const verbOf = sign => SIGNS[Math.sign(sign || 0)][2];

function shorten(name, most) {
  const letters = Array.from(name);
  return letters.length <= most ? name : letters.slice(0, Math.max(1, most - 1)).join('') + '…';
}

const named = (name, most = 60) =>
  element('bdi', {class: 'name', title: Array.from(name).length > most ? name : null}, shorten(name, most));

const mark = sign => element('span', {class: `mark ${kindOf(sign)}`, 'aria-hidden': 'true'}, markOf(sign));
const swatch = kind => element('span', {class: `swatch ${kind}`, 'aria-hidden': 'true'});
const hidden = text => element('span', {class: 'unseen'}, text);

const linkTo = label => `#label=${encodeURIComponent(label)}`;
const eventLink = event => `#event=${encodeURIComponent(names[event])}`;
const nameLink = (event, most = 40) => element('a', {href: eventLink(event), class: 'event-link'}, named(names[event], most));

const cause = (event, sign) => element('a', {class: `cause ${kindOf(sign)}`, href: eventLink(event)},
  mark(sign), hidden(`${verbOf(sign)} it: `), named(names[event], 32));

// A cause in the overview as an object; counts of sequences are null where there are no data.
function edgeOf(label, [event, sign, odds_ratio, odds_low, odds_high, carrying, having]) {
  const known = isKnown(carrying) && label.among;
  return {label, event, sign, odds_ratio, odds_low, odds_high,
    with: known ? [carrying, having] : null,
    without: known ? [label.among[0] - carrying, label.among[1] - having] : null};
}

const edgesOf = label => label.causes.map(cause => edgeOf(label, cause));
const oddsText = edge => isKnown(edge.odds_ratio) ? factor(edge.odds_ratio).replace(/^[<>]?/, sign => sign + TIMES) : '–';
const intervalText = edge => isKnown(edge.odds_low) ? `${factor(edge.odds_low)} to ${factor(edge.odds_high)}` : '';
const ofThese = ([part, whole]) => `${count(part)} of ${count(whole)}`;

// A cause in a sentence or two.
function inWords(edge) {
  const odds = isKnown(edge.odds_ratio) ? ` Odds ${oddsText(edge)}` + (isKnown(edge.odds_low) ? ` (95 % interval ${intervalText(edge)}).` : '.') : '';
  const counts = edge.with ? ` ${ofThese(edge.with)} sequences with it carry the label; without it, ${ofThese(edge.without)}.` : '';
  return [named(names[edge.event], 60), ` ${verbOf(edge.sign)} `, named(edge.label.name, 60), '.', odds, counts];
}

const LEVELS = {
  trust: ['Trust', '●', 'No problems found.'],
  caution: ['Caution', '◐', 'Read the reasons before you use these causes.'],
  doubt: ['Doubt', '○', 'Do not use these causes.'],
};
const RANKS = {trust: 0, caution: 1, doubt: 2};

const verdictBadge = level => level
  ? element('span', {class: `verdict ${level}`}, element('span', {'aria-hidden': 'true'}, LEVELS[level][1]), LEVELS[level][0])
  : element('span', {class: 'verdict unjudged'}, 'not judged');

const figure = (value, what, note) => element('div', {class: 'figure'},
  element('dt', {}, what), element('dd', {}, value), note ? element('dd', {class: 'aside'}, note) : null);

// A strip of shares, each with its own pattern, so that it is readable without colour.
function strip(shares, label) {
  const whole = shares.reduce((sum, [, n]) => sum + n, 0) || 1;
  const bar = element('div', {class: 'strip', role: 'img', 'aria-label': label});
  for (const [kind, n] of shares) {
    if (!n) continue;
    const part = element('span', {class: kind});
    part.style.flexGrow = n / whole;
    bar.append(part);
  }
  return bar;
}
