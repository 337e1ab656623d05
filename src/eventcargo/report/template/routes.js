// Routes: the part of the address after # selects the view, so that every view can be linked and the back button works.

const main = document.getElementById('main');
let current = null;

function viewOf(route) {
  if (route.has('label')) return labelPage(route.get('label'), route.get('sequence'));
  if (route.has('event')) return eventPage(route.get('event'));
  return route.get('view') === 'models' ? modelsPage() : overviewPage();
}

function show(isFirst) {
  const route = new URLSearchParams(location.hash.slice(1).replace(/\+/g, '%2B'));
  current = viewOf(route);
  main.replaceChildren(...current.page.filter(Boolean));
  document.title = `${current.title} · eventcargo report`;
  const crumbs = !current.trail.length ? [] : [element('a', {href: '#'}, 'Findings'),
    element('span', {'aria-hidden': 'true'}, '/'), element('span', {'aria-current': 'page'}, current.trail)];
  document.getElementById('trail').replaceChildren(...crumbs);
  for (const link of document.querySelectorAll('#views a')) {
    const isHere = link.getAttribute('href') === (location.hash || '#') || (link.getAttribute('href') === '#' && !current.trail.length);
    if (isHere) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  }
  current.draw?.();
  const opened = main.querySelector('details[open]');
  if (opened) opened.scrollIntoView();
  else if (!isFirst) {
    scrollTo(0, 0);
    main.querySelector('h1').focus({preventScroll: true});
  }
}

let width = 0;
new ResizeObserver(() => {
  if (width && width !== main.clientWidth) current?.draw?.();
  width = main.clientWidth;
}).observe(main);

addEventListener('hashchange', () => show(false));
addEventListener('beforeprint', () => main.querySelectorAll('details').forEach(each => {
  each.open = true;
  each.dispatchEvent(new Event('toggle'));  // the browser's own event comes too late for printing
}));
addEventListener('keydown', event => {
  const field = document.getElementById('search');
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || !field || event.target.matches('input, select, textarea')) return;
  event.preventDefault();
  field.focus();
});
document.getElementById('skip').addEventListener('click', event => { event.preventDefault(); main.focus(); });
document.getElementById('foot').textContent = `Written by eventcargo ${overview.version}. This page loads nothing from the network.`;
setUpSearch();
show(true);
