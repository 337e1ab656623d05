// The table of labels: search, filter by verdict, sort. Its state is kept while labels are opened and closed.

const agreement = label => {
  const own = new Set(label.causes.map(([event]) => event));
  const both = label.baseline.filter(event => own.has(event)).length;
  return {both, here: own.size - both, there: label.baseline.length - both};
};
const similarity = label => {
  const {both, here, there} = agreement(label);
  return both + here + there ? both / (both + here + there) : null;
};

const COLUMNS = [
  {key: 'name', title: 'Label', value: label => label.name, rising: true,
    cell: label => element('a', {href: linkTo(label.name)}, named(label.name, 48))},
  {key: 'verdict', title: 'Verdict', value: label => RANKS[label.level], rising: true, cell: label => verdictBadge(label.level),
    shown: () => labels.some(label => label.level)},
  {key: 'support', title: 'Sequences', value: label => label.support, numeric: true, cell: label => isKnown(label.support) ? count(label.support) : '–'},
  {key: 'causes', title: 'Causes, surest first', value: label => label.causes.length, cell: label => causeList(label)},
  {key: 'rule', title: 'Rule', value: label => label.rule ? Math.min(label.rule.precision, label.rule.recall) : null,
    cell: label => label.rule ? element('code', {class: 'rule'}, shorten(label.rule.text, 60)) : element('span', {class: 'faint'}, 'none'),
    shown: () => labels.some(label => label.rule)},
  {key: 'baseline', title: 'Baseline overlap', value: similarity, numeric: true,
    cell: label => percent(similarity(label)), shown: () => overview.parts.baseline},
].filter(column => !column.shown || column.shown());

const IN_TABLE = 5, ROWS = 500;
const state = {query: '', level: null, sort: 'support', rising: false, all: false};

function causeList(label) {
  if (!label.causes.length) return element('span', {class: 'faint'}, 'none found');
  const more = label.causes.length - IN_TABLE;
  return element('span', {class: 'causes'},
    label.causes.slice(0, IN_TABLE).map(([event, sign]) => cause(event, sign)),
    more > 0 ? element('span', {class: 'faint'}, `and ${more} more`) : null);
}

const haystacks = labels.map(label =>
  [label.name, ...label.causes.map(([event]) => names[event])].join('\n').toLowerCase());

function matching() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const column = COLUMNS.find(each => each.key === state.sort) || COLUMNS[0];
  const rows = labels.map((label, at) => at).filter(at =>
    (!state.level || labels[at].level === state.level) && words.every(word => haystacks[at].includes(word)));
  const direction = state.rising ? 1 : -1;
  return rows.map(at => [labels[at], column.value(labels[at])]).sort(([a, x], [b, y]) => {
    if (!isKnown(x) || !isKnown(y)) return isKnown(y) - isKnown(x);
    const order = typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : x - y;
    return direction * order || a.name.localeCompare(b.name, 'en', {numeric: true});
  }).map(([label]) => label);
}

function row(label) {
  return element('tr', {role: 'row'}, COLUMNS.map((column, at) => element(at ? 'td' : 'th', {
    role: at ? 'cell' : 'rowheader', scope: at ? null : 'row', class: column.numeric ? 'number' : null, 'data-title': column.title,
  }, column.cell(label))));
}

function header(column, choose) {
  return element('th', {role: 'columnheader', scope: 'col', class: column.numeric ? 'number' : null, 'data-key': column.key, 'aria-sort': 'none'},
    element('button', {type: 'button', onclick: () => choose(column.key)}, column.title, element('span', {class: 'arrow', 'aria-hidden': 'true'})));
}

function filterField(update) {
  return element('input', {type: 'search', id: 'filter', autocomplete: 'off', spellcheck: 'false', value: state.query,
    placeholder: 'Narrow to a label or a cause', 'aria-label': 'Narrow the table to a label or a cause', 'aria-controls': 'labels',
    oninput: event => { state.query = event.target.value; state.all = false; update(); },
    onkeydown: event => { if (event.key === 'ArrowDown') { event.preventDefault(); step(null, 1); } }});
}

function sortField(choose) {
  return element('label', {class: 'sort-field'}, 'Sort by ',
    element('select', {id: 'sort', onchange: event => choose(event.target.value)},
      COLUMNS.map(column => element('option', {value: column.key, selected: column.key === state.sort}, column.title.split(',')[0]))));
}

// Arrow keys move between the field and the links of the labels.
function step(from, by) {
  const links = [...document.querySelectorAll('#labels tbody th a')];
  const next = from ? links.indexOf(from) + by : 0;
  (next < 0 ? document.getElementById('filter') : links[Math.min(next, links.length - 1)])?.focus();
}

function labelTable() {
  const body = element('tbody', {role: 'rowgroup'});
  const status = element('p', {class: 'status', role: 'status'});
  const more = element('button', {type: 'button', class: 'more', onclick: () => { state.all = true; update(); }});
  const choose = key => {
    const column = COLUMNS.find(each => each.key === key);
    state.rising = state.sort === key ? !state.rising : Boolean(column.rising);
    state.sort = key;
    update();
  };
  const head = element('tr', {role: 'row'}, COLUMNS.map(column => header(column, choose)));
  const update = () => {
    const matches = matching();
    const shown = state.all ? matches : matches.slice(0, ROWS);
    body.replaceChildren(...shown.map(row));
    status.textContent = matches.length ? `${count(matches.length)} of ${count(labels.length, 'label')}`
      + (state.level ? `, verdict ${LEVELS[state.level][0].toLowerCase()}` : '') : 'No label or event type matches.';
    more.hidden = shown.length === matches.length;
    more.textContent = `Show all ${count(matches.length)}`;
    for (const cell of head.children) {
      const sorted = cell.dataset.key === state.sort;
      cell.setAttribute('aria-sort', sorted ? (state.rising ? 'ascending' : 'descending') : 'none');
    }
    document.querySelectorAll('.tile').forEach(tile => tile.setAttribute('aria-pressed', String(tile.dataset.level === state.level)));
  };
  body.addEventListener('keydown', event => {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (by && event.target.matches('th a')) { event.preventDefault(); step(event.target, by); }
  });
  const tools = element('div', {class: 'tools'}, filterField(update), sortField(choose), status);
  const table = element('table', {id: 'labels', role: 'table', 'aria-label': 'Labels'},
    element('thead', {role: 'rowgroup'}, head), body);
  update();
  return {view: section('Labels', {class: 'wide', downloads: [csvButton('the labels', 'labels', labelRows)]}, tools, table, more), update};
}

const labelRows = () => [['label', 'sequences_with_label', 'sequences', 'verdict', 'causes', 'rule', 'precision', 'recall', 'rule_holds_and_label', 'rule_holds'],
  ...matching().map(label => [label.name, label.support, label.among?.[1], label.level,
    label.causes.map(([event, sign]) => `${sign < 0 ? 'not ' : ''}${names[event]}`).join('; '), label.rule?.text, label.rule?.precision, label.rule?.recall, ...(label.rule?.counts || [null, null])])];
