// Search on every view: finds labels and event types; arrow keys move through the results, Enter opens one.

const MOST_FOUND = 12;
let haystack = null;

function searchable() {
  haystack ||= [...labels.map(label => ({kind: 'label', name: label.name, link: linkTo(label.name), note: count(label.causes.length, 'cause')})),
    ...names.map((name, event) => ({kind: 'event type', name, link: eventLink(event), event}))].map(each => ({...each, low: each.name.toLowerCase()}));
  return haystack;
}

// Names that contain all words: those that are the query first, then those that begin with it.
function findNames(query) {
  const low = query.trim().toLowerCase(), words = low.split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const rank = each => (each.low === low ? 0 : each.low.startsWith(low) ? 1 : 2);
  const groups = [[], [], []];
  for (const each of searchable()) if (words.every(word => each.low.includes(word))) groups[rank(each)].push(each);
  return groups.flat();
}

const actsOn = event => labels.filter(label => label.causes.some(([own]) => own === event)).length;

function setUpSearch() {
  const field = document.getElementById('search'), list = document.getElementById('found'), status = document.getElementById('found-status');
  let chosen = -1;
  const options = () => [...list.querySelectorAll('[role=option]')];
  const close = () => { list.hidden = true; field.setAttribute('aria-expanded', 'false'); field.removeAttribute('aria-activedescendant'); chosen = -1; };
  const choose = at => {
    chosen = at;
    options().forEach((option, place) => option.setAttribute('aria-selected', String(place === at)));
    const option = options()[at];
    if (!option) { field.removeAttribute('aria-activedescendant'); return; }
    field.setAttribute('aria-activedescendant', option.id);
    option.scrollIntoView({block: 'nearest'});
  };
  const open = option => { location.hash = option.dataset.link; field.value = ''; close(); };
  const show = () => {
    const every = findNames(field.value), some = every.slice(0, MOST_FOUND);
    list.replaceChildren(...some.map((each, at) => element('li', {role: 'option', id: `found-${at}`, 'aria-selected': 'false', 'data-link': each.link},
      named(each.name, 60), element('span', {class: 'faint'}, each.kind + ', ' + (each.note || (actsOn(each.event) ? `acts on ${count(actsOn(each.event), 'label')}` : 'no cause'))))));
    const asked = field.value.trim() !== '';
    status.textContent = !asked ? '' : every.length ? `${count(every.length)} found${every.length > some.length ? `, ${count(some.length)} shown` : ''}` : 'No label or event type matches.';
    if (asked) list.append(element('li', {class: 'found-note', role: 'presentation'}, status.textContent));
    list.hidden = !asked;
    field.setAttribute('aria-expanded', String(asked));
    choose(every.length ? 0 : -1);
  };
  field.addEventListener('input', show);
  field.addEventListener('focus', () => { if (field.value) show(); });
  field.addEventListener('blur', close);
  field.addEventListener('keydown', event => {
    const n = options().length, by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (by && n) { event.preventDefault(); choose((chosen + by + n) % n); }
    else if (event.key === 'Enter' && options()[chosen]) open(options()[chosen]);
    else if (event.key === 'Escape') { field.value = ''; close(); }
  });
  list.addEventListener('pointerdown', event => event.preventDefault());  // the field keeps the focus
  list.addEventListener('click', event => { const option = event.target.closest('[role=option]'); if (option) open(option); });
}
