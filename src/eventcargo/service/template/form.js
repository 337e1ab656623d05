// Reads what was pasted, asks the service, and shows what it answers. Text is only ever set as text.

const about = JSON.parse(document.getElementById('about').textContent);
const at = id => document.getElementById(id);
const MINUS = '\u2212';
const FEW = 8;
const LEVELS = {trust: ['Trust', '●'], caution: ['Caution', '◐'], doubt: ['Doubt', '○']};

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return node;
}

const named = name => element('bdi', {class: 'name'}, name);
const percent = value => `${(100 * value).toFixed(value > 0.001 && value < 0.0995 ? 1 : 0)} %`;
const count = (n, noun) => `${n.toLocaleString('en-GB')} ${noun}${n === 1 ? '' : 's'}`;

// Lines of comma-separated values, with quotes, as rows of fields.
function rowsOf(pasted) {
  const rows = [[]];
  const fields = /\s*(?:"((?:[^"]|"")*)"[ \t]*|([^,;\t\r\n"]*))([,;\t]|\r?\n|$)/y;
  while (fields.lastIndex < pasted.length) {
    const match = fields.exec(pasted);
    if (!match) throw new Error(`line ${rows.length} has a quotation mark inside a field; double it and quote the field`);
    rows[rows.length - 1].push(match[1] === undefined ? match[2].trim() : match[1].replaceAll('""', '"'));
    if (match[3].endsWith('\n')) rows.push([]);
    if (match[3] === '') break;
  }
  return rows.filter(row => row.some(field => field !== ''));
}

const COLUMNS = {
  id: ['id', 'sequence_id', 'sequence', 'subject_id', 'subject'],
  time: ['time', 'date', 'timestamp', 'when'],
  name: ['name', 'event', 'code', 'event_type'],
};

// Where each column is: by a header, or else time and event, or id, time and event.
function columnsOf(rows) {
  const header = rows[0].map(field => field.toLowerCase());
  const places = {};
  for (const [column, words] of Object.entries(COLUMNS)) {
    const place = header.findIndex(field => words.includes(field));
    if (place >= 0) places[column] = place;
  }
  if (places.name !== undefined) {
    about.values.forEach(name => { if (rows[0].includes(name)) places[`values ${name}`] = rows[0].indexOf(name); });
    about.attributes.forEach(name => { if (rows[0].includes(name)) places[`attributes ${name}`] = rows[0].indexOf(name); });
    return [places, rows.slice(1)];
  }
  const usual = [{name: 0}, {time: 0, name: 1}, {id: 0, time: 1, name: 2}][rows[0].length - 1];
  if (!usual) throw new Error('give lines of event, of time and event, or of id, time and event, or a header with the column “event”');
  return [usual, rows];
}

const numberOf = field => (field !== '' && Number.isFinite(Number(field)) ? Number(field) : field);

function sequencesOf(pasted) {
  if (/^\s*[[{]/.test(pasted)) return pasted;
  const [places, rows] = columnsOf(rowsOf(pasted));
  const sequences = new Map();
  rows.forEach((row, line) => {
    if (row.length <= places.name) throw new Error(`row ${line + 1} has ${count(row.length, 'field')}: ${row.join(', ')}`);
    const id = places.id === undefined ? 'pasted' : row[places.id];
    if (!sequences.has(id)) sequences.set(id, {id, events: []});
    const sequence = sequences.get(id);
    const event = {name: row[places.name]};
    if (places.time !== undefined) event.time = numberOf(row[places.time]);
    for (const [column, place] of Object.entries(places)) {
      const [group, ...words] = column.split(' ');
      if (!words.length || (row[place] || '') === '') continue;
      const holder = group === 'values' ? event : sequence;
      holder[group] = {...holder[group], [words.join(' ')]: numberOf(row[place])};
    }
    sequence.events.push(event);
  });
  return JSON.stringify([...sequences.values()]);
}

function tell(message, wrong) {
  at('status').textContent = message;
  at('status').classList.toggle('wrong', Boolean(wrong));
}

const badge = level => level
  ? element('span', {class: `verdict ${level}`}, element('span', {'aria-hidden': 'true'}, LEVELS[level][1]), LEVELS[level][0])
  : element('span', {class: 'verdict unjudged'}, 'not judged');

function when(cause) {
  if (typeof cause.first_time === 'string') return cause.first_time.slice(0, 19).replace('T', ' ');
  return cause.first_time === null ? `event ${cause.first_position + 1}` : String(cause.first_time);
}

function effectOf(cause) {
  const up = cause.effect > 0;
  return element('span', {class: `effect ${up ? 'up' : 'down'}`}, `${up ? '+' : MINUS}${percent(Math.abs(cause.effect))}`);
}

function causeRow(cause) {
  const names = [cause.event, ...cause.others].flatMap((name, place) => (place ? [' or ', named(name)] : [named(name)]));
  return element('tr', {},
    element('th', {scope: 'row'}, names),
    element('td', {'data-title': 'First'}, when(cause)),
    element('td', {'data-title': 'Times', class: 'number'}, String(cause.count)),
    element('td', {'data-title': 'Effect', class: 'number'}, effectOf(cause)),
    element('td', {'data-title': 'Without it', class: 'number'}, percent(cause.without)));
}

function causesOf(causes) {
  if (!causes.length) return element('p', {class: 'note'}, 'No event type moves it by itself.');
  const heads = [['Event', ''], ['First', ''], ['Times', 'number'], ['Effect', 'number'], ['Without it', 'number']];
  return element('table', {},
    element('thead', {}, element('tr', {}, heads.map(([title, kind]) => element('th', {scope: 'col', class: kind}, title)))),
    element('tbody', {}, causes.map(causeRow)));
}

function meterOf(share) {
  const bar = element('span', {});
  bar.style.width = `${100 * share}%`;
  return element('div', {class: 'meter', 'aria-hidden': 'true'}, bar);
}

const ruleOf = rule => rule === undefined ? null
  : element('p', {class: 'holds'}, 'Its rule holds: ', element('code', {}, rule));

function labelOf(label, sequence, verdicts) {
  return element('div', {class: 'found'},
    element('h3', {}, named(label), element('span', {class: 'chance'}, percent(sequence.probabilities[label])), badge(verdicts[label])),
    meterOf(sequence.probabilities[label]),
    ruleOf(sequence.rules[label]),
    causesOf(sequence.causes.filter(cause => cause.label === label)));
}

function restRow(label, sequence, verdicts) {
  const rule = sequence.rules[label];
  return element('tr', {},
    element('th', {scope: 'row'}, named(label)),
    element('td', {'data-title': 'Probability', class: 'number'}, percent(sequence.probabilities[label])),
    element('td', {'data-title': 'Verdict'}, badge(verdicts[label])),
    element('td', {'data-title': 'Rule', class: 'rule'}, rule === undefined ? '' : element('code', {}, rule)));
}

function restOf(labels, sequence, verdicts, open) {
  const heads = [['Label', ''], ['Probability', 'number'], ['Verdict', ''], ['Rule that holds', '']];
  const rest = element('details', {class: 'others'},
    element('summary', {}, `${count(labels.length, 'other label')}`),
    element('table', {},
      element('thead', {}, element('tr', {}, heads.map(([title, kind]) => element('th', {scope: 'col', class: kind}, title)))),
      element('tbody', {}, labels.map(label => restRow(label, sequence, verdicts)))));
  rest.open = open;
  return rest;
}

function sequenceOf(sequence, verdicts) {
  const probable = (one, other) => sequence.probabilities[other] - sequence.probabilities[one];
  const explained = [...sequence.explained].sort(probable);
  const rest = Object.keys(sequence.probabilities).filter(label => !explained.includes(label)).sort(probable);
  return element('section', {class: 'asked'},
    element('h2', {}, named(sequence.id), element('span', {class: 'faint'}, `${count(explained.length, 'label')} expected`)),
    explained.map(label => labelOf(label, sequence, verdicts)),
    rest.length ? restOf(rest, sequence, verdicts, rest.length <= FEW) : null);
}

function remarksOf(answer) {
  const remarks = [...answer.notes];
  if (answer.unknown_events.length) {
    const some = answer.unknown_events.slice(0, FEW).map(one => `${one.event} (${one.occurrences})`).join(', ');
    const more = answer.unknown_events.length > FEW ? ', …' : '';
    remarks.push(`The model does not know ${count(answer.unknown_events.length, 'event type')}: ${some}${more}. They explain nothing.`);
  }
  if (answer.left_out.length) remarks.push(`Left out, because no event of theirs is read: ${answer.left_out.join(', ')}.`);
  if (!remarks.length) return null;
  return element('section', {}, element('h2', {}, 'Remarks'),
    element('ul', {class: 'warnings'}, remarks.map(remark => element('li', {}, remark))));
}

async function ask() {
  at('ask').disabled = true;
  tell('Working …');
  at('answer').replaceChildren();
  try {
    const body = sequencesOf(at('pasted').value);
    const answered = await fetch('explain', {method: 'POST', headers: {'Content-Type': 'application/json'}, body});
    const content = await answered.json();
    if (!answered.ok) throw new Error(content.detail);
    at('answer').replaceChildren(...[remarksOf(content), ...content.sequences.map(one => sequenceOf(one, content.verdicts))].filter(Boolean));
    tell(`${count(content.sequences.length, 'sequence')} explained.`);
  } catch (error) {
    tell(error instanceof TypeError ? 'The service does not answer.' : error.message, true);
  } finally {
    at('ask').disabled = false;
  }
}

at('lead').append('Run ', named(about.run), `: ${count(about.labels, 'label')}, ${count(about.eventTypes, 'event type')}.`);
at('hint').textContent = 'Paste CSV lines (event; time, event; or id, time, event; a header is read) or JSON.';
at('pasted').placeholder = about.example;
at('example').addEventListener('click', () => { at('pasted').value = about.example; });
at('ask').addEventListener('click', ask);
